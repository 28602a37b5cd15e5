//! Directories that files need and that are not there, as on a node that takes the place of a lost one.
//!
//! A new directory gets the permissions of the directory around it less the umask ([`permissions_within`]). It is made
//! and opened relative to that directory, and no link is followed: nobody can redirect what is made next.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::{Errno, retry_on_intr};

use super::file::{UNSUPPORTED, patiently};
use super::names::{Owner, PERMISSIONS, parent, process_owner, without_group};
use super::{Operation, Result, at, sys};

const ROOT: u32 = 0;
const SET_GROUP_ID: u32 = 0o2000;
const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o022;

/// Directories that were made. Dropped, it removes those that are empty, unless they were kept.
#[derive(Default)]
pub struct MadeDirectories(Vec<MadeDirectory>);

/// Named by its path or, if the directory around it is held open, by its last part in that.
struct MadeDirectory {
    outer: Option<Arc<OwnedFd>>,
    path: PathBuf,
}

impl MadeDirectories {
    pub fn keep(&mut self) {
        self.0.clear();
    }

    /// Makes the directory of the file at `path` and those above it that are missing. If root makes one for somebody
    /// else, it belongs to `owner`.
    pub(super) fn make_above(&mut self, path: &Path, owner: Option<Owner>) -> Result<()> {
        let mut missing = Vec::new();
        let mut directory = parent(path);
        let mut outer = loop {
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            match patiently(|| sys::open(directory, flags, Mode::empty())) {
                Err(Errno::NOENT) if directory != parent(directory) => missing.push(directory),
                opened => break opened.map_err(at(Operation::MakeDirectory, directory))?,
            }
            directory = parent(directory);
        };
        for directory in missing.into_iter().rev() {
            // A path may contain `..`, which is there as soon as what stands before it is.
            let name = directory.components().next_back();
            let name = name.map_or(OsStr::new("."), |name| name.as_os_str());
            let (made, is_new) = make(&outer, name, directory, owner)?;
            self.0.extend(is_new.then(|| MadeDirectory {
                outer: None,
                path: directory.to_owned(),
            }));
            outer = made;
        }
        Ok(())
    }

    /// Makes the directories `names`, one in the other, in one that is held open; returns the last. Errors name the
    /// directories on the way to the file at `path`.
    pub(super) fn make_in(
        &mut self,
        outer: Arc<OwnedFd>,
        names: &[OsString],
        path: &Path,
        owner: Option<Owner>,
    ) -> Result<Arc<OwnedFd>> {
        let above: Vec<_> = path.ancestors().skip(1).take(names.len()).collect();
        let mut innermost = outer;
        for (name, directory) in names.iter().zip(above.into_iter().rev()) {
            let (made, is_new) = make(&innermost, name, directory, owner)?;
            self.0.extend(is_new.then(|| MadeDirectory {
                outer: Some(innermost.clone()),
                path: name.into(),
            }));
            innermost = Arc::new(made);
        }
        Ok(innermost)
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        for MadeDirectory { outer, path } in self.0.iter().rev() {
            let _ = match outer {
                Some(outer) => sys::remove_directory(outer, path),
                None => sys::remove_directory(CWD, path),
            };
        }
    }
}

/// Makes a directory, or finds that another process has made it, and opens it. `path` is for messages.
fn make(
    outer: &OwnedFd,
    name: &OsStr,
    path: &Path,
    owner: Option<Owner>,
) -> Result<(OwnedFd, bool)> {
    let made = || -> Result<_, Errno> {
        let around = sys::fstat(outer)?;
        let process = process_owner();
        let heir = owner.filter(|owner| {
            process.is_some_and(|process| process.uid == ROOT && process.uid != owner.uid)
        });
        let group = match (heir, around.st_mode & SET_GROUP_ID) {
            (Some(heir), _) => Some(heir.gid),
            (None, 0) => process.map(|process| process.gid),
            (None, _) => Some(around.st_gid),
        };
        let mode = Mode::from_raw_mode(permissions_within(&around, group));
        let is_new = match retry_on_intr(|| sys::make_directory(outer, name.as_ref(), mode)) {
            Err(Errno::EXIST) => false,
            ended => ended.map(|()| true)?,
        };
        let directory = patiently(|| sys::open_directory(outer, name.as_ref()))?;
        if is_new {
            heir.map_or(Ok(()), |heir| give(&directory, heir))?;
            sync(outer)?;
        }
        Ok((directory, is_new))
    };
    made().map_err(at(Operation::MakeDirectory, path))
}

/// As much as the directory around it allows. Where that is sticky, as /tmp is, others must not write: they could
/// remove files that are not theirs. A group for which its permissions were not meant gets no more than others.
fn permissions_within(around: &Stat, group: Option<u32>) -> u32 {
    let mut permissions = around.st_mode & PERMISSIONS | 0o700;
    if around.st_mode & STICKY != 0 {
        permissions &= !OTHERS_WRITE;
    }
    match group == Some(around.st_gid) {
        true => permissions,
        false => without_group(permissions),
    }
}

/// Gives a new directory to somebody. It must be ours and empty: a stranger may have put another in its place.
fn give(directory: &OwnedFd, owner: Owner) -> Result<(), Errno> {
    let opened = patiently(|| sys::open_listable(directory))?;
    let is_ours = sys::fstat(&opened)?.st_uid == ROOT;
    if !is_ours || !sys::is_empty(&opened)? {
        return Err(Errno::STALE);
    }
    let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
    match sys::chown(&opened, Some(uid), Some(gid)) {
        Err(errno) if errno == Errno::PERM || UNSUPPORTED.contains(&errno) => Ok(()),
        ended => ended,
    }
}

/// Makes what was made in a directory durable.
fn sync(directory: &OwnedFd) -> Result<(), Errno> {
    let opened = match patiently(|| sys::open_listable(directory)) {
        // One may create files in a directory that one may not read, but not sync it.
        Err(Errno::ACCESS) => return Ok(()),
        opened => opened?,
    };
    match retry_on_intr(|| sys::fsync_dir(&opened)) {
        Err(errno) if UNSUPPORTED.contains(&errno) => Ok(()),
        ended => ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::confined::ConfinedDirectory;
    use crate::storage::names::FileName;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn umask() -> u32 {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("any")).unwrap();
        0o777 & !mode(&dir.path().join("any"))
    }

    #[test]
    fn new_directories_allow_what_the_one_around_them_allows() {
        let umask = umask();
        for (around, expected) in [
            (0o700, 0o700),
            (0o750, 0o750),
            (0o775, 0o775),
            (0o1777, 0o755),
            (0o2770, 0o2770),
        ] {
            let dir = tempfile::tempdir().unwrap();
            set_mode(dir.path(), around);
            let mut made = MadeDirectories::default();
            made.make_above(&dir.path().join("a/b/file"), None).unwrap();
            made.keep();
            drop(made);
            for made in ["a", "a/b"] {
                assert_eq!(
                    mode(&dir.path().join(made)),
                    expected & !umask,
                    "{around:o}"
                );
            }
        }
    }

    #[test]
    fn another_group_gets_no_more_than_others() {
        let dir = tempfile::tempdir().unwrap();
        set_mode(dir.path(), 0o775);
        let around = sys::stat(dir.path()).unwrap();
        assert_eq!(permissions_within(&around, Some(around.st_gid)), 0o775);
        assert_eq!(permissions_within(&around, Some(around.st_gid + 1)), 0o755);
        assert_eq!(permissions_within(&around, None), 0o755);
    }

    #[test]
    fn what_is_not_kept_and_empty_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("there")).unwrap();
        let mut made = MadeDirectories::default();
        for file in ["there/file", "a/b/file", "a/c/../d/file"] {
            made.make_above(&dir.path().join(file), None).unwrap();
        }
        assert!(dir.path().join("a/d").is_dir());
        fs::write(dir.path().join("a/b/file"), "").unwrap();
        drop(made);
        let left = |path: &str| dir.path().join(path).exists();
        assert!(left("there") && left("a/b/file"));
        assert!(!left("a/c") && !left("a/d"));
    }

    #[test]
    fn what_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        symlink("nowhere", dir.path().join("link")).unwrap();
        for blocked in ["file", "link"] {
            let mut made = MadeDirectories::default();
            let path = dir.path().join(blocked);
            let error = made.make_above(&path.join("a/file"), None).unwrap_err();
            let told = format!("cannot make the directory {}", path.display());
            assert!(error.to_string().starts_with(&told), "{error}");
        }
    }

    #[test]
    fn below_a_directory_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (root, other) = (dir.path().join("root"), dir.path().join("other"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&other).unwrap();
        let mut below = ConfinedDirectory::open(&root).unwrap();
        let mut missing = || below.file_name(&root.join("a/b/file")).unwrap().unwrap();
        let (mut name, mut late): (FileName, FileName) = (missing(), missing());
        assert!(name.attributes().unwrap().is_none() && !name.remove().unwrap());
        assert!(name.open_read().is_err() && name.create(0o600).is_err());
        let mut made = MadeDirectories::default();
        name.make_directories(None, &mut made).unwrap();
        name.create(0o600).unwrap();
        assert!(root.join("a/b/file").exists());
        late.make_directories(None, &mut made).unwrap();
        assert!(late.attributes().unwrap().is_some());
        name.remove().unwrap();
        drop(made);
        assert!(!root.join("a").exists());

        let mut name = missing();
        symlink(&other, root.join("a")).unwrap();
        let mut made = MadeDirectories::default();
        assert!(name.make_directories(None, &mut made).is_err());
        assert!(name.create(0o600).is_err());
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    }

    /// Only root can.
    #[test]
    fn root_makes_directories_for_somebody_else() {
        let Some(Owner { uid: ROOT, .. }) = process_owner() else {
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let mut made = MadeDirectories::default();
        let (uid, gid) = (12345, 54321);
        let owner = Some(Owner { uid, gid });
        made.make_above(&dir.path().join("a/b/file"), owner)
            .unwrap();
        for path in ["a", "a/b"] {
            let found = fs::metadata(dir.path().join(path)).unwrap();
            assert_eq!((found.uid(), found.gid()), (uid, gid));
        }
    }
}
