//! # Groups
//!
//! A data group is a communicator with members, a redundancy policy and snapshots.

use super::errors::{
    FENIX_ERROR_GROUP_CREATE, FENIX_ERROR_INTERN, FENIX_SUCCESS, agree, code_of, common_status,
    put, status,
};
use super::policy::{Protection, protection, values};
use super::recovery::with;
use super::registry::{create_group, delete_group};
use super::{check_running, in_group};
use crate::capi::boundary::{Out, OutArray};
use crate::capi::guard;
use crate::capi::stanchion::fenix::checksums;
use crate::comm::mpi::{self, MPI_Comm, MpiComm};
use crate::comm::{self, Comm, Op};
use crate::fenix::{Error, Result, Settings, Stamp};
use std::ffi::{c_int, c_void};

const FENIX_DATA_SNAPSHOT_LATEST: c_int = -1;
const FENIX_DATA_SNAPSHOT_ALL: c_int = 16;

pub(super) fn stamp(time_stamp: c_int) -> Stamp {
    match time_stamp {
        FENIX_DATA_SNAPSHOT_LATEST => Stamp::Latest,
        stamp => Stamp::At(stamp),
    }
}

/// Creates a data group; after a failure, attaches it to the repaired communicator.
///
/// `start_time_stamp` is the time stamp of the first commit, `depth` how many snapshots are kept besides the latest (-1:
/// all). `policy_value` of FENIX_DATA_POLICY_IN_MEMORY_RAID is {1, rank separation}: another rank keeps a copy, or
/// {5, rank separation, set size}: sets of ranks keep parity. That of STANCHION_FENIX_POLICY_RS of stanchion.h is
/// {rank separation, set size, k}: any k ranks of a set may be lost. If the environment variable STANCHION_TOPOLOGY is
/// set, the sets are placed by the failure domains that it names, as with STANCHION_FENIX_POLICY_PLACED of stanchion.h;
/// the rank separation is then ignored. A group that existed keeps its sets, its members and the snapshots that all
/// surviving ranks hold; new ranks get theirs by Fenix_Data_member_restore. `flag` gets the return code; it may be NULL.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_TIMESTAMP, FENIX_ERROR_INVALID_DEPTH; FENIX_ERROR_GROUP_CREATE if the policy is impossible
/// here or the ranks' arguments differ.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_group_create(
    group_id: c_int,
    comm: MPI_Comm,
    start_time_stamp: c_int,
    depth: c_int,
    policy_name: c_int,
    policy_value: OutArray<c_void>,
    flag: Out<c_int>,
) -> c_int {
    let call = FENIX_ERROR_GROUP_CREATE;
    let code = guard(FENIX_ERROR_INTERN, || {
        let private = match check_running().and_then(|()| Ok(MpiComm::private(comm)?)) {
            Ok(private) => private,
            Err(cause) => return code_of(call, Err(cause)),
        };
        // SAFETY: NULL, or what the header says for this name.
        let protection = unsafe { protection(policy_name, policy_value.as_ptr()) };
        let settings = settings(group_id, start_time_stamp, depth, protection);
        let settings = agree(&private, settings);
        let made = settings
            .and_then(|given| create_group(comm_of_group(&private, comm)?, policy_name, given));
        common_status(call, &private, made.map(|()| FENIX_SUCCESS))
    });
    flag.set(code);
    code
}

/// The communicator for the messages of a group on `user`. For the resilient communicator that is its private duplicate,
/// which lives as long as Fenix: a communicator that a failure interrupts may crash Open MPI, so the fewer are made after a
/// repair, the better. All groups on it then share the duplicate with other calls of this library: collectives come in one
/// order on all ranks, and stores under way have tags of their own. Where several threads may call MPI at once each
/// group needs a communicator of its own, since threads have no common order; so does one on a communicator that the
/// program may free.
///
/// # Collective
/// Called by all ranks of `private`, the duplicate of `user`.
fn comm_of_group(private: &MpiComm, user: MPI_Comm) -> Result<MpiComm> {
    let is_resilient = with(|state| Ok(state.user()? == user))?;
    // Thread levels may differ between ranks.
    let mut alone = [u64::from(!is_resilient || mpi::is_concurrent())];
    private.allreduce(Op::Max, &mut alone)?;
    if alone == [0] {
        return Ok(MpiComm::private(user)?);
    }
    let own = private.split(Some(0), private.rank() as i32)?;
    own.ok_or(Error::Comm(comm::Error::NullCommunicator))
}

fn settings(
    id: c_int,
    start: c_int,
    depth: c_int,
    protection: Result<Protection>,
) -> Result<Settings> {
    if start < 0 {
        return Err(Error::FirstStamp(start));
    }
    if depth < -1 {
        return Err(Error::Depth(depth));
    }
    let (policy, path) = protection?;
    Ok(Settings {
        id,
        first_stamp: start,
        depth: u32::try_from(depth).ok(),
        policy,
        path,
        checksums: checksums(),
    })
}

/// Gets how the group is protected, as Fenix_Data_group_create was told: `policy_value` gets {1, rank separation} or
/// {5, rank separation, set size}, with STANCHION_FENIX_POLICY_PLACED {1, 2}, {5, set size} or {6, set size, k}, with
/// STANCHION_FENIX_POLICY_RS {rank separation, set size, k}; `flag` gets 1.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_group_get_redundancy_policy(
    group_id: c_int,
    policy_name: Out<c_int>,
    policy_value: OutArray<c_void>,
    flag: Out<c_int>,
) -> c_int {
    status(|| {
        let (name, policy) = in_group(group_id, |held| {
            Ok((held.policy_name, held.group.settings().policy))
        })?;
        let values: Vec<_> = values(name, policy).iter().map(|v| *v as c_int).collect();
        if policy_value.is_null() {
            return Err(Error::Null("policy_value"));
        }
        put("policy_name", policy_name, name)?;
        // SAFETY: the caller's array of ints has room for the values of the mode.
        unsafe { policy_value.cast::<c_int>().fill(&values) };
        flag.set(1);
        Ok(())
    })
}

/// Counts the members that this rank knows.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_group_get_number_of_members(
    group_id: c_int,
    number_of_members: Out<c_int>,
) -> c_int {
    status(|| {
        let count = in_group(group_id, |held| Ok(held.group.members().len()))?;
        put("number_of_members", number_of_members, count as c_int)
    })
}

/// Gets the id of the member at `position`, from 0: members are in the order of their ids.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_group_get_member_at_position(
    group_id: c_int,
    member_id: Out<c_int>,
    position: c_int,
) -> c_int {
    status(|| {
        let members = in_group(group_id, |held| Ok(held.group.members()))?;
        put("member_id", member_id, at(&members, position)?)
    })
}

/// Counts the snapshots that this rank has.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_group_get_number_of_snapshots(
    group_id: c_int,
    number_of_snapshots: Out<c_int>,
) -> c_int {
    status(|| {
        let count = in_group(group_id, |held| Ok(held.group.snapshots().len()))?;
        put("number_of_snapshots", number_of_snapshots, count as c_int)
    })
}

/// Gets the time stamp of the snapshot at `position`: the newest is at 0.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_group_get_snapshot_at_position(
    group_id: c_int,
    position: c_int,
    time_stamp: Out<c_int>,
) -> c_int {
    status(|| {
        let stamps = in_group(group_id, |held| Ok(held.group.snapshots()))?;
        put("time_stamp", time_stamp, at(&stamps, position)?)
    })
}

fn at(values: &[i32], position: c_int) -> Result<c_int> {
    let index = usize::try_from(position).ok();
    let value = index.and_then(|index| values.get(index)).copied();
    value.ok_or(Error::Position {
        position: position.into(),
        count: values.len(),
    })
}

/// Deletes the snapshot with the time stamp, on this rank. FENIX_DATA_SNAPSHOT_LATEST is the newest one;
/// FENIX_DATA_SNAPSHOT_ALL stands for all, unless a snapshot has that number as its time stamp.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_TIMESTAMP if there is no such snapshot.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_snapshot_delete(group_id: c_int, time_stamp: c_int) -> c_int {
    status(|| {
        in_group(group_id, |held| {
            let stamps = held.group.snapshots();
            let all = time_stamp == FENIX_DATA_SNAPSHOT_ALL && !stamps.contains(&time_stamp);
            if stamps.is_empty() && !all {
                return Err(Error::NoSuchStamp {
                    group: group_id,
                    stamp: time_stamp,
                });
            }
            held.group
                .delete_snapshot((!all).then(|| stamp(time_stamp)))
        })
    })
}

/// Deletes a group with all its members and snapshots, on this rank. All ranks of the group should do so.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_group_delete(group_id: c_int) -> c_int {
    status(|| {
        check_running()?;
        delete_group(group_id)
    })
}
