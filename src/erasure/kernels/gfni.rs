//! x86-64 with GFNI: multiplication by bit matrices, with AVX2 or AVX-512.
//!
//! Left out by compilers older than Rust 1.89, which do not know these instructions (see build.rs).
#![allow(clippy::incompatible_msrv)]

use std::arch::x86_64::*;

use super::Kernel;
use super::bit_matrix::BIT_MATRICES;
use super::sweep::{self, Factor, Job, Vector};
use super::x86::xor_avx2;

pub(super) const AVX2_GFNI: Kernel = Kernel {
    name: "avx2+gfni",
    runs_here: || is_x86_feature_detected!("avx2") && is_x86_feature_detected!("gfni"),
    combine: combine_avx2_gfni,
    xor: xor_avx2,
};

pub(super) const AVX512_GFNI: Kernel = Kernel {
    name: "avx512+gfni",
    runs_here: || is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("gfni"),
    combine: combine_avx512_gfni,
    xor: xor_avx512,
};

/// # Safety
/// As for [`sweep::combine`].
#[target_feature(enable = "avx2,gfni")]
unsafe fn combine_avx2_gfni(job: &mut Job) {
    // SAFETY: promised by the caller.
    unsafe { sweep::combine::<__m256i, BitMatrix>(job) }
}

/// # Safety
/// As for [`sweep::combine`].
#[target_feature(enable = "avx512f,gfni")]
unsafe fn combine_avx512_gfni(job: &mut Job) {
    // SAFETY: promised by the caller.
    unsafe { sweep::combine::<__m512i, BitMatrix>(job) }
}

/// # Safety
/// As for [`sweep::xor`].
#[target_feature(enable = "avx512f")]
unsafe fn xor_avx512(job: &mut Job) {
    // SAFETY: promised by the caller.
    unsafe { sweep::xor::<__m512i>(job) }
}

impl Vector for __m512i {
    const BYTES: usize = 64;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: promised by the caller.
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: promised by the caller.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { _mm512_storeu_si512(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { _mm512_stream_si512(to.cast(), self) }
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
        unsafe { _mm512_xor_si512(self, other) }
    }
}

#[derive(Clone, Copy)]
struct BitMatrix(u64);

impl Factor<__m256i> for BitMatrix {
    #[inline(always)]
    fn of(coefficient: u8) -> Self {
        Self(BIT_MATRICES[usize::from(coefficient)])
    }

    #[inline(always)]
    unsafe fn times(&self, bytes: __m256i) -> __m256i {
        // SAFETY: promised by the caller.
        unsafe {
            let matrix = _mm256_set1_epi64x(self.0 as i64);
            _mm256_gf2p8affine_epi64_epi8::<0>(bytes, matrix)
        }
    }
}

impl Factor<__m512i> for BitMatrix {
    #[inline(always)]
    fn of(coefficient: u8) -> Self {
        Self(BIT_MATRICES[usize::from(coefficient)])
    }

    #[inline(always)]
    unsafe fn times(&self, bytes: __m512i) -> __m512i {
        // SAFETY: promised by the caller.
        unsafe {
            let matrix = _mm512_set1_epi64(self.0 as i64);
            _mm512_gf2p8affine_epi64_epi8::<0>(bytes, matrix)
        }
    }
}
