//! `rankstr_mpi.h`: ranks with the same string.
//!
//! The functions return nothing, so a failure shows in their results: no groups and group -1, or MPI_COMM_NULL, on all
//! ranks; and in `stanchion_last_error`. The tags are not needed: all messages travel on a private duplicate of the
//! communicator.

use super::boundary::{Out, Text};
use super::{error, guard};
use crate::comm::mpi::{MPI_Comm, MpiComm, null_comm, split_for_user};
use crate::rankstr::{self, Error};
use std::ffi::{CStr, c_int};

/// Counts the different strings of the ranks; `groupid` gets the number of this rank's, in byte order from 0.
///
/// # Collective
/// Called by all ranks of `comm`. A NULL string on any rank gives 0 groups and group -1 on all.
#[unsafe(no_mangle)]
pub extern "C" fn rankstr_mpi(
    str: Text,
    comm: MPI_Comm,
    _tag1: c_int,
    _tag2: c_int,
    groups: Out<c_int>,
    groupid: Out<c_int>,
) {
    let found = remembered(|| {
        let text = str.get().map(CStr::to_bytes);
        rankstr::group(&MpiComm::private(comm)?, text)
    });
    let (count, id) = found.map_or((0, -1), |g| (g.groups as c_int, g.id as c_int));
    groups.set(count);
    groupid.set(id);
}

fn remembered<T>(body: impl FnOnce() -> Result<T, Error>) -> Option<T> {
    guard(None, || body().map_err(error::remember).ok())
}

/// Splits `comm` into communicators of ranks with the same string, ordered by `key`. Ranks that give NULL get
/// MPI_COMM_NULL; so do all ranks if one of them gives NULL for `newcomm`.
///
/// # Collective
/// Called by all ranks of `comm`.
#[unsafe(no_mangle)]
pub extern "C" fn rankstr_mpi_comm_split(
    comm: MPI_Comm,
    str: Text,
    key: c_int,
    _tag1: c_int,
    _tag2: c_int,
    newcomm: Out<MPI_Comm>,
) {
    let split = remembered(|| {
        let text = str.get().map_or(&b""[..], CStr::to_bytes);
        // Without a place for it, nobody may get a communicator that includes this rank: it votes with NULL.
        let text = (!newcomm.is_null()).then_some(text);
        let group = rankstr::group(&MpiComm::private(comm)?, text)?;
        let color = (!str.is_null()).then_some(group.id as u32);
        Ok(split_for_user(comm, color, key)?)
    });
    newcomm.set(split.unwrap_or(null_comm()));
}
