//! Atomic replacement of a file: afterwards it has the new content or still the old one.
//!
//! The bytes go to a temporary file in the same directory, which is synced and renamed over the
//! target; then the directory is synced. A temporary that a crash leaves behind is harmless: it is
//! hidden, and no data file is named like it.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::file::{UNSUPPORTED, is_regular, patiently, sync_all, write_all};
use super::names::set_owner_and_permissions;
use super::{Operation, Result, at, in_place, sys};
use crate::log;

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;
const MAX_NAMES: usize = 1000;
/// The mode of a temporary file until its owner and group are set.
const PRIVATE: u32 = 0o600;

/// Makes `bytes` the content of the file `path`; on failure or death the old content stays.
///
/// A new file gets mode 0666 less the umask. An existing one keeps its permissions (not its set-id bits), and
/// its owner and group where that is permitted; it must be writable, as for any other way of writing. Its hard links keep
/// the old content; access lists and striping are those of a new file. A symbolic link stays, its
/// target is replaced or created.
///
/// A file that may be written but not replaced is written in place, with a warning ([`in_place`]): while
/// that is under way, all of the new content lies in another file, and an error names it. Devices and pipes
/// are written to; a FIFO that nobody reads is an error.
///
/// An error from the sync of the directory is reported although the new content is visible.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    Staged::write(path, bytes)?.commit()
}

/// New content that is written and synced, but not yet visible: ranks stage, agree, then commit.
///
/// Dropped without a commit, it leaves nothing behind. What goes to a device or a pipe is kept in memory
/// and written by the commit.
#[must_use = "staged content is discarded unless it is committed"]
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Temporary(Temporary),
    /// For a device or a pipe.
    Bytes(Vec<u8>),
}

impl Staged {
    /// Prepares `bytes` as the next content of `path`. See [`replace`] for what is kept.
    pub fn write(path: &Path, bytes: &[u8]) -> Result<Staged> {
        Draft::begin(path)?.filled(bytes)
    }

    /// As [`Staged::write`]; a new file gets mode and owner of `model`, if that exists.
    pub fn write_like(path: &Path, bytes: &[u8], model: &Path) -> Result<Staged> {
        let mut target = ReplaceTarget::locate(path)?;
        if target.old.is_none() {
            target.model = existing(model)?.filter(is_regular);
        }
        Draft::of(target)?.filled(bytes)
    }

    /// Makes the content visible.
    pub fn commit(self) -> Result<()> {
        match self.content {
            Content::Bytes(bytes) => in_place::send(&self.target, &bytes),
            Content::Temporary(temporary) => temporary.rename_to(&self.target),
        }
    }
}

/// As [`Staged::write`] for content that comes piece by piece.
#[derive(Debug)]
pub struct Draft {
    target: PathBuf,
    content: DraftContent,
}

#[derive(Debug)]
enum DraftContent {
    Temporary(Temporary, OwnedFd),
    Bytes(Vec<u8>),
}

impl Draft {
    pub fn begin(path: &Path) -> Result<Draft> {
        Draft::of(ReplaceTarget::locate(path)?)
    }

    fn of(target: ReplaceTarget) -> Result<Draft> {
        let content = match &target.old {
            Some(old) if !is_regular(old) => DraftContent::Bytes(Vec::new()),
            _ => target.open_temporary()?,
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
            DraftContent::Temporary(_, fd) => {
                write_all(&*fd, bytes).map_err(at(Operation::Write, &self.target))?;
            }
            DraftContent::Bytes(kept) => kept.extend_from_slice(bytes),
        }
        Ok(())
    }

    pub fn finish(self) -> Result<Staged> {
        let content = match self.content {
            DraftContent::Temporary(temporary, fd) => {
                sync_all(&fd).map_err(at(Operation::Fsync, &self.target))?;
                Content::Temporary(temporary)
            }
            DraftContent::Bytes(bytes) => Content::Bytes(bytes),
        };
        let target = self.target;
        Ok(Staged { target, content })
    }
}

/// The file that a path names, after following links.
struct ReplaceTarget {
    path: PathBuf,
    old: Option<Stat>,
    /// Whose mode and owner a new file gets.
    model: Option<Stat>,
    /// False for a path that stands for an open descriptor (`/dev/stdout`).
    has_name: bool,
}

impl ReplaceTarget {
    fn locate(path: &Path) -> Result<ReplaceTarget> {
        // Absolute, since the caller may change directory before the commit.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let old = existing(&path)?;
        let name = follow_links(&path)?;
        match (&old, &name) {
            (Some(found), _) => check_existing(&path, found)?,
            (None, Some(name)) => check_name(name).map_err(at(Operation::Create, name))?,
            (None, None) => (),
        }
        let has_name = name.is_some();
        let path = name.unwrap_or(path);
        Ok(ReplaceTarget {
            path,
            old,
            model: None,
            has_name,
        })
    }

    fn attributes(&self) -> Option<&Stat> {
        self.old.as_ref().or(self.model.as_ref())
    }

    fn open_temporary(&self) -> Result<DraftContent> {
        let created = match self.has_name {
            true => self.create_beside(),
            false => Err(Errno::PERM),
        };
        let (temporary, fd) = match created {
            Err(errno) if self.old.is_some() && super::is_denied(errno) => {
                warn_in_place(&self.path, errno);
                create_elsewhere().map_err(at(Operation::Create, &self.path))?
            }
            outcome => outcome.map_err(at(Operation::Create, &self.path))?,
        };
        if let Some(old) = self.attributes().filter(|_| temporary.is_beside) {
            keep_owner_and_mode(&fd, old, &self.path)?;
        }
        Ok(DraftContent::Temporary(temporary, fd))
    }

    fn create_beside(&self) -> Result<(Temporary, OwnedFd), Errno> {
        // A new file has its mode from the beginning, so that the umask is heeded.
        let mode = self.attributes().map_or(0o666, |_| PRIVATE);
        Temporary::create(directory(&self.path), mode, true)
    }
}

fn existing(path: &Path) -> Result<Option<Stat>> {
    match sys::stat(path) {
        Err(Errno::NOENT) => Ok(None),
        outcome => outcome.map(Some).map_err(at(Operation::Stat, path)),
    }
}

/// Follows the links at the end of `path`, whether or not the last one dangles; `None` if one of
/// them stands for an open descriptor (`/dev/stdout`), whose other users would miss a new file.
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

/// Refuses names that no file can have now, instead of at the rename after ranks have agreed.
fn check_name(path: &Path) -> Result<(), Errno> {
    match path.as_os_str().as_bytes() {
        [] => Err(Errno::NOENT),
        [.., b'/'] => Err(Errno::ISDIR),
        _ => Ok(()),
    }
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
    let kept = set_owner_and_permissions(fd, old.st_uid, old.st_gid, old.st_mode);
    kept.map_err(|(op, errno)| at(op, path)(errno))
}

/// Makes renames in the directory durable, where its file system supports that.
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

/// A file that is removed unless it is renamed or kept.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    /// In the directory of the target, where it can be renamed.
    is_beside: bool,
    stays: bool,
}

impl Temporary {
    fn create(dir: &Path, mode: u32, is_beside: bool) -> Result<(Temporary, OwnedFd), Errno> {
        for _ in 0..MAX_NAMES {
            let path = dir.join(unused_name());
            match patiently(|| sys::create(&path, Mode::from_raw_mode(mode))) {
                Err(Errno::EXIST) => continue,
                outcome => {
                    let temporary = Temporary {
                        path,
                        is_beside,
                        stays: false,
                    };
                    return outcome.map(|fd| (temporary, fd));
                }
            }
        }
        Err(Errno::EXIST)
    }

    fn rename_to(mut self, target: &Path) -> Result<()> {
        if !self.is_beside {
            return self.copy_to(target);
        }
        match retry_on_intr(|| sys::rename(&self.path, target)) {
            Ok(()) => self.stays = true,
            // Another user's file in a sticky directory, or a mount point of its own in a container.
            Err(errno) if super::is_denied(errno) || errno == Errno::BUSY => {
                if existing(target)?.is_none() {
                    return Err(at(Operation::Rename, target)(errno));
                }
                warn_in_place(target, errno);
                return self.copy_to(target);
            }
            Err(errno) => return Err(at(Operation::Rename, target)(errno)),
        }
        sync_directory(directory(target))
    }

    fn copy_to(mut self, target: &Path) -> Result<()> {
        sync_directory(directory(&self.path))?;
        let copied = in_place::copy(&self.path, target);
        self.stays = matches!(copied, Err(super::Error::Unfinished { .. }));
        copied
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.stays {
            // Nobody is left to report to, and a leftover does no harm.
            let _ = sys::unlink(&self.path);
        }
    }
}

/// For a target in whose directory no file can be created.
fn create_elsewhere() -> Result<(Temporary, OwnedFd), Errno> {
    let mut refusal = Errno::NOENT;
    for dir in [std::env::temp_dir(), "/var/tmp".into()] {
        match Temporary::create(&dir, PRIVATE, false) {
            Ok(created) => return Ok(created),
            Err(errno) => refusal = errno,
        }
    }
    Err(refusal)
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
