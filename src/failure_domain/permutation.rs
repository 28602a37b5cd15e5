//! Bijections of 0..n, one for each domain of each tile, which say where its children stand in the symmetric tree.
//!
//! `keyed` needs no table: up to 16 children by the transpositions of a shuffle, of which only one element is
//! followed; more by a small Feistel network, walked until it ends inside. Both ways take O(1). `motr` is what Motr
//! computes: a table of n numbers for each tile, decoded once and kept by the thread.

/// Domains up to this size are shuffled.
const SMALL: u64 = 16;
const ROUNDS: u32 = 3;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of the 64-bit numbers in which every bit depends on all (the finalizer of SplitMix64).
pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The key of a domain below the key of its tile.
pub(super) fn domain_key(tile: u64, level: usize, index: usize) -> u64 {
    mix(tile ^ ((level as u64) << 48 | index as u64).wrapping_mul(GOLDEN))
}

pub(super) mod keyed {
    use super::*;

    pub(in super::super) fn forward(key: u64, size: u64, value: u64) -> u64 {
        match size {
            1 => 0,
            2..=SMALL => swaps(key, size)
                .take(size as usize - 1)
                .fold(value, transposed),
            _ => Feistel::new(key, size).walk(value, Feistel::forward),
        }
    }

    pub(in super::super) fn backward(key: u64, size: u64, value: u64) -> u64 {
        match size {
            1 => 0,
            2..=SMALL => {
                let mut all = [(0, 0); SMALL as usize];
                let last = size as usize - 1;
                for (place, swap) in all[..last].iter_mut().zip(swaps(key, size)) {
                    *place = swap;
                }
                all[..last].iter().rev().copied().fold(value, transposed)
            }
            _ => Feistel::new(key, size).walk(value, Feistel::backward),
        }
    }

    /// The swaps of a shuffle: each place with one not after it, last place first. Four of them share a random word.
    fn swaps(key: u64, size: u64) -> impl Iterator<Item = (u64, u64)> {
        let mut word = 0;
        (1..size).rev().enumerate().map(move |(step, place)| {
            word = match step % 4 {
                0 => mix(key.wrapping_add((step as u64 + 1).wrapping_mul(GOLDEN))),
                _ => word >> 16,
            };
            (place, (word & 0xffff) * (place + 1) >> 16)
        })
    }

    fn transposed(value: u64, (one, other): (u64, u64)) -> u64 {
        if value == one {
            other
        } else if value == other {
            one
        } else {
            value
        }
    }

    /// A bijection of as few bits as hold `size`; less than half of its values are outside.
    struct Feistel {
        key: u64,
        size: u64,
        low: u32,
        low_mask: u64,
        high_mask: u64,
    }

    impl Feistel {
        fn new(key: u64, size: u64) -> Feistel {
            let bits = u64::BITS - (size - 1).leading_zeros();
            let low = bits / 2;
            Feistel {
                key,
                size,
                low,
                low_mask: (1 << low) - 1,
                high_mask: (1 << (bits - low)) - 1,
            }
        }

        fn walk(&self, value: u64, step: impl Fn(&Feistel, u64) -> u64) -> u64 {
            let mut value = step(self, value);
            while value >= self.size {
                value = step(self, value);
            }
            value
        }

        fn forward(&self, value: u64) -> u64 {
            let (mut high, mut low) = (value >> self.low, value & self.low_mask);
            for round in 0..ROUNDS {
                high ^= self.scramble(2 * round, low) & self.high_mask;
                low ^= self.scramble(2 * round + 1, high) & self.low_mask;
            }
            high << self.low | low
        }

        fn backward(&self, value: u64) -> u64 {
            let (mut high, mut low) = (value >> self.low, value & self.low_mask);
            for round in (0..ROUNDS).rev() {
                low ^= self.scramble(2 * round + 1, high) & self.low_mask;
                high ^= self.scramble(2 * round, low) & self.high_mask;
            }
            high << self.low | low
        }

        fn scramble(&self, round: u32, half: u64) -> u64 {
            let value = (half + 1).wrapping_mul(self.key.rotate_left(round * 11) | 1);
            (value ^ (value >> 29)).wrapping_mul(GOLDEN) >> 32
        }
    }
}

pub(super) mod motr {
    use hashbrown::HashMap;
    use std::cell::RefCell;

    /// The largest number of children whose permutation Motr gets right.
    pub(in super::super) const MOST: usize = 65535;
    /// How many numbers a thread keeps before it starts anew.
    const KEPT: usize = 1 << 21;

    struct Decoded {
        state: u64,
        forward: Vec<u32>,
        backward: Vec<u32>,
    }

    #[derive(Default)]
    struct Cache {
        /// By size: the tile that was used last.
        decoded: HashMap<u32, Decoded, foldhash::fast::FixedState>,
        kept: usize,
    }

    thread_local! {
        static CACHE: RefCell<Cache> = RefCell::default();
    }

    fn hash(value: u64) -> u64 {
        value.wrapping_mul(0x9e37_ffff_fffc_0001)
    }

    /// What the permutations of a tile start from.
    pub(in super::super) fn state(seed: [u64; 2], container: u64, key: u64, tile: u64) -> u64 {
        let tile = seed[1].wrapping_add(tile).wrapping_add(container);
        hash(seed[0].wrapping_add(key)) ^ hash(tile)
    }

    pub(in super::super) fn forward(state: u64, size: u32, value: u32) -> u32 {
        with(state, size, |decoded| decoded.forward[value as usize])
    }

    pub(in super::super) fn backward(state: u64, size: u32, value: u32) -> u32 {
        with(state, size, |decoded| decoded.backward[value as usize])
    }

    fn with<T>(state: u64, size: u32, look: impl FnOnce(&Decoded) -> T) -> T {
        CACHE.with(|cache| {
            let cache = &mut *cache.borrow_mut();
            if let Some(decoded) = cache.decoded.get_mut(&size) {
                if decoded.state != state {
                    decoded.decode(state);
                }
                return look(decoded);
            }
            if cache.kept > KEPT {
                *cache = Cache::default();
            }
            cache.kept += 2 * size as usize;
            let decoded = cache.decoded.entry(size).or_insert_with(|| Decoded {
                state,
                forward: vec![0; size as usize],
                backward: vec![0; size as usize],
            });
            decoded.decode(state);
            look(decoded)
        })
    }

    impl Decoded {
        /// Draws a Lehmer code and decodes it: place i gets the code's i-th number among those still free.
        fn decode(&mut self, state: u64) {
            self.state = state;
            let size = self.forward.len();
            let mut free = Free::all(size);
            let mut random = state;
            for place in 0..size {
                let number = free.take(draw(&mut random, (size - place) as u64) as usize);
                self.forward[place] = number as u32;
                self.backward[number] = place as u32;
            }
        }
    }

    /// Below `limit`; Motr's own may, once in 2^48 draws, be `limit`.
    fn draw(random: &mut u64, limit: u64) -> u64 {
        *random = random.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb);
        let drawn = (*random >> 16) * limit / ((1 << 48) - 1);
        drawn.min(limit - 1)
    }

    /// The numbers 0..n that are still free, in a Fenwick tree of counts.
    struct Free {
        counts: Vec<u32>,
        top: usize,
    }

    impl Free {
        fn all(size: usize) -> Free {
            let lowest_bit = |place: usize| (place & place.wrapping_neg()) as u32;
            Free {
                counts: (0..=size).map(lowest_bit).collect(),
                top: size.checked_ilog2().map_or(0, |bits| 1 << bits),
            }
        }

        /// Takes the free number that has `rank` free ones before it.
        fn take(&mut self, rank: usize) -> usize {
            let (mut place, mut rank, mut step) = (0, rank as u32, self.top);
            while step > 0 {
                let next = place + step;
                if next < self.counts.len() {
                    if self.counts[next] <= rank {
                        place = next;
                        rank -= self.counts[next];
                    } else {
                        self.counts[next] -= 1;
                    }
                }
                step /= 2;
            }
            place
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn permutations_are_those_of_motr() {
            assert_eq!(hash(1), 0x9e37_ffff_fffc_0001);
            let of = |tile| -> Vec<u32> {
                let state = state([0, 0], 7, 9, tile);
                (0..8).map(|value| forward(state, 8, value)).collect()
            };
            assert_eq!(of(0), [3, 1, 0, 5, 4, 6, 2, 7]);
            assert_eq!(of(1), [3, 7, 2, 6, 1, 5, 4, 0]);
        }

        #[test]
        fn large_permutations_are_decoded_as_small_ones() {
            let mut free = Free::all(1000);
            let mut slow: Vec<usize> = (0..1000).collect();
            let mut random = 5;
            for left in (1..=1000).rev() {
                let rank = draw(&mut random, left) as usize;
                assert_eq!(free.take(rank), slow.remove(rank));
            }
        }

        #[test]
        fn a_thread_keeps_a_bounded_number_of_tables() {
            for size in 1..=3000 {
                assert_eq!(backward(9, size, forward(9, size, size / 2)), size / 2);
            }
            CACHE.with(|cache| assert!(cache.borrow().kept <= KEPT + 6000));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyed_ones_are_bijections_with_their_inverse() {
        for size in (1..70).chain([100, 127, 128, 129, 1000]) {
            for key in (0..20).map(mix) {
                let mut seen = vec![false; size as usize];
                for value in 0..size {
                    let there = keyed::forward(key, size, value);
                    assert!(!std::mem::replace(&mut seen[there as usize], true));
                    assert_eq!(keyed::backward(key, size, there), value);
                }
            }
        }
        let size = u64::from(u32::MAX);
        for value in [0, 1, size / 2, size - 1] {
            assert_eq!(
                keyed::backward(7, size, keyed::forward(7, size, value)),
                value
            );
        }
    }

    /// How often each pair of values goes to each pair of places.
    #[test]
    fn pairs_go_everywhere_alike() {
        for size in [2, 3, 4, 7, 16, 17, 24, 60] {
            let rounds = 300 * size * (size - 1);
            let mut counts = vec![0_u64; (size * size) as usize];
            for key in 0..rounds {
                let of = |value| keyed::forward(domain_key(mix(key), 1, 3), size, value);
                counts[(of(0) * size + of(size - 1)) as usize] += 1;
            }
            for (cell, &count) in counts.iter().enumerate() {
                let wanted = match cell as u64 / size == cell as u64 % size {
                    true => 0..1,
                    false => 200..400,
                };
                assert!(wanted.contains(&count), "{size}: {cell} {count}");
            }
        }
    }
}
