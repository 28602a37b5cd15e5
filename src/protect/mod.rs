//! Sets of ranks that protect each other's bytes, in files or memory.
//!
//! `generation` says which apply or commit bytes belong to.
#![forbid(unsafe_code)]

pub(crate) mod generation;
