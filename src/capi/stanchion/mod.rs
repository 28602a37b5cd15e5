//! `stanchion.h`: what the library says about itself, and what it adds to the APIs that it replaces. Chapters in the
//! header's order.

pub mod library;

pub mod trees;

pub mod layouts;

#[cfg(feature = "mpi")]
pub mod redset;

#[cfg(feature = "mpi")]
pub mod fenix;

#[cfg(feature = "mpi")]
pub mod pio;

#[cfg(feature = "mpi")]
pub mod pio_fortran;

pub mod placements;
