//! `redset.h`: redundancy for the files of a set of ranks. Chapters in the header's order; what they share is here.
//!
//! The first three chapters need MPI. There, a rank with a bad argument must not leave the others waiting: what it finds
//! wrong goes through [`agree`] as soon as there is a communicator.

#[cfg(feature = "mpi")]
pub mod library;

#[cfg(feature = "mpi")]
pub mod descriptors;

#[cfg(feature = "mpi")]
pub mod apply;

pub mod filelists;

pub mod rebuild;

pub mod internal;

use super::boundary::{Handle, InOut, Opaque, OutArray, Text};
use super::{error, guard};
use crate::redset::{Error, Result};
use std::ffi::{CString, c_int};
use std::path::{Path, PathBuf};

pub(super) const REDSET_SUCCESS: c_int = 0;
/// redset has one failure code for every [`Error`].
pub(super) const REDSET_FAILURE: c_int = 1;

#[cfg(feature = "mpi")]
pub(super) const REDSET_COPY_NULL: c_int = 0;
pub(super) const REDSET_COPY_SINGLE: c_int = 1;
pub(super) const REDSET_COPY_PARTNER: c_int = 2;
pub(super) const REDSET_COPY_XOR: c_int = 3;
pub(super) const REDSET_COPY_RS: c_int = 4;

/// A descriptor, as C holds it.
#[cfg(feature = "mpi")]
#[allow(non_camel_case_types)]
pub type redset<'a> = InOut<'a, Handle<descriptors::HeldRedset>>;

/// A list of files, as C holds it.
#[allow(non_camel_case_types)]
pub type redset_filelist<'a> = InOut<'a, Handle<FileList>>;

pub struct FileList(Vec<CString>);

impl Opaque for FileList {
    const MAGIC: u64 = 0x7265_6473_6574_464c;
}

/// Runs `body` and turns its result into a return code; keeps the error for `stanchion_last_error`.
pub(super) fn status(body: impl FnOnce() -> Result<()>) -> c_int {
    guard(REDSET_FAILURE, || match remembered(body()) {
        Some(()) => REDSET_SUCCESS,
        None => REDSET_FAILURE,
    })
}

/// The value; keeps an error for `stanchion_last_error`.
pub(super) fn remembered<T>(result: Result<T>) -> Option<T> {
    result.map_err(error::remember).ok()
}

/// A count that C passes as an `int`, which must not be negative.
fn natural(what: &'static str, value: c_int) -> Result<usize> {
    let value = i64::from(value);
    usize::try_from(value).map_err(|_| Error::Number { what, value })
}

/// The `count` paths in an array of strings.
fn paths(count: c_int, files: OutArray<Text>) -> Result<Vec<PathBuf>> {
    let count = natural("the number of files", count)?;
    // SAFETY: the header says that there are `count` names.
    let files = unsafe { files.as_array().slice(count) }.ok_or(Error::Null("files"))?;
    let owned = |file: &Text| file.path().map(Path::to_owned);
    let paths = files.iter().map(owned).collect::<Option<_>>();
    paths.ok_or(Error::Null("a file name"))
}
