//! The redundancy schemes: how many ranks of a set may be lost, how large a set may be, and what it costs.

use super::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlacementScheme {
    /// No protection: every rank is a set of its own.
    Single,
    /// The next `replicas` ranks of the set, in ring order, hold a copy each.
    Partner { replicas: usize },
    /// Any one rank of a set may be lost.
    Xor,
    /// Any `k` ranks of a set may be lost.
    ReedSolomon { k: usize },
}

/// Limit of data and parity blocks together: Reed-Solomon over GF(2^8). Also bounds the number of copies.
const MOST_SHARES: usize = 256;

impl PlacementScheme {
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "SINGLE",
            Self::Partner { .. } => "PARTNER",
            Self::Xor => "XOR",
            Self::ReedSolomon { .. } => "RS",
        }
    }

    /// How many ranks of a codeword (see `evaluate`) may be lost.
    pub fn most_lost(self) -> usize {
        match self {
            Self::Single => 0,
            Self::Partner { replicas } => replicas,
            Self::Xor => 1,
            Self::ReedSolomon { k } => k,
        }
    }

    /// Bytes of redundancy per protected byte, in a set of `size` ranks.
    pub fn memory(self, size: usize) -> f64 {
        match self {
            Self::Single => 0.0,
            Self::Partner { replicas } => replicas as f64,
            Self::Xor | Self::ReedSolomon { .. } => {
                let parity = self.most_lost() as f64;
                parity / (size as f64 - parity)
            }
        }
    }

    /// Bytes that a rank sends per protected byte.
    pub fn network(self) -> f64 {
        self.most_lost() as f64
    }

    /// The smallest and the largest set.
    pub(super) fn sizes(self) -> (usize, usize) {
        match self {
            Self::Single => (1, 1),
            Self::Partner { .. } | Self::Xor => (self.most_lost() + 1, usize::MAX),
            Self::ReedSolomon { k } => (k + 1, MOST_SHARES.saturating_sub(k)),
        }
    }

    pub(super) fn check(self, set_size: usize) -> Result<()> {
        if self != Self::Single && !(1..MOST_SHARES).contains(&self.most_lost()) {
            return Err(Error::Scheme(self));
        }
        let (fewest, most) = self.sizes();
        match self == Self::Single || (fewest..=most).contains(&set_size) {
            true => Ok(()),
            false => Err(Error::SetSize {
                scheme: self,
                set_size,
            }),
        }
    }
}
