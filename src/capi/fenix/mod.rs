//! `fenix.h`: process recovery, and redundant data in memory. Chapters in the header's order; what they share is here.
//!
//! Process recovery runs between MPI's error handler, which is C (`src/shim/fenix_mpi.c`), and [`recovery`]. Data groups
//! are found by their ids in [`registry`], which takes one out for the duration of a call.

pub mod process;

pub mod groups;

pub mod members;

pub mod subsets;

pub mod store;

pub mod commit;

pub mod restore;

pub(super) mod errors;
mod lease;
mod memory;
mod policy;
pub mod recovery;
mod registry;
mod streaming;

use crate::comm::Comm;
use crate::comm::mpi;
use crate::fenix::{Error, Result};
use recovery::is_initialized;
use registry::{HeldGroup, with_group};
use std::ffi::c_int;

/// Refuses calls before Fenix_Init and after Fenix_Finalize, and after MPI_Finalize, which may come without it.
fn check_running() -> Result<()> {
    match is_initialized() {
        true => Ok(mpi::check_running()?),
        false => Err(Error::Uninitialized),
    }
}

fn in_group<T>(group_id: c_int, work: impl FnOnce(&mut HeldGroup) -> Result<T>) -> Result<T> {
    check_running()?;
    with_group(group_id, work)
}

/// A rank of the group's communicator.
fn rank_in(comm: &impl Comm, rank: c_int) -> Result<usize> {
    let found = usize::try_from(rank)
        .ok()
        .filter(|&rank| rank < comm.size());
    found.ok_or_else(|| Error::AttributeValue(format!("rank {rank} is not in 0..{}", comm.size())))
}
