//! `rankstr_mpi.h`: ranks with the same string.
//!
//! The functions return nothing, so a failure shows in their results: no groups and group -1, or
//! MPI_COMM_NULL, on all ranks; and in `stanchion_last_error`. The tags are not needed, since all
//! messages travel on a private duplicate of the communicator.

use super::{error, guard, ptr};
use crate::comm::mpi::{MPI_Comm, MpiComm, null_comm, split_for_user};
use crate::rankstr::{self, Error, Group};
use std::ffi::{c_char, c_int};

/// How many different strings the ranks gave, and which of them, in byte order from 0, is this one's.
///
/// # Collective
/// Called by all ranks of `comm`. A NULL string on any rank gives 0 groups and group -1 on all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankstr_mpi(
    str: *const c_char,
    comm: MPI_Comm,
    _tag1: c_int,
    _tag2: c_int,
    groups: *mut c_int,
    groupid: *mut c_int,
) {
    // SAFETY: arguments of the caller.
    let found = guard(None, || remembered(unsafe { group(str, comm) }));
    let (count, id) = found.map_or((0, -1), |g| (g.groups as c_int, g.id as c_int));
    // SAFETY: arguments of the caller.
    unsafe {
        ptr::store(groups, count);
        ptr::store(groupid, id);
    }
}

unsafe fn group(str: *const c_char, comm: MPI_Comm) -> Result<Group, Error> {
    // SAFETY: arguments of the caller.
    let text = unsafe { ptr::text(str) };
    rankstr::group(&MpiComm::private(comm)?, text.map(|t| t.to_bytes()))
}

fn remembered<T>(result: Result<T, Error>) -> Option<T> {
    result.map_err(error::remember).ok()
}

/// Splits `comm` into communicators of ranks with the same string, ordered by `key`; ranks that give
/// NULL get MPI_COMM_NULL. So do all ranks if one of them gives NULL for `newcomm`.
///
/// # Collective
/// Called by all ranks of `comm`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankstr_mpi_comm_split(
    comm: MPI_Comm,
    str: *const c_char,
    key: c_int,
    _tag1: c_int,
    _tag2: c_int,
    newcomm: *mut MPI_Comm,
) {
    let split = guard(None, || {
        // SAFETY: arguments of the caller.
        remembered(unsafe { split(comm, str, key, !newcomm.is_null()) })
    });
    // SAFETY: arguments of the caller.
    unsafe { ptr::store(newcomm, split.unwrap_or(null_comm())) };
}

unsafe fn split(
    comm: MPI_Comm,
    str: *const c_char,
    key: c_int,
    has_place: bool,
) -> Result<MPI_Comm, Error> {
    let string = match (has_place, str.is_null()) {
        (true, true) => c"".as_ptr(),
        (true, false) => str,
        // The others must not get a communicator that this rank cannot use.
        (false, _) => std::ptr::null(),
    };
    // SAFETY: arguments of the caller.
    let group = unsafe { group(string, comm) }?;
    let color = (!str.is_null()).then_some(group.id as u32);
    Ok(split_for_user(comm, color, key)?)
}
