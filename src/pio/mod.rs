//! PIO: arrays spread over many ranks, written and read by a few of them, the I/O tasks.
//!
//! A rank describes what it holds with a *map*: for each of its elements the place in the global array, or
//! nothing for a hole. `decomp` turns the maps of all ranks into a [`Plan`]: who sends what to whom, computed
//! once, kept as runs and strides ([`sequence`]), shared by all decompositions that are the same. Two
//! rearrangers decide what an I/O task holds:
//!
//! - box (`blocks`): one contiguous block of the global array, whoever its elements come from;
//! - subset (`groups`, `merge`): the elements of the task's own group of ranks, in global order. Where these
//!   are many small regions, or leave holes, a second plan among the I/O tasks alone makes blocks of them
//!   before they reach the file.
//!
//! `exchange` moves data along a plan. `file` is an open file: its metadata, its variables' frames; `darray`
//! writes (through a buffer on the ranks that hold the data) and reads distributed arrays. `format` is what
//! the file libraries can do; on a rank that is no I/O task nothing of a file is open.
//!
//! Every function that talks to others is called by all ranks of the I/O system and ends with one verdict on
//! all of them ([`agree`]). A rank that fails locally says so there, before anybody waits for its data.

pub mod blocks;
mod cache;
mod cells;
mod convert;
mod coverage;
pub mod darray;
pub mod decomp;
pub mod decomp_file;
pub mod error;
pub mod exchange;
pub mod file;
pub mod format;
pub mod groups;
pub mod iosystem;
mod kind;
pub mod map;
pub mod map_file;
mod memory;
mod merge;
mod packing;
pub mod plan;
mod planning;
mod regions;
mod route;
pub mod sequence;

pub use decomp::{Decomp, Layout, Outside};
pub use error::{Error, Result, agree, agree_same, agree_with};
pub use file::File;
pub use iosystem::{IoSystem, Placement};
pub use kind::Kind;
pub use plan::{Plan, Rearranger};
pub use regions::Regions;
