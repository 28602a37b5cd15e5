//! Every system call of the module, one function each. Nothing else here calls the kernel, so
//! a fault plan sees, counts and can replace each of them.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    self, Access, AtFlags, FlockOperation, Gid, Mode, OFlags, SeekFrom, Stat, Timestamps, Uid,
};
use rustix::io::{self, Result};

use super::Operation;
use crate::pages::HugePages;

#[cfg(any(test, feature = "faults"))]
use super::faults::{before, still};

/// How many bytes the operation may move: without a fault plan, any number.
#[cfg(not(any(test, feature = "faults")))]
#[inline(always)]
fn before(_: Operation) -> Result<usize> {
    Ok(usize::MAX)
}

#[cfg(not(any(test, feature = "faults")))]
#[inline(always)]
fn still(stat: Stat) -> Stat {
    stat
}

/// Descriptors stay out of child processes: an inherited one would keep a lock alive.
pub(super) fn open(path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    before(Operation::Open)?;
    fs::open(path, flags | OFlags::CLOEXEC, mode)
}

/// Opens a directory in another one, to reach its entries; refuses a link.
pub(super) fn open_directory(outer: impl AsFd, name: &Path) -> Result<OwnedFd> {
    before(Operation::OpenDirectory)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(outer, name, flags, Mode::empty())
}

/// Opens a directory again, to list or sync it.
pub(super) fn open_listable(directory: impl AsFd) -> Result<OwnedFd> {
    before(Operation::OpenDirectory)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::openat(directory, ".", flags, Mode::empty())
}

/// Fails if there is anything of this name, and never follows a link.
pub(super) fn make_directory(outer: impl AsFd, name: &Path, mode: Mode) -> Result<()> {
    before(Operation::MakeDirectory)?;
    fs::mkdirat(outer, name, mode)
}

/// Fails unless it is empty.
pub(super) fn remove_directory(outer: impl AsFd, name: &Path) -> Result<()> {
    before(Operation::Unlink)?;
    fs::unlinkat(outer, name, AtFlags::REMOVEDIR)
}

/// Fails if the file exists, and never follows a link.
pub(super) fn create(path: &Path, mode: Mode) -> Result<OwnedFd> {
    before(Operation::Create)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::open(path, flags, mode)
}

pub(super) fn read(fd: impl AsFd, buf: &mut [u8]) -> Result<usize> {
    let limit = before(Operation::Read)?.min(buf.len());
    io::read(fd, &mut buf[..limit])
}

pub(super) fn write(fd: impl AsFd, bytes: &[u8]) -> Result<usize> {
    let limit = before(Operation::Write)?.min(bytes.len());
    io::write(fd, &bytes[..limit])
}

pub(super) fn pread(fd: impl AsFd, buf: &mut [u8], offset: u64) -> Result<usize> {
    let limit = before(Operation::Read)?.min(buf.len());
    io::pread(fd, &mut buf[..limit], offset)
}

pub(super) fn pwrite(fd: impl AsFd, bytes: &[u8], offset: u64) -> Result<usize> {
    let limit = before(Operation::Write)?.min(bytes.len());
    io::pwrite(fd, &bytes[..limit], offset)
}

/// Whether the file lies in tmpfs.
pub(super) fn is_in_memory(fd: impl AsFd) -> Result<bool> {
    const TMPFS_MAGIC: fs::FsWord = 0x0102_1994;
    before(Operation::Stat)?;
    Ok(fs::fstatfs(fd)?.f_type == TMPFS_MAGIC)
}

pub(super) fn collapse_pages(fd: impl AsFd, offset: u64, length: usize) -> Result<HugePages> {
    before(Operation::CollapsePages)?;
    HugePages::collapse(fd.as_fd(), offset, length)
}

/// Allocates the page at `offset` and extends the file to it; content is not changed.
pub(super) fn allocate(fd: impl AsFd, offset: u64) -> Result<()> {
    before(Operation::Allocate)?;
    fs::fallocate(fd, fs::FallocateFlags::empty(), offset, 1)
}

/// Reserves the blocks for `length` bytes from the start; neither content nor size changes.
pub(super) fn reserve(fd: impl AsFd, length: u64) -> Result<()> {
    before(Operation::Allocate)?;
    fs::fallocate(fd, fs::FallocateFlags::KEEP_SIZE, 0, length)
}

pub(super) fn fsync(fd: impl AsFd) -> Result<()> {
    before(Operation::Fsync)?;
    fs::fsync(fd)
}

pub(super) fn fsync_dir(fd: impl AsFd) -> Result<()> {
    before(Operation::DirFsync)?;
    fs::fsync(fd)
}

pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    before(Operation::Rename)?;
    fs::rename(from, to)
}

pub(super) fn unlink(path: &Path) -> Result<()> {
    before(Operation::Unlink)?;
    fs::unlink(path)
}

pub(super) fn stat(path: &Path) -> Result<Stat> {
    before(Operation::Stat)?;
    fs::stat(path).map(still)
}

/// As [`stat`], but of a link itself.
pub(super) fn lstat(path: &Path) -> Result<Stat> {
    before(Operation::Stat)?;
    fs::lstat(path)
}

pub(super) fn fstat(fd: impl AsFd) -> Result<Stat> {
    before(Operation::Stat)?;
    fs::fstat(fd).map(still)
}

/// Whether an open directory has no entries.
pub(super) fn is_empty(directory: impl AsFd) -> Result<bool> {
    before(Operation::ReadDir)?;
    for entry in fs::Dir::read_from(directory)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The names in a directory, without `.` and `..`.
pub(super) fn read_dir(path: &Path) -> Result<Vec<std::ffi::OsString>> {
    before(Operation::ReadDir)?;
    let errno = |e: std::io::Error| io::Errno::from_io_error(&e).unwrap_or(io::Errno::IO);
    let entries = std::fs::read_dir(path).map_err(errno)?;
    let names = entries.map(|entry| Ok(entry.map_err(errno)?.file_name()));
    names.collect()
}

pub(super) fn readlink(path: &Path) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    before(Operation::ReadLink)?;
    let text = fs::readlink(path, Vec::new())?;
    Ok(std::ffi::OsString::from_vec(text.into_bytes()).into())
}

/// Whether the directory belongs to procfs, where links stand for what is open, not for names.
#[cfg(target_os = "linux")]
pub(super) fn is_in_proc(dir: &Path) -> Result<bool> {
    before(Operation::Stat)?;
    Ok(fs::statfs(dir)?.f_type == fs::PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_in_proc(_: &Path) -> Result<bool> {
    Ok(false)
}

pub(super) fn may_write(path: &Path) -> Result<()> {
    before(Operation::Access)?;
    fs::access(path, Access::WRITE_OK)
}

pub(super) fn chmod(fd: impl AsFd, mode: Mode) -> Result<()> {
    before(Operation::Chmod)?;
    fs::fchmod(fd, mode)
}

pub(super) fn chown(fd: impl AsFd, owner: Option<Uid>, group: Option<Gid>) -> Result<()> {
    before(Operation::Chown)?;
    fs::fchown(fd, owner, group)
}

pub(super) fn set_times(fd: impl AsFd, times: &Timestamps) -> Result<()> {
    before(Operation::SetTimes)?;
    fs::futimens(fd, times)
}

pub(super) fn seek(fd: impl AsFd, to: SeekFrom) -> Result<u64> {
    before(Operation::Seek)?;
    fs::seek(fd, to)
}

pub(super) fn truncate(fd: impl AsFd, length: u64) -> Result<()> {
    before(Operation::Truncate)?;
    fs::ftruncate(fd, length)
}

pub(super) fn flock(fd: impl AsFd, operation: FlockOperation) -> Result<()> {
    before(Operation::Flock)?;
    fs::flock(fd, operation)
}

pub(super) fn fcntl_lock(fd: impl AsFd, operation: FlockOperation) -> Result<()> {
    before(Operation::Fcntl)?;
    fs::fcntl_lock(fd, operation)
}
