//! Plans that were made before: a decomposition that is the same on all ranks gets the same plan.
//!
//! A plan stays as long as a decomposition uses it, and some that none uses stay in case one is made again.

use std::sync::Arc;

use super::decomp::{Layout, Outside};
use super::map::Map;
use super::plan::{Plan, Rearranger};
use super::sequence::Sequence;

/// All that a plan depends on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    map: Mark,
    map_len: usize,
    dims: Vec<u64>,
    element: usize,
    rearranger: Rearranger,
    read_only: bool,
    strict: bool,
    outside: Outside,
    block_size: u64,
    io_region: Option<(Vec<u64>, Vec<u64>)>,
}

impl Key {
    /// `regular`: the map, if it is regular.
    pub(super) fn of(layout: &Layout, regular: Option<&Map>) -> Self {
        let region = layout.io_region;
        Self {
            map: Mark::of(layout.map, regular),
            map_len: layout.map.len(),
            dims: layout.dims.to_vec(),
            element: layout.kind.size(),
            rearranger: layout.rearranger,
            read_only: layout.read_only,
            strict: layout.strict,
            outside: layout.outside,
            block_size: layout.block_size,
            io_region: region.map(|(start, count)| (start.to_vec(), count.to_vec())),
        }
    }
}

/// What a map is known again by.
#[derive(Debug, PartialEq, Eq)]
enum Mark {
    /// Its runs, which say all.
    Runs(Sequence, Sequence),
    Fingerprint([u64; LANES]),
}

impl Mark {
    fn of(entries: &[i64], regular: Option<&Map>) -> Self {
        let copied = |map: &Map| Some((map.globals.copied().ok()?, map.locals.copied().ok()?));
        match regular.and_then(copied) {
            Some((globals, locals)) => Mark::Runs(globals, locals),
            None => Mark::Fingerprint(fingerprint(entries)),
        }
    }
}

/// So many that the processor need not wait for one multiplication to begin the next.
const LANES: usize = 8;

/// 512 bits that tell maps apart.
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

struct Entry {
    key: Key,
    /// The same on all ranks.
    id: u64,
    plan: Arc<Plan>,
}

/// Plans that none uses: so many, and so many bytes.
const UNUSED: usize = 16;
const UNUSED_BYTES: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

#[derive(Default)]
pub(super) struct Cache {
    /// The newest last.
    entries: Vec<Entry>,
    made: u64,
}

impl Cache {
    /// The plan and its number, the same on all ranks that have it.
    pub(super) fn find(&self, key: &Key) -> Option<(u64, Arc<Plan>)> {
        let found = self.entries.iter().rev().find(|entry| entry.key == *key);
        found.map(|entry| (entry.id, entry.plan.clone()))
    }

    pub(super) fn insert(&mut self, key: Key, plan: Arc<Plan>) {
        self.made += 1;
        let id = self.made;
        self.entries.push(Entry { key, id, plan });
        self.trim();
    }

    /// Forgets the oldest plans that none uses, beyond what may stay.
    pub(super) fn trim(&mut self) {
        let (mut count, mut bytes) = (0, 0);
        let mut stays: Vec<bool> = Vec::with_capacity(self.entries.len());
        for entry in self.entries.iter().rev() {
            let unused = Arc::strong_count(&entry.plan) == 1;
            if unused {
                count += 1;
                bytes += entry.plan.bytes();
            }
            stays.push(!unused || (count <= UNUSED && bytes <= UNUSED_BYTES));
        }
        let mut stays = stays.into_iter().rev();
        self.entries.retain(|_| stays.next().unwrap_or(true));
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
