//! Hyperslabs of an array: what the file libraries write and read.

use super::sequence::{Run, Sequence};
use super::{Result, alloc};

/// Hyperslabs of one array, in ascending order, each with a start and a count in every dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hyperslabs {
    dimensions: usize,
    length: usize,
    starts: Vec<u64>,
    counts: Vec<u64>,
}

impl Hyperslabs {
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            ..Self::default()
        }
    }

    /// Empty, with capacity for `length` regions.
    pub fn with_room(dimensions: usize, length: usize) -> Result<Self> {
        let words = length.saturating_mul(dimensions);
        Ok(Self {
            starts: alloc::list(words)?,
            counts: alloc::list(words)?,
            ..Self::new(dimensions)
        })
    }

    pub fn push(&mut self, start: &[u64], count: &[u64]) {
        debug_assert!(start.len() == self.dimensions && count.len() == self.dimensions);
        self.starts.extend_from_slice(start);
        self.counts.extend_from_slice(count);
        self.length += 1;
    }

    /// The number of regions.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The number of elements of all regions together.
    pub fn elements(&self) -> u64 {
        self.iter()
            .map(|(_, count)| count.iter().product::<u64>())
            .sum()
    }

    /// Start and count of each region.
    pub fn iter(&self) -> impl Iterator<Item = (&[u64], &[u64])> + Clone {
        (0..self.length).map(|at| self.at(at))
    }

    pub fn at(&self, index: usize) -> (&[u64], &[u64]) {
        let range = index * self.dimensions..(index + 1) * self.dimensions;
        (&self.starts[range.clone()], &self.counts[range])
    }

    /// A copy of one of them.
    pub(super) fn one(&self, index: usize) -> Self {
        let (start, count) = self.at(index);
        let mut one = Self::new(self.dimensions);
        one.push(start, count);
        one
    }

    /// The number of elements of one region.
    pub fn elements_at(&self, index: usize) -> u64 {
        self.at(index).1.iter().product()
    }

    /// The number of elements of the largest region.
    pub fn longest(&self) -> u64 {
        let lengths = (0..self.length).map(|at| self.elements_at(at));
        lengths.max().unwrap_or(0)
    }

    /// Adds the hyperslabs that make up a range of elements: as few and as large as possible.
    pub fn push_range(&mut self, dims: &[u64], start: u64, end: u64) {
        let mut at = start;
        while at < end {
            let (dimension, inner) = outermost(dims, at, end - at);
            let mut corner = vec![0; dims.len()];
            let mut rest = at;
            for (corner, length) in corner.iter_mut().zip(dims).rev() {
                (*corner, rest) = (rest % length, rest / length);
            }
            let mut count = vec![1; dims.len()];
            count[dimension + 1..].copy_from_slice(&dims[dimension + 1..]);
            count[dimension] = (dims[dimension] - corner[dimension]).min((end - at) / inner);
            self.push(&corner, &count);
            at += count[dimension] * inner;
        }
    }

    /// The hyperslabs of ascending elements, in their order.
    pub(super) fn of_sequence(dims: &[u64], elements: &Sequence) -> Result<Self> {
        let mut regions = Self::new(dims.len());
        for run in elements.runs() {
            regions.grow(1)?;
            if !regions.push_rows(dims, &run) {
                for index in 0..run.repeat {
                    let start = run.block_at(index);
                    // A range has fewer hyperslabs than that.
                    regions.grow(2 * dims.len())?;
                    regions.push_range(dims, start, start + run.length);
                }
            }
        }
        Ok(regions)
    }

    fn grow(&mut self, more: usize) -> Result<()> {
        let words = more * self.dimensions;
        alloc::grow(&mut self.starts, words)?;
        alloc::grow(&mut self.counts, words)
    }

    /// Adds a run as one hyperslab, if it consists of equal parts of consecutive rows.
    fn push_rows(&mut self, dims: &[u64], run: &Run) -> bool {
        let [.., rows, row] = *dims else {
            return false;
        };
        let column = run.start % row;
        let first = run.start / row % rows;
        let below = run.repeat > 1 && run.stride == row as i64;
        if !below || column + run.length > row || first + run.repeat > rows {
            return false;
        }
        let mut rest = run.start / row / rows;
        let mut corner = vec![0; dims.len()];
        let outer = dims.len() - 2;
        for (corner, length) in corner.iter_mut().zip(&dims[..outer]).rev() {
            (*corner, rest) = (rest % length, rest / length);
        }
        corner[outer..].copy_from_slice(&[first, column]);
        let mut count = vec![1; dims.len()];
        count[outer..].copy_from_slice(&[run.repeat, run.length]);
        self.push(&corner, &count);
        true
    }
}

/// The outermost dimension along which a whole step starts at `at` and ends within `left` elements; and the step's
/// length.
fn outermost(dims: &[u64], at: u64, left: u64) -> (usize, u64) {
    let mut inner = dims.iter().product::<u64>();
    for (dimension, length) in dims.iter().enumerate() {
        inner /= length;
        if at % inner == 0 && left >= inner {
            return (dimension, inner);
        }
    }
    (dims.len() - 1, 1)
}

#[cfg(test)]
mod tests {
    use super::super::sequence::Builder;
    use super::*;
    use proptest::prelude::*;

    /// The elements of regions in their order.
    fn elements(dims: &[u64], regions: &Hyperslabs) -> Vec<u64> {
        let mut found = Vec::new();
        for (start, count) in regions.iter() {
            for place in 0..count.iter().product::<u64>() {
                let (mut rest, mut element, mut inner) = (place, 0, 1);
                for dimension in (0..dims.len()).rev() {
                    element += (start[dimension] + rest % count[dimension]) * inner;
                    rest /= count[dimension];
                    inner *= dims[dimension];
                }
                found.push(element);
            }
        }
        found
    }

    proptest! {
        #[test]
        fn a_range_is_few_rectangles(dims in prop::collection::vec(1..6u64, 1..7), ends in any::<[prop::sample::Index; 2]>()) {
            let total = dims.iter().product::<u64>();
            let mut ends = ends.map(|end| end.index(total as usize + 1) as u64);
            ends.sort_unstable();
            let mut regions = Hyperslabs::new(dims.len());
            regions.push_range(&dims, ends[0], ends[1]);
            prop_assert!(regions.len() < 2 * dims.len());
            prop_assert_eq!(elements(&dims, &regions), (ends[0]..ends[1]).collect::<Vec<_>>());
        }

        #[test]
        fn regions_hold_their_sequence(dims in prop::collection::vec(1..9u64, 1..5), picked in any::<u64>(), step in 1..7u64) {
            let total = dims.iter().product::<u64>();
            let held: Vec<u64> = (0..total).filter(|e| (picked >> (e / step % 64)) & 1 == 1).collect();
            let mut sequence = Builder::default();
            held.iter().for_each(|element| sequence.push(*element));
            let regions = Hyperslabs::of_sequence(&dims, &sequence.finish().unwrap()).unwrap();
            prop_assert_eq!(elements(&dims, &regions), held);
        }
    }

    #[test]
    fn a_tile_is_one_rectangle() {
        let mut tile = Builder::default();
        (3..9).for_each(|row| tile.push_block(row * 20 + 5, 7));
        let regions = Hyperslabs::of_sequence(&[4, 10, 20], &tile.finish().unwrap()).unwrap();
        assert_eq!(regions.len(), 1);
        assert_eq!(regions.at(0), (&[0, 3, 5][..], &[1, 6, 7][..]));
    }
}
