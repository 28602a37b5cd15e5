//! What a communicator carries under a key of ours. Its duplicates do not inherit it.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use mpi_sys::{self as ffi, MPI_Comm};

use super::{SUCCESS, check};
use crate::comm::Result;

/// Called with the communicator, the key, the value and nothing else when the communicator is freed.
pub(in crate::comm) type Delete =
    unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;

/// A key that is made when it is first needed.
pub(in crate::comm) struct Attribute {
    known: Mutex<Option<c_int>>,
    delete: Delete,
}

impl Attribute {
    pub(in crate::comm) const fn new(delete: Delete) -> Attribute {
        Attribute {
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

    /// Lets the communicator carry a value until it is freed or [`Attribute::remove`] is called.
    ///
    /// # Safety
    /// The function that was given at the beginning may be called with the value.
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

    /// What the communicator carries.
    pub(in crate::comm) fn value(&self, comm: MPI_Comm) -> Result<Option<*mut c_void>> {
        let mut value: *mut c_void = ptr::null_mut();
        let (key, mut found) = (self.key()?, 0);
        // SAFETY: both places are ours to write; MPI writes a pointer to the first.
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
