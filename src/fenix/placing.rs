//! Sets that a placement by failure domains has chosen.
//!
//! They are chosen when no rank has the group yet. From then on shares and guards lie where these sets say, so they
//! stay when the group is created again: a rank that takes the place of a dead one sits elsewhere, and learns the
//! sets from one that survived. Any rank may be the only one that did, so every rank knows the sets of all. Where the
//! number of ranks has changed, no set could restore anything, and they are chosen anew.

use super::agreement::agree;
use super::{Error, Policy, Result};
use crate::comm::{Comm, Op};
use crate::failure_domain::placement::{self, Placement, Request, Scheme};
use crate::rankstr;

/// The sets of all ranks of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sets {
    /// Ranks, set by set in their order there.
    ranks: Vec<u32>,
    /// Where each set ends.
    ends: Vec<u32>,
}

/// What [`sets`] found.
#[derive(Debug)]
pub(super) enum Found {
    /// The sets that the group had.
    Kept(Sets),
    /// What an earlier group of as many ranks has stored does not lie in them.
    Chosen(Sets),
}

/// The sets of a group whose ranks have paths; `held` are those that this rank knows from before.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub(super) fn sets<C: Comm>(
    comm: &C,
    path: &str,
    (group, policy): (i32, Policy),
    held: Option<&Sets>,
) -> Result<Found> {
    let held = held.filter(|sets| sets.ranks.len() == comm.size());
    let nobody = comm.size() as u64;
    let mut first = [held.map_or(nobody, |_| comm.rank() as u64)];
    comm.allreduce(Op::Min, &mut first)?;
    if first == [nobody] {
        let placement = placement::create(comm, Some(path), &request(policy, comm.size()));
        return Ok(Found::Chosen(Sets::of(&placement?)));
    }
    let shared = Sets::share(comm, first[0] as usize, held)?;
    let fits = match held.is_none_or(|held| *held == shared) {
        true => Ok(()),
        false => Err(Error::Mismatch {
            group,
            what: "they know it with different sets".into(),
        }),
    };
    agree(comm, fits)?;
    Ok(Found::Kept(shared))
}

fn request(policy: Policy, ranks: usize) -> Request {
    match policy {
        Policy::Copy { .. } => Request::new(Scheme::Partner { replicas: 1 }, 2),
        Policy::Parity { set_size, .. } => Request::new(Scheme::Xor, ranks.min(set_size as usize)),
    }
}

impl Sets {
    fn of(placement: &Placement) -> Sets {
        let sets = 0..placement.sets().count();
        let mut found = Sets {
            ranks: Vec::with_capacity(placement.rank_count()),
            ends: Vec::with_capacity(sets.len()),
        };
        for set in sets {
            found.ranks.extend(placement.members(set));
            found.ends.push(found.ranks.len() as u32);
        }
        found
    }

    /// The ranks of the set that `rank` is in, in their order.
    pub(super) fn members(&self, rank: usize) -> Result<Vec<usize>> {
        let place = self.ranks.iter().position(|other| *other as usize == rank);
        let place = place.ok_or(Error::Invariant("a rank is in none of the placed sets"))? as u32;
        let set = self.ends.partition_point(|end| *end <= place);
        let end = self.ends.get(set).map(|end| *end as usize);
        let start = set.checked_sub(1).map_or(0, |before| self.ends[before]);
        let members = end.and_then(|end| self.ranks.get(start as usize..end));
        let members = members.ok_or(Error::Invariant("a placed set has no end"))?;
        Ok(members.iter().map(|member| *member as usize).collect())
    }

    /// What the rank `root` knows, on all ranks.
    fn share<C: Comm>(comm: &C, root: usize, own: Option<&Sets>) -> Result<Sets> {
        let mut count = own.map_or(0, |own| own.ends.len() as u64).to_le_bytes();
        comm.bcast(root, &mut count)?;
        let count = u64::from_le_bytes(count) as usize;
        let words = own.filter(|_| comm.rank() == root);
        let words = words.map(|own| own.ends.iter().chain(&own.ranks));
        let words = words.map(|words| words.flat_map(|word| word.to_le_bytes()).collect());
        let mut bytes: Vec<u8> = words.unwrap_or_else(|| vec![0; 4 * (count + comm.size())]);
        comm.bcast(root, &mut bytes)?;
        let words = bytes.chunks_exact(4).filter_map(|word| word.first_chunk());
        let mut ends: Vec<_> = words.map(|word| u32::from_le_bytes(*word)).collect();
        let ranks = ends.split_off(count);
        Ok(Sets { ranks, ends })
    }
}

impl From<placement::Error> for Error {
    fn from(error: placement::Error) -> Error {
        match error {
            placement::Error::Comm(cause)
            | placement::Error::Rankstr(rankstr::Error::Comm(cause)) => Error::Comm(cause),
            other => Error::Policy(other.to_string()),
        }
    }
}
