//! Plans: who sends which elements to whom, and which regions of the array the file sees.
//!
//! [`make`] turns the maps of all ranks into a plan:
//!
//! - `box_rearranger`: each rank computes which I/O task every one of its elements belongs to (`blocks`) and tells the
//!   tasks; only from these messages does a task learn who sends to it (`pattern`).
//! - `subset_rearranger`: each rank sends its map to the I/O task of its group, which merges them (`merge`). Then the box
//!   rearranger runs among the I/O tasks alone, on what they hold. It finds elements that several groups hold
//!   (`coverage`), and its exchange is kept if writing or reading blocks pays.
//!
//! A rank that fails locally goes on without elements until the next agreement.

use std::ops::Range;

use super::map::Map;
use super::sequence::Sequence;
use super::{DecompSpec, Error, Hyperslabs, IoSystem, Outside, Result, agree_with, alloc};
use crate::comm::{Comm, Sparse};
use crate::log;

mod blocks;
mod box_rearranger;
mod coverage;
mod merge;
pub(super) mod pattern;
mod subset_rearranger;
#[cfg(test)]
mod tests;

use pattern::Pattern;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rearranger {
    Box,
    Subset,
}

/// Immutable; equal decompositions share one.
pub struct Plan {
    pub(super) map_len: usize,
    /// Offsets in the global array of this rank's elements, in the order in which they are sent.
    pub(super) globals: Sequence,
    /// From the ranks to the I/O tasks.
    pub(super) to_io: Pattern,
    /// Among the I/O tasks, from what they hold to blocks. Empty on other ranks.
    pub(super) to_blocks: Pattern,
    /// Whether writes and reads go through `to_blocks`: the same on all ranks.
    pub(super) writes_blocks: bool,
    pub(super) reads_blocks: bool,
    /// Whether all I/O tasks can send what they read piece by piece: the same on all ranks.
    pub(super) streams: bool,
    pub(super) holding: HeldElements,
    /// `holding` as regions, if the file sees them.
    pub(super) held_regions: Hyperslabs,
    /// The blocks that `to_blocks` leads to.
    pub(super) blocks: Hyperslabs,
    pub(super) longest: u64,
    pub(super) has_holes: bool,
}

/// What an I/O task holds after the rearrangement.
pub(super) enum HeldElements {
    Nothing,
    Hyperslabs(Hyperslabs),
    /// Ascending offsets in an array of these dimensions.
    Elements(Vec<u64>, Sequence),
}

impl HeldElements {
    fn regions(&self) -> Result<Hyperslabs> {
        match self {
            HeldElements::Nothing => Ok(Hyperslabs::default()),
            HeldElements::Hyperslabs(regions) => Ok(regions.clone()),
            HeldElements::Elements(dims, elements) => Hyperslabs::of_sequence(dims, elements),
        }
    }
}

impl Plan {
    /// Entries of this rank's map, holes included: the least length of an array in elements.
    pub fn map_len(&self) -> usize {
        self.map_len
    }

    /// This rank's map as it was given: counted from 1, 0 for a hole.
    pub fn map(&self) -> Result<Vec<i64>> {
        let mut map = alloc::list(self.map_len)?;
        map.resize(self.map_len, 0);
        let peers = self.to_io.out.iter();
        let locals = peers.flat_map(|peer| peer.places.numbers());
        for (local, global) in locals.zip(self.globals.numbers()) {
            map[local as usize] = global as i64 + 1;
        }
        Ok(map)
    }

    /// Elements of this rank's map without holes: the length of a packed array.
    pub fn packed_len(&self) -> usize {
        self.to_io.given() as usize
    }

    /// What this I/O task holds when rearranged; nothing on other ranks.
    pub fn held(&self) -> Result<Hyperslabs> {
        self.holding.regions()
    }

    /// Elements that this I/O task holds when rearranged.
    pub fn held_len(&self) -> u64 {
        self.to_io.length
    }

    /// The regions that this I/O task writes, in the order of the buffer that `exchange::collect` returns.
    pub fn written(&self) -> &Hyperslabs {
        match self.writes_blocks {
            true => &self.blocks,
            false => &self.held_regions,
        }
    }

    /// The regions that this I/O task reads, in the order of the buffer that [`super::exchange::Scatter`] wants.
    pub fn read(&self) -> &Hyperslabs {
        match self.reads_blocks {
            true => &self.blocks,
            false => &self.held_regions,
        }
    }

    /// Elements of the longest such buffer of any I/O task; the same on all ranks.
    pub fn longest_buffer(&self) -> u64 {
        self.longest
    }

    /// Whether elements of the array are in no map, so that a fill value is written for them.
    pub fn has_holes(&self) -> bool {
        self.has_holes
    }

    /// Bytes in memory, approximately.
    pub fn bytes(&self) -> usize {
        let held = match &self.holding {
            HeldElements::Elements(_, elements) => elements.bytes(),
            _ => 0,
        };
        self.globals.bytes() + self.to_io.bytes() + self.to_blocks.bytes() + held
    }
}

/// `regular`: this rank's map, if it is regular. Collective.
pub(super) fn make<C: Sparse>(
    system: &IoSystem<C>,
    spec: &DecompSpec,
    map: &[i64],
    regular: Option<Map>,
) -> Result<Plan> {
    match spec.rearranger {
        Rearranger::Box => box_rearranger::plan(system, spec, map, regular),
        Rearranger::Subset => subset_rearranger::plan(system, spec, map, regular),
    }
}

/// The number of elements of an array.
pub(super) fn total(dims: &[u64]) -> Result<u64> {
    let product = dims.iter().try_fold(1u64, |total, d| total.checked_mul(*d));
    match product.filter(|total| *total > 0 && *total <= i64::MAX as u64) {
        Some(total) if !dims.is_empty() => Ok(total),
        _ => Err(Error::Invalid(format!(
            "{dims:?} are no dimensions of an array"
        ))),
    }
}

/// This rank's map, sorted within the parts of the array for which `sorted` holds.
fn parse_map(
    spec: &DecompSpec,
    entries: &[i64],
    rank: usize,
    sorted: impl Fn(Range<u64>) -> bool,
) -> Result<Map> {
    let total = total(&spec.dims)?;
    let parse = |entries: &[i64]| Map::sorted_within(entries, total, rank, &sorted);
    match parse(entries) {
        Err(wrong @ Error::Bounds { .. }) if spec.outside != Outside::Refused => {
            let (entries, replaced) = replace_outside(spec.outside, entries, total)?;
            let map = parse(&entries)?;
            let how = match spec.outside {
                Outside::Wrapped => "wrapped around to the beginning of the array",
                _ => "taken for holes",
            };
            log!(Warning, "{wrong}; {replaced} such entries are {how}");
            Ok(map)
        }
        parsed => parsed,
    }
}

/// A copy of the map without entries outside of the array, and how many of them were replaced.
fn replace_outside(outside: Outside, map: &[i64], total: u64) -> Result<(Vec<i64>, usize)> {
    let mut copy = alloc::copy(map)?;
    let mut replaced = 0;
    let is_outside = |entry: i64| entry < 0 || entry as u64 > total;
    for entry in copy.iter_mut().filter(|entry| is_outside(**entry)) {
        replaced += 1;
        match outside {
            Outside::Wrapped if *entry > 0 => *entry = ((*entry as u64 - 1) % total) as i64 + 1,
            Outside::Hole => *entry = 0,
            _ => {}
        }
    }
    Ok((copy, replaced))
}

/// The last agreement of both rearrangers: any failure of `own`; the longest buffer of all I/O tasks; and whether all of
/// them can send what they read piece by piece.
fn agree_on_end<C: Comm, T>(
    system: &IoSystem<C>,
    own: Result<T>,
    longest: u64,
    to_io: &Pattern,
) -> Result<(T, u64, bool)> {
    let mut least = [u64::MAX - longest, to_io.ascends().into()];
    let own = agree_with(&system.comm, own, &mut least)?;
    Ok((own, u64::MAX - least[0], least[1] == 1))
}
