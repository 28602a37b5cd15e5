//! Bijections of 0..n, one for each domain of each tile, which say where its children stand in the symmetric tree.
//!
//! `keyed` takes O(1) both ways: up to 16 children by one of some shuffles that were drawn beforehand, turned before and
//! after; more by a small Feistel network, walked until it ends inside. `motr` is what Motr computes: a table of n
//! numbers for each tile, decoded once and kept by the thread.

/// Up to so many children are shuffled.
const SMALL: u32 = 16;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Odd numbers without a pattern: from the digits of the golden ratio, e, pi, and the square roots of 2, 3 and 5.
const KEYS: [u64; 6] = [
    GOLDEN,
    0xadf8_5458_a2bb_4a9b,
    0xc90f_daa2_2168_c235,
    0xb504_f333_f9de_6485,
    0xddb3_d742_c265_539d,
    0x8f1b_bcdc_bfa5_3e0b,
];

/// A bijection of the 64-bit numbers in which every bit depends on all (the finalizer of SplitMix64).
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

/// The key of a tile, or of a round of them, below the key of its file.
pub(super) fn later_key(file: u64, number: u64) -> u64 {
    mix(file.wrapping_add(number.wrapping_mul(KEYS[2])))
}

/// The key of a domain below the key of its tile.
pub(super) fn domain_key(tile: u64, level: usize, index: usize) -> u64 {
    mix(tile ^ ((level as u64) << 48 | index as u64).wrapping_mul(GOLDEN))
}

pub(super) mod keyed {
    use super::*;

    pub(in super::super) fn forward(key: u64, size: u32, value: u32) -> u32 {
        match size {
            0..=SMALL => Shuffle::new(key, size).forward(value),
            _ => Feistel::new(key, size).walk(value, Feistel::forward),
        }
    }

    pub(in super::super) fn backward(key: u64, size: u32, value: u32) -> u32 {
        match size {
            0..=SMALL => Shuffle::new(key, size).backward(value),
            _ => Feistel::new(key, size).walk(value, Feistel::backward),
        }
    }

    /// How many there are of each size.
    const DRAWN: usize = 256;
    static SHUFFLES: [[Drawn; DRAWN]; SMALL as usize + 1] = all_shuffles();

    /// Number i has bits 4 i and up; and the other way around.
    #[derive(Clone, Copy)]
    struct Drawn {
        forward: u64,
        backward: u64,
    }

    const fn all_shuffles() -> [[Drawn; DRAWN]; SMALL as usize + 1] {
        let none = Drawn {
            forward: 0,
            backward: 0,
        };
        let mut all = [[none; DRAWN]; SMALL as usize + 1];
        let mut size = 0;
        while size < all.len() {
            let mut number = 0;
            while number < DRAWN {
                all[size][number] = shuffle(size, (size * DRAWN + number) as u64);
                number += 1;
            }
            size += 1;
        }
        all
    }

    /// Swaps each place with one that is not after it, the last place first.
    const fn shuffle(size: usize, seed: u64) -> Drawn {
        let mut values = [0; SMALL as usize];
        let mut drawn = Drawn {
            forward: 0,
            backward: 0,
        };
        let mut random = mix(GOLDEN ^ seed);
        let mut left = size;
        // Values are put in as they are swapped to the end; a place that nothing was swapped to has its own.
        while left > 0 {
            left -= 1;
            random = mix(random.wrapping_add(GOLDEN));
            let other = (((random >> 32) * (left as u64 + 1)) >> 32) as usize;
            let value = value_at(&values, other);
            values[other] = value_at(&values, left) + 1;
            drawn.forward |= (value as u64) << (4 * left);
            drawn.backward |= (left as u64) << (4 * value);
        }
        drawn
    }

    /// One more than the value is kept, 0 for the place's own.
    const fn value_at(values: &[usize], place: usize) -> usize {
        match values[place] {
            0 => place,
            kept => kept - 1,
        }
    }

    struct Shuffle {
        drawn: Drawn,
        size: u32,
        before: u32,
        after: u32,
    }

    impl Shuffle {
        /// `size` is at most SMALL.
        fn new(key: u64, size: u32) -> Shuffle {
            let part = |bits: u64| (((bits & 0xffff) * u64::from(size)) >> 16) as u32;
            Shuffle {
                drawn: SHUFFLES[size.min(SMALL) as usize][(key >> 48) as usize % DRAWN],
                size,
                before: part(key),
                after: part(key >> 16),
            }
        }

        fn forward(&self, value: u32) -> u32 {
            let value = moved_on(value, self.before, self.size);
            let value = (self.drawn.forward >> (4 * value)) as u32 % SMALL;
            moved_on(value, self.after, self.size)
        }

        fn backward(&self, value: u32) -> u32 {
            let value = moved_on(value, self.size - self.after, self.size);
            let value = (self.drawn.backward >> (4 * value)) as u32 % SMALL;
            moved_on(value, self.size - self.before, self.size)
        }
    }

    /// A bijection of pairs, of which there are as many as `size` or a few more. In turns, one half is moved on by a
    /// random function of the other.
    struct Feistel {
        keys: [u64; KEYS.len()],
        size: u32,
        /// How many values each half has; and the bits of the lower one.
        high: u32,
        low: u32,
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
                high = moved_on(high, scramble(keys[0], low, self.high), self.high);
                low = moved_on(low, scramble(keys[1], high, self.low), self.low);
            }
            high << self.bits | low
        }

        fn backward(&self, value: u32) -> u32 {
            let (mut high, mut low) = (value >> self.bits, value & (self.low - 1));
            for keys in self.keys.rchunks_exact(2) {
                let back = scramble(keys[1], high, self.low);
                low = moved_on(low, self.low - back, self.low);
                let back = scramble(keys[0], low, self.high);
                high = moved_on(high, self.high - back, self.high);
            }
            high << self.bits | low
        }
    }

    fn mix_lightly(key: u64, factor: u64) -> u64 {
        let value = key.wrapping_mul(factor);
        (value ^ (value >> 32)) | 1
    }

    /// Below `limit`, and random in both numbers.
    fn scramble(key: u64, value: u32, limit: u32) -> u32 {
        let product = (u64::from(value) + 1).wrapping_mul(key);
        let bits = (product ^ (product >> 32)).wrapping_mul(GOLDEN) >> 32;
        ((bits * u64::from(limit)) >> 32) as u32
    }

    /// By up to `limit`, around.
    fn moved_on(value: u32, by: u32, limit: u32) -> u32 {
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
        let size = u32::MAX;
        for value in [0, 1, size / 2, size - 1] {
            assert_eq!(
                keyed::backward(7, size, keyed::forward(7, size, value)),
                value
            );
        }
    }

    /// How often a pair of values goes to each pair of places.
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
