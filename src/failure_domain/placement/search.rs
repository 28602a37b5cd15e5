//! Searches the best sets for a given number of sets: starts with the stride rule and raises the tolerance level by
//! level from the outermost, until the counting bound is met or no better sets are found.
//!
//! Best means: the required tolerance first, then the tolerance at the outermost level, then at the next, and so on.

use super::super::DomainTree;
use super::PlacementScheme;
use super::assignment::Assignment;
use super::bound::DomainSizes;
use super::evaluate::{Evaluator, Tolerance};
use super::exhaustive::{self, SearchOutcome};
use super::local_search;
use super::set_sizes::SetSizes;

/// Sets and what they tolerate.
pub(super) struct Candidate {
    pub(super) assignment: Assignment,
    pub(super) tolerance: Vec<Tolerance>,
}

impl Candidate {
    fn new(evaluator: &mut Evaluator, assignment: Assignment) -> Candidate {
        Candidate {
            tolerance: evaluator.tolerance(&assignment),
            assignment,
        }
    }
}

/// `required` has one entry per level.
pub(super) fn best(
    tree: &DomainTree,
    scheme: PlacementScheme,
    sizes: &DomainSizes,
    sets: SetSizes,
    required: &[u32],
) -> Candidate {
    let mut evaluator = Evaluator::new(tree, scheme);
    let mut search = ToleranceSearch {
        found: Candidate::new(&mut evaluator, Assignment::stride(scheme, sets)),
        evaluator,
        kept: vec![0; tree.depth()],
        effort: local_search::effort(sets.ranks()),
    };
    let bound = sizes.bound(scheme, sets);
    let reachable = required.iter().zip(&bound).map(|(a, b)| *a.min(b));
    search.raise(&reachable.collect::<Vec<_>>());
    search.raise(&bound);
    search.found
}

struct ToleranceSearch<'t> {
    evaluator: Evaluator<'t>,
    found: Candidate,
    /// The tolerance reached at each level, which later steps must keep.
    kept: Vec<u32>,
    /// The budget left for the local search.
    effort: usize,
}

impl ToleranceSearch<'_> {
    /// Raises the tolerance towards `most`, outermost level first.
    fn raise(&mut self, most: &[u32]) {
        for (level, &most) in most.iter().enumerate() {
            while self.found.tolerance[level].any < most {
                let mut target = self.kept.clone();
                target[level] = self.found.tolerance[level].any + 1;
                if !self.reach(&target) {
                    break;
                }
            }
            let had = self.found.tolerance[level].any.min(most);
            self.kept[level] = self.kept[level].max(had);
        }
    }

    /// Tries to find sets that meet the target; keeps them if so.
    fn reach(&mut self, target: &[u32]) -> bool {
        let mut assignment = self.found.assignment.clone();
        let outcome = match assignment.sets.ranks() <= exhaustive::MOST_RANKS {
            true => exhaustive::search(&mut self.evaluator, &mut assignment, target),
            false => SearchOutcome::GaveUp,
        };
        let reached = match outcome {
            SearchOutcome::Found => true,
            SearchOutcome::Impossible => false,
            SearchOutcome::GaveUp => local_search::improve(
                &mut self.evaluator,
                &mut assignment,
                target,
                &mut self.effort,
            ),
        };
        if reached {
            self.found = Candidate::new(&mut self.evaluator, assignment);
        }
        reached
    }
}
