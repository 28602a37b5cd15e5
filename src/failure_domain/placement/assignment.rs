//! An assignment of leaves to sets, which the searches modify.
//!
//! The stride rule is the starting point: with n sets, set i takes every n-th leaf in tree order from the i-th on. Each
//! domain, at every level, is thus spread over all sets evenly: any two sets differ by at most one of its leaves.

use super::PlacementScheme;
use super::set_sizes::SetSizes;

/// `leaves` lists the leaves of all sets, set by set.
#[derive(Clone)]
pub(super) struct Assignment {
    pub(super) sets: SetSizes,
    pub(super) leaves: Vec<u32>,
}

impl Assignment {
    pub(super) fn stride(scheme: PlacementScheme, sets: SetSizes) -> Assignment {
        let stride = sets.count();
        let mut leaves = Vec::with_capacity(sets.ranks());
        for set in 0..stride {
            let size = sets.range(set).len();
            match scheme {
                PlacementScheme::Partner { replicas } => {
                    interleave(size, replicas + 1, |turn| {
                        leaves.push((set + turn * stride) as u32)
                    });
                }
                _ => leaves.extend((0..size).map(|turn| (set + turn * stride) as u32)),
            }
        }
        Assignment { sets, leaves }
    }

    pub(super) fn set(&self, set: usize) -> &[u32] {
        &self.leaves[self.sets.range(set)]
    }
}

/// Visits 0..size so that any `apart` consecutive values are far from each other: cuts the range into `apart` pieces and
/// interleaves them.
fn interleave(size: usize, apart: usize, mut take: impl FnMut(usize)) {
    let pieces = SetSizes::new(size, apart);
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
        let assignment = Assignment::stride(PlacementScheme::Xor, SetSizes::new(7, 3));
        assert_eq!(assignment.leaves, [0, 3, 6, 1, 4, 2, 5]);
    }

    #[test]
    fn neighbours_in_a_ring_are_far_apart() {
        let assignment = Assignment::stride(
            PlacementScheme::Partner { replicas: 1 },
            SetSizes::new(8, 1),
        );
        assert_eq!(assignment.leaves, [0, 4, 1, 5, 2, 6, 3, 7]);
        let assignment = Assignment::stride(
            PlacementScheme::Partner { replicas: 2 },
            SetSizes::new(8, 1),
        );
        assert_eq!(assignment.leaves, [0, 3, 6, 1, 4, 7, 2, 5]);
    }
}
