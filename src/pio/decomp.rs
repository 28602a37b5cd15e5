//! A decomposition: what of a global array each rank holds, and the plan to move it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::cache::Key;
use super::map::Map;
use super::plan::{Plan, Rearranger};
use super::planning;
use super::{IoSystem, Kind, Result};
use crate::comm::{Op, Sparse};

/// What becomes of an entry of a map that is not in the array. All but the first comes with a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Outside {
    #[default]
    Refused,
    Hole,
    /// Beyond the end one counts on from the beginning.
    Wrapped,
}

impl Outside {
    /// What stands in the place of such an entry in an array of `total` elements.
    pub(super) fn replace(self, entry: i64, total: u64) -> i64 {
        match self {
            Outside::Wrapped if entry > 0 => ((entry as u64 - 1) % total) as i64 + 1,
            Outside::Hole => 0,
            _ => entry,
        }
    }
}

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
    /// What this I/O task shall hold instead of what the box rearranger chooses: start and count.
    pub io_region: Option<(&'a [u64], &'a [u64])>,
    /// The fewest bytes that an I/O task is used for.
    pub block_size: u64,
    /// Whether an element held in many places is an error for the subset rearranger too, not a warning.
    pub strict: bool,
    /// What an entry of a map is that is not in the array.
    pub outside: Outside,
}

pub struct Decomp {
    /// Of all that were made for the I/O system: the same on all ranks.
    pub number: u64,
    pub kind: Kind,
    pub dims: Vec<u64>,
    pub read_only: bool,
    pub plan: Arc<Plan>,
}

impl Decomp {
    /// Collective over the I/O system; all ranks give the same but for `map` and `io_region`.
    pub fn new<C: Sparse>(system: &IoSystem<C>, layout: &Layout) -> Result<Self> {
        let number = system.decomps.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            number,
            kind: layout.kind,
            dims: layout.dims.to_vec(),
            read_only: layout.read_only,
            plan: plan_for(system, layout)?,
        })
    }

    /// Entries of this rank's map, holes included.
    pub fn map_len(&self) -> usize {
        self.plan.map_len()
    }

    /// This rank's map as it was given: from 1, 0 for a hole.
    pub fn map(&self) -> Result<Vec<i64>> {
        self.plan.map()
    }
}

/// One that all ranks have already, or a new one.
fn plan_for<C: Sparse>(system: &IoSystem<C>, layout: &Layout) -> Result<Arc<Plan>> {
    let total = planning::total(layout.dims).ok();
    let regular = total.and_then(|total| Map::regular(layout.map, total));
    let key = Key::of(layout, regular.as_ref());
    // Kept from here on: another thread may trim the cache while ranks talk.
    let known = system.plans().find(&key);
    let own = known.as_ref().map_or(u64::MAX, |(id, _)| *id);
    let mut ends = [own, !own];
    system.comm.allreduce(Op::Min, &mut ends)?;
    let same = ends[0] == !ends[1];
    if let Some((_, plan)) = known.filter(|_| same) {
        return Ok(plan);
    }
    let plan = Arc::new(planning::plan(system, layout, regular)?);
    system.plans().insert(key, plan.clone());
    Ok(plan)
}
