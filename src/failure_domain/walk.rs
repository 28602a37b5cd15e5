//! Places that walk around in a domain of the first level, so that any two targets of different such domains share a
//! group equally often.
//!
//! What two targets have in common depends on two things: by how much their places differ, and where the groups begin
//! between them. Tiles are therefore counted in three ways. In a round of p tiles, p a prime, domain r has walked r t
//! p-th parts of its places in tile t, so that the difference of two domains takes each value once. A further round
//! starts one part later, until groups have begun everywhere: these rounds are a block, in which nothing else
//! changes. The next block takes the places in steps of another width, which brings others together inside of a domain.
//! When all widths were used, the children of all domains are shuffled anew. Neither turning all places nor such a
//! width changes how many of the units that follow each other are in a domain further down.
//!
//! In a block the domains of the first level keep their order. So that parity does not stay in some of them, all units of a
//! tile are moved on by as many places as the round has had tiles.

use super::Symmetric;
use super::layout::greatest_common_divisor;
use super::permutation::{domain_key, later_key, mix};
use super::turns::{Below, prime_above};

/// With more places a round would be longer than many files.
const MOST_PLACES: u64 = 256;
const MOST_WIDTHS: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Walk {
    targets: u32,
    /// Of a domain.
    places: u32,
    prime: u32,
    /// Of a block.
    rounds: u32,
    /// Widths of steps, and by what each is undone.
    widths: Vec<[u32; 2]>,
}

/// A tile of a file.
pub(super) struct Walked<'a> {
    walk: &'a Walk,
    tile: u64,
    /// In the round, and the round in the block.
    step: u32,
    round: u32,
    width: [u32; 2],
    /// Of the block, and of all blocks until children are shuffled anew.
    block: u64,
    blocks: u64,
}

impl Walk {
    /// For tiles of one row. There is none for many places, where domains have fewer places than there are domains, and
    /// where not all of these take part in a group.
    pub(super) fn new(tree: &Symmetric, group: u64) -> Option<Walk> {
        let domains = tree.nodes(0);
        let places = tree.targets() / domains;
        if places > MOST_PLACES || !(2..=places.min(group)).contains(&domains) {
            return None;
        }
        let inverse = |width| (1..places).find(|other| width * other % places == 1);
        let widths =
            (1..=places / 2).filter_map(|width| Some([width as u32, inverse(width)? as u32]));
        let widths: Vec<_> = widths.take(MOST_WIDTHS).collect();
        Some(Walk {
            targets: tree.targets() as u32,
            places: places as u32,
            prime: prime_above(domains as u32 - 1) as u32,
            rounds: (group / greatest_common_divisor(domains, group)) as u32,
            widths: if widths.is_empty() {
                vec![[1, 1]]
            } else {
                widths
            },
        })
    }

    pub(super) fn at(&self, file: u64, tile: u64) -> Walked<'_> {
        let (round, step) = (tile / u64::from(self.prime), tile % u64::from(self.prime));
        let (block, round) = (
            round / u64::from(self.rounds),
            round % u64::from(self.rounds),
        );
        let widths = self.widths.len() as u64;
        Walked {
            walk: self,
            tile,
            step: step as u32,
            round: round as u32,
            width: self.widths[(block % widths) as usize],
            block: later_key(file, block),
            blocks: later_key(!file, block / widths),
        }
    }
}

impl Walked<'_> {
    /// The key of a domain's permutation, and by how much its children are turned: so that all are used alike, if there
    /// are more than places.
    pub(super) fn enter(&self, below: Below) -> (u64, u64) {
        let key = if below.step == 0 {
            self.block
        } else {
            self.blocks
        };
        let turn = match below.children == below.degree.value() {
            true => 0,
            false => self.tile % u64::from(below.children),
        };
        (domain_key(key, below.level, below.parent), turn)
    }

    /// Where a unit of a tile begins to be looked for.
    pub(super) fn moved_on(&self, number: u32) -> u32 {
        let number = number + self.step;
        match number.checked_sub(self.walk.targets) {
            Some(around) => around,
            None => number,
        }
    }

    pub(super) fn moved_off(&self, number: u32) -> u32 {
        match number.checked_sub(self.step) {
            Some(number) => number,
            None => number + self.walk.targets - self.step,
        }
    }

    pub(super) fn forward(&self, first: usize, place: u32) -> u32 {
        let places = self.walk.places;
        (place + self.by(first)) * self.width[0] % places
    }

    pub(super) fn backward(&self, first: usize, place: u32) -> u32 {
        let places = self.walk.places;
        (place * self.width[1] + places - self.by(first)) % places
    }

    /// How far a domain of the first level has walked, which is less than once around.
    fn by(&self, first: usize) -> u32 {
        let prime = self.walk.prime;
        let start = mix(self.block ^ first as u64) >> 32;
        let factor = first as u32 + part_of(prime, self.block);
        let parts = u64::from((factor * self.step + self.round) % prime);
        part_of(
            self.walk.places,
            ((parts << 32) / u64::from(prime) + start) << 32,
        )
    }
}

/// A number below `limit`, from a random one.
fn part_of(limit: u32, random: u64) -> u32 {
    (((random >> 32) * u64::from(limit)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk() -> Walk {
        Walk::new(&Symmetric::new(&[6, 4, 4]).unwrap(), 8).unwrap()
    }

    #[test]
    fn places_are_left_and_found_again() {
        let walk = walk();
        for tile in (0..600).chain([u64::MAX]) {
            let walked = walk.at(5, tile);
            for first in 0..6 {
                let mut seen = [false; 16];
                for place in 0..16 {
                    let there = walked.forward(first, place);
                    assert!(!std::mem::replace(&mut seen[there as usize], true));
                    assert_eq!(walked.backward(first, there), place);
                }
            }
        }
    }

    #[test]
    fn two_domains_never_differ_by_the_same_in_a_round() {
        let walk = walk();
        assert_eq!((walk.prime, walk.rounds), (7, 4));
        for (one, other) in [(0, 1), (0, 5), (2, 4)] {
            let differences = (3 * 7..4 * 7).map(|tile| {
                let walked = walk.at(5, tile);
                (walked.by(one) + 16 - walked.by(other)) % 16
            });
            let differences: std::collections::HashSet<u32> = differences.collect();
            assert_eq!(differences.len(), 7);
        }
    }

    /// Units of a group that are in one rack stand in places that follow each other.
    #[test]
    fn places_that_follow_each_other_stay_in_different_domains() {
        let walk = walk();
        for tile in 0..600 {
            let walked = walk.at(5, tile);
            for start in 0..16 {
                let places = (start..start + 4).map(|place| walked.forward(3, place % 16) % 4);
                let below: std::collections::HashSet<u32> = places.collect();
                assert_eq!(below.len(), 4, "{tile} {start}");
            }
        }
    }

    #[test]
    fn others_are_neighbours_in_every_block() {
        let walk = walk();
        let widths: Vec<u32> = walk.widths.iter().map(|width| width[0]).collect();
        assert_eq!(widths, [1, 3, 5, 7]);
    }

    #[test]
    fn not_where_rounds_would_be_long_or_domains_meet_seldom() {
        let walks =
            |degrees: &[u32], group| Walk::new(&Symmetric::new(degrees).unwrap(), group).is_some();
        assert!(walks(&[4, 3, 4], 8));
        assert!(!walks(&[8, 2, 2], 8));
        assert!(!walks(&[6, 4, 4], 4));
        assert!(!walks(&[6, 20, 20], 8));
    }
}
