//! What the ranks of a subset hold together, in ascending order.
//!
//! The lists of the ranks ascend, so the union is made by always taking the block that starts lowest. An
//! element that several ranks hold gets one place, where each of them finds it. Lists that repeat side by side, as those
//! of strided maps, are merged by arithmetic ([`Period`]) as long as all of them repeat.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::pio::Result;
use crate::pio::sequence::{BlockIter, Builder, Form, Run, Sequence};

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
    /// Adds what is there periodically; nothing has been added before.
    fn repeat(&mut self, period: &Period) {
        let run = Run {
            start: period.start,
            length: period.length,
            stride: period.stride,
            repeat: period.repeat,
        };
        self.length = run.count();
        (self.start, self.place) = match run.stride == run.length as i64 {
            true => (run.start, 0),
            false => (run.block_at(run.repeat - 1), self.length - run.length),
        };
        self.end = self.start + (self.length - self.place);
        push_repeated(&mut self.held, run);
    }

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

/// Lists of one run each, of equal stride, whose first blocks follow each other without a gap before the first of them
/// repeats.
struct Period {
    /// The lists and their runs, in ascending order.
    blocks: Vec<(usize, Run)>,
    start: u64,
    /// Of the blocks together.
    length: u64,
    stride: i64,
    /// How often all of them are there.
    repeat: u64,
}

impl Period {
    fn of(lists: &[Sequence]) -> Option<Self> {
        let mut blocks = Vec::with_capacity(lists.len());
        for (at, list) in lists
            .iter()
            .enumerate()
            .filter(|(_, list)| !list.is_empty())
        {
            match &list.form {
                Form::Runs(runs) if runs.len() == 1 => blocks.push((at, runs[0])),
                _ => return None,
            }
        }
        blocks.sort_unstable_by_key(|(_, run)| run.start);
        let (first, stride) = blocks.first().map(|(_, run)| (run.start, run.stride))?;
        let mut end = first;
        for (_, run) in &blocks {
            if run.start != end || run.stride != stride {
                return None;
            }
            end += run.length;
        }
        let length = end - first;
        let repeat = blocks.iter().map(|(_, run)| run.repeat).min()?;
        let fits = repeat > 1 && stride >= 0 && length <= stride as u64;
        fits.then_some(Self {
            blocks,
            start: first,
            length,
            stride,
            repeat,
        })
    }

    /// Where the repeated blocks of a list are among those held.
    fn place_of(&self, run: &Run) -> Run {
        Run {
            start: run.start - self.start,
            length: run.length,
            stride: self.length as i64,
            repeat: self.repeat,
        }
    }
}

fn push_repeated(builder: &mut Builder, run: Run) {
    match run.stride == run.length as i64 {
        true => builder.push_block(run.start, run.length * run.repeat),
        false => builder.push_run(run),
    }
}

pub(super) fn merge(lists: &[Sequence]) -> Result<Merged> {
    let mut blocks: Vec<BlockIter> = lists.iter().map(Sequence::blocks).collect();
    let mut places: Vec<Builder> = lists.iter().map(|_| Builder::default()).collect();
    let mut union = Union::default();
    if let Some(period) = Period::of(lists) {
        union.repeat(&period);
        for (list, run) in &period.blocks {
            push_repeated(&mut places[*list], period.place_of(run));
            blocks[*list].skip_blocks(period.repeat);
        }
    }
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

    fn check(lists: &[Sequence]) -> std::result::Result<(), TestCaseError> {
        let merged = merge(lists).unwrap();
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
        Ok(())
    }

    proptest! {
        #[test]
        fn every_element_finds_its_place(lists in prop::collection::vec(prop::collection::vec(0..150u64, 0..80), 0..6)) {
            let lists: Vec<Sequence> = lists.into_iter().map(ascending).collect();
            check(&lists)?;
        }
    }

    proptest! {
        #[test]
        fn strided_lists_are_merged_as_any_others(
            counts in prop::collection::vec(0..9u64, 1..5),
            stride in 1..7u64,
            first in 0..3u64,
            shift in 0..2u64,
        ) {
            let list = |(rank, count): (usize, &u64)| {
                let start = first + rank as u64 + if rank > 1 { shift } else { 0 };
                ascending((0..*count).map(|i| start + i * stride).collect())
            };
            let lists: Vec<Sequence> = counts.iter().enumerate().map(list).collect();
            check(&lists)?;
        }

        #[test]
        fn repeated_blocks_are_merged_as_any_others(
            counts in prop::collection::vec(1..9u64, 1..5),
            length in 1..4u64,
            gap in 0..3u64,
        ) {
            let stride = counts.len() as u64 * length + gap;
            let list = |(rank, count): (usize, &u64)| {
                let start = rank as u64 * length;
                ascending((0..*count).flat_map(|i| (0..length).map(move |k| start + i * stride + k)).collect())
            };
            let lists: Vec<Sequence> = counts.iter().enumerate().map(list).collect();
            check(&lists)?;
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
