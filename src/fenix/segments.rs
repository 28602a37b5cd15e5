//! The bytes of a stream in memory, as segments.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::memory::Memory;
use crate::pages::PageBuffer;

/// A segment is not changed any more once it is here: messages may be reading it.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    /// Bytes of the stream, whether or not they are here.
    length: u64,
    /// By where they start. None is empty.
    segments: BTreeMap<u64, Arc<PageBuffer>>,
}

impl Segments {
    /// Still without any segment.
    pub(super) fn new(length: u64) -> Segments {
        Segments {
            length,
            segments: BTreeMap::new(),
        }
    }

    pub(super) fn insert(&mut self, offset: u64, segment: Arc<PageBuffer>) {
        self.segments.insert(offset, segment);
    }

    /// The segment with just these bytes.
    pub(super) fn segment(&self, offset: u64, length: usize) -> Option<&Arc<PageBuffer>> {
        let segment = self.segments.get(&offset);
        segment.filter(|segment| segment.len() == length)
    }

    /// Whether this is all of a stream of `length` bytes.
    pub(super) fn is_whole(&self, length: u64) -> bool {
        let mut end = 0;
        let mut segments = self.segments.iter();
        let follows = segments.all(|(start, segment)| {
            let gap = *start != end;
            end = start + segment.len() as u64;
            !gap
        });
        follows && end == length && self.length == length
    }

    /// Hands out the bytes from `offset` on, piece by piece, up to the first that is not there.
    pub(super) fn read(&self, mut offset: u64, length: u64, mut piece: impl FnMut(&[u8])) {
        let end = offset + length;
        while offset < end {
            let Some((start, segment)) = self.segments.range(..=offset).next_back() else {
                return;
            };
            let bytes = segment.get((offset - start) as usize..);
            let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
                return;
            };
            let taken = bytes.len().min((end - offset) as usize);
            piece(&bytes[..taken]);
            offset += taken as u64;
        }
    }

    pub(super) fn crc(&self) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        let segments = self.segments.values();
        segments.for_each(|segment| crc.update(segment));
        crc.finalize()
    }

    /// Memory in use.
    pub(super) fn size(&self) -> u64 {
        let segments = self.segments.values();
        segments.map(|segment| segment.capacity() as u64).sum()
    }

    pub(super) fn recycle(self, memory: &mut Memory) {
        let segments = self.segments.into_values();
        memory.put_all(segments.filter_map(Arc::into_inner));
    }

    #[cfg(test)]
    pub(super) fn flip_a_bit(&mut self) {
        let first = self.segments.values_mut().find_map(Arc::get_mut);
        first.unwrap()[0] ^= 4;
    }
}
