//! Process failures that our own calls of MPI report.
//!
//! A private communicator that lost a process is revoked at once, so that no peer stays blocked in it. The
//! failure is kept for the C shim, which raises it on the user's communicator after Rust has returned.

use std::cell::Cell;
use std::ffi::c_int;

use mpi_sys::MPI_Comm;

use super::{MpiComm, Ownership, check, class_of, registry};
use crate::comm::{Error, Result, ulfm};

/// A communicator of the user and the code that MPI gave for it.
type Unraised = Option<(MPI_Comm, c_int)>;

thread_local! {
    static NOTED: Cell<Unraised> = const { Cell::new(None) };
}

/// Takes the failure that has not been raised yet.
pub fn take_failure() -> Unraised {
    NOTED.try_with(Cell::take).ok().flatten()
}

/// Leaves a failure for [`take_failure`]. The first of several stays.
pub fn note_failure(user: MPI_Comm, code: c_int) {
    change(|noted| noted.or(Some((user, code))));
}

/// For a communicator that is about to be freed: nothing can be raised on it any more.
pub(super) fn forget_failure(user: MPI_Comm) {
    change(|noted| noted.filter(|noted| noted.0 != user));
}

/// Does nothing while the thread ends: an exit handler may call MPI_Finalize, which frees communicators.
fn change(how: impl FnOnce(Unraised) -> Unraised) {
    let _ = NOTED.try_with(|noted| noted.set(how(noted.get())));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::comm) enum FailureClass {
    Process,
    Revoked,
}

/// The class of an MPI code, if that reports a process failure.
pub(in crate::comm) fn failure_of(code: c_int) -> Option<FailureClass> {
    match class_of(code) {
        class if ulfm::is_process_failed(class) => Some(FailureClass::Process),
        class if ulfm::is_revoked_class(class) => Some(FailureClass::Revoked),
        _ => None,
    }
}

impl MpiComm {
    /// As [`check`] for a call on this communicator.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        CallSite::of(self).check(call, code)
    }
}

/// The communicator of a call, for when it fails.
#[derive(Clone, Copy)]
pub(super) struct CallSite {
    comm: MPI_Comm,
    /// Whether it is the user's own.
    users: bool,
}

impl CallSite {
    pub(super) fn of(comm: &MpiComm) -> Self {
        Self {
            comm: comm.comm,
            users: comm.ownership == Ownership::Borrowed,
        }
    }

    pub(super) fn check(self, call: &'static str, code: c_int) -> Result<()> {
        let checked = check(call, code);
        match checked {
            Err(Error::ProcessFailed { .. }) if !self.users => ulfm::revoke(self.comm),
            Err(Error::ProcessFailed { .. } | Error::Revoked { .. }) => {}
            _ => return checked,
        }
        let user = match self.users {
            true => Some(self.comm),
            false => registry::origin_of(self.comm),
        };
        if let Some(user) = user {
            note_failure(user, code);
        }
        checked
    }
}
