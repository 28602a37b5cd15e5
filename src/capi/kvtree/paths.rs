//! # Paths
//!
//! Trees below several keys at once: kvtree_setf and kvtree_getf.

// The two are variadic, so C defines them (src/shim/kvtree_paths.c). It fetches the arguments; here they become keys.

use super::{kvtree, raw};
use crate::capi::boundary::{Array, In, InOut, Text};
use crate::capi::{error, guard};
use crate::kvtree::value::{address, double, hex, signed_text, unsigned_text};
use crate::kvtree::{Error, Result, Tree};
use std::ffi::{CStr, CString, c_int};
use std::ptr::null_mut;

/// An argument as the shim found it, and as src/shim/kvtree_paths.c declares it.
#[repr(C)]
pub struct KeyArgument<'a> {
    kind: c_int,
    /// The string, or for an unknown format its token.
    text: Text<'a>,
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

impl KeyArgument<'_> {
    fn key(&self) -> Result<CString> {
        Ok(match self.kind {
            STRING => self.text.get().ok_or(Error::Null("a key"))?.to_owned(),
            SIGNED => CStr::to_owned(&signed_text(self.signed)),
            UNSIGNED => CStr::to_owned(&unsigned_text(self.unsigned)),
            HEX => hex(self.unsigned),
            REAL => double(self.real),
            ADDRESS => address(self.unsigned as usize),
            _ => {
                let token = self.text.get().unwrap_or_default();
                let token = token.to_string_lossy().into_owned();
                return Err(Error::KeyFormat { token });
            }
        })
    }
}

/// Converts all keys before the first is used: a bad one changes nothing.
fn keys(arguments: Array<KeyArgument>, count: usize) -> Result<Vec<CString>> {
    // SAFETY: the shim gives `count` arguments.
    let arguments = unsafe { arguments.slice(count) };
    let arguments = arguments.ok_or(Error::Null("arguments"))?;
    arguments.iter().map(KeyArgument::key).collect()
}

fn or_null(result: Result<*mut kvtree>) -> *mut kvtree {
    result.unwrap_or_else(|cause| {
        error::keep(cause);
        null_mut()
    })
}

/// Sets `value` below the last key, making the trees on the way. Not exported.
///
/// cbindgen:ignore
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_internal_kvtree_setf(
    hash: InOut<kvtree>,
    value: InOut<kvtree>,
    arguments: Array<KeyArgument>,
    count: usize,
) -> *mut kvtree {
    guard(null_mut(), || {
        let Some(mut tree) = hash.tree() else {
            return null_mut();
        };
        or_null(keys(arguments, count).map(|mut keys| {
            let Some(last) = keys.pop() else {
                return hash.as_ptr();
            };
            for key in &keys {
                tree = tree.into_child(key);
            }
            // SAFETY: the caller hands the tree over.
            tree.set(&last, unsafe { Tree::from_raw(value.as_ptr()) });
            value.as_ptr()
        }))
    })
}

/// Follows the keys down; NULL where one is missing. Not exported.
///
/// cbindgen:ignore
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_internal_kvtree_getf(
    hash: In<kvtree>,
    arguments: Array<KeyArgument>,
    count: usize,
) -> *mut kvtree {
    guard(null_mut(), || {
        let Some(tree) = hash.tree() else {
            return null_mut();
        };
        or_null(
            keys(arguments, count)
                .map(|keys| raw(keys.iter().try_fold(tree, |tree, key| tree.get(key)))),
        )
    })
}
