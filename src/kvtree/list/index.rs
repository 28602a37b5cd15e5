//! The hidden index of a large tree: key hash to element, and what clients may have changed behind it.
//!
//! The element list stays the truth, because clients may walk it, assign `elem->key` or relink
//! elements themselves. The index is therefore a set of (hash, element) pairs without any order, and a
//! `Watch` that remembers which elements clients have been given. Nothing here dereferences an
//! element; `raw.rs` does that and decides whether the index may still be believed.

use super::raw::RawElem;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};

/// Same for every copy of the library in one process, since trees cross between them.
pub(super) fn hash(key: &[u8]) -> u64 {
    foldhash::fast::FixedState::with_seed(0).hash_one(key)
}

struct Entry {
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
    entries: HashTable<Entry>,
    /// Head of the list as this library left it; another head means a client relinked.
    pub(super) first: *mut RawElem,
}

impl Default for Table {
    fn default() -> Self {
        Table {
            entries: HashTable::new(),
            first: std::ptr::null_mut(),
        }
    }
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.entries.reserve(additional, |e| e.hash);
    }

    pub(super) fn insert(&mut self, hash: u64, elem: *mut RawElem) {
        self.entries
            .insert_unique(hash, Entry { hash, elem }, |e| e.hash);
    }

    pub(super) fn contains(&self, hash: u64, elem: *mut RawElem) -> bool {
        let same = |e: &Entry| e.hash == hash && e.elem == elem;
        self.entries.find(hash, same).is_some()
    }

    /// Forgets the pair; false when the element was not known under this hash.
    pub(super) fn remove(&mut self, hash: u64, elem: *mut RawElem) -> bool {
        let same = |e: &Entry| e.hash == hash && e.elem == elem;
        match self.entries.find_entry(hash, same) {
            Ok(found) => {
                found.remove();
                true
            }
            Err(_) => false,
        }
    }

    pub(super) fn candidates(&self, hash: u64) -> impl Iterator<Item = *mut RawElem> {
        self.entries
            .iter_hash(hash)
            .filter(move |e| e.hash == hash)
            .map(|e| e.elem)
    }
}

/// Elements remembered one by one; beyond that the whole list is checked.
const RING: usize = 64;
/// Elements that stay under suspicion however often they were found unchanged: a client that asks
/// for an element, looks something up and then renames the element still holds these.
const RECENT: u64 = 4;

/// What clients were given since the index was last found right. Reads only touch atomics, so that
/// several threads may read one tree as they could before.
pub(super) struct Watch {
    stale: AtomicBool,
    retired: AtomicBool,
    handed: AtomicU64,
    verified: AtomicU64,
    ring: [AtomicPtr<RawElem>; RING],
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            stale: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            handed: AtomicU64::new(0),
            verified: AtomicU64::new(0),
            ring: [const { AtomicPtr::new(std::ptr::null_mut()) }; RING],
        }
    }
}

pub(super) enum Suspects {
    /// Only these may have changed.
    Some(Vec<*mut RawElem>),
    /// More were handed out than are remembered.
    All,
}

impl Watch {
    pub(super) fn is_stale(&self) -> bool {
        self.stale.load(Relaxed)
    }

    pub(super) fn mark_stale(&self) {
        self.stale.store(true, Relaxed);
    }

    pub(super) fn mark_fresh(&self) {
        self.stale.store(false, Relaxed);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Relaxed)
    }

    /// The tree of this index is being deleted.
    pub(super) fn retire(&self) {
        self.retired.store(true, Relaxed);
    }

    pub(super) fn hand_out(&self, elem: *mut RawElem) {
        let n = self.handed.fetch_add(1, Relaxed);
        self.ring[n as usize % RING].store(elem, Relaxed);
    }

    /// The element is about to leave the tree; it must not be looked at again.
    pub(super) fn forget(&self, elem: *mut RawElem) {
        if self.handed.load(Relaxed) == 0 {
            return;
        }
        for slot in &self.ring {
            if slot.load(Relaxed) == elem {
                slot.store(std::ptr::null_mut(), Relaxed);
            }
        }
    }

    pub(super) fn suspects(&self) -> Suspects {
        let handed = self.handed.load(Relaxed);
        let pending = handed - self.verified.load(Relaxed).min(handed);
        if pending > RING as u64 {
            return Suspects::All;
        }
        let last = handed.min(pending.max(RECENT));
        let of = |back: u64| self.ring[(handed - back) as usize % RING].load(Relaxed);
        Suspects::Some((1..=last).map(of).filter(|e| !e.is_null()).collect())
    }

    /// The elements that stay under suspicion, oldest first.
    pub(super) fn recent(&self) -> Vec<*mut RawElem> {
        let handed = self.handed.load(Relaxed);
        let of = |back: u64| self.ring[(handed - back) as usize % RING].load(Relaxed);
        let recent = (1..=handed.min(RECENT)).rev().map(of);
        recent.filter(|e| !e.is_null()).collect()
    }

    /// All suspects were found unchanged.
    pub(super) fn settle(&self) {
        self.verified.store(self.handed.load(Relaxed), Relaxed);
    }
}
