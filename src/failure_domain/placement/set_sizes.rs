//! The sizes of the sets: they differ by at most one, larger sets first.

use std::ops::Range;

/// `ranks` ranks in `count` sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetSizes {
    ranks: usize,
    count: usize,
}

impl SetSizes {
    /// `count` must be in `1..=ranks`.
    pub(super) fn new(ranks: usize, count: usize) -> SetSizes {
        SetSizes { ranks, count }
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

    /// The number of sets with one rank more than the others.
    pub fn larger(&self) -> usize {
        self.ranks % self.count
    }

    /// The positions of a set in a list of all sets, one after the other.
    pub fn range(&self, set: usize) -> Range<usize> {
        let start = set * self.smallest() + set.min(self.larger());
        start..start + self.smallest() + usize::from(set < self.larger())
    }

    /// The set at a position, and the index in that set.
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
                let sets = SetSizes::new(ranks, count);
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
