//! User-level failure mitigation (ULFM), as in Open MPI 5: revoke, shrink and agree after process failures.
//!
//! `build.rs` finds out whether the MPI has it. Without it, or if the job was started without fault tolerance
//! (`mpiexec --with-ft ulfm`), the same calls work as long as no process fails: a shrunk communicator is a
//! duplicate, an agreement is a reduction.
#![allow(unsafe_code)]

#[cfg(stanchion_ulfm)]
mod derived;

use std::ffi::c_int;
use std::time::Duration;

use mpi_sys::{self as ffi, MPI_Comm};

#[cfg(stanchion_ulfm)]
use super::mpi::FailureClass;
use super::mpi::{MpiComm, failure_of, registry};
use super::resilient::common_bits;
use super::{Agreement, Comm, Error, Resilient, Result, Tag};

const SETTLING: Duration = Duration::from_millis(5);

/// Of [`Resilient::signal`].
const SIGNAL: Tag = 1;

#[cfg(stanchion_ulfm)]
mod calls {
    use super::*;
    use mpi_sys::MPI_Group;
    use std::ffi::c_void;

    unsafe extern "C" {
        pub(super) fn MPIX_Comm_revoke(comm: MPI_Comm) -> c_int;
        pub(super) fn MPIX_Comm_is_revoked(comm: MPI_Comm, flag: *mut c_int) -> c_int;
        pub(super) fn MPIX_Comm_shrink(comm: MPI_Comm, shrunk: *mut MPI_Comm) -> c_int;
        pub(super) fn MPIX_Comm_agree(comm: MPI_Comm, flag: *mut c_int) -> c_int;
        pub(super) fn MPIX_Comm_failure_ack(comm: MPI_Comm) -> c_int;
        pub(super) fn MPIX_Comm_failure_get_acked(comm: MPI_Comm, group: *mut MPI_Group) -> c_int;
    }

    const fn number(text: &str) -> c_int {
        match c_int::from_str_radix(text, 10) {
            Ok(number) => number,
            Err(_) => panic!("build.rs gives numbers"),
        }
    }

    pub(super) const PROC_FAILED: c_int = number(env!("STANCHION_PROC_FAILED"));
    pub(super) const PROC_FAILED_PENDING: c_int = number(env!("STANCHION_PROC_FAILED_PENDING"));
    pub(super) const REVOKED: c_int = number(env!("STANCHION_REVOKED"));

    /// Whether the job was started with fault tolerance.
    pub(super) fn is_enabled() -> bool {
        let mut value: *mut c_int = std::ptr::null_mut();
        let mut found = 0;
        // SAFETY: a predefined attribute of the world communicator; MPI writes a pointer to an int.
        let code = unsafe {
            let value: *mut c_void = (&raw mut value).cast();
            ffi::MPI_Comm_get_attr(
                ffi::RSMPI_COMM_WORLD,
                ffi::MPI_FT as c_int,
                value,
                &mut found,
            )
        };
        // SAFETY: the attribute lives as long as MPI.
        code == 0 && found != 0 && !value.is_null() && unsafe { *value } != 0
    }
}

/// MPI's error class of a process failure; another one where MPI has none.
#[cfg(stanchion_ulfm)]
pub const PROC_FAILED: c_int = calls::PROC_FAILED;
#[cfg(stanchion_ulfm)]
pub const REVOKED: c_int = calls::REVOKED;
#[cfg(not(stanchion_ulfm))]
pub const PROC_FAILED: c_int = ffi::MPI_ERR_OTHER as c_int;
#[cfg(not(stanchion_ulfm))]
pub const REVOKED: c_int = ffi::MPI_ERR_OTHER as c_int;

/// Whether a communicator can be repaired; never while MPI is not running.
pub fn available() -> bool {
    #[cfg(stanchion_ulfm)]
    return super::mpi::is_running() && calls::is_enabled();
    #[cfg(not(stanchion_ulfm))]
    return false;
}

#[cfg(stanchion_ulfm)]
pub(super) fn is_process_failed(class: c_int) -> bool {
    class == calls::PROC_FAILED || class == calls::PROC_FAILED_PENDING
}

#[cfg(stanchion_ulfm)]
pub(super) fn is_revoked_class(class: c_int) -> bool {
    class == calls::REVOKED
}

#[cfg(not(stanchion_ulfm))]
pub(super) fn is_process_failed(_class: c_int) -> bool {
    false
}

#[cfg(not(stanchion_ulfm))]
pub(super) fn is_revoked_class(_class: c_int) -> bool {
    false
}

/// Whether a code of MPI means that a process has failed, here or elsewhere.
pub fn is_failure(code: c_int) -> bool {
    failure_of(code).is_some()
}

/// Ignores SIGPIPE where communicators can be repaired. Open MPI leaves it at its default, and a write to a connection that a
/// dead process has closed would end the survivor too. Anything but the default is the program's own and stays.
pub fn ignore_sigpipe() {
    if !available() {
        return;
    }
    let mut found = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `found` is ours to write, and zeros are a value of it. Ignoring a signal runs no code.
    unsafe {
        let code = libc::sigaction(libc::SIGPIPE, std::ptr::null(), found.as_mut_ptr());
        if code == 0 && found.assume_init().sa_sigaction == libc::SIG_DFL {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        }
    }
}

/// Revokes any communicator; a second time does nothing.
pub fn revoke(comm: MPI_Comm) {
    #[cfg(stanchion_ulfm)]
    // SAFETY: `comm` is a valid communicator.
    unsafe {
        calls::MPIX_Comm_revoke(comm);
    }
    #[cfg(not(stanchion_ulfm))]
    let _ = comm;
}

/// To be called after a failure has interrupted the making of a communicator: Open MPI then still holds its lock on
/// communicator ids, and releases it only when a communicator is made from one with a lower id. The lowest ids are those of
/// MPI_COMM_WORLD and MPI_COMM_SELF. The temporary communicator must be empty: it may reuse the interrupted id, and would
/// receive messages that were sent under that.
pub(super) fn unlock_ids() {
    #[cfg(stanchion_ulfm)]
    // SAFETY: constants of the MPI shim, never written; `none` is ours to write.
    unsafe {
        let mut none = ffi::RSMPI_COMM_NULL;
        ffi::MPI_Comm_split(ffi::RSMPI_COMM_SELF, ffi::RSMPI_UNDEFINED, 0, &mut none);
    }
}

/// Revokes every private communicator of a resilient one, and all that the program has derived from it. Those that other
/// ranks may still be making come last: Open MPI crashes when the communicator that it is making is revoked, but stops
/// making it when the one that it is made from is. `made_of` is the communicator from which this rank was making another
/// when it met the failure.
pub fn revoke_all(made_of: Option<MPI_Comm>) {
    let (settled, unsettled) = registry::resilient();
    settled.into_iter().for_each(revoke);
    #[cfg(stanchion_ulfm)]
    let unsettled = [unsettled, derived::to_revoke(made_of)].concat();
    #[cfg(not(stanchion_ulfm))]
    let _ = made_of;
    if !unsettled.is_empty() {
        std::thread::sleep(SETTLING);
    }
    unsettled.into_iter().for_each(revoke);
}

/// After a repair: marks all communicators but `user`, the new one, so that errors on them start no other repair.
pub fn mark_stale(user: MPI_Comm) {
    #[cfg(stanchion_ulfm)]
    derived::mark_stale(user);
    #[cfg(not(stanchion_ulfm))]
    let _ = user;
}

/// Whether a communicator is from before the last repair.
pub fn is_stale(comm: MPI_Comm) -> bool {
    #[cfg(stanchion_ulfm)]
    return derived::is_stale(comm);
    #[cfg(not(stanchion_ulfm))]
    {
        let _ = comm;
        false
    }
}

/// Whether to leave a communicator of ours to MPI_Finalize: a revoked one keeps its id, since messages for it may still be
/// under way, which the next communicator with that id would receive.
pub(super) fn keeps_id(comm: MPI_Comm) -> bool {
    is_revoked(comm)
}

fn is_revoked(comm: MPI_Comm) -> bool {
    #[cfg(stanchion_ulfm)]
    {
        let mut revoked = 0;
        // SAFETY: `comm` is a valid communicator, `revoked` is ours to write.
        unsafe { calls::MPIX_Comm_is_revoked(comm, &mut revoked) };
        revoked != 0
    }
    #[cfg(not(stanchion_ulfm))]
    {
        let _ = comm;
        false
    }
}

impl Resilient for MpiComm {
    fn revoke(&self) {
        revoke(self.handle());
    }

    fn is_revoked(&self) -> bool {
        is_revoked(self.handle())
    }

    fn shrink(&self) -> Result<Self> {
        #[cfg(stanchion_ulfm)]
        if available() {
            unlock_ids();
            let mut shrunk = super::mpi::null_comm();
            // SAFETY: the communicator is valid, `shrunk` is ours to write.
            let code = unsafe { calls::MPIX_Comm_shrink(self.handle(), &mut shrunk) };
            super::mpi::check("MPIX_Comm_shrink", code)?;
            return MpiComm::adopt(shrunk);
        }
        let whole = self.split(Some(0), self.rank() as i32)?;
        whole.ok_or(Error::NullCommunicator)
    }

    fn agree(&self, flag: u32) -> Result<Agreement> {
        #[cfg(stanchion_ulfm)]
        if available() {
            let mut flag = flag as c_int;
            // SAFETY: the communicator is valid, `flag` is ours to write.
            let code = unsafe { calls::MPIX_Comm_agree(self.handle(), &mut flag) };
            // The flag is valid although MPI reports a process failure with it.
            let someone_failed = failure_of(code) == Some(FailureClass::Process);
            if !someone_failed {
                super::mpi::check("MPIX_Comm_agree", code)?;
            }
            let flag = flag as u32;
            return Ok(Agreement {
                flag,
                someone_failed,
            });
        }
        Ok(Agreement {
            flag: common_bits(self, flag)?,
            someone_failed: false,
        })
    }

    fn failed(&self) -> Result<Vec<usize>> {
        #[cfg(stanchion_ulfm)]
        if available() {
            // SAFETY: a constant of the MPI shim, never written.
            let mut group = unsafe { ffi::RSMPI_GROUP_NULL };
            // SAFETY: the communicator is valid.
            let code = unsafe { calls::MPIX_Comm_failure_ack(self.handle()) };
            super::mpi::check("MPIX_Comm_failure_ack", code)?;
            // SAFETY: as above, `group` is ours to write.
            let code = unsafe { calls::MPIX_Comm_failure_get_acked(self.handle(), &mut group) };
            super::mpi::check("MPIX_Comm_failure_get_acked", code)?;
            return super::mpi::ranks_of(group, self.handle());
        }
        Ok(Vec::new())
    }

    fn split_for_user(&self, joins: bool, key: i32) -> Result<Option<(Self, Self)>> {
        let color = joins.then_some(0);
        let user = self.split_unsettled(color, key)?;
        let private = self.split_unsettled(color, key)?;
        match user.zip(private) {
            Some((user, private)) => super::mpi::make_resilient(user, private).map(Some),
            None => Ok(None),
        }
    }

    fn signal(&self, to: usize) {
        let comm = self.handle();
        // SAFETY: an empty message. A failure to send it is ignored: the receiver may be dead.
        unsafe {
            ffi::MPI_Send(
                std::ptr::null(),
                0,
                ffi::RSMPI_UINT8_T,
                to as c_int,
                SIGNAL,
                comm,
            );
        }
    }

    fn signalled(&self) -> Result<bool> {
        let mut status = super::mpi::no_status();
        let mut there = 0;
        // SAFETY: the communicator is valid, `there` and `status` are ours to write.
        let code = unsafe {
            let from = ffi::RSMPI_ANY_SOURCE;
            ffi::MPI_Iprobe(from, SIGNAL, self.handle(), &mut there, &mut status)
        };
        super::mpi::check("MPI_Iprobe", code)?;
        Ok(there != 0)
    }
}
