//! Without MPI: one process has the redundancy files of a set at hand.
use std::path::{Path, PathBuf};
use super::Result;
use crate::kvtree;

/// Which of the offline functions is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Partner,
    Xor,
    ReedSolomon,
}

/// The original files of a set and the rank in the parent communicator of each of its ranks.
pub struct Contents {
    pub files: Vec<PathBuf>,
    pub world_ranks: Vec<usize>,
}

/// What the set protects whose redundancy files (those that were found) are given.
pub fn contents(_kind: Kind, _files: &[PathBuf]) -> Result<Contents> {
    todo!()
}

/// Rebuilds what is missing of the set. `map` gives the present path of each original file; without
/// it they are where they were. Redundancy files are written under `prefix`.
pub fn rebuild(
    _kind: Kind,
    _files: &[PathBuf],
    _prefix: &Path,
    _map: Option<kvtree::TreeRef>,
) -> Result<()> {
    todo!()
}
