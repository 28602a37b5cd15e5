//! Plain 64-bit arithmetic, for a CPU without any of the instruction sets that the others need.

use super::Kernel;
use super::sweep::{self, Factor, Vector};
use super::tables::bit_products;

pub(super) const PORTABLE: Kernel = Kernel {
    name: "portable",
    runs_here: || true,
    combine: sweep::combine::<u64, BitProducts>,
    xor: sweep::xor::<u64>,
};

impl Vector for u64 {
    const BYTES: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> Self {
        0
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: promised by the caller.
        unsafe { from.cast::<u64>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { to.cast::<u64>().write_unaligned(self) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }
}

#[derive(Clone, Copy)]
struct BitProducts([u8; 8]);

impl Factor<u64> for BitProducts {
    #[inline(always)]
    fn of(coefficient: u8) -> Self {
        Self(bit_products(coefficient))
    }

    #[inline(always)]
    unsafe fn times(&self, bytes: u64) -> u64 {
        const LOWEST_BITS: u64 = 0x0101_0101_0101_0101;
        let mut sum = 0;
        for (bit, product) in self.0.into_iter().enumerate() {
            // Bytes of 0 or 1 times a byte: nothing carries over into the next byte.
            sum ^= ((bytes >> bit) & LOWEST_BITS) * u64::from(product);
        }
        sum
    }
}
