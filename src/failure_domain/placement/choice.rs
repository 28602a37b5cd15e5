//! How many sets: as many as give them the size that was asked for, rounded down or up, whichever survives more. If
//! that is less than required, more and smaller sets.

use super::super::Tree;
use super::bound::Sizes;
use super::search::{Searched, best};
use super::sets::Sets;
use super::{Error, Request, Result, Scheme};

pub(super) fn choose(tree: &Tree, request: &Request) -> Result<Searched> {
    let choice = Choice::new(tree, request)?;
    let mut best: Option<Searched> = None;
    for count in choice.usual_counts() {
        if best
            .as_ref()
            .is_some_and(|best| choice.is_met_by(best) && !choice.may_beat(count, best))
        {
            continue;
        }
        choice.try_count(count, &mut best);
    }
    for count in choice.more_counts() {
        if best.as_ref().is_some_and(|best| choice.is_met_by(best)) {
            break;
        }
        choice.try_count(count, &mut best);
    }
    let best = best.ok_or(Error::TooFewRanks {
        scheme: request.scheme,
        ranks: tree.leaf_count(),
    })?;
    choice.check(best)
}

struct Choice<'a> {
    tree: &'a Tree,
    scheme: Scheme,
    set_size: usize,
    required: Vec<u32>,
    sizes: Sizes,
    fewest: usize,
    most: usize,
}

impl<'a> Choice<'a> {
    fn new(tree: &'a Tree, request: &Request) -> Result<Choice<'a>> {
        let Request {
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
        Ok(Choice {
            tree,
            scheme,
            set_size,
            required,
            sizes: Sizes::new(tree, scheme),
            fewest,
            most,
        })
    }

    fn usual_counts(&self) -> Vec<usize> {
        let ranks = self.tree.leaf_count();
        let size = self.set_size.max(1);
        let mut counts = vec![ranks / size, ranks.div_ceil(size)];
        // Copies cost the same in smaller rings.
        if let Scheme::Partner { .. } = self.scheme {
            counts.push(self.most);
        }
        let counts = counts.into_iter();
        let mut counts: Vec<_> = counts
            .map(|count| count.clamp(self.fewest, self.most))
            .collect();
        counts.dedup();
        counts
    }

    /// From the fewest that counting allows on, in larger and larger steps, so that large jobs need few of them.
    fn more_counts(&self) -> impl Iterator<Item = usize> + '_ {
        let ranks = self.tree.leaf_count();
        let allows = move |count: &usize| {
            let sets = Sets::new(ranks, *count);
            self.sizes.allow(self.scheme, sets, &self.required)
        };
        let more = ranks.div_ceil(self.set_size.max(1)).max(self.fewest) + 1;
        let first = (more..=self.most).find(allows);
        let counts = std::iter::successors(first, move |count| {
            let step = 1 + (count - first?) / STEPS_OF_ONE;
            (*count < self.most).then(|| (count + step).min(self.most))
        });
        // If none is enough, the smallest sets show what can be had.
        let last = (!allows(&self.most)).then_some(self.most);
        counts.filter(allows).chain(last)
    }

    fn bound(&self, count: usize) -> Vec<u32> {
        let sets = Sets::new(self.tree.leaf_count(), count);
        self.sizes.bound(self.scheme, sets)
    }

    fn may_beat(&self, count: usize, best: &Searched) -> bool {
        self.score(self.bound(count).into_iter()) > self.score(tolerance(best))
    }

    fn try_count(&self, count: usize, found: &mut Option<Searched>) {
        let sets = Sets::new(self.tree.leaf_count(), count);
        let other = best(self.tree, self.scheme, &self.sizes, sets, &self.required);
        let is_better = found
            .as_ref()
            .is_none_or(|found| self.score(tolerance(&other)) > self.score(tolerance(found)));
        if is_better {
            *found = Some(other);
        }
    }

    /// What is required counts first.
    fn score(&self, tolerance: impl Iterator<Item = u32>) -> (Vec<u32>, Vec<u32>) {
        let had: Vec<_> = tolerance.collect();
        let needed = had.iter().zip(&self.required).map(|(a, b)| *a.min(b));
        (needed.collect(), had)
    }

    fn is_met_by(&self, found: &Searched) -> bool {
        let had: Vec<_> = tolerance(found).collect();
        meets(&had, &self.required)
    }

    fn check(&self, found: Searched) -> Result<Searched> {
        let had: Vec<_> = tolerance(&found).collect();
        let missed = (0..had.len()).find(|level| had[*level] < self.required[*level]);
        match missed {
            None => Ok(found),
            Some(level) => Err(Error::Unreachable {
                level,
                required: self.required[level],
                possible: had,
                sets: found.draft.sets.count(),
            }),
        }
    }
}

const STEPS_OF_ONE: usize = 8;

fn tolerance(found: &Searched) -> impl Iterator<Item = u32> + '_ {
    found.tolerance.iter().map(|level| level.any)
}

fn meets(had: &[u32], required: &[u32]) -> bool {
    had.iter()
        .zip(required)
        .all(|(had, required)| had >= required)
}
