//! Ranks of one communicator in another.

use std::ffi::c_int;
use std::sync::Arc;

use mpi_sys::{self as ffi, MPI_Comm, MPI_Group};

use super::user::ReturnErrors;
#[cfg(stanchion_ulfm)]
use super::{MpiComm, Ownership};
use super::{check, is_running};
use crate::comm::Result;

/// The ranks that a communicator was split off from: asked only for messages, and without communication.
pub(super) struct UserRanks {
    own: OwnedGroup,
    /// Of the user's communicator.
    user: Arc<OwnedGroup>,
}

impl UserRanks {
    /// For `part`, which was split off from `whole`; `known` if that was split off itself.
    pub(super) fn of(part: MPI_Comm, whole: MPI_Comm, known: Option<&UserRanks>) -> Result<Self> {
        let user = match known {
            Some(known) => known.user.clone(),
            None => Arc::new(OwnedGroup(group_of(whole)?)),
        };
        let own = OwnedGroup(group_of(part)?);
        Ok(UserRanks { own, user })
    }

    /// The rank in the user's communicator, if MPI still tells.
    pub(super) fn find(&self, rank: usize) -> Option<usize> {
        let rank = c_int::try_from(rank).ok().filter(|_| is_running())?;
        let found = translate_groups(self.own.0, &[rank], self.user.0);
        found.ok()?.into_iter().next()?
    }
}

/// A group that is freed when it is dropped.
struct OwnedGroup(MPI_Group);

// SAFETY: a handle is valid in all threads of the process. MPI's thread level says which calls may run concurrently.
unsafe impl Send for OwnedGroup {}
// SAFETY: as above; it is only read.
unsafe impl Sync for OwnedGroup {}

impl Drop for OwnedGroup {
    fn drop(&mut self) {
        if is_running() {
            // SAFETY: the group is ours and not used again.
            unsafe { ffi::MPI_Group_free(&mut self.0) };
        }
    }
}

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
    let found = translate_groups(group, ranks, all);
    // SAFETY: `all` is ours and not used again.
    unsafe { ffi::MPI_Group_free(&mut all) };
    found
}

fn translate_groups(
    group: MPI_Group,
    ranks: &[c_int],
    all: MPI_Group,
) -> Result<Vec<Option<usize>>> {
    let mut found = vec![0; ranks.len()];
    let count = ranks.len() as c_int;
    // SAFETY: both arrays hold `count` numbers; MPI writes only the second.
    check("MPI_Group_translate_ranks", unsafe {
        ffi::MPI_Group_translate_ranks(group, count, ranks.as_ptr(), all, found.as_mut_ptr())
    })?;
    Ok(found
        .into_iter()
        .map(|rank| usize::try_from(rank).ok())
        .collect())
}
