//! Writing to what cannot be replaced.
//!
//! A regular file that may be written but not replaced (a mount point of its own, another user's file in a
//! sticky directory, a directory without room for names) is overwritten from a file that holds all of the new
//! content. Its blocks are reserved before the first byte changes, so a full disk leaves the old content; if a
//! later step fails, the other file stays, and [`Error::Unfinished`] says where. One of both contents is complete
//! at any time. Devices and pipes hold no content: they are just written to.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::file::{
    UNSUPPORTED, open_read, patiently, read_full, size_left, sync_all, truncate, write_all,
};
use super::{Error, Operation, Result, at, sys};

const BLOCK: usize = 1 << 20;

/// Makes the content of the file `new` that of `target`.
pub(super) fn copy(new: &Path, target: &Path) -> Result<()> {
    let source = open_read(new)?;
    let length = size_left(&source)?.ok_or_else(|| Error::NotRegular(new.to_path_buf()))?;
    let fd = open_write(target)?;
    reserve(&fd, length).map_err(at(Operation::Allocate, target))?;
    overwrite(&fd, &source, length, target).map_err(|error| Error::Unfinished {
        path: target.to_path_buf(),
        kept: new.to_path_buf(),
        source: Box::new(error),
    })
}

/// Writes to a device or a pipe.
pub(super) fn send(path: &Path, bytes: &[u8]) -> Result<()> {
    let fd = open_write(path)?;
    write_all(&fd, bytes).map_err(at(Operation::Write, path))?;
    sync_all(&fd).map_err(at(Operation::Fsync, path))
}

/// Does not wait: a FIFO that nobody reads is an error.
fn open_write(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = || sys::open(path, flags, Mode::empty());
    patiently(open).map_err(at(Operation::Open, path))
}

fn reserve(fd: impl AsFd, length: u64) -> Result<(), Errno> {
    if length == 0 {
        return Ok(());
    }
    match retry_on_intr(|| sys::reserve(&fd, length)) {
        // The file that holds the new content is enough.
        Err(errno) if UNSUPPORTED.contains(&errno) => Ok(()),
        outcome => outcome,
    }
}

fn overwrite(fd: impl AsFd, source: impl AsFd, length: u64, target: &Path) -> Result<()> {
    let mut block = vec![0; BLOCK.min(length as usize)];
    let mut done = 0;
    while done < length {
        let got = read_full(&source, &mut block)?;
        if got == 0 {
            return Err(at(Operation::Read, target)(Errno::IO));
        }
        write_all(&fd, &block[..got]).map_err(at(Operation::Write, target))?;
        done += got as u64;
    }
    truncate(&fd, length)?;
    sync_all(&fd).map_err(at(Operation::Fsync, target))
}

#[cfg(test)]
mod tests;
