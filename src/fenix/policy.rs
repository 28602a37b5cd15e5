//! How a group is protected: which ranks form a set, and the scheme of the set.

use super::{Error, Result};
use crate::protect::set::{Spacing, pair};
use crate::protect::{Scheme, Set};

/// How the shares of a group are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Mode 1: another rank holds a copy.
    Copy { separation: u32 },
    /// Mode 5: the ranks of a set hold parity of each other's shares.
    Parity { separation: u32, set_size: u32 },
    /// Mode 6: as mode 5, with Reed-Solomon codes. Any `k` ranks of a set may be lost.
    ReedSolomon {
        separation: u32,
        set_size: u32,
        k: u32,
    },
}

impl Policy {
    /// Mode, rank separation, set size, and how many ranks of a set may be lost.
    pub(super) fn numbers(self) -> [u32; 4] {
        match self {
            Policy::Copy { separation } => [1, separation, 2, 1],
            Policy::Parity {
                separation,
                set_size,
            } => [5, separation, set_size, 1],
            Policy::ReedSolomon {
                separation,
                set_size,
                k,
            } => [6, separation, set_size, k],
        }
    }

    /// How the shares of a set are protected.
    pub(super) fn scheme(self) -> Scheme {
        match self {
            Policy::Copy { .. } => Scheme::Copies { replicas: 1 },
            Policy::Parity { .. } => Scheme::Xor,
            Policy::ReedSolomon { k, .. } => Scheme::ReedSolomon { k: k as usize },
        }
    }

    /// The set of a rank.
    pub(super) fn set(self, rank: usize, ranks: usize) -> Result<Set> {
        let [_, separation, set_size, _] = self.numbers();
        let spacing = Spacing {
            separation: separation as usize,
            set_size: set_size as usize,
            smallest: self.smallest_set(),
        };
        let members = match self {
            Policy::Copy { .. } => pair(separation, rank, ranks)?,
            _ => spacing.set_of(rank, ranks),
        };
        Ok(Set::new(members, rank, self.scheme())?)
    }

    /// With fewer ranks parity is no better than copies.
    fn smallest_set(self) -> usize {
        let [_, _, _, k] = self.numbers();
        match self {
            Policy::Copy { .. } => 2,
            _ => k as usize + 2,
        }
    }

    /// The policy of a group that existed before and may have shrunk since: programs compute the separation and the
    /// size of a set from the number of ranks. Two ranks have copies in every mode.
    pub(super) fn fitted(self, ranks: usize) -> Policy {
        let [_, separation, set_size, k] = self.numbers();
        let separation = separation.max(1);
        match self {
            Policy::Copy { .. } => Policy::Copy { separation },
            _ if ranks < 3 => Policy::Copy { separation: 1 },
            Policy::Parity { .. } => Policy::Parity {
                separation,
                set_size: set_size.max(3),
            },
            Policy::ReedSolomon { .. } => {
                let k = k.min(ranks as u32 - 2);
                Policy::ReedSolomon {
                    separation,
                    set_size: set_size.max(k + 2),
                    k,
                }
            }
        }
    }

    /// Refuses what cannot protect a group of `ranks` ranks.
    pub(super) fn check(self, ranks: usize) -> Result<()> {
        let [_, separation, set_size, k] = self.numbers();
        let (set_size, needed) = (set_size as usize, self.smallest_set());
        let why = if k == 0 {
            "it is to survive the loss of 0 ranks".into()
        } else if set_size < needed {
            format!("a set of {set_size} is too small for parity")
        } else if separation == 0 {
            "the rank separation is 0, it must be positive".into()
        } else if ranks < needed {
            format!("it needs {needed} ranks, there are {ranks}")
        } else {
            // A set may take in as many ranks besides as are too few for a set of their own.
            let largest = (set_size + needed - 1).min(ranks);
            return Ok(self.scheme().check(largest)?);
        };
        Err(Error::Policy(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_protect_is_refused() {
        let copy = |separation| Policy::Copy { separation };
        let parity = |separation, set_size| Policy::Parity {
            separation,
            set_size,
        };
        let refused = |policy: Policy, ranks| matches!(policy.check(ranks), Err(Error::Policy(_)));
        assert!(refused(copy(0), 4) && refused(copy(1), 1) && refused(copy(1), 0));
        assert!(refused(parity(0, 3), 4) && refused(parity(1, 2), 4) && refused(parity(1, 3), 2));
        assert!(copy(u32::MAX).check(2).is_ok() && parity(u32::MAX, u32::MAX).check(3).is_ok());
    }
}
