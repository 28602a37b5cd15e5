//! Replacing the content of a file at once: afterwards it is the new content or still the old one.
//!
//! The bytes go to a temporary file in the same directory, which is synced and renamed over the
//! target; then the directory is synced. A temporary that a crash leaves behind is harmless: it is
//! hidden, and no data file is named like it.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::{Errno, retry_on_intr};

use super::file::{UNSUPPORTED, open_read, patiently, read_full, size_left, sync_all, write_all};
use super::{Operation, Result, at, sys};
use crate::log;

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;
const MAX_NAMES: usize = 1000;
const PERMISSIONS: u32 = 0o777;
const ALL_MODE_BITS: u32 = 0o7777;

/// Makes `bytes` the content of the file `path`; on failure or death the old content stays.
///
/// A new file gets mode 0666 less the umask. An existing one keeps its mode, and its owner and group
/// where that is permitted; it must be writable, as for any other way of writing. Its hard links keep
/// the old content; access lists and striping are those of a new file. A symbolic link stays, its
/// target is replaced or created.
///
/// Without that guarantee, the content is written in place: to devices and pipes, and, with a
/// warning, to a writable file in a directory that does not permit a new one.
///
/// An error from the sync of the directory is reported although the new content is visible.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    Staged::write(path, bytes)?.commit()
}

/// New content that is written and synced, but not yet visible: ranks stage, agree, then commit.
///
/// Dropped without a commit, it leaves nothing behind. What can only be written in place is kept in
/// memory and written by the commit.
#[must_use = "staged content is discarded unless it is committed"]
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Temporary(Temporary),
    /// For a target that can only be written in place.
    Bytes(Vec<u8>),
}

impl Staged {
    /// Prepares `bytes` as the next content of `path`. See [`replace`] for what is kept.
    pub fn write(path: &Path, bytes: &[u8]) -> Result<Staged> {
        Draft::begin(path)?.filled(bytes)
    }

    /// As [`Staged::write`]; a file that is not there yet gets mode and owner of `model`, if that is there.
    pub fn write_like(path: &Path, bytes: &[u8], model: &Path) -> Result<Staged> {
        let mut target = Target::locate(path)?;
        if target.old.is_none() {
            target.model = existing(model)?.filter(is_regular);
        }
        Draft::of(target)?.filled(bytes)
    }

    /// Makes the content visible.
    pub fn commit(self) -> Result<()> {
        match self.content {
            Content::Bytes(bytes) => write_in_place(&self.target, &bytes),
            Content::Temporary(temporary) => temporary.rename_to(&self.target),
        }
    }
}

/// As [`Staged::write`] for content that comes piece by piece.
#[derive(Debug)]
pub struct Draft {
    target: PathBuf,
    content: Growing,
}

#[derive(Debug)]
enum Growing {
    Temporary(Temporary, OwnedFd),
    Bytes(Vec<u8>),
}

impl Draft {
    pub fn begin(path: &Path) -> Result<Draft> {
        Draft::of(Target::locate(path)?)
    }

    fn of(target: Target) -> Result<Draft> {
        let content = match target.replaceable {
            true => target.open_temporary()?,
            false => Growing::Bytes(Vec::new()),
        };
        let target = target.path;
        Ok(Draft { target, content })
    }

    fn filled(mut self, bytes: &[u8]) -> Result<Staged> {
        self.append(bytes)?;
        self.finish()
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.content {
            Growing::Temporary(_, fd) => {
                write_all(&*fd, bytes).map_err(at(Operation::Write, &self.target))?;
            }
            Growing::Bytes(kept) => kept.extend_from_slice(bytes),
        }
        Ok(())
    }

    pub fn finish(self) -> Result<Staged> {
        let content = match self.content {
            Growing::Temporary(temporary, fd) => {
                sync_all(&fd).map_err(at(Operation::Fsync, &self.target))?;
                Content::Temporary(temporary)
            }
            Growing::Bytes(bytes) => Content::Bytes(bytes),
        };
        let target = self.target;
        Ok(Staged { target, content })
    }
}

/// The file behind a path, its links followed.
struct Target {
    path: PathBuf,
    old: Option<Stat>,
    /// Whose mode and owner a new file gets.
    model: Option<Stat>,
    /// A regular file under this name, or none yet.
    replaceable: bool,
}

impl Target {
    fn locate(path: &Path) -> Result<Target> {
        // Absolute, since the caller may change directory before the commit.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let old = existing(&path)?;
        let name = follow_links(&path)?;
        match (&old, &name) {
            (Some(found), _) => check_existing(&path, found)?,
            (None, Some(name)) => check_name(name).map_err(at(Operation::Create, name))?,
            (None, None) => (),
        }
        let replaceable = old.as_ref().is_none_or(is_regular) && name.is_some();
        let path = name.filter(|_| replaceable).unwrap_or(path);
        Ok(Target {
            path,
            old,
            model: None,
            replaceable,
        })
    }

    fn attributes(&self) -> Option<&Stat> {
        self.old.as_ref().or(self.model.as_ref())
    }

    fn open_temporary(&self) -> Result<Growing> {
        let (temporary, fd) = match Temporary::create(self) {
            Err(errno) if self.old.is_some() && super::is_denied(errno) => {
                warn_in_place(&self.path, errno);
                return Ok(Growing::Bytes(Vec::new()));
            }
            outcome => outcome.map_err(at(Operation::Create, &self.path))?,
        };
        if let Some(old) = self.attributes() {
            keep_owner_and_mode(&fd, old, &self.path)?;
        }
        Ok(Growing::Temporary(temporary, fd))
    }
}

fn existing(path: &Path) -> Result<Option<Stat>> {
    match sys::stat(path) {
        Err(Errno::NOENT) => Ok(None),
        outcome => outcome.map(Some).map_err(at(Operation::Stat, path)),
    }
}

/// Where the links at the end of `path` lead, whether or not something is there; `None` if one of
/// them stands for an open descriptor (`/dev/stdout`): other users of that would miss a new file.
fn follow_links(path: &Path) -> Result<Option<PathBuf>> {
    let mut end = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match sys::readlink(&end) {
            Ok(_) if sys::is_in_proc(directory(&end)) == Ok(true) => return Ok(None),
            Ok(next) => end = directory(&end).join(next),
            Err(Errno::INVAL | Errno::NOENT) => return Ok(Some(end)),
            Err(errno) => return Err(at(Operation::ReadLink, &end)(errno)),
        }
    }
    Err(at(Operation::ReadLink, path)(Errno::LOOP))
}

fn check_existing(path: &Path, found: &Stat) -> Result<()> {
    if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
        return Err(at(Operation::Open, path)(Errno::ISDIR));
    }
    sys::may_write(path).map_err(at(Operation::Access, path))
}

/// Refuses at once the names that only a rename, after ranks have agreed, would find impossible.
fn check_name(path: &Path) -> Result<(), Errno> {
    match path.as_os_str().as_bytes() {
        [] => Err(Errno::NOENT),
        [.., b'/'] => Err(Errno::ISDIR),
        _ => Ok(()),
    }
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn warn_in_place(path: &Path, errno: Errno) {
    let path = path.display();
    log!(
        Warning,
        "writing {path} in place, a crash may damage it: cannot replace it: {errno}"
    );
}

fn keep_owner_and_mode(fd: impl AsFd, old: &Stat, path: &Path) -> Result<()> {
    let new = sys::fstat(&fd).map_err(at(Operation::Stat, path))?;
    let kept = (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid)
        || keep_owner(&fd, old).map_err(at(Operation::Chown, path))?;
    // Under another owner, set-id bits would mean something else.
    let bits = if kept { ALL_MODE_BITS } else { PERMISSIONS };
    let mode = old.st_mode & bits;
    if new.st_mode & ALL_MODE_BITS == mode && kept {
        return Ok(());
    }
    let changed = sys::chmod(&fd, Mode::from_raw_mode(mode));
    permitted(changed).map_err(at(Operation::Chmod, path))?;
    Ok(())
}

/// Whether both owner and group could be kept. The group alone is better than neither.
fn keep_owner(fd: impl AsFd, old: &Stat) -> Result<bool, Errno> {
    let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
    if permitted(sys::chown(&fd, Some(owner), Some(group)))? {
        return Ok(true);
    }
    permitted(sys::chown(&fd, None, Some(group)))?;
    Ok(false)
}

/// `Ok(false)` where this user or this file system may not do it.
fn permitted(outcome: Result<(), Errno>) -> Result<bool, Errno> {
    match outcome {
        Ok(()) => Ok(true),
        Err(errno) if errno == Errno::PERM || UNSUPPORTED.contains(&errno) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn write_in_place(path: &Path, bytes: &[u8]) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOCTTY;
    let open = || sys::open(path, flags, Mode::empty());
    let fd = patiently(open).map_err(at(Operation::Open, path))?;
    write_all(&fd, bytes).map_err(at(Operation::Write, path))?;
    sync_all(&fd).map_err(at(Operation::Fsync, path))
}

/// Makes a rename in the directory durable, as far as its file system knows how to.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let dir = match patiently(|| sys::open(path, flags, Mode::empty())) {
        // One may create files in a directory that one may not read, but not sync it.
        Err(Errno::ACCESS) => return Ok(()),
        outcome => outcome.map_err(at(Operation::Open, path))?,
    };
    match retry_on_intr(|| sys::fsync_dir(&dir)) {
        Err(errno) if UNSUPPORTED.contains(&errno) => Ok(()),
        outcome => outcome.map_err(at(Operation::DirFsync, path)),
    }
}

/// A file that is removed unless it is renamed.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    fn create(target: &Target) -> Result<(Temporary, OwnedFd), Errno> {
        let mode = target.attributes();
        let mode = mode.map_or(0o666, |old| old.st_mode & PERMISSIONS);
        let dir = directory(&target.path);
        for _ in 0..MAX_NAMES {
            let path = dir.join(unused_name());
            match patiently(|| sys::create(&path, Mode::from_raw_mode(mode))) {
                Err(Errno::EXIST) => continue,
                outcome => {
                    let renamed = false;
                    return outcome.map(|fd| (Temporary { path, renamed }, fd));
                }
            }
        }
        Err(Errno::EXIST)
    }

    fn rename_to(mut self, target: &Path) -> Result<()> {
        match retry_on_intr(|| sys::rename(&self.path, target)) {
            Ok(()) => self.renamed = true,
            Err(errno) if super::is_denied(errno) || errno == Errno::BUSY => {
                return self.copy_to(target, errno);
            }
            Err(errno) => return Err(at(Operation::Rename, target)(errno)),
        }
        sync_directory(directory(target))
    }

    /// For a target that may be written but not replaced: another user's in a sticky directory, or
    /// a mount point of its own in a container.
    fn copy_to(self, target: &Path, refusal: Errno) -> Result<()> {
        if existing(target)?.is_none() {
            return Err(at(Operation::Rename, target)(refusal));
        }
        warn_in_place(target, refusal);
        let fd = open_read(&self.path)?;
        let length = size_left(&fd)?.unwrap_or(0);
        let mut bytes = vec![0; length as usize];
        read_full(&fd, &mut bytes)?;
        write_in_place(target, &bytes)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Nobody is left to report to, and a leftover does no harm.
            let _ = sys::unlink(&self.path);
        }
    }
}

/// A process id is unique on one node only: the clock makes clashes rare, O_EXCL makes them safe.
fn unused_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = clock.map_or(0, |time| time.subsec_nanos());
    let pid = std::process::id();
    format!(".stanchion-{pid}-{count}-{nanos:x}.tmp")
}

#[cfg(test)]
mod tests;
