//! # Filelists
//!
//! Lists of file names that other functions return.

use super::{FileList, redset_filelist, remembered, status};
use crate::capi::boundary::{Handle, InOut};
use crate::capi::guard;
use crate::redset::{Error, Result};
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr::null;

/// Gives a list of files to C.
pub(super) fn hand_out(files: Result<Vec<PathBuf>>) -> redset_filelist<'static> {
    match remembered(files) {
        Some(files) => Handle::hand_out(FileList(files.into_iter().map(c_path).collect())),
        None => InOut::NULL,
    }
}

/// A path came from C or from the key of a tree, so it has no NUL.
fn c_path(path: PathBuf) -> CString {
    CString::new(path.into_os_string().into_vec()).unwrap_or_default()
}

/// Frees a list of files and sets the pointer to NULL. A NULL list is fine.
#[unsafe(no_mangle)]
pub extern "C" fn redset_filelist_release(plist: InOut<redset_filelist>) -> c_int {
    status(|| {
        let given = plist.replace(InOut::NULL);
        let Some(list) = given.filter(|list| !list.is_null()) else {
            return Ok(());
        };
        // SAFETY: the caller gives the list up.
        let list = unsafe { list.take() };
        list.map(drop).ok_or(Error::NotADescriptor("the list"))
    })
}

/// Returns the number of files in the list; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn redset_filelist_count(list: redset_filelist) -> c_int {
    guard(0, || list.value().map_or(0, |list| list.0.len() as c_int))
}

/// Returns the name of the file at `index`, counted from 0; NULL if there is none. The string lives as long as the list.
#[unsafe(no_mangle)]
pub extern "C" fn redset_filelist_file(list: redset_filelist, index: c_int) -> *const c_char {
    guard(null(), || {
        let index = usize::try_from(index).ok();
        let file = list
            .value()
            .zip(index)
            .and_then(|(list, index)| list.0.get(index));
        file.map_or(null(), |file| file.as_ptr())
    })
}
