//! A route: which ranks of a communicator exchange which elements.

use super::blocks::{Blocks, Share};
use super::coverage::{Found, cover};
use super::sequence::Sequence;
use super::{Error, Result};
use crate::comm::{Sparse, Tag};

/// What one rank has to do with another: the places in its own buffer, in the order of the message.
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) rank: usize,
    pub(super) places: Sequence,
}

/// Elements go from arrays to buffers, or back. A rank has a part in it as a holder of an array, as one of a
/// buffer, or as both.
#[derive(Debug, Default)]
pub(super) struct Route {
    /// From this rank's array to the ranks whose buffers they go to.
    pub(super) out: Vec<Leg>,
    /// Into this rank's buffer from the ranks whose arrays they come from.
    pub(super) into: Vec<Leg>,
    /// Elements of this rank's buffer.
    pub(super) length: u64,
    /// Whether every element of the buffer comes from somewhere.
    pub(super) covered: bool,
    /// Whether none comes from two places.
    pub(super) disjoint: bool,
}

impl Route {
    /// Elements that this rank's array gives.
    pub(super) fn given(&self) -> u64 {
        self.out.iter().map(|leg| leg.places.len()).sum()
    }

    /// Whether what goes into the buffer goes there in its order.
    pub(super) fn ascends(&self) -> bool {
        self.into.iter().all(|leg| leg.places.ascends())
    }

    pub(super) fn bytes(&self) -> usize {
        let legs = self.out.iter().chain(&self.into);
        legs.map(|leg| size_of::<Leg>() + leg.places.bytes()).sum()
    }
}

pub(super) const PLANNING: Tag = 7100;

/// The way of all shares to their tasks; `rank_of` gives the rank of a task. Collective; a rank that has failed before
/// comes without shares.
pub(super) fn to_blocks<C: Sparse>(
    comm: &C,
    rank_of: impl Fn(usize) -> usize,
    task: Option<usize>,
    blocks: &Blocks,
    shares: Vec<Share>,
) -> Result<(Route, Found)> {
    let mut out = Vec::with_capacity(shares.len());
    let mut messages = Vec::with_capacity(shares.len());
    let mut outcome = Ok(());
    for share in shares {
        let rank = rank_of(share.task);
        match share.places.to_bytes() {
            Ok(bytes) => messages.push((rank, bytes)),
            failed => outcome = failed.map(drop),
        }
        out.push(Leg {
            rank,
            places: share.locals,
        });
    }
    // A rank that has failed takes in what others send to it all the same.
    let came = comm.deliver(PLANNING, messages)?;
    outcome?;
    let length = task.map_or(0, |task| blocks.length(task));
    let mut into = Vec::with_capacity(came.len());
    for (rank, bytes) in came {
        let places = Sequence::from_bytes(&bytes)?;
        if places.end() > length {
            let end = places.end();
            return Err(Error::Comm(format!(
                "rank {rank} sends element {end} of a block of {length}"
            )));
        }
        into.push(Leg { rank, places });
    }
    let found = cover(length, into.iter().map(|leg: &Leg| &leg.places))?;
    let route = Route {
        out,
        into,
        length,
        covered: found.held == length,
        disjoint: found.duplicate.is_none(),
    };
    Ok((route, found))
}
