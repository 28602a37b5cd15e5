//! `stanchion.h`, failure domains: trees, what a layout over one tolerates, and its maps.
//!
//! Functions return 0, a positive number where that is an answer, or a negative errno.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

use super::{error, guard, handle, ptr};
use crate::failure_domain::failures::maximal_vectors;
use crate::failure_domain::{
    Domain, Error, File, Layout, Mode, Place, Plan, Result, Settings, Source, State, Symmetric,
    Test, Tree, Units, Verdict,
};

/// A tree of failure domains.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct fdt_t {
    _opaque: [u8; 0],
}

/// A layout over a tree.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct fdt_layout_t {
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
pub struct fd_gfid {
    container: u64,
    key: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct fdt_domain {
    level: u32,
    index: u64,
}

#[repr(C)]
#[allow(non_camel_case_types)]
pub struct fdt_verdict {
    tolerable: c_int,
    loss: u64,
    slack: u64,
}

#[repr(C)]
#[allow(non_camel_case_types)]
pub struct fdt_shape {
    depth: u32,
    units: u32,
    targets: u64,
    used: u64,
    rows: u64,
    groups: u64,
    filled: c_int,
}

const MOTR_COMPAT: u32 = 1;
const WATER_FILLING: u32 = 1;

struct HeldTree(Arc<Tree>);

impl handle::Opaque for HeldTree {
    const MAGIC: u64 = 0x4644_5f54_5245_4500;
}

impl handle::Opaque for Layout {
    const MAGIC: u64 = 0x4644_5f4c_4159_4f00;
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
fn status(body: impl FnOnce() -> Result<c_int>) -> c_int {
    guard(-libc::EFAULT, || {
        body().unwrap_or_else(|cause| {
            error::remember(&cause);
            -errno(&cause)
        })
    })
}

/// # Safety
/// `tree` is NULL or a handle.
unsafe fn tree<'a>(tree: *const fdt_t) -> Result<&'a Arc<Tree>> {
    // SAFETY: promised by the caller.
    let held = unsafe { handle::get::<HeldTree>(tree.cast()) };
    held.map(|held| &held.0).ok_or(Error::Null("tree"))
}

/// # Safety
/// `layout` is NULL or a handle.
unsafe fn layout<'a>(layout: *const fdt_layout_t) -> Result<&'a Layout> {
    // SAFETY: promised by the caller.
    unsafe { handle::get(layout.cast()) }.ok_or(Error::Null("layout"))
}

/// # Safety
/// `place` is NULL or may be written to.
unsafe fn store<T>(name: &'static str, place: *mut T, value: T) -> Result<()> {
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
unsafe fn store_all<T: Copy>(place: *mut T, values: &[T]) {
    if !place.is_null() {
        // SAFETY: promised by the caller.
        unsafe { place.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }
}

/// # Safety
/// `values` is NULL or has `count` entries.
unsafe fn list<'a, T>(name: &'static str, values: *const T, count: usize) -> Result<&'a [T]> {
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
            units: Units {
                data: self.data,
                parity: self.parity,
                spare: self.spare,
            },
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
unsafe fn settings<'a>(attr: *const fdt_attr, tree: &Tree) -> Result<Settings<'a>> {
    // SAFETY: promised by the caller.
    unsafe {
        attr.as_ref()
            .ok_or(Error::Null("attr"))?
            .settings(tree.depth())
    }
}

/// # Safety
/// `children` is NULL or has `depth` entries.
unsafe fn symmetric(children: *const u32, depth: u32) -> Result<Symmetric> {
    // SAFETY: promised by the caller.
    Symmetric::new(unsafe { list("children", children, depth as usize) }?)
}

/// # Safety
/// `domains` is NULL or has `count` entries.
unsafe fn domains(domains: *const fdt_domain, count: usize) -> Result<Vec<Domain>> {
    // SAFETY: promised by the caller.
    let domains = unsafe { list("domains", domains, count) }?;
    let domain = |domain: &fdt_domain| Domain {
        level: domain.level as usize,
        index: domain.index as usize,
    };
    Ok(domains.iter().map(domain).collect())
}

impl fdt_verdict {
    fn new(verdict: Verdict, units: Units) -> Self {
        fdt_verdict {
            tolerable: verdict.tolerable.into(),
            loss: verdict.loss,
            slack: u64::from(units.parity).saturating_sub(verdict.loss),
        }
    }
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
        // SAFETY: as above.
        let texts = pointers.map(|(index, &path)| unsafe { text(index, path) });
        let paths = texts.collect::<Result<Vec<&str>>>()?;
        let tree = Tree::from_paths(&paths, self::separator(separator)?)?;
        // SAFETY: as above.
        unsafe { give_tree(tree, out) }
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
        // SAFETY: as above.
        unsafe { give_tree(Tree::from_degrees(&levels)?, out) }
    })
}

/// # Safety
/// `out` is NULL or may be written to.
unsafe fn give_tree(tree: Tree, out: *mut *mut fdt_t) -> Result<c_int> {
    if out.is_null() {
        return Err(Error::Null("out"));
    }
    // SAFETY: promised by the caller.
    unsafe { out.write(handle::new(HeldTree(Arc::new(tree))).cast()) };
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
    let units = Units {
        data,
        parity,
        spare,
    };
    status(|| {
        // SAFETY: arguments of the caller.
        let tolerance = unsafe { symmetric(children, depth) }?.tolerance(units)?;
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
    let units = Units {
        data,
        parity,
        spare,
    };
    status(|| {
        // SAFETY: arguments of the caller.
        let wanted = unsafe { list("tolerance", tolerance, depth as usize) }?;
        // SAFETY: as above.
        match unsafe { symmetric(children, depth) }?.check(units, wanted) {
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
    let units = Units {
        data,
        parity,
        spare,
    };
    status(|| {
        // SAFETY: arguments of the caller.
        let room = unsafe { count.as_ref() }
            .copied()
            .ok_or(Error::Null("count"))?;
        // SAFETY: as above.
        let found = maximal_vectors(&unsafe { symmetric(children, depth) }?, units)?;
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

/// Makes a layout: where each unit of each group goes. It holds no table, may be used by several threads at once, and
/// is given to fdt_layout_destroy. The tree may be destroyed before.
///
/// # Returns
/// 0; -ENOSPC and so on as fdt_vsymm_tree_generate; -ERANGE if a domain has more than 65535 children in mode
/// FDT_MOTR_COMPAT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_ft_perm_generate(
    tree: *const fdt_t,
    attr: *const fdt_attr,
    out: *mut *mut fdt_layout_t,
) -> c_int {
    status(|| {
        if out.is_null() {
            return Err(Error::Null("out"));
        }
        // SAFETY: arguments of the caller.
        let tree = unsafe { self::tree(tree) }?;
        // SAFETY: as above.
        let made = Layout::new(tree.clone(), &unsafe { settings(attr, tree) }?)?;
        // SAFETY: as above.
        unsafe { out.write(handle::new(made).cast()) };
        Ok(0)
    })
}

/// Gives up a layout. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_layout_destroy(layout: *mut fdt_layout_t) {
    guard((), || {
        // SAFETY: arguments of the caller.
        drop(unsafe { handle::take::<Layout>(layout.cast()) })
    });
}

/// The numbers of a layout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_layout_get(
    layout: *const fdt_layout_t,
    shape: *mut fdt_shape,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let layout = unsafe { self::layout(layout) }?;
        let (rows, groups) = layout.tile();
        let targets = layout.tree().leaf_count() as u64;
        let symmetric = layout.plan().symmetric();
        let found = fdt_shape {
            depth: layout.tree().depth() as u32,
            units: layout.group_size() as u32,
            targets,
            used: symmetric.map_or(targets, Symmetric::targets),
            rows,
            groups,
            filled: symmetric.is_none().into(),
        };
        // SAFETY: as above.
        unsafe { store("shape", shape, found) }?;
        Ok(0)
    })
}

/// How many failures in one level a layout survives, as fdt_tolerance_max, for each level of its tree; 0 for levels that
/// were left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_layout_tolerance(
    layout: *const fdt_layout_t,
    exact: *mut u32,
    bound_b: *mut u32,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let layout = unsafe { self::layout(layout) }?;
        let tolerance = layout.tolerance()?;
        let of_all_levels = |kept: &[u32]| {
            let mut all = vec![0; layout.tree().depth()];
            let levels = layout.plan().levels().iter().zip(kept);
            levels.for_each(|(&level, &most)| all[level] = most);
            all
        };
        // SAFETY: as above.
        unsafe {
            store_all(exact, &of_all_levels(&tolerance.exact));
            store_all(bound_b, &of_all_levels(&tolerance.bound));
        }
        Ok(0)
    })
}

/// Where unit `unit` of parity group `group` is: data units come first, then parity, then spare.
///
/// # Returns
/// 0; -ERANGE if the frame would not fit in 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fd_pg2tgt_map(
    layout: *const fdt_layout_t,
    file: fd_gfid,
    group: u64,
    unit: u32,
    target: *mut u64,
    frame: *mut u64,
) -> c_int {
    status(|| {
        let source = Source { group, unit };
        // SAFETY: arguments of the caller.
        let place = unsafe { self::layout(layout) }?.place(file.into(), source)?;
        // SAFETY: as above.
        unsafe {
            store("target", target, place.target)?;
            store("frame", frame, place.frame)?;
        }
        Ok(0)
    })
}

/// Which unit is in a frame of a target.
///
/// # Returns
/// 0; 1 if none is; -ERANGE if the number of the group would not fit in 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fd_tgt2pg_map(
    layout: *const fdt_layout_t,
    file: fd_gfid,
    target: u64,
    frame: u64,
    group: *mut u64,
    unit: *mut u32,
) -> c_int {
    status(|| {
        let place = Place { target, frame };
        // SAFETY: arguments of the caller.
        let Some(source) = unsafe { self::layout(layout) }?.source(file.into(), place)? else {
            return Ok(1);
        };
        // SAFETY: as above.
        unsafe {
            store("group", group, source.group)?;
            store("unit", unit, source.unit)?;
        }
        Ok(0)
    })
}

impl From<fd_gfid> for File {
    fn from(file: fd_gfid) -> File {
        File {
            container: file.container,
            key: file.key,
        }
    }
}

/// Whether every group survives `failed` failures in each level of the tree, all at once and wherever they are. `test`
/// is FDT_POLYTOPE_B, FDT_SUM or FDT_EXACT; each accepts all that the one before it does.
///
/// # Returns
/// 0 with the verdict; -EINVAL if more domains fail than there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_failvec_check(
    layout: *const fdt_layout_t,
    failed: *const u32,
    test: c_int,
    verdict: *mut fdt_verdict,
) -> c_int {
    status(|| {
        let test = match test {
            0 => Test::Polytope,
            1 => Test::Sum,
            2 => Test::Exact,
            value => {
                return Err(Error::NoChoice {
                    what: "test",
                    value: value as u32,
                });
            }
        };
        // SAFETY: arguments of the caller.
        let layout = unsafe { self::layout(layout) }?;
        // SAFETY: as above.
        let failed = unsafe { list("failed", failed, layout.tree().depth()) }?;
        let found = fdt_verdict::new(layout.tolerates(failed, test)?, layout.units());
        // SAFETY: as above.
        unsafe { store("verdict", verdict, found) }?;
        Ok(0)
    })
}

/// Whether every group of every file survives the failure of these domains. What failed inside another that failed
/// counts once.
///
/// # Returns
/// 0 with the verdict; -ENOENT if there is no such domain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_failset_check(
    layout: *const fdt_layout_t,
    failed: *const fdt_domain,
    n: usize,
    verdict: *mut fdt_verdict,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let (layout, failed) = unsafe { (self::layout(layout)?, domains(failed, n)?) };
        let found = fdt_verdict::new(layout.survives(&failed)?, layout.units());
        // SAFETY: as above.
        unsafe { store("verdict", verdict, found) }?;
        Ok(0)
    })
}

/// The polytope of FDT_POLYTOPE_B: failures v pass if A v <= b. `a` gets `rows` rows with a number for each level of
/// the tree, `b` one for each row. There are never more rows than levels and one; `a` and `b` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdt_polytope_get(
    layout: *const fdt_layout_t,
    a: *mut u64,
    b: *mut u64,
    rows: *mut u32,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let polytope = unsafe { self::layout(layout) }?.polytope()?;
        // SAFETY: as above.
        unsafe {
            store("rows", rows, polytope.rows.len() as u32)?;
            store_all(a, &polytope.rows.concat());
            store_all(b, &polytope.bounds);
        }
        Ok(0)
    })
}

/// Says which spare unit takes each lost unit of a group. `slots` has an entry for each data and parity unit: the unit
/// in whose place it is, at first its own number, FD_UNPLACED for none. Units in failed domains move to spare ones.
/// `failed` holds all domains that are gone, also those of earlier calls, from which `slots` is handed on.
///
/// # Returns
/// 0; 1 if spares ran out, then units stay FD_UNPLACED; -EIO if the group lost more units than it has parity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fd_repair_map(
    layout: *const fdt_layout_t,
    file: fd_gfid,
    group: u64,
    failed: *const fdt_domain,
    n: usize,
    slots: *mut u32,
) -> c_int {
    status(|| {
        if slots.is_null() {
            return Err(Error::Null("slots"));
        }
        // SAFETY: arguments of the caller.
        let (layout, failed) = unsafe { (self::layout(layout)?, domains(failed, n)?) };
        let count = (layout.units().data + layout.units().parity) as usize;
        // SAFETY: as above.
        let slots = unsafe { std::slice::from_raw_parts_mut(slots, count) };
        let left = layout.repair(file.into(), group, &failed, slots)?;
        Ok((left > 0).into())
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
        assert_eq!(offset_of!(fdt_verdict, slack), 16);
        assert_eq!(offset_of!(fdt_shape, filled), 40);
    }
}
