//! Sets of elements as sorted, disjoint, non-adjacent ranges.

use std::ops::Range;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions(Vec<Range<u64>>);

impl Regions {
    pub fn all(_count: u64) -> Regions {
        todo!()
    }

    /// The union of ranges in any order, overlapping or empty ones too.
    pub fn from_ranges(_ranges: impl IntoIterator<Item = Range<u64>>) -> Regions {
        todo!()
    }

    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// How many elements it has.
    pub fn count(&self) -> u64 {
        todo!()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has all elements of `other`.
    pub fn covers(&self, _other: &Regions) -> bool {
        todo!()
    }

    pub fn union(&self, _other: &Regions) -> Regions {
        todo!()
    }

    pub fn without(&self, _other: &Regions) -> Regions {
        todo!()
    }

    pub fn common(&self, _other: &Regions) -> Regions {
        todo!()
    }

    /// The elements below `count`.
    pub fn below(&self, _count: u64) -> Regions {
        todo!()
    }

    /// For a message to another rank.
    pub fn encode(&self) -> Vec<u8> {
        todo!()
    }

    /// `None` for bytes that are no regions.
    pub fn decode(_bytes: &[u8]) -> Option<Regions> {
        todo!()
    }
}
