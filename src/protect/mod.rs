//! Sets of ranks that protect each other's bytes, in files or in memory.
//!
//! Every rank of a set has two streams of bytes ([`Streams`]): its own data, and redundancy for the data of others.
//! `scheme` says how a set is protected. Scheme and data lengths give the `layout` of copies or stripes; the layout and
//! what each rank still has give the `plan`, a list of flows that computes what is missing. Planning is pure, so all
//! ranks derive the same plan. `schedule` cuts flows into blocks, and `run` carries them out with messages: reading,
//! sending, arithmetic and writing overlap. Where all ranks run on one node, `near` does the same through their files.
//! Encoding is the case in which all redundancy is missing. `sums` are the checksums of streams; `generation` says
//! which apply or commit bytes belong to.
//!
//! A rank whose stream fails goes on with zeros, because others wait for its blocks. Its streams remember the error,
//! and the caller tells the other ranks when they agree on the result.
#![forbid(unsafe_code)]

mod balance;
mod combine;
pub(crate) mod generation;
mod layout;
pub(crate) mod near;
mod plan;
mod run;
mod schedule;
mod scheme;
pub(crate) mod set;
pub(crate) mod sums;

pub(crate) use plan::{Flow, Geometry, Have, Part, at_targets};
pub(crate) use run::{FlowRun, Streams, Traffic};
pub(crate) use schedule::{Limits, passing_blocks};
pub use scheme::Scheme;
pub(crate) use set::{Channel, Exchange, Set};

use crate::comm::{FromPeer, PeerFailure};
use crate::failure_domain::placement;
use crate::{comm, rankstr};

/// Why a set cannot be formed, protected or completed. All ranks of the set get the same error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{scheme:?} cannot protect a set of {ranks} ranks")]
    SetSize { scheme: Scheme, ranks: usize },
    #[error("the data are too long to protect")]
    TooLong,
    #[error("the ranks do not agree: {0}")]
    Mismatch(String),
    #[error("STANCHION_TOPOLOGY is set on some ranks only")]
    Undeclared,
    #[error("the placement is one of {placed} ranks, the communicator has {ranks}")]
    Misplaced { placed: usize, ranks: usize },
    #[error(transparent)]
    Placement(#[from] placement::Error),
    #[error(transparent)]
    Rankstr(#[from] rankstr::Error),
    #[error(transparent)]
    Comm(#[from] comm::Error),
    /// Another rank of the collective failed.
    #[error(transparent)]
    Peer(#[from] PeerFailure),
    /// Something that must hold does not; what would follow from it must not be taken for data.
    #[error("internal error: {0}")]
    Broken(&'static str),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl FromPeer for Error {
    fn as_peer(&self) -> Option<&PeerFailure> {
        match self {
            Error::Peer(failure) => Some(failure),
            _ => None,
        }
    }
}
