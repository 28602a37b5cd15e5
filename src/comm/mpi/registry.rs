//! Every live private communicator and the user's communicator that it stems from.
//!
//! Process recovery revokes those of resilient communicators, so that no rank stays blocked in one.

use std::sync::{Mutex, MutexGuard};

use mpi_sys::{MPI_Comm, MPI_Errhandler};

/// A handle of MPI is a number or an address, which means the same in all threads.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Handle<T>(T);

// SAFETY: see above; nothing is read through it here.
unsafe impl<T> Send for Handle<T> {}

struct Entry {
    comm: Handle<MPI_Comm>,
    /// Absent once the user has freed it.
    user: Option<Handle<MPI_Comm>>,
    resilient: bool,
    /// Whether all ranks are known to have it.
    settled: bool,
}

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
static HANDLER: Mutex<Option<Handle<MPI_Errhandler>>> = Mutex::new(None);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Names the error handler by which resilient communicators are known.
pub fn set_resilient_handler(handler: MPI_Errhandler) {
    *locked(&HANDLER) = Some(Handle(handler));
}

pub(in crate::comm) fn resilient_handler() -> Option<MPI_Errhandler> {
    locked(&HANDLER).map(|handler| handler.0)
}

/// A private communicator that all ranks have.
pub(super) fn add(comm: MPI_Comm, user: MPI_Comm, resilient: bool) {
    locked(&ENTRIES).push(Entry {
        comm: Handle(comm),
        user: Some(Handle(user)),
        resilient,
        settled: true,
    });
}

pub(super) fn settle(comm: MPI_Comm) {
    let mut entries = locked(&ENTRIES);
    for entry in entries.iter_mut().filter(|e| e.comm == Handle(comm)) {
        entry.settled = true;
    }
}

/// A part of a private communicator is known for what the whole is known for. Not settled yet.
pub(super) fn add_part(of: MPI_Comm, part: MPI_Comm) {
    let mut entries = locked(&ENTRIES);
    let whole = entries.iter().find(|entry| entry.comm == Handle(of));
    if let Some(&Entry {
        user, resilient, ..
    }) = whole
    {
        let comm = Handle(part);
        entries.push(Entry {
            comm,
            user,
            resilient,
            settled: false,
        });
    }
}

pub(super) fn remove(comm: MPI_Comm) {
    locked(&ENTRIES).retain(|entry| entry.comm != Handle(comm));
}

/// The user frees his communicator; private ones that he still holds parts of live on.
pub(super) fn orphan(user: MPI_Comm) {
    let mut entries = locked(&ENTRIES);
    for entry in entries.iter_mut().filter(|e| e.user == Some(Handle(user))) {
        entry.user = None;
    }
}

pub(super) fn origin_of(comm: MPI_Comm) -> Option<MPI_Comm> {
    let entries = locked(&ENTRIES);
    let entry = entries.iter().find(|entry| entry.comm == Handle(comm))?;
    entry.user.map(|user| user.0)
}

/// All that stem from resilient communicators: those that all ranks have, and those that some may be making.
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
