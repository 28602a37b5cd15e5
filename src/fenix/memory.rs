//! Allocation of segments: from the pool of unused ones, then from the retired snapshot, then from the system. Storing and
//! committing the same members again and again allocates nothing.

use std::collections::{BTreeMap, VecDeque};

use super::snapshot::Snapshot;
use super::{Error, Result};
use crate::pages::{PageBuffer, page_buffers};

/// The longest segment.
pub(super) const SEGMENT: u64 = if cfg!(test) { 40 } else { 1 << 20 };

/// Unused bytes that are kept at a commit.
const RESERVE: u64 = 16 << 20;

#[derive(Default)]
pub(super) struct Memory {
    /// By capacity.
    unused: BTreeMap<usize, Vec<PageBuffer>>,
    /// Bytes that the last store had under way; the next one is likely to need as many.
    passing: u64,
    /// The snapshot that the last commit has replaced. It is needed again if not all ranks have made that commit.
    pub(super) retired: Option<Snapshot>,
    /// How many segments can still be reserved, to test what happens when memory runs out.
    #[cfg(test)]
    left: Option<usize>,
}

impl Memory {
    #[cfg(test)]
    pub(super) fn only(&mut self, segments: usize) {
        self.left = Some(segments);
    }

    #[cfg(test)]
    fn count_down(&mut self, segments: usize) -> Result<()> {
        let Some(left) = &mut self.left else {
            return Ok(());
        };
        *left = left.checked_sub(segments).ok_or(Error::Memory(0))?;
        Ok(())
    }

    /// An unused segment, contents unspecified; recycles the retired snapshot if there is none.
    fn find_any(&mut self, length: usize) -> Option<PageBuffer> {
        let found = self.find(length);
        match self.retired.take_if(|_| found.is_none()) {
            Some(retired) => {
                retired.recycle(self);
                self.find(length)
            }
            None => found,
        }
    }

    fn find(&mut self, length: usize) -> Option<PageBuffer> {
        let most = 2 * length + 4096;
        let (&capacity, segments) = self.unused.range_mut(length..=most).next()?;
        let mut segment = segments.pop()?;
        if segments.is_empty() {
            self.unused.remove(&capacity);
        }
        segment.resize(length);
        Some(segment)
    }

    /// Segments of these lengths, or an error.
    pub(super) fn reserve(
        &mut self,
        lengths: impl Iterator<Item = usize> + Clone,
    ) -> Result<VecDeque<PageBuffer>> {
        #[cfg(test)]
        self.count_down(lengths.clone().count())?;
        let found: Vec<_> = lengths
            .clone()
            .map(|length| self.find_any(length))
            .collect();
        let all = lengths.clone().zip(&found);
        let missing = all.filter_map(|(length, found)| found.is_none().then_some(length));
        let Some(new) = page_buffers(&Vec::from_iter(missing)) else {
            self.put_all(found.into_iter().flatten());
            return Err(Error::Memory(lengths.map(|length| length as u64).sum()));
        };
        let mut new = new.into_iter();
        let all = found.into_iter().map(|found| found.or_else(|| new.next()));
        let all: Option<VecDeque<_>> = all.collect();
        all.ok_or(Error::Invariant(
            "fewer segments were reserved than asked for",
        ))
    }

    /// As [`Memory::reserve`], for segments that are given back when a store ends.
    pub(super) fn reserve_passing(
        &mut self,
        number: usize,
        length: usize,
    ) -> Result<Vec<PageBuffer>> {
        self.passing = number as u64 * length as u64;
        Ok(self.reserve(std::iter::repeat_n(length, number))?.into())
    }

    pub(super) fn put(&mut self, segment: PageBuffer) {
        let capacity = segment.capacity();
        if capacity > 0 {
            self.unused.entry(capacity).or_default().push(segment);
        }
    }

    pub(super) fn put_all(&mut self, segments: impl IntoIterator<Item = PageBuffer>) {
        segments.into_iter().for_each(|segment| self.put(segment));
    }

    /// Recycles the snapshot that was retired before, and frees unused segments beyond the reserve.
    pub(super) fn retire(&mut self, snapshot: Option<Snapshot>) {
        if let Some(snapshot) = std::mem::replace(&mut self.retired, snapshot) {
            snapshot.recycle(self);
        }
        self.trim();
    }

    fn trim(&mut self) {
        let mut left = self.unused_bytes();
        while left > RESERVE.max(self.passing) {
            let Some(mut longest) = self.unused.last_entry() else {
                return;
            };
            let dropped = longest.get_mut().pop();
            left -= dropped.map_or(0, |segment| segment.capacity() as u64);
            if longest.get().is_empty() {
                longest.remove();
            }
        }
    }

    fn unused_bytes(&self) -> u64 {
        let sizes = self.unused.iter();
        sizes.map(|(size, some)| (size * some.len()) as u64).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.unused_bytes() + self.retired.as_ref().map_or(0, Snapshot::bytes)
    }
}
