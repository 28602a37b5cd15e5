//! Communication patterns: which ranks of a communicator exchange which elements.

use super::blocks::{Blocks, TaskShare};
use super::coverage::{Coverage, cover};
use crate::comm::{Sparse, Tag};
use crate::pio::sequence::Sequence;
use crate::pio::{Error, Result};

/// The elements exchanged with one rank: their places in the own array or buffer, in the order of the message.
#[derive(Debug)]
pub(in crate::pio) struct Peer {
    pub(in crate::pio) rank: usize,
    pub(in crate::pio) places: Sequence,
}

/// Elements go from arrays to buffers when written, and back when read. A rank may have an array, a buffer, or both.
#[derive(Debug, Default)]
pub(in crate::pio) struct Pattern {
    /// From this rank's array, to the ranks that have the buffers.
    pub(in crate::pio) out: Vec<Peer>,
    /// Into this rank's buffer, from the ranks that have the arrays.
    pub(in crate::pio) into: Vec<Peer>,
    /// Elements of this rank's buffer.
    pub(in crate::pio) length: u64,
    /// Whether every element of the buffer comes from some rank.
    pub(in crate::pio) covered: bool,
    /// Whether no element of the buffer comes from two ranks.
    pub(in crate::pio) disjoint: bool,
}

impl Pattern {
    /// Elements that leave this rank's array.
    pub(in crate::pio) fn given(&self) -> u64 {
        self.out.iter().map(|peer| peer.places.len()).sum()
    }

    /// Whether every message fills the buffer in ascending order.
    pub(in crate::pio) fn ascends(&self) -> bool {
        self.into.iter().all(|peer| peer.places.ascends())
    }

    pub(in crate::pio) fn bytes(&self) -> usize {
        let peers = self.out.iter().chain(&self.into);
        peers
            .map(|peer| size_of::<Peer>() + peer.places.bytes())
            .sum()
    }
}

pub(super) const PLANNING: Tag = 7100;

/// The pattern that brings all shares to their tasks; `rank_of` gives the rank of a task. Collective; a rank that has
/// failed before takes part without shares.
pub(super) fn to_blocks<C: Sparse>(
    comm: &C,
    rank_of: impl Fn(usize) -> usize,
    task: Option<usize>,
    blocks: &Blocks,
    shares: Vec<TaskShare>,
) -> Result<(Pattern, Coverage)> {
    let mut out = Vec::with_capacity(shares.len());
    let mut messages = Vec::with_capacity(shares.len());
    let mut outcome = Ok(());
    for share in shares {
        let rank = rank_of(share.task);
        match share.places.to_bytes() {
            Ok(bytes) => messages.push((rank, bytes)),
            failed => outcome = failed.map(drop),
        }
        out.push(Peer {
            rank,
            places: share.locals,
        });
    }
    // A rank that has failed still receives what others send to it.
    let came = comm.deliver(PLANNING, messages)?;
    outcome?;
    let length = task.map_or(0, |task| blocks.length(task));
    let mut into = Vec::with_capacity(came.len());
    for (rank, bytes) in came {
        let places = Sequence::from_bytes(&bytes)?;
        if places.end() > length {
            let end = places.end();
            let rank = comm.user_rank(rank);
            return Err(Error::Comm(format!(
                "rank {rank} sends element {end} of a block of {length}"
            )));
        }
        into.push(Peer { rank, places });
    }
    let found = cover(length, into.iter().map(|peer: &Peer| &peer.places))?;
    let pattern = Pattern {
        out,
        into,
        length,
        covered: found.held == length,
        disjoint: found.duplicate.is_none(),
    };
    Ok((pattern, found))
}
