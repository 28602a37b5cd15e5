//! `fenix.h`: process recovery and redundant data in memory.

pub mod groups;
pub mod process;
pub mod store;

pub(super) mod errors;
mod lease;
mod memory;
mod policy;
pub mod recovery;
mod registry;
mod streaming;
