//! The hidden index of a large tree: key hash to element, and what clients may have changed behind it.
//!
//! The element list stays the truth, because clients may walk it, assign `elem->key` or relink
//! elements themselves. The index is therefore a set of (hash, element) pairs without any order, and a
//! [`Watch`] that remembers which elements clients have been given. Nothing here dereferences an
//! element; `raw.rs` does that and decides whether the index may still be believed.

use super::raw::RawElem;
use super::watch::Watch;
use hashbrown::{HashTable, hash_table};
use std::hash::{BuildHasher, Hasher};

/// Last characters whose keys, if all else is equal, get neighbouring places in the table.
const NEIGHBOURS: u8 = 16;
/// To the next place, and to another of the tags that are made of the upper bits.
const NEAR: u64 = 1 << 57 | 1;
/// To anywhere else.
const FAR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Same for every copy of the library in one process, since trees cross between them.
///
/// Consecutive numbers are neighbours: whoever goes through them in order waits for memory once for
/// several of them, not for each.
pub(super) fn hash(key: &[u8]) -> u64 {
    let (&last, rest) = key.split_last().unwrap_or((&0, &[]));
    let mut hasher = foldhash::fast::FixedState::with_seed(0).build_hasher();
    hasher.write(rest);
    let group = u64::from(last / NEIGHBOURS).wrapping_mul(FAR);
    let place = u64::from(last % NEIGHBOURS).wrapping_mul(NEAR);
    hasher.finish().wrapping_add(group).wrapping_add(place)
}

struct IndexEntry {
    hash: u64,
    elem: *mut RawElem,
}

#[derive(Default)]
pub(super) struct Index {
    pub(super) table: Table,
    pub(super) watch: Watch,
}

/// Which elements carry which key hash.
pub(super) struct Table {
    entries: HashTable<IndexEntry>,
    /// Whether several entries may have one hash; otherwise the first that is found is the only one.
    has_twins: bool,
    /// Head of the list as this library left it; another head means a client relinked.
    pub(super) first: *mut RawElem,
}

impl Default for Table {
    fn default() -> Self {
        Table {
            entries: HashTable::new(),
            has_twins: false,
            first: std::ptr::null_mut(),
        }
    }
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets everything and makes room.
    pub(super) fn restart(&mut self, room: usize) {
        self.entries.clear();
        self.has_twins = false;
        self.entries.reserve(room, |e| e.hash);
    }

    pub(super) fn insert(&mut self, hash: u64, elem: *mut RawElem) {
        let entry = IndexEntry { hash, elem };
        match self.entries.entry(hash, |e| e.hash == hash, |e| e.hash) {
            hash_table::Entry::Vacant(place) => {
                place.insert(entry);
            }
            hash_table::Entry::Occupied(_) => {
                self.has_twins = true;
                self.entries.insert_unique(hash, entry, |e| e.hash);
            }
        }
    }

    pub(super) fn contains(&self, hash: u64, elem: *mut RawElem) -> bool {
        let same = |e: &IndexEntry| e.hash == hash && e.elem == elem;
        self.entries.find(hash, same).is_some()
    }

    /// Forgets the pair; false when the element was not known under this hash.
    pub(super) fn remove(&mut self, hash: u64, elem: *mut RawElem) -> bool {
        let same = |e: &IndexEntry| e.hash == hash && e.elem == elem;
        match self.entries.find_entry(hash, same) {
            Ok(found) => {
                found.remove();
                true
            }
            Err(_) => false,
        }
    }

    /// An element with this hash, and whether there is another.
    pub(super) fn candidate(&self, hash: u64) -> Option<(*mut RawElem, bool)> {
        let mut seen = None;
        let mut enough = |elem| seen.replace(elem).is_some() || !self.has_twins;
        let found = self
            .entries
            .find(hash, |e| e.hash == hash && enough(e.elem));
        let another = self.has_twins && found.is_some();
        seen.map(|elem| (elem, another))
    }
}

#[cfg(test)]
mod tests;
