//! Communication: the only module that names MPI.
//!
//! Every collective of the library is an algorithm over [`Comm`]; PIO's exchanges need [`Sparse`] as well, and the
//! recovery of processes [`Resilient`]. Two implementations exist: `mpi` (the real one) and `local` (ranks are threads of
//! one process, for tests without an MPI). All lengths are 64-bit; an implementation splits transfers into chunks where
//! its transport needs it.
//!
//! A rank-local failure inside a collective must not leave the others waiting: a rank carries it
//! along to the next agreement point ([`agree`]), where all ranks learn one verdict. Texts name a rank as the user knows
//! it ([`RankName`]): by its number in the user's communicator, and its host.

use std::sync::Arc;

mod agree;
mod buffer;
mod lengths;
pub mod local;
#[cfg(feature = "mpi")]
pub mod mpi;
mod node;
mod resilient;
mod sparse;
#[cfg(feature = "mpi")]
pub mod ulfm;
mod version;

pub use agree::{FromPeer, PeerFailure, agree, is_same, share_failure};
pub use buffer::{Buffer, Filled};
pub use lengths::transfer_unsized;
pub use node::{RankName, host_name};
pub use resilient::{Agreement, Resilient};
pub use sparse::{Limit, Sparse};
pub use version::Version;
#[cfg(any(test, feature = "faults"))]
pub use version::set_protocol;

/// Separates messages of different purpose between the same two ranks.
pub type Tag = i32;

/// How [`Comm::allreduce`] and [`Comm::scan`] combine values, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Sum,
    Min,
    Max,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The transport reported a failure; `code` is its own number for it.
    #[error("{call} failed: {text} (code {code})")]
    Transport {
        call: &'static str,
        code: i32,
        text: String,
    },
    /// A rank of the communicator has died.
    #[error("{call} failed: a process of the communicator has died")]
    ProcessFailed { call: &'static str },
    /// Another rank has left the communicator because of a failure.
    #[error("{call} failed: the communicator was revoked after a process had died")]
    Revoked { call: &'static str },
    #[error("rank {rank} is not in 0..{size}")]
    NoSuchRank { rank: i64, size: usize },
    #[error("the communicator is null")]
    NullCommunicator,
    #[error("MPI is not initialized, or already finalized")]
    NotRunning,
    #[error("expected {expected} bytes from rank {from}, got {got}")]
    Length {
        from: usize,
        expected: usize,
        got: usize,
    },
    #[error("rank {0} left the communicator")]
    PeerGone(usize),
    #[error("an intercommunicator is given where an intracommunicator is needed")]
    Intercommunicator,
    #[error("not enough memory for {0} bytes")]
    NoMemory(u64),
    #[error("rank {rank} has not enough memory for {length} bytes")]
    NoMemoryThere { rank: usize, length: u64 },
    /// Ranks run builds of this library that would misread each other's messages.
    #[error(
        "ranks of the communicator run different versions of Stanchion: {lowest} and {highest}"
    )]
    OtherVersion { lowest: Version, highest: Version },
    /// The process runs on an MPI whose handles differ from those that this build knows.
    #[error("built for {built}, but the MPI in this process is: {loaded}")]
    WrongLibrary { built: &'static str, loaded: String },
}

pub type Result<T> = std::result::Result<T, Error>;

/// A group of ranks that can exchange bytes.
///
/// Point-to-point calls pair up by (sender, receiver, tag) in order; both sides agree on the length
/// beforehand. Collective calls are made by all ranks in the same order with matching lengths.
pub trait Comm: Sized {
    type Underway<B: Buffer>: Underway<B>;

    fn rank(&self) -> usize;
    fn size(&self) -> usize;

    /// The number of `rank` in the communicator of the user that this one was split from: what messages call it.
    fn user_rank(&self, rank: usize) -> usize {
        rank
    }

    /// The host that this rank runs on; empty if messages are not to name one.
    fn host(&self) -> String {
        host_name()
    }

    /// Identifies the node that this rank runs on: ranks with equal numbers share local file systems.
    fn node(&self) -> u64 {
        node::of_this_process()
    }

    fn send(&self, to: usize, tag: Tag, bytes: &[u8]) -> Result<()>;
    fn recv(&self, from: usize, tag: Tag, bytes: &mut [u8]) -> Result<()>;

    /// Runs all given sends and receives at once and returns when every one is complete.
    fn transfer(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()>;

    /// Starts non-blocking sends and receives. What is sent may be read meanwhile; a receive buffer is as long as its
    /// message.
    fn start<B: Buffer>(
        &self,
        tag: Tag,
        sends: Vec<(usize, Arc<B>)>,
        recvs: Vec<(usize, B)>,
    ) -> Result<Self::Underway<B>>;

    fn barrier(&self) -> Result<()>;
    fn bcast(&self, root: usize, bytes: &mut [u8]) -> Result<()>;
    fn allreduce(&self, op: Op, values: &mut [u64]) -> Result<()>;

    /// Inclusive prefix: rank `r` gets the combination of the values of ranks `0..=r`.
    fn scan(&self, op: Op, values: &mut [u64]) -> Result<()>;

    /// `mine.len()` is the same on all ranks; `all.len() == size() * mine.len()`.
    fn allgather(&self, mine: &[u8], all: &mut [u8]) -> Result<()>;

    /// Sends `values[r]` to rank `r` and returns at `r` what rank `r` has sent.
    fn alltoall(&self, values: &[u64]) -> Result<Vec<u64>>;

    /// Splits by `color`, ordering by `key` and then by rank; `None` takes part but joins nothing.
    fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>>;
}

/// Messages that [`Comm::start`] has started. Dropped, it waits for them.
pub trait Underway<B> {
    /// Drives progress; true when [`Underway::finish`] would return at once, with a result or an error.
    fn is_done(&mut self) -> bool;

    /// Waits for all messages and returns the received buffers in the order in which they were passed.
    fn finish(self) -> Result<Vec<B>>;
}

fn check_rank(rank: usize, size: usize) -> Result<()> {
    if rank < size {
        return Ok(());
    }
    let rank = i64::try_from(rank).unwrap_or(i64::MAX);
    Err(Error::NoSuchRank { rank, size })
}

fn check_peers<S, R>(size: usize, sends: &[(usize, S)], recvs: &[(usize, R)]) -> Result<()> {
    let mut peers = sends.iter().map(|s| s.0).chain(recvs.iter().map(|r| r.0));
    peers.try_for_each(|peer| check_rank(peer, size))
}

fn check_length(from: usize, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    Err(Error::Length {
        from,
        expected,
        got,
    })
}

/// Refuses an empty part of a message, which would make no progress, and one that is longer than what is missing.
fn check_part(from: usize, expected: usize, got: usize, part: usize) -> Result<()> {
    match part {
        1.. if part <= expected - got => Ok(()),
        _ => check_length(from, expected, got + part),
    }
}
