//! # Trees
//!
//! Trees of failure domains, and what groups spread over one tolerate. Functions return 0, a
//! positive number where that is an answer, or a negative errno.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

use crate::capi::{error, guard, guard_alone, handle, ptr};
use crate::failure_domain::failures::maximal_vectors;
use crate::failure_domain::{
    Domain, Error, Mode, Plan, Result, Settings, State, Symmetric, Tree, Units, check_memory,
};

/// A tree of failure domains.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct fdt_t {
    _opaque: [u8; 0],
}

/// As `stanchion.h` declares them.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct fdt_attr {
    data: u32,
    parity: u32,
    spare: u32,
    mode: u32,
    seed: [u64; 2],
    first_level: u32,
    options: u32,
    tolerance: *const u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct fdt_domain {
    pub(in crate::capi) level: u32,
    pub(in crate::capi) index: u64,
}

const MOTR_COMPAT: u32 = 1;
const WATER_FILLING: u32 = 1;

struct HeldTree(Arc<Tree>);

impl handle::Opaque for HeldTree {
    const MAGIC: u64 = 0x4644_5f54_5245_4500;
}

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

/// What C gets for an answer or an error, whose text is kept.
pub(in crate::capi) fn status(body: impl FnOnce() -> Result<c_int>) -> c_int {
    guard_alone(-libc::EFAULT, -libc::ENOMEM, || {
        body().unwrap_or_else(|cause| {
            let code = -errno(&cause);
            error::remember(cause);
            code
        })
    })
}

/// # Safety
/// `tree` is NULL or a handle.
pub(in crate::capi) unsafe fn tree<'a>(tree: *const fdt_t) -> Result<&'a Arc<Tree>> {
    // SAFETY: promised by the caller.
    let held = unsafe { handle::get::<HeldTree>(tree.cast()) };
    held.map(|held| &held.0).ok_or(Error::Null("tree"))
}

/// # Safety
/// `place` is NULL or may be written to.
pub(in crate::capi) unsafe fn store<T>(name: &'static str, place: *mut T, value: T) -> Result<()> {
    // SAFETY: promised by the caller.
    match unsafe { ptr::store(place, value) } {
        true => Ok(()),
        false => Err(Error::Null(name)),
    }
}

/// Numbers that the caller may leave out.
///
/// # Safety
/// `place` is NULL or has room for `values`.
pub(in crate::capi) unsafe fn store_all<T: Copy>(place: *mut T, values: &[T]) {
    if !place.is_null() {
        // SAFETY: promised by the caller.
        unsafe { place.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }
}

/// # Safety
/// `values` is NULL or has `count` entries.
pub(in crate::capi) unsafe fn list<'a, T>(
    name: &'static str,
    values: *const T,
    count: usize,
) -> Result<&'a [T]> {
    match count {
        0 => Ok(&[]),
        _ if values.is_null() => Err(Error::Null(name)),
        // SAFETY: promised by the caller.
        _ => Ok(unsafe { std::slice::from_raw_parts(values, count) }),
    }
}

/// # Safety
/// `text` is NULL or a C string.
unsafe fn text<'a>(index: usize, text: *const c_char) -> Result<&'a str> {
    // SAFETY: promised by the caller.
    let text = unsafe { ptr::text(text) }.ok_or(Error::Null("path"))?;
    CStr::to_str(text).map_err(|_| Error::NotText { index })
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

impl fdt_attr {
    /// # Safety
    /// `tolerance` is NULL or has an entry for each of `depth` levels.
    unsafe fn settings(&self, depth: usize) -> Result<Settings<'_>> {
        let mode = match self.mode {
            0 => Mode::Declustered,
            MOTR_COMPAT => Mode::Motr,
            value => {
                let what = "mode";
                return Err(Error::NoChoice { what, value });
            }
        };
        if self.options & !WATER_FILLING != 0 {
            return Err(Error::NoChoice {
                what: "option",
                value: self.options,
            });
        }
        // SAFETY: promised by the caller.
        let tolerance = unsafe { list("tolerance", self.tolerance, depth) };
        Ok(Settings {
            units: units(self.data, self.parity, self.spare),
            mode,
            seed: self.seed,
            first_level: self.first_level as usize,
            tolerance: tolerance.ok(),
            water_filling: self.options & WATER_FILLING != 0,
        })
    }
}

/// # Safety
/// `attr` is NULL or holds what the header says.
pub(in crate::capi) unsafe fn settings<'a>(
    attr: *const fdt_attr,
    tree: &Tree,
) -> Result<Settings<'a>> {
    // SAFETY: promised by the caller.
    unsafe {
        attr.as_ref()
            .ok_or(Error::Null("attr"))?
            .settings(tree.depth())
    }
}

fn units(data: u32, parity: u32, spare: u32) -> Units {
    Units {
        data,
        parity,
        spare,
    }
}

/// # Safety
/// `children` is NULL or has `depth` entries.
unsafe fn symmetric(children: *const u32, depth: u32) -> Result<Symmetric> {
    // SAFETY: promised by the caller.
    Symmetric::new(unsafe { list("children", children, depth as usize) }?)
}

/// Makes a tree with one target for each of `n` paths, such as "rack3/chassis1/node17" with `separator` '/'. All have
/// as many parts, and no two are equal. Give the tree to fdt_destroy.
///
/// # Returns
/// 0; -EEXIST if a path comes twice; -EINVAL for paths that make no tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_create_paths(
    paths: *const *const c_char,
    n: usize,
    separator: c_char,
    out: *mut *mut fdt_t,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let pointers = unsafe { list("paths", paths, n) }?.iter().enumerate();
        check_memory(n)?;
        // SAFETY: as above.
        let texts = pointers.map(|(index, &path)| unsafe { text(index, path) });
        let paths = texts.collect::<Result<Vec<&str>>>()?;
        let tree = Tree::from_paths(&paths, self::separator(separator)?)?;
        // SAFETY: as above.
        unsafe { give(HeldTree(Arc::new(tree)), out) }
    })
}

/// Makes a tree from the number of children of each domain: `degrees` has first the one of the root, then those of
/// all domains of level 0, and so on; `per_level` says how many there are of each, for `depth` levels.
///
/// # Returns
/// 0; -EINVAL if the numbers do not fit together or one is 0; -ERANGE if the tree is too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_create_degrees(
    degrees: *const u32,
    per_level: *const usize,
    depth: u32,
    out: *mut *mut fdt_t,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let per_level = unsafe { list("per_level", per_level, depth as usize) }?;
        let all = per_level
            .iter()
            .try_fold(0_usize, |all, &n| all.checked_add(n));
        // SAFETY: as above.
        let mut rest = unsafe { list("degrees", degrees, all.ok_or(Error::TooWide)?) }?;
        let mut levels = Vec::with_capacity(per_level.len());
        for &count in per_level {
            let (level, others) = rest.split_at(count);
            levels.push(level);
            rest = others;
        }
        let tree = Tree::from_degrees(&levels)?;
        // SAFETY: as above.
        unsafe { give(HeldTree(Arc::new(tree)), out) }
    })
}

/// Hands out what was made.
///
/// # Safety
/// `out` is NULL or may be written to.
pub(in crate::capi) unsafe fn give<H: handle::Opaque, T>(
    held: H,
    out: *mut *mut T,
) -> Result<c_int> {
    if out.is_null() {
        return Err(Error::Null("out"));
    }
    // SAFETY: promised by the caller.
    unsafe { out.write(handle::new(held).cast()) };
    Ok(0)
}

/// Gives up a tree; layouts made from it stay. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_destroy(tree: *mut fdt_t) {
    guard((), || {
        // SAFETY: arguments of the caller.
        drop(unsafe { handle::take::<HeldTree>(tree.cast()) })
    });
}

/// How many levels a tree has below its root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_depth_get(tree: *const fdt_t, depth: *mut u32) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        unsafe { store("depth", depth, self::tree(tree)?.depth() as u32) }?;
        Ok(0)
    })
}

/// How many domains a level has. The last level are the targets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_width_get(tree: *const fdt_t, level: u32, width: *mut u64) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let tree = unsafe { self::tree(tree) }?;
        let level = level as usize;
        if level >= tree.depth() {
            return Err(Error::NoLevel { level });
        }
        // SAFETY: as above.
        unsafe { store("width", width, tree.width(level) as u64) }?;
        Ok(0)
    })
}

/// The domain that a path names, whole ("rack3/chassis1/node17") or only its first parts ("rack3").
///
/// # Returns
/// 0; -ENOENT if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_domain_find(
    tree: *const fdt_t,
    path: *const c_char,
    separator: c_char,
    domain: *mut fdt_domain,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let (tree, path) = unsafe { (self::tree(tree)?, text(0, path)?) };
        let found = tree.find(path, self::separator(separator)?);
        let path = path.to_owned();
        let Domain { level, index } = found.ok_or(Error::NoPath { path })?;
        let found = fdt_domain {
            level: level as u32,
            index: index as u64,
        };
        // SAFETY: as above.
        unsafe { store("domain", domain, found) }?;
        Ok(0)
    })
}

/// Finds the symmetric tree that a layout with these attributes would use, and which levels take part.
///
/// `children` gets the number of children of the root and of the domains of each level that is kept, `depth` how many
/// these are, `states` an FDT_LEVEL value for each level of the tree. `children` and `states` have room for all levels
/// of the tree; `states` may be NULL.
///
/// # Returns
/// 0; 1 if there is no symmetric tree and domains are filled instead: then `children` is left as it is; -ENOSPC if the
/// units of a group do not fit, or if more targets shall be tolerated than there are parity units.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_vsymm_tree_generate(
    tree: *const fdt_t,
    attr: *const fdt_attr,
    children: *mut u32,
    depth: *mut u32,
    states: *mut u32,
) -> c_int {
    status(|| {
        if children.is_null() {
            return Err(Error::Null("children"));
        }
        // SAFETY: arguments of the caller.
        let tree = unsafe { self::tree(tree) }?;
        // SAFETY: as above.
        let plan = Plan::new(tree, &unsafe { settings(attr, tree) }?)?;
        let state = |state: &State| *state as u32;
        let all: Vec<u32> = plan.states().iter().map(state).collect();
        // SAFETY: as above.
        unsafe {
            store("depth", depth, plan.levels().len() as u32)?;
            store_all(states, &all);
            match plan.symmetric() {
                Some(symmetric) => store_all(children, symmetric.degrees()),
                None => return Ok(1),
            }
        }
        Ok(0)
    })
}

/// How many failures in one level any group survives, for each of the `depth` levels of a symmetric tree: the largest
/// number (`exact`), and K / ceil(G / domains), which the polytope is made of (`bound_b`). Either may be NULL.
///
/// # Returns
/// 0; -ENOSPC if the units of a group do not fit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_tolerance_max(
    children: *const u32,
    depth: u32,
    data: u32,
    parity: u32,
    spare: u32,
    exact: *mut u32,
    bound_b: *mut u32,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let tolerance =
            unsafe { symmetric(children, depth) }?.tolerance(units(data, parity, spare))?;
        // SAFETY: as above.
        unsafe {
            store_all(exact, &tolerance.exact);
            store_all(bound_b, &tolerance.bound);
        }
        Ok(0)
    })
}

/// Whether every group survives `tolerance` failures in each level, taken one by one.
///
/// # Returns
/// 0; 1 if not: then `bad_level`, which may be NULL, is the first level in which it is too much.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_tolerance_check(
    children: *const u32,
    depth: u32,
    data: u32,
    parity: u32,
    spare: u32,
    tolerance: *const u32,
    bad_level: *mut u32,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let wanted = unsafe { list("tolerance", tolerance, depth as usize) }?;
        // SAFETY: as above.
        match unsafe { symmetric(children, depth) }?.check(units(data, parity, spare), wanted) {
            Err(Error::Unmet { level, .. }) => {
                // SAFETY: as above.
                unsafe { ptr::store(bad_level, level as u32) };
                Ok(1)
            }
            other => other.map(|()| 0),
        }
    })
}

/// Lists the failures that every group survives all at once and that cannot grow: each vector has a number for each of
/// the `depth` levels. `count` says how many vectors there is room for, and gets how many there are.
///
/// # Returns
/// 0; 1 if there was room for some only (`vectors` may be NULL); -ERANGE if there are too many to find.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_tolerance_vectors(
    children: *const u32,
    depth: u32,
    data: u32,
    parity: u32,
    spare: u32,
    vectors: *mut u32,
    count: *mut usize,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let room = unsafe { count.as_ref() }
            .copied()
            .ok_or(Error::Null("count"))?;
        // SAFETY: as above.
        let found = maximal_vectors(
            &unsafe { symmetric(children, depth) }?,
            units(data, parity, spare),
        )?;
        let room = if vectors.is_null() { 0 } else { room };
        let kept = found.iter().take(room).flatten().copied();
        // SAFETY: as above.
        unsafe {
            store_all(vectors, &kept.collect::<Vec<u32>>());
            count.write(found.len());
        }
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
