//! Tracks the elements that clients have been given, and so may have changed, since the index was last verified.
//!
//! Several threads may read one tree; whoever changes it, or an element of it, is alone with it. So a watch has two
//! kinds of functions. Those that take `&self` serve readers: they note what is handed out and check what was, in a short
//! critical section. Those that take `&mut self`, and [`Watch::forget`], belong to changes. Between two changes no element
//! leaves the tree, and a change that takes one out wipes it from the ring: **what stands in the ring can be
//! looked at**, at any time and by any reader, whatever another one is just writing there.

use super::raw::RawElem;
#[cfg(loom)]
use loom::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize},
    thread::yield_now,
};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
#[cfg(not(loom))]
use std::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize},
    thread::yield_now,
};

/// Elements that stay under suspicion however often they were found unchanged: a client that asks
/// for an element, looks something up and then renames the element still holds these.
#[cfg(not(loom))]
const RECENT: usize = 4;
#[cfg(not(loom))]
const SMALLEST_RING: usize = 64;
/// Loom tries every order of the steps of threads; so there must be few of them.
#[cfg(loom)]
const RECENT: usize = 1;
#[cfg(loom)]
const SMALLEST_RING: usize = 4;

/// The ring remembers a quarter of the elements one by one. When more were handed out the whole list
/// is checked, which costs no more than handing that many out did.
pub(super) struct Watch {
    stale: AtomicBool,
    retired: AtomicBool,
    /// Held by the reader that hands out or settles. For a few instructions only, or for one check of the list, which
    /// the others would have to make as well: so they spin.
    busy: AtomicBool,
    /// How many elements were handed out; the next one goes to this place of the ring.
    handed: AtomicUsize,
    /// How many of them have been checked since.
    verified: AtomicUsize,
    /// How many of them a removal need not look for.
    wiped: AtomicUsize,
    ring: Box<[AtomicPtr<RawElem>]>,
}

impl Default for Watch {
    fn default() -> Self {
        Watch::with_ring(Box::new([]))
    }
}

/// The critical section of a reader.
struct ReaderTurn<'a>(&'a AtomicBool);

impl Drop for ReaderTurn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

impl Watch {
    fn with_ring(ring: Box<[AtomicPtr<RawElem>]>) -> Watch {
        Watch {
            stale: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            handed: AtomicUsize::new(0),
            verified: AtomicUsize::new(0),
            wiped: AtomicUsize::new(0),
            ring,
        }
    }

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

    /// False if it was free and is now ours.
    #[inline]
    fn is_taken(&self) -> bool {
        let taken = self.busy.compare_exchange(false, true, Acquire, Relaxed);
        taken.is_err()
    }

    #[inline]
    fn take_turn(&self) -> ReaderTurn<'_> {
        while self.is_taken() {
            // Its holder may wait for this core.
            yield_now();
        }
        ReaderTurn(&self.busy)
    }

    /// Takes note that clients get `elem`, and returns it.
    #[inline]
    pub(super) fn hand_out(&self, elem: *mut RawElem) -> *mut RawElem {
        let ring = &*self.ring;
        if ring.is_empty() {
            return elem; // an index that serves no tree
        }
        if self.is_taken() {
            return self.hand_out_in_turn(elem);
        }
        self.note(ring, elem, ReaderTurn(&self.busy))
    }

    /// Apart, so that a walk that nobody disturbs saves no registers for it.
    #[cold]
    #[inline(never)]
    fn hand_out_in_turn(&self, elem: *mut RawElem) -> *mut RawElem {
        yield_now();
        self.note(&self.ring, elem, self.take_turn())
    }

    #[inline]
    fn note(
        &self,
        ring: &[AtomicPtr<RawElem>],
        elem: *mut RawElem,
        _turn: ReaderTurn,
    ) -> *mut RawElem {
        let handed = self.handed.load(Relaxed);
        ring[handed & (ring.len() - 1)].store(elem, Relaxed);
        self.handed.store(handed.wrapping_add(1), Release);
        elem
    }

    /// Whether clients have left unchanged what they were given. `is_unchanged` asks for one element, `are_all` for the
    /// list, where more were given than the ring remembers.
    pub(super) fn check(
        &self,
        is_unchanged: impl FnMut(*mut RawElem) -> bool,
        are_all: impl FnOnce() -> bool,
    ) -> bool {
        if self.is_quiet() {
            return true;
        }
        if self.pending() == 0 {
            return self.latest(RECENT).all(is_unchanged);
        }
        let _turn = self.take_turn();
        let pending = self.pending();
        let right = match pending <= self.ring.len() {
            true => self.latest(pending.max(RECENT)).all(is_unchanged),
            false => are_all(),
        };
        if right {
            self.settle();
        }
        right
    }

    /// How many elements were handed out since they were last checked.
    fn pending(&self) -> usize {
        let verified = self.verified.load(Acquire);
        self.handed.load(Acquire).wrapping_sub(verified)
    }

    fn settle(&self) {
        self.verified.store(self.handed.load(Relaxed), Release);
    }

    fn slot(&self, back: usize) -> &AtomicPtr<RawElem> {
        let at = self.handed.load(Relaxed).wrapping_sub(back);
        &self.ring[at & (self.ring.len() - 1)]
    }

    fn latest(&self, count: usize) -> impl Iterator<Item = *mut RawElem> {
        let count = count.min(self.handed.load(Relaxed)).min(self.ring.len());
        let elems = (1..=count).map(|back| self.slot(back).load(Relaxed));
        elems.filter(|elem| !elem.is_null())
    }

    /// The elements that stay under suspicion, oldest first.
    pub(super) fn held(&self) -> Vec<*mut RawElem> {
        let mut held: Vec<_> = self.latest(RECENT).collect();
        held.reverse();
        held
    }

    /// The element is about to leave the tree: no reader may find it here any more. Nothing is pending, so only the
    /// latest stay.
    pub(super) fn forget(&self, elem: *mut RawElem) {
        let handed = self.handed.load(Relaxed);
        let unwiped = handed.wrapping_sub(self.wiped.load(Relaxed));
        for back in 1..=unwiped.min(self.ring.len()) {
            let slot = self.slot(back);
            if back > RECENT || slot.load(Relaxed) == elem {
                slot.store(null_mut(), Relaxed);
            }
        }
        let wiped = handed.wrapping_sub(unwiped.min(RECENT));
        self.wiped.store(wiped, Relaxed);
    }

    /// Makes the ring fit a tree of `count` elements.
    pub(super) fn fit(&mut self, count: usize) {
        if self.ring.len() < SMALLEST_RING || self.ring.len() < count / 4 {
            let length = (count / 2).max(SMALLEST_RING).next_power_of_two();
            let mut ring = Vec::new();
            ring.resize_with(length, AtomicPtr::default);
            let kept = self.held();
            let unchecked = self.pending() > 0;
            let stale = self.is_stale();
            *self = Watch::with_ring(ring.into_boxed_slice());
            self.stale = AtomicBool::new(stale);
            self.begin(&kept);
            if unchecked {
                // What was not looked at yet is forgotten, so everything must be.
                let handed = self.handed.load(Relaxed);
                self.handed.store(handed + 2 * length, Relaxed);
            }
        }
    }

    /// The index was built anew for `count` elements. Clients still hold some of them.
    pub(super) fn renew(&mut self, count: usize, held: &[*mut RawElem]) {
        let ring = std::mem::take(&mut self.ring);
        ring.iter().for_each(|slot| slot.store(null_mut(), Relaxed));
        *self = Watch::with_ring(ring);
        self.fit(count);
        self.begin(held);
    }

    fn begin(&self, held: &[*mut RawElem]) {
        for &elem in held {
            self.hand_out(elem);
        }
        self.settle();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod interleavings;
