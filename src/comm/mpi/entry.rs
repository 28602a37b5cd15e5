//! What tells one MPI library from another in a process.

use std::ffi::c_void;

use mpi_sys as ffi;

/// A function of every MPI, by a name that tools which watch calls of MPI leave alone.
pub const ENTRY_NAME: &str = "PMPI_Comm_rank";

/// Where the MPI in use has it.
pub fn entry() -> *const c_void {
    ffi::PMPI_Comm_rank as *const c_void
}
