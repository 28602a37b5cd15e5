//! The bytes of a share or a guard, as segments.

use std::sync::Arc;

use super::memory::Memory;
use super::set::Cut;
use crate::pages::Room;

/// Once filled, it is not changed any more: messages may be reading it.
#[derive(Debug)]
pub(super) struct Bytes {
    cut: Cut,
    /// By chunk.
    segments: Vec<Vec<Arc<Room>>>,
}

impl Bytes {
    /// Still without its segments.
    pub(super) fn new(cut: Cut) -> Bytes {
        Bytes {
            cut,
            segments: vec![Vec::new(); cut.chunks()],
        }
    }

    pub(super) fn cut(&self) -> Cut {
        self.cut
    }

    /// Adds the next segment of a chunk.
    pub(super) fn push(&mut self, chunk: usize, segment: Arc<Room>) {
        self.segments[chunk].push(segment);
    }

    /// Whether every segment is there.
    pub(super) fn is_whole(&self) -> bool {
        let has = |chunk: usize, step: usize| {
            let found = self.segments[chunk]
                .get(step)
                .map_or(0, |segment| segment.len());
            found == self.cut.segment_length(chunk, step)
        };
        let mut chunks = 0..self.cut.chunks();
        chunks.all(|chunk| (0..self.cut.steps()).all(|step| has(chunk, step)))
    }

    pub(super) fn segment(&self, chunk: usize, step: usize) -> Option<&Arc<Room>> {
        self.segments[chunk].get(step)
    }

    /// Hands out the bytes from `offset` on, piece by piece.
    pub(super) fn read(&self, mut offset: u64, length: u64, mut piece: impl FnMut(&[u8])) {
        let end = offset + length;
        while offset < end {
            let (chunk, step, within) = self.cut.find(offset);
            let bytes = &self.segments[chunk][step][within..];
            let taken = bytes.len().min((end - offset) as usize);
            piece(&bytes[..taken]);
            offset += taken as u64;
        }
    }

    pub(super) fn crc(&self) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        let segments = self.segments.iter().flatten();
        segments.for_each(|segment| crc.update(segment));
        crc.finalize()
    }

    /// Memory in use.
    pub(super) fn size(&self) -> u64 {
        let segments = self.segments.iter().flatten();
        segments.map(|segment| segment.capacity() as u64).sum()
    }

    pub(super) fn recycle(self, memory: &mut Memory) {
        let segments = self.segments.into_iter().flatten();
        memory.put_all(segments.filter_map(Arc::into_inner));
    }

    #[cfg(test)]
    pub(super) fn flip_a_bit(&mut self) {
        let segments = self.segments.iter_mut().flatten();
        let first = segments.filter_map(Arc::get_mut).find(|s| !s.is_empty());
        first.unwrap()[0] ^= 4;
    }
}
