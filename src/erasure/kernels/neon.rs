//! AArch64: table lookup in nibbles. Every CPU of this architecture has NEON.

use std::arch::aarch64::*;

use super::Kernel;
use super::sweep::{self, Factor, Job, Vector};
use super::tables::{NIBBLE_PRODUCTS, NibbleProducts};

pub(super) const NEON: Kernel = Kernel {
    name: "neon",
    runs_here: || std::arch::is_aarch64_feature_detected!("neon"),
    combine: combine_neon,
    xor: xor_neon,
};

/// # Safety
/// As for [`sweep::combine`].
#[target_feature(enable = "neon")]
unsafe fn combine_neon(job: &mut Job) {
    // SAFETY: promised by the caller.
    unsafe { sweep::combine::<uint8x16_t, NeonNibbles>(job) }
}

/// # Safety
/// As for [`sweep::xor`].
#[target_feature(enable = "neon")]
unsafe fn xor_neon(job: &mut Job) {
    // SAFETY: promised by the caller.
    unsafe { sweep::xor::<uint8x16_t>(job) }
}

impl Vector for uint8x16_t {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: promised by the caller.
        unsafe { vdupq_n_u8(0) }
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: promised by the caller.
        unsafe { vld1q_u8(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { vst1q_u8(to, self) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: promised by the caller.
        unsafe { veorq_u8(self, other) }
    }
}

#[derive(Clone, Copy)]
struct NeonNibbles(NibbleProducts);

impl Factor<uint8x16_t> for NeonNibbles {
    #[inline(always)]
    fn of(coefficient: u8) -> Self {
        Self(NIBBLE_PRODUCTS[usize::from(coefficient)])
    }

    #[inline(always)]
    unsafe fn times(&self, bytes: uint8x16_t) -> uint8x16_t {
        let [low, high] = &self.0;
        // SAFETY: both tables hold 16 bytes; the rest is promised by the caller.
        unsafe {
            let lows = vandq_u8(bytes, vdupq_n_u8(15));
            let highs = vshrq_n_u8::<4>(bytes);
            veorq_u8(
                vqtbl1q_u8(vld1q_u8(low.as_ptr()), lows),
                vqtbl1q_u8(vld1q_u8(high.as_ptr()), highs),
            )
        }
    }
}
