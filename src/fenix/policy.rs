//! Which ranks protect each other, computed alone by every rank from its number.

use super::Result;

/// How the shares of a group are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Mode 1: another rank holds a copy.
    Copy { separation: u32 },
    /// Mode 5: the ranks of a set hold parity of each other's shares.
    Parity { separation: u32, set_size: u32 },
}

/// A rank's neighbours in mode 1; both are the same rank unless it is in a group of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partners {
    /// Whose share this rank holds.
    pub(super) held: usize,
    /// Who holds this rank's share.
    pub(super) holder: usize,
}

impl Policy {
    /// Refuses what cannot protect a group of `ranks` ranks.
    pub(super) fn check(&self, _ranks: usize) -> Result<()> {
        todo!()
    }

    /// Mode 1.
    pub(super) fn partners(_separation: u32, _rank: usize, _ranks: usize) -> Partners {
        todo!()
    }

    /// Mode 5: the ranks of `rank`'s set, in the order of their positions; `rank` is one of them.
    pub(super) fn set_of(
        _separation: u32,
        _set_size: u32,
        _rank: usize,
        _ranks: usize,
    ) -> Vec<usize> {
        todo!()
    }
}
