//! # Pairs
//!
//! Key/value pairs: a value is a key below a key. A key may have several values.

use super::{KVTREE_FAILURE, KVTREE_SUCCESS, kvtree, raw};
use crate::capi::boundary::{In, InOut, Text};
use crate::capi::{error, guard, guard_alone};
use crate::kvtree::Error;
use crate::kvtree::value::signed_text;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

/// Adds `val` below `key` unless it is there, and returns the tree below it.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_set_kv(hash: InOut<kvtree>, key: Text, val: Text) -> *mut kvtree {
    guard_alone(null_mut(), null_mut(), || set_kv(hash, key, val.get()))
}

/// As kvtree_set_kv with an integer as value.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_set_kv_int(hash: InOut<kvtree>, key: Text, val: c_int) -> *mut kvtree {
    guard_alone(null_mut(), null_mut(), || {
        set_kv(hash, key, Some(&signed_text(val.into())))
    })
}

fn set_kv(hash: InOut<kvtree>, key: Text, val: Option<&CStr>) -> *mut kvtree {
    let Some((tree, key)) = hash.tree().zip(key.get()) else {
        return null_mut();
    };
    let values = tree.into_child(key);
    val.map_or(null_mut(), |val| values.into_child(val).into_raw())
}

/// Returns the tree below `val` below `key`; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_get_kv(hash: In<kvtree>, key: Text, val: Text) -> *mut kvtree {
    guard(null_mut(), || {
        let values = hash.below(key).zip(val.get());
        raw(values.and_then(|(values, val)| values.get(val)))
    })
}

/// As kvtree_get_kv with an integer as value.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_get_kv_int(hash: In<kvtree>, key: Text, val: c_int) -> *mut kvtree {
    guard(null_mut(), || {
        let values = hash.below(key);
        raw(values.and_then(|values| values.get(&signed_text(val.into()))))
    })
}

/// Removes `val` below `key`, and `key` too if that was its last value.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_unset_kv(hash: InOut<kvtree>, key: Text, val: Text) -> c_int {
    guard(KVTREE_FAILURE, || unset_kv(hash, key, val.get()))
}

/// As kvtree_unset_kv with an integer as value.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_unset_kv_int(hash: InOut<kvtree>, key: Text, val: c_int) -> c_int {
    guard(KVTREE_FAILURE, || {
        unset_kv(hash, key, Some(&signed_text(val.into())))
    })
}

fn unset_kv(hash: InOut<kvtree>, key: Text, val: Option<&CStr>) -> c_int {
    if let Some((mut tree, key)) = hash.tree().zip(key.get()) {
        tree.unset_kv(key, val);
    }
    KVTREE_SUCCESS
}

/// Returns the value of `key`, which stays in the tree; NULL if there is none or more than one.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_get_val(hash: In<kvtree>, key: Text) -> *mut c_char {
    guard(null_mut(), || {
        let place = hash.tree().zip(key.get());
        match place.map(|(tree, key)| tree.value(key)) {
            Some(Ok(value)) => value.as_ptr().cast_mut(),
            Some(Err(cause @ Error::NotSingle { .. })) => {
                error::keep(cause);
                null_mut()
            }
            _ => null_mut(),
        }
    })
}
