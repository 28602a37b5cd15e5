//! # Layouts
//!
//! A layout places the units of parity groups on the targets of a tree: maps both ways, and which failures it survives.

use super::trees::{fdt_attr, fdt_domain, fdt_t, hand_out, list, put, settings, status, tree_of};
use crate::capi::boundary::{Array, Handle, In, InOut, Opaque, Out, OutArray};
use crate::capi::guard;
use crate::failure_domain::{
    Domain, Error, FailureTest, FileId, Layout, LossVerdict, Result, SymmetricTree, TargetAddress,
    UnitAddress, Units,
};
use std::ffi::c_int;

/// A layout, as C holds it.
#[allow(non_camel_case_types)]
pub type fdt_layout_t = Handle<Layout>;

impl Opaque for Layout {
    const MAGIC: u64 = 0x4644_5f4c_4159_4f00;
}

/// As `stanchion.h` declares it, as the structs below.
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

fn layout_of(layout: In<'_, fdt_layout_t>) -> Result<&Layout> {
    layout.value().ok_or(Error::Null("layout"))
}

fn domains(domains: Array<fdt_domain>, count: usize) -> Result<Vec<Domain>> {
    // SAFETY: the header says that there are `count` domains.
    let domains = unsafe { list("domains", domains, count) }?;
    let domain = |domain: &fdt_domain| Domain {
        level: domain.level as usize,
        index: domain.index as usize,
    };
    Ok(domains.iter().map(domain).collect())
}

impl fdt_verdict {
    fn new(verdict: LossVerdict, units: Units) -> Self {
        fdt_verdict {
            tolerable: verdict.tolerable.into(),
            loss: verdict.loss,
            slack: u64::from(units.parity).saturating_sub(verdict.loss),
        }
    }
}

/// Makes a layout: where each unit of each group goes. It holds no table and may be used by several threads at once. Free
/// it with fdt_layout_destroy; the tree may be destroyed before.
///
/// # Returns
/// 0; -ENOSPC and so on as fdt_vsymm_tree_generate; -ERANGE if a domain has more than 65535 children in mode
/// FDT_MOTR_COMPAT.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_ft_perm_generate(
    tree: In<fdt_t>,
    attr: In<fdt_attr>,
    out: Out<InOut<fdt_layout_t>>,
) -> c_int {
    status(|| {
        let tree = tree_of(tree)?;
        hand_out(Layout::new(tree.clone(), &settings(attr, tree)?)?, out)
    })
}

/// Frees a layout. NULL is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_layout_destroy(layout: InOut<fdt_layout_t>) {
    // SAFETY: the caller gives the layout up.
    guard((), || drop(unsafe { layout.take() }));
}

/// Gets the numbers of a layout.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_layout_get(layout: In<fdt_layout_t>, shape: Out<fdt_shape>) -> c_int {
    status(|| {
        let layout = layout_of(layout)?;
        let (rows, groups) = layout.tile();
        let targets = layout.tree().leaf_count() as u64;
        let symmetric = layout.plan().symmetric();
        let found = fdt_shape {
            depth: layout.tree().depth() as u32,
            units: layout.group_size() as u32,
            targets,
            used: symmetric.map_or(targets, SymmetricTree::targets),
            rows,
            groups,
            filled: symmetric.is_none().into(),
        };
        put("shape", shape, found)
    })
}

/// Tells how many failures in one level a layout survives, as fdt_tolerance_max, for each level of its tree; 0 for levels
/// that were left out.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_layout_tolerance(
    layout: In<fdt_layout_t>,
    exact: OutArray<u32>,
    bound_b: OutArray<u32>,
) -> c_int {
    status(|| {
        let layout = layout_of(layout)?;
        let tolerance = layout.tolerance()?;
        let of_all_levels = |kept: &[u32]| {
            let mut all = vec![0; layout.tree().depth()];
            let levels = layout.plan().levels().iter().zip(kept);
            levels.for_each(|(&level, &most)| all[level] = most);
            all
        };
        // SAFETY: both arrays have room for all levels of the tree.
        unsafe {
            exact.fill(&of_all_levels(&tolerance.exact));
            bound_b.fill(&of_all_levels(&tolerance.bound));
        }
        Ok(0)
    })
}

/// Finds the target and the frame of unit `unit` of parity group `group`. Data units come first, then parity, then spare.
///
/// # Returns
/// 0; -ERANGE if the frame does not fit in 64 bits.
#[unsafe(no_mangle)]
pub extern "C" fn fd_pg2tgt_map(
    layout: In<fdt_layout_t>,
    file: fd_gfid,
    group: u64,
    unit: u32,
    target: Out<u64>,
    frame: Out<u64>,
) -> c_int {
    status(|| {
        let source = UnitAddress { group, unit };
        let place = layout_of(layout)?.place(file.into(), source)?;
        put("target", target, place.target)?;
        put("frame", frame, place.frame)
    })
}

/// Finds the unit that is in a frame of a target.
///
/// # Returns
/// 0; 1 if none is; -ERANGE if the number of the group does not fit in 64 bits.
#[unsafe(no_mangle)]
pub extern "C" fn fd_tgt2pg_map(
    layout: In<fdt_layout_t>,
    file: fd_gfid,
    target: u64,
    frame: u64,
    group: Out<u64>,
    unit: Out<u32>,
) -> c_int {
    status(|| {
        let place = TargetAddress { target, frame };
        let Some(source) = layout_of(layout)?.source(file.into(), place)? else {
            return Ok(1);
        };
        put("group", group, source.group)?;
        put("unit", unit, source.unit)
    })
}

impl From<fd_gfid> for FileId {
    fn from(file: fd_gfid) -> FileId {
        FileId {
            container: file.container,
            key: file.key,
        }
    }
}

/// Tells whether every group survives `failed` failures in each level of the tree, all at once and wherever they are.
/// `test` is FDT_POLYTOPE_B, FDT_SUM or FDT_EXACT; each accepts all that the one before it does.
///
/// # Returns
/// 0 with the verdict; -EINVAL if more domains fail than there are.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_failvec_check(
    layout: In<fdt_layout_t>,
    failed: Array<u32>,
    test: c_int,
    verdict: Out<fdt_verdict>,
) -> c_int {
    status(|| {
        let test = match test {
            0 => FailureTest::Polytope,
            1 => FailureTest::Sum,
            2 => FailureTest::Exact,
            value => {
                return Err(Error::NoChoice {
                    what: "test",
                    value: value as u32,
                });
            }
        };
        let layout = layout_of(layout)?;
        // SAFETY: the header says that there is a number for each level.
        let failed = unsafe { list("failed", failed, layout.tree().depth()) }?;
        let found = fdt_verdict::new(layout.tolerates(failed, test)?, layout.units());
        put("verdict", verdict, found)
    })
}

/// Tells whether every group of every file survives the failure of these domains. A domain inside another one that failed
/// counts once.
///
/// # Returns
/// 0 with the verdict; -ENOENT if there is no such domain.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_failset_check(
    layout: In<fdt_layout_t>,
    failed: Array<fdt_domain>,
    n: usize,
    verdict: Out<fdt_verdict>,
) -> c_int {
    status(|| {
        let (layout, failed) = (layout_of(layout)?, domains(failed, n)?);
        let found = fdt_verdict::new(layout.survives(&failed)?, layout.units());
        put("verdict", verdict, found)
    })
}

/// Gets the polytope of FDT_POLYTOPE_B: failures v pass if A v <= b. `a` gets `rows` rows with a number for each level of
/// the tree, `b` one for each row. There are never more rows than levels and one; `a` and `b` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn fdt_polytope_get(
    layout: In<fdt_layout_t>,
    a: OutArray<u64>,
    b: OutArray<u64>,
    rows: Out<u32>,
) -> c_int {
    status(|| {
        let polytope = layout_of(layout)?.polytope()?;
        put("rows", rows, polytope.rows.len() as u32)?;
        // SAFETY: both arrays have room for one row more than there are levels.
        unsafe {
            a.fill(&polytope.rows.concat());
            b.fill(&polytope.bounds);
        }
        Ok(0)
    })
}

/// Chooses a spare unit for each lost unit of a group. `slots` has an entry for each data and parity unit: the unit in
/// whose place it is, at first its own number, FD_UNPLACED for none. Units in failed domains move to spare ones.
/// `failed` holds all domains that are gone, also those of earlier calls, from which `slots` is handed on.
///
/// # Returns
/// 0; 1 if spares ran out, then units stay FD_UNPLACED; -EIO if the group lost more units than it has parity.
#[unsafe(no_mangle)]
pub extern "C" fn fd_repair_map(
    layout: In<fdt_layout_t>,
    file: fd_gfid,
    group: u64,
    failed: Array<fdt_domain>,
    n: usize,
    slots: OutArray<u32>,
) -> c_int {
    status(|| {
        if slots.is_null() {
            return Err(Error::Null("slots"));
        }
        let (layout, failed) = (layout_of(layout)?, domains(failed, n)?);
        let count = (layout.units().data + layout.units().parity) as usize;
        // SAFETY: the header says that there is an entry for each data and parity unit.
        let slots = unsafe { slots.slice(count) }.ok_or(Error::Null("slots"))?;
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
