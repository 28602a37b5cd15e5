//! `kvtree.h`, second part: files and printing.

use super::kvtree::{KVTREE_FAILURE, KVTREE_SUCCESS, code, edit, needed, path, status, view};
use super::{alloc, error, guard, ptr};
use crate::kvtree::print::{self, Mode};
use crate::kvtree::{Error, RawTree as kvtree, Result, TreeRef, file, gather};
use crate::log;
use libc::ssize_t;
use std::ffi::{CString, c_char, c_int, c_void};
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

const KVTREE_PRINT_TREE: c_int = 1;
const KVTREE_PRINT_KEYVAL: c_int = 2;

/// As `status` for functions that return a number of bytes, or -1.
fn byte_count(body: impl FnOnce() -> Result<u64>) -> ssize_t {
    guard(-1, || {
        body().map_or_else(
            |cause| {
                error::keep(cause);
                -1
            },
            |bytes| bytes as ssize_t,
        )
    })
}

// ---- files ----

/// The tree as a file holds it, in a buffer that the caller frees.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_write_persist(
    ptr_buf: *mut *mut c_void,
    ptr_size: *mut usize,
    hash: *const kvtree,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let tree = view(hash)?;
        if ptr_buf.is_null() || ptr_size.is_null() {
            return Err(Error::Null("buffer and size"));
        }
        let bytes = file::persisted(tree)?;
        let copy = alloc::copy(&bytes).ok_or(Error::NoMemory(bytes.len()))?;
        ptr::store(ptr_buf, copy.cast());
        ptr::store(ptr_size, bytes.len());
        Ok(())
    })
}

unsafe fn descriptor<'a>(fd: c_int) -> Result<BorrowedFd<'a>> {
    if fd < 0 {
        return Err(Error::BadDescriptor(fd));
    }
    // SAFETY: the caller's descriptor stays open over the call.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Writes the tree at the current offset of `fd`; `file` is its name for messages.
///
/// # Returns
/// The number of bytes written, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_write_fd(
    file: *const c_char,
    fd: c_int,
    hash: *const kvtree,
) -> ssize_t {
    // SAFETY: arguments of the caller.
    byte_count(|| unsafe {
        path(file)?;
        file::write_fd(descriptor(fd)?, view(hash)?)
    })
}

/// Reads a tree at the current offset of `fd` and merges it into `hash`; `file` is its name for
/// messages. The offset is then right behind the tree.
///
/// # Returns
/// The number of bytes read, 0 at the end of the file, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_read_fd(
    file: *const c_char,
    fd: c_int,
    hash: *mut kvtree,
) -> ssize_t {
    // SAFETY: arguments of the caller.
    byte_count(|| unsafe { file::read_fd(path(file)?, descriptor(fd)?, edit(hash)?) })
}

/// Replaces the file by one that holds the tree. Whatever happens, the file holds the old or the new
/// content.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_write_file(file: *const c_char, hash: *const kvtree) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { file::write_file(path(file)?, view(hash)?) })
}

/// Reads the file and merges its tree into `hash`; an empty file is an empty tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_read_file(file: *const c_char, hash: *mut kvtree) -> c_int {
    // SAFETY: arguments of the caller.
    let read = || unsafe { file::read_file(path(file)?, edit(hash)?) };
    guard(KVTREE_FAILURE, || match read() {
        // Programs look for a file this way: that it is not there is an answer.
        Err(Error::Storage(cause)) if cause.is_absent() => {
            error::keep_answer(cause.into());
            KVTREE_FAILURE
        }
        outcome => code(outcome),
    })
}

/// As kvtree_read_file while no other process holds the file locked for writing; a missing file is
/// created empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_read_with_lock(file: *const c_char, hash: *mut kvtree) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { file::read_with_lock(path(file)?, edit(hash)?) })
}

/// Writes the tree into the file while no other process holds it locked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_write_with_lock(file: *const c_char, hash: *mut kvtree) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { file::write_with_lock(path(file)?, view(hash)?) })
}

/// Locks the file for writing, merges its tree into `hash` and leaves the file open in `fd`, for
/// kvtree_write_close_unlock. On failure `fd` is -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_lock_open_read(
    file: *const c_char,
    fd: *mut c_int,
    hash: *mut kvtree,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        if !ptr::store(fd, -1) {
            return Err(Error::Null("fd"));
        }
        let opened = file::lock_open_read(path(file)?, edit(hash)?)?;
        ptr::store(fd, opened.into_raw_fd());
        Ok(())
    })
}

/// Puts the tree in the place of what the file held, then unlocks and closes it; `fd` becomes -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_write_close_unlock(
    file: *const c_char,
    fd: *mut c_int,
    hash: *const kvtree,
) -> c_int {
    // SAFETY: arguments of the caller, who gives up an open descriptor.
    status(|| unsafe {
        let place = needed((!fd.is_null()).then_some(fd), "fd")?;
        descriptor(*place)?;
        let (path, tree) = (path(file)?, view(hash)?);
        let opened = OwnedFd::from_raw_fd(place.replace(-1));
        file::write_close_unlock(path, opened, tree)
    })
}

/// Writes what stands below the keys 0 to ranks-1 of `data` as kvtree_write_gather would; sorts `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_write_to_gather(
    prefix: *const c_char,
    data: *mut kvtree,
    ranks: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { gather::write_to_gather(path(prefix)?, &mut edit(data)?, ranks) })
}

/// Reads all that kvtree_write_gather wrote: what a rank gave is merged into `data` below its number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_read_scatter_single(
    prefix: *const c_char,
    data: *mut kvtree,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { gather::read_scatter_single(path(prefix)?, edit(data)?) })
}

// ---- print ----

/// Prints the tree to standard output, one key a line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_print(hash: *const kvtree, indent: c_int) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { kvtree_print_mode(hash, indent, KVTREE_PRINT_TREE) }
}

/// Prints the tree to standard output; with KVTREE_PRINT_KEYVAL keys with one value as `key = value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_print_mode(
    hash: *const kvtree,
    indent: c_int,
    mode: c_int,
) -> c_int {
    guard(KVTREE_FAILURE, || {
        // SAFETY: arguments of the caller.
        let tree = unsafe { TreeRef::from_raw(hash) };
        let mode = match mode {
            KVTREE_PRINT_KEYVAL => Mode::KeyValue,
            _ => Mode::Tree,
        };
        // C's own stdout, so that lines keep their place among those of the program.
        print::lines(tree, indent.max(0) as usize, mode, |line| {
            let line = CString::new(line).unwrap_or_default();
            // SAFETY: a C string.
            unsafe { libc::puts(line.as_ptr()) };
        });
        KVTREE_SUCCESS
    })
}

/// Logs the tree, one key a line, to where log messages of this level go.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_log(hash: *const kvtree, log_level: c_int, indent: c_int) -> c_int {
    guard(KVTREE_FAILURE, || {
        // SAFETY: arguments of the caller.
        let tree = unsafe { TreeRef::from_raw(hash) };
        let level = log::Level::nearest(log_level);
        print::lines(tree, indent.max(0) as usize, Mode::Tree, |line| {
            log::write(level, format_args!("{}", String::from_utf8_lossy(line)));
        });
        KVTREE_SUCCESS
    })
}
