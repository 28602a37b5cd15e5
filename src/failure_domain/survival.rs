//! What happens to a placement when named domains fail, and which failures are the narrowest that lose data.

use std::ops::Range;

use super::placement::{Placement, Rules, Scheme};
use super::{Domain, Tree};

/// Domains whose failure together loses data. None of them can be left out, nor be replaced by a domain inside of
/// it, without everything being survived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    pub domains: Vec<Domain>,
    pub lost_set: usize,
}

impl Placement {
    /// The first set that loses data when all these domains fail; a domain inside of another counts once.
    pub fn lost_set(&self, failed: &[Domain]) -> Option<usize> {
        self.first_lost(&self.failed_leaves(failed))
            .map(|(set, _)| set)
    }

    /// Calls `each` with every scenario of at most `most_failed` domains, those of the fewest first, until it
    /// returns false.
    pub fn scenarios(&self, most_failed: usize, mut each: impl FnMut(Scenario) -> bool) {
        for failed in 1..=most_failed.min(self.scheme().most_lost() + 1) {
            if !self.scenarios_of(failed, &mut each) {
                return;
            }
        }
    }

    /// Those of exactly `failed` domains; false if `each` has had enough.
    pub(super) fn scenarios_of(
        &self,
        failed: usize,
        each: &mut impl FnMut(Scenario) -> bool,
    ) -> bool {
        let mut rules = Rules::new(self.tree(), self.scheme());
        for set in 0..self.sets().count() {
            let leaves = self.leaves_of(set);
            // The outermost domains lose the most: if any of them are survived, all are.
            if rules.tolerance_of(leaves)[0] as usize >= failed {
                continue;
            }
            let mut circles = Vec::new();
            rules.each_circle(leaves, |_, circle| circles.push(circle.to_vec()));
            for (number, circle) in circles.into_iter().enumerate() {
                let mut enumeration = Enumeration::new(self, circle, failed);
                let goes_on = enumeration.run(&mut |domains: &[Domain]| match self
                    .is_narrowest(domains, (set, number))
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
            }
        }
        true
    }

    /// Whether the domains are a scenario, and first found by this circle.
    fn is_narrowest(&self, domains: &[Domain], circle: (usize, usize)) -> bool {
        if self.first_lost(&self.failed_leaves(domains)) != Some(circle) {
            return false;
        }
        (0..domains.len()).all(|one| {
            let mut narrower = domains.to_vec();
            let removed = narrower.remove(one);
            if removed.level + 1 == self.tree().depth() {
                return self.lost_set(&narrower).is_none();
            }
            self.tree().children(removed).all(|index| {
                let level = removed.level + 1;
                narrower.push(Domain { level, index });
                let lost = self.lost_set(&narrower);
                narrower.pop();
                lost.is_none()
            })
        })
    }

    /// The leaves below the domains, each once, in order.
    fn failed_leaves(&self, failed: &[Domain]) -> Vec<Range<usize>> {
        let mut ranges: Vec<_> = failed.iter().map(|&d| self.leaves_below(d)).collect();
        ranges.sort_unstable_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        let mut end = 0;
        ranges.retain(|range| {
            let is_new = range.end > end;
            end = end.max(range.end);
            is_new
        });
        ranges
    }

    /// The first set that loses data, and the number of its circle.
    fn first_lost(&self, failed: &[Range<usize>]) -> Option<(usize, usize)> {
        let mut lost: Vec<u32> = failed
            .iter()
            .flat_map(Clone::clone)
            .map(|leaf| self.set_of_leaf(leaf) as u32)
            .collect();
        lost.sort_unstable();
        let more_than_survived = |lost: &&[u32]| lost.len() > self.scheme().most_lost();
        lost.chunk_by(|a, b| a == b)
            .filter(more_than_survived)
            .find_map(|lost| {
                let set = lost[0] as usize;
                Some((set, self.first_lost_circle(set, failed)?))
            })
    }

    /// More ranks of the set have failed than may be lost of a circle.
    fn first_lost_circle(&self, set: usize, failed: &[Range<usize>]) -> Option<usize> {
        let Scheme::Partner { replicas } = self.scheme() else {
            return Some(0);
        };
        let has_failed = |leaf: &u32| failed.iter().any(|range| range.contains(&(*leaf as usize)));
        let ring = self.leaves_of(set);
        let circles = if ring.len() == replicas + 1 {
            1
        } else {
            ring.len()
        };
        let mut in_a_row = 0;
        for place in 0..circles + replicas {
            match has_failed(&ring[place % ring.len()]) {
                true => in_a_row += 1,
                false => in_a_row = 0,
            }
            if in_a_row > replicas {
                return Some(place - replicas);
            }
        }
        None
    }
}

/// Goes through the combinations of domains that lose a circle. Only domains that hold more of its ranks than any
/// child of theirs come into question.
struct Enumeration<'p> {
    tree: &'p Tree,
    most_lost: usize,
    failed: usize,
    /// With the number of ranks of the circle inside; the fullest first.
    candidates: Vec<(Domain, usize)>,
    chosen: Vec<Domain>,
}

impl<'p> Enumeration<'p> {
    fn new(placement: &'p Placement, mut circle: Vec<u32>, failed: usize) -> Self {
        let tree = placement.tree();
        circle.sort_unstable();
        let bottom = tree.depth() - 1;
        let ranks = circle.iter().map(|&leaf| (bottom, leaf as usize, 1, true));
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
            // A domain with as many ranks as one child stands for nothing that the child does not.
            let families = level.chunk_by(|a, b| parents[a.1] == parents[b.1]);
            let joined = families.map(|family| {
                let held = family.iter().map(|child| child.2).sum();
                (above, parents[family[0].1] as usize, held, family.len() > 1)
            });
            level = joined.collect();
        }
        candidates.sort_by_key(|(domain, held)| (std::cmp::Reverse(*held), *domain));
        Enumeration {
            tree,
            most_lost: placement.scheme().most_lost(),
            failed,
            candidates,
            chosen: Vec::new(),
        }
    }

    /// False if `each` has had enough.
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
            return lost <= self.most_lost || each(&self.chosen);
        }
        if lost > self.most_lost {
            return true; // Fewer are enough.
        }
        for next in from..self.candidates.len() {
            let (domain, held) = self.candidates[next];
            if lost + held * left <= self.most_lost {
                break; // The others hold no more than this one.
            }
            if self
                .chosen
                .iter()
                .any(|chosen| self.are_nested(*chosen, domain))
            {
                continue;
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

    fn are_nested(&self, a: Domain, b: Domain) -> bool {
        let (a, b) = (self.tree.leaves_below(a), self.tree.leaves_below(b));
        a.start < b.end && b.start < a.end
    }
}
