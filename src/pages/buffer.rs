//! Buffers cut out of *slabs*: they are owned, filled and freed one by one, while a slab is long enough for huge pages,
//! for which a single buffer would be too short.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use memmap2::{Advice, MmapMut};

use super::{HUGE_PAGE, wanted, zeroed};

/// About how long a slab gets, in bytes: its memory is freed only with the last of its buffers.
const SLAB: usize = 16 << 20;

/// Buffers are aligned to it, so that no two of them share a cache line.
const LINE: usize = 64;

/// One allocation, from the allocator or, if it is long, from the system.
#[derive(Debug)]
struct Slab {
    start: NonNull<u8>,
    length: usize,
    /// The mapping in which it lies; `None` on the heap.
    mapping: Option<MmapMut>,
}

// SAFETY: only an address; the memory is accessed through buffers that do not overlap.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Slab {
    /// Zeros.
    fn new(length: usize) -> Option<Slab> {
        match length < HUGE_PAGE {
            true => zeroed(length).map(Slab::from),
            false => Slab::map(length),
        }
    }

    /// Aligned to huge pages; no page is allocated before it is touched.
    fn map(length: usize) -> Option<Slab> {
        let mut mapping = MmapMut::map_anon(length.checked_add(HUGE_PAGE)?).ok()?;
        let address = mapping.as_ptr().addr();
        let skipped = address.next_multiple_of(HUGE_PAGE) - address;
        if wanted() {
            // Only advice: without huge pages the buffer works as well.
            let _ = mapping.advise_range(Advice::HugePage, skipped, length / HUGE_PAGE * HUGE_PAGE);
        }
        Some(Slab {
            start: NonNull::from(&mut mapping[skipped..]).cast(),
            length,
            mapping: Some(mapping),
        })
    }
}

impl From<Vec<u8>> for Slab {
    fn from(bytes: Vec<u8>) -> Slab {
        let mut bytes = ManuallyDrop::new(bytes.into_boxed_slice());
        Slab {
            start: NonNull::from(&mut bytes[..]).cast(),
            length: bytes.len(),
            mapping: None,
        }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        if self.mapping.is_none() {
            let bytes = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length);
            // SAFETY: the box of `from`, into which no buffer points any more.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }
}

/// A buffer: a part of a slab that no other buffer overlaps.
#[derive(Debug)]
pub(crate) struct PageBuffer {
    slab: Arc<Slab>,
    offset: usize,
    capacity: usize,
    length: usize,
}

impl PageBuffer {
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Changes the length; reallocates if too small. The contents are unspecified.
    pub(crate) fn resize(&mut self, length: usize) {
        if length > self.capacity {
            *self = PageBuffer::from(vec![0; length]);
        }
        self.length = length;
    }
}

impl Default for PageBuffer {
    fn default() -> PageBuffer {
        PageBuffer::from(Vec::new())
    }
}

impl From<Vec<u8>> for PageBuffer {
    fn from(bytes: Vec<u8>) -> PageBuffer {
        let length = bytes.len();
        PageBuffer {
            slab: Arc::new(bytes.into()),
            offset: 0,
            capacity: length,
            length,
        }
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `offset..offset + length` lies in the slab, which is initialized, and overlaps no other buffer.
        unsafe { slice::from_raw_parts(self.slab.start.add(self.offset).as_ptr(), self.length) }
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`.
        unsafe { slice::from_raw_parts_mut(self.slab.start.add(self.offset).as_ptr(), self.length) }
    }
}

impl AsRef<[u8]> for PageBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for PageBuffer {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// Buffers of zeros of these lengths; `None` if there is no memory for them.
pub(crate) fn page_buffers(lengths: &[usize]) -> Option<Vec<PageBuffer>> {
    let mut buffers = Vec::with_capacity(lengths.len());
    let mut rest = lengths;
    while !rest.is_empty() {
        let together = fill_a_slab(rest)?;
        let (first, others) = rest.split_at(together.len());
        let length = together.last().zip(first.last());
        let length = length.map_or(Some(0), |(start, length)| start.checked_add(*length));
        let slab = Arc::new(Slab::new(length?)?);
        buffers.extend(
            together
                .into_iter()
                .zip(first)
                .map(|(offset, length)| PageBuffer {
                    slab: slab.clone(),
                    offset,
                    capacity: *length,
                    length: *length,
                }),
        );
        rest = others;
    }
    Some(buffers)
}

/// The offsets of the buffers that share the next slab: at least one.
fn fill_a_slab(lengths: &[usize]) -> Option<Vec<usize>> {
    let mut offsets = Vec::new();
    let mut end = 0usize;
    for length in lengths {
        let next = end.checked_add(*length)?.checked_next_multiple_of(LINE)?;
        if next > SLAB && !offsets.is_empty() {
            break;
        }
        offsets.push(end);
        end = next;
    }
    Some(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_do_not_overlap_and_stay_when_others_go() {
        let lengths: Vec<usize> = (0..60).map(|i| (i * 349_525) % (1 << 20)).collect();
        let mut buffers = page_buffers(&lengths).unwrap();
        for (index, buffer) in buffers.iter_mut().enumerate() {
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(index as u8);
        }
        let kept = buffers
            .iter()
            .enumerate()
            .filter(|(index, _)| index % 7 == 0);
        let kept: Vec<usize> = kept.map(|(index, _)| index).collect();
        let mut index = 0;
        buffers.retain(|_| {
            kept.contains(&{
                index += 1;
                index - 1
            })
        });
        for (buffer, index) in buffers.iter().zip(kept) {
            assert_eq!(buffer.len(), lengths[index]);
            assert!(buffer.iter().all(|byte| *byte == index as u8));
        }
    }

    #[test]
    fn a_long_buffer_begins_with_a_huge_page() {
        let buffers = page_buffers(&[HUGE_PAGE + 1, 5]).unwrap();
        assert_eq!(buffers[0].as_ptr() as usize % HUGE_PAGE, 0);
        assert_eq!(buffers[1].as_ptr() as usize % LINE, 0);
    }

    #[test]
    fn a_buffer_changes_its_length() {
        let mut buffer = page_buffers(&[100]).unwrap().remove(0);
        buffer.resize(7);
        assert_eq!((buffer.len(), buffer.capacity()), (7, 100));
        buffer.resize(3000);
        assert_eq!(buffer.len(), 3000);
        buffer.fill(1);
        assert!(PageBuffer::default().is_empty());
    }

    #[test]
    fn too_much_is_refused() {
        assert!(page_buffers(&[isize::MAX as usize]).is_none());
        assert!(page_buffers(&[usize::MAX]).is_none());
    }
}
