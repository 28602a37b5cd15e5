//! An allocator that refuses chosen requests of a thread.
//!
//! Only requests that are too large for the library's reserve of memory: it must be able to do without them. The files
//! of a job are so small that neither the simulator nor its communicator ever asks for so much.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The largest block of the reserve.
const SMALL: usize = 64 << 10;

pub struct Scarce;

#[global_allocator]
static ALLOCATOR: Scarce = Scarce;

thread_local! {
    /// How many more large requests are granted; one that is refused is the last that counts.
    static GRANTED: Cell<Option<u64>> = const { Cell::new(None) };
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Refuses the `nth` large request of this thread; without a number, none.
pub fn refuse(nth: Option<u64>) {
    GRANTED.set(nth);
    REFUSED.set(false);
}

/// Whether a request was refused since.
pub fn has_refused() -> bool {
    REFUSED.get()
}

fn is_refused(size: usize) -> bool {
    let Some(granted) = GRANTED.get().filter(|_| size > SMALL) else {
        return false;
    };
    GRANTED.set(granted.checked_sub(1));
    REFUSED.set(REFUSED.get() || granted == 0);
    granted == 0
}

// SAFETY: memory is the system's; a null pointer says that there is none.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_refused(layout.size()) {
            true => std::ptr::null_mut(),
            // SAFETY: promised by the caller.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_refused(layout.size()) {
            true => std::ptr::null_mut(),
            // SAFETY: promised by the caller.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match is_refused(size) {
            true => std::ptr::null_mut(),
            // SAFETY: promised by the caller.
            false => unsafe { System.realloc(place, layout, size) },
        }
    }
}
