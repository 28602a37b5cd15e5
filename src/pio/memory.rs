//! Memory for data: that it runs out is an error like any other.
//!
//! What a transfer needs is borrowed from the [`Spare`] buffers of the I/O system, where the next transfer finds it
//! again: fresh memory costs as much as a transfer, because the system clears it page by page.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{Error, Result};
use crate::pages;

/// Buffers that wait for the next transfer: so many, and so many bytes.
const SPARE: usize = 8;
const SPARE_BYTES: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// How many times as long as asked for a buffer may be: to take one that lies idle costs nothing, to touch a page for the
/// first time does.
const LARGER: usize = 4;

/// Buffers that nobody needs at the moment, the one given back last at the end.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Vec<Vec<u8>>>);

/// A buffer that goes back where it came from, of which so many bytes are lent.
#[derive(Debug, Default)]
pub struct Loan {
    bytes: Vec<u8>,
    length: usize,
    home: Weak<Spare>,
}

impl Spare {
    /// Nothing that can fail half-way runs under this lock, so what a panic left behind is whole.
    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many bytes, whatever was in them before.
    pub(super) fn borrow(self: &Arc<Self>, length: u64) -> Result<Loan> {
        #[cfg(test)]
        fuse::burn(length as usize)?;
        let found = usize::try_from(length).ok().and_then(|l| self.find(l));
        Ok(Loan {
            bytes: match found {
                Some(bytes) => bytes,
                None => fresh(length)?,
            },
            length: length as usize,
            home: Arc::downgrade(self),
        })
    }

    /// The smallest that is large enough, but not much too large.
    fn find(&self, length: usize) -> Option<Vec<u8>> {
        let mut spare = self.lock();
        let most = length.saturating_mul(LARGER);
        let fits = |bytes: &Vec<u8>| (length..=most).contains(&bytes.len());
        let fitting = spare.iter().enumerate().rev().filter(|one| fits(one.1));
        let (found, _) = fitting.min_by_key(|(_, bytes)| bytes.len())?;
        Some(spare.remove(found))
    }

    pub(super) fn give_back(&self, bytes: Vec<u8>) {
        let mut spare = self.lock();
        spare.push(bytes);
        let total = |spare: &[Vec<u8>]| spare.iter().map(Vec::capacity).sum::<usize>();
        while spare.len() > SPARE || total(&spare) > SPARE_BYTES {
            spare.remove(0);
        }
    }
}

impl Loan {
    /// To be given back by hand, or not at all.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade().filter(|_| !self.bytes.is_empty()) {
            home.give_back(std::mem::take(&mut self.bytes));
        }
    }
}

impl Deref for Loan {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

fn fresh(length: u64) -> Result<Vec<u8>> {
    let zeros = usize::try_from(length).ok().and_then(pages::zeroed);
    zeros.ok_or(Error::Memory(length))
}

/// So many zeros.
pub(super) fn zeros(length: u64) -> Result<Vec<u8>> {
    #[cfg(test)]
    fuse::burn(length as usize)?;
    fresh(length)
}

/// An empty list with room for so many items.
pub(super) fn list<T>(items: usize) -> Result<Vec<T>> {
    let bytes = items.saturating_mul(size_of::<T>());
    #[cfg(test)]
    fuse::burn(bytes)?;
    let mut list = Vec::new();
    let room = list.try_reserve_exact(items);
    room.map_err(|_| Error::Memory(bytes as u64))?;
    Ok(list)
}

/// Makes room for so many more items, as pushing them one by one would.
pub(super) fn grow<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    let items = list.len().saturating_add(more);
    let bytes = items.saturating_mul(size_of::<T>()) as u64;
    #[cfg(test)]
    fuse::burn(bytes as usize)?;
    list.try_reserve(more).map_err(|_| Error::Memory(bytes))
}

/// A copy of a list.
pub(super) fn copy<T: Copy>(items: &[T]) -> Result<Vec<T>> {
    let mut copied = list(items.len())?;
    copied.extend_from_slice(items);
    Ok(copied)
}

/// Lets memory run out in tests.
#[cfg(test)]
pub(super) mod fuse {
    use std::cell::Cell;

    use super::{Error, Result};

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// After so many times this thread gets nothing, once.
    pub(crate) fn light(left: Option<u32>) {
        LEFT.set(left);
    }

    pub(crate) fn is_lit() -> bool {
        LEFT.get().is_some()
    }

    pub(super) fn burn(length: usize) -> Result<()> {
        match LEFT.get() {
            Some(0) => {
                LEFT.set(None);
                Err(Error::Memory(length as u64))
            }
            left => {
                LEFT.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_lent_again() {
        let spare = Arc::new(Spare::default());
        let mut first = spare.borrow(100).unwrap();
        first.fill(7);
        let place = first.as_ptr();
        drop(first);
        let second = spare.borrow(80).unwrap();
        assert_eq!((second.as_ptr(), second.len()), (place, 80));
        let third = spare.borrow(80).unwrap();
        assert_ne!(third.as_ptr(), place);
    }

    #[test]
    fn what_lent_a_part_of_itself_lends_all_of_itself_again() {
        let spare = Arc::new(Spare::default());
        let large = spare.borrow(100).unwrap();
        let place = large.as_ptr();
        drop(large);
        drop(spare.borrow(60).unwrap());
        assert_eq!(spare.borrow(100).unwrap().as_ptr(), place);
    }

    #[test]
    fn a_small_buffer_does_not_take_a_large_one() {
        let spare = Arc::new(Spare::default());
        let loans = [60, 100].map(|length| spare.borrow(length).unwrap());
        let places = loans.each_ref().map(|loan| loan.as_ptr());
        drop(loans);
        let again = [60, 100].map(|length| spare.borrow(length).unwrap());
        assert_eq!(again.each_ref().map(|loan| loan.as_ptr()), places);
    }

    #[test]
    fn what_lies_idle_may_be_larger_than_asked_for() {
        let spare = Arc::new(Spare::default());
        let large = spare.borrow(400).unwrap();
        let place = large.as_ptr();
        drop(large);
        assert_ne!(spare.borrow(99).unwrap().as_ptr(), place);
        assert_eq!(spare.borrow(100).unwrap().as_ptr(), place);
    }

    #[test]
    fn not_all_is_kept() {
        let spare = Arc::new(Spare::default());
        drop(spare.borrow(2 * SPARE_BYTES as u64).unwrap());
        assert!(spare.lock().is_empty());
        let loans: Vec<_> = (0..2 * SPARE).map(|_| spare.borrow(9).unwrap()).collect();
        drop(loans);
        assert_eq!(spare.lock().len(), SPARE);
        drop(spare.borrow(0).unwrap());
        assert_eq!(spare.lock().len(), SPARE);
        let late = spare.borrow(1).unwrap();
        drop(spare);
        drop(late);
    }
}
