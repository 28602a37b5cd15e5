//! How the data of a set are protected.

use super::{Error, Result};

/// How the data of a set are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Not at all.
    Single,
    /// The next `replicas` ranks hold a copy each.
    Copies { replicas: usize },
    /// One parity chunk in each stripe: survives the loss of one rank.
    Xor,
    /// `k` parity chunks in each stripe: survives the loss of any `k` ranks.
    ReedSolomon { k: usize },
}

/// GF(2^8) has as many points for ranks and parity rows of a stripe.
const POINTS: usize = 256;

impl Scheme {
    /// How many ranks may be lost at best.
    pub fn copies(self) -> usize {
        match self {
            Self::Single => 0,
            Self::Copies { replicas } => replicas,
            Self::Xor => 1,
            Self::ReedSolomon { k } => k,
        }
    }

    /// Whether a set of `ranks` ranks survives the loss of these.
    pub(crate) fn tolerates(self, ranks: usize, lost: &[usize]) -> bool {
        match self {
            Self::Single => lost.is_empty(),
            Self::Xor => lost.len() <= 1,
            Self::ReedSolomon { k } => lost.len() <= k,
            Self::Copies { replicas } => lost.iter().all(|rank| {
                let mut holders = (1..=replicas).map(|distance| (rank + distance) % ranks);
                holders.any(|holder| !lost.contains(&holder))
            }),
        }
    }

    /// Whether a set of `ranks` ranks can be protected so.
    pub(crate) fn check(self, ranks: usize) -> Result<()> {
        let fits = match self {
            Self::Single => true,
            Self::Xor => ranks >= 2,
            Self::Copies { replicas } => (1..ranks).contains(&replicas),
            Self::ReedSolomon { k } => (1..ranks).contains(&k) && ranks + k <= POINTS,
        };
        match fits {
            true => Ok(()),
            false => Err(Error::SetSize {
                scheme: self,
                ranks,
            }),
        }
    }

    /// As ranks tell each other.
    pub(crate) fn numbers(self) -> [u64; 2] {
        match self {
            Self::Single => [0, 0],
            Self::Copies { replicas } => [1, replicas as u64],
            Self::Xor => [2, 0],
            Self::ReedSolomon { k } => [3, k as u64],
        }
    }

    pub(crate) fn from_numbers([kind, count]: [u64; 2]) -> Option<Scheme> {
        let count = usize::try_from(count).ok()?;
        match kind {
            0 => Some(Self::Single),
            1 => Some(Self::Copies { replicas: count }),
            2 => Some(Self::Xor),
            3 => Some(Self::ReedSolomon { k: count }),
            _ => None,
        }
    }
}
