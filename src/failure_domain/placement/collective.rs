//! Collective placement: the ranks exchange their paths, then each computes the same placement.
//!
//! Ranks of a node have the same path. All ranks learn the distinct paths once (`rankstr`), then for every rank the
//! number of its path.

use std::hash::BuildHasher;

use super::super::topology;
use super::{Error, Placement, PlacementRequest, Result};
pub use crate::comm::agree;
use crate::comm::{self, Comm, FromPeer, PeerFailure};
use crate::rankstr;
use crate::wire::gather_u64;

/// Places the ranks of a communicator. A rank without a path takes that of [`topology::path_or_host`].
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub fn create<C: Comm>(
    comm: &C,
    path: Option<&str>,
    request: &PlacementRequest,
) -> Result<Placement> {
    let path = match path {
        Some(path) => Ok(path.to_owned()),
        None => topology::path_or_host().map_err(Error::from),
    };
    let path = agree(comm, path)?;
    let wanted = foldhash::fast::FixedState::default().hash_one(request);
    if !comm::is_same(comm, &[wanted])? {
        return Err(Error::Mismatch);
    }
    let (paths, number) = rankstr::strings(comm, Some(path.as_bytes()))?;
    let numbers = gather_u64(comm, number as u64)?;
    let paths = paths.iter().map(|path| String::from_utf8_lossy(path));
    let paths: Vec<_> = paths.collect();
    let of_ranks = numbers
        .iter()
        .map(|&number| paths[number as usize].as_ref());
    let of_ranks: Vec<_> = of_ranks.collect();
    Placement::of_paths(&of_ranks, request)
}

impl FromPeer for Error {
    fn as_peer(&self) -> Option<&PeerFailure> {
        match self {
            Error::Peer(failure) => Some(failure),
            _ => None,
        }
    }
}
