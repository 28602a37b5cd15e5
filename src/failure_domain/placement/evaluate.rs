//! Computes which failures a set survives.
//!
//! A *codeword* is the ranks that together hold some data and its redundancy; at most `most_lost` of them may be lost.
//! With XOR and RS the whole set is one codeword. With PARTNER there is one codeword per rank of the ring: the rank and
//! those that hold its copies. A codeword survives the failure of any t domains of a level if the t domains that hold
//! the most of its ranks hold at most `most_lost` of them.

use super::super::DomainTree;
use super::PlacementScheme;
use super::assignment::Assignment;

/// Any `any` domains of a level may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    pub any: u32,
    /// The first set that does not survive one more failure.
    pub weakest_set: u32,
}

const UNLIMITED: Tolerance = Tolerance {
    any: u32::MAX,
    weakest_set: 0,
};

/// Evaluates sets. Keeps its buffers between calls: a search evaluates millions of sets.
#[derive(Clone)]
pub(in super::super) struct Evaluator<'t> {
    pub(in super::super) tree: &'t DomainTree,
    pub(in super::super) scheme: PlacementScheme,
    scratch: Scratch,
}

#[derive(Clone, Default)]
struct Scratch {
    ring: Vec<u32>,
    domains: Vec<u32>,
    counts: Vec<u32>,
    sorted: Vec<u32>,
}

impl<'t> Evaluator<'t> {
    pub(in super::super) fn new(tree: &'t DomainTree, scheme: PlacementScheme) -> Self {
        let scratch = Scratch::default();
        Evaluator {
            tree,
            scheme,
            scratch,
        }
    }

    fn most_lost(&self) -> u32 {
        self.scheme.most_lost() as u32
    }

    /// The tolerance of all sets at each level.
    pub(super) fn tolerance(&mut self, assignment: &Assignment) -> Vec<Tolerance> {
        let mut tolerance = vec![UNLIMITED; self.tree.depth()];
        for set in 0..assignment.sets.count() {
            self.lower(assignment.set(set), set, &mut tolerance);
        }
        tolerance
    }

    /// Lowers the tolerance to that of a set.
    fn lower(&mut self, set: &[u32], number: usize, tolerance: &mut [Tolerance]) {
        let most_lost = self.most_lost();
        self.each_codeword(set, |evaluator, codeword| {
            evaluator.climb(codeword, |level, counts, sorted| {
                let known = &mut tolerance[level];
                if surely_survives(counts, known.any, most_lost) {
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
        let mut tolerance = vec![UNLIMITED; self.tree.depth()];
        self.lower(set, 0, &mut tolerance);
        tolerance.into_iter().map(|level| level.any).collect()
    }

    /// By how many ranks a set misses a target tolerance, summed over levels and codewords; 0 if it meets the target.
    pub(super) fn shortfall(&mut self, set: &[u32], target: &[u32]) -> u64 {
        let mut short = 0;
        self.each_codeword(set, |evaluator, codeword| {
            short += evaluator.shortfall_of_codeword(codeword, target)
        });
        short
    }

    /// [`Evaluator::shortfall`] of one codeword, or of a part of it.
    pub(super) fn shortfall_of_codeword(&mut self, codeword: &[u32], target: &[u32]) -> u64 {
        let most_lost = self.most_lost();
        let mut short = 0;
        self.climb(codeword, |level, counts, sorted| {
            if !surely_survives(counts, target[level], most_lost) {
                let lost = largest(counts, target[level] as usize, sorted);
                short += u64::from(lost.saturating_sub(most_lost));
            }
        });
        short
    }

    /// Calls `each` with every codeword of a set.
    pub(in super::super) fn each_codeword(
        &mut self,
        set: &[u32],
        mut each: impl FnMut(&mut Self, &[u32]),
    ) {
        let PlacementScheme::Partner { replicas } = self.scheme else {
            return each(self, set);
        };
        if set.len() == replicas + 1 {
            return each(self, set);
        }
        let mut ring = std::mem::take(&mut self.scratch.ring);
        ring.clear();
        ring.extend(set.iter().chain(set).take(set.len() + replicas));
        ring.windows(replicas + 1)
            .for_each(|codeword| each(self, codeword));
        self.scratch.ring = ring;
    }

    /// Counts the ranks of a codeword in each domain, level by level from the ranks upwards.
    fn climb(&mut self, codeword: &[u32], mut each: impl FnMut(usize, &[u32], &mut Vec<u32>)) {
        let Scratch {
            domains,
            counts,
            sorted,
            ..
        } = &mut self.scratch;
        domains.clear();
        domains.extend(codeword);
        if !domains.is_sorted() {
            domains.sort_unstable();
        }
        counts.clear();
        counts.resize(codeword.len(), 1);
        for level in (0..self.tree.depth()).rev() {
            each(level, counts, sorted);
            if level > 0 {
                join_siblings(self.tree.parents(level), domains, counts);
            }
        }
    }
}

/// Replaces domains by their parents and adds up the counts. The order stays ascending.
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

/// A cheap sufficient test that any `failures` domains hold at most `most_lost` ranks.
fn surely_survives(counts: &[u32], failures: u32, most_lost: u32) -> bool {
    if failures == 0 {
        return true;
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    u64::from(most) * u64::from(failures) <= u64::from(most_lost)
}

/// How many ranks the `failures` fullest domains hold.
fn largest(counts: &[u32], failures: usize, sorted: &mut Vec<u32>) -> u32 {
    sort(counts, sorted);
    sorted.iter().take(failures).sum()
}

/// The largest number of domains of which any may fail with at most `most_lost` ranks lost.
fn most_failures(counts: &[u32], most_lost: u32, sorted: &mut Vec<u32>) -> u32 {
    sort(counts, sorted);
    let lost = sorted.iter().scan(0, |lost, count| {
        *lost += count;
        Some(*lost)
    });
    lost.take_while(|lost| *lost <= most_lost).count() as u32
}

/// Sorts in descending order.
fn sort(counts: &[u32], sorted: &mut Vec<u32>) {
    sorted.clear();
    sorted.extend(counts);
    sorted.sort_unstable_by(|a, b| b.cmp(a));
}
