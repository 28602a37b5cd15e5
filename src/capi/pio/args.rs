//! Checks of arguments, with PIO's errors.

use crate::capi::boundary::{Array, Text};
use crate::pio::{Error, Result};
use std::ffi::{CStr, c_int};

/// PIO_MAX_NAME: longer names are refused, and no longer one is given out.
const MAX_NAME: usize = 256;

/// The room for a name that callers have who do not say so.
pub(super) const NAME_ROOM: usize = MAX_NAME + 1;

/// A name of something in a file.
pub(in crate::capi) fn name<'a>(argument: &'static str, text: Text<'a>) -> Result<&'a CStr> {
    let text = any_text(argument, text)?;
    match text.count_bytes() <= MAX_NAME {
        true => Ok(text),
        false => Err(Error::Invalid(format!(
            "{argument} is longer than {MAX_NAME} characters"
        ))),
    }
}

/// A text of any length.
pub(super) fn any_text<'a>(argument: &'static str, text: Text<'a>) -> Result<&'a CStr> {
    text.get().ok_or(Error::Null(argument))
}

/// `length` values; NULL is allowed where there are none.
///
/// # Safety
/// The header says that the array has that length.
pub(in crate::capi) unsafe fn array<'a, T>(
    argument: &'static str,
    values: Array<'a, T>,
    length: impl Into<i64>,
) -> Result<&'a [T]> {
    let length = length.into();
    let fits = |length: &usize| length.checked_mul(size_of::<T>()).is_some_and(is_size);
    let Some(length) = usize::try_from(length).ok().filter(fits) else {
        return Err(Error::Invalid(format!("{argument} has {length} elements")));
    };
    // SAFETY: promised by the caller.
    unsafe { values.slice(length) }.ok_or(Error::Null(argument))
}

fn is_size(bytes: usize) -> bool {
    bytes <= isize::MAX as usize
}

/// As an `int`, which all numbers of things in a file fit into.
pub(super) fn int(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn names_are_checked() {
        assert!(matches!(name("name", Text::NULL), Err(Error::Null("name"))));
        let longest = CString::new(vec![b'x'; MAX_NAME]).unwrap();
        assert_eq!(name("name", (&*longest).into()).unwrap(), &*longest);
        let longer = CString::new(vec![b'x'; MAX_NAME + 1]).unwrap();
        assert!(name("name", (&*longer).into()).is_err());
    }

    #[test]
    fn arrays_are_checked() {
        let numbers = [1_i64, 2];
        // SAFETY: an array of that length, and NULL.
        unsafe {
            assert_eq!(array("a", (&numbers[..]).into(), 2).unwrap(), numbers);
            assert!(array::<i32>("a", Array::NULL, 0).unwrap().is_empty());
            assert!(array::<i32>("a", Array::NULL, 1).is_err());
            assert!(array("a", (&numbers[..]).into(), -1).is_err());
            assert!(array("a", (&numbers[..]).into(), i64::MAX).is_err());
        }
    }
}
