//! # Trees
//!
//! Trees of failure domains, and what groups of units spread over one tolerate. Functions return 0, a positive number
//! where that is an answer, or a negative errno.

use crate::capi::boundary::{Array, Handle, In, InOut, Opaque, Out, OutArray, Text};
use crate::capi::{error, guard, guard_alone};
use crate::failure_domain::failure_counts::maximal_vectors;
use crate::failure_domain::{
    Domain, DomainTree, Error, LayoutSettings, LevelPlan, LevelState, PermutationMode, Result,
    SymmetricTree, Units, check_memory,
};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// A tree, as C holds it.
#[allow(non_camel_case_types)]
pub type fdt_t = Handle<Arc<DomainTree>>;

impl Opaque for Arc<DomainTree> {
    const MAGIC: u64 = 0x4644_5f54_5245_4500;
}

/// As `stanchion.h` declares it.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct fdt_attr<'a> {
    data: u32,
    parity: u32,
    spare: u32,
    mode: u32,
    seed: [u64; 2],
    first_level: u32,
    options: u32,
    tolerance: Array<'a, u32>,
}

/// As `stanchion.h` declares it.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct fdt_domain {
    pub(super) level: u32,
    pub(super) index: u64,
}

const MOTR_COMPAT: u32 = 1;
const WATER_FILLING: u32 = 1;

fn errno(error: &Error) -> c_int {
    match error {
        Error::Empty
        | Error::EmptyPart { .. }
        | Error::Depth { .. }
        | Error::Degrees { .. }
        | Error::Childless { .. }
        | Error::GroupSize
        | Error::Levels { .. }
        | Error::NoLevel { .. }
        | Error::TooManyFailures { .. }
        | Error::NoUnit { .. }
        | Error::NoTarget { .. }
        | Error::Slots { .. }
        | Error::SlotTwice
        | Error::NotText { .. }
        | Error::NoChoice { .. }
        | Error::Null(_) => libc::EINVAL,
        Error::Duplicate { .. } => libc::EEXIST,
        Error::NoDomain { .. } | Error::NoPath { .. } => libc::ENOENT,
        Error::TooFewTargets { .. } | Error::Unmet { .. } => libc::ENOSPC,
        Error::TooWide | Error::TooLarge | Error::FanOut { .. } | Error::TooManyVectors => {
            libc::ERANGE
        }
        Error::Lost { .. } => libc::EIO,
        Error::Memory => libc::ENOMEM,
    }
}

/// Runs `body` and turns its result into a return code and a text.
pub(super) fn status(body: impl FnOnce() -> Result<c_int>) -> c_int {
    guard_alone(-libc::EFAULT, -libc::ENOMEM, || {
        body().unwrap_or_else(|cause| {
            let code = -errno(&cause);
            error::remember(cause);
            code
        })
    })
}

pub(super) fn tree_of(tree: In<'_, fdt_t>) -> Result<&Arc<DomainTree>> {
    tree.value().ok_or(Error::Null("tree"))
}

/// Stores a result that the caller must take, and returns the code of success.
pub(super) fn put<T>(name: &'static str, place: Out<T>, value: T) -> Result<c_int> {
    place.set(value).then_some(0).ok_or(Error::Null(name))
}

/// # Safety
/// The header says that the array has `count` entries.
pub(super) unsafe fn list<'a, T>(
    name: &'static str,
    values: Array<'a, T>,
    count: usize,
) -> Result<&'a [T]> {
    // SAFETY: promised by the caller.
    unsafe { values.slice(count) }.ok_or(Error::Null(name))
}

fn text(index: usize, text: Text<'_>) -> Result<&str> {
    let text = text.get().ok_or(Error::Null("path"))?;
    text.to_str().map_err(|_| Error::NotText { index })
}

fn separator(separator: c_char) -> Result<char> {
    let byte = separator as u8;
    match byte.is_ascii() && byte != 0 {
        true => Ok(byte.into()),
        false => Err(Error::NoChoice {
            what: "separator",
            value: byte.into(),
        }),
    }
}

pub(super) fn settings<'a>(
    attr: In<'a, fdt_attr<'a>>,
    tree: &DomainTree,
) -> Result<LayoutSettings<'a>> {
    let attr = attr.get().ok_or(Error::Null("attr"))?;
    let no_choice = |what, value| Err(Error::NoChoice { what, value });
    let mode = match attr.mode {
        0 => PermutationMode::Declustered,
        MOTR_COMPAT => PermutationMode::Motr,
        value => return no_choice("mode", value),
    };
    if attr.options & !WATER_FILLING != 0 {
        return no_choice("option", attr.options);
    }
    Ok(LayoutSettings {
        units: units(attr.data, attr.parity, attr.spare),
        mode,
        seed: attr.seed,
        first_level: attr.first_level as usize,
        // SAFETY: the header says that there is an entry for each level.
        tolerance: unsafe { attr.tolerance.slice(tree.depth()) },
        water_filling: attr.options & WATER_FILLING != 0,
    })
}

fn units(data: u32, parity: u32, spare: u32) -> Units {
    Units {
        data,
        parity,
        spare,
    }
}

fn symmetric(children: Array<u32>, depth: u32) -> Result<SymmetricTree> {
    // SAFETY: the header says that `children` has `depth` entries.
    SymmetricTree::new(unsafe { list("children", children, depth as usize) }?)
}

/// Makes a tree with one target for each of `n` paths, such as "rack3/chassis1/node17" with `separator` '/'. All paths
/// have the same number of parts, and no two are equal. Free the tree with fdt_destroy.
///
/// # Returns
/// 0; -EEXIST if a path comes twice; -EINVAL for paths that make no tree.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_create_paths(
    paths: Array<Text>,
    n: usize,
    separator: c_char,
    out: Out<InOut<fdt_t>>,
) -> c_int {
    status(|| {
        if paths.is_null() && n > 0 {
            return Err(Error::Null("paths"));
        }
        check_memory(n)?;
        // SAFETY: the header says that there are `n` paths.
        let paths = unsafe { list("paths", paths, n) }?.iter().enumerate();
        let paths = paths.map(|(index, path)| text(index, *path));
        let paths = paths.collect::<Result<Vec<&str>>>()?;
        let tree = DomainTree::from_paths(&paths, self::separator(separator)?)?;
        hand_out(Arc::new(tree), out)
    })
}

/// Makes a tree from the number of children of each domain: `degrees` has first that of the root, then those of all
/// domains of level 0, and so on; `per_level` says how many there are of each, for `depth` levels.
///
/// # Returns
/// 0; -EINVAL if the numbers contradict each other or one is 0; -ERANGE if the tree is too large.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_create_degrees(
    degrees: Array<u32>,
    per_level: Array<usize>,
    depth: u32,
    out: Out<InOut<fdt_t>>,
) -> c_int {
    status(|| {
        // SAFETY: the header says that there are `depth` levels.
        let per_level = unsafe { list("per_level", per_level, depth as usize) }?;
        let all = per_level
            .iter()
            .try_fold(0_usize, |all, &n| all.checked_add(n));
        // SAFETY: and as many degrees as these add up to.
        let mut rest = unsafe { list("degrees", degrees, all.ok_or(Error::TooWide)?) }?;
        let mut levels = Vec::with_capacity(per_level.len());
        for &count in per_level {
            let (level, others) = rest.split_at(count);
            levels.push(level);
            rest = others;
        }
        hand_out(Arc::new(DomainTree::from_degrees(&levels)?), out)
    })
}

/// Gives a value to C.
pub(super) fn hand_out<T: Opaque + 'static>(value: T, out: Out<InOut<Handle<T>>>) -> Result<c_int> {
    if out.is_null() {
        return Err(Error::Null("out"));
    }
    out.set(Handle::hand_out(value));
    Ok(0)
}

/// Frees a tree; layouts made from it stay. NULL is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_destroy(tree: InOut<fdt_t>) {
    // SAFETY: the caller gives the tree up.
    guard((), || drop(unsafe { tree.take() }));
}

/// Gets the number of levels below the root.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_depth_get(tree: In<fdt_t>, depth: Out<u32>) -> c_int {
    status(|| put("depth", depth, tree_of(tree)?.depth() as u32))
}

/// Gets the number of domains of a level. The domains of the last level are the targets.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_width_get(tree: In<fdt_t>, level: u32, width: Out<u64>) -> c_int {
    status(|| {
        let tree = tree_of(tree)?;
        let level = level as usize;
        if level >= tree.depth() {
            return Err(Error::NoLevel { level });
        }
        put("width", width, tree.width(level) as u64)
    })
}

/// Finds the domain that a path names, whole ("rack3/chassis1/node17") or only its first parts ("rack3").
///
/// # Returns
/// 0; -ENOENT if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_domain_find(
    tree: In<fdt_t>,
    path: Text,
    separator: c_char,
    domain: Out<fdt_domain>,
) -> c_int {
    status(|| {
        let (tree, path) = (tree_of(tree)?, text(0, path)?);
        let found = tree.find(path, self::separator(separator)?);
        let path = path.to_owned();
        let Domain { level, index } = found.ok_or(Error::NoPath { path })?;
        let found = fdt_domain {
            level: level as u32,
            index: index as u64,
        };
        put("domain", domain, found)
    })
}

/// Finds the symmetric tree that a layout with these attributes would use, and which levels it keeps.
///
/// `children` gets the number of children of the root and of the domains of each level that is kept, `depth` how many
/// these are, `states` an FDT_LEVEL value for each level of the tree. `children` and `states` have room for all levels
/// of the tree; `states` may be NULL.
///
/// # Returns
/// 0; 1 if there is no symmetric tree and domains are filled instead: then `children` is left as it is; -ENOSPC if the
/// units of a group do not fit, or if more targets must be tolerated than there are parity units.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_vsymm_tree_generate(
    tree: In<fdt_t>,
    attr: In<fdt_attr>,
    children: OutArray<u32>,
    depth: Out<u32>,
    states: OutArray<u32>,
) -> c_int {
    status(|| {
        if children.is_null() {
            return Err(Error::Null("children"));
        }
        let tree = tree_of(tree)?;
        let plan = LevelPlan::new(tree, &settings(attr, tree)?)?;
        let state = |state: &LevelState| *state as u32;
        let all: Vec<u32> = plan.states().iter().map(state).collect();
        put("depth", depth, plan.levels().len() as u32)?;
        // SAFETY: both arrays have room for all levels of the tree.
        unsafe {
            states.fill(&all);
            match plan.symmetric() {
                Some(symmetric) => children.fill(symmetric.degrees()),
                None => return Ok(1),
            }
        }
        Ok(0)
    })
}

/// Tells how many failures in one level every group survives, for each of the `depth` levels of a symmetric tree: the
/// largest number (`exact`), and K / ceil(G / domains), which the polytope is made of (`bound_b`). Either may be NULL.
///
/// # Returns
/// 0; -ENOSPC if the units of a group do not fit.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_tolerance_max(
    children: Array<u32>,
    depth: u32,
    data: u32,
    parity: u32,
    spare: u32,
    exact: OutArray<u32>,
    bound_b: OutArray<u32>,
) -> c_int {
    status(|| {
        let tolerance = symmetric(children, depth)?.tolerance(units(data, parity, spare))?;
        // SAFETY: both arrays have room for `depth` numbers.
        unsafe {
            exact.fill(&tolerance.exact);
            bound_b.fill(&tolerance.bound);
        }
        Ok(0)
    })
}

/// Tells whether every group survives `tolerance` failures in each level, one level at a time.
///
/// # Returns
/// 0; 1 if not: then `bad_level`, which may be NULL, is the first level that has too many.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_tolerance_check(
    children: Array<u32>,
    depth: u32,
    data: u32,
    parity: u32,
    spare: u32,
    tolerance: Array<u32>,
    bad_level: Out<u32>,
) -> c_int {
    status(|| {
        // SAFETY: the header says that `tolerance` has `depth` entries.
        let wanted = unsafe { list("tolerance", tolerance, depth as usize) }?;
        match symmetric(children, depth)?.check(units(data, parity, spare), wanted) {
            Err(Error::Unmet { level, .. }) => {
                bad_level.set(level as u32);
                Ok(1)
            }
            other => other.map(|()| 0),
        }
    })
}

/// Lists the largest combinations of failures that every group survives at once: each vector has a number for each of
/// the `depth` levels. `count` says how many vectors there is room for, and gets how many there are.
///
/// # Returns
/// 0; 1 if there was room for some only (`vectors` may be NULL); -ERANGE if there are too many to find.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_tolerance_vectors(
    children: Array<u32>,
    depth: u32,
    data: u32,
    parity: u32,
    spare: u32,
    vectors: OutArray<u32>,
    count: InOut<usize>,
) -> c_int {
    status(|| {
        let room = count.get().ok_or(Error::Null("count"))?;
        let found = maximal_vectors(&symmetric(children, depth)?, units(data, parity, spare))?;
        let room = if vectors.is_null() { 0 } else { room };
        let kept = found.iter().take(room).flatten().copied();
        // SAFETY: there is room for `room` vectors.
        unsafe { vectors.fill(&kept.collect::<Vec<u32>>()) };
        count.replace(found.len());
        Ok((found.len() > room).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_structs_are_laid_out_as_in_c() {
        assert_eq!(offset_of!(fdt_attr, seed), 16);
        assert_eq!(offset_of!(fdt_attr, tolerance), 40);
        assert_eq!(size_of::<fdt_attr>(), 48);
        assert_eq!(offset_of!(fdt_domain, index), 8);
    }
}
