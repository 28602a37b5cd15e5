//! Process failures met in our calls: who hears of them.
//!
//! A private communicator that lost a process is revoked at once, so that no peer stays blocked in it. The
//! failure is noted for the C shim, which raises it on the user's communicator after Rust has returned.

use std::cell::Cell;
use std::ffi::c_int;

use mpi_sys::MPI_Comm;

use super::{Kind, MpiComm, check, class_of, registry};
use crate::comm::{Error, Result, ulfm};

thread_local! {
    static NOTED: Cell<Noted> = const { Cell::new(None) };
}

/// The user's communicator whose failure has not been raised yet, and the code that MPI gave for it.
pub fn take_failure() -> Option<(MPI_Comm, c_int)> {
    NOTED.try_with(Cell::take).ok().flatten()
}

/// Leaves a failure for [`take_failure`]. The first of several stays.
pub fn note_failure(user: MPI_Comm, code: c_int) {
    change(|noted| noted.or(Some((user, code))));
}

/// The communicator is about to be freed: nothing can be raised on it any more.
pub(super) fn forget_failure(user: MPI_Comm) {
    change(|noted| noted.filter(|noted| noted.0 != user));
}

type Noted = Option<(MPI_Comm, c_int)>;

/// Does nothing while the thread ends: MPI_Finalize may be called, and communicators freed, by what runs at exit.
fn change(how: impl FnOnce(Noted) -> Noted) {
    let _ = NOTED.try_with(|noted| noted.set(how(noted.get())));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::comm) enum Failure {
    Process,
    Revoked,
}

/// What an MPI code says about processes, if anything.
pub(in crate::comm) fn failure_of(code: c_int) -> Option<Failure> {
    match class_of(code) {
        class if ulfm::is_process_failed(class) => Some(Failure::Process),
        class if ulfm::is_revoked_class(class) => Some(Failure::Revoked),
        _ => None,
    }
}

impl MpiComm {
    /// As [`check`] for a call on this communicator.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        Place::of(self).check(call, code)
    }
}

/// A communicator in which a call may fail.
#[derive(Clone, Copy)]
pub(super) struct Place {
    comm: MPI_Comm,
    users: bool,
}

impl Place {
    pub(super) fn of(comm: &MpiComm) -> Self {
        Self {
            comm: comm.comm,
            users: comm.kind == Kind::Borrowed,
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
