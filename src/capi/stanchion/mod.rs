//! `stanchion.h`: what the library says about itself, and what it adds to the APIs that it replaces.

#[cfg(feature = "mpi")]
pub mod fenix;
pub mod layouts;
pub mod library;
#[cfg(feature = "mpi")]
pub mod pio;
#[cfg(feature = "mpi")]
pub mod pio_fortran;
pub mod placements;
#[cfg(feature = "mpi")]
pub mod redset;
pub mod trees;
