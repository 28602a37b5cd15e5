//! How long the pieces of a set are under its scheme, and what completes them.

use super::flow::{self, Flows, Have};
use super::layout::{Copies, Stripes};
use super::{Error, Result, Scheme};
use crate::erasure::matrix;

/// Room that is left for the header in front of the redundancy.
const MOST_HEADER: u64 = 1 << 40;

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
    /// For a set whose ranks hold so many bytes each. The same numbers give the same verdict on all ranks.
    pub(super) fn planned(scheme: Scheme, bytes: Vec<u64>) -> Result<Pieces> {
        let largest = bytes.iter().copied().max();
        let largest = largest.ok_or(Error::Broken("a set has no ranks"))?;
        let ranks = bytes.len();
        scheme.check(ranks)?;
        let pieces = match scheme {
            Scheme::Single => Pieces::None,
            Scheme::Partner { replicas } => Pieces::Copies(Copies { replicas, bytes }),
            Scheme::Xor => Pieces::Stripes {
                stripes: Stripes::covering(ranks, 1, largest),
                parity: vec![vec![1; ranks]],
            },
            Scheme::ReedSolomon { k } => Pieces::Stripes {
                stripes: Stripes::covering(ranks, k, largest),
                parity: matrix::parity_rows(ranks, k)
                    .ok_or(Error::Broken("the coding matrix has no inverse"))?,
            },
        };
        match (0..ranks).all(|rank| pieces.is_file_long(rank)) {
            true => Ok(pieces),
            false => Err(Error::Mismatch("its files are too long to protect".into())),
        }
    }

    /// Whether all that a rank holds is no longer than a file can be.
    fn is_file_long(&self, rank: usize) -> bool {
        let redundancy = self.lengths(rank);
        let mut lengths = redundancy.iter().copied();
        let whole = match self {
            // Data are read as whole chunks, to the end of the last.
            Pieces::Stripes { stripes, .. } => stripes.chunk.checked_mul(stripes.ranks as u64),
            _ => lengths.try_fold(0u64, |sum, length| sum.checked_add(length)),
        };
        whole.is_some_and(|whole| whole <= i64::MAX as u64 - MOST_HEADER)
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

    pub(super) fn flows(&self, have: &[Have]) -> Result<Flows> {
        match self {
            Pieces::None => Ok(flow::nothing(have)),
            Pieces::Copies(copies) => Ok(flow::copy(copies, have)),
            Pieces::Stripes { stripes, parity } => flow::solve(stripes, parity, have),
        }
    }
}
