//! # Process
//!
//! What a program asks between Fenix_Init and Fenix_Finalize.

use super::errors::{FENIX_ERROR_CANCELLED, FENIX_SUCCESS, put};
use super::recovery::{MUTED, end, is_initialized, status, with};
use crate::capi::boundary::{InOut, Out};
use crate::capi::{error, guard};
use crate::comm::mpi::{self, MPI_Comm, MPI_Request, MPI_Status};
use crate::comm::ulfm;
use crate::fenix::Error;
use crate::fenix::process::{SyncOutcome, SyncPoint, Trouble};
use std::ffi::{c_int, c_void};

/// MPI may need several tests to see that a request has ended; after this many it counts as lost.
const TESTS: usize = 100;

/// Tells whether Fenix_Init has been called and Fenix_Finalize has not. May be called at any time.
///
/// # Returns
/// 0, and 1 or 0 in `flag`.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Initialized(flag: Out<c_int>) -> c_int {
    status(|| {
        put("flag", flag, is_initialized().into())?;
        Ok(FENIX_SUCCESS)
    })
}

/// Registers a function that surviving ranks call after each recovery, before they go on. The last one registered is
/// called first. Its arguments are the repaired communicator, what Fenix_Init has put in `error`, and `callback_data`.
///
/// # Returns
/// 0; FENIX_ERROR_UNINITIALIZED before Fenix_Init.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Callback_register(
    recover: Option<unsafe extern "C" fn(comm: MPI_Comm, error: c_int, data: *mut c_void)>,
    callback_data: *mut c_void,
) -> c_int {
    status(|| {
        with(|state| {
            recover.ok_or(Error::Null("recover"))?;
            state.callbacks.push((recover, callback_data));
            Ok(FENIX_SUCCESS)
        })
    })
}

/// Removes the callback that was registered last.
///
/// # Returns
/// 0; FENIX_ERROR_CALLBACK_NOT_REGISTERED if there is none; FENIX_ERROR_UNINITIALIZED before Fenix_Init.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Callback_pop() -> c_int {
    status(|| {
        with(|state| {
            let last = state.callbacks.pop();
            last.map(|_| FENIX_SUCCESS).ok_or(Error::NoCallback)
        })
    })
}

/// Looks for failed ranks of the resilient communicator, without waiting. With `do_recovery` it recovers from them, as an
/// MPI call that meets them does.
///
/// # Returns
/// MPI_SUCCESS, or the code that MPI has for the failure; FENIX_ERROR_UNINITIALIZED before Fenix_Init.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Process_detect_failures(do_recovery: c_int) -> c_int {
    status(|| {
        with(|state| {
            let code = match state.process.detect()? {
                None => return Ok(FENIX_SUCCESS),
                Some(Trouble::Failed) => ulfm::PROC_FAILED,
                Some(Trouble::Revoked) => ulfm::REVOKED,
            };
            mpi::take_failure();
            if do_recovery != 0 {
                mpi::note_failure(state.user()?, code);
            }
            Ok(code)
        })
    })
}

/// Counts the ranks of the resilient communicator that have a role.
///
/// # Returns
/// 0, and their number in `count`; FENIX_ERROR_UNINITIALIZED before Fenix_Init.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_get_number_of_ranks_with_role(role: c_int, count: Out<c_int>) -> c_int {
    status(|| {
        with(|state| {
            let roles = (0..state.process.active()).filter_map(|rank| state.process.role(rank));
            let having = roles.filter(|&found| c_int::from(found) == role).count();
            put("count", count, having as c_int)?;
            Ok(FENIX_SUCCESS)
        })
    })
}

/// Gets the role of a rank of `comm`, which is the resilient communicator or one made of its ranks.
///
/// # Returns
/// 0, and the role in `role`; FENIX_ERROR_UNINITIALIZED before Fenix_Init; FENIX_ERROR_NOCATEGORY if there is no such rank.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_get_role(comm: MPI_Comm, rank: c_int, role: Out<c_int>) -> c_int {
    status(|| {
        with(|state| {
            let found = mpi::rank_in(comm, rank, state.user()?)?;
            let known = found.and_then(|found| state.process.role(found));
            let known = known.ok_or(Error::Number {
                what: "the rank",
                value: rank.into(),
            })?;
            put("role", role, known.into())?;
            Ok(FENIX_SUCCESS)
        })
    })
}

/// Lists the processes that the last repair has lost, ascending, by the ranks they had before it; spares are counted
/// after the ranks of the resilient communicator.
///
/// # Returns
/// Their number, and in `fail_list` an array that belongs to the library and lives until the next repair;
/// FENIX_ERROR_UNINITIALIZED before Fenix_Init.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Process_fail_list(fail_list: Out<*mut c_int>) -> c_int {
    status(|| {
        with(|state| {
            put("fail_list", fail_list, state.failed.as_mut_ptr())?;
            Ok(state.failed.len() as c_int)
        })
    })
}

/// Tests a request that was started before a recovery, without recovering again.
///
/// # Returns
/// 0 if it has completed, 1 if a failure has ended it or it is not known to have completed.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_check_cancelled(
    request: InOut<MPI_Request>,
    status: Out<MPI_Status>,
) -> c_int {
    guard(1, || {
        if request.is_null() {
            return 1;
        }
        let muted = MUTED.replace(true);
        let test = || {
            // SAFETY: a request of the caller, and NULL or room for its status.
            unsafe { mpi::test(request.as_ptr(), status.as_ptr()) }
        };
        let ended = (0..TESTS).find_map(|_| test());
        MUTED.set(muted);
        ended.is_none_or(ulfm::is_failure).into()
    })
}

/// Ends the use of Fenix; spares that were not needed leave Fenix_Init, finalize MPI and exit.
///
/// # Returns
/// 0; FENIX_ERROR_CANCELLED, only with NO_JUMP, if a rank failed before all had called this: after the recovery this rank
/// goes back to work like the others and calls Fenix_Finalize again; FENIX_ERROR_UNINITIALIZED before Fenix_Init;
/// FENIX_ERROR_INTERN if an earlier recovery was given up.
///
/// # Collective
/// Called by all ranks of the resilient communicator. If a rank fails while others are still at work, this recovers like
/// any other call; a rank that fails after all others have called this is not replaced.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Finalize() -> c_int {
    status(|| {
        with(|state| {
            if state.broken {
                return Err(Error::Unrepairable("an earlier recovery failed".into()));
            }
            match state.process.meet(SyncPoint::Finalize, true)? {
                SyncOutcome::AllHere { .. } => state.process.dismiss_spares(),
                SyncOutcome::Elsewhere => {
                    mpi::note_failure(state.user()?, ulfm::REVOKED);
                    error::remember("other ranks recover from a failure, and go back to work");
                    return Ok(FENIX_ERROR_CANCELLED);
                }
            }
            Ok(FENIX_SUCCESS)
        })
        .inspect(|&ended| {
            if ended == FENIX_SUCCESS {
                end();
            }
        })
        .inspect_err(|_| end())
    })
}
