//! What a set survives.
//!
//! Every scheme is told by circles: groups of ranks of which at most `most_lost` may be lost at once. The circle of
//! XOR and RS is the set. PARTNER's circles are a rank and the ranks that hold its copies, one circle for each rank
//! of the ring. A circle survives that any t domains of a level fail if those t that hold the most of its ranks hold
//! at most `most_lost` of them.

use super::super::Tree;
use super::Scheme;
use super::draft::Draft;

/// The failures of any domains of one level that are survived, whichever they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    pub any: u32,
    /// The first set that does not survive more.
    pub weakest_set: u32,
}

#[derive(Clone)]
pub(in super::super) struct Rules<'t> {
    pub(in super::super) tree: &'t Tree,
    pub(in super::super) scheme: Scheme,
    scratch: Scratch,
}

#[derive(Clone, Default)]
struct Scratch {
    ring: Vec<u32>,
    domains: Vec<u32>,
    counts: Vec<u32>,
    sorted: Vec<u32>,
}

impl<'t> Rules<'t> {
    pub(in super::super) fn new(tree: &'t Tree, scheme: Scheme) -> Self {
        let scratch = Scratch::default();
        Rules {
            tree,
            scheme,
            scratch,
        }
    }

    fn most_lost(&self) -> u32 {
        self.scheme.most_lost() as u32
    }

    pub(super) fn tolerance(&mut self, draft: &Draft) -> Vec<Tolerance> {
        let nothing = Tolerance {
            any: u32::MAX,
            weakest_set: 0,
        };
        let mut tolerance = vec![nothing; self.tree.depth()];
        for set in 0..draft.sets.count() {
            self.weaken(draft.set(set), set, &mut tolerance);
        }
        tolerance
    }

    fn weaken(&mut self, set: &[u32], number: usize, tolerance: &mut [Tolerance]) {
        let most_lost = self.most_lost();
        self.each_circle(set, |rules, circle| {
            rules.climb(circle, |level, counts, sorted| {
                let known = &mut tolerance[level];
                if holds(counts, known.any, most_lost) {
                    return;
                }
                let any = most_failures(counts, most_lost, sorted);
                if any < known.any {
                    *known = Tolerance {
                        any,
                        weakest_set: number as u32,
                    };
                }
            });
        });
    }

    /// The tolerance of one set at each level.
    pub(in super::super) fn tolerance_of(&mut self, set: &[u32]) -> Vec<u32> {
        let nothing = Tolerance {
            any: u32::MAX,
            weakest_set: 0,
        };
        let mut tolerance = vec![nothing; self.tree.depth()];
        self.weaken(set, 0, &mut tolerance);
        tolerance.into_iter().map(|level| level.any).collect()
    }

    /// How many ranks too many a set loses when so many domains of each level fail as `target` says; 0 if it meets it.
    pub(super) fn shortfall(&mut self, set: &[u32], target: &[u32]) -> u64 {
        let mut short = 0;
        self.each_circle(set, |rules, circle| {
            short += rules.shortfall_of_circle(circle, target)
        });
        short
    }

    /// As [`Rules::shortfall`] of one circle, or of a part of it.
    pub(super) fn shortfall_of_circle(&mut self, circle: &[u32], target: &[u32]) -> u64 {
        let most_lost = self.most_lost();
        let mut short = 0;
        self.climb(circle, |level, counts, sorted| {
            if !holds(counts, target[level], most_lost) {
                let lost = largest(counts, target[level] as usize, sorted);
                short += u64::from(lost.saturating_sub(most_lost));
            }
        });
        short
    }

    /// Calls `each` with every circle of a set.
    pub(in super::super) fn each_circle(
        &mut self,
        set: &[u32],
        mut each: impl FnMut(&mut Self, &[u32]),
    ) {
        let Scheme::Partner { replicas } = self.scheme else {
            return each(self, set);
        };
        if set.len() == replicas + 1 {
            return each(self, set);
        }
        let mut ring = std::mem::take(&mut self.scratch.ring);
        ring.clear();
        ring.extend(set.iter().chain(set).take(set.len() + replicas));
        ring.windows(replicas + 1)
            .for_each(|circle| each(self, circle));
        self.scratch.ring = ring;
    }

    /// Counts the ranks of a circle in each domain, for one level after the other from the ranks upwards.
    fn climb(&mut self, circle: &[u32], mut each: impl FnMut(usize, &[u32], &mut Vec<u32>)) {
        let Scratch {
            domains,
            counts,
            sorted,
            ..
        } = &mut self.scratch;
        domains.clear();
        domains.extend(circle);
        if !domains.is_sorted() {
            domains.sort_unstable();
        }
        counts.clear();
        counts.resize(circle.len(), 1);
        for level in (0..self.tree.depth()).rev() {
            each(level, counts, sorted);
            if level > 0 {
                join_siblings(self.tree.parents(level), domains, counts);
            }
        }
    }
}

/// Replaces domains by their parents, which stand in the same order.
fn join_siblings(parents: &[u32], domains: &mut Vec<u32>, counts: &mut Vec<u32>) {
    let mut kept = 0;
    for next in 0..domains.len() {
        let (parent, count) = (parents[domains[next] as usize], counts[next]);
        if kept > 0 && domains[kept - 1] == parent {
            counts[kept - 1] += count;
        } else {
            (domains[kept], counts[kept]) = (parent, count);
            kept += 1;
        }
    }
    domains.truncate(kept);
    counts.truncate(kept);
}

/// Whether it is plain that `failures` domains hold at most `most_lost` ranks.
fn holds(counts: &[u32], failures: u32, most_lost: u32) -> bool {
    if failures == 0 {
        return true;
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    u64::from(most) * u64::from(failures) <= u64::from(most_lost)
}

/// How many ranks the `failures` domains hold that hold the most.
fn largest(counts: &[u32], failures: usize, sorted: &mut Vec<u32>) -> u32 {
    sort(counts, sorted);
    sorted.iter().take(failures).sum()
}

/// How many domains may fail, whichever they are, with at most `most_lost` ranks lost.
fn most_failures(counts: &[u32], most_lost: u32, sorted: &mut Vec<u32>) -> u32 {
    sort(counts, sorted);
    let lost = sorted.iter().scan(0, |lost, count| {
        *lost += count;
        Some(*lost)
    });
    lost.take_while(|lost| *lost <= most_lost).count() as u32
}

/// The largest first.
fn sort(counts: &[u32], sorted: &mut Vec<u32>) {
    sorted.clear();
    sorted.extend(counts);
    sorted.sort_unstable_by(|a, b| b.cmp(a));
}
