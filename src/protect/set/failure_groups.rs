//! Sets by failure groups, as communicators.
//!
//! Ranks with the same failure-group string are expected to fail together. The n-th ranks of all failure groups are
//! divided into sets as evenly as their number allows, so that no set has two ranks of one failure group.

use super::super::Result;
use crate::comm::{self, Comm, Op};
use crate::rankstr;
use crate::wire::bcast_u64;

/// The ranks of this rank's set: at least `min_size` where there are enough.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(crate) fn by_failure_group<C: Comm>(
    comm: &C,
    group: Option<&[u8]>,
    min_size: usize,
) -> Result<C> {
    let failure_group = rankstr::group(comm, group)?;
    let together = part(comm, failure_group.id)?;
    let across = part(comm, together.rank())?;
    let set = set_of(across.rank(), across.size(), min_size);
    Ok(part(&across, set)?)
}

/// How many sets there are, and the number of ours: sets are ordered by their first ranks.
///
/// # Collective
/// Called by all ranks of `parent`.
pub(crate) fn number_sets<C: Comm>(parent: &C, set: &C) -> Result<(usize, usize)> {
    let leads = u64::from(set.rank() == 0);
    let mut count = [leads];
    parent.allreduce(Op::Sum, &mut count)?;
    let mut before = [leads];
    parent.scan(Op::Sum, &mut before)?;
    let number = bcast_u64(set, 0, before[0].saturating_sub(1))?;
    Ok((count[0] as usize, number as usize))
}

/// A communicator of the ranks with the same color.
pub(crate) fn part<C: Comm>(comm: &C, color: usize) -> comm::Result<C> {
    part_in_order(comm, color, comm.rank())
}

pub(crate) fn part_in_order<C: Comm>(comm: &C, color: usize, order: usize) -> comm::Result<C> {
    let part = comm.split(Some(color as u32), order as i32)?;
    part.ok_or(comm::Error::NullCommunicator)
}

/// Which of the sets the rank belongs to when `ranks` ranks are divided into sets of at least `min_size`. The first sets
/// take one rank more than the others if needed.
fn set_of(rank: usize, ranks: usize, min_size: usize) -> usize {
    let sets = ranks / min_size;
    let size = match sets {
        0 => ranks,
        _ => min_size + (ranks - sets * min_size) / sets,
    };
    let larger = ranks % size;
    let in_larger = larger * (size + 1);
    if rank < in_larger {
        rank / (size + 1)
    } else {
        (rank - in_larger) / size + larger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_at_least_as_large_as_wanted_and_differ_by_one() {
        for ranks in 1..60 {
            for min_size in 1..20 {
                let sets: Vec<_> = (0..ranks).map(|r| set_of(r, ranks, min_size)).collect();
                assert!(sets.is_sorted());
                let count = sets.last().unwrap() + 1;
                let sizes = (0..count).map(|set| sets.iter().filter(|s| **s == set).count());
                let sizes: Vec<_> = sizes.collect();
                assert!(
                    sizes.is_sorted_by(|a, b| a >= b),
                    "{ranks} {min_size} {sizes:?}"
                );
                assert!(sizes[0] - sizes[count - 1] <= 1);
                assert!(sizes[count - 1] >= min_size.min(ranks));
            }
        }
    }
}
