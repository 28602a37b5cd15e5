//! The ways in which pointers enter.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// # Safety
/// `text` is NULL or a C string that outlives `'a`.
pub(super) unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: promised by the caller.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// # Safety
/// As for [`text`].
pub(super) unsafe fn path<'a>(path: *const c_char) -> Option<&'a Path> {
    // SAFETY: promised by the caller.
    let text = unsafe { text(path) }?;
    Some(Path::new(OsStr::from_bytes(text.to_bytes())))
}

/// Stores a result where the caller wants it.
///
/// # Safety
/// `place` is NULL or may be written to.
pub(super) unsafe fn store<T>(place: *mut T, value: T) -> bool {
    if place.is_null() {
        return false;
    }
    // SAFETY: promised by the caller.
    unsafe { place.write(value) };
    true
}
