//! Makes the sets of a communicator, by failure groups or as a placement says, and forms those again that a descriptor
//! names.

use super::{Descriptor, Error, Neighbour, Peers, Redset, Result, Scheme, agree};
use crate::comm::{Comm, Tag};
use crate::failure_domain::{Placement, topology};
use crate::protect::Set;
use crate::protect::set::{by_failure_group, nodes, number_sets, part, part_in_order, placed};
use crate::wire::gather_u64;

const TAG: Tag = 0x7273;

/// Chooses the sets of a communicator: ranks that give the same `group` string are expected to fail
/// together, so they come into different sets. Sets of at least `min_size` ranks where there are enough.
/// If the environment declares a topology, the sets are placed by it, and `group` names a domain in it.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub fn create<C: Comm>(
    comm: &C,
    scheme: Scheme,
    group: Option<&[u8]>,
    min_size: usize,
) -> Result<Redset<C>> {
    let parent = duplicate(comm)?;
    // Without redundancy there is nothing to place.
    if scheme != Scheme::Single {
        let path = topology::path();
        let placement = placed::declared(&parent, path, scheme, group, min_size)?;
        if let Some(placement) = placement {
            return create_placed(parent, &placement);
        }
    }
    let set = match scheme {
        Scheme::Single => part(&parent, parent.rank())?,
        _ => by_failure_group(&parent, group, min_size)?,
    };
    let numbers = number_sets(&parent, &set)?;
    Redset::new(parent, scheme, numbers, set)
}

/// The sets of a placement that fits the communicator.
pub(super) fn create_placed<C: Comm>(parent: C, placement: &Placement) -> Result<Redset<C>> {
    let (group, rank) = placement.set_of(parent.rank());
    let set = part_in_order(&parent, group, rank)?;
    let numbers = (placement.sets().count(), group);
    Redset::new(parent, placement.scheme().into(), numbers, set)
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
    /// `groups` is the number of sets, `group` which of them `set` is.
    fn new(
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
        Redset::form(parent, descriptor, set)
    }

    fn form(parent: C, descriptor: Descriptor, comm: C) -> Result<Redset<C>> {
        let numbers = [descriptor.groups, descriptor.group].map(|number| number as u64);
        let set = Set::form(&comm, descriptor.scheme, &numbers);
        let mut set = agree(&parent, set.map_err(Error::from))?;
        set.learn_hosts(&comm, TAG)?;
        let map = gather_u64(&comm, parent.rank() as u64)?;
        let map: Vec<_> = map.into_iter().map(|rank| rank as usize).collect();
        let peers = Peers {
            left: neighbour(&set, &comm, &map, map.len() - 1),
            right: neighbour(&set, &comm, &map, 1),
            nodes: nodes(&comm)?,
            set,
            comm,
            map,
        };
        Ok(Redset {
            parent,
            descriptor: Some(descriptor),
            set: Some(peers),
        })
    }
}

/// Another communicator with the same ranks.
pub(super) fn duplicate<C: Comm>(comm: &C) -> Result<C> {
    Ok(part(comm, 0)?)
}

/// The rank this far to the right in the set.
fn neighbour<C: Comm>(set: &Set, comm: &C, map: &[usize], distance: usize) -> Neighbour {
    let rank = (comm.rank() + distance) % comm.size();
    Neighbour {
        rank,
        world_rank: map[rank],
        hostname: set.name(comm, rank).host,
    }
}
