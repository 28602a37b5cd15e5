//! Sets of ranks that are apart from each other, computed by every rank alone from its number.
//!
//! Ranks that are close to each other tend to fail together, so ranks of a set are `separation` apart. Every rank is in
//! exactly one set, whatever the number of ranks.

use super::super::{Error, Result};

/// Pairs of ranks whose numbers are `separation` apart, each of which holds a copy of the other: the set of `rank`, in
/// which every rank is held by the next one. If the number of ranks is odd, the first, the middle and the last rank form
/// a ring of three.
pub(crate) fn pair(separation: u32, rank: usize, ranks: usize) -> Result<Vec<usize>> {
    let holder = |rank| partners(separation, rank, ranks).holder;
    let mut ring = vec![rank];
    let mut next = holder(rank);
    while next != rank && ring.len() < ranks {
        ring.push(next);
        next = holder(next);
    }
    if next != rank {
        return Err(Error::Broken("the holders of copies form no ring"));
    }
    let lowest = (1..ring.len()).fold(0, |low, at| if ring[at] < ring[low] { at } else { low });
    ring.rotate_left(lowest);
    Ok(ring)
}

/// How sets are to be chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacing {
    pub(crate) separation: usize,
    /// At least as many as `smallest`.
    pub(crate) set_size: usize,
    /// Ranks that a set needs.
    pub(crate) smallest: usize,
}

impl Spacing {
    /// The set of `rank`, in ascending order.
    ///
    /// Blocks of `separation * set_size` ranks are divided into sets with just this separation. The ranks after the
    /// last block form sets with the greatest separation that they allow; where they are too few for a set, they join
    /// sets of the blocks.
    pub(crate) fn set_of(self, rank: usize, ranks: usize) -> Vec<usize> {
        let block = self.block();
        let blocks_end = ranks - ranks % block;
        let rest = ranks - blocks_end;
        if rank >= blocks_end && rest >= self.smallest {
            let sets = self.sets_of_rest(rest);
            let first = blocks_end + (rank - blocks_end) % sets;
            return (first..ranks).step_by(sets).collect();
        }
        let first = match rank < blocks_end {
            true => rank - rank % block + rank % self.separation,
            false => self.host_of(rank, ranks),
        };
        let members = (0..self.set_size).map(|at| first + at * self.separation);
        let mut set: Vec<_> = members.collect();
        if rest < self.smallest {
            let guests = blocks_end..ranks;
            set.extend(guests.filter(|guest| self.host_of(*guest, ranks) == first));
        }
        set
    }

    fn block(self) -> usize {
        self.separation.saturating_mul(self.set_size)
    }

    /// Into how many sets the ranks after the last block are divided: as many as keep within the set size, or one less
    /// where sets would become too small.
    fn sets_of_rest(self, rest: usize) -> usize {
        let sets = rest.div_ceil(self.set_size);
        match rest / sets >= self.smallest {
            true => sets,
            false => rest / self.set_size,
        }
    }

    /// The first rank of the set that one of the last ranks joins: different sets as far as there are so many, those of
    /// the last block first.
    fn host_of(self, guest: usize, ranks: usize) -> usize {
        let (block, blocks) = (self.block(), ranks / self.block());
        let behind = (ranks - 1 - guest) / self.separation % blocks;
        let within = (guest - blocks * block) % self.separation;
        (blocks - 1 - behind) * block + within
    }
}

/// A rank's neighbours among those that hold copies; both are the same rank unless it is in a ring of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Partners {
    /// Whose data this rank holds.
    held: usize,
    /// Who holds this rank's data.
    holder: usize,
}

fn partners(separation: u32, rank: usize, ranks: usize) -> Partners {
    let ring = |held, holder| Partners { held, holder };
    let pair = |partner| ring(partner, partner);
    let (middle, last) = (ranks / 2, ranks - 1);
    if ranks % 2 == 0 {
        return pair(paired(separation as usize, rank, ranks));
    }
    if rank == 0 {
        return ring(last, middle);
    }
    if rank == middle {
        return ring(0, last);
    }
    if rank == last {
        return ring(middle, 0);
    }
    let place = rank - 1 - usize::from(rank > middle);
    let partner = 1 + paired(separation as usize, place, ranks - 3);
    pair(partner + usize::from(partner >= middle))
}

/// The partner of `rank` among an even number of ranks: in blocks of twice the separation, the first half
/// goes with the second. What is left beyond whole blocks lies half before and half behind them.
fn paired(separation: usize, rank: usize, ranks: usize) -> usize {
    let outside = ranks % separation.saturating_mul(2) / 2;
    let behind = ranks - outside;
    if rank < outside {
        rank + behind
    } else if rank >= behind {
        rank - behind
    } else if (rank - outside) / separation % 2 == 0 {
        rank + separation
    } else {
        rank - separation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(separation: u32, ranks: usize) -> Vec<(usize, usize)> {
        (0..ranks)
            .map(|rank| (rank, partners(separation, rank, ranks)))
            .filter(|(rank, partners)| partners.held == partners.holder && *rank < partners.held)
            .map(|(rank, partners)| (rank, partners.held))
            .collect()
    }

    #[test]
    fn every_share_has_one_holder_which_is_another_rank() {
        for ranks in 2usize..=40 {
            for separation in 1..=ranks as u32 {
                let partners = |rank| super::partners(separation, rank, ranks);
                for rank in 0..ranks {
                    let Partners { held, holder } = partners(rank);
                    assert!(held < ranks && holder < ranks && held != rank && holder != rank);
                    assert_eq!(partners(holder).held, rank);
                    assert_eq!(partners(held).holder, rank);
                }
                let in_ring = if ranks % 2 == 0 { 0 } else { 3 };
                assert_eq!(2 * pairs(separation, ranks).len() + in_ring, ranks);
            }
        }
    }

    #[test]
    fn pairs_are_those_of_fenix() {
        assert_eq!(pairs(1, 4), [(0, 1), (2, 3)]);
        assert_eq!(pairs(2, 6), [(0, 5), (1, 3), (2, 4)]);
        assert_eq!(pairs(1, 5), [(1, 3)]);
        assert_eq!(pairs(2, 7), [(1, 4), (2, 5)]);
        assert_eq!(pairs(3, 10), [(0, 8), (1, 9), (2, 5), (3, 6), (4, 7)]);
        let ring = [0, 2, 4].map(|rank| partners(1, rank, 5));
        let expected = [(4, 2), (0, 4), (2, 0)].map(|(held, holder)| Partners { held, holder });
        assert_eq!(ring, expected);
    }

    fn spacing(separation: usize, set_size: usize) -> Spacing {
        Spacing {
            separation,
            set_size,
            smallest: 3,
        }
    }

    #[test]
    fn larger_sets_are_as_large_as_they_must_be() {
        for (ranks, smallest) in (4..=40).flat_map(|ranks| (4..=6).map(move |s| (ranks, s))) {
            for (size, separation) in (smallest..=8).flat_map(|s| (1..=ranks).map(move |a| (s, a)))
            {
                if ranks < smallest {
                    continue;
                }
                let spacing = Spacing {
                    separation,
                    set_size: size,
                    smallest,
                };
                let sets: Vec<_> = (0..ranks).map(|rank| spacing.set_of(rank, ranks)).collect();
                for (rank, set) in sets.iter().enumerate() {
                    let case = (ranks, spacing, set);
                    assert!(
                        set.contains(&rank) && set.is_sorted_by(|a, b| a < b),
                        "{case:?}"
                    );
                    assert!(set.iter().all(|member| sets[*member] == *set), "{case:?}");
                    assert!((smallest..size + smallest).contains(&set.len()), "{case:?}");
                }
            }
        }
    }

    fn each_parity(mut visit: impl FnMut(usize, usize, usize, &dyn Fn(usize) -> Vec<usize>)) {
        for ranks in 3..=40 {
            for size in 3..=ranks + 1 {
                for separation in 1..=ranks {
                    let set_of = |rank| spacing(separation, size).set_of(rank, ranks);
                    visit(ranks, size, separation, &set_of);
                }
            }
        }
    }

    #[test]
    fn every_rank_is_in_one_set() {
        each_parity(|ranks, size, separation, set_of| {
            let case = (ranks, size, separation);
            let sets: Vec<_> = (0..ranks).map(set_of).collect();
            for (rank, set) in sets.iter().enumerate() {
                assert!(set.contains(&rank), "{case:?}");
                assert!(set.is_sorted_by(|a, b| a < b), "{case:?}");
                assert!(set.iter().all(|&member| member < ranks), "{case:?}");
                assert!(set.iter().all(|&member| sets[member] == *set), "{case:?}");
                // Two ranks too many join the same set only where there is no other.
                let rest = ranks % (size * separation);
                let alone = set.len() == ranks || (size, rest) == (3, 5);
                let most = size + if alone { 2 } else { 1 };
                assert!((3..=most).contains(&set.len()), "{case:?} {set:?}");
            }
        });
    }

    #[test]
    fn sets_are_those_of_fenix_where_the_ranks_divide() {
        each_parity(|ranks, size, separation, set_of| {
            if ranks % (size * separation) != 0 {
                return;
            }
            for rank in 0..ranks {
                let position = rank / separation % size;
                let expected = (0..size).map(|at| rank + separation * at - separation * position);
                assert_eq!(set_of(rank), expected.collect::<Vec<_>>());
            }
        });
    }

    #[test]
    fn ranks_of_a_set_are_apart() {
        each_parity(|ranks, size, separation, set_of| {
            let rest = ranks % (size * separation);
            for rank in 0..ranks {
                let set = set_of(rank);
                let among_rest = rest >= 3 && rank >= ranks - rest;
                let least = if among_rest { rest / size } else { separation };
                let apart = set.windows(2).all(|two| two[1] - two[0] >= least);
                assert!(apart, "{ranks} {size} {separation} {set:?}");
            }
        });
    }

    #[test]
    fn sets_where_the_ranks_do_not_divide() {
        let sets = |separation, size, ranks| {
            let mut sets: Vec<_> = (0..ranks)
                .map(|rank| spacing(separation, size).set_of(rank, ranks))
                .collect();
            sets.sort();
            sets.dedup();
            sets
        };
        assert_eq!(sets(2, 3, 7), [vec![0, 2, 4, 6], vec![1, 3, 5]]);
        assert_eq!(sets(2, 3, 8), [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert_eq!(sets(1, 3, 8), [[0, 1, 2, 6], [3, 4, 5, 7]]);
        assert_eq!(sets(1, 3, 5), [[0, 1, 2, 3, 4]]);
        assert_eq!(sets(9, 4, 3), [[0, 1, 2]]);
        assert_eq!(sets(2, 4, 11)[2..], [[8, 9, 10]]);
        assert_eq!(sets(usize::MAX, 4, 7), [vec![0, 2, 4, 6], vec![1, 3, 5]]);
    }
}
