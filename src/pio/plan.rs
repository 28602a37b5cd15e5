//! Plans: who sends what to whom.

use super::Regions;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rearranger {
    Box,
    Subset,
}

/// Plans that may be shared.
#[derive(Default)]
pub(super) struct Cache {}

pub struct Plan {}

impl Plan {
    /// Entries of this rank's map, holes included: the least length of an array in elements.
    pub fn map_len(&self) -> usize {
        todo!()
    }

    /// Elements of this rank's map without holes: the length of a packed array.
    pub fn packed_len(&self) -> usize {
        todo!()
    }

    /// What this I/O task holds when rearranged: nothing on other ranks.
    pub fn held(&self) -> Regions {
        todo!()
    }

    /// What this I/O task gives to the file, in the order of the buffer that `exchange::collect` returns.
    pub fn written(&self) -> &Regions {
        todo!()
    }

    /// What this I/O task takes from the file, in the order of the buffer that `exchange::distribute` wants.
    pub fn read(&self) -> &Regions {
        todo!()
    }

    /// The longest such buffer of any I/O task, in elements; the same on all ranks.
    pub fn longest_buffer(&self) -> u64 {
        todo!()
    }

    /// Whether elements of the array are in no map, so that they are written with a fill value.
    pub fn has_holes(&self) -> bool {
        todo!()
    }
}
