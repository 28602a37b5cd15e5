//! Settings of the process: what `redset_config` sets and shows.

use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use super::{Error, Result};
use crate::kvtree::{Tree, TreeRef};
use crate::protect::Limits;

const DEBUG: &CStr = c"DEBUG";
const SET_SIZE: &CStr = c"SETSIZE";
const MPI_BUF_SIZE: &CStr = c"MPI_BUF_SIZE";
/// Our own keys; the others are upstream's. They are shown only once they were set, because clients may reject keys that
/// they do not know.
const CHECKSUM: &CStr = c"CHECKSUM";
const SALVAGE: &CStr = c"SALVAGE";
const DIRECT: &CStr = c"DIRECT";

/// Bytes of all blocks that a rank has under way.
const BUDGET: u64 = 24 << 20;
/// Steps that a rank reads ahead of what it waits for.
const AHEAD: usize = 2;

/// Shown as MPI_BUF_SIZE until the user sets it.
const USUAL_BUF_SIZE: i32 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    pub debug: i32,
    /// Least size of the sets that `redset_create` makes.
    pub set_size: i32,
    /// Largest message in bytes; `None` leaves it to the library.
    pub buf_size: Option<i32>,
    /// Whether new redundancy files carry checksums of the files and of themselves; on by default.
    pub checksum: Option<bool>,
    /// Whether to rebuild what can be rebuilt although more ranks have lost something than the scheme promises to survive;
    /// off by default.
    pub salvage: Option<bool>,
    /// Whether ranks of one node read and write each other's files; on by default.
    pub direct: Option<bool>,
}

static CURRENT: Mutex<Config> = Mutex::new(Config::usual());

impl Config {
    pub const fn usual() -> Config {
        Config {
            debug: 1,
            set_size: 8,
            buf_size: None,
            checksum: None,
            salvage: None,
            direct: None,
        }
    }

    /// MPI_BUF_SIZE as `redset_config` shows it.
    pub const fn shown_buf_size(&self) -> i32 {
        match self.buf_size {
            Some(bytes) => bytes,
            None => USUAL_BUF_SIZE,
        }
    }

    pub fn current() -> Config {
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set(self) {
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = self;
    }

    pub fn checksums(&self) -> bool {
        self.checksum.unwrap_or(true)
    }

    pub fn salvages(&self) -> bool {
        self.salvage.unwrap_or(false)
    }

    pub fn is_direct(&self) -> bool {
        self.direct.unwrap_or(true)
    }

    /// For `ranks` ranks in one process.
    pub(super) fn limits(&self, ranks: usize) -> Limits {
        let largest = self.buf_size.and_then(|bytes| u64::try_from(bytes).ok());
        Limits {
            block: largest.map(|bytes| bytes.clamp(1, BUDGET)),
            budget: Some(BUDGET / ranks as u64),
            ahead: AHEAD,
            near: self.is_direct(),
        }
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
                _ if key == CHECKSUM => self.checksum = Some(tree.value_int(key)? != 0),
                _ if key == SALVAGE => self.salvage = Some(tree.value_int(key)? != 0),
                _ if key == DIRECT => self.direct = Some(tree.value_int(key)? != 0),
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
        edit.set_int(MPI_BUF_SIZE, self.shown_buf_size());
        let ours = [
            (CHECKSUM, self.checksum),
            (SALVAGE, self.salvage),
            (DIRECT, self.direct),
        ];
        for (key, setting) in ours {
            if let Some(setting) = setting {
                edit.set_int(key, setting.into());
            }
        }
        tree
    }
}

fn buf_size(tree: TreeRef) -> Result<i32> {
    let bytes = tree.value_u64(MPI_BUF_SIZE)?;
    let size = i32::try_from(bytes).ok().filter(|&size| size > 0);
    size.ok_or(Error::BufSize(bytes))
}
