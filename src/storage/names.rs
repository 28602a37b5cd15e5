//! Creating, renaming and removing files, and their attributes.
//!
//! A [`FileName`] names a file that may not exist yet. If its directory is held open ([`super::confined`]), the file is
//! reached through that descriptor, and a link in its place is not followed: renaming directories or planting links
//! meanwhile cannot redirect a write.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid};
use rustix::io::{Errno, retry_on_intr};

use super::directories::MadeDirectories;
use super::file::{UNSUPPORTED, open_regular, patiently};
use super::{Error, Operation, Result, at, on, sys};

pub(super) const PERMISSIONS: u32 = 0o777;
const GROUP_BITS: u32 = 0o070;
/// How often to remove a file whose name a new one needs.
const ATTEMPTS: usize = 10;

/// Metadata of a file, as `stat` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAttributes {
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

impl FileAttributes {
    pub fn is_regular(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::RegularFile
    }
}

impl From<Stat> for FileAttributes {
    fn from(stat: Stat) -> FileAttributes {
        let time = |seconds: i64, nanoseconds: u64| Time {
            seconds,
            nanoseconds: nanoseconds as i64,
        };
        FileAttributes {
            mode: stat.st_mode,
            uid: stat.st_uid,
            gid: stat.st_gid,
            size: stat.st_size as u64,
            atime: time(stat.st_atime, stat.st_atime_nsec as u64),
            mtime: time(stat.st_mtime, stat.st_mtime_nsec as u64),
            ctime: time(stat.st_ctime, stat.st_ctime_nsec as u64),
        }
    }
}

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
}

/// The effective user and group of this process, where /proc has them.
pub fn process_owner() -> Option<Owner> {
    let stat = sys::stat(Path::new("/proc/self")).ok()?;
    Some(stat.into())
}

/// The owner of an open file.
pub fn owner_of(fd: impl AsFd) -> Result<Owner> {
    let fd = fd.as_fd();
    let stat = sys::fstat(fd).map_err(on(Operation::Stat, fd))?;
    Ok(stat.into())
}

impl From<Stat> for Owner {
    fn from(stat: Stat) -> Owner {
        Owner {
            uid: stat.st_uid,
            gid: stat.st_gid,
        }
    }
}

/// The attributes of the file at `path`; `None` if there is none.
pub fn attributes(path: &Path) -> Result<Option<FileAttributes>> {
    if_there(sys::stat(path)).map_err(at(Operation::Stat, path))
}

fn if_there(stat: Result<Stat, Errno>) -> Result<Option<FileAttributes>, Errno> {
    match stat {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        outcome => outcome.map(|stat| Some(stat.into())),
    }
}

/// Identifies a file on its node, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InodeId {
    pub device: u64,
    pub inode: u64,
}

impl From<Stat> for InodeId {
    fn from(stat: Stat) -> InodeId {
        InodeId {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}

/// The inode of an open file.
pub fn inode_id(fd: impl AsFd) -> Result<InodeId> {
    let fd = fd.as_fd();
    let stat = sys::fstat(fd).map_err(on(Operation::Stat, fd))?;
    Ok(stat.into())
}

/// Opens the file at `path` to read it, or to write it as well; `None` if another file has that name now.
pub fn open_same(path: &Path, meant: InodeId, for_writing: bool) -> Result<Option<OwnedFd>> {
    let flags = match for_writing {
        true => OFlags::RDWR,
        false => OFlags::RDONLY,
    };
    // NONBLOCK: another file may have the name now, and opening a FIFO would wait.
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = || sys::open(path, flags, Mode::empty());
    let fd = patiently(open).map_err(at(Operation::Open, path))?;
    let stat = sys::fstat(&fd).map_err(at(Operation::Stat, path))?;
    Ok((InodeId::from(stat) == meant).then_some(fd))
}

/// Gives an open file the permissions, owner and times in `wanted`. The owner stays where this user may not
/// change it. Set-user-id, set-group-id and sticky bits are not among the permissions: a file that was made anew
/// never gets them.
pub fn set_attributes(fd: impl AsFd, wanted: &FileAttributes) -> Result<()> {
    let fd = fd.as_fd();
    let given = set_owner_and_permissions(fd, wanted.uid, wanted.gid, wanted.mode);
    given.map_err(|(op, errno)| on(op, fd)(errno))?;
    let times = Timestamps {
        last_access: wanted.atime.into(),
        last_modification: wanted.mtime.into(),
    };
    sys::set_times(fd, &times).map_err(on(Operation::SetTimes, fd))
}

/// Gives an open file to `owner`, as far as this user may, with at most these permissions.
pub fn give_to(fd: impl AsFd, owner: Owner, permissions: u32) -> Result<()> {
    let fd = fd.as_fd();
    let now = sys::fstat(fd).map_err(on(Operation::Stat, fd))?;
    let mode = now.st_mode & permissions;
    let given = set_owner_and_permissions(fd, owner.uid, owner.gid, mode);
    given.map_err(|(op, errno)| on(op, fd)(errno))
}

/// Sets what this user may set. If the group cannot be set, the file's group gets no more permissions than others.
pub(super) fn set_owner_and_permissions(
    fd: impl AsFd,
    uid: u32,
    gid: u32,
    mode: u32,
) -> Result<(), (Operation, Errno)> {
    let failed = |op| move |errno| (op, errno);
    let now = sys::fstat(&fd).map_err(failed(Operation::Stat))?;
    let has_group = (now.st_uid, now.st_gid) == (uid, gid)
        || set_owner(&fd, uid, gid).map_err(failed(Operation::Chown))?;
    let mode = match has_group {
        true => mode & PERMISSIONS,
        false => without_group(mode),
    };
    if now.st_mode & PERMISSIONS == mode {
        return Ok(());
    }
    let changed = sys::chmod(&fd, Mode::from_raw_mode(mode));
    permitted(changed).map_err(failed(Operation::Chmod))?;
    Ok(())
}

/// Permissions for a file that could not get its intended group: the group gets no more than others.
pub fn without_group(mode: u32) -> u32 {
    let others_too = mode & mode << 3 & GROUP_BITS;
    mode & PERMISSIONS & !GROUP_BITS | others_too
}

/// Whether the group could be set, with the owner or, where only root may do that, alone.
fn set_owner(fd: impl AsFd, uid: u32, gid: u32) -> Result<bool, Errno> {
    let (owner, group) = (Uid::from_raw(uid), Gid::from_raw(gid));
    if permitted(sys::chown(&fd, Some(owner), Some(group)))? {
        return Ok(true);
    }
    permitted(sys::chown(&fd, None, Some(group)))
}

/// `Ok(false)` where this user or this file system may not do it.
fn permitted(outcome: Result<(), Errno>) -> Result<bool, Errno> {
    match outcome {
        Ok(()) => Ok(true),
        Err(errno) if errno == Errno::PERM || UNSUPPORTED.contains(&errno) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Creates an empty file of this mode less the umask, and removes what has the name already: a leftover of a crash, or
/// something planted. Neither is opened, and no link is followed.
pub fn create(path: &Path, mode: u32) -> Result<OwnedFd> {
    for _ in 0..ATTEMPTS {
        match patiently(|| sys::create(path, Mode::from_raw_mode(mode))) {
            Err(Errno::EXIST) => remove(path)?,
            outcome => return outcome.map_err(at(Operation::Create, path)),
        };
    }
    Err(at(Operation::Create, path)(Errno::EXIST))
}

/// Renames `from` to `to`, which it replaces. Durable after [`sync_parent`].
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

/// The directory that `path` is in.
pub(super) fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Makes renames and removals of `path` durable.
pub fn sync_parent(path: &Path) -> Result<()> {
    super::sync_directory(parent(path))
}

/// The name of a file: its path, which others may redirect, or a name in a directory that is held open.
#[derive(Clone, Debug)]
pub struct FileName {
    path: PathBuf,
    /// Its directory, if that is held open; if not all directories on the way to it exist, the last that does.
    directory: Option<Arc<OwnedFd>>,
    /// The others.
    missing: Vec<OsString>,
}

impl From<PathBuf> for FileName {
    fn from(path: PathBuf) -> FileName {
        FileName {
            path,
            directory: None,
            missing: Vec::new(),
        }
    }
}

impl FileName {
    /// A name in a directory that is held open: the last part of `path`, which is for messages. The directories
    /// `missing`, one in the other, must be made first.
    pub(super) fn in_directory(
        directory: Arc<OwnedFd>,
        missing: Vec<OsString>,
        path: PathBuf,
    ) -> FileName {
        FileName {
            path,
            directory: Some(directory),
            missing,
        }
    }

    /// Makes the directories that the file needs and that are missing. If root makes one for somebody else, it belongs to
    /// `owner`.
    pub fn make_directories(
        &mut self,
        owner: Option<Owner>,
        made: &mut MadeDirectories,
    ) -> Result<()> {
        let Some(outer) = &self.directory else {
            return made.make_above(&self.path, owner);
        };
        let inner = made.make_in(outer.clone(), &self.missing, &self.path, owner)?;
        self.directory = Some(inner);
        self.missing.clear();
        Ok(())
    }

    /// The path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// As [`FileName::system_path`]; an error where directories are missing: somebody else may make others in their place.
    fn reach(&self, op: Operation) -> Result<PathBuf> {
        match self.missing.is_empty() {
            true => Ok(self.system_path()),
            false => Err(at(op, &self.path)(Errno::NOENT)),
        }
    }

    /// The path by which any thread of this process reaches the file. Its directory must exist.
    pub fn system_path(&self) -> PathBuf {
        match &self.directory {
            None => self.path.clone(),
            Some(directory) => Path::new("/proc/self/fd")
                .join(directory.as_raw_fd().to_string())
                .join(self.path.file_name().unwrap_or_default()),
        }
    }

    /// A file in the same directory.
    pub fn with_suffix(&self, suffix: &str) -> FileName {
        let mut name = OsString::from(&self.path);
        name.push(suffix);
        FileName {
            path: name.into(),
            directory: self.directory.clone(),
            missing: self.missing.clone(),
        }
    }

    pub fn attributes(&self) -> Result<Option<FileAttributes>> {
        let Ok(path) = self.reach(Operation::Stat) else {
            return Ok(None);
        };
        let stat = match self.directory {
            Some(_) => sys::lstat(&path),
            None => sys::stat(&path),
        };
        if_there(stat).map_err(at(Operation::Stat, &self.path))
    }

    pub fn inode_id(&self) -> Result<InodeId> {
        let path = self.reach(Operation::Stat)?;
        let stat = match self.directory {
            Some(_) => sys::lstat(&path),
            None => sys::stat(&path),
        };
        Ok(stat.map_err(at(Operation::Stat, &self.path))?.into())
    }

    pub fn open_read(&self) -> Result<OwnedFd> {
        let flags = match self.directory {
            Some(_) => OFlags::NOFOLLOW,
            None => OFlags::empty(),
        };
        self.naming(open_regular(
            &self.reach(Operation::Open)?,
            OFlags::RDONLY | flags,
        ))
    }

    /// See [`create`].
    pub fn create(&self, mode: u32) -> Result<OwnedFd> {
        self.naming(create(&self.reach(Operation::Create)?, mode))
    }

    /// As [`FileName::create`], with permissions that were meant for files of `group`: if the new file belongs to
    /// another group, that gets no more permissions than others.
    pub fn create_for_group(&self, permissions: u32, group: u32) -> Result<OwnedFd> {
        let narrow = without_group(permissions);
        if narrow == permissions || self.group_of_new_files() != Some(group) {
            return self.create(narrow);
        }
        let fd = self.create(permissions)?;
        let stat = sys::fstat(&fd).map_err(at(Operation::Stat, &self.path))?;
        if stat.st_gid != group {
            let mode = Mode::from_raw_mode(stat.st_mode & narrow);
            sys::chmod(&fd, mode).map_err(at(Operation::Chmod, &self.path))?;
        }
        Ok(fd)
    }

    /// Determined before the file exists: afterwards another process could have opened it.
    fn group_of_new_files(&self) -> Option<u32> {
        const SET_GROUP_ID: u32 = 0o2000;
        let directory = sys::stat(parent(&self.system_path())).ok()?;
        match directory.st_mode & SET_GROUP_ID {
            0 => Some(process_owner()?.gid),
            _ => Some(directory.st_gid),
        }
    }

    /// Opens for writing the file that was created here.
    pub fn open_again(&self, created: InodeId) -> Result<OwnedFd> {
        let way = self.reach(Operation::Open)?;
        let opened = self.naming(open_same(&way, created, true))?;
        opened.ok_or_else(|| Error::Exchanged(self.path.clone()))
    }

    /// Renames the file to `to`, which it replaces. Durable after [`FileName::sync_parent`].
    pub fn rename(&self, to: &FileName) -> Result<()> {
        let [from, onto] = [self, to].map(|place| place.reach(Operation::Rename));
        to.naming(rename(&from?, &onto?))
    }

    pub fn remove(&self) -> Result<bool> {
        match self.reach(Operation::Unlink) {
            Ok(way) => self.naming(remove(&way)),
            Err(_) => Ok(false),
        }
    }

    pub fn sync_parent(&self) -> Result<()> {
        self.naming(sync_parent(&self.reach(Operation::DirFsync)?))
    }

    /// Makes errors name the path instead of [`FileName::system_path`].
    fn naming<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|error| match error {
            Error::Path { op, source, .. } => at(op, &self.path)(source),
            Error::NotRegular(_) => Error::NotRegular(self.path.clone()),
            error => error,
        })
    }
}
