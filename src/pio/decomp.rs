//! A decomposition: what of a global array each rank holds, and the plan to move it.

use std::rc::Rc;

use super::plan::{Plan, Rearranger};
use super::{IoSystem, Kind, Result};
use crate::comm::Comm;

/// What a rank asks for.
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    pub kind: Kind,
    /// Lengths of the dimensions, the slowest first.
    pub dims: &'a [u64],
    /// Offsets into the array from 1; 0 is a hole.
    pub map: &'a [i64],
    pub rearranger: Rearranger,
    /// Only for reading: an element may be held in many places.
    pub read_only: bool,
    /// What this I/O task shall hold instead of what the rearranger chooses: start and count.
    pub io_region: Option<(&'a [u64], &'a [u64])>,
    /// The fewest bytes that an I/O task is used for.
    pub block_size: u64,
    /// Whether an element held in many places is an error for the subset rearranger too, not a warning.
    pub strict: bool,
}

pub struct Decomp {
    pub kind: Kind,
    pub dims: Vec<u64>,
    pub read_only: bool,
    pub plan: Rc<Plan>,
}

impl Decomp {
    /// Collective over the I/O system; all ranks give the same but for `map` and `io_region`.
    pub fn new<C: Comm>(_system: &IoSystem<C>, _layout: &Layout) -> Result<Self> {
        todo!()
    }

    /// Entries of this rank's map, holes included.
    pub fn map_len(&self) -> usize {
        self.plan.map_len()
    }

    /// This rank's map as it was given.
    pub fn map(&self) -> Vec<i64> {
        todo!()
    }
}
