//! Attributes that communicators carry for us (MPI's keyvals). Duplicates do not inherit them.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use mpi_sys::{self as ffi, MPI_Comm};

use super::{SUCCESS, check};
use crate::comm::Result;

/// Called with the communicator, the key and the value when the communicator is freed.
pub(in crate::comm) type Delete =
    unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;

/// A key, created at its first use.
pub(in crate::comm) struct Keyval {
    known: Mutex<Option<c_int>>,
    delete: Delete,
}

impl Keyval {
    pub(in crate::comm) const fn new(delete: Delete) -> Keyval {
        Keyval {
            known: Mutex::new(None),
            delete,
        }
    }

    fn key(&self) -> Result<c_int> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = *known {
            return Ok(key);
        }
        let mut key = 0;
        let (copy, delete) = (Some(copy_nothing as _), Some(self.delete as _));
        // SAFETY: the callbacks have MPI's signatures and live as long as the program.
        check("MPI_Comm_create_keyval", unsafe {
            ffi::MPI_Comm_create_keyval(copy, delete, &mut key, ptr::null_mut())
        })?;
        Ok(*known.insert(key))
    }

    /// Attaches a value until the communicator is freed or [`Keyval::remove`] is called.
    ///
    /// # Safety
    /// The delete function may be called with the value.
    pub(in crate::comm) unsafe fn set(&self, comm: MPI_Comm, value: *mut c_void) -> Result<()> {
        let key = self.key()?;
        // SAFETY: MPI does not look at the value.
        check("MPI_Comm_set_attr", unsafe {
            ffi::MPI_Comm_set_attr(comm, key, value)
        })
    }

    pub(in crate::comm) fn remove(&self, comm: MPI_Comm) -> Result<()> {
        let key = self.key()?;
        // SAFETY: MPI hands the value back, if there is one.
        check("MPI_Comm_delete_attr", unsafe {
            ffi::MPI_Comm_delete_attr(comm, key)
        })
    }

    /// The attached value.
    pub(in crate::comm) fn value(&self, comm: MPI_Comm) -> Result<Option<*mut c_void>> {
        let mut value: *mut c_void = ptr::null_mut();
        let (key, mut found) = (self.key()?, 0);
        // SAFETY: both variables are ours to write; MPI writes a pointer to the first.
        check("MPI_Comm_get_attr", unsafe {
            ffi::MPI_Comm_get_attr(comm, key, (&raw mut value).cast(), &mut found)
        })?;
        Ok((found != 0).then_some(value))
    }
}

unsafe extern "C" fn copy_nothing(
    _comm: MPI_Comm,
    _key: c_int,
    _extra: *mut c_void,
    _value: *mut c_void,
    _copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a valid flag.
    unsafe { *flag = 0 };
    SUCCESS
}
