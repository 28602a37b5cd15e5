//! # Trees
//!
//! Make, read, change and order trees.

use super::{KVTREE_FAILURE, KVTREE_SUCCESS, kvtree, raw, status};
use crate::capi::boundary::{In, InOut, Out, Text, malloc_copy};
use crate::capi::{guard, guard_alone};
use crate::kvtree::{Error, Tree, TreeMut, TreeRef};
use std::ffi::c_int;
use std::ptr::null_mut;

const KVTREE_SORT_DESCENDING: c_int = 1;

/// Makes an empty tree. Free it with kvtree_delete.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_new() -> *mut kvtree {
    guard_alone(null_mut(), null_mut(), || Tree::new().into_raw())
}

/// Deletes a tree with everything below it and sets the pointer to NULL. A NULL tree is fine.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_delete(ptr_hash: InOut<*mut kvtree>) -> c_int {
    guard(KVTREE_FAILURE, || {
        if let Some(tree) = ptr_hash.replace(null_mut()) {
            // SAFETY: the caller gives the tree up.
            drop(unsafe { Tree::from_raw(tree) });
        }
        KVTREE_SUCCESS
    })
}

/// Returns the number of keys; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_size(hash: In<kvtree>) -> c_int {
    guard(0, || hash.tree().map_or(0, |tree| tree.len() as c_int))
}

/// Returns the tree below `key`, which stays in `hash`; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_get(hash: In<kvtree>, key: Text) -> *mut kvtree {
    guard(null_mut(), || raw(hash.below(key)))
}

/// Puts `hash_value` below `key` and deletes what was there. `hash_value` then belongs to `hash`; it may be NULL.
///
/// # Returns
/// `hash_value`; NULL if `hash` or `key` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_set(
    hash: InOut<kvtree>,
    key: Text,
    hash_value: InOut<kvtree>,
) -> *mut kvtree {
    guard_alone(null_mut(), null_mut(), || match (hash.tree(), key.get()) {
        (Some(mut tree), Some(key)) => {
            // SAFETY: the caller hands the tree over.
            tree.set(key, unsafe { Tree::from_raw(hash_value.as_ptr()) });
            hash_value.as_ptr()
        }
        _ => null_mut(),
    })
}

/// Removes `key` and returns the tree below it, which then belongs to the caller; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_extract(hash: InOut<kvtree>, key: Text) -> *mut kvtree {
    guard(null_mut(), || {
        let tree = hash.tree().zip(key.get());
        let below = tree.and_then(|(mut tree, key)| tree.extract(key));
        below.map_or(null_mut(), Tree::into_raw)
    })
}

/// Removes `key` with everything below it. A key that is not set is fine.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_unset(hash: InOut<kvtree>, key: Text) -> c_int {
    change(hash, |mut tree| {
        if let Some(key) = key.get() {
            tree.unset(key);
        }
    })
}

/// Removes all keys; the tree itself stays.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_unset_all(hash: InOut<kvtree>) -> c_int {
    change(hash, |mut tree| tree.clear())
}

/// Copies `hash2` into `hash1` and merges the trees below keys that both have. `hash2` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_merge(hash1: InOut<kvtree>, hash2: In<kvtree>) -> c_int {
    status(|| {
        let mut into = hash1.tree().ok_or(Error::Null("hash1"))?;
        hash2.tree().map_or(Ok(()), |from| into.merge(from))
    })
}

/// Orders the elements by key, byte by byte.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_sort(hash: InOut<kvtree>, direction: c_int) -> c_int {
    change(hash, |mut tree| {
        tree.sort(direction == KVTREE_SORT_DESCENDING)
    })
}

/// Orders the elements by key, read as an integer.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_sort_int(hash: InOut<kvtree>, direction: c_int) -> c_int {
    change(hash, |mut tree| {
        tree.sort_int(direction == KVTREE_SORT_DESCENDING)
    })
}

/// Does nothing, and succeeds, where there is no tree.
fn change(hash: InOut<kvtree>, work: impl FnOnce(TreeMut)) -> c_int {
    guard(KVTREE_FAILURE, || {
        hash.tree().map(work);
        KVTREE_SUCCESS
    })
}

/// Lists all keys as integers, ascending. `list` is malloc'ed, for the caller to free; NULL if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_list_int(
    hash: In<kvtree>,
    num: Out<c_int>,
    list: Out<*mut c_int>,
) -> c_int {
    status(|| {
        let keys = hash.tree().map_or(Vec::new(), TreeRef::list_int);
        if num.is_null() || list.is_null() {
            return Err(Error::Null("num and list"));
        }
        let copy = match keys.is_empty() {
            true => null_mut(),
            false => malloc_copy(&keys).ok_or(Error::NoMemory(size_of_val(&keys[..])))?,
        };
        num.set(keys.len() as c_int);
        list.set(copy);
        Ok(())
    })
}
