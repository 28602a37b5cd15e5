//! `pio.h`: decompositions, distributed arrays and the files they are in. Chapters in the header's order, then what they
//! share: arguments, errors, the ids of PIO.

pub mod io_systems;

pub mod decompositions;

pub mod maps;

pub mod files;

pub mod dimensions;

pub mod variables;

pub mod attributes;

pub mod darrays;

pub mod data;

pub mod netcdf4;

pub mod library;

pub mod internal;

pub(super) mod args;
pub(super) mod errors;
mod open;
pub(super) mod registry;
pub(super) mod request;
pub(super) mod text;
pub mod types;
