//! How the arguments of PIO's functions enter and leave.

use crate::capi::ptr;
use crate::pio::{Error, Result};
use std::ffi::{CStr, c_char, c_int};

/// PIO_MAX_NAME: longer names are refused, and no longer one is given out.
const MAX_NAME: usize = 256;

/// A name of something in a file.
pub(in crate::capi) unsafe fn name<'a>(
    argument: &'static str,
    text: *const c_char,
) -> Result<&'a CStr> {
    // SAFETY: promised by the caller.
    let text = unsafe { path(argument, text) }?;
    match text.count_bytes() <= MAX_NAME {
        true => Ok(text),
        false => Err(Error::Invalid(format!(
            "{argument} is longer than {MAX_NAME} characters"
        ))),
    }
}

/// A text of any length.
pub(in crate::capi) unsafe fn path<'a>(
    argument: &'static str,
    text: *const c_char,
) -> Result<&'a CStr> {
    // SAFETY: promised by the caller.
    let text = unsafe { ptr::text(text) };
    text.ok_or(Error::Null(argument))
}

/// `length` values; NULL is allowed where there are none.
pub(in crate::capi) unsafe fn array<'a, T>(
    argument: &'static str,
    values: *const T,
    length: impl Into<i64>,
) -> Result<&'a [T]> {
    let length = length.into();
    let fits = |length: &usize| length.checked_mul(size_of::<T>()).is_some_and(is_size);
    let Some(length) = usize::try_from(length).ok().filter(fits) else {
        return Err(Error::Invalid(format!("{argument} has {length} elements")));
    };
    match (values.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Error::Null(argument)),
        // SAFETY: promised by the caller.
        (false, length) => Ok(unsafe { std::slice::from_raw_parts(values, length) }),
    }
}

fn is_size(bytes: usize) -> bool {
    bytes <= isize::MAX as usize
}

/// Stores a name where the caller wants it, cut to `room` bytes with the closing NUL. `place` may be NULL.
pub(in crate::capi) unsafe fn store_name(place: *mut c_char, room: usize, name: &CStr) {
    if place.is_null() || room == 0 {
        return;
    }
    let bytes = name.to_bytes();
    let kept = bytes.len().min(room - 1);
    // SAFETY: promised by the caller.
    unsafe {
        place.copy_from_nonoverlapping(bytes.as_ptr().cast(), kept);
        place.add(kept).write(0);
    }
}

/// The room that a caller has for a name who does not say so.
pub(in crate::capi) const NAME_ROOM: usize = MAX_NAME + 1;

/// Stores values where the caller wants them, who has room for all. `place` may be NULL.
pub(in crate::capi) unsafe fn store_all<T: Copy>(place: *mut T, values: &[T]) {
    if !place.is_null() {
        // SAFETY: promised by the caller.
        unsafe { place.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }
}

/// As an `int`, which all numbers of things in a file fit into.
pub(in crate::capi) fn int(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::ptr::null;

    #[test]
    fn names_are_checked() {
        // SAFETY: literals and NULL.
        unsafe {
            assert!(matches!(name("name", null()), Err(Error::Null("name"))));
            let longest = CString::new(vec![b'x'; MAX_NAME]).unwrap();
            assert_eq!(name("name", longest.as_ptr()).unwrap(), &*longest);
            let longer = CString::new(vec![b'x'; MAX_NAME + 1]).unwrap();
            assert!(name("name", longer.as_ptr()).is_err());
        }
    }

    #[test]
    fn arrays_are_checked() {
        // SAFETY: an array of that length, and NULL.
        unsafe {
            assert_eq!(array("a", [1, 2].as_ptr(), 2).unwrap(), [1, 2]);
            assert!(array::<i32>("a", null(), 0).unwrap().is_empty());
            assert!(array::<i32>("a", null(), 1).is_err());
            assert!(array("a", [1].as_ptr(), -1).is_err());
            assert!(array("a", [1_i64].as_ptr(), i64::MAX).is_err());
        }
    }

    #[test]
    fn a_name_is_cut_to_the_room_there_is() {
        let mut place = [b'?' as c_char; 4];
        // SAFETY: as much room as is told.
        unsafe {
            store_name(place.as_mut_ptr(), 0, c"abc");
            assert_eq!(place[0], b'?' as c_char);
            store_name(place.as_mut_ptr(), 3, c"abc");
            assert_eq!(CStr::from_ptr(place.as_ptr()), c"ab");
            store_name(place.as_mut_ptr(), 4, c"abc");
            assert_eq!(CStr::from_ptr(place.as_ptr()), c"abc");
            store_name(std::ptr::null_mut(), 4, c"abc");
        }
    }
}
