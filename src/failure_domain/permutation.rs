//! Permutations of 0..n, one for each domain of each tile: they assign the children of a domain to the positions of the
//! symmetric tree.
//!
//! `keyed` takes O(1) both ways. Up to 16 children use one of 256 precomputed permutations, rotated before and after;
//! more use a Feistel network with cycle walking (applied again until the result is below n). `motr` reproduces Motr's:
//! a table of n numbers for each tile, decoded on first use and cached per thread.

/// Up to this many children, permutations are precomputed.
const SMALL: u32 = 16;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Odd constants from the digits of the golden ratio, e, pi, and the square roots of 2, 3 and 5.
const KEYS: [u64; 6] = [
    GOLDEN,
    0xadf8_5458_a2bb_4a9b,
    0xc90f_daa2_2168_c235,
    0xb504_f333_f9de_6485,
    0xddb3_d742_c265_539d,
    0x8f1b_bcdc_bfa5_3e0b,
];

/// The finalizer of SplitMix64: a bijection in which every output bit depends on every input bit.
pub(super) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The key of a file.
pub(super) fn file_key(seed: u64, container: u64, key: u64) -> u64 {
    let parts = container.wrapping_mul(KEYS[0]);
    seed.wrapping_add(parts)
        .wrapping_add(key.wrapping_mul(KEYS[1]))
}

/// The key of a tile or of a round of tiles, derived from that of its file.
pub(super) fn tile_key(file: u64, number: u64) -> u64 {
    mix(file.wrapping_add(number.wrapping_mul(KEYS[2])))
}

/// The key of a domain, derived from that of its tile.
pub(super) fn domain_key(tile: u64, level: usize, index: usize) -> u64 {
    mix(tile ^ ((level as u64) << 48 | index as u64).wrapping_mul(GOLDEN))
}

pub(super) mod keyed {
    use super::*;

    pub(in super::super) fn forward(key: u64, size: u32, value: u32) -> u32 {
        match size {
            0..=SMALL => SmallPermutation::new(key, size).forward(value),
            _ => Feistel::new(key, size).walk(value, Feistel::forward),
        }
    }

    pub(in super::super) fn backward(key: u64, size: u32, value: u32) -> u32 {
        match size {
            0..=SMALL => SmallPermutation::new(key, size).backward(value),
            _ => Feistel::new(key, size).walk(value, Feistel::backward),
        }
    }

    /// Precomputed permutations of each size.
    const PRECOMPUTED: usize = 256;
    static PERMUTATIONS: [[PackedPermutation; PRECOMPUTED]; SMALL as usize + 1] =
        all_permutations();

    /// A permutation and its inverse: the image of i is in bits 4 i to 4 i + 3.
    #[derive(Clone, Copy)]
    struct PackedPermutation {
        forward: u64,
        backward: u64,
    }

    const fn all_permutations() -> [[PackedPermutation; PRECOMPUTED]; SMALL as usize + 1] {
        let none = PackedPermutation {
            forward: 0,
            backward: 0,
        };
        let mut all = [[none; PRECOMPUTED]; SMALL as usize + 1];
        let mut size = 0;
        while size < all.len() {
            let mut number = 0;
            while number < PRECOMPUTED {
                all[size][number] = shuffle(size, (size * PRECOMPUTED + number) as u64);
                number += 1;
            }
            size += 1;
        }
        all
    }

    /// A Fisher-Yates shuffle.
    const fn shuffle(size: usize, seed: u64) -> PackedPermutation {
        let mut values = [0; SMALL as usize];
        let mut packed = PackedPermutation {
            forward: 0,
            backward: 0,
        };
        let mut random = mix(GOLDEN ^ seed);
        let mut left = size;
        // `values` records only positions that were swapped: see `value_at`.
        while left > 0 {
            left -= 1;
            random = mix(random.wrapping_add(GOLDEN));
            let other = (((random >> 32) * (left as u64 + 1)) >> 32) as usize;
            let value = value_at(&values, other);
            values[other] = value_at(&values, left) + 1;
            packed.forward |= (value as u64) << (4 * left);
            packed.backward |= (left as u64) << (4 * value);
        }
        packed
    }

    /// Entries hold the value plus one; 0 means that the position still has its own value.
    const fn value_at(values: &[usize], place: usize) -> usize {
        match values[place] {
            0 => place,
            kept => kept - 1,
        }
    }

    /// A precomputed permutation, rotated by `before` first and by `after` last.
    struct SmallPermutation {
        packed: PackedPermutation,
        size: u32,
        before: u32,
        after: u32,
    }

    impl SmallPermutation {
        /// `size` is at most SMALL.
        fn new(key: u64, size: u32) -> SmallPermutation {
            let part = |bits: u64| (((bits & 0xffff) * u64::from(size)) >> 16) as u32;
            SmallPermutation {
                packed: PERMUTATIONS[size.min(SMALL) as usize][(key >> 48) as usize % PRECOMPUTED],
                size,
                before: part(key),
                after: part(key >> 16),
            }
        }

        fn forward(&self, value: u32) -> u32 {
            let value = add_modulo(value, self.before, self.size);
            let value = (self.packed.forward >> (4 * value)) as u32 % SMALL;
            add_modulo(value, self.after, self.size)
        }

        fn backward(&self, value: u32) -> u32 {
            let value = add_modulo(value, self.size - self.after, self.size);
            let value = (self.packed.backward >> (4 * value)) as u32 % SMALL;
            add_modulo(value, self.size - self.before, self.size)
        }
    }

    /// A Feistel network on pairs (high, low). Their number is `size` or slightly more. Rounds alternate: each adds a
    /// pseudo-random function of one half to the other.
    struct Feistel {
        keys: [u64; KEYS.len()],
        size: u32,
        /// The number of values of each half.
        high: u32,
        low: u32,
        /// The width of the lower half.
        bits: u32,
    }

    impl Feistel {
        fn new(key: u64, size: u32) -> Feistel {
            let bits = size.ilog2().div_ceil(2);
            let low = 1 << bits;
            Feistel {
                keys: KEYS.map(|factor| mix_lightly(key, factor)),
                size,
                high: size.div_ceil(low),
                low,
                bits,
            }
        }

        /// Cycle walking: repeats the step until the value is below `size`.
        fn walk(&self, value: u32, step: impl Fn(&Feistel, u32) -> u32) -> u32 {
            let mut value = step(self, value);
            while value >= self.size {
                value = step(self, value);
            }
            value
        }

        fn forward(&self, value: u32) -> u32 {
            let (mut high, mut low) = (value >> self.bits, value & (self.low - 1));
            for keys in self.keys.chunks_exact(2) {
                high = add_modulo(high, scramble(keys[0], low, self.high), self.high);
                low = add_modulo(low, scramble(keys[1], high, self.low), self.low);
            }
            high << self.bits | low
        }

        fn backward(&self, value: u32) -> u32 {
            let (mut high, mut low) = (value >> self.bits, value & (self.low - 1));
            for keys in self.keys.rchunks_exact(2) {
                let back = scramble(keys[1], high, self.low);
                low = add_modulo(low, self.low - back, self.low);
                let back = scramble(keys[0], low, self.high);
                high = add_modulo(high, self.high - back, self.high);
            }
            high << self.bits | low
        }
    }

    fn mix_lightly(key: u64, factor: u64) -> u64 {
        let value = key.wrapping_mul(factor);
        (value ^ (value >> 32)) | 1
    }

    /// A pseudo-random number below `limit`.
    fn scramble(key: u64, value: u32, limit: u32) -> u32 {
        let product = (u64::from(value) + 1).wrapping_mul(key);
        let bits = (product ^ (product >> 32)).wrapping_mul(GOLDEN) >> 32;
        ((bits * u64::from(limit)) >> 32) as u32
    }

    /// (value + by) modulo `limit`, for `by` up to `limit`.
    fn add_modulo(value: u32, by: u32, limit: u32) -> u32 {
        let moved = u64::from(value) + u64::from(by);
        let limit = u64::from(limit);
        (if moved >= limit { moved - limit } else { moved }) as u32
    }
}

pub(super) mod motr {
    use hashbrown::HashMap;
    use std::cell::RefCell;

    /// The largest number of children whose permutation Motr gets right.
    pub(in super::super) const MOST: usize = 65535;
    /// A thread's cache is emptied when it holds more numbers than this.
    const MOST_CACHED: usize = 1 << 21;

    struct DecodedPermutation {
        state: u64,
        forward: Vec<u32>,
        backward: Vec<u32>,
    }

    #[derive(Default)]
    struct PermutationCache {
        /// For each size: the permutation used last.
        decoded: HashMap<u32, DecodedPermutation, foldhash::fast::FixedState>,
        cached: usize,
    }

    thread_local! {
        static CACHE: RefCell<PermutationCache> = RefCell::default();
    }

    fn hash(value: u64) -> u64 {
        value.wrapping_mul(0x9e37_ffff_fffc_0001)
    }

    /// The initial state of the random numbers of a tile.
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

    fn with<T>(state: u64, size: u32, look: impl FnOnce(&DecodedPermutation) -> T) -> T {
        CACHE.with(|cache| {
            let cache = &mut *cache.borrow_mut();
            if let Some(decoded) = cache.decoded.get_mut(&size) {
                if decoded.state != state {
                    decoded.decode(state);
                }
                return look(decoded);
            }
            if cache.cached > MOST_CACHED {
                *cache = PermutationCache::default();
            }
            cache.cached += 2 * size as usize;
            let decoded = cache
                .decoded
                .entry(size)
                .or_insert_with(|| DecodedPermutation {
                    state,
                    forward: vec![0; size as usize],
                    backward: vec![0; size as usize],
                });
            decoded.decode(state);
            look(decoded)
        })
    }

    impl DecodedPermutation {
        /// Draws a Lehmer code and decodes it: its i-th number selects the image of i among the numbers still free.
        fn decode(&mut self, state: u64) {
            self.state = state;
            let size = self.forward.len();
            let mut free = FreeNumbers::all(size);
            let mut random = state;
            for place in 0..size {
                let number = free.take(draw(&mut random, (size - place) as u64) as usize);
                self.forward[place] = number as u32;
                self.backward[number] = place as u32;
            }
        }
    }

    /// A random number below `limit`. Motr's own function returns `limit` itself once in 2^48 draws.
    fn draw(random: &mut u64, limit: u64) -> u64 {
        *random = random.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb);
        let drawn = (*random >> 16) * limit / ((1 << 48) - 1);
        drawn.min(limit - 1)
    }

    /// The numbers of 0..n that are still free, counted in a Fenwick tree.
    struct FreeNumbers {
        counts: Vec<u32>,
        top: usize,
    }

    impl FreeNumbers {
        fn all(size: usize) -> FreeNumbers {
            let lowest_bit = |place: usize| (place & place.wrapping_neg()) as u32;
            FreeNumbers {
                counts: (0..=size).map(lowest_bit).collect(),
                top: size.checked_ilog2().map_or(0, |bits| 1 << bits),
            }
        }

        /// Removes and returns the free number with `rank` free ones below it.
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
            let mut free = FreeNumbers::all(1000);
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
            CACHE.with(|cache| assert!(cache.borrow().cached <= MOST_CACHED + 6000));
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
        let size = u32::MAX;
        for value in [0, 1, size / 2, size - 1] {
            assert_eq!(
                keyed::backward(7, size, keyed::forward(7, size, value)),
                value
            );
        }
    }

    /// Counts how often a pair of values maps to each pair of positions.
    #[test]
    fn pairs_go_everywhere_alike() {
        for size in [2, 3, 4, 7, 8, 9, 10, 13, 16, 17, 24, 40] {
            for (one, other) in [(0, size - 1), (size / 2, size / 2 - 1)] {
                let mut counts = vec![0_u32; (size * size) as usize];
                for key in 0..200 * size * (size - 1) {
                    let key = domain_key(mix(key.into()), 1, 3);
                    let of = |value| keyed::forward(key, size, value);
                    counts[(of(one) * size + of(other)) as usize] += 1;
                }
                for (cell, &count) in counts.iter().enumerate() {
                    let wanted = match cell as u32 / size == cell as u32 % size {
                        true => 0..1,
                        false => 100..300,
                    };
                    assert!(wanted.contains(&count), "{size}: {cell} {count}");
                }
            }
        }
    }
}
