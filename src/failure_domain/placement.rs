//! Placement: which ranks form a set, so that the failures of domains are survived as far as the scheme allows.
//!
//! ```text
//! paths → Tree → choice (how many sets) → search (stride rule, bound, then exact search or swaps) → Placement
//! ```
//!
//! `rules` says what sets survive. All is computed from the tree alone and comes out the same wherever it runs, so
//! the ranks of a job need to exchange nothing but their paths (`collect`).

mod bound;
mod choice;
mod collect;
mod draft;
mod exact;
mod rules;
mod scheme;
mod search;
mod sets;
mod swaps;
#[cfg(test)]
pub(super) mod tests;

use std::ops::Range;

use super::{Domain, Tree};
use crate::comm;
use crate::rankstr;

pub use collect::{agree, create};
pub(super) use rules::Rules;
pub use rules::Tolerance;
pub use scheme::Scheme;
pub use sets::Sets;

/// What sets are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    pub scheme: Scheme,
    /// How many ranks a set shall have; what it gets may differ as `choice` tells. SINGLE needs none.
    pub set_size: usize,
    /// For each level from the outermost: how many failures must be survived. May be shorter than the tree is deep.
    pub required: Vec<u32>,
}

impl Request {
    /// As much tolerance as can be had.
    pub fn new(scheme: Scheme, set_size: usize) -> Request {
        Request {
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
    #[error("this is not a placement")]
    NotAPlacement,
    #[error("{0} is not UTF-8")]
    NotText(&'static str),
    #[error("{what} is {value}, which is out of range")]
    Number { what: &'static str, value: i64 },
    #[error("there is room for {had}, but {needed} is needed")]
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
    #[error("{0:?} protects nothing, or has more parity than a set can have")]
    Scheme(Scheme),
    #[error("a set of {set_size} ranks cannot be protected by {scheme:?}")]
    SetSize { scheme: Scheme, set_size: usize },
    #[error("{ranks} ranks cannot be divided into sets that {scheme:?} protects")]
    TooFewRanks { scheme: Scheme, ranks: usize },
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
    #[error("rank {rank} failed: {text}")]
    Peer { rank: usize, text: String },
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

/// The sets of a job.
pub struct Placement {
    tree: Tree,
    scheme: Scheme,
    sets: Sets,
    /// Leaves and ranks, set by set in their order there.
    leaves: Vec<u32>,
    ranks: Vec<u32>,
    /// Of each leaf, in those two.
    positions: Vec<u32>,
    tolerance: Vec<Tolerance>,
}

impl Placement {
    /// The best sets for a tree whose leaves are the ranks, as [`Tree::of_ranks`] makes it.
    pub fn new(tree: Tree, request: &Request) -> Result<Placement> {
        let found = choice::choose(&tree, request)?;
        let mut rank_of_leaf = vec![0; tree.leaf_count()];
        for (rank, &leaf) in tree.leaves().iter().enumerate() {
            rank_of_leaf[leaf as usize] = rank as u32;
        }
        let leaves = found.draft.leaves;
        let mut positions = vec![0; leaves.len()];
        for (position, &leaf) in leaves.iter().enumerate() {
            positions[leaf as usize] = position as u32;
        }
        let ranks = leaves.iter().map(|&leaf| rank_of_leaf[leaf as usize]);
        Ok(Placement {
            scheme: request.scheme,
            sets: found.draft.sets,
            ranks: ranks.collect(),
            leaves,
            positions,
            tolerance: found.tolerance,
            tree,
        })
    }

    /// As [`Placement::new`] for one path a rank, such as "rack3/chassis1/node17".
    pub fn of_paths<P: AsRef<str>>(paths: &[P], request: &Request) -> Result<Placement> {
        Placement::new(Tree::of_ranks(paths, SEPARATOR)?, request)
    }

    /// The domains; the leaves are the ranks.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub fn sets(&self) -> Sets {
        self.sets
    }

    pub fn rank_count(&self) -> usize {
        self.ranks.len()
    }

    /// The set of a rank, and the place of the rank in it.
    pub fn set_of(&self, rank: usize) -> (usize, usize) {
        self.place_of_leaf(self.tree.leaf_of(rank))
    }

    /// The ranks of a set in their order.
    pub fn members(&self, set: usize) -> &[u32] {
        &self.ranks[self.sets.range(set)]
    }

    /// As [`Placement::members`], by their leaves.
    pub(super) fn leaves_of(&self, set: usize) -> &[u32] {
        &self.leaves[self.sets.range(set)]
    }

    /// As [`Placement::set_of`], by the leaf.
    pub(super) fn place_of_leaf(&self, leaf: usize) -> (usize, usize) {
        self.sets.at(self.positions[leaf] as usize)
    }

    /// At each level, from the outermost to the ranks themselves.
    pub fn tolerance(&self) -> &[Tolerance] {
        &self.tolerance
    }

    /// The domain that a path names: "rack3", or "rack3/chassis1/node17/42" for rank 42.
    pub fn domain(&self, path: &str) -> Result<Domain> {
        let found = self.tree.find(path, SEPARATOR);
        found.ok_or_else(|| Error::NoDomain(path.to_owned()))
    }

    pub(super) fn leaves_below(&self, domain: Domain) -> Range<usize> {
        self.tree.leaves_below(domain)
    }
}

pub const SEPARATOR: char = '/';
