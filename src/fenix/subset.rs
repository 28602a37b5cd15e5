//! Subsets as users write them: blocks that repeat with a stride. `Fenix_Data_subset` in C.

use super::{Regions, Result};

/// One block of elements, both ends included, and how often it comes again `stride` further on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub start: u64,
    pub end: u64,
    pub repeats: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subset {
    Empty,
    Full,
    /// `Fenix_Data_subset_create`: blocks that all repeat with one stride.
    Strided {
        blocks: Vec<Block>,
        stride: u64,
    },
    /// `Fenix_Data_subset_createv`: blocks one by one.
    Blocks(Vec<Block>),
}

impl Subset {
    /// `number` blocks, the first from `start` to `end`, each `stride` further on.
    pub fn strided(_number: i64, _start: i64, _end: i64, _stride: i64) -> Result<Subset> {
        todo!()
    }

    pub fn blocks(_bounds: &[(i64, i64)]) -> Result<Subset> {
        todo!()
    }

    /// The elements of a member of `count` elements that belong to the subset.
    pub fn regions(&self, _count: u64) -> Regions {
        todo!()
    }

    /// The simplest subset that has just these elements.
    pub fn of(_regions: &Regions) -> Subset {
        todo!()
    }

    /// Has the elements of both.
    pub fn merge(&self, _other: &Subset) -> Subset {
        todo!()
    }
}
