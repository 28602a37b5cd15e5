//! The C APIs, laid out as their headers are. Where an exported function is found:
//!
//! 1. Its header is its folder, its chapter in the header is its file: `src/capi/<header>/<chapter>.rs`, or
//!    `<header>.rs` for a header without chapters. Names that no header declares are in the folder's `internal.rs`.
//! 2. What only C can define (variadic functions, jumps, `_f` for Fortran) is in `src/shim/<library>_*.c`.
//! 3. A function that `cmake/symbols.in` says raises stands where all others do; its wrapper is made at the link.
//!
//! A function takes its arguments as types of [`boundary`], calls a room, and turns the result into what C expects.
//! Every one runs inside [`guard`], so no panic reaches C. Errors become return codes; their text is kept for
//! `stanchion_last_error`.
//!
//! # Safety
//! Callers promise that a pointer is NULL or points to what the header says, for the duration of the call; that strings
//! end with NUL; that one thread at a time uses a tree (several may read it); and that memory is freed as the header says.
#![allow(unsafe_code)]
// These promises hold for all functions; they are not repeated at each.
#![allow(clippy::missing_safety_doc)]
// Names and arguments are those of upstream.
#![allow(non_snake_case)]
#![allow(clippy::too_many_arguments)]

pub mod kvtree;
#[cfg(feature = "mpi")]
pub mod kvtree_mpi;
pub mod kvtree_util;

#[cfg(feature = "mpi")]
pub mod rankstr_mpi;

pub mod redset;

#[cfg(feature = "mpi")]
pub mod fenix;
#[cfg(feature = "mpi")]
pub mod fenix_data_subset;

#[cfg(feature = "mpi")]
pub mod pio;

pub mod stanchion;

pub mod boundary;
pub mod error;
mod guard;
#[cfg(feature = "mpi")]
pub mod raise;

use guard::{guard, guard_alone};
