//! What a rank has of one store, as the two streams that `protect` works on.
//!
//! Segments of a snapshot are lent without a copy, and the blocks that arrive become segments: for this, blocks are
//! cut as segments are ([`limits`]). All memory is reserved before the first message.

use std::collections::VecDeque;
use std::sync::Arc;

use super::memory::{Memory, SEGMENT};
use super::segments::Segments;
use super::share::PackedSpans;
use super::{Result, Source};
use crate::pages::PageBuffer;
use crate::protect::sums::Sums;
use crate::protect::{Geometry, Limits, Part, Scheme, Set, Streams};

/// Segments are as long for every store and repair in a set.
pub(super) fn limits(set: &Set, ahead: usize) -> Limits {
    let segment = match set.scheme() {
        Scheme::Single | Scheme::Copies { .. } => SEGMENT,
        // The blocks of a stripe, which come from all ranks, are used together: they should fit in a cache.
        Scheme::Xor | Scheme::ReedSolomon { .. } => {
            let together = 3 * SEGMENT / 2;
            (together / (set.size() as u64 - 1)).clamp(SEGMENT / 32, SEGMENT / 2)
        }
    };
    Limits {
        block: Some(segment),
        budget: None,
        ahead,
        near: false,
    }
}

pub(super) struct MemoryStreams {
    pub(super) data: Segments,
    pub(super) redundancy: Segments,
    /// For segments that are missing, by part, in the order in which they are filled.
    buffers: [VecDeque<PageBuffer>; 2],
    /// For blocks that pass through this rank.
    pub(super) passing: Vec<PageBuffer>,
}

impl MemoryStreams {
    /// Streams of the rank at `position` that have nothing yet, with memory for all of it.
    pub(super) fn reserve(
        memory: &mut Memory,
        geometry: &Geometry,
        position: usize,
        limits: Limits,
    ) -> Result<MemoryStreams> {
        let [data, redundancy] = [geometry.data(position), geometry.redundancy(position)];
        let segment = limits.block.unwrap_or(SEGMENT);
        Ok(MemoryStreams {
            data: Segments::new(data.iter().sum()),
            redundancy: Segments::new(redundancy.iter().sum()),
            buffers: [
                memory.reserve(lengths(&data, segment))?,
                memory.reserve(lengths(&redundancy, segment))?,
            ],
            passing: Vec::new(),
        })
    }

    /// Streams that are there.
    pub(super) fn whole(data: Segments, redundancy: Segments) -> MemoryStreams {
        MemoryStreams {
            data,
            redundancy,
            buffers: Default::default(),
            passing: Vec::new(),
        }
    }

    fn part(&mut self, part: Part) -> &mut Segments {
        match part {
            Part::Data => &mut self.data,
            Part::Redundancy => &mut self.redundancy,
        }
    }

    /// Gives back what is left of the memory besides the streams themselves.
    pub(super) fn release(&mut self, memory: &mut Memory) {
        memory.put_all(self.buffers.iter_mut().flat_map(std::mem::take));
        memory.put_all(std::mem::take(&mut self.passing));
    }

    pub(super) fn recycle(mut self, memory: &mut Memory) {
        self.release(memory);
        self.data.recycle(memory);
        self.redundancy.recycle(memory);
    }
}

impl Streams for MemoryStreams {
    type BlockBuffer = PageBuffer;

    fn lend(&mut self, part: Part, offset: u64, length: usize) -> Arc<PageBuffer> {
        if let Some(segment) = self.part(part).segment(offset, length) {
            return segment.clone();
        }
        let mut bytes = Vec::with_capacity(length);
        let segments = self.part(part);
        segments.read(offset, length as u64, |piece| bytes.extend(piece));
        bytes.resize(length, 0);
        Arc::new(bytes.into())
    }

    /// Where less was reserved than is needed, the block gets new memory.
    fn buffer(&mut self, length: usize, kept: Option<Part>) -> PageBuffer {
        let buffer = match kept {
            Some(part) => take_fitting(&mut self.buffers[part as usize], length),
            None => self.passing.pop(),
        };
        let mut buffer = buffer.unwrap_or_default();
        buffer.resize(length);
        buffer
    }

    fn take(&mut self, part: Part, offset: u64, block: PageBuffer) {
        self.part(part).insert(offset, Arc::new(block));
    }

    fn give_back(&mut self, block: PageBuffer) {
        self.passing.push(block);
    }
}

fn take_fitting(buffers: &mut VecDeque<PageBuffer>, length: usize) -> Option<PageBuffer> {
    let fitting = buffers
        .iter()
        .position(|buffer| buffer.capacity() >= length);
    buffers.remove(fitting?)
}

/// The lengths of the segments of some chunks, in the order in which they are filled.
fn lengths(chunks: &[u64], segment: u64) -> impl Iterator<Item = usize> + Clone {
    let longest = chunks.iter().copied().max().unwrap_or(0);
    let steps = 0..longest.div_ceil(segment);
    let all = steps.flat_map(move |step| chunks.iter().map(move |chunk| (step, *chunk)));
    let lengths = all.map(move |(step, chunk)| segment.min(chunk.saturating_sub(step * segment)));
    lengths
        .filter(|length| *length > 0)
        .map(|length| length as usize)
}

/// The streams of a store: data come out of the user's memory when they are lent for the first time.
pub(super) struct Copying<'a, S: ?Sized> {
    pub(super) streams: &'a mut MemoryStreams,
    pub(super) packed: &'a PackedSpans,
    pub(super) source: &'a S,
    pub(super) sums: &'a mut Option<Sums>,
}

impl<S: Source + ?Sized> Streams for Copying<'_, S> {
    type BlockBuffer = PageBuffer;

    fn lend(&mut self, part: Part, offset: u64, length: usize) -> Arc<PageBuffer> {
        if part != Part::Data || self.streams.data.segment(offset, length).is_some() {
            return self.streams.lend(part, offset, length);
        }
        let mut segment = self.streams.buffer(length, Some(Part::Data));
        let mut rest = &mut segment[..];
        for (from, length) in self.packed.spans(offset..offset + length as u64) {
            let (part, others) = rest.split_at_mut(length as usize);
            self.source.read(from, part);
            rest = others;
        }
        if let Some(sums) = &mut self.sums {
            sums.add(offset, &segment);
        }
        let segment = Arc::new(segment);
        self.streams.data.insert(offset, segment.clone());
        segment
    }

    fn buffer(&mut self, length: usize, kept: Option<Part>) -> PageBuffer {
        self.streams.buffer(length, kept)
    }

    fn take(&mut self, part: Part, offset: u64, block: PageBuffer) {
        self.streams.take(part, offset, block);
    }

    fn give_back(&mut self, block: PageBuffer) {
        self.streams.give_back(block);
    }
}
