//! Fenix: data of a rank that survive the rank, and a job that goes on after ranks have died.
//!
//! `process` repairs the communicator: survivors keep their rank, spares take the places of the dead.
//! `group` holds the data: members are stored into a staged snapshot, commit makes the snapshot permanent,
//! restore brings it back. What a rank stores is a `share`: the elements of a subset, packed. Each share is
//! protected in memory by other ranks of its *set*: by a copy (mode 1), parity (mode 5) or Reed-Solomon codes (mode 6).
//! `policy` chooses the sets by the numbers of ranks, or a placement by failure domains does; `protect` carries out
//! stores and repairs on the `streams` of each rank. A committed snapshot is never written to again, so a store that a
//! failure interrupts loses nothing but itself.
//!
//! Nothing here knows MPI or C: collectives run over [`Comm`], the user's memory comes as a [`Source`] or
//! goes out through a [`Target`].
#![forbid(unsafe_code)]

mod agreement;
mod asking;
mod group;
mod header;
mod memory;
mod policy;
pub mod process;
mod reading;
mod regions;
mod repair;
mod restoring;
mod segments;
mod share;
mod snapshot;
mod staging;
mod storing;
mod streams;
mod subset;
mod telling;
#[cfg(test)]
mod tests;

use crate::comm::PeerFailure;
use crate::{comm, failure_domain, protect, rankstr};

pub use group::{Attributes, Group, Restored, Settings, Stamp};
pub use policy::Policy;
pub use regions::Regions;
pub use staging::Ticket;
pub use subset::{Block, Subset};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Fenix_Init has not been called, or Fenix_Finalize already has")]
    Uninitialized,
    #[error("another thread is in a call with {0}")]
    InUse(&'static str),
    #[error("{0} must not be NULL")]
    Null(&'static str),
    #[error("there is no data group {0}")]
    NoSuchGroup(i32),
    #[error("data group {group} has no member {member}")]
    NoSuchMember { group: i32, member: i32 },
    #[error(
        "the ranks of data group {0} do not have the same members, so that not all can be stored"
    )]
    Members(i32),
    #[error("data group {group} already has a member {member}")]
    MemberExists { group: i32, member: i32 },
    #[error("no snapshot of data group {group} has the time stamp {stamp}")]
    NoSuchStamp { group: i32, stamp: i32 },
    #[error("the first time stamp is {0}, it must not be negative")]
    FirstStamp(i32),
    #[error("the depth is {0}, it must be -1 or more")]
    Depth(i32),
    #[error("{what} is {value}, which is out of range")]
    Number { what: &'static str, value: i64 },
    #[error("{0} is not a redundancy policy")]
    UnknownPolicy(i32),
    #[error("the redundancy policy cannot be had: {0}")]
    Policy(String),
    #[error("data group {0} lost its communicator in a failure; create it again")]
    Detached(i32),
    #[error("the ranks create data group {group} differently: {what}")]
    Mismatch { group: i32, what: String },
    #[error("a subset needs at least one block, not {0}")]
    SubsetBlocks(i64),
    #[error("a block of a subset starts at {0}")]
    SubsetStart(i64),
    #[error("a block of a subset ends at {end}, before its start {start}")]
    SubsetEnd { start: i64, end: i64 },
    #[error("the stride of a subset is {0}, it must be positive")]
    SubsetStride(i64),
    #[error("position {position} is not one of the {count} there are")]
    Position { position: i64, count: usize },
    #[error("{0} is not an attribute")]
    UnknownAttribute(i32),
    #[error("the attribute cannot have this value: {0}")]
    AttributeValue(String),
    #[error("there is no request with this number")]
    NoSuchRequest,
    #[error("no callback is registered")]
    NoCallback,
    /// More is lost than the policy protects against, or nothing was ever committed.
    #[error("no data can be restored: {0}")]
    NoData(String),
    /// A store has failed on some ranks, so a commit would make a snapshot that lacks their elements.
    #[error(
        "member {member} of data group {group} was not stored; store it again before the commit"
    )]
    NotStored { group: i32, member: i32 },
    #[error("memory has run out: {0} bytes are needed")]
    Memory(u64),
    /// An invariant of this library does not hold: a bug, not a property of the data.
    #[error("internal error: {0}")]
    Invariant(&'static str),
    #[error("the ranks must ask for the same number of spares, from 0 up to {}", size - 1)]
    Spares { size: usize },
    /// With a quorum demanded. The processes that are out of reach may have been cut off, and repair themselves too.
    #[error(
        "only {living} of {size} processes can be reached: the others may be alive and go on, so these must not"
    )]
    Minority { living: usize, size: usize },
    #[error("this MPI cannot repair communicators (no ULFM), so a failed process ends the job")]
    NoRepair,
    #[error("the repair was given up: {0}")]
    Unrepairable(String),
    #[error(transparent)]
    Comm(#[from] comm::Error),
    /// Another rank of the collective failed.
    #[error(transparent)]
    Peer(#[from] PeerFailure),
}

pub type Result<T> = std::result::Result<T, Error>;

impl From<protect::Error> for Error {
    fn from(error: protect::Error) -> Error {
        use failure_domain::placement::Error as Placement;
        match error {
            protect::Error::Broken(what) => Error::Invariant(what),
            protect::Error::Peer(failure) => Error::Peer(failure),
            protect::Error::Comm(cause)
            | protect::Error::Rankstr(rankstr::Error::Comm(cause))
            | protect::Error::Placement(Placement::Comm(cause))
            | protect::Error::Placement(Placement::Rankstr(rankstr::Error::Comm(cause))) => {
                Error::Comm(cause)
            }
            other => Error::Policy(other.to_string()),
        }
    }
}

/// The user's memory of a member, seen as its elements packed one after the other.
pub trait Source {
    /// Fills `into` with the packed bytes from `offset` on.
    fn read(&self, offset: u64, into: &mut [u8]);
}

/// Where restored elements go, seen in the same way.
pub trait Target {
    fn write(&mut self, offset: u64, bytes: &[u8]);
}

impl Source for [u8] {
    fn read(&self, offset: u64, into: &mut [u8]) {
        into.copy_from_slice(&self[offset as usize..][..into.len()]);
    }
}

impl Target for [u8] {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}
