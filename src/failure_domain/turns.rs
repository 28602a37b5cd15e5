//! How the permutations of a layout change from tile to tile, so that the rebuild of a target loads all others alike.
//!
//! The domains of the first level change places independently in every tile. Below, a domain shuffles its children
//! once in a round of p tiles, and turns them on in each tile of the round. Two targets share a group if their places
//! differ by little, so what counts is by how much one first-level domain has been turned more than another. In tile t
//! of a round domain r is turned by (c + r) t modulo p, a prime above the number of these domains, as a part of all
//! places in the domain: whichever two are compared, the difference takes each value once in a round. Chance alone
//! would repeat some and leave out others. c and a further turn of each domain are random in every round.
//!
//! Where a domain holds at most one unit of a group, its children may also stand differently in every row of frames: time
//! then goes by frames, not by tiles.
//!
//! Where a tile has a single row, groups begin at the same places in all tiles, and whether neighbouring places share
//! one is left to chance. `walk` takes that chance away where rounds can be short.

use super::divisor::Divisor;
use super::permutation::{domain_key, file_key, keyed, later_key, mix, motr};
use super::walk::{Walk, Walked};
use super::{File, Symmetric};

#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// What the seed gives to all keys.
    seed: u64,
    prime: u64,
    /// 2^32 by the prime.
    inverse: u64,
    /// From this step on time goes by frames.
    free: usize,
    /// How many places there are in a domain of the first level, down to that step; and from there on.
    places: [u64; 2],
    walk: Option<Walk>,
}

/// A level on the way down, and the domain that stands above it.
#[derive(Clone, Copy)]
pub(super) struct Below {
    pub(super) step: usize,
    pub(super) level: usize,
    /// Of the symmetric tree.
    pub(super) degree: Divisor,
    pub(super) parent: usize,
    pub(super) children: u32,
}

/// The permutations on one way from the root down, to be asked level by level.
pub(super) enum Turning<'a> {
    Motr(u64),
    Keyed(Turned<'a>),
}

pub(super) struct Turned<'a> {
    turns: &'a Turns,
    file: u64,
    tile: u64,
    frame: u64,
    /// The domain of the first level.
    first: u64,
    /// Of this round.
    key: u64,
    /// What is left of the turn for levels below; and whether the level above went past its end.
    turn: u32,
    carry: u64,
    walked: Option<Walked<'a>>,
}

impl Turns {
    pub(super) fn new(
        symmetric: Option<&Symmetric>,
        group: u64,
        rows: u64,
        seed: [u64; 2],
    ) -> Turns {
        let degrees = symmetric.map_or(&[][..], Symmetric::degrees);
        let holds_one = |step: &usize| symmetric.is_some_and(|tree| tree.nodes(step - 1) >= group);
        let free = match rows {
            1 => degrees.len(),
            _ => (1..degrees.len()).find(holds_one).unwrap_or(degrees.len()),
        };
        let product = |degrees: &[u32]| degrees.iter().map(|&degree| u64::from(degree)).product();
        let (slow, fast) = degrees.split_at(free);
        let prime = prime_above(degrees.first().copied().unwrap_or(1));
        Turns {
            seed: mix(seed[0]).wrapping_add(mix(seed[1] ^ !0)),
            prime,
            inverse: (1 << 32) / prime,
            free,
            places: [product(slow.get(1..).unwrap_or(&[])), product(fast)],
            walk: symmetric
                .filter(|_| rows == 1)
                .and_then(|tree| Walk::new(tree, group)),
        }
    }

    /// Of a file.
    pub(super) fn key(&self, file: File) -> u64 {
        mix(file_key(self.seed, file.container, file.key))
    }

    pub(super) fn turned(&self, file: File, tile: u64, frame: u64) -> Turned<'_> {
        let file = file_key(self.seed, file.container, file.key);
        Turned {
            turns: self,
            file,
            tile,
            frame,
            first: 0,
            key: 0,
            turn: 0,
            carry: 0,
            walked: self.walk.as_ref().map(|walk| walk.at(file, tile)),
        }
    }
}

impl Turning<'_> {
    /// The child at a place of the symmetric tree.
    pub(super) fn forward(&mut self, below: Below, place: u32) -> u32 {
        match self {
            Turning::Motr(state) => motr::forward(*state, below.children, place),
            Turning::Keyed(turned) => turned.forward(below, place),
        }
    }

    /// The place of a child, which is none if it is not below the degree of the symmetric tree.
    pub(super) fn backward(&mut self, below: Below, child: u32) -> u32 {
        match self {
            Turning::Motr(state) => motr::backward(*state, below.children, child),
            Turning::Keyed(turned) => turned.backward(below, child),
        }
    }

    /// The number by whose digits a unit is found in its row.
    pub(super) fn moved_on(&self, number: u32) -> u32 {
        self.walked()
            .map_or(number, |walked| walked.moved_on(number))
    }

    pub(super) fn moved_off(&self, number: u32) -> u32 {
        self.walked()
            .map_or(number, |walked| walked.moved_off(number))
    }

    /// Where a place inside of a domain of the first level has walked to.
    pub(super) fn walked_on(&self, first: usize, place: u32) -> u32 {
        self.walked()
            .map_or(place, |walked| walked.forward(first, place))
    }

    pub(super) fn walked_back(&self, first: usize, place: u32) -> u32 {
        self.walked()
            .map_or(place, |walked| walked.backward(first, place))
    }

    fn walked(&self) -> Option<&Walked<'_>> {
        match self {
            Turning::Motr(_) => None,
            Turning::Keyed(turned) => turned.walked.as_ref(),
        }
    }
}

impl Turned<'_> {
    fn forward(&mut self, below: Below, place: u32) -> u32 {
        let (key, turn) = self.enter(below);
        let children = u64::from(below.children);
        let sum = u64::from(place) + turn;
        self.carry = (sum >= children).into();
        keyed::forward(key, below.children, (sum - self.carry * children) as u32)
    }

    fn backward(&mut self, below: Below, child: u32) -> u32 {
        let (key, turn) = self.enter(below);
        let stood = u64::from(keyed::backward(key, below.children, child));
        self.carry = (stood < turn).into();
        (stood + self.carry * u64::from(below.children) - turn) as u32
    }

    /// The key of a domain's permutation, and by how much its children are turned.
    fn enter(&mut self, below: Below) -> (u64, u64) {
        let Below {
            step,
            level,
            parent,
            ..
        } = below;
        if let Some(walked) = &self.walked {
            self.carry = 0;
            return walked.enter(below);
        }
        if step == 0 {
            return (
                domain_key(later_key(self.file, self.tile), level, parent),
                0,
            );
        }
        if step == 1 {
            self.first = parent as u64;
        }
        if step == self.turns.free {
            self.start(self.frame, self.turns.places[1]);
        } else if step == 1 {
            self.start(self.tile, self.turns.places[0]);
        }
        let turn;
        (self.turn, turn) = below.degree.divide(self.turn);
        let turn = u64::from(turn) + self.carry;
        (domain_key(self.key, level, parent), turn)
    }

    /// Looks up the round that a tile or a frame is in, and the turn for it.
    fn start(&mut self, time: u64, places: u64) {
        let prime = self.turns.prime;
        self.key = later_key(!self.file, time / prime);
        self.carry = 0;
        let random = mix(self.key ^ self.first);
        let factor = self.first + (((self.key >> 32) * prime) >> 32);
        let factor = if factor < prime {
            factor
        } else {
            factor - prime
        };
        let turned = factor * (time % prime) % prime * self.turns.inverse;
        let part = (turned + (random >> 32)) & 0xffff_ffff;
        self.turn = ((part * places) >> 32) as u32;
    }
}

/// The smallest one, or the largest of 32 bits.
pub(super) fn prime_above(number: u32) -> u64 {
    let is_prime = |number: &u64| {
        let mut factors = (2..).take_while(|factor| factor * factor <= *number);
        factors.all(|factor| number % factor != 0)
    };
    let above = u64::from(number) + 1;
    (above..1 << 32).find(is_prime).unwrap_or(4_294_967_291)
}
