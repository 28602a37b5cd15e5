//! How long the pieces of a set are under its scheme, and what completes them.

use super::Scheme;
use super::flow::{self, Flows, Have};
use super::layout::{Copies, Stripes};
use crate::erasure::matrix;

pub(super) enum Pieces {
    None,
    Copies(Copies),
    Stripes {
        stripes: Stripes,
        /// Coefficient of each rank in each parity row.
        parity: Vec<Vec<u8>>,
    },
}

impl Pieces {
    /// For a set whose ranks hold so many bytes each.
    pub(super) fn planned(scheme: Scheme, bytes: Vec<u64>) -> Pieces {
        let largest = bytes.iter().copied().max().unwrap_or(0);
        let ranks = bytes.len();
        match scheme {
            Scheme::Single => Pieces::None,
            Scheme::Partner { replicas } => Pieces::Copies(Copies { replicas, bytes }),
            Scheme::Xor => Pieces::striped(scheme, Stripes::covering(ranks, 1, largest)),
            Scheme::ReedSolomon { k } => {
                Pieces::striped(scheme, Stripes::covering(ranks, k, largest))
            }
        }
    }

    fn striped(scheme: Scheme, stripes: Stripes) -> Pieces {
        let parity = match scheme {
            Scheme::ReedSolomon { k } => matrix::parity_rows(stripes.ranks, k).unwrap_or_default(),
            _ => vec![vec![1; stripes.ranks]],
        };
        Pieces::Stripes { stripes, parity }
    }

    pub(super) fn chunk(&self) -> Option<u64> {
        match self {
            Pieces::Stripes { stripes, .. } => Some(stripes.chunk),
            _ => None,
        }
    }

    /// Lengths of what lies in the redundancy of a rank.
    pub(super) fn lengths(&self, rank: usize) -> Vec<u64> {
        match self {
            Pieces::None => Vec::new(),
            Pieces::Copies(copies) => copies.lengths(rank).collect(),
            Pieces::Stripes { stripes, .. } => vec![stripes.chunk; stripes.k],
        }
    }

    pub(super) fn flows(&self, have: &[Have]) -> Flows {
        match self {
            Pieces::None => flow::nothing(have),
            Pieces::Copies(copies) => flow::copy(copies, have),
            Pieces::Stripes { stripes, parity } => flow::solve(stripes, parity, have),
        }
    }
}
