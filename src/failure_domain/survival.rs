//! Whether a placement survives the failure of named domains, and the minimal failure scenarios that lose data (the
//! minimal cut sets of reliability analysis).

use std::ops::Range;

use super::placement::{Evaluator, Placement, PlacementScheme, Tolerance};
use super::{Domain, DomainTree};

/// A minimal set of domains whose failure loses data: without one of them, or with one replaced by a domain inside it,
/// everything survives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    pub domains: Vec<Domain>,
    pub lost_set: usize,
}

impl Placement {
    /// The first set that loses data if all these domains fail. Domains may be nested.
    pub fn lost_set(&self, failed: &[Domain]) -> Option<usize> {
        self.first_lost(&self.tree().leaves_below_all(failed))
            .map(|(set, _)| set)
    }

    /// Calls `each` with every scenario of at most `most_failed` domains, smallest first, until it returns false.
    pub fn scenarios(&self, most_failed: usize, mut each: impl FnMut(Scenario) -> bool) {
        for failed in 1..=most_failed.min(self.scheme().most_lost() + 1) {
            if !self.scenarios_of(failed, usize::MAX, &mut each) {
                return;
            }
        }
    }

    /// The scenarios of exactly `failed` domains. False if `each` returned false or `most_steps` were not enough.
    pub(super) fn scenarios_of(
        &self,
        failed: usize,
        mut most_steps: usize,
        each: &mut impl FnMut(Scenario) -> bool,
    ) -> bool {
        let mut evaluator = Evaluator::new(self.tree(), self.scheme());
        for set in 0..self.sets().count() {
            let leaves = self.leaves_of(set);
            // Outermost domains lose the most: a set that survives any `failed` of them survives all others.
            if evaluator.tolerance_of(leaves)[0] as usize >= failed {
                continue;
            }
            let mut codewords = Vec::new();
            evaluator.each_codeword(leaves, |_, codeword| codewords.push(codeword.to_vec()));
            for (number, codeword) in codewords.into_iter().enumerate() {
                let mut search = ScenarioSearch::new(self, codeword, failed, most_steps);
                let goes_on = search.run(&mut |domains: &[Domain]| match self
                    .is_minimal(domains, (set, number))
                {
                    true => each(Scenario {
                        domains: domains.to_vec(),
                        lost_set: set,
                    }),
                    false => true,
                });
                if !goes_on {
                    return false;
                }
                most_steps = search.steps_left;
            }
        }
        true
    }

    /// One of the smallest scenarios.
    pub(super) fn a_smallest_scenario(&self) -> Scenario {
        let Tolerance { any, weakest_set } = self.tolerance()[0];
        let mut domains = Vec::new();
        let mut evaluator = Evaluator::new(self.tree(), self.scheme());
        evaluator.each_codeword(self.leaves_of(weakest_set as usize), |_, codeword| {
            let fullest = self.fullest(codeword, any as usize + 1);
            if self.lost_set(&fullest).is_some() {
                domains = fullest;
            }
        });
        for one in 0..domains.len() {
            while let Some(inside) = self.narrower(&domains, one) {
                domains[one] = inside;
            }
        }
        let lost_set = self.lost_set(&domains).unwrap_or(weakest_set as usize);
        Scenario { domains, lost_set }
    }

    /// The `count` outermost domains that hold the most ranks of a codeword.
    fn fullest(&self, codeword: &[u32], count: usize) -> Vec<Domain> {
        let outermost = codeword
            .iter()
            .map(|leaf| self.tree().ancestor(*leaf as usize, 0));
        let mut outermost: Vec<_> = outermost.collect();
        outermost.sort_unstable();
        let mut held: Vec<_> = outermost.chunk_by(|a, b| a == b).collect();
        held.sort_by_key(|same| std::cmp::Reverse(same.len()));
        held.iter().take(count).map(|same| same[0]).collect()
    }

    /// A child of `domains[one]` that still loses data if it fails instead.
    fn narrower(&self, domains: &[Domain], one: usize) -> Option<Domain> {
        let mut domains = domains.to_vec();
        let Domain { level, .. } = domains[one];
        let mut children = self.tree().children(domains[one]);
        let found = children.find(|&index| {
            domains[one] = Domain::new(level + 1, index);
            self.lost_set(&domains).is_some()
        });
        found.map(|_| domains[one])
    }

    /// Whether the domains are a scenario whose first lost codeword is this one, so that each is reported once.
    fn is_minimal(&self, domains: &[Domain], codeword: (usize, usize)) -> bool {
        if self.first_lost(&self.tree().leaves_below_all(domains)) != Some(codeword) {
            return false;
        }
        (0..domains.len()).all(|one| {
            let others = [&domains[..one], &domains[one + 1..]].concat();
            self.lost_set(&others).is_none() && self.narrower(domains, one).is_none()
        })
    }

    /// The first set that loses data, and the number of its codeword.
    fn first_lost(&self, failed: &[Range<usize>]) -> Option<(usize, usize)> {
        let leaves = failed.iter().flat_map(Clone::clone);
        let mut lost: Vec<_> = leaves.map(|leaf| self.place_of_leaf(leaf)).collect();
        lost.sort_unstable();
        let mut sets = lost.chunk_by(|a, b| a.0 == b.0);
        sets.find_map(|lost| Some((lost[0].0, self.first_lost_codeword(lost)?)))
    }

    /// `lost`: the lost ranks of one set, as (set, index in the set), ascending.
    fn first_lost_codeword(&self, lost: &[(usize, usize)]) -> Option<usize> {
        let most_lost = self.scheme().most_lost();
        if lost.len() <= most_lost {
            return None;
        }
        let PlacementScheme::Partner { replicas } = self.scheme() else {
            return Some(0);
        };
        // Indices ascend: if the last of replicas + 1 is `replicas` after the first, there is no gap between them.
        let size = self.leaves_of(lost[0].0).len();
        let in_a_row = |first: &usize| {
            let last = lost[(first + replicas) % lost.len()].1;
            last == (lost[*first].1 + replicas) % size
        };
        (0..lost.len()).find(in_a_row).map(|first| lost[first].1)
    }
}

/// Enumerates the combinations of domains whose failure loses a codeword. A domain is a candidate only if it holds more
/// of the codeword's ranks than each of its children.
struct ScenarioSearch<'p> {
    tree: &'p DomainTree,
    most_lost: usize,
    failed: usize,
    /// Each with the number of the codeword's ranks inside, descending.
    candidates: Vec<(Domain, usize)>,
    chosen: Vec<Domain>,
    steps_left: usize,
}

impl<'p> ScenarioSearch<'p> {
    fn new(
        placement: &'p Placement,
        mut codeword: Vec<u32>,
        failed: usize,
        steps_left: usize,
    ) -> Self {
        let tree = placement.tree();
        codeword.sort_unstable();
        let bottom = tree.depth() - 1;
        let ranks = codeword
            .iter()
            .map(|&leaf| (bottom, leaf as usize, 1, true));
        let mut level: Vec<_> = ranks.collect();
        let mut candidates = Vec::new();
        loop {
            let spread = level.iter().filter(|domain| domain.3);
            candidates
                .extend(spread.map(|&(level, index, held, _)| (Domain { level, index }, held)));
            let Some(above) = level[0].0.checked_sub(1) else {
                break;
            };
            let parents = tree.parents(above + 1);
            // A domain with a single child in use is as good as that child.
            let families = level.chunk_by(|a, b| parents[a.1] == parents[b.1]);
            let joined = families.map(|family| {
                let held = family.iter().map(|child| child.2).sum();
                (above, parents[family[0].1] as usize, held, family.len() > 1)
            });
            level = joined.collect();
        }
        candidates.sort_by_key(|(domain, held)| (std::cmp::Reverse(*held), *domain));
        ScenarioSearch {
            tree,
            most_lost: placement.scheme().most_lost(),
            failed,
            candidates,
            chosen: Vec::new(),
            steps_left,
        }
    }

    /// False if `each` returned false or the steps were not enough.
    fn run(&mut self, each: &mut impl FnMut(&[Domain]) -> bool) -> bool {
        self.choose(0, 0, each)
    }

    fn choose(
        &mut self,
        from: usize,
        lost: usize,
        each: &mut impl FnMut(&[Domain]) -> bool,
    ) -> bool {
        let left = self.failed - self.chosen.len();
        if left == 0 {
            return lost <= self.most_lost || self.spend(self.effort()) && each(&self.chosen);
        }
        if lost > self.most_lost {
            return true; // Not minimal: fewer domains lose it already.
        }
        for next in from..self.candidates.len() {
            let (domain, held) = self.candidates[next];
            if lost + held * left <= self.most_lost {
                break; // Later candidates hold no more ranks than this one.
            }
            if self
                .chosen
                .iter()
                .any(|chosen| self.are_nested(*chosen, domain))
            {
                continue;
            }
            if !self.spend(1) {
                return false;
            }
            self.chosen.push(domain);
            let goes_on = self.choose(next + 1, lost + held, each);
            self.chosen.pop();
            if !goes_on {
                return false;
            }
        }
        true
    }

    fn spend(&mut self, steps: usize) -> bool {
        self.steps_left = self.steps_left.saturating_sub(steps);
        self.steps_left > 0
    }

    /// The cost of the check whether the chosen domains are minimal, in steps.
    fn effort(&self) -> usize {
        let ranks: usize = self
            .chosen
            .iter()
            .map(|d| self.tree.leaves_below(*d).len())
            .sum();
        let narrower: usize = self.chosen.iter().map(|d| 1 + self.tree.degree(*d)).sum();
        1 + ranks * narrower / 16
    }

    fn are_nested(&self, a: Domain, b: Domain) -> bool {
        let (a, b) = (self.tree.leaves_below(a), self.tree.leaves_below(b));
        a.start < b.end && b.start < a.end
    }
}
