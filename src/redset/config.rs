//! Settings of the process: what `redset_config` sets and shows.

use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use super::{Error, Result};
use crate::kvtree::{Tree, TreeRef};

const DEBUG: &CStr = c"DEBUG";
const SET_SIZE: &CStr = c"SETSIZE";
const MPI_BUF_SIZE: &CStr = c"MPI_BUF_SIZE";
/// Ours; the other keys are upstream's.
const CHECKSUM: &CStr = c"CHECKSUM";

/// Shown as MPI_BUF_SIZE until the user sets it.
const USUAL_BUF_SIZE: i32 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    pub debug: i32,
    /// Least size of the sets that `redset_create` makes.
    pub set_size: i32,
    /// Largest message in bytes; without it the library chooses.
    pub buf_size: Option<i32>,
    /// Whether new redundancy files carry checksums of the files and of themselves.
    pub checksum: bool,
}

static CURRENT: Mutex<Config> = Mutex::new(Config {
    debug: 1,
    set_size: 8,
    buf_size: None,
    checksum: true,
});

impl Config {
    pub fn current() -> Config {
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set(self) {
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = self;
    }

    /// These settings, with those that `tree` names changed. Any key or value that is not known is an
    /// error.
    pub fn changed_by(mut self, tree: TreeRef) -> Result<Config> {
        for elem in tree.iter() {
            let key = elem.key().unwrap_or_default();
            match key {
                _ if key == DEBUG => self.debug = tree.value_int(key)?,
                _ if key == SET_SIZE => self.set_size = tree.value_int(key)?,
                _ if key == MPI_BUF_SIZE => self.buf_size = Some(buf_size(tree)?),
                _ if key == CHECKSUM => self.checksum = tree.value_int(key)? != 0,
                _ => return Err(Error::ConfigKey(key.to_string_lossy().into_owned())),
            }
        }
        Ok(self)
    }

    pub fn to_tree(self) -> Tree {
        let mut tree = Tree::new();
        let mut edit = tree.edit();
        edit.set_int(DEBUG, self.debug);
        edit.set_int(SET_SIZE, self.set_size);
        edit.set_int(MPI_BUF_SIZE, self.buf_size.unwrap_or(USUAL_BUF_SIZE));
        edit.set_int(CHECKSUM, self.checksum.into());
        tree
    }
}

fn buf_size(tree: TreeRef) -> Result<i32> {
    let bytes = tree.value_u64(MPI_BUF_SIZE)?;
    let size = i32::try_from(bytes).ok().filter(|&size| size > 0);
    size.ok_or(Error::BufSize(bytes))
}
