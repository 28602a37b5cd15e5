//! `kvtree.h`: trees of keys. Chapters in the header's order; what they share is here.

pub mod trees;

pub mod pairs;

pub mod paths;

pub mod elements;

pub mod packing;

pub mod files;

pub mod printing;

use super::boundary::{In, InOut, Text};
use super::{error, guard};
use crate::kvtree::{Error, Result, TreeMut, TreeRef};
pub use crate::kvtree::{RawElem as kvtree_elem, RawTree as kvtree};
use std::ffi::c_int;
use std::path::Path;
use std::ptr::null_mut;

pub(super) const KVTREE_SUCCESS: c_int = 0;
/// kvtree has one failure code for every [`Error`].
pub(super) const KVTREE_FAILURE: c_int = 1;

/// Runs `body` and turns its result into a return code and a text.
pub(super) fn status(body: impl FnOnce() -> Result<()>) -> c_int {
    guard(KVTREE_FAILURE, || code(body()))
}

pub(super) fn code(result: Result<()>) -> c_int {
    match result {
        Ok(()) => KVTREE_SUCCESS,
        Err(cause) => {
            error::keep(cause);
            KVTREE_FAILURE
        }
    }
}

impl<'a> In<'a, kvtree> {
    #[inline]
    pub(super) fn tree(self) -> Option<TreeRef<'a>> {
        // SAFETY: the promise of `In`.
        unsafe { TreeRef::from_raw(self.as_ptr()) }
    }

    fn needed(self) -> Result<TreeRef<'a>> {
        self.tree().ok_or(Error::Null("hash"))
    }

    /// The tree below `key`.
    #[inline]
    pub(super) fn below(self, key: Text) -> Option<TreeRef<'a>> {
        // SAFETY: the promise of `Text`: NULL, or a string.
        unsafe { self.tree()?.elem_named(key.as_ptr())?.tree() }
    }
}

impl<'a> InOut<'a, kvtree> {
    #[inline]
    pub(super) fn tree(self) -> Option<TreeMut<'a>> {
        // SAFETY: the promise of `InOut`.
        unsafe { TreeMut::from_raw(self.as_ptr()) }
    }

    pub(super) fn needed(self) -> Result<TreeMut<'a>> {
        self.tree().ok_or(Error::Null("hash"))
    }
}

fn path(file: Text<'_>) -> Result<&Path> {
    file.path().ok_or(Error::Null("file name"))
}

fn raw(tree: Option<TreeRef>) -> *mut kvtree {
    tree.map_or(null_mut(), TreeRef::as_raw)
}
