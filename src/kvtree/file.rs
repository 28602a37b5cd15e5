//! Trees on disk: a 20-byte header, the packed tree, a CRC-32 over all of it.
//!
//! Big-endian throughout: magic, type, version, size of everything with the checksum, flags. A tree
//! may be followed by other data, so reading stops right behind it. Whole files are replaced at once
//! (`storage::replace`); the locking calls write in place, because the lock belongs to the file they hold.

use super::pack::{self, FormatError, Order, PackedTree};
use super::{Error, Result, TreeMut, TreeRef};
use crate::storage::{self, file as disk, lock};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

const MAGIC: u32 = 0x951f_c3f5;
const TYPE_TREE: u16 = 1;
const VERSION_1: u16 = 1;
const HEADER: usize = 20;
const FLAG_CRC32: u32 = 1;
const CRC: usize = 4;
/// How often the file may be replaced while we open it before we give up.
const LOCK_TRIES: u32 = 1000;
/// Memory is taken in steps of this size, as bytes really arrive.
const STEP: u64 = 1 << 20;

/// The tree as a file holds it.
pub fn persisted(tree: TreeRef) -> Result<Vec<u8>> {
    let size = HEADER + pack::packed_size(Some(tree)) + CRC;
    let mut bytes = pack::room_for(size)?;
    bytes.extend_from_slice(&MAGIC.to_be_bytes());
    bytes.extend_from_slice(&TYPE_TREE.to_be_bytes());
    bytes.extend_from_slice(&VERSION_1.to_be_bytes());
    bytes.extend_from_slice(&(size as u64).to_be_bytes());
    bytes.extend_from_slice(&FLAG_CRC32.to_be_bytes());
    pack::pack(Some(tree), &mut bytes);
    let crc = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&crc.to_be_bytes());
    Ok(bytes)
}

/// Writes the tree at the current offset and returns the number of bytes.
pub fn write_fd(fd: impl AsFd, tree: TreeRef) -> Result<u64> {
    let bytes = persisted(tree)?;
    disk::write_full(fd, &bytes)?;
    Ok(bytes.len() as u64)
}

/// Reads a tree at the current offset, merges it into `into` and returns the number of bytes it took;
/// 0 when there is nothing to read. `name` is for messages only.
pub fn read_fd(name: &Path, fd: impl AsFd, into: TreeMut) -> Result<u64> {
    let Some(file) = read_packed(name, fd)? else {
        return Ok(0);
    };
    pack::merge_into(file.tree().bytes(), into, Order::AsPacked)?;
    Ok(file.bytes.len() as u64)
}

/// What a file holds, after everything about it was found right.
pub(super) struct CheckedFile {
    bytes: Vec<u8>,
    tree: Range<usize>,
}

impl CheckedFile {
    pub(super) fn tree(&self) -> PackedTree<'_> {
        PackedTree::checked(&self.bytes[self.tree.clone()])
    }
}

/// As [`read_fd`] without unpacking.
pub(super) fn read_packed(name: &Path, fd: impl AsFd) -> Result<Option<CheckedFile>> {
    let bad = |source| Error::BadFile {
        path: name.to_owned(),
        source,
    };
    let mut bytes = vec![0; HEADER];
    let got = disk::read_full(fd.as_fd(), &mut bytes)?;
    if got == 0 {
        return Ok(None);
    }
    if got < HEADER {
        return Err(bad(FormatError::Short {
            got: got as u64,
            expected: HEADER as u64,
        }));
    }
    let header = FileHeader::parse(&bytes).map_err(bad)?;
    read_rest(fd, &mut bytes, header.size, name)?;
    let tree = header.body(&bytes).map_err(bad)?;
    if pack::packed_length(&bytes[tree.clone()]).map_err(bad)? != tree.len() {
        return Err(bad(FormatError::Size(header.size)));
    }
    Ok(Some(CheckedFile { bytes, tree }))
}

struct FileHeader {
    size: u64,
    has_crc: bool,
}

impl FileHeader {
    fn parse(bytes: &[u8]) -> std::result::Result<FileHeader, FormatError> {
        let number = |from: usize, to: usize| {
            let digits = bytes[from..to].iter();
            digits.fold(0u64, |n, &byte| (n << 8) | u64::from(byte))
        };
        if number(0, 4) != u64::from(MAGIC) {
            return Err(FormatError::Magic);
        }
        let (kind, version) = (number(4, 6) as u16, number(6, 8) as u16);
        if (kind, version) != (TYPE_TREE, VERSION_1) {
            return Err(FormatError::Version { kind, version });
        }
        let size = number(8, 16);
        let has_crc = number(16, 20) as u32 & FLAG_CRC32 != 0;
        let least = HEADER + 4 + if has_crc { CRC } else { 0 };
        if size < least as u64 || usize::try_from(size).is_err() {
            return Err(FormatError::Size(size));
        }
        Ok(FileHeader { size, has_crc })
    }

    /// Where the packed tree is, after the checksum was found right.
    fn body(&self, bytes: &[u8]) -> std::result::Result<Range<usize>, FormatError> {
        if !self.has_crc {
            return Ok(HEADER..bytes.len());
        }
        let (content, crc) = bytes.split_at(bytes.len() - CRC);
        let found = u32::from_be_bytes(crc.try_into().expect("four bytes"));
        let computed = crc32fast::hash(content);
        if found != computed {
            return Err(FormatError::Checksum { found, computed });
        }
        Ok(HEADER..content.len())
    }
}

fn read_rest(fd: impl AsFd, bytes: &mut Vec<u8>, size: u64, name: &Path) -> Result<()> {
    while (bytes.len() as u64) < size {
        let start = bytes.len();
        let step = STEP.min(size - start as u64) as usize;
        bytes
            .try_reserve(step)
            .map_err(|_| Error::NoMemory(start + step))?;
        bytes.resize(start + step, 0);
        let got = disk::read_full(fd.as_fd(), &mut bytes[start..])?;
        if got < step {
            let got = (start + got) as u64;
            let short = FormatError::Short {
                got,
                expected: size,
            };
            return Err(Error::BadFile {
                path: name.to_owned(),
                source: short,
            });
        }
    }
    Ok(())
}

pub fn write_file(path: &Path, tree: TreeRef) -> Result<()> {
    Ok(storage::replace(path, &persisted(tree)?)?)
}

/// Merges the tree of the file into `into`; an empty file is an empty tree.
pub fn read_file(path: &Path, into: TreeMut) -> Result<()> {
    let fd = disk::open_read(path)?;
    read_fd(path, fd, into).map(drop)
}

/// As [`read_file`] under a shared lock. A missing file is created, so that there is something to lock.
pub fn read_with_lock(path: &Path, into: TreeMut) -> Result<()> {
    let fd = open_locked(path, lock::LockMode::Shared)?;
    read_fd(path, &fd, into)?;
    Ok(lock::unlock(&fd)?)
}

pub fn write_with_lock(path: &Path, tree: TreeRef) -> Result<()> {
    let fd = open_locked(path, lock::LockMode::Exclusive)?;
    overwrite(&fd, tree)?;
    Ok(lock::unlock(&fd)?)
}

/// Locks the file exclusively and merges its tree into `into`: the first half of a change.
///
/// A file that cannot be read as a tree is an error, so that the second half does not overwrite it.
pub fn lock_open_read(path: &Path, into: TreeMut) -> Result<OwnedFd> {
    let fd = open_locked(path, lock::LockMode::Exclusive)?;
    read_fd(path, &fd, into)?;
    Ok(fd)
}

/// Puts the tree in the place of what the locked file held, unlocks and closes: the second half.
pub fn write_close_unlock(path: &Path, fd: OwnedFd, tree: TreeRef) -> Result<()> {
    let written = match disk::is_at(&fd, path) {
        true => overwrite(&fd, tree),
        // Someone replaced the file without asking for the lock; ours is the last word all the same.
        false => write_file(path, tree),
    };
    let unlocked = lock::unlock(&fd);
    written?;
    Ok(unlocked?)
}

/// Opens and locks the file that is at `path` once the lock is ours: it may have been replaced while
/// we waited for the lock of the old one.
fn open_locked(path: &Path, mode: lock::LockMode) -> Result<OwnedFd> {
    for _ in 0..LOCK_TRIES {
        let fd = match disk::open_rdwr_create(path) {
            Err(e) if e.is_denied() && mode == lock::LockMode::Shared => disk::open_read(path)?,
            other => other?,
        };
        lock::lock(&fd, mode)?;
        if disk::is_at(&fd, path) {
            return Ok(fd);
        }
    }
    Err(Error::Busy(path.to_owned()))
}

fn overwrite(fd: impl AsFd, tree: TreeRef) -> Result<()> {
    let bytes = persisted(tree)?;
    disk::seek_to(fd.as_fd(), 0)?;
    disk::write_full(fd.as_fd(), &bytes)?;
    disk::truncate(fd.as_fd(), bytes.len() as u64)?;
    Ok(disk::sync(fd)?)
}

#[cfg(test)]
mod tests;
