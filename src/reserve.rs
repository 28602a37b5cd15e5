//! Out of memory: the allocator of the library keeps a reserve for small requests.
//!
//! Rust aborts the process when a small allocation fails. So the allocator, where malloc fails, hands out a block that it
//! took from malloc beforehand. Such a block is freed like any other, perhaps by the other library of the process
//! (`libstanchion` and `libstanchion_base` share trees). Memory that is freed while blocks are missing replaces them, and
//! exported functions refill the reserve when they begin. A request that the reserve serves succeeds; but when half of it is
//! gone and malloc still fails, [`is_short`] fails collectives, on all ranks at their next agreement, and calls of one
//! process at their beginning. Large buffers do not come from the reserve: they are allocated with `try_reserve`.
//!
//! The library's builds use it (feature `reserve`); tests and benches may have allocators of their own.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

unsafe extern "C" {
    /// Not in every libc of the crate of that name.
    fn malloc_usable_size(place: *mut c_void) -> usize;
}

/// The size of a block in bytes, and the number of blocks of this size, in ascending order. Long ones take only address
/// space until they are written.
const CLASSES: [(usize, usize); 6] = [
    (64, 1024),
    (256, 256),
    (1 << 10, 128),
    (8 << 10, 32),
    (64 << 10, 8),
    (1 << 20, 2),
];
/// That of malloc, which suffices for this library and its dependencies. A larger one would leave gaps between blocks, over
/// which the next trees would be scattered.
const ALIGNMENT: usize = align_of::<libc::max_align_t>();

const BLOCKS: usize = total(false);
/// The size of the whole reserve.
pub(crate) const BYTES: usize = total(true);

/// The allocator of this library.
#[cfg_attr(feature = "reserve", global_allocator)]
static RESERVE: Reserve = Reserve::new();

/// The system's allocator, and blocks for when that fails.
struct Reserve {
    /// Null where a block is missing.
    blocks: [AtomicPtr<u8>; BLOCKS],
    /// How many blocks there are.
    left: AtomicUsize,
    started: AtomicBool,
}

const fn total(bytes: bool) -> usize {
    let (mut sum, mut class) = (0, 0);
    while class < CLASSES.len() {
        let (size, count) = CLASSES[class];
        sum += if bytes { size * count } else { count };
        class += 1;
    }
    sum
}

/// Replaces missing blocks, until malloc fails.
pub(crate) fn refill() {
    if cfg!(any(feature = "reserve", test)) {
        RESERVE.refill();
    }
}

/// As malloc of C, for memory that C may free.
#[inline]
pub(crate) fn malloc(size: usize) -> *mut u8 {
    // SAFETY: malloc has no preconditions.
    let place = unsafe { libc::malloc(size) };
    match place.is_null() {
        true => RESERVE.take(size, ALIGNMENT),
        false => place.cast(),
    }
}

/// As free of C, for what [`malloc`] has given.
///
/// # Safety
/// As for free.
#[inline]
pub(crate) unsafe fn free(place: *mut u8) {
    if !place.is_null() {
        // SAFETY: promised by the caller.
        unsafe { RESERVE.give_back(place, |place| libc::free(place.cast())) }
    }
}

/// The error text when [`is_short`].
pub(crate) const SHORT: &str = "memory has run out";

/// Whether half of the blocks are missing, or all of the longest.
pub(crate) fn is_short() -> bool {
    #[cfg(test)]
    if PRETENDED.get() {
        return true;
    }
    RESERVE.is_short()
}

#[cfg(test)]
thread_local! {
    /// Makes this thread's memory run out in a test.
    pub(crate) static PRETENDED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Reserve {
    const fn new() -> Reserve {
        Reserve {
            blocks: [const { AtomicPtr::new(ptr::null_mut()) }; BLOCKS],
            left: AtomicUsize::new(0),
            started: AtomicBool::new(false),
        }
    }

    /// The blocks and their sizes, in ascending order.
    fn blocks(&self) -> impl Iterator<Item = (usize, &AtomicPtr<u8>)> {
        let sizes = CLASSES.iter();
        let sizes = sizes.flat_map(|(size, count)| std::iter::repeat_n(*size, *count));
        sizes.zip(&self.blocks)
    }

    fn is_full(&self) -> bool {
        self.left.load(Relaxed) == BLOCKS
    }

    #[inline]
    fn is_short(&self) -> bool {
        !self.is_full() && self.lacks_too_many()
    }

    #[cold]
    fn lacks_too_many(&self) -> bool {
        let longest = &self.blocks[BLOCKS - CLASSES[CLASSES.len() - 1].1..];
        let is_gone = |block: &AtomicPtr<u8>| block.load(Relaxed).is_null();
        let few = self.left.load(Relaxed) < BLOCKS / 2;
        self.started.load(Relaxed) && (few || longest.iter().all(is_gone))
    }

    fn refill(&self) {
        if !self.is_full() {
            self.replace_blocks();
        }
    }

    #[cold]
    fn replace_blocks(&self) {
        self.started.store(true, Relaxed);
        let blocks = self.blocks();
        for (size, block) in blocks.filter(|(_, block)| block.load(Relaxed).is_null()) {
            // SAFETY: malloc has no preconditions.
            let fresh = unsafe { libc::malloc(size) };
            if fresh.is_null() {
                return;
            }
            let kept = block.compare_exchange(ptr::null_mut(), fresh.cast(), AcqRel, Relaxed);
            match kept {
                Ok(_) => drop(self.left.fetch_add(1, Relaxed)),
                // Another thread was faster.
                // SAFETY: allocated above and given to nobody.
                Err(_) => unsafe { libc::free(fresh) },
            }
        }
    }

    /// Takes the smallest block of at least `size` bytes; null if there is none.
    #[cold]
    fn take(&self, size: usize, alignment: usize) -> *mut u8 {
        if alignment > ALIGNMENT {
            return ptr::null_mut();
        }
        for (_, block) in self.blocks().filter(|(room, _)| *room >= size) {
            let taken = block.swap(ptr::null_mut(), AcqRel);
            if !taken.is_null() {
                self.left.fetch_sub(1, Relaxed);
                return taken;
            }
        }
        ptr::null_mut()
    }

    /// Frees memory from malloc, or keeps it where a block is missing: it may serve the next request.
    ///
    /// # Safety
    /// `place` came from malloc and nobody uses it any more; `free` frees it.
    unsafe fn give_back(&self, place: *mut u8, free: impl FnOnce(*mut u8)) {
        // SAFETY: promised by the caller.
        if self.is_full() || !unsafe { self.keep(place) } {
            free(place);
        }
    }

    /// # Safety
    /// As for [`Reserve::give_back`].
    #[cold]
    unsafe fn keep(&self, place: *mut u8) -> bool {
        if !self.started.load(Relaxed) {
            return false;
        }
        // SAFETY: promised by the caller.
        let length = unsafe { malloc_usable_size(place.cast()) };
        let Some((size, _)) = CLASSES.iter().rfind(|(size, _)| *size <= length) else {
            return false;
        };
        let mut empty = self.blocks().filter(|(room, _)| room == size);
        let kept = empty.any(|(_, block)| {
            let kept = block.compare_exchange(ptr::null_mut(), place, AcqRel, Relaxed);
            kept.is_ok()
        });
        if kept {
            self.left.fetch_add(1, Relaxed);
        }
        kept
    }
}

// SAFETY: memory is what the system's allocator gives, or a block from malloc of at least the size and alignment that
// were asked for, which nobody else has. On Unix the system's allocator frees and resizes by free and realloc, whatever
// the layout: so it can do that with such a block as well.
unsafe impl GlobalAlloc for Reserve {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller.
        let place = unsafe { System.alloc(layout) };
        match place.is_null() {
            true => self.take(layout.size(), layout.align()),
            false => place,
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller.
        let place = unsafe { System.alloc_zeroed(layout) };
        if !place.is_null() {
            return place;
        }
        let place = self.take(layout.size(), layout.align());
        if !place.is_null() {
            // SAFETY: a block of ours with at least so many bytes.
            unsafe { place.write_bytes(0, layout.size()) };
        }
        place
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: promised by the caller.
        unsafe { self.give_back(place, |place| System.dealloc(place, layout)) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: promised by the caller.
        let moved = unsafe { System.realloc(place, layout, size) };
        if !moved.is_null() {
            return moved;
        }
        let moved = self.take(size, layout.align());
        if !moved.is_null() {
            // SAFETY: both have at least so many bytes, and what failed to be moved is still there, to be given up.
            unsafe {
                ptr::copy_nonoverlapping(place, moved, layout.size().min(size));
                self.dealloc(place, layout);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free_all(reserve: &Reserve) {
        for (_, block) in reserve.blocks() {
            // SAFETY: from malloc, and in nobody's hands.
            unsafe { libc::free(block.swap(ptr::null_mut(), AcqRel).cast()) };
        }
    }

    #[test]
    fn the_reserve_serves_until_it_is_spent_and_is_filled_up_again() {
        let reserve = Reserve::new();
        assert!(!reserve.is_full() && !reserve.is_short());
        reserve.refill();
        assert!(reserve.is_full() && !reserve.is_short());
        let (largest, _) = CLASSES[CLASSES.len() - 1];
        assert!(reserve.take(largest + 1, 1).is_null());
        assert!(reserve.take(1, 2 * ALIGNMENT).is_null());

        let mut taken = Vec::new();
        for (size, count) in CLASSES {
            for index in 0..count {
                let block = reserve.take(size - index % 3, ALIGNMENT);
                assert!(!block.is_null() && block as usize % ALIGNMENT == 0);
                // SAFETY: ours alone, as long as it says.
                unsafe { block.write_bytes(taken.len() as u8, size) };
                taken.push((block, size, taken.len() as u8));
            }
        }
        assert!(reserve.is_short());
        assert!(reserve.take(1, 1).is_null(), "all are gone");
        reserve.refill();
        assert!(!reserve.is_short());
        for (block, size, value) in taken {
            // SAFETY: as above; freed by what frees all blocks.
            unsafe {
                let bytes = std::slice::from_raw_parts(block, size);
                assert!(bytes.iter().all(|byte| *byte == value));
                reserve.dealloc(block, Layout::from_size_align_unchecked(1, 1));
            }
        }
        let layout = Layout::from_size_align(1, 1).unwrap();
        let kept = reserve.take(1, 1);
        // SAFETY: ours, and not used any more.
        unsafe { reserve.dealloc(kept, layout) };
        assert!(reserve.is_full(), "what is freed fills a gap");
        let small = reserve.take(1, 1);
        // SAFETY: 64 bytes of ours; realloc may be given any block.
        unsafe {
            small.write_bytes(9, 64);
            let layout = Layout::from_size_align_unchecked(64, 1);
            let grown = reserve.realloc(small, layout, 5000);
            assert!(
                std::slice::from_raw_parts(grown, 64)
                    .iter()
                    .all(|byte| *byte == 9)
            );
            reserve.dealloc(grown, Layout::from_size_align_unchecked(5000, 1));
        }
        reserve.refill();
        assert!(reserve.is_full());
        free_all(&reserve);
    }

    /// Else what is allocated next is strewn over the gaps, and walks wait for memory more often.
    #[test]
    fn the_small_blocks_lie_side_by_side() {
        let reserve = Reserve::new();
        reserve.refill();
        let (size, count) = CLASSES[0];
        let places: Vec<_> = reserve.blocks[..count]
            .iter()
            .map(|block| block.load(Relaxed).addr())
            .collect();
        let is_near = |pair: &&[usize]| pair[0].abs_diff(pair[1]) < 2 * size;
        let near = places.windows(2).filter(is_near).count();
        // Some may fill gaps that were there before.
        assert!(near > count / 2, "{near} of {count}");
        free_all(&reserve);
    }

    #[test]
    fn a_request_that_malloc_refuses_is_served_as_it_was_asked_for() {
        let reserve = Reserve::new();
        // What malloc never gives: the fallback is for sizes below that, so it refuses as well.
        let huge = Layout::from_size_align(isize::MAX as usize - 63, 64).unwrap();
        // SAFETY: the size is not zero.
        unsafe {
            assert!(reserve.alloc(huge).is_null());
            assert!(reserve.alloc_zeroed(huge).is_null());
            let layout = Layout::from_size_align(10, 1).unwrap();
            let place = reserve.alloc_zeroed(layout);
            assert!(
                reserve
                    .realloc(place, layout, isize::MAX as usize)
                    .is_null()
            );
            reserve.dealloc(place, layout);
        }
    }
}
