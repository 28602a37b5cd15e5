//! What the C shim asks of Rust in order to raise a process failure (`src/shim/raise.h`).

use super::boundary::Out;
use super::guard;
use crate::comm::mpi::{self, MPI_Comm};
use std::ffi::c_int;

/// Takes the failure that the last call met on a private communicator of a resilient one.
///
/// # Returns
/// 1, and the user's communicator and the MPI code; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inner_take_failure(comm: Out<MPI_Comm>, code: Out<c_int>) -> c_int {
    guard(0, || {
        let noted = mpi::take_failure();
        let Some((user, met)) = noted.filter(|noted| mpi::is_resilient(noted.0)) else {
            return 0;
        };
        comm.set(user);
        code.set(met);
        1
    })
}
