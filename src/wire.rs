//! Numbers and lists as bytes between ranks: little-endian 64-bit words, once for all modules.
//!
//! A rank puts its words into a `Vec<u8>`, all ranks gather them ([`gather`]), and take them apart in the same order.
//! A message that is too short yields `None`, never a number.

use crate::comm::{Comm, Op, Result};

pub(crate) fn put(bytes: &mut Vec<u8>, numbers: &[u64]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// Takes numbers from the front; `None` if there are fewer.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        let (first, rest) = bytes.split_first_chunk()?;
        *number = u64::from_le_bytes(*first);
        *bytes = rest;
    }
    Some(numbers)
}

/// All numbers of a message.
pub(crate) fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let words = bytes.chunks_exact(8).filter_map(|word| word.first_chunk());
    words.map(|word| u64::from_le_bytes(*word))
}

/// The number of the root on all ranks.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(crate) fn bcast_u64<C: Comm>(comm: &C, root: usize, number: u64) -> Result<u64> {
    let mut bytes = number.to_le_bytes();
    comm.bcast(root, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// The number of each rank.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(crate) fn gather_u64<C: Comm>(comm: &C, number: u64) -> Result<Vec<u64>> {
    let all = gather_numbers(comm, [number])?;
    Ok(all.into_iter().flatten().collect())
}

/// The `N` numbers of each rank.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(crate) fn gather_numbers<const N: usize, C: Comm>(
    comm: &C,
    own: [u64; N],
) -> Result<Vec<[u64; N]>> {
    let mut bytes = Vec::new();
    put(&mut bytes, &own);
    let mut all = vec![0; bytes.len() * comm.size()];
    comm.allgather(&bytes, &mut all)?;
    let mut rest = &all[..];
    let ranks = 0..comm.size();
    Ok(ranks.filter_map(|_| take(&mut rest)).collect())
}

/// The bytes of each rank, of any length.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(crate) fn gather<C: Comm>(comm: &C, own: &[u8]) -> Result<Vec<Vec<u8>>> {
    let lengths = gather_u64(comm, own.len() as u64)?;
    let longest = lengths.iter().max().map_or(0, |most| *most as usize);
    let mut padded = own.to_vec();
    padded.resize(longest, 0);
    let mut all = vec![0; longest * comm.size()];
    if longest > 0 {
        comm.allgather(&padded, &mut all)?;
    }
    let told = lengths.iter().enumerate();
    let told = told.map(|(rank, length)| all[rank * longest..][..*length as usize].to_vec());
    Ok(told.collect())
}

/// Whether `condition` holds on any rank.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(crate) fn any<C: Comm>(comm: &C, condition: bool) -> Result<bool> {
    let mut somewhere = [u64::from(condition)];
    comm.allreduce(Op::Max, &mut somewhere)?;
    Ok(somewhere[0] != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::local::run;

    #[test]
    fn ranks_may_tell_different_amounts() {
        for ranks in [1, 2, 5] {
            let told = run(ranks, |comm| {
                gather(&comm, &vec![comm.rank() as u8; 3 * comm.rank()]).unwrap()
            });
            let wanted: Vec<_> = (0..ranks).map(|rank| vec![rank as u8; 3 * rank]).collect();
            assert!(told.iter().all(|told| *told == wanted));
        }
        assert_eq!(
            run(3, |comm| gather(&comm, b"").unwrap())[1],
            [b"", b"", b""]
        );
    }

    #[test]
    fn numbers_are_taken_whole_or_not_at_all() {
        let mut bytes = Vec::new();
        put(&mut bytes, &[7, u64::MAX]);
        assert_eq!(take(&mut &bytes[..]), Some([7, u64::MAX]));
        assert_eq!(take::<3>(&mut &bytes[..]), None);
        assert_eq!(take::<2>(&mut &bytes[..15]), None);
    }
}
