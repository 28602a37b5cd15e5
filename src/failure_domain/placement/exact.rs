//! Looks for sets that meet a target among all there are, for jobs small enough.
//!
//! Sets are filled one after the other. A set begins with the first leaf that is left: which set is filled first makes
//! no difference, nor does where a ring begins. Leaves are alike if they are in the same domain of the innermost level for
//! which the target asks anything, or have the same parent: the first that is left stands for all. A set is given up as
//! soon as its ranks so far miss the target.

use super::super::Tree;
use super::Scheme;
use super::draft::Draft;
use super::rules::Rules;
use super::sets::Sets;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Yes,
    /// There is no such placement.
    No,
    /// The search took too long.
    Unknown,
}

/// Jobs with more ranks are not looked through.
pub(super) const MOST_RANKS: usize = 16;
const MOST_STEPS: usize = 1 << 18;

/// Puts the sets into the draft if there are any.
pub(super) fn search(rules: &mut Rules, draft: &mut Draft, target: &[u32]) -> Found {
    let sets = draft.sets;
    let tree = rules.tree;
    let mut search = Search {
        rules,
        target,
        sets,
        alike: alike(tree, target),
        taken: vec![false; sets.ranks()],
        filled: Vec::with_capacity(sets.count()),
        left: [sets.count() - sets.larger(), sets.larger()],
        steps: 0,
    };
    let found = search.next_set();
    if found == Found::Yes {
        search
            .filled
            .sort_by_key(|set| std::cmp::Reverse(set.len()));
        draft.leaves = search.filled.concat();
    }
    found
}

struct Search<'a, 't> {
    rules: &'a mut Rules<'t>,
    target: &'a [u32],
    sets: Sets,
    /// Of each leaf: a number that those like it have as well.
    alike: Vec<u32>,
    taken: Vec<bool>,
    filled: Vec<Vec<u32>>,
    /// How many smaller and larger sets are to be filled.
    left: [usize; 2],
    steps: usize,
}

impl Search<'_, '_> {
    fn next_set(&mut self) -> Found {
        let Some(first) = self.taken.iter().position(|taken| !taken) else {
            return Found::Yes;
        };
        for larger in [1, 0] {
            if self.left[larger] == 0 {
                continue;
            }
            self.left[larger] -= 1;
            self.filled.push(Vec::new());
            let found = self.take(first as u32, self.sets.smallest() + larger);
            if found != Found::No {
                return found;
            }
            self.filled.pop();
            self.left[larger] += 1;
        }
        Found::No
    }

    /// Takes a leaf into the last set, and goes on from there.
    fn take(&mut self, leaf: u32, size: usize) -> Found {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Found::Unknown;
        }
        self.taken[leaf as usize] = true;
        let set = self.last_set();
        set.push(leaf);
        let found = match self.holds(size) {
            true => self.go_on(size),
            false => Found::No,
        };
        if found == Found::No {
            self.last_set().pop();
            self.taken[leaf as usize] = false;
        }
        found
    }

    fn last_set(&mut self) -> &mut Vec<u32> {
        let last = self.filled.len() - 1;
        &mut self.filled[last]
    }

    fn go_on(&mut self, size: usize) -> Found {
        let set = self.last_set();
        if set.len() == size {
            return self.next_set();
        }
        let last = set[set.len() - 1] as usize;
        let is_ring = matches!(self.rules.scheme, Scheme::Partner { .. });
        let start = if is_ring { 0 } else { last + 1 };
        for leaf in start..self.taken.len() {
            if !self.taken[leaf] && self.is_first_of_its_like(leaf) {
                let found = self.take(leaf as u32, size);
                if found != Found::No {
                    return found;
                }
            }
        }
        Found::No
    }

    fn is_first_of_its_like(&self, leaf: usize) -> bool {
        leaf == 0 || self.taken[leaf - 1] || self.alike[leaf - 1] != self.alike[leaf]
    }

    /// Whether the last set may still meet the target.
    fn holds(&mut self, size: usize) -> bool {
        let Some(set) = self.filled.last() else {
            return true;
        };
        if set.len() == size {
            return self.rules.shortfall(set, self.target) == 0;
        }
        let circle = match self.rules.scheme {
            Scheme::Partner { replicas } => set.len().checked_sub(replicas + 1),
            _ => Some(0),
        };
        circle.is_none_or(|start| self.rules.shortfall_of_circle(&set[start..], self.target) == 0)
    }
}

fn alike(tree: &Tree, target: &[u32]) -> Vec<u32> {
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
