//! Exhaustive search by backtracking, for small jobs: finds sets that meet a target, or proves that there are none.
//!
//! Sets are filled one after the other. Symmetry prunes the search: a set begins with the first free leaf, because
//! neither the order of the sets nor the start of a ring matters, and of equivalent leaves only the first free one is
//! tried. Leaves are equivalent if they are in the same domain of the innermost level with a requirement, or have the
//! same parent. A set is abandoned as soon as the leaves chosen so far miss the target.

use super::super::DomainTree;
use super::PlacementScheme;
use super::assignment::Assignment;
use super::evaluate::Evaluator;
use super::set_sizes::SetSizes;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SearchOutcome {
    Found,
    /// No placement meets the target.
    Impossible,
    /// The limit of steps was reached.
    GaveUp,
}

/// Larger jobs are not searched exhaustively.
pub(super) const MOST_RANKS: usize = 16;
const MOST_STEPS: usize = 1 << 18;

/// Searches sets of the same sizes as those of `assignment`, and replaces them if it finds any.
pub(super) fn search(
    evaluator: &mut Evaluator,
    assignment: &mut Assignment,
    target: &[u32],
) -> SearchOutcome {
    let sets = assignment.sets;
    let tree = evaluator.tree;
    let mut search = Backtracking {
        evaluator,
        target,
        sets,
        classes: equivalence_classes(tree, target),
        taken: vec![false; sets.ranks()],
        filled: Vec::with_capacity(sets.count()),
        left: [sets.count() - sets.larger(), sets.larger()],
        steps: 0,
    };
    let outcome = search.next_set();
    if outcome == SearchOutcome::Found {
        search
            .filled
            .sort_by_key(|set| std::cmp::Reverse(set.len()));
        assignment.leaves = search.filled.concat();
    }
    outcome
}

struct Backtracking<'a, 't> {
    evaluator: &'a mut Evaluator<'t>,
    target: &'a [u32],
    sets: SetSizes,
    /// The equivalence class of each leaf.
    classes: Vec<u32>,
    taken: Vec<bool>,
    filled: Vec<Vec<u32>>,
    /// How many of the smaller and of the larger sets are still to be filled.
    left: [usize; 2],
    steps: usize,
}

impl Backtracking<'_, '_> {
    fn next_set(&mut self) -> SearchOutcome {
        let Some(first) = self.taken.iter().position(|taken| !taken) else {
            return SearchOutcome::Found;
        };
        for larger in [1, 0] {
            if self.left[larger] == 0 {
                continue;
            }
            self.left[larger] -= 1;
            self.filled.push(Vec::new());
            let outcome = self.take(first as u32, self.sets.smallest() + larger);
            if outcome != SearchOutcome::Impossible {
                return outcome;
            }
            self.filled.pop();
            self.left[larger] += 1;
        }
        SearchOutcome::Impossible
    }

    /// Adds a leaf to the last set and searches on; removes it again if that fails.
    fn take(&mut self, leaf: u32, size: usize) -> SearchOutcome {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return SearchOutcome::GaveUp;
        }
        self.taken[leaf as usize] = true;
        let set = self.last_set();
        set.push(leaf);
        let outcome = match self.holds(size) {
            true => self.fill(size),
            false => SearchOutcome::Impossible,
        };
        if outcome == SearchOutcome::Impossible {
            self.last_set().pop();
            self.taken[leaf as usize] = false;
        }
        outcome
    }

    fn last_set(&mut self) -> &mut Vec<u32> {
        let last = self.filled.len() - 1;
        &mut self.filled[last]
    }

    /// Completes the last set, which shall have `size` leaves, and all further sets.
    fn fill(&mut self, size: usize) -> SearchOutcome {
        let set = self.last_set();
        if set.len() == size {
            return self.next_set();
        }
        let last = set[set.len() - 1] as usize;
        let is_ring = matches!(self.evaluator.scheme, PlacementScheme::Partner { .. });
        let start = if is_ring { 0 } else { last + 1 };
        for leaf in start..self.taken.len() {
            if !self.taken[leaf] && self.is_first_of_class(leaf) {
                let outcome = self.take(leaf as u32, size);
                if outcome != SearchOutcome::Impossible {
                    return outcome;
                }
            }
        }
        SearchOutcome::Impossible
    }

    fn is_first_of_class(&self, leaf: usize) -> bool {
        leaf == 0 || self.taken[leaf - 1] || self.classes[leaf - 1] != self.classes[leaf]
    }

    /// Whether the last set can still meet the target.
    fn holds(&mut self, size: usize) -> bool {
        let Some(set) = self.filled.last() else {
            return true;
        };
        if set.len() == size {
            return self.evaluator.shortfall(set, self.target) == 0;
        }
        let codeword = match self.evaluator.scheme {
            PlacementScheme::Partner { replicas } => set.len().checked_sub(replicas + 1),
            _ => Some(0),
        };
        codeword.is_none_or(|start| {
            let shortfall = self
                .evaluator
                .shortfall_of_codeword(&set[start..], self.target);
            shortfall == 0
        })
    }
}

/// For each leaf, the number of its class. Leaves of a class are consecutive.
fn equivalence_classes(tree: &DomainTree, target: &[u32]) -> Vec<u32> {
    let innermost = target.iter().rposition(|&failures| failures > 0);
    let outside = innermost.zip(tree.depth().checked_sub(2));
    let domain = |leaf| {
        outside.map_or(0, |(level, parents)| {
            tree.ancestor(leaf, level.min(parents)).index
        })
    };
    (0..tree.leaf_count())
        .map(|leaf| domain(leaf) as u32)
        .collect()
}
