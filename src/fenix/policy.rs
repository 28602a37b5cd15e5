//! Which ranks protect each other, computed alone by every rank from its number.
//!
//! Ranks that are close to each other tend to fail together, so ranks of a set are `separation` apart.
//! Every rank of the group is in exactly one set, whatever the number of ranks.

use super::{Error, Result};
use crate::protect::{Scheme, Set};

/// How the shares of a group are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Mode 1: another rank holds a copy.
    Copy { separation: u32 },
    /// Mode 5: the ranks of a set hold parity of each other's shares.
    Parity { separation: u32, set_size: u32 },
}

/// A rank's neighbours in mode 1; both are the same rank unless it is in a group of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partners {
    /// Whose share this rank holds.
    pub(super) held: usize,
    /// Who holds this rank's share.
    pub(super) holder: usize,
}

/// With fewer ranks parity is no better than a copy.
const SMALLEST_SET: usize = 3;

impl Policy {
    /// The policy of a group that existed before and may have shrunk since: programs compute the separation and the
    /// size of a set from the number of ranks. Two ranks have copies in either mode.
    pub(super) fn fitted(self, ranks: usize) -> Policy {
        match self {
            Policy::Parity { .. } if ranks < SMALLEST_SET => Policy::Copy { separation: 1 },
            Policy::Parity {
                separation,
                set_size,
            } => Policy::Parity {
                separation: separation.max(1),
                set_size: set_size.max(SMALLEST_SET as u32),
            },
            Policy::Copy { separation } => Policy::Copy {
                separation: separation.max(1),
            },
        }
    }

    /// How the shares of a set are protected.
    pub(super) fn scheme(&self) -> Scheme {
        match self {
            Policy::Copy { .. } => Scheme::Copies { replicas: 1 },
            Policy::Parity { .. } => Scheme::Xor,
        }
    }

    /// The set of a rank.
    pub(super) fn set(&self, rank: usize, ranks: usize) -> Result<Set> {
        let members = match *self {
            Policy::Copy { separation } => ring(separation, rank, ranks)?,
            Policy::Parity {
                separation,
                set_size,
            } => Policy::set_of(separation, set_size, rank, ranks),
        };
        Ok(Set::new(members, rank, self.scheme())?)
    }

    /// Refuses what cannot protect a group of `ranks` ranks.
    pub(super) fn check(&self, ranks: usize) -> Result<()> {
        let (separation, needed) = match *self {
            Policy::Copy { separation } => (separation, 2),
            Policy::Parity {
                separation,
                set_size,
            } => {
                if (set_size as usize) < SMALLEST_SET {
                    return refuse(format!("a set of {set_size} is too small for parity"));
                }
                (separation, SMALLEST_SET)
            }
        };
        if separation == 0 {
            return refuse("the rank separation is 0, it must be positive".into());
        }
        match ranks < needed {
            true => refuse(format!("it needs {needed} ranks, there are {ranks}")),
            false => Ok(()),
        }
    }

    /// Mode 1. Ranks form pairs; if their number is odd, the first, the middle and the last rank form a
    /// ring of three.
    pub(super) fn partners(separation: u32, rank: usize, ranks: usize) -> Partners {
        let (middle, last) = (ranks / 2, ranks - 1);
        if ranks % 2 == 0 {
            return Partners::pair(paired(separation as usize, rank, ranks));
        }
        if rank == 0 {
            return Partners::ring(last, middle);
        }
        if rank == middle {
            return Partners::ring(0, last);
        }
        if rank == last {
            return Partners::ring(middle, 0);
        }
        let place = rank - 1 - usize::from(rank > middle);
        let partner = 1 + paired(separation as usize, place, ranks - 3);
        Partners::pair(partner + usize::from(partner >= middle))
    }

    /// Mode 5: the ranks of `rank`'s set, in the order of their positions; `rank` is one of them.
    ///
    /// Blocks of `separation * set_size` ranks are divided into sets with just this separation. The ranks
    /// after the last block form sets with the greatest separation that they allow; one or two of them are
    /// too few for a set and join sets of the blocks.
    pub(super) fn set_of(separation: u32, set_size: u32, rank: usize, ranks: usize) -> Vec<usize> {
        let (separation, size) = (separation as usize, set_size as usize);
        let block = separation.saturating_mul(size);
        let blocks_end = ranks - ranks % block;
        let rest = ranks - blocks_end;
        if rank >= blocks_end && rest >= SMALLEST_SET {
            let sets = sets_of_rest(rest, size);
            let first = blocks_end + (rank - blocks_end) % sets;
            return (first..ranks).step_by(sets).collect();
        }
        let host = |guest| host_of(guest, ranks, separation, block);
        let first = match rank < blocks_end {
            true => rank - rank % block + rank % separation,
            false => host(rank),
        };
        let mut set: Vec<_> = (0..size).map(|at| first + at * separation).collect();
        if rest < SMALLEST_SET {
            set.extend((blocks_end..ranks).filter(|&guest| host(guest) == first));
        }
        set
    }
}

impl Partners {
    fn pair(partner: usize) -> Partners {
        Partners::ring(partner, partner)
    }

    fn ring(held: usize, holder: usize) -> Partners {
        Partners { held, holder }
    }
}

fn refuse(why: String) -> Result<()> {
    Err(Error::Policy(why))
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

/// Mode 1: each rank is held by the next one.
fn ring(separation: u32, rank: usize, ranks: usize) -> Result<Vec<usize>> {
    let holder = |rank| Policy::partners(separation, rank, ranks).holder;
    let mut ring = vec![rank];
    let mut next = holder(rank);
    while next != rank && ring.len() < ranks {
        ring.push(next);
        next = holder(next);
    }
    if next != rank {
        return Err(Error::Invariant("the holders of copies form no ring"));
    }
    let lowest = (1..ring.len()).fold(0, |low, at| if ring[at] < ring[low] { at } else { low });
    ring.rotate_left(lowest);
    Ok(ring)
}

/// Into how many sets the ranks after the last block are divided: as many as keep within the set size,
/// or one less where sets would become too small.
fn sets_of_rest(rest: usize, size: usize) -> usize {
    let sets = rest.div_ceil(size);
    match rest / sets >= SMALLEST_SET {
        true => sets,
        false => rest / size,
    }
}

/// The first rank of the set that one of the one or two last ranks joins: different sets where there are
/// two, in the last block if it has them.
fn host_of(guest: usize, ranks: usize, separation: usize, block: usize) -> usize {
    let blocks_end = ranks - ranks % block;
    let last_block = blocks_end - block;
    match separation {
        1 => last_block.saturating_sub((ranks - 1 - guest) * block),
        _ => last_block + guest - blocks_end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(separation: u32, ranks: usize) -> Vec<(usize, usize)> {
        (0..ranks)
            .map(|rank| (rank, Policy::partners(separation, rank, ranks)))
            .filter(|(rank, partners)| partners.held == partners.holder && *rank < partners.held)
            .map(|(rank, partners)| (rank, partners.held))
            .collect()
    }

    #[test]
    fn every_share_has_one_holder_which_is_another_rank() {
        for ranks in 2usize..=40 {
            for separation in 1..=ranks as u32 {
                let partners = |rank| Policy::partners(separation, rank, ranks);
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
        let ring = [0, 2, 4].map(|rank| Policy::partners(1, rank, 5));
        let expected = [(4, 2), (0, 4), (2, 0)].map(|(held, holder)| Partners { held, holder });
        assert_eq!(ring, expected);
    }

    fn each_parity(mut visit: impl FnMut(usize, usize, usize, &dyn Fn(usize) -> Vec<usize>)) {
        for ranks in 3..=40 {
            for size in 3..=ranks + 1 {
                for separation in 1..=ranks {
                    let set_of = |rank| Policy::set_of(separation as u32, size as u32, rank, ranks);
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
                .map(|rank| Policy::set_of(separation, size, rank, ranks))
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
        assert_eq!(sets(u32::MAX, 4, 7), [vec![0, 2, 4, 6], vec![1, 3, 5]]);
    }

    #[test]
    fn what_cannot_protect_is_refused() {
        let copy = |separation| Policy::Copy { separation };
        let parity = |separation, set_size| Policy::Parity {
            separation,
            set_size,
        };
        let refused = |policy: Policy, ranks| matches!(policy.check(ranks), Err(Error::Policy(_)));
        assert!(refused(copy(0), 4) && refused(copy(1), 1) && refused(copy(1), 0));
        assert!(refused(parity(0, 3), 4) && refused(parity(1, 2), 4) && refused(parity(1, 3), 2));
        assert!(copy(u32::MAX).check(2).is_ok() && parity(u32::MAX, u32::MAX).check(3).is_ok());
    }
}
