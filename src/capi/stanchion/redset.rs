//! # redset
//!
//! Sets of a placement, the contents of a descriptor, and a check of files that changes nothing.

use super::placements::{fdp_t, placement_of};
use crate::capi::boundary::{In, Out, Text};
use crate::capi::guard;
use crate::capi::kvtree::kvtree;
use crate::capi::redset::descriptors::{HeldRedset, ShownSet, agree, clear, held, name, own_comm};
use crate::capi::redset::{
    REDSET_COPY_NULL, REDSET_COPY_PARTNER, REDSET_COPY_RS, REDSET_COPY_SINGLE, REDSET_COPY_XOR,
    redset, remembered, status,
};
use crate::comm::mpi::{MPI_Comm, MpiComm};
use crate::kvtree::Tree;
use crate::redset::{self as room, Descriptor, Error, Neighbour, Result, Scheme};
use std::ffi::{c_char, c_int};
use std::ptr::{null, null_mut};

/// As `stanchion.h` declares it.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct stanchion_redset_info {
    enabled: c_int,
    r#type: c_int,
    groups: c_int,
    group_id: c_int,
    ranks: c_int,
    rank: c_int,
    lhs_rank: c_int,
    lhs_rank_world: c_int,
    lhs_hostname: *const c_char,
    rhs_rank: c_int,
    rhs_rank_world: c_int,
    rhs_hostname: *const c_char,
    group_map: *const c_int,
}

/// No set, no neighbours.
const NOTHING: stanchion_redset_info = stanchion_redset_info {
    enabled: 0,
    r#type: REDSET_COPY_NULL,
    groups: 0,
    group_id: -1,
    ranks: 0,
    rank: -1,
    lhs_rank: -1,
    lhs_rank_world: -1,
    lhs_hostname: null(),
    rhs_rank: -1,
    rhs_rank_world: -1,
    rhs_hostname: null(),
    group_map: null(),
};

impl stanchion_redset_info {
    fn of(descriptor: &Descriptor) -> Self {
        Self {
            enabled: descriptor.enabled.into(),
            r#type: match descriptor.scheme {
                Scheme::Single => REDSET_COPY_SINGLE,
                Scheme::Copies { .. } => REDSET_COPY_PARTNER,
                Scheme::Xor => REDSET_COPY_XOR,
                Scheme::ReedSolomon { .. } => REDSET_COPY_RS,
            },
            groups: descriptor.groups as c_int,
            group_id: descriptor.group as c_int,
            ranks: descriptor.ranks as c_int,
            rank: descriptor.rank as c_int,
            ..NOTHING
        }
    }

    fn beside(self, left: &Neighbour, right: &Neighbour, shown: &ShownSet) -> Self {
        Self {
            lhs_rank: left.rank as c_int,
            lhs_rank_world: left.world_rank as c_int,
            lhs_hostname: shown.left_host.as_ptr(),
            rhs_rank: right.rank as c_int,
            rhs_rank_world: right.world_rank as c_int,
            rhs_hostname: shown.right_host.as_ptr(),
            group_map: shown.map.as_ptr(),
            ..self
        }
    }
}

/// Makes a descriptor of the sets of a placement, with its numbers and its scheme: what fdp_survives says of the
/// placement holds for the files. The placement may be destroyed afterwards.
///
/// # Returns
/// 0, and the descriptor in `d`, to be freed with redset_delete; 1, also if the placement is not for as many ranks.
///
/// # Collective
/// Called by all ranks of the communicator that the placement was made for, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_redset_create_placed(
    comm: MPI_Comm,
    placement: In<fdp_t>,
    d: Out<redset>,
) -> c_int {
    status(|| {
        let cleared = clear(d);
        let comm = own_comm(comm)?;
        let given = cleared.and_then(|()| Ok(placement_of(placement)?));
        let made = room::create_placed(&comm, agree(&comm, given)?)?;
        d.set(HeldRedset::hand_out(comm, Some(made)));
        Ok(())
    })
}

/// Shows what a descriptor holds. The strings and the map in `info` live until redset_delete; they are NULL if recover
/// could not form the set.
///
/// # Returns
/// 0; 1 if `d` is no descriptor, or one of a recover that found none for this rank.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_redset_describe(d: redset, info: Out<stanchion_redset_info>) -> c_int {
    status(|| {
        if info.is_null() {
            return Err(Error::Null("info"));
        }
        let held = held(d)?;
        let shown = stanchion_redset_info::of(descriptor(held)?);
        let set = held.redset()?.set().zip(held.shown.as_ref());
        info.set(match set {
            Some((set, texts)) => shown.beside(&set.left, &set.right, texts),
            None => shown,
        });
        Ok(())
    })
}

fn descriptor(held: &HeldRedset) -> Result<&Descriptor> {
    let known = held.redset()?.descriptor();
    known.ok_or(Error::NotADescriptor("d"))
}

/// Returns the descriptor as redundancy files keep it, with ENABLED, TYPE, GROUPS, GROUP, RANKS, RANK and so on: a new
/// tree, to be freed with kvtree_delete; NULL where stanchion_redset_describe fails.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_redset_to_kvtree(d: redset) -> *mut kvtree {
    guard(null_mut(), || {
        let tree = held(d).and_then(|held| Ok(descriptor(held)?.to_tree()));
        remembered(tree).map_or(null_mut(), Tree::into_raw)
    })
}

/// Reads all files that redset_apply protected under `name`, and their redundancy, and compares them with their
/// checksums. Changes nothing.
///
/// `report` gets a new tree with the state of each file of each rank of the caller's set, to be freed with
/// kvtree_delete; it may be NULL.
///
/// # Returns
/// 0 if nothing is missing or damaged on any rank.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_redset_verify(
    comm: MPI_Comm,
    name: Text,
    report: Out<*mut kvtree>,
) -> c_int {
    status(|| {
        report.set(null_mut());
        let comm = MpiComm::private(comm)?;
        let name = agree(&comm, self::name(name))?;
        let (tree, verdict) = room::verify(&comm, name)?;
        if !report.is_null() {
            report.set(tree.into_raw());
        }
        verdict
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_struct_is_laid_out_as_in_c() {
        assert_eq!(offset_of!(stanchion_redset_info, lhs_hostname), 32);
        assert_eq!(offset_of!(stanchion_redset_info, rhs_rank), 40);
        assert_eq!(offset_of!(stanchion_redset_info, group_map), 56);
        assert_eq!(size_of::<stanchion_redset_info>(), 64);
    }
}
