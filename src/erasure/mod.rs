//! Erasure codes over byte slices: XOR, and Reed-Solomon on GF(2^8) with the matrix of redset.
//!
//! [`matrix`] has the coefficients that make parity from data, and lost data from the survivors;
//! [`combine`] and its simpler relatives apply them to slices, by the fastest of the `kernels` that this CPU
//! can run, chosen at the first use. Nothing here fails: slices of different lengths are a bug of the caller and panic.

pub mod gf;
mod kernels;
pub mod matrix;
#[cfg(test)]
mod tests;

/// `target ^= source`.
pub fn xor_into(target: &mut [u8], source: &[u8]) {
    kernels::best().xor(target, &[source], true);
}

/// `target` = the XOR of all `sources`: a copy of the only one, zeros if there is none.
pub fn xor_all(target: &mut [u8], sources: &[&[u8]]) {
    kernels::best().xor(target, sources, false);
}

/// `targets[i]` = the sum over `j` of `rows[i][j] * sources[j]`, added to what is there if `accumulate`.
///
/// Every row has one coefficient per source; all targets and sources have the same length.
pub fn combine(targets: &mut [&mut [u8]], rows: &[&[u8]], sources: &[&[u8]], accumulate: bool) {
    kernels::best().combine(targets, rows, sources, accumulate);
}

/// The kernel that this process uses, such as "avx2".
pub fn kernel_name() -> &'static str {
    kernels::best().name()
}
