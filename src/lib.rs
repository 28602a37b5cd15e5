//! Stanchion: one library behind the C APIs of kvtree, rankstr, redset, Fenix and PIO.
//!
//! Dependencies go one way: `capi → {kvtree, rankstr} → {comm, storage} → {error, log}`.
//! Inside, everything is a `Result`; only `capi` speaks C.
#![deny(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    unreachable_pub,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc
)]

pub mod capi;
pub mod comm;
pub mod kvtree;
pub mod log;
pub mod rankstr;
pub mod storage;
