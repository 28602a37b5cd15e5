//! The disks of the ranks: a directory for each, in memory, and images of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

/// The files of a directory.
pub type Image = BTreeMap<String, Vec<u8>>;

pub struct Disks {
    dir: TempDir,
}

impl Disks {
    pub fn new(ranks: usize) -> Disks {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let disks = Disks {
            dir: dir.expect("a directory for temporary files"),
        };
        for rank in 0..ranks {
            fs::create_dir(disks.of(rank)).expect("a directory for each rank");
        }
        disks
    }

    pub fn of(&self, rank: usize) -> PathBuf {
        self.dir.path().join(rank.to_string())
    }

    pub fn image(&self, rank: usize) -> Image {
        let entries = fs::read_dir(self.of(rank)).expect("the directory of a rank");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths
            .map(|path| {
                let name = path.file_name().expect("a name").to_string_lossy();
                (name.into_owned(), fs::read(&path).expect("a readable file"))
            })
            .collect()
    }

    pub fn write(&self, rank: usize, name: &str, bytes: &[u8]) {
        fs::write(self.of(rank).join(name), bytes).expect("room for a file");
    }

    pub fn remove(&self, rank: usize, name: &str) {
        fs::remove_file(self.of(rank).join(name)).expect("the file is there");
    }

    /// Makes the disk what it was, as far as `which` names files; what was not there goes.
    pub fn put_back(&self, rank: usize, image: &Image, which: impl Fn(&str) -> bool) {
        for name in self.image(rank).keys().filter(|name| which(name)) {
            self.remove(rank, name);
        }
        for (name, bytes) in image.iter().filter(|(name, _)| which(name)) {
            self.write(rank, name, bytes);
        }
    }
}
