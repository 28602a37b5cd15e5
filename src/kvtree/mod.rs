//! Nested key/value trees: the metadata of everything else.
//!
//! `list` holds the one tree type (C-laid-out, malloc-owned) and its index; `value` turns numbers into
//! keys and back; `pack` is the byte form of a tree, `file` puts it on disk with header and checksum;
//! `print` shows it; `exchange` sends trees between ranks; `gather` spreads the trees of all ranks over
//! a few files and reads them back. Everything above `list` is safe code over [`Tree`], [`TreeRef`] and
//! [`TreeMut`].

pub mod exchange;
pub mod file;
pub mod gather;
mod list;
mod merge;
#[cfg(test)]
mod model;
pub mod pack;
pub mod print;
pub mod value;

pub use list::{Cursor, ElemRef, Filler, RawElem, RawTree, Tree, TreeMut, TreeRef};

use crate::comm::{self, FromPeer, PeerFailure, agree};
use crate::storage;
use smallvec::SmallVec;
use std::ffi::CStr;
use std::fmt;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} must not be NULL")]
    Null(&'static str),
    #[error("file descriptor {0} is not open")]
    BadDescriptor(i32),
    #[error("key {0:?} is not set")]
    NotSet(Key),
    #[error("key {key:?} must have exactly one value, it has {count}")]
    NotSingle { key: String, count: usize },
    #[error("{text:?} below key {key:?} is not {wanted}")]
    NotA {
        key: String,
        text: String,
        wanted: &'static str,
    },
    #[error("{token:?} is not a key format that setf and getf know")]
    KeyFormat { token: String },
    #[error("an element without a key cannot be copied")]
    NullKey,
    #[error(transparent)]
    Format(#[from] pack::FormatError),
    #[error("{path}: {source}", path = path.display())]
    BadFile {
        path: PathBuf,
        source: pack::FormatError,
    },
    #[error("{path}: {cause}", path = path.display())]
    InFile { path: PathBuf, cause: Box<Error> },
    #[error("{path} is replaced again and again while we wait for its lock", path = .0.display())]
    Busy(PathBuf),
    #[error("no memory for {0} bytes")]
    NoMemory(usize),
    #[error("{path} holds data of {found} ranks, not of {expected}", path = path.display())]
    RankCount {
        path: PathBuf,
        found: u64,
        expected: u64,
    },
    #[error("{path}: level {level} cannot stand here in the maps", path = path.display())]
    MapLevel { path: PathBuf, level: u64 },
    #[error("{path} names {file:?}, which is named already", path = path.display())]
    NamedTwice { path: PathBuf, file: String },
    #[error("{path} is of another set: it has generation {found}, the map above it {expected}", path = path.display())]
    Stale {
        path: PathBuf,
        found: String,
        expected: String,
    },
    #[error("two files beside {path} have data of this rank", path = .0.display())]
    SentTwice(PathBuf),
    #[error("malformed message from a rank")]
    Malformed,
    #[error("no names are left for new files beside {path}", path = .0.display())]
    NoName(PathBuf),
    #[error("a message is addressed to {key:?}, which is not a rank in 0..{size}")]
    Destination { key: String, size: usize },
    #[error("ranks name different roots")]
    Roots,
    #[error(transparent)]
    Storage(#[from] storage::Error),
    #[error(transparent)]
    Comm(#[from] comm::Error),
    /// Another rank of the collective failed.
    #[error(transparent)]
    Peer(#[from] PeerFailure),
}

/// A key in an error. Its text is made when the error is shown.
#[derive(PartialEq, Eq)]
pub struct Key(SmallVec<[u8; 32]>);

impl From<&CStr> for Key {
    #[inline]
    fn from(key: &CStr) -> Key {
        Key(SmallVec::from_slice(key.to_bytes()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

pub type Result<T> = std::result::Result<T, Error>;

impl FromPeer for Error {
    fn as_peer(&self) -> Option<&PeerFailure> {
        match self {
            Error::Peer(failure) => Some(failure),
            _ => None,
        }
    }
}
