//! Division of many numbers by one divisor: a multiplication by its precomputed reciprocal.

#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    value: u32,
    /// ceil(2^64 / value); 0 stands for 2^64, the reciprocal of 1.
    inverse: u64,
}

impl Divisor {
    /// `value` must not be 0.
    pub(super) fn new(value: u32) -> Divisor {
        Divisor {
            value,
            inverse: (u64::MAX / u64::from(value)).wrapping_add(1),
        }
    }

    pub(super) fn value(self) -> u32 {
        self.value
    }

    /// Quotient and remainder, exact for all 32-bit numbers.
    pub(super) fn divide(self, number: u32) -> (u32, u32) {
        let product = u128::from(number) * u128::from(self.inverse);
        let quotient = match self.inverse {
            0 => number,
            _ => (product >> 64) as u32,
        };
        (quotient, number - quotient * self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        let edges = |number: u32| [number.saturating_sub(1), number, number.saturating_add(1)];
        let powers = (0..32).flat_map(|bits| edges(1 << bits));
        let numbers: Vec<u32> = powers
            .chain(edges(u32::MAX))
            .chain(edges(1_000_003))
            .collect();
        for &value in numbers.iter().filter(|value| **value > 0) {
            let divisor = Divisor::new(value);
            for number in numbers.iter().copied().chain(edges(value.wrapping_mul(7))) {
                assert_eq!(divisor.divide(number), (number / value, number % value));
            }
        }
    }
}
