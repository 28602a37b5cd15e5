//! `pio.h`: decompositions, distributed arrays and their files.

pub mod attributes;
pub mod darrays;
pub mod data;
pub mod decompositions;
pub mod dimensions;
pub mod files;
pub mod io_systems;
pub mod library;
pub mod maps;
pub mod netcdf4;
pub mod vard;
pub mod variables;

pub(super) mod args;
pub(super) mod errors;
pub mod internal;
mod open;
pub(super) mod registry;
pub(super) mod request;
pub(super) mod text;
pub mod types;
