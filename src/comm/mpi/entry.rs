//! Identifies the MPI library in use, of several in one process.

use std::ffi::c_void;

use mpi_sys as ffi;

/// A function of every MPI, by its profiling name, which tools do not intercept.
pub const ENTRY_NAME: &str = "PMPI_Comm_rank";

/// Its address in the MPI in use.
pub fn entry() -> *const c_void {
    ffi::PMPI_Comm_rank as *const c_void
}
