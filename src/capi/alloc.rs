//! Memory that leaves the library: C frees it with `free`.

use crate::reserve;
use std::ptr;

/// A malloc-owned copy; `None` when memory has run out.
pub(super) fn copy<T: Copy>(values: &[T]) -> Option<*mut T> {
    let place = reserve::malloc(size_of_val(values).max(1)).cast::<T>();
    if place.is_null() {
        return None;
    }
    // SAFETY: malloc gave room for all values, aligned for any type.
    unsafe { ptr::copy_nonoverlapping(values.as_ptr(), place, values.len()) };
    Some(place)
}
