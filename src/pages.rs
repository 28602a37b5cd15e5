//! Large buffers, and files in memory, on huge pages, where the system gives them to those who ask. The first touch of memory is
//! what costs most in filling a fresh buffer: with huge pages it is a five-hundredth of the page faults.
#![allow(unsafe_code)]

mod file;
mod room;

use std::alloc::{Layout, alloc_zeroed};
use std::sync::OnceLock;

pub(crate) use file::HugePages;
pub(crate) use room::{Room, rooms};

/// As long as on x86; where they are longer, they are asked for in vain.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// A buffer of zeros on ordinary pages, or nothing if there is no memory for it.
pub(crate) fn zeroed(length: usize) -> Option<Vec<u8>> {
    if length == 0 {
        return Some(Vec::new());
    }
    let layout = Layout::array::<u8>(length).ok()?;
    // SAFETY: the layout is not of size zero.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return None;
    }
    // SAFETY: allocated above by the allocator of `Vec`, with this layout, and all of it is zero.
    Some(unsafe { Vec::from_raw_parts(start, length, length) })
}

/// Whether to ask at all: `STANCHION_HUGE_PAGES=0` in the environment says no.
fn wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("STANCHION_HUGE_PAGES").is_none_or(|set| set != "0"))
}

/// It is only advice: where the system does not follow it, the buffer is as good as any.
fn ask_for_huge_pages(start: usize, length: usize) {
    if !wanted() {
        return;
    }
    const PAGE: usize = 4096;
    let first = start.next_multiple_of(PAGE);
    let end = (start + length) / PAGE * PAGE;
    // SAFETY: the range lies in a buffer that is ours, and the advice changes none of its bytes.
    unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    use super::zeroed;

    #[test]
    fn a_buffer_is_zero_and_ours() {
        for length in [0, 1, 5000, 3 << 20] {
            let mut buffer = zeroed(length).unwrap();
            assert_eq!(buffer.len(), length);
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(7);
            buffer.push(1);
        }
    }

    #[test]
    fn too_much_is_refused() {
        assert!(zeroed(isize::MAX as usize).is_none());
        assert!(zeroed(usize::MAX).is_none());
    }
}
