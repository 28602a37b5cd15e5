//! Plans: who sends what to whom, and what of it the file sees.

use super::route::Route;
use super::sequence::Sequence;
use super::{Regions, Result, memory};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rearranger {
    Box,
    Subset,
}

/// Immutable once it is made; decompositions that are the same share one.
pub struct Plan {
    pub(super) map_len: usize,
    /// The elements of this rank in the order in which they are sent.
    pub(super) globals: Sequence,
    /// From the ranks to the I/O tasks.
    pub(super) first: Route,
    /// Among the I/O tasks: from what they hold to blocks. Empty on other ranks.
    pub(super) second: Route,
    /// Whether data take the second way in writing and in reading: the same on all ranks.
    pub(super) writes_blocks: bool,
    pub(super) reads_blocks: bool,
    /// Whether all I/O tasks can send on what they read piece by piece: the same on all ranks.
    pub(super) streams: bool,
    pub(super) held: Held,
    /// What is held, as regions, if the file sees them.
    pub(super) straight: Regions,
    /// Blocks that the second way leads to.
    pub(super) blocks: Regions,
    pub(super) longest: u64,
    pub(super) has_holes: bool,
}

/// What an I/O task holds.
pub(super) enum Held {
    Nothing,
    Regions(Regions),
    /// Of an array with these dimensions, in ascending order.
    Elements(Vec<u64>, Sequence),
}

impl Held {
    pub(super) fn regions(&self) -> Result<Regions> {
        match self {
            Held::Nothing => Ok(Regions::default()),
            Held::Regions(regions) => Ok(regions.clone()),
            Held::Elements(dims, elements) => Regions::of_sequence(dims, elements),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Held::Elements(_, elements) => elements.bytes(),
            _ => 0,
        }
    }
}

impl Plan {
    /// Entries of this rank's map, holes included: the least length of an array in elements.
    pub fn map_len(&self) -> usize {
        self.map_len
    }

    /// This rank's map as it was given: from 1, 0 for a hole.
    pub fn map(&self) -> Result<Vec<i64>> {
        let mut map = memory::list(self.map_len)?;
        map.resize(self.map_len, 0);
        let legs = self.first.out.iter();
        let locals = legs.flat_map(|leg| leg.places.numbers());
        for (local, global) in locals.zip(self.globals.numbers()) {
            map[local as usize] = global as i64 + 1;
        }
        Ok(map)
    }

    /// Elements of this rank's map without holes: the length of a packed array.
    pub fn packed_len(&self) -> usize {
        self.first.given() as usize
    }

    /// What this I/O task holds when rearranged: nothing on other ranks.
    pub fn held(&self) -> Result<Regions> {
        self.held.regions()
    }

    /// How many elements these are.
    pub fn held_len(&self) -> u64 {
        self.first.length
    }

    /// What this I/O task gives to the file, in the order of the buffer that `exchange::collect` returns.
    pub fn written(&self) -> &Regions {
        if self.writes_blocks {
            &self.blocks
        } else {
            &self.straight
        }
    }

    /// What this I/O task takes from the file, in the order of the buffer that [`super::exchange::Homeward`] wants.
    pub fn read(&self) -> &Regions {
        if self.reads_blocks {
            &self.blocks
        } else {
            &self.straight
        }
    }

    /// The longest such buffer of any I/O task, in elements; the same on all ranks.
    pub fn longest_buffer(&self) -> u64 {
        self.longest
    }

    /// Whether elements of the array are in no map, so that they are written with a fill value.
    pub fn has_holes(&self) -> bool {
        self.has_holes
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        self.globals.bytes() + self.first.bytes() + self.second.bytes() + self.held.bytes()
    }
}
