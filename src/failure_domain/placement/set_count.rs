//! Chooses the number of sets: the ranks divided by the wanted set size, rounded down or up, whichever tolerates more.
//! If neither meets the required tolerance, tries more and smaller sets.

use super::super::DomainTree;
use super::bound::DomainSizes;
use super::search::{Candidate, best};
use super::set_sizes::SetSizes;
use super::{Error, PlacementRequest, PlacementScheme, Result};

/// The best sets of any number that is tried; an error if none meets the required tolerance.
pub(super) fn choose(tree: &DomainTree, request: &PlacementRequest) -> Result<Candidate> {
    let search = SetCountSearch::new(tree, request)?;
    let mut best: Option<Candidate> = None;
    for count in search.usual_counts() {
        if best
            .as_ref()
            .is_some_and(|best| search.is_met_by(best) && !search.may_beat(count, best))
        {
            continue;
        }
        search.try_count(count, &mut best);
    }
    for count in search.more_counts() {
        if best.as_ref().is_some_and(|best| search.is_met_by(best)) {
            break;
        }
        search.try_count(count, &mut best);
    }
    let best = best.ok_or(Error::TooFewRanks {
        scheme: request.scheme,
        ranks: tree.leaf_count(),
    })?;
    search.check(best)
}

struct SetCountSearch<'a> {
    tree: &'a DomainTree,
    scheme: PlacementScheme,
    set_size: usize,
    required: Vec<u32>,
    sizes: DomainSizes,
    /// The fewest and the most sets that the scheme's set sizes allow.
    fewest: usize,
    most: usize,
}

impl<'a> SetCountSearch<'a> {
    fn new(tree: &'a DomainTree, request: &PlacementRequest) -> Result<SetCountSearch<'a>> {
        let PlacementRequest {
            scheme, set_size, ..
        } = *request;
        scheme.check(set_size)?;
        let mut required = request.required.clone();
        if required.len() > tree.depth() {
            return Err(Error::Required {
                given: required.len(),
                levels: tree.depth(),
            });
        }
        required.resize(tree.depth(), 0);
        let (ranks, (smallest, largest)) = (tree.leaf_count(), scheme.sizes());
        let (fewest, most) = (ranks.div_ceil(largest), ranks / smallest);
        if fewest > most {
            return Err(Error::TooFewRanks { scheme, ranks });
        }
        Ok(SetCountSearch {
            tree,
            scheme,
            set_size,
            required,
            sizes: DomainSizes::new(tree, scheme),
            fewest,
            most,
        })
    }

    /// The counts that the wanted set size suggests.
    fn usual_counts(&self) -> Vec<usize> {
        let ranks = self.tree.leaf_count();
        let size = self.set_size.max(1);
        let mut counts = vec![ranks / size, ranks.div_ceil(size)];
        // Smaller rings cost no more memory.
        if let PlacementScheme::Partner { .. } = self.scheme {
            counts.push(self.most);
        }
        let counts = counts.into_iter();
        let mut counts: Vec<_> = counts
            .map(|count| count.clamp(self.fewest, self.most))
            .collect();
        counts.dedup();
        counts
    }

    /// Larger counts, from the smallest that the counting bound allows. Steps grow, so that large jobs try few.
    fn more_counts(&self) -> impl Iterator<Item = usize> + '_ {
        let ranks = self.tree.leaf_count();
        let allows = move |count: &usize| {
            let sets = SetSizes::new(ranks, *count);
            self.sizes.allow(self.scheme, sets, &self.required)
        };
        let more = ranks.div_ceil(self.set_size.max(1)).max(self.fewest) + 1;
        let first = (more..=self.most).find(allows);
        let counts = std::iter::successors(first, move |count| {
            let step = 1 + (count - first?) / STEPS_OF_ONE;
            (*count < self.most).then(|| (count + step).min(self.most))
        });
        // If none suffices, the smallest sets show what is possible, for the error text.
        let last = (!allows(&self.most)).then_some(self.most);
        counts.filter(allows).chain(last)
    }

    fn bound(&self, count: usize) -> Vec<u32> {
        let sets = SetSizes::new(self.tree.leaf_count(), count);
        self.sizes.bound(self.scheme, sets)
    }

    fn may_beat(&self, count: usize, best: &Candidate) -> bool {
        self.score(self.bound(count).into_iter()) > self.score(tolerance(best))
    }

    fn try_count(&self, count: usize, found: &mut Option<Candidate>) {
        let sets = SetSizes::new(self.tree.leaf_count(), count);
        let other = best(self.tree, self.scheme, &self.sizes, sets, &self.required);
        let is_better = found
            .as_ref()
            .is_none_or(|found| self.score(tolerance(&other)) > self.score(tolerance(found)));
        if is_better {
            *found = Some(other);
        }
    }

    /// Compares the required tolerance first, then the whole.
    fn score(&self, tolerance: impl Iterator<Item = u32>) -> (Vec<u32>, Vec<u32>) {
        let had: Vec<_> = tolerance.collect();
        let needed = had.iter().zip(&self.required).map(|(a, b)| *a.min(b));
        (needed.collect(), had)
    }

    fn is_met_by(&self, found: &Candidate) -> bool {
        self.missed(found).is_none()
    }

    /// The outermost level that misses its requirement.
    fn missed(&self, found: &Candidate) -> Option<usize> {
        let mut levels = tolerance(found).zip(&self.required);
        levels.position(|(had, required)| had < *required)
    }

    fn check(&self, found: Candidate) -> Result<Candidate> {
        match self.missed(&found) {
            None => Ok(found),
            Some(level) => Err(Error::Unreachable {
                level,
                required: self.required[level],
                possible: tolerance(&found).collect(),
                sets: found.assignment.sets.count(),
            }),
        }
    }
}

/// So many counts are tried before the steps between them grow.
const STEPS_OF_ONE: usize = 8;

fn tolerance(found: &Candidate) -> impl Iterator<Item = u32> + '_ {
    found.tolerance.iter().map(|level| level.any)
}
