//! `kvtree_util.h`: values of C types below a key.

use super::boundary::{In, InOut, Out, Text};
use super::kvtree::{KVTREE_FAILURE, KVTREE_SUCCESS, code, kvtree};
use super::{error, guard};
use crate::kvtree::value::KeyValues;
use crate::kvtree::{Error, Result, TreeMut};
use libc::{c_double, c_ulong, c_ulong as uLong};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::with_exposed_provenance_mut;

fn set(hash: InOut<kvtree>, key: Text, set: impl FnOnce(TreeMut, &CStr)) -> c_int {
    guard(KVTREE_FAILURE, || {
        if let (Some(tree), Some(key)) = (hash.tree(), key.get()) {
            set(tree, key);
        }
        KVTREE_SUCCESS
    })
}

/// A key that is not set is a common answer: it costs no more than the lookup.
fn get<'a, T>(
    hash: In<'a, kvtree>,
    key: Text,
    val: Out<T>,
    get: impl FnOnce(KeyValues<'a>, &CStr) -> Result<T>,
) -> c_int {
    guard(KVTREE_FAILURE, || {
        if hash.is_null() || key.is_null() {
            return missing_argument(hash.is_null());
        }
        let Some(below) = hash.below(key) else {
            error::not_set(key);
            return KVTREE_FAILURE;
        };
        let value = get(KeyValues::of(below), key.get().unwrap_or_default());
        code(value.and_then(|value| match val.set(value) {
            true => Ok(()),
            false => Err(Error::Null("the value")),
        }))
    })
}

/// Not logged: programs pass on what kvtree_get returned, NULL or not.
#[cold]
fn missing_argument(is_tree: bool) -> c_int {
    error::keep_answer(Error::Null(if is_tree { "hash" } else { "key" }));
    KVTREE_FAILURE
}

/// Sets a number of bytes.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_set_bytecount(
    hash: InOut<kvtree>,
    key: Text,
    count: c_ulong,
) -> c_int {
    set(hash, key, |mut tree, key| tree.set_u64(key, count))
}

/// Sets a CRC-32: the lower 32 bits of `crc`.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_set_crc32(hash: InOut<kvtree>, key: Text, crc: uLong) -> c_int {
    set(hash, key, |mut tree, key| tree.set_crc32(key, crc as u32))
}

/// Sets an int.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_set_int(hash: InOut<kvtree>, key: Text, value: c_int) -> c_int {
    set(hash, key, |mut tree, key| tree.set_int(key, value))
}

/// Sets an unsigned long.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_set_unsigned_long(
    hash: InOut<kvtree>,
    key: Text,
    value: c_ulong,
) -> c_int {
    set(hash, key, |mut tree, key| tree.set_u64(key, value))
}

/// Sets a string; NULL leaves the key without a value.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_set_str(hash: InOut<kvtree>, key: Text, value: Text) -> c_int {
    set(hash, key, |mut tree, key| match value.get() {
        Some(value) => tree.set_str(key, value),
        None => {
            tree.unset(key);
            tree.child(key);
        }
    })
}

/// Sets a 64-bit integer.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_set_int64(hash: InOut<kvtree>, key: Text, value: i64) -> c_int {
    set(hash, key, |mut tree, key| tree.set_i64(key, value))
}

/// Sets a double: with six decimals where that is exact, else with 17 digits.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_set_double(hash: InOut<kvtree>, key: Text, value: c_double) -> c_int {
    set(hash, key, |mut tree, key| tree.set_double(key, value))
}

/// Sets an address, which has a meaning in this process only.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_set_ptr(hash: InOut<kvtree>, key: Text, ptr: *mut c_void) -> c_int {
    let address = ptr.expose_provenance();
    set(hash, key, |mut tree, key| tree.set_address(key, address))
}

/// Gets a number of bytes.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_get_bytecount(
    hash: In<kvtree>,
    key: Text,
    val: Out<c_ulong>,
) -> c_int {
    get(hash, key, val, KeyValues::u64)
}

/// Gets a CRC-32.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_get_crc32(hash: In<kvtree>, key: Text, val: Out<uLong>) -> c_int {
    get(hash, key, val, KeyValues::u64)
}

/// Gets an int: the first value of the key if it has several.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_get_int(hash: In<kvtree>, key: Text, value: Out<c_int>) -> c_int {
    get(hash, key, value, KeyValues::int)
}

/// Gets an unsigned long.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_get_unsigned_long(
    hash: In<kvtree>,
    key: Text,
    value: Out<c_ulong>,
) -> c_int {
    get(hash, key, value, KeyValues::u64)
}

/// Gets a string, which stays in the tree.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_get_str(
    hash: In<kvtree>,
    key: Text,
    value: Out<*mut c_char>,
) -> c_int {
    get(hash, key, value, |values, key| {
        values.only(key).map(|text| text.as_ptr().cast_mut())
    })
}

/// Gets a 64-bit integer.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_get_int64(hash: In<kvtree>, key: Text, value: Out<i64>) -> c_int {
    get(hash, key, value, KeyValues::i64)
}

/// Gets a double.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_get_double(
    hash: In<kvtree>,
    key: Text,
    value: Out<c_double>,
) -> c_int {
    get(hash, key, value, KeyValues::double)
}

/// Gets an address.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_util_get_ptr(
    hash: In<kvtree>,
    key: Text,
    value: Out<*mut c_void>,
) -> c_int {
    get(hash, key, value, |values, key| {
        values.address(key).map(with_exposed_provenance_mut)
    })
}
