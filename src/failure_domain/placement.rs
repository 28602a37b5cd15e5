//! Placement: chooses which ranks form a set, so that the sets survive as many failures of domains as the scheme allows.
//!
//! ```text
//! paths → DomainTree → set_count → search: Assignment by the stride rule, improved up to `bound` → Placement
//!                                          by `exhaustive` (small jobs) or `local_search`
//! ```
//!
//! `evaluate` computes the tolerance of sets. The result depends on the tree and the request alone and is the same on
//! every rank, so the ranks of a job exchange only their paths (`collective`).

mod assignment;
mod bound;
mod collective;
mod evaluate;
mod exhaustive;
mod local_search;
mod scheme;
mod search;
mod set_count;
mod set_sizes;
#[cfg(test)]
pub(super) mod tests;

use super::{Domain, DomainTree};
use crate::comm;
use crate::comm::PeerFailure;
use crate::rankstr;

pub use collective::{agree, create};
pub(super) use evaluate::Evaluator;
pub use evaluate::Tolerance;
pub use scheme::PlacementScheme;
pub use set_sizes::SetSizes;

/// The sets to choose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlacementRequest {
    pub scheme: PlacementScheme,
    /// The wanted number of ranks per set; `set_count` may choose another. Not used by SINGLE.
    pub set_size: usize,
    /// For each level from the outermost: how many failures must be survived. Missing levels require 0.
    pub required: Vec<u32>,
}

impl PlacementRequest {
    /// Requires no tolerance: the placement maximizes it.
    pub fn new(scheme: PlacementScheme, set_size: usize) -> PlacementRequest {
        PlacementRequest {
            scheme,
            set_size,
            required: Vec::new(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} must not be NULL")]
    Null(&'static str),
    #[error("not a placement, or one that was destroyed")]
    NotAPlacement,
    #[error("{0} is not UTF-8")]
    NotText(&'static str),
    #[error("{what} is {value}, which is out of range")]
    Number { what: &'static str, value: i64 },
    #[error("the buffer has room for {had}, {needed} are needed")]
    Room { had: usize, needed: usize },
    #[error("the path of rank {rank} ({path:?}) has an empty part")]
    EmptyPart { rank: usize, path: String },
    #[error("the path of rank {rank} ({path:?}) has {found} levels, that of rank 0 has {wanted}")]
    Depth {
        rank: usize,
        path: String,
        found: usize,
        wanted: usize,
    },
    #[error(transparent)]
    Tree(super::Error),
    #[error("{0:?} protects nothing, or has more parity than the largest set")]
    Scheme(PlacementScheme),
    #[error("a set of {set_size} ranks cannot be protected by {scheme:?}")]
    SetSize {
        scheme: PlacementScheme,
        set_size: usize,
    },
    #[error("{ranks} ranks cannot be divided into sets that {scheme:?} protects")]
    TooFewRanks {
        scheme: PlacementScheme,
        ranks: usize,
    },
    #[error(
        "a tolerance is required at {given} levels, the tree has {levels} (the last are the ranks)"
    )]
    Required { given: usize, levels: usize },
    #[error(
        "no placement was found that survives any {required} failures at level {level}; {sets} sets survive \
         {possible:?}, from the outermost level on"
    )]
    Unreachable {
        level: usize,
        required: u32,
        possible: Vec<u32>,
        sets: usize,
    },
    #[error("there is no domain {0:?}")]
    NoDomain(String),
    #[error(transparent)]
    Topology(#[from] super::topology::Error),
    #[error("the ranks ask for different placements")]
    Mismatch,
    #[error(transparent)]
    Rankstr(#[from] rankstr::Error),
    #[error(transparent)]
    Comm(#[from] comm::Error),
    /// Another rank of the collective failed.
    #[error(transparent)]
    Peer(#[from] PeerFailure),
}

impl From<super::Error> for Error {
    fn from(error: super::Error) -> Error {
        match error {
            super::Error::EmptyPart { index: rank, path } => Error::EmptyPart { rank, path },
            super::Error::Depth {
                index: rank,
                path,
                found,
                wanted,
            } => Error::Depth {
                rank,
                path,
                found,
                wanted,
            },
            other => Error::Tree(other),
        }
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// The sets of a job, and what they tolerate.
pub struct Placement {
    tree: DomainTree,
    scheme: PlacementScheme,
    sets: SetSizes,
    /// The leaves of all sets, set by set, in the order of each set.
    leaves: Vec<u32>,
    /// The ranks of these leaves.
    ranks: Vec<u32>,
    /// For each leaf: its index in `leaves`.
    positions: Vec<u32>,
    /// For each level.
    tolerance: Vec<Tolerance>,
}

impl Placement {
    /// Chooses the sets for a tree from [`DomainTree::of_ranks`].
    pub fn new(tree: DomainTree, request: &PlacementRequest) -> Result<Placement> {
        let found = set_count::choose(&tree, request)?;
        let mut rank_of_leaf = vec![0; tree.leaf_count()];
        for (rank, &leaf) in tree.leaves().iter().enumerate() {
            rank_of_leaf[leaf as usize] = rank as u32;
        }
        let leaves = found.assignment.leaves;
        let mut positions = vec![0; leaves.len()];
        for (position, &leaf) in leaves.iter().enumerate() {
            positions[leaf as usize] = position as u32;
        }
        let ranks = leaves.iter().map(|&leaf| rank_of_leaf[leaf as usize]);
        Ok(Placement {
            scheme: request.scheme,
            sets: found.assignment.sets,
            ranks: ranks.collect(),
            leaves,
            positions,
            tolerance: found.tolerance,
            tree,
        })
    }

    /// [`Placement::new`] from one path per rank, such as "rack3/chassis1/node17".
    pub fn of_paths<P: AsRef<str>>(paths: &[P], request: &PlacementRequest) -> Result<Placement> {
        Placement::new(DomainTree::of_ranks(paths, SEPARATOR)?, request)
    }

    /// The failure domains; the leaves are the ranks.
    pub fn tree(&self) -> &DomainTree {
        &self.tree
    }

    pub fn scheme(&self) -> PlacementScheme {
        self.scheme
    }

    pub fn sets(&self) -> SetSizes {
        self.sets
    }

    pub fn rank_count(&self) -> usize {
        self.ranks.len()
    }

    /// The set of a rank, and the rank's index in it.
    pub fn set_of(&self, rank: usize) -> (usize, usize) {
        self.place_of_leaf(self.tree.leaf_of(rank))
    }

    /// The ranks of a set, in its order.
    pub fn members(&self, set: usize) -> &[u32] {
        &self.ranks[self.sets.range(set)]
    }

    /// [`Placement::members`] as leaves.
    pub(super) fn leaves_of(&self, set: usize) -> &[u32] {
        &self.leaves[self.sets.range(set)]
    }

    /// [`Placement::set_of`] for a leaf.
    pub(super) fn place_of_leaf(&self, leaf: usize) -> (usize, usize) {
        self.sets.at(self.positions[leaf] as usize)
    }

    /// For each level, from the outermost to the ranks themselves.
    pub fn tolerance(&self) -> &[Tolerance] {
        &self.tolerance
    }

    /// The domain that a path names: "rack3", or "rack3/chassis1/node17/42" for rank 42.
    pub fn domain(&self, path: &str) -> Result<Domain> {
        let found = self.tree.find(path, SEPARATOR);
        found.ok_or_else(|| Error::NoDomain(path.to_owned()))
    }
}

pub const SEPARATOR: char = '/';
