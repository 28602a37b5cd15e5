//! `kvtree_util.h`: values of C types below a key.
//!
//! Setters make the value the only one of its key; without a tree or a key they do nothing, and still
//! succeed, as ever. Getters fail, and leave the output as it is, where there is no value.

use super::kvtree::{KVTREE_FAILURE, KVTREE_SUCCESS, code};
use super::{error, guard, ptr};
use crate::kvtree::value::Values;
use crate::kvtree::{Error, RawTree as kvtree, Result, TreeMut, TreeRef};
use libc::{c_double, c_ulong, c_ulong as uLong};
use std::ffi::{CStr, c_char, c_int, c_void};

unsafe fn set(hash: *mut kvtree, key: *const c_char, set: impl FnOnce(TreeMut, &CStr)) -> c_int {
    // SAFETY: arguments of the caller.
    guard(KVTREE_FAILURE, || unsafe {
        if let (Some(tree), Some(key)) = (TreeMut::from_raw(hash), ptr::text(key)) {
            set(tree, key);
        }
        KVTREE_SUCCESS
    })
}

/// A key that is not set is an answer like others: it costs no more than looking for it.
unsafe fn get<'a, T>(
    hash: *const kvtree,
    key: *const c_char,
    val: *mut T,
    get: impl FnOnce(Values<'a>, &CStr) -> Result<T>,
) -> c_int {
    // SAFETY: arguments of the caller.
    guard(KVTREE_FAILURE, || unsafe {
        let tree = TreeRef::from_raw(hash).filter(|_| !key.is_null());
        let Some(tree) = tree else {
            return missing_argument(hash.is_null());
        };
        let Some(below) = tree.elem_named(key).and_then(|elem| elem.tree()) else {
            error::not_set(key);
            return KVTREE_FAILURE;
        };
        let value = get(Values::of(below), ptr::text(key).unwrap_or_default());
        code(value.and_then(|value| match ptr::store(val, value) {
            true => Ok(()),
            false => Err(Error::Null("the value")),
        }))
    })
}

/// What kvtree_get did not find is asked for its keys: that is an answer too.
#[cold]
fn missing_argument(is_tree: bool) -> c_int {
    error::keep_answer(Error::Null(if is_tree { "hash" } else { "key" }));
    KVTREE_FAILURE
}

/// Sets a number of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_set_bytecount(
    hash: *mut kvtree,
    key: *const c_char,
    count: c_ulong,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { set(hash, key, |mut tree, key| tree.set_u64(key, count)) }
}

/// Sets a CRC-32; only its lower 32 bits count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_set_crc32(
    hash: *mut kvtree,
    key: *const c_char,
    crc: uLong,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { set(hash, key, |mut tree, key| tree.set_crc32(key, crc as u32)) }
}

/// Sets an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_set_int(
    hash: *mut kvtree,
    key: *const c_char,
    value: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { set(hash, key, |mut tree, key| tree.set_int(key, value)) }
}

/// Sets an unsigned long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_set_unsigned_long(
    hash: *mut kvtree,
    key: *const c_char,
    value: c_ulong,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { set(hash, key, |mut tree, key| tree.set_u64(key, value)) }
}

/// Sets a string; NULL leaves the key without a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_set_str(
    hash: *mut kvtree,
    key: *const c_char,
    value: *const c_char,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe {
        let value = ptr::text(value);
        set(hash, key, |mut tree, key| match value {
            Some(value) => tree.set_str(key, value),
            None => {
                tree.unset(key);
                tree.child(key);
            }
        })
    }
}

/// Sets a 64-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_set_int64(
    hash: *mut kvtree,
    key: *const c_char,
    value: i64,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { set(hash, key, |mut tree, key| tree.set_i64(key, value)) }
}

/// Sets a double: with six decimals where that is exact, else with 17 digits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_set_double(
    hash: *mut kvtree,
    key: *const c_char,
    value: c_double,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { set(hash, key, |mut tree, key| tree.set_double(key, value)) }
}

/// Sets an address, which only means something in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_set_ptr(
    hash: *mut kvtree,
    key: *const c_char,
    ptr: *mut c_void,
) -> c_int {
    let address = ptr.expose_provenance();
    // SAFETY: arguments of the caller.
    unsafe { set(hash, key, |mut tree, key| tree.set_address(key, address)) }
}

/// Gets a number of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_get_bytecount(
    hash: *const kvtree,
    key: *const c_char,
    val: *mut c_ulong,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { get(hash, key, val, Values::u64) }
}

/// Gets a CRC-32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_get_crc32(
    hash: *const kvtree,
    key: *const c_char,
    val: *mut uLong,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { get(hash, key, val, Values::u64) }
}

/// Gets an int: the first value, however many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_get_int(
    hash: *const kvtree,
    key: *const c_char,
    value: *mut c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { get(hash, key, value, Values::int) }
}

/// Gets an unsigned long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_get_unsigned_long(
    hash: *const kvtree,
    key: *const c_char,
    value: *mut c_ulong,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { get(hash, key, value, Values::u64) }
}

/// Gets a string, which stays with the tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_get_str(
    hash: *const kvtree,
    key: *const c_char,
    value: *mut *mut c_char,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe {
        get(hash, key, value, |values, key| {
            values.only(key).map(|text| text.as_ptr().cast_mut())
        })
    }
}

/// Gets a 64-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_get_int64(
    hash: *const kvtree,
    key: *const c_char,
    value: *mut i64,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { get(hash, key, value, Values::i64) }
}

/// Gets a double.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_get_double(
    hash: *const kvtree,
    key: *const c_char,
    value: *mut c_double,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { get(hash, key, value, Values::double) }
}

/// Gets an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_util_get_ptr(
    hash: *const kvtree,
    key: *const c_char,
    value: *mut *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe {
        get(hash, key, value, |values, key| {
            values
                .address(key)
                .map(std::ptr::with_exposed_provenance_mut)
        })
    }
}
