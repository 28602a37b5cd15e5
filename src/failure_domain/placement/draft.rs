//! Sets as they are being worked on: the leaves of the tree, set by set.
//!
//! The stride rule deals leaves out like cards: they stand in the order of the tree, and each set takes every n-th of
//! them. So a domain gives every set as many of its leaves as any other set, or one more, at all levels at once.

use super::Scheme;
use super::sets::Sets;

#[derive(Clone)]
pub(super) struct Draft {
    pub(super) sets: Sets,
    pub(super) leaves: Vec<u32>,
}

impl Draft {
    pub(super) fn stride(scheme: Scheme, sets: Sets) -> Draft {
        let stride = sets.count();
        let mut leaves = Vec::with_capacity(sets.ranks());
        for set in 0..stride {
            let size = sets.range(set).len();
            match scheme {
                Scheme::Partner { replicas } => {
                    each_far_apart(size, replicas + 1, |turn| {
                        leaves.push((set + turn * stride) as u32)
                    });
                }
                _ => leaves.extend((0..size).map(|turn| (set + turn * stride) as u32)),
            }
        }
        Draft { sets, leaves }
    }

    pub(super) fn set(&self, set: usize) -> &[u32] {
        &self.leaves[self.sets.range(set)]
    }
}

/// Orders a ring of `size` so that `apart` neighbours come from different parts of it: it is cut into as many
/// pieces, and the n-th of every piece follow each other.
fn each_far_apart(size: usize, apart: usize, mut take: impl FnMut(usize)) {
    let pieces = Sets::new(size, apart);
    for turn in 0..pieces.largest() {
        for piece in 0..apart {
            let range = pieces.range(piece);
            if turn < range.len() {
                take(range.start + turn);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_take_every_nth_leaf() {
        let draft = Draft::stride(Scheme::Xor, Sets::new(7, 3));
        assert_eq!(draft.leaves, [0, 3, 6, 1, 4, 2, 5]);
    }

    #[test]
    fn neighbours_in_a_ring_are_far_apart() {
        let draft = Draft::stride(Scheme::Partner { replicas: 1 }, Sets::new(8, 1));
        assert_eq!(draft.leaves, [0, 4, 1, 5, 2, 6, 3, 7]);
        let draft = Draft::stride(Scheme::Partner { replicas: 2 }, Sets::new(8, 1));
        assert_eq!(draft.leaves, [0, 3, 6, 1, 4, 7, 2, 5]);
    }
}
