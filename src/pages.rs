//! Buffers and tmpfs files on transparent huge pages. Filling a fresh buffer costs most in page faults, of which huge pages
//! cause one where small ones cause 512.
#![allow(unsafe_code)]

mod buffer;
mod file;

use std::alloc::{Layout, alloc_zeroed};
use std::sync::OnceLock;

pub(crate) use buffer::{PageBuffer, page_buffers};
pub(crate) use file::HugePages;

/// 2 MiB, as on x86-64; elsewhere the advice may do nothing.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// A buffer of zeros from the allocator; `None` if there is no memory for it.
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

/// `STANCHION_HUGE_PAGES=0` in the environment turns huge pages off.
fn wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("STANCHION_HUGE_PAGES").is_none_or(|set| set != "0"))
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
