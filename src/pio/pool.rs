//! A pool of buffers for transfers.
//!
//! A transfer borrows what it needs from the pool of the I/O system and the next transfer finds it there again: fresh
//! memory costs as much as the transfer itself, because the kernel clears it page by page.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{Result, alloc};

/// Limits on idle buffers.
const MAX_IDLE: usize = 8;
const MAX_IDLE_BYTES: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// An idle buffer may be this many times longer than asked for: reusing it is free, touching a fresh page is not.
const LARGER: usize = 4;

/// Idle buffers, the one returned last at the end.
#[derive(Debug, Default)]
pub(super) struct BufferPool(Mutex<Vec<Vec<u8>>>);

/// A buffer that returns to its pool when dropped. Shows only the bytes that were asked for.
#[derive(Debug, Default)]
pub struct PoolBuffer {
    bytes: Vec<u8>,
    length: usize,
    home: Weak<BufferPool>,
}

impl BufferPool {
    /// Nothing that can panic half-way runs under this lock, so a poisoned list is still consistent.
    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer of `length` bytes; contents unspecified.
    pub(super) fn borrow(self: &Arc<Self>, length: u64) -> Result<PoolBuffer> {
        #[cfg(test)]
        alloc::fuse::burn(length)?;
        let found = usize::try_from(length).ok().and_then(|l| self.find(l));
        Ok(PoolBuffer {
            bytes: match found {
                Some(bytes) => bytes,
                None => alloc::fresh(length)?,
            },
            length: length as usize,
            home: Arc::downgrade(self),
        })
    }

    /// The smallest buffer that is long enough, but not much too long.
    fn find(&self, length: usize) -> Option<Vec<u8>> {
        let mut idle = self.lock();
        let most = length.saturating_mul(LARGER);
        let fits = |bytes: &Vec<u8>| (length..=most).contains(&bytes.len());
        let fitting = idle.iter().enumerate().rev().filter(|one| fits(one.1));
        let (found, _) = fitting.min_by_key(|(_, bytes)| bytes.len())?;
        Some(idle.remove(found))
    }

    pub(super) fn give_back(&self, bytes: Vec<u8>) {
        let mut idle = self.lock();
        idle.push(bytes);
        let total = |idle: &[Vec<u8>]| idle.iter().map(Vec::capacity).sum::<usize>();
        while idle.len() > MAX_IDLE || total(&idle) > MAX_IDLE_BYTES {
            idle.remove(0);
        }
    }
}

impl PoolBuffer {
    /// The whole buffer, which no longer returns to its pool by itself.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for PoolBuffer {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade().filter(|_| !self.bytes.is_empty()) {
            home.give_back(std::mem::take(&mut self.bytes));
        }
    }
}

impl Deref for PoolBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl DerefMut for PoolBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_lent_again() {
        let pool = Arc::new(BufferPool::default());
        let mut first = pool.borrow(100).unwrap();
        first.fill(7);
        let place = first.as_ptr();
        drop(first);
        let second = pool.borrow(80).unwrap();
        assert_eq!((second.as_ptr(), second.len()), (place, 80));
        let third = pool.borrow(80).unwrap();
        assert_ne!(third.as_ptr(), place);
    }

    #[test]
    fn what_lent_a_part_of_itself_lends_all_of_itself_again() {
        let pool = Arc::new(BufferPool::default());
        let large = pool.borrow(100).unwrap();
        let place = large.as_ptr();
        drop(large);
        drop(pool.borrow(60).unwrap());
        assert_eq!(pool.borrow(100).unwrap().as_ptr(), place);
    }

    #[test]
    fn a_small_buffer_does_not_take_a_large_one() {
        let pool = Arc::new(BufferPool::default());
        let buffers = [60, 100].map(|length| pool.borrow(length).unwrap());
        let places = buffers.each_ref().map(|buffer| buffer.as_ptr());
        drop(buffers);
        let again = [60, 100].map(|length| pool.borrow(length).unwrap());
        assert_eq!(again.each_ref().map(|buffer| buffer.as_ptr()), places);
    }

    #[test]
    fn what_lies_idle_may_be_larger_than_asked_for() {
        let pool = Arc::new(BufferPool::default());
        let large = pool.borrow(400).unwrap();
        let place = large.as_ptr();
        drop(large);
        assert_ne!(pool.borrow(99).unwrap().as_ptr(), place);
        assert_eq!(pool.borrow(100).unwrap().as_ptr(), place);
    }

    #[test]
    fn not_all_is_kept() {
        let pool = Arc::new(BufferPool::default());
        drop(pool.borrow(2 * MAX_IDLE_BYTES as u64).unwrap());
        assert!(pool.lock().is_empty());
        let buffers: Vec<_> = (0..2 * MAX_IDLE).map(|_| pool.borrow(9).unwrap()).collect();
        drop(buffers);
        assert_eq!(pool.lock().len(), MAX_IDLE);
        drop(pool.borrow(0).unwrap());
        assert_eq!(pool.lock().len(), MAX_IDLE);
        let late = pool.borrow(1).unwrap();
        drop(pool);
        drop(late);
    }
}
