//! Chooses the sets of a communicator, and forms those again that a descriptor names.
//!
//! Ranks with the same failure-group string are expected to fail together. The n-th ranks of all failure
//! groups are divided into sets as evenly as their number allows, so that no set has two ranks of one
//! failure group. Where there is a placement (`placing`), the sets are those of the placement, with its
//! numbers and in its order.

use super::{Descriptor, Error, Neighbour, Peers, Redset, Result, Scheme, agree, placing};
use crate::comm::{Comm, Op, Tag};
use crate::failure_domain::{Placement, topology};
use crate::protect::Set;
use crate::rankstr;

const TAG: Tag = 0x7273;
const HOSTNAME: usize = 256;

pub(super) fn create<C: Comm>(
    comm: &C,
    scheme: Scheme,
    group: Option<&[u8]>,
    min_size: usize,
) -> Result<Redset<C>> {
    let parent = same(comm)?;
    // Without redundancy there is nothing to place.
    if scheme != Scheme::Single {
        let path = topology::path();
        let placement = placing::declared(&parent, path, scheme, group, min_size)?;
        if let Some(placement) = placement {
            return placed(parent, &placement);
        }
    }
    let rank = parent.rank();
    let failure_group = rankstr::group(&parent, group)?;
    let set = match scheme {
        Scheme::Single => part(&parent, rank)?,
        _ => {
            let together = part(&parent, failure_group.id)?;
            let across = part(&parent, together.rank())?;
            part(&across, set_of(across.rank(), across.size(), min_size))?
        }
    };
    let numbers = number_sets(&parent, &set)?;
    Redset::made(parent, scheme, numbers, set)
}

/// The sets of a placement that fits the communicator.
pub(super) fn placed<C: Comm>(parent: C, placement: &Placement) -> Result<Redset<C>> {
    let (group, place) = placement.set_of(parent.rank());
    let set = part_in_order(&parent, group, place)?;
    let numbers = (placement.sets().count(), group);
    Redset::made(parent, placement.scheme().into(), numbers, set)
}

/// Forms the set of a descriptor again.
pub(super) fn restore<C: Comm>(parent: C, descriptor: Descriptor) -> Result<Redset<C>> {
    let comm = part_in_order(&parent, descriptor.group, descriptor.rank)?;
    let found = (comm.rank(), comm.size(), parent.rank(), parent.size());
    let Descriptor {
        rank,
        ranks,
        world_rank,
        world_ranks,
        ..
    } = descriptor;
    let fits = match found == (rank, ranks, world_rank, world_ranks) {
        true => Ok(()),
        false => Err(Error::Mismatch(format!(
            "rank {} of {} and {} of {} in its set is found as {found:?}",
            world_rank, world_ranks, rank, ranks
        ))),
    };
    agree(&parent, fits)?;
    Redset::form(parent, descriptor, comm)
}

impl<C: Comm> Redset<C> {
    /// `groups` is how many sets there are, and `group` the number of this one.
    fn made(
        parent: C,
        scheme: Scheme,
        (groups, group): (usize, usize),
        set: C,
    ) -> Result<Redset<C>> {
        let descriptor = Descriptor {
            enabled: true,
            scheme,
            groups,
            group,
            ranks: set.size(),
            rank: set.rank(),
            world_ranks: parent.size(),
            world_rank: parent.rank(),
        };
        agree(&parent, scheme.check(set.size()).map_err(Error::from))?;
        Redset::form(parent, descriptor, set)
    }

    fn form(parent: C, descriptor: Descriptor, comm: C) -> Result<Redset<C>> {
        let mut map = vec![0; 8 * comm.size()];
        comm.allgather(&(parent.rank() as u64).to_le_bytes(), &mut map)?;
        let map = map
            .chunks_exact(8)
            .filter_map(|number| number.first_chunk());
        let map: Vec<_> = map.map(|n| u64::from_le_bytes(*n) as usize).collect();
        let (left, right) = neighbours(&comm, &map)?;
        let set = Peers {
            on_one_node: on_one_node(&comm)?,
            set: Set::whole(&comm, descriptor.scheme),
            comm,
            map,
            left,
            right,
        };
        Ok(Redset {
            parent,
            descriptor: Some(descriptor),
            set: Some(set),
        })
    }
}

pub(super) fn on_one_node<C: Comm>(comm: &C) -> Result<bool> {
    let node = comm.node();
    let mut least = [node, !node];
    comm.allreduce(Op::Min, &mut least)?;
    Ok(least[0] == !least[1])
}

/// A communicator of its own with the same ranks.
pub(super) fn same<C: Comm>(comm: &C) -> Result<C> {
    part(comm, 0)
}

fn part<C: Comm>(comm: &C, color: usize) -> Result<C> {
    part_in_order(comm, color, comm.rank())
}

fn part_in_order<C: Comm>(comm: &C, color: usize, order: usize) -> Result<C> {
    let part = comm.split(Some(color as u32), order as i32)?;
    part.ok_or(Error::Comm(crate::comm::Error::NullCommunicator))
}

/// Which of the sets the rank belongs to when `ranks` ranks are divided into sets of at least
/// `min_size`. The first sets take one rank more than the others if needed.
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

/// How many sets there are, and the number of ours: sets are ordered by their first ranks.
fn number_sets<C: Comm>(parent: &C, set: &C) -> Result<(usize, usize)> {
    let leads = u64::from(set.rank() == 0);
    let mut count = [leads];
    parent.allreduce(Op::Sum, &mut count)?;
    let mut before = [leads];
    parent.scan(Op::Sum, &mut before)?;
    let mut number = before[0].saturating_sub(1).to_le_bytes();
    set.bcast(0, &mut number)?;
    Ok((count[0] as usize, u64::from_le_bytes(number) as usize))
}

fn neighbours<C: Comm>(comm: &C, map: &[usize]) -> Result<(Neighbour, Neighbour)> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    let own = hostname();
    let (mut of_left, mut of_right) = ([0; HOSTNAME], [0; HOSTNAME]);
    comm.transfer(TAG, &[(right, &own)], &mut [(left, &mut of_left)])?;
    comm.transfer(TAG, &[(left, &own)], &mut [(right, &mut of_right)])?;
    let neighbour = |rank: usize, name: &[u8]| {
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Neighbour {
            rank,
            world_rank: map[rank],
            hostname: String::from_utf8_lossy(name).into_owned(),
        }
    };
    Ok((neighbour(left, &of_left), neighbour(right, &of_right)))
}

fn hostname() -> [u8; HOSTNAME] {
    let mut name = [0; HOSTNAME];
    let system = rustix::system::uname();
    let found = system.nodename().to_bytes();
    let length = found.len().min(HOSTNAME - 1);
    name[..length].copy_from_slice(&found[..length]);
    name
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
