//! The plans of an I/O system: a decomposition that is the same on all ranks shares the plan of an earlier one.
//!
//! A plan keep as long as a decomposition uses it; a few unused ones stay in case they are asked for again.

use std::sync::Arc;

use super::map::Map;
use super::plan::Plan;
use super::sequence::Sequence;
use super::{DecompSpec, Kind};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlanKey {
    map: MapKey,
    map_len: usize,
    /// Plans depend on the size of an element, not on its type.
    element: usize,
    spec: DecompSpec,
}

impl PlanKey {
    /// `regular`: the map, if it is regular.
    pub(super) fn of(spec: &DecompSpec, map: &[i64], regular: Option<&Map>) -> Self {
        Self {
            map: MapKey::of(map, regular),
            map_len: map.len(),
            element: spec.kind.size(),
            spec: DecompSpec {
                kind: Kind::Byte,
                ..spec.clone()
            },
        }
    }
}

/// Identifies a map without keeping it whole.
#[derive(Debug, PartialEq, Eq)]
enum MapKey {
    /// Runs of offsets in the global array and in the local one.
    Runs(Sequence, Sequence),
    Fingerprint([u64; LANES]),
}

impl MapKey {
    fn of(entries: &[i64], regular: Option<&Map>) -> Self {
        let copied = |map: &Map| Some((map.globals.copied().ok()?, map.locals.copied().ok()?));
        match regular.and_then(copied) {
            Some((globals, locals)) => MapKey::Runs(globals, locals),
            None => MapKey::Fingerprint(fingerprint(entries)),
        }
    }
}

/// Independent multiplications, so that the processor overlaps them.
const LANES: usize = 8;

/// A 512-bit hash of a map.
fn fingerprint(map: &[i64]) -> [u64; LANES] {
    const FACTORS: [u64; LANES] = [
        0x9e37_79b9_7f4a_7c15,
        0xd6e8_feb8_6659_fd93,
        0xa076_1d64_78bd_642f,
        0xe703_7ed1_a0b4_28db,
        0x8ebc_6af0_9c88_c6e3,
        0x5899_65cc_7537_4cc3,
        0x1d8e_4e27_c47d_124f,
        0xeb44_acca_b455_d165,
    ];
    let fold = |lane: u64, entry: i64, factor: u64| {
        let product = u128::from(lane ^ entry as u64) * u128::from(factor);
        product as u64 ^ (product >> 64) as u64
    };
    let mut lanes = [1, 2, 3, 4, 5, 6, 7, 8];
    let groups = map.chunks_exact(LANES);
    let rest = groups.remainder();
    for group in groups {
        for lane in 0..LANES {
            lanes[lane] = fold(lanes[lane], group[lane], FACTORS[lane]);
        }
    }
    for (lane, entry) in rest.iter().enumerate() {
        lanes[lane] = fold(lanes[lane], *entry, FACTORS[lane]);
    }
    lanes
}

struct CachedPlan {
    key: PlanKey,
    /// The same on all ranks.
    id: u64,
    plan: Arc<Plan>,
}

/// Limits on unused cached plans.
const MAX_UNUSED: usize = 16;
const MAX_UNUSED_BYTES: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

#[derive(Default)]
pub(super) struct PlanCache {
    /// The newest last.
    entries: Vec<CachedPlan>,
    made: u64,
}

impl PlanCache {
    /// The plan and its id, which is the same on all ranks that have the plan.
    pub(super) fn find(&self, key: &PlanKey) -> Option<(u64, Arc<Plan>)> {
        let found = self.entries.iter().rev().find(|entry| entry.key == *key);
        found.map(|entry| (entry.id, entry.plan.clone()))
    }

    pub(super) fn insert(&mut self, key: PlanKey, plan: Arc<Plan>) {
        self.made += 1;
        let id = self.made;
        self.entries.push(CachedPlan { key, id, plan });
        self.trim();
    }

    /// Drops the oldest unused plans beyond the limits.
    pub(super) fn trim(&mut self) {
        let (mut count, mut bytes) = (0, 0);
        let mut keep: Vec<bool> = Vec::with_capacity(self.entries.len());
        for entry in self.entries.iter().rev() {
            let unused = Arc::strong_count(&entry.plan) == 1;
            if unused {
                count += 1;
                bytes += entry.plan.bytes();
            }
            keep.push(!unused || (count <= MAX_UNUSED && bytes <= MAX_UNUSED_BYTES));
        }
        let mut keep = keep.into_iter().rev();
        self.entries.retain(|_| keep.next().unwrap_or(true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_that_differ_a_little_are_told_apart() {
        let map: Vec<i64> = (1..1000).collect();
        let mut seen = std::collections::HashSet::from([fingerprint(&map), fingerprint(&map[1..])]);
        for at in 0..map.len() {
            for change in [1, -1, 64, 1 << 40] {
                let mut other = map.clone();
                other[at] += change;
                assert!(seen.insert(fingerprint(&other)));
            }
        }
        for at in 1..map.len() {
            let mut swapped = map.clone();
            swapped.swap(at - 1, at);
            assert!(seen.insert(fingerprint(&swapped)));
        }
    }
}
