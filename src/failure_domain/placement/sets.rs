//! How many ranks each set has: sizes differ by at most one, the larger sets come first.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sets {
    ranks: usize,
    count: usize,
}

impl Sets {
    /// `count` is in `1..=ranks`.
    pub(super) fn new(ranks: usize, count: usize) -> Sets {
        Sets { ranks, count }
    }

    pub fn ranks(&self) -> usize {
        self.ranks
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn smallest(&self) -> usize {
        self.ranks / self.count
    }

    pub fn largest(&self) -> usize {
        self.ranks.div_ceil(self.count)
    }

    /// How many sets have one rank more than the others.
    pub fn larger(&self) -> usize {
        self.ranks % self.count
    }

    /// Where the ranks of a set stand when they are written down set by set.
    pub fn range(&self, set: usize) -> Range<usize> {
        let start = set * self.smallest() + set.min(self.larger());
        start..start + self.smallest() + usize::from(set < self.larger())
    }

    /// The set at a position, and the place in it.
    pub fn at(&self, position: usize) -> (usize, usize) {
        let in_larger = self.larger() * self.largest();
        match position.checked_sub(in_larger) {
            None => (position / self.largest(), position % self.largest()),
            Some(after) => (
                self.larger() + after / self.smallest(),
                after % self.smallest(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_all_positions_in_order() {
        for ranks in 1..40 {
            for count in 1..=ranks {
                let sets = Sets::new(ranks, count);
                let mut position = 0;
                for set in 0..count {
                    let range = sets.range(set);
                    assert_eq!(range.start, position);
                    assert!((sets.smallest()..=sets.largest()).contains(&range.len()));
                    for place in 0..range.len() {
                        assert_eq!(sets.at(position), (set, place));
                        position += 1;
                    }
                }
                assert_eq!(position, ranks);
            }
        }
    }
}
