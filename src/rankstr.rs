//! Groups the ranks of a communicator by a string: equal strings, equal group.
//!
//! The unique strings climb a binomial tree: each rank merges the sorted lists of its children into
//! its own and hands the result to its parent. Rank 0 broadcasts the final list, and each rank finds
//! its own string there. A rank holds the unique strings it has seen, never one entry per rank.
//!
//! A rank without a string, or one that lost a child, climbs as a [`Flaw`] in place of a list, so
//! that all ranks end with an error instead of waiting for each other.

use std::cmp::Ordering;

use crate::comm::{self, Comm, Tag};
use crate::wire;

const TAG: Tag = 0x7273;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("rank {rank} gave NULL for its string or for the new communicator")]
    NoString { rank: usize },
    #[error("rank {rank} could not collect the strings below it")]
    Broken { rank: usize },
    #[error(transparent)]
    Comm(#[from] comm::Error),
}

/// The place of a rank among the groups of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringGroup {
    /// How many different strings the ranks gave.
    pub groups: usize,
    /// The position of this rank's string among them, in byte order as of `strcmp`.
    pub id: usize,
}

/// Finds the group of each rank; `None` on any rank is an error on all of them.
///
/// A rank that shall take part without joining anyone gives an empty string here and no color to the
/// split that follows.
///
/// # Collective
/// Called by all ranks of `comm`.
pub fn group<C: Comm>(comm: &C, string: Option<&[u8]>) -> Result<StringGroup, Error> {
    collect(comm, string)?.place(string.unwrap_or_default())
}

/// As [`group`], but returns the unique strings in order, and the index of this rank's.
pub fn strings<C: Comm>(comm: &C, string: Option<&[u8]>) -> Result<(Vec<Vec<u8>>, usize), Error> {
    let unique = collect(comm, string)?;
    let place = unique.place(string.unwrap_or_default())?;
    Ok((unique.iter().map(<[u8]>::to_vec).collect(), place.id))
}

fn collect<C: Comm>(comm: &C, string: Option<&[u8]>) -> Result<Sorted, Error> {
    let own = match string {
        Some(string) => Ok(Sorted::of(string)),
        None => Err(Flaw::NoString(comm.user_rank(comm.rank()))),
    };
    let mut broken = None;
    let climbed = climb(comm, own, &mut broken);
    let unique = share(comm, climbed);
    match (broken, unique?) {
        (Some(error), _) => Err(error.into()),
        (None, Err(flaw)) => Err(flaw.into()),
        (None, Ok(unique)) => Ok(unique),
    }
}

/// Why there is no list; the flaw of the lowest rank is reported.
#[derive(Clone, Copy)]
enum Flaw {
    NoString(usize),
    Broken(usize),
}

impl Flaw {
    fn rank(self) -> usize {
        match self {
            Self::NoString(rank) | Self::Broken(rank) => rank,
        }
    }
}

impl From<Flaw> for Error {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::NoString(rank) => Self::NoString { rank },
            Flaw::Broken(rank) => Self::Broken { rank },
        }
    }
}

type Collected = Result<Sorted, Flaw>;

/// Merges the lists of this rank's subtree and hands them to its parent.
fn climb<C: Comm>(comm: &C, mut list: Collected, broken: &mut Option<comm::Error>) -> Collected {
    let (rank, size) = (comm.rank(), comm.size());
    let mut step = 1;
    while step < size && rank & step == 0 {
        if rank + step < size {
            let child = receive(comm, rank + step).unwrap_or_else(|error| {
                broken.get_or_insert(error);
                Err(Flaw::Broken(comm.user_rank(rank)))
            });
            list = join(list, child);
        }
        step *= 2;
    }
    if rank != 0 {
        if let Err(error) = hand_up(comm, rank - step, &list) {
            broken.get_or_insert(error);
        }
    }
    list
}

fn join(a: Collected, b: Collected) -> Collected {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(a.merge(&b)),
        (Err(a), Err(b)) => Err(if a.rank() <= b.rank() { a } else { b }),
        (Err(flaw), Ok(_)) | (Ok(_), Err(flaw)) => Err(flaw),
    }
}

fn hand_up<C: Comm>(comm: &C, parent: usize, list: &Collected) -> comm::Result<()> {
    comm.send(parent, TAG, &header(list))?;
    match list {
        Ok(list) => comm.send(parent, TAG, &list.0),
        Err(_) => Ok(()),
    }
}

fn receive<C: Comm>(comm: &C, child: usize) -> comm::Result<Collected> {
    let mut bytes = [0; HEADER];
    comm.recv(child, TAG, &mut bytes)?;
    let length = match length(&bytes) {
        Ok(length) => length,
        Err(flaw) => return Ok(Err(flaw)),
    };
    let mut list = vec![0; length];
    comm.recv(child, TAG, &mut list)?;
    Ok(Ok(Sorted(list)))
}

/// Gives the list of rank 0 to all ranks.
fn share<C: Comm>(comm: &C, list: Collected) -> comm::Result<Collected> {
    let mut bytes = header(&list);
    comm.bcast(0, &mut bytes)?;
    let length = match length(&bytes) {
        Ok(length) => length,
        Err(flaw) => return Ok(Err(flaw)),
    };
    let mut shared = match list {
        Ok(list) if comm.rank() == 0 => list.0,
        _ => vec![0; length],
    };
    comm.bcast(0, &mut shared)?;
    Ok(Ok(Sorted(shared)))
}

/// What goes ahead of a list: which kind of message, and its length or the flawed rank.
const HEADER: usize = 9;

fn header(list: &Collected) -> [u8; HEADER] {
    let (kind, value) = match list {
        Ok(list) => (0, list.0.len()),
        Err(Flaw::NoString(rank)) => (1, *rank),
        Err(Flaw::Broken(rank)) => (2, *rank),
    };
    let mut bytes = [kind; HEADER];
    bytes[1..].copy_from_slice(&(value as u64).to_le_bytes());
    bytes
}

fn length(header: &[u8; HEADER]) -> Result<usize, Flaw> {
    let [kind, value @ ..] = *header;
    let value = u64::from_le_bytes(value) as usize;
    match kind {
        0 => Ok(value),
        1 => Err(Flaw::NoString(value)),
        _ => Err(Flaw::Broken(value)),
    }
}

/// Different strings in byte order, each after its length, ready to be sent.
struct Sorted(Vec<u8>);

impl Sorted {
    fn of(string: &[u8]) -> Self {
        let mut list = Self(Vec::with_capacity(8 + string.len()));
        list.push(string);
        list
    }

    fn push(&mut self, string: &[u8]) {
        wire::put(&mut self.0, &[string.len() as u64]);
        self.0.extend(string);
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let [length] = wire::take(&mut rest)?;
            let (string, tail) = rest.split_at_checked(length as usize)?;
            rest = tail;
            Some(string)
        })
    }

    fn merge(self, other: &Self) -> Self {
        let mut merged = Self(Vec::with_capacity(self.0.len().max(other.0.len())));
        let (mut left, mut right) = (self.iter().peekable(), other.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => a.cmp(b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let of_left = left.next_if(|_| order.is_le());
            let of_right = right.next_if(|_| order.is_ge());
            if let Some(string) = of_left.or(of_right) {
                merged.push(string);
            }
        }
        merged
    }

    /// The list holds the string of every rank, unless a peer sent something else than a list.
    fn place(&self, string: &[u8]) -> Result<StringGroup, Error> {
        let id = self.iter().position(|s| s == string);
        Ok(StringGroup {
            groups: self.iter().count(),
            id: id.ok_or(Error::Broken { rank: 0 })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::comm::local::run;

    fn groups_of(strings: &[Option<Vec<u8>>]) -> Vec<Result<StringGroup, Error>> {
        run(strings.len(), |comm| {
            group(&comm, strings[comm.rank()].as_deref())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn ids_are_positions_in_byte_order(
            strings in prop::collection::vec(prop::collection::vec(97u8..100, 0..3), 1..20),
        ) {
            let unique: BTreeSet<_> = strings.iter().collect();
            let given: Vec<_> = strings.iter().cloned().map(Some).collect();
            for (string, found) in strings.iter().zip(groups_of(&given)) {
                let id = unique.iter().position(|s| *s == string).unwrap();
                prop_assert_eq!(found.unwrap(), StringGroup { groups: unique.len(), id });
            }
        }

        #[test]
        fn a_missing_string_is_known_to_all(
            mut strings in prop::collection::vec(prop::option::of(any::<Vec<u8>>()), 1..12),
            missing in any::<prop::sample::Index>(),
        ) {
            let missing = missing.index(strings.len());
            strings[missing] = None;
            let first = strings.iter().position(Option::is_none).unwrap();
            for found in groups_of(&strings) {
                let known = matches!(found, Err(Error::NoString { rank }) if rank == first);
                prop_assert!(known, "{:?}", found);
            }
        }
    }

    #[test]
    fn order_is_that_of_unsigned_bytes() {
        let strings = [&b"\xff"[..], b"a", b"", b"aa", b"Z"].map(|s| Some(s.to_vec()));
        let ids = groups_of(&strings).into_iter().map(|g| g.unwrap().id);
        assert_eq!(ids.collect::<Vec<_>>(), [4, 2, 0, 3, 1]);
    }

    #[test]
    fn a_rank_that_left_ends_all() {
        for gone in 0..7 {
            let found = run(7, |comm| match comm.rank() {
                rank if rank == gone => None,
                _ => Some(group(&comm, Some(b"x"))),
            });
            assert!(found.iter().flatten().all(Result::is_err));
        }
    }
}
