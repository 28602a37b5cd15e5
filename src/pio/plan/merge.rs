//! What the ranks of a subset hold together, in ascending order.
//!
//! The lists of the ranks ascend, so the union is made by always mode the block that starts lowest. An
//! element that several ranks hold gets one place, where each of them finds it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::pio::Result;
use crate::pio::sequence::{BlockIter, Builder, Sequence};

#[derive(Default)]
pub(super) struct Merged {
    /// Places in the global array, each once.
    pub(super) held: Sequence,
    /// For each rank, where its elements are among those held.
    pub(super) places: Vec<Sequence>,
    /// An element that is held more than once.
    pub(super) duplicate: Option<u64>,
}

/// The blocks held so far.
#[derive(Default)]
struct Union {
    held: Builder,
    length: u64,
    /// Bounds of the last stretch without a gap, and the place of its start.
    start: u64,
    end: u64,
    place: u64,
    duplicate: Option<u64>,
}

impl Union {
    /// Returns the place of the block, whose start is not below that of any before.
    fn add(&mut self, start: u64, length: u64) -> u64 {
        if start > self.end || self.length == 0 {
            (self.start, self.end, self.place) = (start, start, self.length);
        }
        if start < self.end {
            self.duplicate = self.duplicate.or(Some(start));
        }
        let fresh = (start + length).saturating_sub(self.end);
        self.held.push_block(start + length - fresh, fresh);
        self.length += fresh;
        self.end += fresh;
        self.place + (start - self.start)
    }
}

pub(super) fn merge(lists: &[Sequence]) -> Result<Merged> {
    let mut blocks: Vec<BlockIter> = lists.iter().map(Sequence::blocks).collect();
    let mut places: Vec<Builder> = lists.iter().map(|_| Builder::default()).collect();
    let mut union = Union::default();
    let mut heads = BinaryHeap::new();
    for (list, blocks) in blocks.iter_mut().enumerate() {
        heads.extend(blocks.next().map(|block| Reverse((block, list))));
    }
    while let Some(Reverse((mut block, list))) = heads.pop() {
        let next_other = heads
            .peek()
            .map_or(u64::MAX, |Reverse(((start, _), _))| *start);
        // Stay with this list until another one comes next: that saves the heap most of its work.
        loop {
            let place = union.add(block.0, block.1);
            places[list].push_block(place, block.1);
            match blocks[list].next() {
                Some(next) if next.0 <= next_other => block = next,
                Some(next) => {
                    heads.push(Reverse((next, list)));
                    break;
                }
                None => break,
            }
        }
    }
    let places = places.into_iter().map(Builder::finish);
    Ok(Merged {
        held: union.held.finish()?,
        places: places.collect::<Result<_>>()?,
        duplicate: union.duplicate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ascending(mut numbers: Vec<u64>) -> Sequence {
        numbers.sort_unstable();
        let mut builder = Builder::default();
        numbers.into_iter().for_each(|number| builder.push(number));
        builder.finish().unwrap()
    }

    proptest! {
        #[test]
        fn every_element_finds_its_place(lists in prop::collection::vec(prop::collection::vec(0..150u64, 0..80), 0..6)) {
            let lists: Vec<Sequence> = lists.into_iter().map(ascending).collect();
            let merged = merge(&lists).unwrap();
            let held: Vec<u64> = merged.held.numbers().collect();
            let all: Vec<u64> = lists.iter().flat_map(|list| list.numbers()).collect();
            let mut unique = all.clone();
            unique.sort_unstable();
            unique.dedup();
            prop_assert_eq!(&held, &unique);
            prop_assert_eq!(merged.duplicate.is_some(), unique.len() < all.len());
            for (list, places) in lists.iter().zip(&merged.places) {
                prop_assert_eq!(list.len(), places.len());
                for (number, place) in list.numbers().zip(places.numbers()) {
                    prop_assert_eq!(held[place as usize], number);
                }
            }
        }
    }

    #[test]
    fn interleaved_lists_become_runs() {
        let lists: Vec<Sequence> = (0..2)
            .map(|rank| ascending((0..5000).map(|i| 4 * i + rank).collect()))
            .collect();
        let merged = merge(&lists).unwrap();
        assert!(merged.held.bytes() < 100);
        assert!(merged.places.iter().all(|places| places.bytes() < 100));
    }
}
