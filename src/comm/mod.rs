//! Communication: the only room that knows how ranks talk to each other.
//!
//! Every collective of the library is an algorithm over [`Comm`]. Two implementations exist:
//! `mpi` (the real one) and `local` (ranks are threads of one process, for tests without an MPI).
//! All lengths are 64-bit; an implementation cuts transfers into pieces where its transport needs it.
//!
//! A rank-local failure inside a collective must not leave the others waiting: a rank carries it
//! along to the next agreement point ([`agree`]), where all ranks learn one verdict.

use std::sync::Arc;

mod agree;
mod buffer;
mod lengths;
pub mod local;
#[cfg(feature = "mpi")]
pub mod mpi;
mod node;
mod resilient;
#[cfg(feature = "mpi")]
pub mod ulfm;
mod version;

pub use agree::{Verdict, agree, is_same, share_text};
pub use buffer::{Buffer, Filled};
pub use lengths::transfer_unsized;
pub use resilient::{Agreement, Resilient};
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

/// How many messages a rank may have under way at once; `None` is any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    pub sends: Option<usize>,
    pub receives: Option<usize>,
    /// Whether a message is sent only when its receiver waits for it.
    pub handshake: bool,
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

    /// Names the node that this rank runs on: ranks with the same number find the same file under the same
    /// path, if they find it at all.
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

    /// As [`Comm::transfer`] with at most so many messages under way. All ranks give the same limit and
    /// their messages in ascending order of ranks: then somebody can always go on.
    fn transfer_limited(
        &self,
        tag: Tag,
        limit: Limit,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()>;

    /// As [`Comm::transfer`] for messages that are used in turn: `take` is called once for each of `turns`, with its
    /// number and the message, of the sender and length that it says, or nothing where it is `None`. `rooms` are where
    /// messages may be received, each long enough for any of them: only so many need to be under way at once.
    fn transfer_in_turn(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        turns: &[Option<(usize, usize)>],
        _rooms: &mut [&mut [u8]],
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()> {
        let length = |turn: &Option<(usize, usize)>| turn.map_or(0, |(_, length)| length);
        let mut all: Vec<_> = turns.iter().map(|turn| vec![0; length(turn)]).collect();
        let into = turns.iter().zip(&mut all);
        let into = into.filter_map(|(turn, bytes)| turn.map(|(from, _)| (from, &mut bytes[..])));
        self.transfer(tag, sends, &mut into.collect::<Vec<_>>())?;
        let each = all.iter().enumerate();
        each.for_each(|(turn, bytes)| take(turn, bytes));
        Ok(())
    }

    /// Receives messages that come in parts, one after the other, of lengths that only their senders know. Whoever sends to
    /// several ranks need not wait for one of them before the others.
    fn recv_in_parts(&self, tag: Tag, recvs: &mut [(usize, &mut [u8])]) -> Result<()>;

    /// Starts sends and receives and returns at once; what is sent may be read meanwhile. A buffer to
    /// receive into is as long as its message.
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

    /// Gives `values[r]` to rank `r`; the result holds at `r` what rank `r` gave to us.
    fn alltoall(&self, values: &[u64]) -> Result<Vec<u64>>;

    /// Brings messages to ranks that do not know who will write to them, nor how much: at most one from one
    /// rank to another. Returns what came, by rank. Only the given tag and the next are used.
    fn deliver(&self, tag: Tag, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>>;

    /// Splits by `color`, ordering by `key` and then by rank; `None` takes part but joins nothing.
    fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>>;
}

/// Messages that [`Comm::start`] has started. Dropped, it waits for them.
pub trait Underway<B> {
    /// Moves them on and tells whether [`Underway::finish`] would return at once. A failure counts as an
    /// end; `finish` tells of it.
    fn is_done(&mut self) -> bool;

    /// Waits for all of them and returns those that were received, in the order they were asked for.
    fn finish(self) -> Result<Vec<B>>;
}

fn check_rank(rank: usize, size: usize) -> Result<()> {
    if rank < size {
        return Ok(());
    }
    let rank = i64::try_from(rank).unwrap_or(i64::MAX);
    Err(Error::NoSuchRank { rank, size })
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

/// A part of a message must bring something, and no more than is missing.
fn check_part(from: usize, expected: usize, got: usize, part: usize) -> Result<()> {
    match part {
        1.. if part <= expected - got => Ok(()),
        _ => check_length(from, expected, got + part),
    }
}
