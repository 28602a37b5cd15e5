//! Communicators that a program has derived from a resilient one: recovery must reach the ranks that are blocked in them.
//!
//! Every constructor of MPI (split, dup, create, topologies, intercommunicators) passes the error handler of the old
//! communicator on, so a communicator with the resilient handler is the resilient one or derived from it. Open MPI numbers
//! all communicators of a process for Fortran, from 0 on, and translates numbers back: so they are found when they are
//! needed, whoever made them, and no constructor has to be wrapped. Wrappers would hide calls from the profiling tools of
//! every program that links any of our libraries, and would miss those of Fortran.
//!
//! A rank that enters recovery revokes all that it finds. A rank that is blocked in one waits for another rank of it: that
//! one is dead, which MPI reports, or enters recovery sooner or later and revokes it. A constructor that the failure has
//! interrupted may leave an incomplete communicator behind, which must not be revoked: Open MPI would crash. It looks like
//! the others, but its ranks are a subset of those of the one that it was made from. So a rank that met the failure in a
//! constructor skips all communicators of such ranks: every rank in them takes part in the constructor too, and is not
//! blocked in them. (A communicator that MPI_Comm_idup is making when another call meets a failure is not recognized; of an
//! intercommunicator only the own group is compared.) After the repair the remaining ones are marked as stale, by an
//! attribute, since a new communicator may get the address of a freed one: an error that a stale one raises, say for a
//! pending request, has been repaired already. No rank waits in a stale one, so the next failure skips it.
//!
//! Out of reach are communicators whose handler the program has replaced, and those that it derived from others, such as
//! MPI_COMM_WORLD. Windows and files have handlers of their own.

use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_sys::{self as ffi, MPI_Comm};

use super::is_revoked;
use crate::comm::mpi::{self, Keyval, MpiComm};
use crate::log;

/// Communicator ids of Open MPI have 16 bits.
const NUMBERS: c_int = 1 << 16;

/// The communicators with the resilient handler: the user's, and all that are derived from it.
fn resilient() -> Vec<MPI_Comm> {
    // SAFETY: constants of the MPI shim, never written.
    let predefined = unsafe { [ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF] };
    // One that was freed while messages are under way still has its number. Asking for its handler is an error, which
    // MPI raises on the predefined ones.
    let quiet = predefined.map(MpiComm::borrowed);
    let all = (0..NUMBERS).map(mpi::comm_of_fortran);
    let of_users = all.filter(|comm| !mpi::is_null(*comm) && !predefined.contains(comm));
    let found = of_users.filter(|comm| mpi::is_resilient(*comm)).collect();
    drop(quiet);
    found
}

/// Those that are not revoked yet and known to be complete. Stale ones may not be: an earlier failure may have interrupted
/// their construction.
pub(super) fn to_revoke(made_of: Option<MPI_Comm>) -> Vec<MPI_Comm> {
    let mut found = resilient();
    found.retain(|comm| !is_revoked(*comm) && !is_stale(*comm));
    if let Some(whole) = made_of {
        found.retain(|comm| !mpi::is_within(*comm, whole).unwrap_or(true));
    }
    found
}

/// Marks communicators that an earlier repair has replaced.
static STALE: Keyval = Keyval::new(delete_nothing);

/// After a repair: errors on all but the new communicator of the user mean nothing new.
pub(super) fn mark_stale(new: MPI_Comm) {
    for comm in resilient().into_iter().filter(|comm| *comm != new) {
        // SAFETY: the value is never dereferenced.
        let marked = unsafe { STALE.set(comm, ptr::dangling_mut()) };
        if let Err(error) = marked {
            log!(Warning, "{error}");
        }
    }
}

/// Whether an earlier repair has replaced what this communicator belongs to.
pub(super) fn is_stale(comm: MPI_Comm) -> bool {
    !mpi::is_null(comm) && STALE.value(comm).is_ok_and(|value| value.is_some())
}

unsafe extern "C" fn delete_nothing(
    _comm: MPI_Comm,
    _key: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    0
}
