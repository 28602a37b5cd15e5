//! Repairs sets that miss a target by exchanging ranks: one of a set that misses it with any other rank, whenever
//! this makes the two sets together no worse. The choice is by chance, but the same everywhere.

use super::Scheme;
use super::draft::Draft;
use super::rules::Rules;

/// How many ranks may be looked at for one draft: more for each rank of small jobs than of large ones.
pub(super) fn effort(ranks: usize) -> usize {
    let of_small = MOST_EFFORT >> (2 * (ranks / SMALL).checked_ilog2().unwrap_or(0));
    of_small.max(3 * ranks)
}

const SMALL: usize = 256;
const MOST_EFFORT: usize = 1 << 20;

/// Whether the draft meets the target in the end; takes what was needed from the effort.
pub(super) fn repair(
    rules: &mut Rules,
    draft: &mut Draft,
    target: &[u32],
    effort: &mut usize,
) -> bool {
    let circles = match rules.scheme {
        Scheme::Partner { replicas } => replicas + 1,
        _ => 1,
    };
    let each = 2 * draft.sets.largest() * circles;
    *effort = effort.saturating_sub(draft.sets.ranks());
    if *effort < each {
        return false;
    }
    let mut repair = Repair::new(rules, draft, target);
    while let Some(set) = repair.a_bad_set() {
        if *effort < each {
            return false;
        }
        *effort -= each;
        repair.attempt(set);
    }
    true
}

struct Repair<'a, 't> {
    rules: &'a mut Rules<'t>,
    draft: &'a mut Draft,
    target: &'a [u32],
    /// Of each set: by how much it misses the target.
    short: Vec<u64>,
    /// All sets that miss it, and some that did.
    bad: Vec<usize>,
    chance: u64,
}

impl<'a, 't> Repair<'a, 't> {
    fn new(rules: &'a mut Rules<'t>, draft: &'a mut Draft, target: &'a [u32]) -> Self {
        let sets = 0..draft.sets.count();
        let short: Vec<_> = sets
            .map(|set| rules.shortfall(draft.set(set), target))
            .collect();
        let bad = (0..short.len()).filter(|set| short[*set] > 0).collect();
        Repair {
            rules,
            draft,
            target,
            short,
            bad,
            chance: 0x9e37_79b9_7f4a_7c15,
        }
    }

    fn a_bad_set(&mut self) -> Option<usize> {
        while !self.bad.is_empty() {
            let chosen = self.choose(self.bad.len());
            match self.short[self.bad[chosen]] {
                0 => drop(self.bad.swap_remove(chosen)),
                _ => return Some(self.bad[chosen]),
            }
        }
        None
    }

    fn attempt(&mut self, set: usize) {
        let range = self.draft.sets.range(set);
        let place = range.start + self.choose(range.len());
        let other_place = self.choose(self.draft.leaves.len());
        let other = self.draft.sets.at(other_place).0;
        self.draft.leaves.swap(place, other_place);
        let changed = [set, other].map(|set| self.measure(set));
        if changed[0] + changed[1] > self.short[set] + self.short[other] {
            self.draft.leaves.swap(place, other_place);
            return;
        }
        if self.short[other] == 0 && changed[1] > 0 {
            self.bad.push(other);
        }
        (self.short[set], self.short[other]) = (changed[0], changed[1]);
    }

    fn measure(&mut self, set: usize) -> u64 {
        self.rules.shortfall(self.draft.set(set), self.target)
    }

    fn choose(&mut self, count: usize) -> usize {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance % count as u64) as usize
    }
}
