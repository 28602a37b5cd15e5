//! What no placement can exceed: a bound of the tolerance at each level, by counting alone.
//!
//! If any t domains may fail, then the j largest domains (j <= t) may have only so many ranks x in a set: the rest of
//! the set is spread over the other domains, of which the t - j fullest fail as well. If all sets together have less
//! room for the j largest domains than these have ranks, t is too much.

use super::super::Tree;
use super::Scheme;
use super::sets::Sets;

/// The sizes of the largest domains of each level, summed up: entry j is that of the j largest.
pub(super) struct Sizes {
    levels: Vec<LevelSizes>,
}

struct LevelSizes {
    domains: usize,
    sums: Vec<usize>,
}

impl Sizes {
    pub(super) fn new(tree: &Tree, scheme: Scheme) -> Sizes {
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
        Sizes { levels }
    }

    pub(super) fn bound(&self, scheme: Scheme, sets: Sets) -> Vec<u32> {
        let mut inner = scheme.most_lost();
        let mut bounds: Vec<u32> = Vec::with_capacity(self.levels.len());
        // What survives any t domains survives any t domains inside of them.
        for level in self.levels.iter().rev() {
            let fits = |failures: &usize| level.fits(scheme, sets, *failures);
            inner = (1..=inner).take_while(fits).count();
            bounds.push(inner as u32);
        }
        bounds.reverse();
        bounds
    }

    /// Whether counting does not speak against a tolerance.
    pub(super) fn allow(&self, scheme: Scheme, sets: Sets, tolerance: &[u32]) -> bool {
        let mut levels = self.levels.iter().zip(tolerance);
        levels.all(|(level, failures)| {
            let failures = *failures as usize;
            failures == 0 || failures <= scheme.most_lost() && level.fits(scheme, sets, failures)
        })
    }
}

impl LevelSizes {
    /// No more domains than ranks may be lost.
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

    fn fits(&self, scheme: Scheme, sets: Sets, failures: usize) -> bool {
        if failures >= self.domains {
            return false;
        }
        (0..=failures).all(|largest| {
            let room = |size: usize| match scheme {
                Scheme::Partner { replicas } => {
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

    /// How many ranks of the `largest` largest domains a set has at most; `None` if not even none of them helps.
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
