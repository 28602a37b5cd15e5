//! Copies with non-temporal stores, to memory that is not read again soon: they need not fetch a cache line before they
//! write it, and evict nothing from the caches.

use std::ptr;

/// A shorter copy is likely to be read while it is still in a cache.
const WORTHWHILE: usize = 256 << 10;

/// # Safety
/// `to` can be written for as many bytes as there are in `from`, and does not overlap with them.
pub(in crate::capi) unsafe fn copy(from: &[u8], to: *mut u8) {
    let streamed = match from.len() < WORTHWHILE {
        true => 0,
        // SAFETY: promised by the caller.
        false => unsafe { stream(from, to) },
    };
    let rest = &from[streamed..];
    // SAFETY: promised by the caller.
    unsafe { ptr::copy_nonoverlapping(rest.as_ptr(), to.add(streamed), rest.len()) };
}

/// Copies whole cache lines with non-temporal stores, and returns how many bytes from the front are done.
///
/// # Safety
/// As for [`copy`].
#[cfg(target_arch = "x86_64")]
unsafe fn stream(from: &[u8], to: *mut u8) -> usize {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const VECTOR: usize = size_of::<__m128i>();
    const LINE: usize = 64;

    let (head, lines) = from.split_at(to.align_offset(LINE).min(from.len()));
    // SAFETY: promised by the caller.
    unsafe { ptr::copy_nonoverlapping(head.as_ptr(), to, head.len()) };
    let lines = lines.chunks_exact(LINE);
    let mut done = head.len();
    for line in lines {
        for at in (0..LINE).step_by(VECTOR) {
            // SAFETY: the loop stays in the line and in its copy, which begins where a line does; every
            // x86-64 has these instructions.
            unsafe {
                let vector = _mm_loadu_si128(line.as_ptr().add(at).cast());
                _mm_stream_si128(to.add(done + at).cast(), vector);
            }
        }
        done += LINE;
    }
    // SAFETY: as above. Makes the bytes visible before whatever is written next.
    unsafe { _mm_sfence() };
    done
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(_from: &[u8], _to: *mut u8) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_and_no_other_changes() {
        let from: Vec<u8> = (0..WORTHWHILE + 300).map(|i| (i % 251) as u8).collect();
        for length in [0, 1, 1000, WORTHWHILE, WORTHWHILE + 1, WORTHWHILE + 129] {
            for (start, shift) in [(0, 0), (1, 0), (0, 1), (7, 63), (64, 65), (33, 16)] {
                let from = &from[start..][..length];
                let mut to = vec![255; length + 200];
                // SAFETY: the room behind `shift` is longer than what is copied there.
                unsafe { copy(from, to.as_mut_ptr().add(shift)) };
                assert!(to[shift..][..length] == *from);
                let mut others = to[..shift].iter().chain(&to[shift + length..]);
                assert!(others.all(|byte| *byte == 255));
            }
        }
    }
}
