//! # Restore
//!
//! Write the elements of a snapshot into a buffer, and rebuild what ranks have lost.

use super::errors::{
    FENIX_ERROR_NOCATEGORY, FENIX_SUCCESS, FENIX_WARNING_PARTIAL_RESTORE, agree, common_status,
    natural, status_of,
};
use super::groups::stamp;
use super::memory::Elements;
use super::registry::HeldGroup;
use super::subsets::hand_out;
use super::{in_group, rank_in};
use crate::capi::boundary::{Out, OutArray};
use crate::capi::fenix_data_subset::Fenix_Data_subset;
use crate::fenix::{Regions, Restored, Result, Stamp, Subset};
use std::ffi::{c_int, c_void};

/// Restores a member: rebuilds what ranks have lost of it, then writes its elements below `max_count` to `target_buffer`,
/// as they were in the newest snapshot that is not newer than `time_stamp` (FENIX_DATA_SNAPSHOT_LATEST: the newest of all)
/// or, where that lacks them, in older ones. A `target_buffer` of NULL only rebuilds. `found_data` gets the elements that
/// were found, to be freed with Fenix_Data_subset_delete; it may be NULL. Holes of the datatype are left alone; a member
/// of which this rank knows no datatype is written without holes.
///
/// # Returns
/// 0; FENIX_WARNING_PARTIAL_RESTORE if a rank did not get all elements; FENIX_ERROR_NODATA_FOUND if nothing was committed
/// or more ranks were lost than the policy protects, and then no buffer is touched; FENIX_ERROR_INVALID_TIMESTAMP,
/// FENIX_ERROR_INVALID_MEMBERID.
///
/// # Collective
/// Called by all ranks of the group, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_restore(
    group_id: c_int,
    member_id: c_int,
    target_buffer: OutArray<c_void>,
    max_count: c_int,
    time_stamp: c_int,
    found_data: Out<Fenix_Data_subset>,
) -> c_int {
    collective_restore(group_id, found_data, |held| {
        let max_count = agree(held.group.comm()?, natural("max_count", max_count))?;
        let time_stamp = not_newer(held, time_stamp);
        // SAFETY: the caller's buffer has room for `max_count` elements.
        let mut target = unsafe {
            held.memory
                .of(member_id)
                .elements(target_buffer.as_ptr().cast())
        };
        let wanted = (!target_buffer.is_null()).then_some(&mut target);
        let found = held.group.restore(member_id, time_stamp, max_count, wanted);
        match target_buffer.is_null() {
            true => found.map(|_| nothing_wanted()),
            false => ended(found, target),
        }
    })
}

/// As Fenix_Data_member_restore from what this rank holds itself: rebuilds nothing. A `target_buffer` of NULL only tells
/// what would be found.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_lrestore(
    group_id: c_int,
    member_id: c_int,
    target_buffer: OutArray<c_void>,
    max_count: c_int,
    time_stamp: c_int,
    found_data: Out<Fenix_Data_subset>,
) -> c_int {
    found_data.set(Fenix_Data_subset::EMPTY);
    status_of(FENIX_ERROR_NOCATEGORY, || {
        let restored = in_group(group_id, |held| {
            let max_count = natural("max_count", max_count)?;
            let time_stamp = not_newer(held, time_stamp);
            // SAFETY: the caller's buffer has room for `max_count` elements.
            let mut target = unsafe {
                held.memory
                    .of(member_id)
                    .elements(target_buffer.as_ptr().cast())
            };
            let group = &held.group;
            let found = group.restore_locally(member_id, time_stamp, max_count, &mut target);
            ended(found, target)
        })?;
        show(&restored, found_data)
    })
}

/// As Fenix_Data_member_restore, but gets the elements that rank `source_rank` of the group stored; each rank may name
/// another one.
///
/// # Collective
/// Called by all ranks of the group, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_restore_from_rank(
    group_id: c_int,
    member_id: c_int,
    data: OutArray<c_void>,
    max_count: c_int,
    time_stamp: c_int,
    found_data: Out<Fenix_Data_subset>,
    source_rank: c_int,
) -> c_int {
    collective_restore(group_id, found_data, |held| {
        let comm = held.group.comm()?;
        let given = natural("max_count", max_count);
        let given = given.and_then(|count| Ok((count, rank_in(comm, source_rank)?)));
        let (max_count, rank) = agree(comm, given)?;
        let time_stamp = not_newer(held, time_stamp);
        // SAFETY: the caller's buffer has room for `max_count` elements.
        let mut target = unsafe { held.memory.of(member_id).elements(data.as_ptr().cast()) };
        let group = &mut held.group;
        let found = group.restore_from(member_id, time_stamp, max_count, &mut target, rank);
        ended(found, target)
    })
}

/// The newest snapshot that is not newer than the time stamp.
fn not_newer(held: &HeldGroup, time_stamp: c_int) -> Stamp {
    let stamps = held.group.snapshots();
    let wanted = stamps.into_iter().find(|&stamp| stamp <= time_stamp);
    wanted.map_or(stamp(time_stamp), Stamp::At)
}

/// Runs `restore`, shows what it found, and lets all ranks return the same code.
fn collective_restore(
    group: c_int,
    found_data: Out<Fenix_Data_subset>,
    restore: impl FnOnce(&mut HeldGroup) -> Result<Restored>,
) -> c_int {
    found_data.set(Fenix_Data_subset::EMPTY);
    let call = FENIX_ERROR_NOCATEGORY;
    status_of(call, || {
        in_group(group, |held| {
            let shown = restore(held).and_then(|found| show(&found, found_data));
            Ok(common_status(call, held.group.comm()?, shown))
        })
    })
}

/// What a restore without a buffer shows.
fn nothing_wanted() -> Restored {
    Restored {
        found: Regions::default(),
        complete: true,
    }
}

fn ended(found: Result<Restored>, target: Elements) -> Result<Restored> {
    let written = target.finish();
    let found = found?;
    written?;
    Ok(found)
}

/// Gives C what was found, and the code that says whether it was everything.
fn show(restored: &Restored, found_data: Out<Fenix_Data_subset>) -> Result<c_int> {
    if !found_data.is_null() {
        hand_out(&Subset::of(&restored.found), found_data)?;
    }
    Ok(match restored.complete {
        true => FENIX_SUCCESS,
        false => FENIX_WARNING_PARTIAL_RESTORE,
    })
}
