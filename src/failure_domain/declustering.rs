//! Parity declustering: how permutations change from tile to tile, so that the rebuild of a target loads all other
//! targets alike.
//!
//! First-level domains are permuted independently in every tile. Below them, a domain draws one permutation per round
//! of p tiles and rotates its children further in each tile of the round. Two targets share a group if their positions
//! are close, so the rotation of one first-level domain relative to another decides. In tile t of a round, domain r
//! is rotated by ((c + r) t mod p) / p of its positions, with p a prime above the number of first-level domains. For
//! any two domains the difference then takes each value exactly once per round; independent random rotations would
//! repeat some values and miss others. c, and an offset for each domain, are random in every round.
//!
//! Where a domain holds at most one unit of a group, the rotation also changes with every row of frames: rounds then
//! count frames instead of tiles.
//!
//! If a tile has a single row, groups begin at the same positions in all tiles, and chance decides whether neighbouring
//! positions share a group. [`Rotation`] replaces the scheme above there if its rounds are short enough.

use super::fast_division::Divisor;
use super::permutation::{domain_key, file_key, keyed, mix, motr, tile_key};
use super::rotation::{Rotation, TileRotation};
use super::{FileId, SymmetricTree};

#[derive(Clone, Debug)]
pub(super) struct Declustering {
    /// Part of all keys.
    seed: u64,
    prime: u64,
    /// 2^32 / prime.
    inverse: u64,
    /// From this step on rounds count frames.
    frame_step: usize,
    /// The positions in a first-level domain down to `frame_step`, and the positions from there to the targets.
    positions: [u64; 2],
    rotation: Option<Rotation>,
}

/// The children of one domain.
#[derive(Clone, Copy)]
pub(super) struct Siblings {
    /// The index of their level among the kept ones.
    pub(super) step: usize,
    pub(super) level: usize,
    /// The number of children in the symmetric tree.
    pub(super) degree: Divisor,
    pub(super) parent: usize,
    pub(super) children: u32,
}

/// The permutations of one tile along a path from the root to a target, to be applied level by level.
pub(super) enum TilePermutations<'a> {
    Motr(u64),
    Keyed(KeyedPermutations<'a>),
}

pub(super) struct KeyedPermutations<'a> {
    declustering: &'a Declustering,
    file: u64,
    tile: u64,
    frame: u64,
    /// The first-level domain of the path.
    first: u64,
    /// The key of the round.
    key: u64,
    /// The rotation, a number whose digits are consumed level by level.
    turn: u32,
    /// 1 if the rotation wrapped around in the level above.
    carry: u64,
    rotation: Option<TileRotation<'a>>,
}

impl Declustering {
    pub(super) fn new(
        symmetric: Option<&SymmetricTree>,
        group: u64,
        rows: u64,
        seed: [u64; 2],
    ) -> Declustering {
        let degrees = symmetric.map_or(&[][..], SymmetricTree::degrees);
        let holds_one = |step: &usize| symmetric.is_some_and(|tree| tree.nodes(step - 1) >= group);
        let frame_step = match rows {
            1 => degrees.len(),
            _ => (1..degrees.len()).find(holds_one).unwrap_or(degrees.len()),
        };
        let product = |degrees: &[u32]| degrees.iter().map(|&degree| u64::from(degree)).product();
        let (by_tile, by_frame) = degrees.split_at(frame_step);
        let prime = prime_above(degrees.first().copied().unwrap_or(1));
        Declustering {
            seed: mix(seed[0]).wrapping_add(mix(seed[1] ^ !0)),
            prime,
            inverse: (1 << 32) / prime,
            frame_step,
            positions: [product(by_tile.get(1..).unwrap_or(&[])), product(by_frame)],
            rotation: symmetric
                .filter(|_| rows == 1)
                .and_then(|tree| Rotation::new(tree, group)),
        }
    }

    /// The key of a file's permutations without tiles.
    pub(super) fn file_key(&self, file: FileId) -> u64 {
        mix(file_key(self.seed, file.container, file.key))
    }

    pub(super) fn permutations(
        &self,
        file: FileId,
        tile: u64,
        frame: u64,
    ) -> KeyedPermutations<'_> {
        let file = file_key(self.seed, file.container, file.key);
        KeyedPermutations {
            declustering: self,
            file,
            tile,
            frame,
            first: 0,
            key: 0,
            turn: 0,
            carry: 0,
            rotation: self
                .rotation
                .as_ref()
                .map(|rotation| rotation.at(file, tile)),
        }
    }
}

impl TilePermutations<'_> {
    /// The child at a position of the symmetric tree.
    pub(super) fn forward(&mut self, siblings: Siblings, position: u32) -> u32 {
        match self {
            TilePermutations::Motr(state) => motr::forward(*state, siblings.children, position),
            TilePermutations::Keyed(keyed) => keyed.forward(siblings, position),
        }
    }

    /// The position of a child. One beyond the degree of the symmetric tree means that the child is not used.
    pub(super) fn backward(&mut self, siblings: Siblings, child: u32) -> u32 {
        match self {
            TilePermutations::Motr(state) => motr::backward(*state, siblings.children, child),
            TilePermutations::Keyed(keyed) => keyed.backward(siblings, child),
        }
    }

    /// Shifts a unit within its row of the tile, as [`TileRotation::shift`]. Its digits then lead to its target.
    pub(super) fn shift(&self, number: u32) -> u32 {
        self.rotation()
            .map_or(number, |rotation| rotation.shift(number))
    }

    pub(super) fn unshift(&self, number: u32) -> u32 {
        self.rotation()
            .map_or(number, |rotation| rotation.unshift(number))
    }

    /// Rotates a position inside the first-level domain `first`.
    pub(super) fn rotate(&self, first: usize, position: u32) -> u32 {
        self.rotation()
            .map_or(position, |rotation| rotation.forward(first, position))
    }

    pub(super) fn unrotate(&self, first: usize, position: u32) -> u32 {
        self.rotation()
            .map_or(position, |rotation| rotation.backward(first, position))
    }

    fn rotation(&self) -> Option<&TileRotation<'_>> {
        match self {
            TilePermutations::Motr(_) => None,
            TilePermutations::Keyed(keyed) => keyed.rotation.as_ref(),
        }
    }
}

impl KeyedPermutations<'_> {
    fn forward(&mut self, siblings: Siblings, position: u32) -> u32 {
        let (key, turn) = self.enter(siblings);
        let children = u64::from(siblings.children);
        let sum = u64::from(position) + turn;
        self.carry = (sum >= children).into();
        keyed::forward(key, siblings.children, (sum - self.carry * children) as u32)
    }

    fn backward(&mut self, siblings: Siblings, child: u32) -> u32 {
        let (key, turn) = self.enter(siblings);
        let rotated = u64::from(keyed::backward(key, siblings.children, child));
        self.carry = (rotated < turn).into();
        (rotated + self.carry * u64::from(siblings.children) - turn) as u32
    }

    /// The key of a domain's permutation, and the rotation of its children.
    fn enter(&mut self, siblings: Siblings) -> (u64, u64) {
        let Siblings {
            step,
            level,
            parent,
            ..
        } = siblings;
        if let Some(rotation) = &self.rotation {
            self.carry = 0;
            return rotation.enter(siblings);
        }
        if step == 0 {
            return (domain_key(tile_key(self.file, self.tile), level, parent), 0);
        }
        if step == 1 {
            self.first = parent as u64;
        }
        if step == self.declustering.frame_step {
            self.start_round(self.frame, self.declustering.positions[1]);
        } else if step == 1 {
            self.start_round(self.tile, self.declustering.positions[0]);
        }
        let turn;
        (self.turn, turn) = siblings.degree.divide(self.turn);
        let turn = u64::from(turn) + self.carry;
        (domain_key(self.key, level, parent), turn)
    }

    /// Computes the key and the rotation for a tile or a frame; `time` is its number.
    fn start_round(&mut self, time: u64, positions: u64) {
        let prime = self.declustering.prime;
        self.key = tile_key(!self.file, time / prime);
        self.carry = 0;
        let random = mix(self.key ^ self.first);
        let factor = self.first + (((self.key >> 32) * prime) >> 32);
        let factor = if factor < prime {
            factor
        } else {
            factor - prime
        };
        let rotated = factor * (time % prime) % prime * self.declustering.inverse;
        let fraction = (rotated + (random >> 32)) & 0xffff_ffff;
        self.turn = ((fraction * positions) >> 32) as u32;
    }
}

/// The smallest prime above a number, or the largest of 32 bits.
pub(super) fn prime_above(number: u32) -> u64 {
    let is_prime = |number: &u64| {
        let mut factors = (2..).take_while(|factor| factor * factor <= *number);
        factors.all(|factor| number % factor != 0)
    };
    let above = u64::from(number) + 1;
    (above..1 << 32).find(is_prime).unwrap_or(4_294_967_291)
}
