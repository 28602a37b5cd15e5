//! Random numbers that depend on nothing but their seed.

pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit.max(1) as u64) as usize
    }

    /// From `first` to `last`, both included.
    pub fn within(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last + 1 - first)
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn any<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Below `limit`; small numbers are as likely as large ones.
    pub fn depth(&mut self, limit: usize) -> usize {
        let scale = self.within(1, limit.max(1));
        self.below(scale)
    }
}

/// A number that follows from others, with no visible pattern.
pub fn hash(of: &[u64]) -> u64 {
    of.iter().fold(0x5EED, |all, part| mix(all ^ mix(*part)))
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// `length` bytes that follow from numbers.
pub fn bytes(of: &[u64], length: usize) -> Vec<u8> {
    let mut chance = Chance::new(hash(of));
    (0..length).map(|_| chance.number() as u8).collect()
}
