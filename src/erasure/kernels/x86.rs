//! x86-64: table lookup in nibbles, with SSSE3 or AVX2.

use std::arch::x86_64::*;

use super::Kernel;
use super::sweep::{self, Factor, Job, Vector};
use super::tables::{NIBBLE_PRODUCTS, NibbleProducts};

pub(super) const SSSE3: Kernel = Kernel {
    name: "ssse3",
    runs_here: || is_x86_feature_detected!("ssse3"),
    combine: combine_ssse3,
    xor: sweep::xor::<__m128i>,
};

pub(super) const AVX2: Kernel = Kernel {
    name: "avx2",
    runs_here: || is_x86_feature_detected!("avx2"),
    combine: combine_avx2,
    xor: xor_avx2,
};

/// # Safety
/// As for [`sweep::combine`].
#[target_feature(enable = "ssse3")]
unsafe fn combine_ssse3(job: &mut Job) {
    // SAFETY: promised by the caller.
    unsafe { sweep::combine::<__m128i, Nibbles>(job) }
}

/// # Safety
/// As for [`sweep::combine`].
#[target_feature(enable = "avx2")]
unsafe fn combine_avx2(job: &mut Job) {
    // SAFETY: promised by the caller.
    unsafe { sweep::combine::<__m256i, Nibbles>(job) }
}

/// # Safety
/// As for [`sweep::xor`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn xor_avx2(job: &mut Job) {
    // SAFETY: promised by the caller.
    unsafe { sweep::xor::<__m256i>(job) }
}

impl Vector for __m128i {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: promised by the caller.
        unsafe { _mm_setzero_si128() }
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: promised by the caller.
        unsafe { _mm_loadu_si128(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { _mm_storeu_si128(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { _mm_stream_si128(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn end_streams() {
        // SAFETY: promised by the caller.
        unsafe { _mm_sfence() }
    }
    #[inline(always)]
    unsafe fn prefetch(from: *const u8) {
        // SAFETY: promised by the caller.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: promised by the caller.
        unsafe { _mm_xor_si128(self, other) }
    }
}

impl Vector for __m256i {
    const BYTES: usize = 32;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: promised by the caller.
        unsafe { _mm256_setzero_si256() }
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: promised by the caller.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { _mm256_storeu_si256(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { _mm256_stream_si256(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn end_streams() {
        // SAFETY: promised by the caller.
        unsafe { _mm_sfence() }
    }
    #[inline(always)]
    unsafe fn prefetch(from: *const u8) {
        // SAFETY: promised by the caller.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: promised by the caller.
        unsafe { _mm256_xor_si256(self, other) }
    }
}

/// Copied next to its neighbours, where the sweep finds it by its place.
#[derive(Clone, Copy)]
struct Nibbles(NibbleProducts);

impl Nibbles {
    #[inline(always)]
    fn places(&self) -> [*const __m128i; 2] {
        self.0.each_ref().map(|half| half.as_ptr().cast())
    }
}

impl Factor<__m128i> for Nibbles {
    #[inline(always)]
    fn of(coefficient: u8) -> Self {
        Self(NIBBLE_PRODUCTS[usize::from(coefficient)])
    }

    #[inline(always)]
    unsafe fn times(&self, bytes: __m128i) -> __m128i {
        let [low, high] = self.places();
        // SAFETY: both places hold 16 bytes; the rest is promised by the caller.
        unsafe {
            let mask = _mm_set1_epi8(15);
            let lows = _mm_and_si128(bytes, mask);
            let highs = _mm_and_si128(_mm_srli_epi64::<4>(bytes), mask);
            _mm_xor_si128(
                _mm_shuffle_epi8(_mm_loadu_si128(low), lows),
                _mm_shuffle_epi8(_mm_loadu_si128(high), highs),
            )
        }
    }
}

impl Factor<__m256i> for Nibbles {
    #[inline(always)]
    fn of(coefficient: u8) -> Self {
        Self(NIBBLE_PRODUCTS[usize::from(coefficient)])
    }

    #[inline(always)]
    unsafe fn times(&self, bytes: __m256i) -> __m256i {
        let [low, high] = self.places();
        // SAFETY: both places hold 16 bytes; the rest is promised by the caller.
        unsafe {
            let low = _mm256_broadcastsi128_si256(_mm_loadu_si128(low));
            let high = _mm256_broadcastsi128_si256(_mm_loadu_si128(high));
            let mask = _mm256_set1_epi8(15);
            let lows = _mm256_and_si256(bytes, mask);
            let highs = _mm256_and_si256(_mm256_srli_epi64::<4>(bytes), mask);
            _mm256_xor_si256(
                _mm256_shuffle_epi8(low, lows),
                _mm256_shuffle_epi8(high, highs),
            )
        }
    }
}
