//! The inner loops, one set per instruction set. All `unsafe` of erasure coding is here.
//!
//! [`sweep`] holds the loops, generic over a register ([`sweep::Vector`]) and a way to multiply it
//! ([`sweep::Factor`]); the other files implement these two for one architecture each and compile
//! the loops with its instructions enabled. [`Usable`] checks what the loops rely on.
#![allow(unsafe_code)]
// Intrinsics without pointers need an unsafe block only before Rust 1.87.
#![allow(unused_unsafe)]

use std::sync::LazyLock;

#[cfg(any(test, all(target_arch = "x86_64", stanchion_avx512)))]
pub(super) mod bit_matrix;
#[cfg(all(target_arch = "x86_64", stanchion_avx512))]
mod gfni;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod sweep;
mod tables;
#[cfg(target_arch = "x86_64")]
mod x86;

use sweep::Job;

/// A set of loops for one instruction set.
struct Kernel {
    name: &'static str,
    /// Whether this CPU has the instructions that the two loops need.
    runs_here: fn() -> bool,
    combine: unsafe fn(&mut Job),
    /// For jobs with one target and no row.
    xor: unsafe fn(&mut Job),
}

/// Fastest first; the last one runs everywhere.
static KERNELS: &[Kernel] = &[
    #[cfg(all(target_arch = "x86_64", stanchion_avx512))]
    gfni::AVX512_GFNI,
    #[cfg(all(target_arch = "x86_64", stanchion_avx512))]
    gfni::AVX2_GFNI,
    #[cfg(target_arch = "x86_64")]
    x86::AVX2,
    #[cfg(target_arch = "x86_64")]
    x86::SSSE3,
    #[cfg(target_arch = "aarch64")]
    neon::NEON,
    portable::PORTABLE,
];

/// A kernel that this CPU can run; there is no other way to get at one.
#[derive(Clone, Copy)]
pub(super) struct Usable(&'static Kernel);

pub(super) fn usable() -> impl Iterator<Item = Usable> {
    KERNELS.iter().filter(|k| (k.runs_here)()).map(Usable)
}

pub(super) fn best() -> Usable {
    static BEST: LazyLock<Usable> =
        LazyLock::new(|| usable().next().unwrap_or(Usable(&portable::PORTABLE)));
    *BEST
}

impl Usable {
    pub(super) fn name(self) -> &'static str {
        self.0.name
    }

    pub(super) fn combine(
        self,
        targets: &mut [&mut [u8]],
        rows: &[&[u8]],
        sources: &[&[u8]],
        accumulate: bool,
    ) {
        assert_eq!(targets.len(), rows.len(), "not one row per target");
        for row in rows {
            assert_eq!(
                row.len(),
                sources.len(),
                "a row has not one coefficient per source"
            );
        }
        let length = common_length(targets, sources);
        let mut job = Job {
            targets,
            rows,
            sources,
            length,
            accumulate,
        };
        // SAFETY: lengths are checked, and `usable` has seen the instructions on this CPU.
        unsafe { (self.0.combine)(&mut job) }
    }

    pub(super) fn xor(self, target: &mut [u8], sources: &[&[u8]], accumulate: bool) {
        let targets = &mut [target];
        let length = common_length(targets, sources);
        let mut job = Job {
            targets,
            rows: &[],
            sources,
            length,
            accumulate,
        };
        // SAFETY: as in `combine`.
        unsafe { (self.0.xor)(&mut job) }
    }
}

fn common_length(targets: &[&mut [u8]], sources: &[&[u8]]) -> usize {
    let Some(first) = targets.first() else {
        return 0;
    };
    let length = first.len();
    for target in targets {
        assert_eq!(target.len(), length, "targets differ in length");
    }
    for source in sources {
        assert_eq!(
            source.len(),
            length,
            "a source is not as long as the targets"
        );
    }
    length
}
