//! # Files
//!
//! Trees in files. A file holds a header, the packed tree and a CRC-32 of both.

use super::{KVTREE_FAILURE, code, kvtree, path, status};
use crate::capi::boundary::{In, InOut, Out, Text, malloc_copy};
use crate::capi::{error, guard};
use crate::kvtree::{Error, Result, file, gather};
use libc::ssize_t;
use std::ffi::{c_int, c_void};
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

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

/// Writes the tree as a file holds it into a malloc'ed buffer, for the caller to free.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_write_persist(
    ptr_buf: Out<*mut c_void>,
    ptr_size: Out<usize>,
    hash: In<kvtree>,
) -> c_int {
    status(|| {
        let tree = hash.needed()?;
        if ptr_buf.is_null() || ptr_size.is_null() {
            return Err(Error::Null("buffer and size"));
        }
        let bytes = file::persisted(tree)?;
        let copy = malloc_copy(&bytes).ok_or(Error::NoMemory(bytes.len()))?;
        ptr_buf.set(copy.cast());
        ptr_size.set(bytes.len());
        Ok(())
    })
}

fn descriptor<'a>(fd: c_int) -> Result<BorrowedFd<'a>> {
    if fd < 0 {
        return Err(Error::BadDescriptor(fd));
    }
    // SAFETY: the caller's descriptor stays open during the call.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Writes the tree at the current offset of `fd`. `file` is its name in messages.
///
/// # Returns
/// The number of bytes written, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_write_fd(file: Text, fd: c_int, hash: In<kvtree>) -> ssize_t {
    byte_count(|| {
        path(file)?;
        file::write_fd(descriptor(fd)?, hash.needed()?)
    })
}

/// Reads a tree at the current offset of `fd`, merges it into `hash` and leaves the offset right behind it. `file` is
/// its name in messages.
///
/// # Returns
/// The number of bytes read, 0 at the end of the file, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_read_fd(file: Text, fd: c_int, hash: InOut<kvtree>) -> ssize_t {
    byte_count(|| file::read_fd(path(file)?, descriptor(fd)?, hash.needed()?))
}

/// Replaces the file atomically: after a crash it holds the old or the new tree.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_write_file(file: Text, hash: In<kvtree>) -> c_int {
    status(|| file::write_file(path(file)?, hash.needed()?))
}

/// Reads the file and merges its tree into `hash`. An empty file is an empty tree.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_read_file(file: Text, hash: InOut<kvtree>) -> c_int {
    let read = || file::read_file(path(file)?, hash.needed()?);
    guard(KVTREE_FAILURE, || match read() {
        // Programs look for a file this way: that it is missing is an answer, not an error to log.
        Err(Error::Storage(cause)) if cause.is_absent() => {
            error::keep_answer(cause.into());
            KVTREE_FAILURE
        }
        outcome => code(outcome),
    })
}

/// As kvtree_read_file under a shared lock. Creates a missing file, empty.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_read_with_lock(file: Text, hash: InOut<kvtree>) -> c_int {
    status(|| file::read_with_lock(path(file)?, hash.needed()?))
}

/// Writes the tree into the file under an exclusive lock.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_write_with_lock(file: Text, hash: InOut<kvtree>) -> c_int {
    status(|| file::write_with_lock(path(file)?, hash.needed()?.view()))
}

/// Locks the file exclusively, merges its tree into `hash` and leaves the file open in `fd`, for
/// kvtree_write_close_unlock. On failure `fd` is -1.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_lock_open_read(file: Text, fd: Out<c_int>, hash: InOut<kvtree>) -> c_int {
    status(|| {
        if !fd.set(-1) {
            return Err(Error::Null("fd"));
        }
        let opened = file::lock_open_read(path(file)?, hash.needed()?)?;
        fd.set(opened.into_raw_fd());
        Ok(())
    })
}

/// Replaces what the file holds by the tree, then unlocks and closes it. `fd` becomes -1.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_write_close_unlock(
    file: Text,
    fd: InOut<c_int>,
    hash: In<kvtree>,
) -> c_int {
    status(|| {
        let number = fd.get().ok_or(Error::Null("fd"))?;
        descriptor(number)?;
        let (path, tree) = (path(file)?, hash.needed()?);
        fd.replace(-1);
        // SAFETY: the caller gives the open descriptor up.
        let opened = unsafe { OwnedFd::from_raw_fd(number) };
        file::write_close_unlock(path, opened, tree)
    })
}

/// Writes the trees below the keys 0 to ranks-1 of `data` as kvtree_write_gather would. Sorts `data`.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_write_to_gather(prefix: Text, data: InOut<kvtree>, ranks: c_int) -> c_int {
    status(|| gather::write_to_gather(path(prefix)?, &mut data.needed()?, ranks))
}

/// Reads everything that kvtree_write_gather wrote and merges the tree of each rank into `data` below its number.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_read_scatter_single(prefix: Text, data: InOut<kvtree>) -> c_int {
    status(|| gather::read_scatter_single(path(prefix)?, data.needed()?))
}
