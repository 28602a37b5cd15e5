//! Communicators that outlive some of their ranks.

#[cfg(any(test, feature = "mpi"))]
use super::Op;
use super::{Comm, Result};

/// The result of [`Resilient::agree`] on all surviving ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The AND of all flags.
    pub flag: u32,
    /// Whether a rank has died that not all had acknowledged.
    pub someone_failed: bool,
}

/// The AND of the flags of all ranks, by a reduction: for when no rank has died.
///
/// # Collective
/// Called by all ranks.
#[cfg(any(test, feature = "mpi"))]
pub(super) fn common_bits(comm: &impl Comm, flag: u32) -> Result<u32> {
    let mut bits: [u64; u32::BITS as usize] = std::array::from_fn(|bit| u64::from(flag >> bit & 1));
    comm.allreduce(Op::Min, &mut bits)?;
    let common = bits.iter().enumerate();
    Ok(common.fold(0, |all, (bit, given)| all | (*given as u32) << bit))
}

/// A communicator with the calls of ULFM, which work although ranks have died.
pub trait Resilient: Comm {
    /// Makes every call on it fail, on all ranks, now and later; only `shrink` and `agree` still work.
    fn revoke(&self);

    fn is_revoked(&self) -> bool;

    /// A communicator of the surviving ranks.
    ///
    /// # Collective
    /// Called by all surviving ranks.
    fn shrink(&self) -> Result<Self>;

    /// The AND of the flags of the surviving ranks.
    ///
    /// # Collective
    /// Called by all surviving ranks, with the same result.
    fn agree(&self, flag: u32) -> Result<Agreement>;

    /// Acknowledges and returns the ranks that are known to be dead.
    fn failed(&self) -> Result<Vec<usize>>;

    /// Splits off a communicator for the user, and a private one of the same ranks for this library.
    ///
    /// # Collective
    /// Called by all ranks; does not communicate on the new ones.
    fn split_for_user(&self, joins: bool, key: i32) -> Result<Option<(Self, Self)>>;

    /// Sends an empty message to `to`, which may be dead: it may never arrive.
    fn signal(&self, to: usize);

    /// Whether a signal has arrived from any rank. Does not wait.
    fn signalled(&self) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::local::run;

    #[test]
    fn only_bits_that_all_ranks_give_are_common() {
        for flags in [[1, 2, 4], [3, 2, 6], [u32::MAX, 1 << 31 | 1, 1 << 31 | 2]] {
            let common = flags[0] & flags[1] & flags[2];
            let agreed = run(3, |comm| common_bits(&comm, flags[comm.rank()]).unwrap());
            assert_eq!(agreed, [common; 3], "{flags:?}");
        }
    }
}
