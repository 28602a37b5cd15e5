//! Rectangles of an array of up to many dimensions: what goes to the file libraries.

use super::{Error, Result};

/// Regions of one array, in ascending order, each with a start and a count in every dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions {
    dimensions: usize,
    length: usize,
    starts: Vec<u64>,
    counts: Vec<u64>,
}

impl Regions {
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            ..Self::default()
        }
    }

    /// Nothing yet, with room for so many.
    pub fn with_room(dimensions: usize, length: usize) -> Result<Self> {
        let mut regions = Self::new(dimensions);
        let words = length.saturating_mul(dimensions);
        let short = |_| Error::Memory((words as u64).saturating_mul(16));
        regions.starts.try_reserve_exact(words).map_err(short)?;
        regions.counts.try_reserve_exact(words).map_err(short)?;
        Ok(regions)
    }

    pub fn push(&mut self, start: &[u64], count: &[u64]) {
        debug_assert!(start.len() == self.dimensions && count.len() == self.dimensions);
        self.starts.extend_from_slice(start);
        self.counts.extend_from_slice(count);
        self.length += 1;
    }

    /// How many regions there are.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many elements they hold together.
    pub fn elements(&self) -> u64 {
        self.iter()
            .map(|(_, count)| count.iter().product::<u64>())
            .sum()
    }

    /// Start and count of each.
    pub fn iter(&self) -> impl Iterator<Item = (&[u64], &[u64])> + Clone {
        (0..self.length).map(|at| self.at(at))
    }

    pub fn at(&self, index: usize) -> (&[u64], &[u64]) {
        let range = index * self.dimensions..(index + 1) * self.dimensions;
        (&self.starts[range.clone()], &self.counts[range])
    }
}
