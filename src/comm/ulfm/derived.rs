//! Communicators that a program has made of a resilient one: recovery must reach the ranks that are blocked in them.
//!
//! Every constructor of MPI (split, dup, create, those of topologies, of an intercommunicator) hands the error handler
//! of the old communicator on, so a communicator with the resilient handler is the resilient one or stems from
//! it. Open MPI numbers all communicators of a process for Fortran, from 0 on, and gives each for its number:
//! so they are found when they are needed, whoever made them, and no constructor has to be wrapped. Wrappers
//! would come between every program that links any of our libraries and its profiling tool, and Fortran would pass
//! them by.
//!
//! A rank that enters recovery revokes all that it finds. Who is blocked in one waits for a rank of it: that rank is
//! dead, which MPI tells, or comes to recovery itself sooner or later, and revokes it. A constructor that the failure
//! has interrupted may leave a communicator behind that is not complete, and must not be revoked, since Open MPI crashes
//! then. It looks like the others, but its ranks are among those of the one it was made of. So a rank that comes from a
//! constructor leaves those alone which have no other ranks: who is in one of them takes part in the constructor too,
//! and waits for nobody there. (One that MPI_Comm_idup is making when another call meets a failure cannot be told from
//! the others; of one between two groups only the own group is looked at.) After the repair those
//! that are left are marked as stale, by an attribute, since a new communicator may get the address of one that was freed:
//! an error that a stale one raises, say for a request that was open, has been repaired already. Nobody waits in a stale
//! one, so the next failure leaves it alone.
//!
//! Out of reach are communicators whose handler the program has replaced, and those that it made of others, such as the
//! world. Windows and files have handlers of their own.

use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_sys::{self as ffi, MPI_Comm};

use super::is_revoked;
use crate::comm::mpi::{self, Keyval, MpiComm};
use crate::log;

/// Open MPI has no more communicators than messages have room for their ids: 16 bits.
const NUMBERS: c_int = 1 << 16;

/// The communicators with the resilient handler: that of the user, and all that stem from it.
fn resilient() -> Vec<MPI_Comm> {
    // SAFETY: constants of the MPI shim, never written.
    let predefined = unsafe { [ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF] };
    // One that was freed while messages are under way still has its number. To ask it for its handler is an error,
    // which MPI raises on these.
    let quiet = predefined.map(MpiComm::borrowed);
    let all = (0..NUMBERS).map(mpi::comm_of_fortran);
    let of_users = all.filter(|comm| !mpi::is_null(*comm) && !predefined.contains(comm));
    let found = of_users.filter(|comm| mpi::is_resilient(*comm)).collect();
    drop(quiet);
    found
}

/// Those that nobody has revoked yet, as far as they are known to be complete. Stale ones are not: what interrupted the
/// making of one of them was an earlier failure.
pub(super) fn to_revoke(made_of: Option<MPI_Comm>) -> Vec<MPI_Comm> {
    let mut found = resilient();
    found.retain(|comm| !is_revoked(*comm) && !is_stale(*comm));
    if let Some(whole) = made_of {
        found.retain(|comm| !mpi::is_within(*comm, whole).unwrap_or(true));
    }
    found
}

/// Carried by what an earlier repair has replaced.
static STALE: Keyval = Keyval::new(delete_nothing);

/// After a repair: errors on all but the new communicator of the user mean nothing new.
pub(super) fn mark_stale(new: MPI_Comm) {
    for comm in resilient().into_iter().filter(|comm| *comm != new) {
        // SAFETY: the value is a number that nobody follows.
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
