//! # Rebuild
//!
//! Lists of files, and rebuilding by one process, without MPI.

use crate::capi::handle::{self, Opaque};
use crate::capi::{alloc, error, guard, ptr};
use crate::kvtree::{RawTree as kvtree, TreeRef};
use crate::redset::rebuild::{self, Contents, Kind};
use crate::redset::{Error, Result};
use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

pub(in crate::capi) const REDSET_SUCCESS: c_int = 0;
/// redset knows one failure code for every [`Error`].
pub(in crate::capi) const REDSET_FAILURE: c_int = 1;

pub(in crate::capi) const REDSET_COPY_SINGLE: c_int = 1;
pub(in crate::capi) const REDSET_COPY_PARTNER: c_int = 2;
pub(in crate::capi) const REDSET_COPY_XOR: c_int = 3;
pub(in crate::capi) const REDSET_COPY_RS: c_int = 4;

#[allow(non_camel_case_types)]
pub type redset_filelist = *mut c_void;

/// What a `redset_filelist` points to.
struct FileList(Vec<CString>);

impl Opaque for FileList {
    const MAGIC: u64 = 0x7265_6473_6574_464c;
}

/// Runs `body` and turns its verdict into a return code and a text.
pub(in crate::capi) fn status(body: impl FnOnce() -> Result<()>) -> c_int {
    guard(REDSET_FAILURE, || match remembered(body()) {
        Some(()) => REDSET_SUCCESS,
        None => REDSET_FAILURE,
    })
}

pub(in crate::capi) fn remembered<T>(result: Result<T>) -> Option<T> {
    result.map_err(error::remember).ok()
}

pub(in crate::capi) fn needed<T>(value: Option<T>, what: &'static str) -> Result<T> {
    value.ok_or(Error::Null(what))
}

/// A number that C counts with an `int`.
pub(in crate::capi) fn natural(what: &'static str, value: c_int) -> Result<usize> {
    let value = i64::from(value);
    usize::try_from(value).map_err(|_| Error::Number { what, value })
}

/// The `count` file names of an array of C.
pub(in crate::capi) unsafe fn paths(
    count: c_int,
    files: *const *const c_char,
) -> Result<Vec<PathBuf>> {
    let count = natural("the number of files", count)?;
    if count > 0 && files.is_null() {
        return Err(Error::Null("files"));
    }
    let path_at = |i| {
        // SAFETY: the caller's array holds `count` strings or NULLs.
        let path = unsafe { ptr::path(*files.add(i)) };
        needed(path.map(Path::to_owned), "a file name")
    };
    (0..count).map(path_at).collect()
}

/// Gives a list of files to C.
pub(in crate::capi) fn hand_out(files: Result<Vec<PathBuf>>) -> redset_filelist {
    match remembered(files) {
        Some(files) => handle::new(FileList(files.into_iter().map(c_path).collect())),
        None => null_mut(),
    }
}

/// A path came from C or from the key of a tree, so it holds no NUL.
fn c_path(path: PathBuf) -> CString {
    CString::new(path.into_os_string().into_vec()).unwrap_or_default()
}

unsafe fn list<'a>(list: redset_filelist) -> Option<&'a FileList> {
    // SAFETY: a list of the caller, or NULL.
    unsafe { handle::get(list) }
}

// ---- lists of files ----

/// Frees a list of files and sets the pointer to NULL; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_filelist_release(plist: *mut redset_filelist) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        if plist.is_null() || unsafe { (*plist).is_null() } {
            return Ok(());
        }
        // SAFETY: the caller gives the list up.
        let list = unsafe { handle::take::<FileList>(*plist) };
        // SAFETY: checked above.
        unsafe { plist.write(null_mut()) };
        list.map(drop).ok_or(Error::NotADescriptor("the list"))
    })
}

/// The number of files in the list; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_filelist_count(list: redset_filelist) -> c_int {
    // SAFETY: arguments of the caller.
    guard(0, || unsafe {
        self::list(list).map_or(0, |l| l.0.len() as c_int)
    })
}

/// The name of the file at `index`, counted from 0; NULL if there is none. The string lives as long as
/// the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_filelist_file(
    list: redset_filelist,
    index: c_int,
) -> *const c_char {
    guard(null(), || {
        let index = usize::try_from(index).ok();
        // SAFETY: arguments of the caller.
        let list = unsafe { self::list(list) };
        let file = list.zip(index).and_then(|(list, index)| list.0.get(index));
        file.map_or(null(), |file| file.as_ptr())
    })
}

// ---- rebuild by one process ----

/// The original files of a PARTNER set, whose redundancy files (those that were found) are given.
///
/// `groupsize` gets the number of ranks of the set, `groupranks` the rank in the parent communicator of
/// each of them, to be given to free().
///
/// # Returns
/// The list, to be given to redset_filelist_release; NULL if the files do not tell.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_filelist_get_data_partner(
    num: c_int,
    files: *mut *const c_char,
    groupsize: *mut c_int,
    groupranks: *mut *mut c_int,
) -> redset_filelist {
    // SAFETY: arguments of the caller.
    unsafe { get_data(Kind::Partner, num, files, groupsize, groupranks) }
}

/// Rebuilds what is missing of a PARTNER set from the redundancy files that are given.
///
/// Redundancy files are written to names that begin with `prefix`. `map` gives the present path of each
/// original file; NULL: they are where they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_rebuild_partner(
    num: c_int,
    files: *mut *const c_char,
    prefix: *const c_char,
    map: *const kvtree,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { rebuild(Kind::Partner, num, files, prefix, map) }
}

/// As redset_filelist_get_data_partner, for an XOR set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_filelist_get_data_xor(
    num: c_int,
    files: *mut *const c_char,
    groupsize: *mut c_int,
    groupranks: *mut *mut c_int,
) -> redset_filelist {
    // SAFETY: arguments of the caller.
    unsafe { get_data(Kind::Xor, num, files, groupsize, groupranks) }
}

/// As redset_rebuild_partner, for an XOR set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_rebuild_xor(
    num: c_int,
    files: *mut *const c_char,
    prefix: *const c_char,
    map: *const kvtree,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { rebuild(Kind::Xor, num, files, prefix, map) }
}

/// As redset_filelist_get_data_partner, for a Reed-Solomon set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_filelist_get_data_rs(
    num: c_int,
    files: *mut *const c_char,
    groupsize: *mut c_int,
    groupranks: *mut *mut c_int,
) -> redset_filelist {
    // SAFETY: arguments of the caller.
    unsafe { get_data(Kind::ReedSolomon, num, files, groupsize, groupranks) }
}

/// As redset_rebuild_partner, for a Reed-Solomon set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_rebuild_rs(
    num: c_int,
    files: *mut *const c_char,
    prefix: *const c_char,
    map: *const kvtree,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { rebuild(Kind::ReedSolomon, num, files, prefix, map) }
}

unsafe fn get_data(
    kind: Kind,
    num: c_int,
    files: *mut *const c_char,
    groupsize: *mut c_int,
    groupranks: *mut *mut c_int,
) -> redset_filelist {
    // SAFETY: arguments of the caller.
    unsafe {
        ptr::store(groupsize, 0);
        ptr::store(groupranks, null_mut());
    }
    guard(null_mut(), || {
        // SAFETY: arguments of the caller.
        let files = unsafe { paths(num, files) };
        let found = files.and_then(|files| rebuild::contents(kind, &files));
        hand_out(found.and_then(|contents| {
            // SAFETY: arguments of the caller.
            unsafe { store_ranks(&contents, groupsize, groupranks) }?;
            Ok(contents.files)
        }))
    })
}

unsafe fn store_ranks(
    contents: &Contents,
    groupsize: *mut c_int,
    groupranks: *mut *mut c_int,
) -> Result<()> {
    let ranks: Vec<c_int> = contents.world_ranks.iter().map(|&r| r as c_int).collect();
    if !groupranks.is_null() {
        let copy = alloc::copy(&ranks).ok_or(crate::kvtree::Error::NoMemory(ranks.len()))?;
        // SAFETY: checked above.
        unsafe { groupranks.write(copy) };
    }
    // SAFETY: arguments of the caller.
    unsafe { ptr::store(groupsize, ranks.len() as c_int) };
    Ok(())
}

unsafe fn rebuild(
    kind: Kind,
    num: c_int,
    files: *mut *const c_char,
    prefix: *const c_char,
    map: *const kvtree,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let prefix = needed(ptr::path(prefix), "prefix")?;
        let map = TreeRef::from_raw(map);
        rebuild::rebuild(kind, &paths(num, files)?, prefix.as_ref(), map)
    })
}
