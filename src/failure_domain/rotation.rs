//! Rotates the positions inside first-level domains, so that any two targets of different such domains share a group
//! equally often. Used where a tile has a single row.
//!
//! Whether two targets share a group depends on the difference of their positions and on where groups begin between
//! them. The schedule has three nested periods:
//!
//! - a *round* of p tiles, p a prime: in tile t domain r is rotated by r t / p of its positions, so that the difference
//!   of two domains takes each value once;
//! - a *block* of rounds: each starts one p-th part later, until groups have begun at every position;
//! - all *strides*: each block visits the positions with another stride, which makes other targets of a domain
//!   neighbours. After the last stride all domains draw new permutations.
//!
//! Neither a rotation nor a stride coprime to the number of positions changes how many of consecutive units fall into
//! one domain further down. First-level domains keep their order within a block; to keep parity from staying in some of
//! them, all units of a tile are shifted by the number of the tile in its round.

use super::SymmetricTree;
use super::declustering::{Siblings, prime_above};
use super::layout::greatest_common_divisor;
use super::permutation::{domain_key, mix, tile_key};

/// With more positions a round would be longer than most files.
const MOST_POSITIONS: u64 = 256;
const MOST_STRIDES: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Rotation {
    targets: u32,
    /// Positions in a first-level domain.
    positions: u32,
    /// Tiles per round.
    prime: u32,
    /// Rounds per block.
    rounds: u32,
    /// Strides, each with its inverse modulo `positions`.
    strides: Vec<[u32; 2]>,
}

/// The rotation of one tile of a file.
pub(super) struct TileRotation<'a> {
    rotation: &'a Rotation,
    tile: u64,
    /// The number of the tile in its round.
    step: u32,
    /// The number of the round in its block.
    round: u32,
    stride: [u32; 2],
    /// The key of the block.
    block_key: u64,
    /// The key of the blocks between two draws of permutations.
    draw_key: u64,
}

impl Rotation {
    /// For tiles of one row. `None` if there are too many positions, fewer positions than domains, or if a group does
    /// not reach all first-level domains.
    pub(super) fn new(tree: &SymmetricTree, group: u64) -> Option<Rotation> {
        let domains = tree.nodes(0);
        let positions = tree.targets() / domains;
        if positions > MOST_POSITIONS || !(2..=positions.min(group)).contains(&domains) {
            return None;
        }
        let inverse = |stride| (1..positions).find(|other| stride * other % positions == 1);
        let strides =
            (1..=positions / 2).filter_map(|stride| Some([stride as u32, inverse(stride)? as u32]));
        let strides: Vec<_> = strides.take(MOST_STRIDES).collect();
        Some(Rotation {
            targets: tree.targets() as u32,
            positions: positions as u32,
            prime: prime_above(domains as u32 - 1) as u32,
            rounds: (group / greatest_common_divisor(domains, group)) as u32,
            strides: if strides.is_empty() {
                vec![[1, 1]]
            } else {
                strides
            },
        })
    }

    pub(super) fn at(&self, file: u64, tile: u64) -> TileRotation<'_> {
        let (round, step) = (tile / u64::from(self.prime), tile % u64::from(self.prime));
        let (block, round) = (
            round / u64::from(self.rounds),
            round % u64::from(self.rounds),
        );
        let strides = self.strides.len() as u64;
        TileRotation {
            rotation: self,
            tile,
            step: step as u32,
            round: round as u32,
            stride: self.strides[(block % strides) as usize],
            block_key: tile_key(file, block),
            draw_key: tile_key(!file, block / strides),
        }
    }
}

impl TileRotation<'_> {
    /// The key of a domain's permutation, and the rotation of its children: none, unless there are more children than
    /// positions; then each tile uses others.
    pub(super) fn enter(&self, siblings: Siblings) -> (u64, u64) {
        let key = if siblings.step == 0 {
            self.block_key
        } else {
            self.draw_key
        };
        let turn = match siblings.children == siblings.degree.value() {
            true => 0,
            false => self.tile % u64::from(siblings.children),
        };
        (domain_key(key, siblings.level, siblings.parent), turn)
    }

    /// Shifts a unit within its tile by the number of the tile in its round.
    pub(super) fn shift(&self, number: u32) -> u32 {
        let number = number + self.step;
        match number.checked_sub(self.rotation.targets) {
            Some(wrapped) => wrapped,
            None => number,
        }
    }

    pub(super) fn unshift(&self, number: u32) -> u32 {
        match number.checked_sub(self.step) {
            Some(number) => number,
            None => number + self.rotation.targets - self.step,
        }
    }

    pub(super) fn forward(&self, first: usize, position: u32) -> u32 {
        let positions = self.rotation.positions;
        (position + self.offset(first)) * self.stride[0] % positions
    }

    pub(super) fn backward(&self, first: usize, position: u32) -> u32 {
        let positions = self.rotation.positions;
        (position * self.stride[1] + positions - self.offset(first)) % positions
    }

    /// The rotation of a first-level domain, below `positions`.
    fn offset(&self, first: usize) -> u32 {
        let prime = self.rotation.prime;
        let start = mix(self.block_key ^ first as u64) >> 32;
        let factor = first as u32 + scale(prime, self.block_key);
        let parts = u64::from((factor * self.step + self.round) % prime);
        let fraction = (parts << 32) / u64::from(prime) + start;
        scale(self.rotation.positions, fraction << 32)
    }
}

/// Scales the upper half of a random number to 0..limit.
fn scale(limit: u32, random: u64) -> u32 {
    (((random >> 32) * u64::from(limit)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotation() -> Rotation {
        Rotation::new(&SymmetricTree::new(&[6, 4, 4]).unwrap(), 8).unwrap()
    }

    #[test]
    fn every_rotation_is_a_permutation_with_its_inverse() {
        let rotation = rotation();
        for tile in (0..600).chain([u64::MAX]) {
            let tile = rotation.at(5, tile);
            for first in 0..6 {
                let mut seen = [false; 16];
                for position in 0..16 {
                    let there = tile.forward(first, position);
                    assert!(!std::mem::replace(&mut seen[there as usize], true));
                    assert_eq!(tile.backward(first, there), position);
                }
            }
        }
    }

    #[test]
    fn two_domains_never_differ_by_the_same_in_a_round() {
        let rotation = rotation();
        assert_eq!((rotation.prime, rotation.rounds), (7, 4));
        for (one, other) in [(0, 1), (0, 5), (2, 4)] {
            let differences = (3 * 7..4 * 7).map(|tile| {
                let tile = rotation.at(5, tile);
                (tile.offset(one) + 16 - tile.offset(other)) % 16
            });
            let differences: std::collections::HashSet<u32> = differences.collect();
            assert_eq!(differences.len(), 7);
        }
    }

    /// Units of a group in one rack have consecutive positions.
    #[test]
    fn consecutive_positions_stay_in_different_domains() {
        let rotation = rotation();
        for number in 0..600 {
            let tile = rotation.at(5, number);
            for start in 0..16 {
                let domains = (start..start + 4).map(|position| tile.forward(3, position % 16) % 4);
                let domains: std::collections::HashSet<u32> = domains.collect();
                assert_eq!(domains.len(), 4, "{number} {start}");
            }
        }
    }

    #[test]
    fn others_are_neighbours_in_every_block() {
        let rotation = rotation();
        let strides: Vec<u32> = rotation.strides.iter().map(|stride| stride[0]).collect();
        assert_eq!(strides, [1, 3, 5, 7]);
    }

    #[test]
    fn none_where_rounds_would_be_long_or_domains_rarely_share_groups() {
        let rotates = |degrees: &[u32], group| {
            Rotation::new(&SymmetricTree::new(degrees).unwrap(), group).is_some()
        };
        assert!(rotates(&[4, 3, 4], 8));
        assert!(!rotates(&[8, 2, 2], 8));
        assert!(!rotates(&[6, 4, 4], 4));
        assert!(!rotates(&[6, 20, 20], 8));
    }
}
