//! Sets that a placement by failure domains has chosen: the caller's placement, or that of the topology which the
//! environment of the job declares.
//!
//! A declared path says where a rank is, and the failure group names the leaf below it. The group string is appended to
//! the path unless the path ends with it already. It is one domain, even if it contains separators.
//!
//! What lies in memory stays where it is when ranks are replaced, so sets are then kept ([`KnownSets`]): a rank that takes
//! the place of a dead one runs elsewhere, and learns the sets from one that survived. Any rank may be the only survivor,
//! so every rank knows the sets of all. Where the number of ranks has changed, no set could restore anything, and sets are
//! chosen anew.

use std::hash::BuildHasher;

use super::super::{Error, Result, Scheme};
use crate::comm::{Comm, Op, agree, is_same};
use crate::failure_domain::placement::{self, Placement, PlacementRequest, SEPARATOR};
use crate::failure_domain::topology;
use crate::wire::bcast_u64;

/// The placement for a scheme, failure group and set size; `None` if no rank has a declared path.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub(crate) fn declared<C: Comm>(
    comm: &C,
    path: std::result::Result<Option<String>, topology::Error>,
    scheme: Scheme,
    group: Option<&[u8]>,
    set_size: usize,
) -> Result<Option<Placement>> {
    let path = path.map_err(|error| Error::from(placement::Error::from(error)));
    let path = agree(comm, path)?;
    let mut any = [path.is_some().into(), path.is_none().into()];
    comm.allreduce(Op::Max, &mut any)?;
    let Some(path) = path.filter(|_| any == [1, 0]) else {
        return match any {
            [0, _] => Ok(None),
            _ => Err(Error::Undeclared),
        };
    };
    let path = match group {
        Some(group) => with_leaf(path, &text_of(group)),
        None => path,
    };
    let request = PlacementRequest::new(scheme.into(), set_size.min(comm.size()));
    Ok(Some(placement::create(comm, Some(&path), &request)?))
}

/// Different groups have different texts, whatever bytes they are.
fn text_of(group: &[u8]) -> String {
    let text = std::str::from_utf8(group).map(str::to_owned);
    text.unwrap_or_else(|_| group.escape_ascii().to_string())
}

fn with_leaf(path: String, group: &str) -> String {
    let outside = path.strip_suffix(group);
    let ends_with_it = outside.is_some_and(|rest| rest.is_empty() || rest.ends_with(SEPARATOR));
    match group.is_empty() || ends_with_it {
        true => path,
        false => format!("{path}{SEPARATOR}{}", group.replace(SEPARATOR, "_")),
    }
}

/// Refuses a placement that was made for other ranks, or that is not the same everywhere.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub(crate) fn check<C: Comm>(comm: &C, placement: &Placement) -> Result<()> {
    let (placed, ranks) = (placement.rank_count(), comm.size());
    let fits = match placed == ranks {
        true => Ok(()),
        false => Err(Error::Misplaced { placed, ranks }),
    };
    agree(comm, fits)?;
    match is_same(comm, &[fingerprint(placement)])? {
        true => Ok(()),
        false => Err(Error::Mismatch("they give different placements".into())),
    }
}

fn fingerprint(placement: &Placement) -> u64 {
    let sets = 0..placement.sets().count();
    let members: Vec<_> = sets.map(|set| placement.members(set)).collect();
    foldhash::fast::FixedState::default().hash_one((placement.scheme(), members))
}

/// The sets of all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KnownSets {
    /// Ranks, set by set in their order there.
    ranks: Vec<u32>,
    /// Where each set ends.
    ends: Vec<u32>,
}

/// What [`kept_or_chosen`] found.
#[derive(Debug)]
pub(crate) enum PlacedSets {
    /// The sets that there were.
    Kept(KnownSets),
    /// What as many ranks have stored before does not lie in them.
    Chosen(KnownSets),
}

/// The sets of ranks that have paths; `held` are those that this rank knows from before.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub(crate) fn kept_or_chosen<C: Comm>(
    comm: &C,
    path: &str,
    (scheme, set_size): (Scheme, usize),
    held: Option<&KnownSets>,
) -> Result<PlacedSets> {
    let held = held.filter(|sets| sets.ranks.len() == comm.size());
    let nobody = comm.size() as u64;
    let mut first = [held.map_or(nobody, |_| comm.rank() as u64)];
    comm.allreduce(Op::Min, &mut first)?;
    if first == [nobody] {
        let request = PlacementRequest::new(scheme.into(), set_size.min(comm.size()));
        let placement = placement::create(comm, Some(path), &request);
        return Ok(PlacedSets::Chosen(KnownSets::of(&placement?)));
    }
    let shared = KnownSets::share(comm, first[0] as usize, held)?;
    let fits = match held.is_none_or(|held| *held == shared) {
        true => Ok(()),
        false => Err(Error::Mismatch("they know it with different sets".into())),
    };
    agree(comm, fits)?;
    Ok(PlacedSets::Kept(shared))
}

impl KnownSets {
    fn of(placement: &Placement) -> KnownSets {
        let sets = 0..placement.sets().count();
        let mut found = KnownSets {
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
    pub(crate) fn members(&self, rank: usize) -> Result<Vec<usize>> {
        let place = self.ranks.iter().position(|other| *other as usize == rank);
        let place = place.ok_or(Error::Broken("a rank is in none of the placed sets"))? as u32;
        let set = self.ends.partition_point(|end| *end <= place);
        let end = self.ends.get(set).map(|end| *end as usize);
        let start = set.checked_sub(1).map_or(0, |before| self.ends[before]);
        let members = end.and_then(|end| self.ranks.get(start as usize..end));
        let members = members.ok_or(Error::Broken("a placed set has no end"))?;
        Ok(members.iter().map(|member| *member as usize).collect())
    }

    /// What the rank `root` knows, on all ranks.
    fn share<C: Comm>(comm: &C, root: usize, own: Option<&KnownSets>) -> Result<KnownSets> {
        let count = own.map_or(0, |own| own.ends.len() as u64);
        let count = bcast_u64(comm, root, count)? as usize;
        let words = own.filter(|_| comm.rank() == root);
        let words = words.map(|own| own.ends.iter().chain(&own.ranks));
        let words = words.map(|words| words.flat_map(|word| word.to_le_bytes()).collect());
        let mut bytes: Vec<u8> = words.unwrap_or_else(|| vec![0; 4 * (count + comm.size())]);
        comm.bcast(root, &mut bytes)?;
        let words = bytes.chunks_exact(4).filter_map(|word| word.first_chunk());
        let mut ends: Vec<_> = words.map(|word| u32::from_le_bytes(*word)).collect();
        let ranks = ends.split_off(count);
        Ok(KnownSets { ranks, ends })
    }
}

impl From<Scheme> for placement::PlacementScheme {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Single => Self::Single,
            Scheme::Copies { replicas } => Self::Partner { replicas },
            Scheme::Xor => Self::Xor,
            Scheme::ReedSolomon { k } => Self::ReedSolomon { k },
        }
    }
}

impl From<placement::PlacementScheme> for Scheme {
    fn from(scheme: placement::PlacementScheme) -> Self {
        match scheme {
            placement::PlacementScheme::Single => Self::Single,
            placement::PlacementScheme::Partner { replicas } => Self::Copies { replicas },
            placement::PlacementScheme::Xor => Self::Xor,
            placement::PlacementScheme::ReedSolomon { k } => Self::ReedSolomon { k },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_are_no_text_stay_apart() {
        assert_eq!(text_of("nö".as_bytes()), "nö");
        assert_ne!(text_of(b"n\xff"), text_of(b"n\xfe"));
    }

    #[test]
    fn the_group_is_the_last_part_of_the_path() {
        let leaf = |path: &str, group| with_leaf(path.into(), group);
        assert_eq!(leaf("r0/c1", "n7"), "r0/c1/n7");
        assert_eq!(leaf("r0/c1/n7", "n7"), "r0/c1/n7");
        assert_eq!(leaf("r0/c1/n7", "c1/n7"), "r0/c1/n7");
        assert_eq!(leaf("n7", "n7"), "n7");
        assert_eq!(leaf("r0/n17", "7"), "r0/n17/7");
        assert_eq!(leaf("r0", "a/b"), "r0/a_b");
        assert_eq!(leaf("r0/n7", ""), "r0/n7");
    }
}
