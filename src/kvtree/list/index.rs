//! The hidden index of a large tree: key hash to element, and what clients may have changed behind it.
//!
//! The element list stays the truth, because clients may walk it, assign `elem->key` or relink
//! elements themselves. The index is therefore a set of (hash, element) pairs without any order, and a
//! `Watch` that remembers which elements clients have been given. Nothing here dereferences an
//! element; `raw.rs` does that and decides whether the index may still be believed.

use super::raw::RawElem;
use hashbrown::{HashTable, hash_table};
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed};

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
        let entry = Entry { hash, elem };
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

/// Elements that stay under suspicion however often they were found unchanged: a client that asks
/// for an element, looks something up and then renames the element still holds these.
const RECENT: usize = 4;
const SMALLEST_RING: usize = 64;

/// What clients were given since the index was last found right. Reads only touch atomics, so that
/// several threads may read one tree as they could before.
///
/// The ring remembers a quarter of the elements one by one. When more were handed out the whole list
/// is checked, which costs no more than handing that many out did.
pub(super) struct Watch {
    stale: AtomicBool,
    retired: AtomicBool,
    handed: AtomicUsize,
    verified: AtomicUsize,
    ring: Box<[AtomicPtr<RawElem>]>,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            stale: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            handed: AtomicUsize::new(0),
            verified: AtomicUsize::new(0),
            ring: Box::default(),
        }
    }
}

impl Watch {
    pub(super) fn is_stale(&self) -> bool {
        self.stale.load(Relaxed)
    }

    pub(super) fn mark_stale(&self) {
        self.stale.store(true, Relaxed);
    }

    /// The tree of this index is being deleted.
    pub(super) fn retire(&self) {
        self.retired.store(true, Relaxed);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Relaxed)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.handed.load(Relaxed) == 0
    }

    /// Makes the ring fit a tree of `count` elements.
    pub(super) fn fit(&mut self, count: usize) {
        if self.ring.len() < SMALLEST_RING || self.ring.len() < count / 4 {
            let length = (count / 2).max(SMALLEST_RING).next_power_of_two();
            let mut ring = Vec::new();
            ring.resize_with(length, AtomicPtr::default);
            let kept = self.held();
            // What was not looked at yet is forgotten, so everything must be.
            let all = if self.pending() > 0 { 2 * length } else { 0 };
            self.ring = ring.into_boxed_slice();
            self.handed = AtomicUsize::new(0);
            self.verified = AtomicUsize::new(0);
            kept.into_iter().for_each(|elem| self.hand_out(elem));
            self.settle();
            *self.handed.get_mut() += all;
        }
    }

    pub(super) fn hand_out(&self, elem: *mut RawElem) {
        if self.ring.is_empty() {
            return; // an index that serves no tree
        }
        let slot = self.handed.fetch_add(1, Relaxed) & (self.ring.len() - 1);
        self.ring[slot].store(elem, Relaxed);
    }

    /// The element is about to leave the tree; it must not be looked at again. Nothing is pending.
    pub(super) fn forget(&self, elem: *mut RawElem) {
        for back in 1..=RECENT.min(self.ring.len()) {
            let slot = self.slot(back);
            if slot.load(Relaxed) == elem {
                slot.store(std::ptr::null_mut(), Relaxed);
            }
        }
    }

    fn slot(&self, back: usize) -> &AtomicPtr<RawElem> {
        let at = self.handed.load(Relaxed).wrapping_sub(back);
        &self.ring[at & (self.ring.len() - 1)]
    }

    /// How many elements were handed out since the index was last found right.
    fn pending(&self) -> usize {
        // Other readers may settle in between.
        let verified = self.verified.load(Relaxed);
        self.handed.load(Relaxed).saturating_sub(verified)
    }

    fn latest(&self, count: usize) -> impl Iterator<Item = *mut RawElem> {
        let count = count.min(self.handed.load(Relaxed)).min(self.ring.len());
        let elems = (1..=count).map(|back| self.slot(back).load(Relaxed));
        elems.filter(|elem| !elem.is_null())
    }

    /// The elements that a client may have changed, or `None` if they are too many to name.
    pub(super) fn suspects(&self) -> Option<impl Iterator<Item = *mut RawElem>> {
        let pending = self.pending();
        let known = pending <= self.ring.len();
        known.then(|| self.latest(pending.max(RECENT)))
    }

    /// All suspects were found unchanged.
    pub(super) fn settle(&self) {
        self.verified.store(self.handed.load(Relaxed), Relaxed);
    }

    /// The elements that stay under suspicion, oldest first.
    pub(super) fn held(&self) -> Vec<*mut RawElem> {
        let mut held: Vec<_> = self.latest(RECENT).collect();
        held.reverse();
        held
    }

    /// The index was built anew for `count` elements. Clients still hold some of them.
    pub(super) fn renew(&mut self, count: usize, held: &[*mut RawElem]) {
        *self = Watch {
            ring: std::mem::take(&mut self.ring),
            ..Watch::default()
        };
        self.fit(count);
        held.iter().for_each(|&elem| self.hand_out(elem));
        self.settle();
    }
}

#[cfg(test)]
mod tests;
