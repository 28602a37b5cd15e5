//! Storage: the only module that opens, writes, syncs, renames and locks files.
//!
//! [`replace`] changes a whole file atomically. [`mod@file`] reads and writes descriptors that may belong to a C caller,
//! [`block_file`] blocks of large files; [`names`] creates, renames and removes files and has their attributes, [`confined`]
//! resolves names that must not lead out of a directory, [`directories`] makes those that are missing. [`lock`] keeps
//! other processes out. All of them reach the kernel through `sys`, one function per system call, where `faults` can make
//! any call fail in tests.
#![forbid(unsafe_code)]

use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

pub mod block_file;
pub mod confined;
pub mod directories;
#[cfg(any(test, feature = "faults"))]
pub mod faults;
pub mod file;
mod in_place;
pub mod lock;
pub mod names;
mod replace;
mod sys;

use replace::sync_directory;
pub use replace::{Draft, Staged, replace};

/// A system call of this module: what an [`Error`] says was tried, and where a fault can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Open,
    /// Opening a directory on the way to a file.
    OpenDirectory,
    MakeDirectory,
    /// Opening a temporary file that must not exist yet.
    Create,
    Read,
    Write,
    CollapsePages,
    Allocate,
    Fsync,
    DirFsync,
    Rename,
    Unlink,
    Stat,
    ReadDir,
    ReadLink,
    Access,
    Chmod,
    Chown,
    SetTimes,
    Seek,
    Truncate,
    Flock,
    Fcntl,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::OpenDirectory => "open the directory, which must not be a link, of",
            Self::MakeDirectory => "make the directory",
            Self::Create => "create a temporary file for",
            Self::Read => "read",
            Self::Write => "write",
            Self::CollapsePages => "get a huge page for",
            Self::Allocate => "make room in",
            Self::Fsync => "sync",
            Self::DirFsync => "sync the directory",
            Self::Rename => "rename a temporary file to",
            Self::Unlink => "remove",
            Self::Stat => "inspect",
            Self::ReadDir => "list",
            Self::ReadLink => "follow the link",
            Self::Access => "get write access to",
            Self::Chmod => "set the mode of",
            Self::Chown => "set the owner of",
            Self::SetTimes => "set the times of",
            Self::Seek => "seek in",
            Self::Truncate => "truncate",
            Self::Flock => "flock",
            Self::Fcntl => "lock with fcntl",
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {op} {}: {source}", path.display())]
    Path {
        op: Operation,
        path: PathBuf,
        source: Errno,
    },
    /// As [`Error::Path`], where only a descriptor is known.
    #[error("cannot {op} descriptor {fd}: {source}")]
    Descriptor {
        op: Operation,
        fd: RawFd,
        source: Errno,
    },
    /// Names and headers may name a FIFO or a device: reading one could wait for ever.
    #[error("{} is not a regular file", _0.display())]
    NotRegular(PathBuf),
    #[error("{} has become another file while it was written", _0.display())]
    Exchanged(PathBuf),
    /// A write in place failed midway. Nothing is lost: all of the new content is in `kept`.
    #[error(
        "{source}; {} may be damaged, its new content is complete in {}",
        path.display(),
        kept.display()
    )]
    Unfinished {
        path: PathBuf,
        kept: PathBuf,
        source: Box<Error>,
    },
    /// Neither kind of lock exists on this file.
    #[error("cannot change the lock of descriptor {fd}: flock: {flock}; fcntl: {fcntl}")]
    Lock {
        fd: RawFd,
        flock: Errno,
        fcntl: Errno,
    },
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The errno that a C caller would have seen.
    pub fn errno(&self) -> Errno {
        match self {
            Self::Path { source, .. } | Self::Descriptor { source, .. } => *source,
            Self::NotRegular(_) => Errno::INVAL,
            Self::Exchanged(_) => Errno::STALE,
            Self::Unfinished { source, .. } => source.errno(),
            Self::Lock { flock, .. } => *flock,
        }
    }

    /// There is no such file or directory.
    pub fn is_absent(&self) -> bool {
        matches!(self.errno(), Errno::NOENT | Errno::NOTDIR)
    }

    /// The file system or its permissions do not let us write there.
    pub fn is_denied(&self) -> bool {
        is_denied(self.errno())
    }
}

fn is_denied(errno: Errno) -> bool {
    matches!(errno, Errno::ACCESS | Errno::PERM | Errno::ROFS)
}

/// For `map_err`: names the path on which `op` failed.
fn at(op: Operation, path: &Path) -> impl FnOnce(Errno) -> Error {
    move |source| Error::Path {
        op,
        path: path.to_path_buf(),
        source,
    }
}

/// For `map_err`: names the descriptor on which `op` failed.
fn on(op: Operation, fd: BorrowedFd) -> impl FnOnce(Errno) -> Error {
    let fd = fd.as_raw_fd();
    move |source| Error::Descriptor { op, fd, source }
}

/// A directory in memory, if this machine has one: for tests that sync a lot.
#[cfg(test)]
pub(crate) fn memory_dir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}
