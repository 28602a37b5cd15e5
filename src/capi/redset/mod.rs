//! `redset.h`: redundancy for the files of a set of ranks.

#[cfg(feature = "mpi")]
pub mod descriptors;
pub mod rebuild;

pub mod internal;
