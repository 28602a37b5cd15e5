//! The Rust half of `kvtree_setf` and `kvtree_getf`: the shim has fetched the arguments from the C
//! argument list (`src/shim/kvtree_format.c`), here they become keys. Not exported.

use super::{error, guard, ptr};
use crate::kvtree::value::{address, double, hex, signed_text, unsigned_text};
use crate::kvtree::{Error, RawTree as kvtree, Result, Tree, TreeMut, TreeRef};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null_mut;

/// One argument as the shim found it; mirrored in `src/shim/kvtree_format.c`.
#[repr(C)]
pub struct KeyArgument {
    kind: c_int,
    /// The string, or for an unknown format its token.
    text: *const c_char,
    signed: i64,
    unsigned: u64,
    real: f64,
}

const STRING: c_int = 1;
const SIGNED: c_int = 2;
const UNSIGNED: c_int = 3;
const HEX: c_int = 4;
const REAL: c_int = 5;
const ADDRESS: c_int = 6;

impl KeyArgument {
    unsafe fn key(&self) -> Result<CString> {
        Ok(match self.kind {
            // SAFETY: an argument of the caller's format.
            STRING => unsafe { ptr::text(self.text) }
                .ok_or(Error::Null("a key"))?
                .to_owned(),
            SIGNED => CStr::to_owned(&signed_text(self.signed)),
            UNSIGNED => CStr::to_owned(&unsigned_text(self.unsigned)),
            HEX => hex(self.unsigned),
            REAL => double(self.real),
            ADDRESS => address(self.unsigned as usize),
            _ => {
                // SAFETY: for unknown formats the shim gives the token.
                let token = unsafe { ptr::text(self.text) }.unwrap_or_default();
                let token = token.to_string_lossy().into_owned();
                return Err(Error::KeyFormat { token });
            }
        })
    }
}

/// All keys, so that nothing has been changed when one of them is bad.
unsafe fn keys(arguments: *const KeyArgument, count: usize) -> Result<Vec<CString>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the shim gives `count` arguments.
    let arguments = unsafe { std::slice::from_raw_parts(arguments, count) };
    // SAFETY: as above.
    arguments.iter().map(|a| unsafe { a.key() }).collect()
}

fn or_null(result: Result<*mut kvtree>) -> *mut kvtree {
    result.unwrap_or_else(|cause| {
        error::keep(cause);
        null_mut()
    })
}

/// Sets `value` below the last key, making the trees on the way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_internal_kvtree_setf(
    hash: *mut kvtree,
    value: *mut kvtree,
    arguments: *const KeyArgument,
    count: usize,
) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        let Some(mut tree) = TreeMut::from_raw(hash) else {
            return null_mut();
        };
        or_null(keys(arguments, count).map(|mut keys| {
            let Some(last) = keys.pop() else {
                return hash;
            };
            for key in &keys {
                tree = tree.into_child(key);
            }
            tree.set(&last, Tree::from_raw(value));
            value
        }))
    })
}

/// Follows the keys down; NULL where one is missing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_internal_kvtree_getf(
    hash: *const kvtree,
    arguments: *const KeyArgument,
    count: usize,
) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        let Some(tree) = TreeRef::from_raw(hash) else {
            return null_mut();
        };
        or_null(keys(arguments, count).map(|keys| {
            let found = keys.iter().try_fold(tree, |tree, key| tree.get(key));
            found.map_or(null_mut(), TreeRef::as_raw)
        }))
    })
}
