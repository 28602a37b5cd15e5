//! Trees that the ranks of a set give to their right neighbours, which keep them in case of a loss.

use std::collections::BTreeMap;

use super::Result;
use super::header::RankInfo;
use crate::comm::{Comm, Tag, transfer_unsized};
use crate::kvtree::pack::{self, Order};
use crate::kvtree::{self, Tree};

const TAG: Tag = 0x6170;

/// Gives a tree to the `copies` right neighbours and returns those of the left ones. All messages are exchanged even if a
/// tree turns out to be malformed.
pub(super) fn give_to_right<C: Comm>(
    comm: &C,
    copies: usize,
    tree: &Tree,
) -> Result<Vec<(usize, Tree)>> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let left = |distance: usize| (rank + ranks - distance) % ranks;
    let right = |distance: usize| (rank + distance) % ranks;
    let packed = pack::packed(Some(tree.view()))?;
    let sends: Vec<_> = (1..=copies).map(|d| (right(d), &packed[..])).collect();
    let from: Vec<_> = (1..=copies).map(left).collect();
    let blocks = transfer_unsized(comm, TAG, &sends, &from)?;
    let unpacked = from.into_iter().zip(&blocks);
    unpacked
        .map(|(from, block)| Ok((from, unpack(block)?)))
        .collect()
}

pub(super) fn unpack(bytes: &[u8]) -> Result<Tree> {
    let (tree, _) = pack::unpack(bytes, Order::AsPacked).map_err(kvtree::Error::from)?;
    Ok(tree)
}

/// Gives the info of this rank to its right neighbours; returns it and those of the left ones, by rank.
pub(super) fn share_info<C: Comm>(comm: &C, own: &RankInfo) -> Result<BTreeMap<usize, RankInfo>> {
    let copies = own.descriptor.scheme.copies();
    let mut infos = BTreeMap::from([(own.descriptor.rank, own.clone())]);
    for (rank, tree) in give_to_right(comm, copies, &own.to_tree()?)? {
        infos.insert(rank, RankInfo::from_tree(tree.view())?);
    }
    Ok(infos)
}
