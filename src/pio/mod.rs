//! PIO: arrays distributed over many ranks, written to and read from files by a few of them, the I/O tasks.
//!
//! A rank describes its part of an array with a *map*: for each local element its offset in the global array, or 0 for
//! a hole. `decomp` turns the maps of all ranks into a *plan*: who sends which elements to whom. A plan is computed once
//! and shared by equal decompositions (`cache`). Two rearrangers decide which elements an I/O task holds:
//!
//! - box: one contiguous block of the global array, whichever ranks its elements come from;
//! - subset: the elements of the task's own group of ranks, in global order. If these form many small regions, or leave
//!   holes, a second exchange among the I/O tasks makes blocks of them before they reach the file.
//!
//! From the outside in:
//!
//! | module | what it holds |
//! |---|---|
//! | `iosystem`, `groups` | the ranks, the I/O tasks among them, and the group of each (subset) |
//! | `decomp`, `cache`, `plan` | PIOc_InitDecomp: specification and map → plan |
//! | `map`, `sequence`, `regions` | offsets as runs and strides; hyperslabs for the file libraries |
//! | `file` | an open file: metadata, variables that all ranks have whole |
//! | `darray` | PIOc_write_darray (buffered until sync or close) and PIOc_read_darray |
//! | `exchange`, `packing` | moves elements along a plan, to the I/O tasks and back |
//! | `format` | calls PnetCDF and netCDF, on the I/O tasks only |
//! | `decomp_file`, `map_file` | decompositions as netCDF files, maps as text files |
//! | `alloc`, `pool` | allocation that may fail; buffers that the next transfer reuses |
//!
//! Functions marked *Collective* are called by all ranks of the I/O system and return one verdict on all of them
//! ([`agree`]). A rank that fails before such an agreement takes part in it with its error, so that nobody waits for it.

mod alloc;
mod cache;
mod convert;
pub mod darray;
pub mod decomp;
pub mod decomp_file;
pub mod error;
pub mod exchange;
pub mod file;
pub mod format;
mod groups;
mod hyperslabs;
pub mod iosystem;
mod kind;
mod map;
pub mod map_file;
mod packing;
mod plan;
mod pool;
mod sequence;

pub use decomp::{Decomp, DecompSpec, Outside};
pub use error::{Error, Result, agree, agree_same, agree_with};
pub use file::File;
pub use hyperslabs::Hyperslabs;
pub use iosystem::{IoPlacement, IoSystem};
pub use kind::Kind;
pub use plan::{Plan, Rearranger};
