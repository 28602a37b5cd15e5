//! Stanchion: one library behind the C APIs of kvtree, rankstr, redset, Fenix and PIO.
//!
//! Dependencies go one way: `capi → {redset, fenix, pio} → kvtree → protect → {failure_domain, rankstr} → wire → {comm,
//! storage, erasure} → log`; only the rank that a message names `log` asks `comm` for. Every room that can fail has its own error
//! type. Inside, everything is a `Result`; only `capi` speaks C.
#![deny(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    unreachable_pub,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc
)]

pub mod capi;
pub mod comm;
pub mod erasure;
pub mod failure_domain;
pub mod fenix;
pub mod kvtree;
pub mod log;
mod pages;
pub mod pio;
mod protect;
pub mod rankstr;
pub mod redset;
mod reserve;
pub mod storage;
#[cfg(test)]
mod testing;
mod wire;
