//! Opaque handles: a Rust value behind a `void*` that C holds.
//!
//! A handle begins with a word that names its type and is wiped on delete, so that a stale pointer or
//! a handle of another kind is an error instead of a crash, as far as memory still tells.

use std::ffi::c_void;

/// A type that C may hold a handle to.
pub trait Opaque: Sized {
    /// Differs for every type.
    const MAGIC: u64;
}

#[repr(C)]
struct Handle<T> {
    magic: u64,
    value: T,
}

/// Gives the value to C.
pub fn new<T: Opaque>(value: T) -> *mut c_void {
    let magic = T::MAGIC;
    Box::into_raw(Box::new(Handle { magic, value })).cast()
}

/// The value behind a handle.
///
/// # Safety
/// `handle` is NULL or came from [`new`], and nobody changes the value for `'a`.
pub unsafe fn get<'a, T: Opaque>(handle: *const c_void) -> Option<&'a T> {
    let handle = handle.cast::<Handle<T>>();
    // SAFETY: the magic word is first in every handle; promised by the caller.
    unsafe { (!handle.is_null() && (*handle).magic == T::MAGIC).then(|| &(*handle).value) }
}

/// As [`get`], to change the value.
///
/// # Safety
/// `handle` is NULL or came from [`new`], and nobody else uses the value for `'a`.
pub unsafe fn get_mut<'a, T: Opaque>(handle: *mut c_void) -> Option<&'a mut T> {
    let handle = handle.cast::<Handle<T>>();
    // SAFETY: the magic word is first in every handle; promised by the caller.
    unsafe { (!handle.is_null() && (*handle).magic == T::MAGIC).then(|| &mut (*handle).value) }
}

/// Takes the value back from C and makes the handle invalid.
///
/// # Safety
/// `handle` is NULL or came from [`new`], and is given up by the caller.
pub unsafe fn take<T: Opaque>(handle: *mut c_void) -> Option<T> {
    let handle = handle.cast::<Handle<T>>();
    // SAFETY: the magic word is first in every handle; promised by the caller.
    unsafe {
        if handle.is_null() || (*handle).magic != T::MAGIC {
            return None;
        }
        (*handle).magic = 0;
        Some(Box::from_raw(handle).value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Set(Vec<u32>);
    impl Opaque for Set {
        const MAGIC: u64 = 0x5345_5400;
    }
    struct Other;
    impl Opaque for Other {
        const MAGIC: u64 = 0x4f54_4845;
    }

    #[test]
    fn a_handle_gives_back_its_value_and_only_to_its_type() {
        let handle = new(Set(vec![1, 2]));
        // SAFETY: a live handle, used by this thread only.
        unsafe {
            assert!(get::<Other>(handle).is_none());
            get_mut::<Set>(handle).unwrap().0.push(3);
            assert_eq!(get::<Set>(handle).unwrap().0, [1, 2, 3]);
            assert!(take::<Other>(handle).is_none());
            assert_eq!(take::<Set>(handle).unwrap().0, [1, 2, 3]);
        }
    }

    #[test]
    fn null_is_nothing() {
        // SAFETY: NULL is allowed everywhere.
        unsafe {
            assert!(get::<Set>(std::ptr::null()).is_none());
            assert!(get_mut::<Set>(std::ptr::null_mut()).is_none());
            assert!(take::<Set>(std::ptr::null_mut()).is_none());
        }
    }
}
