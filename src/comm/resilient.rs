//! Communicators that outlive some of their ranks.

#[cfg(any(test, feature = "mpi"))]
use super::Op;
use super::{Comm, Result};

/// What all living ranks have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The bits that every living rank gave.
    pub flag: u32,
    /// Whether a rank is dead that not all had acknowledged.
    pub someone_failed: bool,
}

/// The bits that every rank gives, where no rank has died.
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

/// A communicator that can be used, in a few ways, although ranks of it have died.
pub trait Resilient: Comm {
    /// Ends every call on it with an error, on all ranks, now and later; only `shrink` and `agree` go on.
    fn revoke(&self);

    fn is_revoked(&self) -> bool;

    /// The living ranks.
    ///
    /// # Collective
    /// Called by all living ranks.
    fn shrink(&self) -> Result<Self>;

    /// # Collective
    /// Called by all living ranks, which all learn the same.
    fn agree(&self, flag: u32) -> Result<Agreement>;

    /// The ranks known to be dead, which are acknowledged by that.
    fn failed(&self) -> Result<Vec<usize>>;

    /// Splits off a communicator for the user, and a private one of the same ranks that he does not see.
    ///
    /// # Collective
    /// Called by all ranks; none of the new ones is used by it.
    fn split_for_user(&self, joins: bool, key: i32) -> Result<Option<(Self, Self)>>;

    /// Sends a sign to `to`, which may be dead: whether it arrives is not known.
    fn signal(&self, to: usize);

    /// Whether a sign has come from anyone. Does not wait.
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
