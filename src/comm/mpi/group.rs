//! Ranks of one communicator in another.

use std::ffi::c_int;

use mpi_sys::{self as ffi, MPI_Comm, MPI_Group};

use super::check;
use super::user::ReturnErrors;
#[cfg(stanchion_ulfm)]
use super::{MpiComm, Ownership};
use crate::comm::Result;

/// The ranks in `comm` of the members of `group`, which is freed.
#[cfg(stanchion_ulfm)]
pub(in crate::comm) fn ranks_of(mut group: MPI_Group, comm: MPI_Comm) -> Result<Vec<usize>> {
    let mut size = 0;
    // SAFETY: `group` is valid, `size` is ours to write.
    check("MPI_Group_size", unsafe {
        ffi::MPI_Group_size(group, &mut size)
    })?;
    let members: Vec<c_int> = (0..size).collect();
    let ranks = translate(group, &members, comm);
    // SAFETY: `group` is ours and not used again.
    unsafe { ffi::MPI_Group_free(&mut group) };
    Ok(ranks?.into_iter().flatten().collect())
}

/// Whether all ranks of a communicator, for an intercommunicator those of the own group, are in another.
#[cfg(stanchion_ulfm)]
pub(in crate::comm) fn is_within(part: MPI_Comm, whole: MPI_Comm) -> Result<bool> {
    let size = MpiComm::new(part, Ownership::Borrowed)?.size;
    Ok(ranks_of(group_of(part)?, whole)?.len() == size)
}

/// The rank that member `rank` of one communicator has in another.
pub fn rank_in(of: MPI_Comm, rank: c_int, to: MPI_Comm) -> Result<Option<usize>> {
    let _handler = ReturnErrors::on(of)?;
    let mut group = group_of(of)?;
    let ranks = translate(group, &[rank], to);
    // SAFETY: `group` is ours and not used again.
    unsafe { ffi::MPI_Group_free(&mut group) };
    Ok(ranks?[0])
}

fn group_of(comm: MPI_Comm) -> Result<MPI_Group> {
    // SAFETY: a constant of the MPI shim, never written.
    let mut group = unsafe { ffi::RSMPI_GROUP_NULL };
    // SAFETY: `comm` is valid, `group` is ours to write.
    check("MPI_Comm_group", unsafe {
        ffi::MPI_Comm_group(comm, &mut group)
    })?;
    Ok(group)
}

fn translate(group: MPI_Group, ranks: &[c_int], to: MPI_Comm) -> Result<Vec<Option<usize>>> {
    let mut all = group_of(to)?;
    let mut found = vec![0; ranks.len()];
    let count = ranks.len() as c_int;
    // SAFETY: both arrays hold `count` numbers; MPI writes only the second.
    let translated = check("MPI_Group_translate_ranks", unsafe {
        ffi::MPI_Group_translate_ranks(group, count, ranks.as_ptr(), all, found.as_mut_ptr())
    });
    // SAFETY: `all` is ours and not used again.
    unsafe { ffi::MPI_Group_free(&mut all) };
    translated?;
    Ok(found
        .into_iter()
        .map(|rank| usize::try_from(rank).ok())
        .collect())
}
