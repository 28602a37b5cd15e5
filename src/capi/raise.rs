//! What the C shim asks of Rust in order to raise a process failure (`src/shim/raise.h`).

use crate::comm::mpi::MPI_Comm;
use std::ffi::c_int;

/// Takes the failure that the last call met on a private communicator of a resilient one.
///
/// # Returns
/// 1, and the user's communicator and the MPI code; 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inner_take_failure(_comm: *mut MPI_Comm, _code: *mut c_int) -> c_int {
    0
}
