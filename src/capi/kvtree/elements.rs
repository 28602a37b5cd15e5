//! # Elements
//!
//! An element is a key and the tree below it. Walk a tree with kvtree_elem_first and kvtree_elem_next.

// The plain accessors run without a guard: they cannot panic, and it would cost more than they do.

use super::{kvtree, kvtree_elem, raw};
use crate::capi::boundary::{In, InOut, Text};
use crate::capi::guard;
use crate::kvtree::value::{parse_int, signed_text};
use crate::kvtree::{ElemRef, TreeRef};
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

impl<'a> In<'a, kvtree_elem> {
    #[inline]
    fn elem(self) -> Option<ElemRef<'a>> {
        // SAFETY: the promise of `In`.
        unsafe { ElemRef::from_raw(self.as_ptr()) }
    }
}

fn handed_out(elem: Option<ElemRef>) -> *mut kvtree_elem {
    elem.map_or(null_mut(), ElemRef::hand_out)
}

/// Returns the first element; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_first(hash: In<kvtree>) -> *mut kvtree_elem {
    handed_out(hash.tree().and_then(TreeRef::first))
}

/// Returns the element after `elem`; NULL after the last.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_next(elem: In<kvtree_elem>) -> *mut kvtree_elem {
    handed_out(elem.elem().and_then(ElemRef::next))
}

/// Returns the key of an element, which owns it.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_key(elem: In<kvtree_elem>) -> *mut c_char {
    elem.elem().map_or(null_mut(), ElemRef::raw_key)
}

/// Returns the key of an element as an integer; 0 if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_key_int(elem: In<kvtree_elem>) -> c_int {
    guard(0, || {
        elem.elem().map_or(0, |elem| parse_int(elem.key_bytes()))
    })
}

/// Returns the tree below an element, which owns it.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_hash(elem: In<kvtree_elem>) -> *mut kvtree {
    raw(elem.elem().and_then(ElemRef::tree))
}

/// Returns the first element with this key; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_get(hash: In<kvtree>, key: Text) -> *mut kvtree_elem {
    guard(null_mut(), || {
        let place = hash.tree().zip(key.get());
        handed_out(place.and_then(|(tree, key)| tree.elem(key)))
    })
}

/// Returns the first value of `key`; NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_get_first_val(hash: In<kvtree>, key: Text) -> *mut c_char {
    guard(null_mut(), || {
        let first = hash.below(key).and_then(TreeRef::first);
        first.map_or(null_mut(), ElemRef::raw_key)
    })
}

/// Takes the first element with this key out of the tree and returns it. It then belongs to the caller.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_extract(hash: InOut<kvtree>, key: Text) -> *mut kvtree_elem {
    guard(null_mut(), || take_elem(hash, key.get()))
}

/// As kvtree_elem_extract with an integer as key.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_extract_int(hash: InOut<kvtree>, key: c_int) -> *mut kvtree_elem {
    guard(null_mut(), || {
        take_elem(hash, Some(&signed_text(key.into())))
    })
}

fn take_elem(hash: InOut<kvtree>, key: Option<&CStr>) -> *mut kvtree_elem {
    let place = hash.tree().zip(key);
    let taken = place.and_then(|(mut tree, key)| tree.take_elem(key));
    taken.unwrap_or(null_mut())
}

/// Takes `elem`, which must be in the tree, out of it and returns it.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_elem_extract_by_addr(
    hash: InOut<kvtree>,
    elem: InOut<kvtree_elem>,
) -> *mut kvtree_elem {
    guard(null_mut(), || match hash.tree() {
        Some(mut tree) if !elem.is_null() => {
            // SAFETY: the caller says that the element is in this tree.
            unsafe { tree.take_elem_at(elem.as_ptr()) };
            elem.as_ptr()
        }
        _ => null_mut(),
    })
}
