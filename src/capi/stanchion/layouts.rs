//! # Layouts
//!
//! Layouts over trees of failure domains, their maps and their verdicts.

use std::ffi::c_int;

use crate::capi::stanchion::trees::{
    fdt_attr, fdt_domain, fdt_t, give, list, settings, status, store, store_all, tree as tree_of,
};
use crate::capi::{guard, handle};
use crate::failure_domain::{
    Domain, Error, File, Layout, Place, Result, Source, Symmetric, Test, Units, Verdict,
};

/// A layout over a tree.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct fdt_layout_t {
    _opaque: [u8; 0],
}

/// As `stanchion.h` declares them.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct fd_gfid {
    container: u64,
    key: u64,
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

impl handle::Opaque for Layout {
    const MAGIC: u64 = 0x4644_5f4c_4159_4f00;
}

/// # Safety
/// `layout` is NULL or a handle.
unsafe fn layout<'a>(layout: *const fdt_layout_t) -> Result<&'a Layout> {
    // SAFETY: promised by the caller.
    unsafe { handle::get(layout.cast()) }.ok_or(Error::Null("layout"))
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
        // SAFETY: arguments of the caller.
        let tree = unsafe { tree_of(tree) }?;
        // SAFETY: as above.
        let made = Layout::new(tree.clone(), &unsafe { settings(attr, tree) }?)?;
        // SAFETY: as above.
        unsafe { give(made, out) }
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
        assert_eq!(offset_of!(fdt_verdict, slack), 16);
        assert_eq!(offset_of!(fdt_shape, filled), 40);
    }
}
