//! Decompositions: which elements of a global array each rank holds, and the plan that moves them.
//!
//! [`Decomp::new`] looks for the plan in the I/O system's cache; unless all ranks find the same one there, they make a
//! new one ([`plan::make`]).

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::cache::PlanKey;
use super::map::Map;
use super::plan::{self, Plan, Rearranger};
use super::{IoSystem, Kind, Result};
use crate::comm::{Op, Sparse};

/// How to treat map entries outside of the array. All but the first log a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Outside {
    #[default]
    Refused,
    Hole,
    /// Entries past the end wrap around; negative ones are refused.
    Wrapped,
}

/// All that a plan depends on, except for the rank's map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecompSpec {
    pub kind: Kind,
    /// Lengths of the dimensions, the slowest first.
    pub dims: Vec<u64>,
    pub rearranger: Rearranger,
    /// Only for reading: several ranks may hold the same element.
    pub read_only: bool,
    /// Start and count of the region that this I/O task shall hold (box only), in place of an even block.
    pub io_region: Option<(Vec<u64>, Vec<u64>)>,
    /// An I/O task is used only if it gets at least this many bytes.
    pub block_size: u64,
    /// Whether the subset rearranger, too, refuses elements that several ranks hold, instead of warning.
    pub strict: bool,
    pub outside: Outside,
}

impl DecompSpec {
    /// For writing, with blocks of any size; map entries outside of the array are refused.
    pub fn new(kind: Kind, dims: Vec<u64>, rearranger: Rearranger) -> Self {
        Self {
            kind,
            dims,
            rearranger,
            read_only: false,
            io_region: None,
            block_size: 1,
            strict: false,
            outside: Outside::Refused,
        }
    }

    /// What all ranks must give alike: everything but `io_region`.
    pub fn common(&self) -> impl Hash + '_ {
        let options = (self.read_only, self.block_size, self.strict, self.outside);
        (self.kind, &self.dims, self.rearranger, options)
    }
}

pub struct Decomp {
    /// Counts the decompositions of the I/O system: the same on all ranks.
    pub number: u64,
    pub kind: Kind,
    pub dims: Vec<u64>,
    pub read_only: bool,
    pub plan: Arc<Plan>,
}

impl Decomp {
    /// `map` holds offsets into the array, counted from 1, and 0 for holes. All ranks give the same
    /// [`DecompSpec::common`]. Collective over the I/O system.
    pub fn new<C: Sparse>(system: &IoSystem<C>, spec: &DecompSpec, map: &[i64]) -> Result<Self> {
        let number = system.decomps.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            number,
            kind: spec.kind,
            dims: spec.dims.clone(),
            read_only: spec.read_only,
            plan: find_or_make_plan(system, spec, map)?,
        })
    }

    /// Entries of this rank's map, holes included.
    pub fn map_len(&self) -> usize {
        self.plan.map_len()
    }

    /// This rank's map as it was given: counted from 1, 0 for a hole.
    pub fn map(&self) -> Result<Vec<i64>> {
        self.plan.map()
    }
}

fn find_or_make_plan<C: Sparse>(
    system: &IoSystem<C>,
    spec: &DecompSpec,
    map: &[i64],
) -> Result<Arc<Plan>> {
    let total = plan::total(&spec.dims).ok();
    let regular = total.and_then(|total| Map::regular(map, total));
    let key = PlanKey::of(spec, map, regular.as_ref());
    // Holding the Arc keeps the plan: another thread may trim the cache during the allreduce.
    let cached = system.plans().find(&key);
    let own = cached.as_ref().map_or(u64::MAX, |(id, _)| *id);
    let mut ends = [own, !own];
    system.comm.allreduce(Op::Min, &mut ends)?;
    let same_on_all = ends[0] == !ends[1];
    if let Some((_, plan)) = cached.filter(|_| same_on_all) {
        return Ok(plan);
    }
    let plan = Arc::new(plan::make(system, spec, map, regular)?);
    system.plans().insert(key, plan.clone());
    Ok(plan)
}
