//! A counting bound: an upper bound of the tolerance at each level that holds for every placement.
//!
//! Suppose a set survives any t failures. For j <= t, let the j largest domains fail together with the t - j fullest
//! others. The set may then have at most x ranks in the j largest domains, with x the largest number for which no more
//! ranks are lost than the scheme allows. If the x of all sets add up to fewer ranks than these j domains have, then t
//! is impossible.

use super::super::DomainTree;
use super::PlacementScheme;
use super::set_sizes::SetSizes;

/// The sizes of the largest domains of each level.
pub(super) struct DomainSizes {
    levels: Vec<LevelSizes>,
}

struct LevelSizes {
    domains: usize,
    /// Entry j: the ranks in the j largest domains.
    sums: Vec<usize>,
}

impl DomainSizes {
    pub(super) fn new(tree: &DomainTree, scheme: PlacementScheme) -> DomainSizes {
        let mut below: Vec<u32> = vec![1; tree.leaf_count()];
        let mut levels = Vec::with_capacity(tree.depth());
        for level in (0..tree.depth()).rev() {
            levels.push(LevelSizes::new(&below, scheme.most_lost()));
            let mut above = vec![0; level.checked_sub(1).map_or(1, |above| tree.width(above))];
            for (&parent, size) in tree.parents(level).iter().zip(&below) {
                above[parent as usize] += size;
            }
            below = above;
        }
        levels.reverse();
        DomainSizes { levels }
    }

    /// The bound at each level.
    pub(super) fn bound(&self, scheme: PlacementScheme, sets: SetSizes) -> Vec<u32> {
        let mut inner = scheme.most_lost();
        let mut bounds: Vec<u32> = Vec::with_capacity(self.levels.len());
        // The tolerance of an outer level is at most that of the levels inside it.
        for level in self.levels.iter().rev() {
            let fits = |failures: &usize| level.fits(scheme, sets, *failures);
            inner = (1..=inner).take_while(fits).count();
            bounds.push(inner as u32);
        }
        bounds.reverse();
        bounds
    }

    /// Whether the bound allows a tolerance.
    pub(super) fn allow(&self, scheme: PlacementScheme, sets: SetSizes, tolerance: &[u32]) -> bool {
        let mut levels = self.levels.iter().zip(tolerance);
        levels.all(|(level, failures)| {
            let failures = *failures as usize;
            failures == 0 || failures <= scheme.most_lost() && level.fits(scheme, sets, failures)
        })
    }
}

impl LevelSizes {
    /// Keeps the sums of up to `most_lost` domains: more failures are never survived.
    fn new(sizes: &[u32], most_lost: usize) -> LevelSizes {
        let mut largest = sizes.to_vec();
        let kept = most_lost.min(sizes.len());
        if kept > 0 && kept < largest.len() {
            largest.select_nth_unstable_by(kept, |a, b| b.cmp(a));
        }
        largest.truncate(kept);
        largest.sort_unstable_by(|a, b| b.cmp(a));
        let mut sums = vec![0];
        sums.extend(largest.iter().scan(0, |sum, size| {
            *sum += *size as usize;
            Some(*sum)
        }));
        LevelSizes {
            domains: sizes.len(),
            sums,
        }
    }

    /// Whether the bound allows `failures` failures.
    fn fits(&self, scheme: PlacementScheme, sets: SetSizes, failures: usize) -> bool {
        if failures >= self.domains {
            return false;
        }
        (0..=failures).all(|largest| {
            let room = |size: usize| match scheme {
                PlacementScheme::Partner { replicas } => {
                    Some(size * (replicas - failures + largest) / (replicas + 1))
                }
                _ => self.room(size, scheme.most_lost(), failures, largest),
            };
            let (small, large) = (room(sets.smallest()), room(sets.largest()));
            let (Some(small), Some(large)) = (small, large) else {
                return false;
            };
            let larger = sets.larger();
            small * (sets.count() - larger) + large * larger >= self.sums[largest]
        })
    }

    /// The most ranks of the `largest` largest domains that a set may have; `None` if the set loses too many ranks even
    /// with none of them.
    fn room(
        &self,
        size: usize,
        most_lost: usize,
        failures: usize,
        largest: usize,
    ) -> Option<usize> {
        let others = self.domains - largest;
        let lost = |held: usize| held + ((size - held) * (failures - largest)).div_ceil(others);
        let (mut fits, mut fails) = (0, size.min(most_lost) + 1);
        if lost(0) > most_lost {
            return None;
        }
        while fails - fits > 1 {
            let middle = (fits + fails) / 2;
            match lost(middle) <= most_lost {
                true => fits = middle,
                false => fails = middle,
            }
        }
        Some(fits)
    }
}
