//! Hints for libraries that open files through MPI.

use std::ffi::{CString, c_int};

use mpi_sys::{self as ffi, MPI_Info};

use super::{check, check_running, is_running};
use crate::comm::{Error, Result};

/// Keys with their values; freed when dropped.
pub struct Info(MPI_Info);

impl Info {
    /// A later value of the same key replaces an earlier one.
    pub fn new(hints: &[(CString, CString)]) -> Result<Self> {
        check_running()?;
        hints.iter().try_for_each(check_hint)?;
        // SAFETY: a constant of the MPI shim, never written.
        let mut handle = unsafe { ffi::RSMPI_INFO_NULL };
        // SAFETY: `handle` is ours to write.
        check("MPI_Info_create", unsafe {
            ffi::MPI_Info_create(&mut handle)
        })?;
        let info = Self(handle);
        for (key, value) in hints {
            // SAFETY: `handle` is valid, both texts end with NUL.
            check("MPI_Info_set", unsafe {
                ffi::MPI_Info_set(handle, key.as_ptr(), value.as_ptr())
            })?;
        }
        Ok(info)
    }

    pub fn handle(&self) -> MPI_Info {
        self.0
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        if is_running() {
            // SAFETY: the handle is ours and not used again.
            unsafe { ffi::MPI_Info_free(&mut self.0) };
        }
    }
}

/// MPI would hand such a hint to the error handler of the world communicator, which may end the job.
fn check_hint((key, value): &(CString, CString)) -> Result<()> {
    let fits = |text: &CString, most: u32| (1..most as usize).contains(&text.as_bytes().len());
    if fits(key, ffi::MPI_MAX_INFO_KEY) && fits(value, ffi::MPI_MAX_INFO_VAL) {
        return Ok(());
    }
    Err(Error::Transport {
        call: "MPI_Info_set",
        code: ffi::MPI_ERR_INFO_KEY as c_int,
        text: format!("the hint {key:?} or its value {value:?} is empty or too long"),
    })
}
