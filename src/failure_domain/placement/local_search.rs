//! Randomized local search: swaps a rank of a set that misses the target tolerance with any other rank, and keeps the
//! swap if the two sets together are no worse. The random numbers are the same on all ranks.

use super::PlacementScheme;
use super::assignment::Assignment;
use super::evaluate::Evaluator;

/// The budget of a search, in ranks looked at. Small jobs get more per rank than large ones.
pub(super) fn effort(ranks: usize) -> usize {
    let of_small = MOST_EFFORT >> (2 * (ranks / SMALL).checked_ilog2().unwrap_or(0));
    of_small.max(3 * ranks)
}

const SMALL: usize = 256;
const MOST_EFFORT: usize = 1 << 20;

/// Swaps ranks until all sets meet the target or the budget is used up. Whether they do.
pub(super) fn improve(
    evaluator: &mut Evaluator,
    assignment: &mut Assignment,
    target: &[u32],
    effort: &mut usize,
) -> bool {
    let codewords = match evaluator.scheme {
        PlacementScheme::Partner { replicas } => replicas + 1,
        _ => 1,
    };
    let cost = 2 * assignment.sets.largest() * codewords;
    *effort = effort.saturating_sub(assignment.sets.ranks());
    if *effort < cost {
        return false;
    }
    let mut search = SwapSearch::new(evaluator, assignment, target);
    while let Some(set) = search.pick_short_set() {
        if *effort < cost {
            return false;
        }
        *effort -= cost;
        search.try_swap(set);
    }
    true
}

struct SwapSearch<'a, 't> {
    evaluator: &'a mut Evaluator<'t>,
    assignment: &'a mut Assignment,
    target: &'a [u32],
    /// The shortfall of each set.
    shortfalls: Vec<u64>,
    /// All sets with a shortfall, and some that had one earlier.
    short_sets: Vec<usize>,
    random: u64,
}

impl<'a, 't> SwapSearch<'a, 't> {
    fn new(
        evaluator: &'a mut Evaluator<'t>,
        assignment: &'a mut Assignment,
        target: &'a [u32],
    ) -> Self {
        let sets = 0..assignment.sets.count();
        let shortfalls: Vec<_> = sets
            .map(|set| evaluator.shortfall(assignment.set(set), target))
            .collect();
        let short_sets = (0..shortfalls.len())
            .filter(|set| shortfalls[*set] > 0)
            .collect();
        SwapSearch {
            evaluator,
            assignment,
            target,
            shortfalls,
            short_sets,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    fn pick_short_set(&mut self) -> Option<usize> {
        while !self.short_sets.is_empty() {
            let chosen = self.random_below(self.short_sets.len());
            match self.shortfalls[self.short_sets[chosen]] {
                0 => drop(self.short_sets.swap_remove(chosen)),
                _ => return Some(self.short_sets[chosen]),
            }
        }
        None
    }

    /// Swaps a random rank of the set with any other; undoes it if that is worse.
    fn try_swap(&mut self, set: usize) {
        let range = self.assignment.sets.range(set);
        let position = range.start + self.random_below(range.len());
        let other_position = self.random_below(self.assignment.leaves.len());
        let other = self.assignment.sets.at(other_position).0;
        self.assignment.leaves.swap(position, other_position);
        let changed = [set, other].map(|set| {
            let leaves = self.assignment.set(set);
            self.evaluator.shortfall(leaves, self.target)
        });
        if changed[0] + changed[1] > self.shortfalls[set] + self.shortfalls[other] {
            self.assignment.leaves.swap(position, other_position);
            return;
        }
        if self.shortfalls[other] == 0 && changed[1] > 0 {
            self.short_sets.push(other);
        }
        (self.shortfalls[set], self.shortfalls[other]) = (changed[0], changed[1]);
    }

    /// Xorshift.
    fn random_below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % limit as u64) as usize
    }
}
