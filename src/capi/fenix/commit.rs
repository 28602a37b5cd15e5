//! # Commit
//!
//! Make what was stored a snapshot.

use super::errors::{
    FENIX_ERROR_CANCELLED, FENIX_ERROR_COMMIT_BARRIER, FENIX_ERROR_NOCATEGORY, FENIX_SUCCESS,
    common_status, status, status_of,
};
use super::in_group;
use super::recovery::{Commit, agree_commit};
use super::registry::HeldGroup;
use crate::capi::boundary::Out;
use crate::capi::error;
use crate::fenix::Result;
use std::ffi::c_int;

/// Makes what was stored a snapshot, on this rank; waits for stores that are under way. `time_stamp` gets the time stamp
/// of the snapshot; it may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_commit(group_id: c_int, time_stamp: Out<c_int>) -> c_int {
    status(|| {
        time_stamp.set(in_group(group_id, commit)?);
        Ok(())
    })
}

fn commit(held: &mut HeldGroup) -> Result<c_int> {
    let stamp = held.group.commit()?;
    held.requests.end_all();
    Ok(stamp)
}

/// As Fenix_Data_commit on all ranks of the group or on none: the commit happens if all ranks that live have called this.
/// (In a group of only some ranks of the resilient communicator, some may have committed if a rank fails meanwhile;
/// Fenix_Data_group_create then goes back to the last snapshot that all have.)
///
/// # Returns
/// 0; FENIX_ERROR_COMMIT_BARRIER if other ranks are recovering from a failure already, or a store since the last commit has
/// failed on some ranks and was not repeated: nothing was committed; FENIX_ERROR_CANCELLED if the commit happened, but a
/// rank has failed. After a failure a recovery has come between: a program that resumes at Fenix_Init does not get here.
///
/// # Collective
/// Called by all ranks of the group.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_commit_barrier(group_id: c_int, time_stamp: Out<c_int>) -> c_int {
    status_of(FENIX_ERROR_COMMIT_BARRIER, || {
        in_group(group_id, |held| {
            // A rank that could not store says so at the meeting: the others must not commit.
            let ready = held.group.prepare_commit();
            let verdict = agree_commit(held.group.comm()?, ready.is_ok())?;
            match (verdict, ready) {
                (Commit::Recovers, _) => {
                    error::remember("no commit: other ranks are recovering from a failure");
                    return Ok(FENIX_ERROR_COMMIT_BARRIER);
                }
                (Commit::Refused, Err(cause)) => {
                    error::remember(cause);
                    return Ok(FENIX_ERROR_COMMIT_BARRIER);
                }
                (Commit::Refused, Ok(_)) => {
                    error::remember("no commit: another rank could not store all of it");
                    return Ok(FENIX_ERROR_COMMIT_BARRIER);
                }
                _ => {}
            }
            time_stamp.set(commit(held)?);
            if verdict == Commit::CommitsAndRecovers {
                error::remember("a rank has failed; the commit was done without it");
                return Ok(FENIX_ERROR_CANCELLED);
            }
            Ok(FENIX_SUCCESS)
        })
    })
}

/// Deletes the snapshots of the group that not all ranks have.
///
/// # Collective
/// Called by all ranks of the group, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_barrier(group_id: c_int) -> c_int {
    let call = FENIX_ERROR_NOCATEGORY;
    status_of(call, || {
        in_group(group_id, |held| {
            let ended = held.group.reconcile().map(|()| FENIX_SUCCESS);
            Ok(common_status(call, held.group.comm()?, ended))
        })
    })
}
