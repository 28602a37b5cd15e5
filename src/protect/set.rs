//! The ranks that protect each other, and how their messages are told from others.
//!
//! Sets are chosen by failure groups (`failure_groups`), by the numbers of ranks (`separation`), or by a placement in
//! failure domains (`placed`).

mod failure_groups;
pub(crate) mod placed;
mod separation;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use failure_groups::{by_failure_group, number_sets, part, part_in_order};
pub(crate) use separation::{Spacing, pair};

use super::{Error, Geometry, Result, Scheme};
use crate::comm::{self, Buffer, Comm, RankName, Tag, Underway};
use crate::wire::gather_u64;

/// The ranks of a set by their positions in it, which order stripes and copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    ranks: Vec<usize>,
    mine: usize,
    scheme: Scheme,
    /// By position, once they are known.
    hosts: Vec<String>,
}

/// Bytes of a host name in a message. Linux has none that are longer.
const HOST: usize = 64;

impl Set {
    /// The set in which `rank` is one of `ranks`.
    pub(crate) fn new(ranks: Vec<usize>, rank: usize, scheme: Scheme) -> Result<Set> {
        scheme.check(ranks.len())?;
        let mine = ranks.iter().position(|member| *member == rank);
        Ok(Set {
            mine: mine.ok_or(Error::Broken("a rank is not in its own set"))?,
            ranks,
            scheme,
            hosts: Vec::new(),
        })
    }

    /// All ranks of a communicator, if they mean the same by it: the scheme, and whatever else `numbers` says.
    ///
    /// # Collective
    /// Called by all ranks of `comm`; all return the same verdict.
    pub(crate) fn form<C: Comm>(comm: &C, scheme: Scheme, numbers: &[u64]) -> Result<Set> {
        let same = comm::is_same(comm, &[&scheme.numbers(), numbers].concat())?;
        if !same {
            let what = "they do not form a set with the same scheme and numbers";
            return Err(Error::Mismatch(what.into()));
        }
        scheme.check(comm.size())?;
        Ok(Set::whole(comm, scheme))
    }

    /// All ranks of a communicator.
    pub(crate) fn whole<C: Comm>(comm: &C, scheme: Scheme) -> Set {
        Set {
            ranks: (0..comm.size()).collect(),
            mine: comm.rank(),
            scheme,
            hosts: Vec::new(),
        }
    }

    /// Learns the hosts of all ranks, which messages name.
    ///
    /// # Collective
    /// Called by all ranks of the set.
    pub(crate) fn learn_hosts<C: Comm>(&mut self, comm: &C, tag: Tag) -> comm::Result<()> {
        let mut own = comm.host().into_bytes();
        own.resize(HOST, 0);
        let set = &*self;
        let hosts = Channel { comm, set, tag }
            .exchange(own, |_| HOST)?
            .finish()?;
        let host = |bytes: &Vec<u8>| {
            let host = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(host).into_owned()
        };
        self.hosts = hosts.iter().map(host).collect();
        Ok(())
    }

    /// How messages name a rank of the set, which communicates over `comm`.
    pub(crate) fn name<C: Comm>(&self, comm: &C, position: usize) -> RankName {
        RankName {
            rank: comm.user_rank(self.rank(position)),
            host: self.hosts.get(position).cloned().unwrap_or_default(),
        }
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(crate) fn size(&self) -> usize {
        self.ranks.len()
    }

    /// The position of this rank.
    pub(crate) fn mine(&self) -> usize {
        self.mine
    }

    pub(crate) fn rank(&self, position: usize) -> usize {
        self.ranks[position]
    }

    /// The other positions.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let mine = self.mine;
        (0..self.size()).filter(move |position| *position != mine)
    }

    /// For data of these lengths, by position.
    pub(crate) fn geometry(&self, lengths: Vec<u64>) -> Result<Geometry> {
        Geometry::new(self.scheme, lengths)
    }
}

/// Messages of a set. Those who use a communicator at the same time have different tags.
pub(crate) struct Channel<'a, C> {
    pub(crate) comm: &'a C,
    pub(crate) set: &'a Set,
    /// The next one is used too.
    pub(crate) tag: Tag,
}

impl<C: Comm> Channel<'_, C> {
    /// How messages name a rank of the set.
    pub(crate) fn name(&self, position: usize) -> RankName {
        self.set.name(self.comm, position)
    }

    /// Starts messages to and from positions, with the tag or the next.
    pub(super) fn start<B: Buffer>(
        &self,
        next: Tag,
        mut sends: Vec<(usize, Arc<B>)>,
        mut recvs: Vec<(usize, B)>,
    ) -> comm::Result<C::Underway<B>> {
        let to = sends.iter_mut().map(|(position, _)| position);
        let from = recvs.iter_mut().map(|(position, _)| position);
        to.chain(from)
            .for_each(|position| *position = self.set.rank(*position));
        self.comm.start(self.tag + next, sends, recvs)
    }

    /// Sends `bytes` to all other ranks of the set and receives messages of the given lengths from them.
    pub(crate) fn exchange(
        &self,
        bytes: Vec<u8>,
        length: impl Fn(usize) -> usize,
    ) -> comm::Result<Exchange<C>> {
        let own = Arc::new(bytes);
        let sends = self.set.others().map(|to| (to, own.clone()));
        let recvs = self.set.others().map(|from| (from, vec![0; length(from)]));
        let underway = self.start(0, sends.collect(), recvs.collect())?;
        let mine = self.set.mine();
        Ok(Exchange {
            underway,
            own,
            mine,
        })
    }
}

/// A message of each rank of a set to all others, under way.
pub(crate) struct Exchange<C: Comm> {
    underway: C::Underway<Vec<u8>>,
    own: Arc<Vec<u8>>,
    mine: usize,
}

impl<C: Comm> Exchange<C> {
    pub(crate) fn is_done(&mut self) -> bool {
        self.underway.is_done()
    }

    /// The messages of all ranks, by position.
    pub(crate) fn finish(self) -> comm::Result<Vec<Vec<u8>>> {
        let mut messages = self.underway.finish()?;
        messages.insert(self.mine, Arc::unwrap_or_clone(self.own));
        Ok(messages)
    }
}

/// The node of each rank of a communicator, numbered from 0 in the order of the ranks.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(crate) fn nodes<C: Comm>(comm: &C) -> comm::Result<Vec<usize>> {
    let mut known = HashMap::new();
    let number = |node| {
        let next = known.len();
        *known.entry(node).or_insert(next)
    };
    Ok(gather_u64(comm, comm.node())?
        .into_iter()
        .map(number)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::local::run_on;

    #[test]
    fn a_set_without_its_rank_is_an_error() {
        let scheme = Scheme::Copies { replicas: 1 };
        let refused = |ranks: &[usize], rank| Set::new(ranks.to_vec(), rank, scheme).is_err();
        assert!(refused(&[1, 2], 0) && refused(&[], 0) && refused(&[0], 0));
        assert!(!refused(&[1, 0], 0));
    }

    #[test]
    fn ranks_are_named_as_the_user_knows_them() {
        let scheme = Scheme::Copies { replicas: 1 };
        let names = run_on((10..16).collect(), |comm| {
            let rank = comm.rank();
            let part = comm.split(Some(rank as u32 % 2), -(rank as i32));
            let part = part.unwrap().unwrap();
            let mut set = Set::new(vec![2, 0, 1], part.rank(), scheme).unwrap();
            let before = set.name(&part, 0);
            set.learn_hosts(&part, 7).unwrap();
            (before, [0, 1, 2].map(|position| set.name(&part, position)))
        });
        // The odd ranks are 5, 3 and 1 of their part.
        for rank in [1, 3, 5] {
            let (before, names) = &names[rank];
            assert_eq!(before.to_string(), "rank 1");
            let told = ["rank 1 on node11", "rank 5 on node15", "rank 3 on node13"];
            assert_eq!(names.each_ref().map(ToString::to_string), told);
        }
    }
}
