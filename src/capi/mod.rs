//! The C APIs: one file per header, in the header's order.
//!
//! A function here checks its pointers, calls a room, and turns the result into what C expects. Every
//! one runs inside [`guard`], so no panic reaches C. Errors become return codes; their text is kept for
//! `stanchion_last_error`.
//!
//! # Safety
//! What all exported functions ask of their callers: a pointer is NULL or points to what the header
//! says, for the duration of the call; strings end with NUL; a tree is used by one thread at a time
//! (several may read one tree); what a function returns or takes over is freed as the header says.
#![allow(unsafe_code)]
// The rules above hold for all of them; they are not repeated at each.
#![allow(clippy::missing_safety_doc)]
// What a function is called and how many arguments it has is upstream's choice.
#![allow(non_snake_case)]
#![allow(clippy::too_many_arguments)]

mod alloc;
pub mod error;
#[cfg(feature = "mpi")]
pub mod fenix;
#[cfg(feature = "mpi")]
pub mod fenix_data_subset;
#[cfg(feature = "mpi")]
mod fenix_errors;
#[cfg(feature = "mpi")]
mod fenix_groups;
#[cfg(feature = "mpi")]
mod fenix_lease;
#[cfg(feature = "mpi")]
mod fenix_memory;
#[cfg(feature = "mpi")]
mod fenix_policy;
#[cfg(feature = "mpi")]
pub mod fenix_process;
#[cfg(feature = "mpi")]
pub mod fenix_recovery;
#[cfg(feature = "mpi")]
pub mod fenix_store;
mod guard;
pub mod handle;
pub mod kvtree;
pub mod kvtree_file;
pub mod kvtree_format;
#[cfg(feature = "mpi")]
pub mod kvtree_mpi;
pub mod kvtree_util;
#[cfg(feature = "mpi")]
pub mod pio;
#[cfg(feature = "mpi")]
mod pio_args;
#[cfg(feature = "mpi")]
pub mod pio_att;
#[cfg(feature = "mpi")]
pub mod pio_darray;
#[cfg(feature = "mpi")]
pub mod pio_data;
#[cfg(feature = "mpi")]
pub mod pio_decomp;
#[cfg(feature = "mpi")]
pub mod pio_dim;
#[cfg(feature = "mpi")]
mod pio_errors;
#[cfg(feature = "mpi")]
pub mod pio_file;
#[cfg(feature = "mpi")]
pub mod pio_internal;
#[cfg(feature = "mpi")]
pub mod pio_iosystem;
#[cfg(feature = "mpi")]
pub mod pio_map;
#[cfg(feature = "mpi")]
pub mod pio_nc4;
#[cfg(feature = "mpi")]
mod pio_open;
#[cfg(feature = "mpi")]
mod pio_registry;
#[cfg(feature = "mpi")]
mod pio_request;
#[cfg(feature = "mpi")]
mod pio_text;
#[cfg(feature = "mpi")]
pub mod pio_types;
#[cfg(feature = "mpi")]
pub mod pio_var;
#[cfg(feature = "mpi")]
pub mod pio_vard;
mod ptr;
#[cfg(feature = "mpi")]
pub mod raise;
#[cfg(feature = "mpi")]
pub mod rankstr_mpi;
pub mod redset;
pub mod redset_internal;
#[cfg(feature = "mpi")]
pub mod redset_mpi;
pub mod stanchion;
pub mod stanchion_fdp;
pub mod stanchion_fdt;
pub mod stanchion_fdt_layout;
#[cfg(feature = "mpi")]
pub mod stanchion_fenix;
#[cfg(feature = "mpi")]
pub mod stanchion_pio;
#[cfg(feature = "mpi")]
pub mod stanchion_pio_values;
#[cfg(feature = "mpi")]
pub mod stanchion_redset;
#[cfg(feature = "mpi")]
mod streaming;

use guard::{guard, guard_alone};
