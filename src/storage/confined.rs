//! Files below one directory, which no link and no `..` can leave.
//!
//! A name from a file that we do not trust must lie below the directory lexically, and every directory of its path is
//! opened relative to the one before it, without following links. The last one stays open, and the file is reached
//! through it ([`FileName`]).

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::file::patiently;
use super::names::FileName;
use super::{Operation, Result, at, sys};

/// A directory that is held open; names of files in it and in the directories below it cannot lead out of it.
pub struct ConfinedDirectory {
    /// The path of the directory as given, and with links resolved.
    names: [PathBuf; 2],
    /// Those that were opened, by their paths below the directory.
    directories: HashMap<PathBuf, Arc<OwnedFd>>,
}

impl ConfinedDirectory {
    pub fn open(directory: &Path) -> Result<ConfinedDirectory> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let open = || sys::open(directory, flags, Mode::empty());
        let root = patiently(open).map_err(at(Operation::Open, directory))?;
        let given = absolute(directory);
        let real = std::fs::canonicalize(directory).unwrap_or_else(|_| given.clone());
        Ok(ConfinedDirectory {
            names: [given, real],
            directories: HashMap::from([(PathBuf::new(), Arc::new(root))]),
        })
    }

    /// Whether `path` lies below the directory lexically. A relative path begins at the current directory.
    pub fn contains(&self, path: &Path) -> bool {
        self.relative(path).is_some()
    }

    fn relative(&self, path: &Path) -> Option<PathBuf> {
        let path = absolute(path);
        let is_plain = |part: Component| matches!(part, Component::Normal(_) | Component::RootDir);
        let mut names = self.names.iter();
        let rest = names.find_map(|name| path.strip_prefix(name).ok())?;
        let ends_in_name = path.file_name().is_some() && !rest.as_os_str().is_empty();
        (ends_in_name && rest.components().all(is_plain)).then(|| rest.to_owned())
    }

    /// The name of a file below the directory; `None` if `path` is not below it. The file's own directory may be missing.
    pub fn file_name(&mut self, path: &Path) -> Result<Option<FileName>> {
        let Some(relative) = self.relative(path) else {
            return Ok(None);
        };
        let mut missing = Vec::new();
        let mut inner = relative.parent().unwrap_or(Path::new(""));
        let directory = loop {
            match (self.directory(inner, path), inner.file_name()) {
                (Err(error), Some(name)) if error.errno() == Errno::NOENT => {
                    missing.insert(0, name.to_owned());
                    inner = inner.parent().unwrap_or(Path::new(""));
                }
                (opened, _) => break opened?,
            }
        };
        let name = FileName::in_directory(directory, missing, path.to_owned());
        Ok(Some(name))
    }

    /// Opens a directory and those above it. Errors name `path`.
    fn directory(&mut self, relative: &Path, path: &Path) -> Result<Arc<OwnedFd>> {
        if let Some(known) = self.directories.get(relative) {
            return Ok(known.clone());
        }
        let parent = relative.parent().unwrap_or(Path::new(""));
        let name = Path::new(relative.file_name().unwrap_or_default());
        let outer = self.directory(parent, path)?;
        let opened = patiently(|| sys::open_directory(&outer, name));
        let opened = Arc::new(opened.map_err(at(Operation::OpenDirectory, path))?);
        self.directories.insert(relative.to_owned(), opened.clone());
        Ok(opened)
    }
}

/// Lexically, without following links.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Error;
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_lies_below_has_a_place() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        let mut confined = ConfinedDirectory::open(&root).unwrap();
        for inside in ["file", "a/file", "a/b/file", "./a/./file"] {
            let file = confined.file_name(&root.join(inside)).unwrap().unwrap();
            fs::write(root.join(inside), inside).unwrap();
            assert_eq!(fs::read(file.system_path()).unwrap(), inside.as_bytes());
            assert_eq!(file.path(), root.join(inside));
        }
        for outside in [
            "..",
            "../file",
            "a/../../file",
            "a/../file",
            "",
            ".",
            "../root2/file",
        ] {
            assert!(
                confined.file_name(&root.join(outside)).unwrap().is_none(),
                "{outside}"
            );
        }
        for outside in ["/etc/passwd", "file", "/", ""] {
            assert!(!confined.contains(Path::new(outside)), "{outside}");
        }
    }

    #[test]
    fn links_on_the_way_are_refused_and_the_last_one_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (root, other) = (dir.path().join("root"), dir.path().join("other"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("file"), "secret").unwrap();
        symlink(&other, root.join("link")).unwrap();
        symlink(other.join("file"), root.join("file")).unwrap();
        let mut confined = ConfinedDirectory::open(&root).unwrap();
        let error = confined.file_name(&root.join("link/file")).unwrap_err();
        assert!(
            matches!(error.errno(), Errno::LOOP | Errno::NOTDIR),
            "{error}"
        );

        let file = confined.file_name(&root.join("file")).unwrap().unwrap();
        assert_eq!(file.open_read().unwrap_err().errno(), Errno::LOOP);
        assert!(!file.attributes().unwrap().unwrap().is_regular());
        file.create(0o600).unwrap();
        assert_eq!(fs::read(root.join("file")).unwrap(), b"");
        assert_eq!(fs::read(other.join("file")).unwrap(), b"secret");
    }

    #[test]
    fn a_directory_that_is_exchanged_leads_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let (root, other) = (dir.path().join("root"), dir.path().join("other"));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir_all(&other).unwrap();
        let mut confined = ConfinedDirectory::open(&root).unwrap();
        let file = confined.file_name(&root.join("a/file")).unwrap().unwrap();
        let part = file.with_suffix(".part");
        let created = super::super::names::inode_id(part.create(0o600).unwrap()).unwrap();
        fs::rename(root.join("a"), root.join("b")).unwrap();
        symlink(&other, root.join("a")).unwrap();
        drop(part.open_again(created).unwrap());
        part.rename(&file).unwrap();
        file.sync_parent().unwrap();
        assert!(root.join("b/file").exists());
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);

        fs::write(root.join("b/file.part"), "planted").unwrap();
        let error = part.open_again(created).unwrap_err();
        assert!(matches!(error, Error::Exchanged(_)), "{error}");
    }
}
