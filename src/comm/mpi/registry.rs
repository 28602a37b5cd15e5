//! All live private communicators, each with the user's communicator from which it was made.
//!
//! Process recovery revokes those of resilient communicators, so that no rank stays blocked in one.

use std::sync::{Mutex, MutexGuard};

use mpi_sys::{MPI_Comm, MPI_Errhandler};

/// An MPI handle: a number or an address, which is valid in all threads.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SharedHandle<T>(T);

// SAFETY: see above; nothing is read through it here.
unsafe impl<T> Send for SharedHandle<T> {}

struct PrivateComm {
    comm: SharedHandle<MPI_Comm>,
    /// Absent once the user has freed it.
    user: Option<SharedHandle<MPI_Comm>>,
    resilient: bool,
    /// Whether all ranks are known to have it.
    settled: bool,
}

static ENTRIES: Mutex<Vec<PrivateComm>> = Mutex::new(Vec::new());
static HANDLER: Mutex<Option<SharedHandle<MPI_Errhandler>>> = Mutex::new(None);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Sets the error handler that marks resilient communicators.
pub fn set_resilient_handler(handler: MPI_Errhandler) {
    *locked(&HANDLER) = Some(SharedHandle(handler));
}

pub(in crate::comm) fn resilient_handler() -> Option<MPI_Errhandler> {
    locked(&HANDLER).map(|handler| handler.0)
}

/// A private communicator that all ranks have.
pub(super) fn add(comm: MPI_Comm, user: MPI_Comm, resilient: bool) {
    locked(&ENTRIES).push(PrivateComm {
        comm: SharedHandle(comm),
        user: Some(SharedHandle(user)),
        resilient,
        settled: true,
    });
}

pub(super) fn settle(comm: MPI_Comm) {
    let mut entries = locked(&ENTRIES);
    for entry in entries.iter_mut().filter(|e| e.comm == SharedHandle(comm)) {
        entry.settled = true;
    }
}

/// A communicator that was split off a private one, and inherits what is known of that. Not settled yet.
pub(super) fn add_part(of: MPI_Comm, part: MPI_Comm) {
    let mut entries = locked(&ENTRIES);
    let whole = entries.iter().find(|entry| entry.comm == SharedHandle(of));
    if let Some(&PrivateComm {
        user, resilient, ..
    }) = whole
    {
        let comm = SharedHandle(part);
        entries.push(PrivateComm {
            comm,
            user,
            resilient,
            settled: false,
        });
    }
}

pub(super) fn remove(comm: MPI_Comm) {
    locked(&ENTRIES).retain(|entry| entry.comm != SharedHandle(comm));
}

/// Forgets a communicator that the user frees; communicators that were split off its duplicate may live on.
pub(super) fn orphan(user: MPI_Comm) {
    let mut entries = locked(&ENTRIES);
    for entry in entries
        .iter_mut()
        .filter(|e| e.user == Some(SharedHandle(user)))
    {
        entry.user = None;
    }
}

pub(super) fn origin_of(comm: MPI_Comm) -> Option<MPI_Comm> {
    let entries = locked(&ENTRIES);
    let entry = entries
        .iter()
        .find(|entry| entry.comm == SharedHandle(comm))?;
    entry.user.map(|user| user.0)
}

/// All that were made from resilient communicators: those that all ranks have, and those that some may still be making.
pub(in crate::comm) fn resilient() -> (Vec<MPI_Comm>, Vec<MPI_Comm>) {
    let entries = locked(&ENTRIES);
    let of = |settled| {
        let found = entries
            .iter()
            .filter(move |e| e.resilient && e.settled == settled);
        found.map(|entry| entry.comm.0).collect()
    };
    (of(true), of(false))
}
