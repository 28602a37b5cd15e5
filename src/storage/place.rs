//! Making, renaming and removing files, and what the file system notes about them.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid};
use rustix::io::{Errno, retry_on_intr};

use super::file::{UNSUPPORTED, patiently};
use super::{Operation, Result, at, on, sys};

/// What a file carries beside its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub atime: Time,
    pub mtime: Time,
    pub ctime: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    pub seconds: i64,
    pub nanoseconds: i64,
}

impl From<Time> for Timespec {
    fn from(time: Time) -> Timespec {
        Timespec {
            tv_sec: time.seconds,
            tv_nsec: time.nanoseconds as _,
        }
    }
}

impl Attributes {
    pub fn is_regular(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::RegularFile
    }
}

/// The attributes of the file at `path`; `None` if there is none.
pub fn attributes(path: &Path) -> Result<Option<Attributes>> {
    let stat = match sys::stat(path) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        outcome => outcome.map_err(at(Operation::Stat, path))?,
    };
    let time = |seconds: i64, nanoseconds: u64| Time {
        seconds,
        nanoseconds: nanoseconds as i64,
    };
    Ok(Some(Attributes {
        mode: stat.st_mode,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: stat.st_size as u64,
        atime: time(stat.st_atime, stat.st_atime_nsec as u64),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec as u64),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec as u64),
    }))
}

/// What tells a file from all others of a node, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
}

impl From<Stat> for Identity {
    fn from(stat: Stat) -> Identity {
        Identity {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}

pub fn identity(path: &Path) -> Result<Identity> {
    let stat = sys::stat(path).map_err(at(Operation::Stat, path))?;
    Ok(stat.into())
}

/// Opens the file at `path` to read it, or to write it as well; `None` if it is another one than the one meant.
pub fn open_same(path: &Path, meant: Identity, for_writing: bool) -> Result<Option<OwnedFd>> {
    let flags = match for_writing {
        true => OFlags::RDWR,
        false => OFlags::RDONLY,
    };
    // Whatever else is there now must not keep us waiting.
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = || sys::open(path, flags, Mode::empty());
    let fd = patiently(open).map_err(at(Operation::Open, path))?;
    let stat = sys::fstat(&fd).map_err(at(Operation::Stat, path))?;
    Ok((Identity::from(stat) == meant).then_some(fd))
}

/// Gives an open file the mode, owner and times in `wanted`. Its owner stays where this user may not
/// change it.
pub fn set_attributes(fd: impl AsFd, wanted: &Attributes) -> Result<()> {
    let fd = fd.as_fd();
    let (uid, gid) = (Uid::from_raw(wanted.uid), Gid::from_raw(wanted.gid));
    match sys::chown(fd, Some(uid), Some(gid)) {
        Err(errno) if errno == Errno::PERM || UNSUPPORTED.contains(&errno) => (),
        outcome => outcome.map_err(on(Operation::Chown, fd))?,
    }
    // After the owner, whose change clears the set-id bits.
    let mode = Mode::from_raw_mode(wanted.mode & 0o7777);
    match sys::chmod(fd, mode) {
        Err(errno) if errno == Errno::PERM || UNSUPPORTED.contains(&errno) => (),
        outcome => outcome.map_err(on(Operation::Chmod, fd))?,
    }
    let times = Timestamps {
        last_access: wanted.atime.into(),
        last_modification: wanted.mtime.into(),
    };
    sys::set_times(fd, &times).map_err(on(Operation::SetTimes, fd))
}

/// Makes an empty file of this mode less the umask, or empties the one that is there.
pub fn create(path: &Path, mode: u32) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
    let open = || sys::open(path, flags, Mode::from_raw_mode(mode));
    patiently(open).map_err(at(Operation::Open, path))
}

/// Puts `from` in the place of `to`. Durable after [`sync_parent`].
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    retry_on_intr(|| sys::rename(from, to)).map_err(at(Operation::Rename, to))
}

/// Removes a file; false if there is none.
pub fn remove(path: &Path) -> Result<bool> {
    match retry_on_intr(|| sys::unlink(path)) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(errno) => Err(at(Operation::Unlink, path)(errno)),
    }
}

/// The names in a directory, in no order.
pub fn names_in(directory: &Path) -> Result<Vec<OsString>> {
    retry_on_intr(|| sys::read_dir(directory)).map_err(at(Operation::ReadDir, directory))
}

/// Makes renames and removals of `path` durable.
pub fn sync_parent(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    super::sync_directory(parent.unwrap_or(Path::new(".")))
}
