//! Failure domains: what fails together, and how to spread data so that the failures are survived.
//!
//! `tree` describes the domains (racks, chassis, nodes). Two things are built on it:
//!
//! ```text
//! layout:     DomainTree + N data, K parity, S spares → LevelPlan → Layout → unit ↔ target
//! placement:  one path per rank → DomainTree → Placement → members of each set
//! ```
//!
//! **Layouts** (Motr's fault-tolerant layout). `level_plan` chooses the levels that take part; `symmetric` computes
//! the tolerance on the symmetric tree that is left, `water_filling` on domains too uneven for one. `layout` maps
//! units to targets and back. `declustering` and `rotation` pick the `permutation` of each domain, so that a rebuild
//! loads all survivors alike. `failure_counts` and `failed_domains` decide whether failures are survived; `sparing`
//! assigns spare units to lost ones.
//!
//! **Placement** chooses the sets of a job's ranks; `topology` finds the path of a rank. `survival` lists the failures
//! that lose data, `rebuild_load` computes what survivors send, `report` (JSON) and `svg` show all of it.
#![forbid(unsafe_code)]

mod declustering;
mod failed_domains;
pub mod failure_counts;
mod fast_division;
pub mod layout;
#[cfg(test)]
mod layout_tests;
pub mod level_plan;
mod permutation;
pub mod placement;
mod rebuild_load;
mod report;
mod rotation;
pub mod sparing;
mod survival;
#[cfg(test)]
mod survival_tests;
mod svg;
pub mod symmetric;
pub mod topology;
pub mod tree;
#[cfg(test)]
mod verdict_tests;
mod water_filling;

pub use failure_counts::{FailureTest, LossVerdict};
pub use layout::{FileId, Layout, LayoutSettings, PermutationMode, TargetAddress, UnitAddress};
pub use level_plan::{LevelPlan, LevelState};
pub use placement::Placement;
pub use survival::Scenario;
pub use symmetric::{GroupTolerance, SymmetricTree, Units};
pub use tree::{Domain, DomainTree};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("there is nothing to build a tree from")]
    Empty,
    #[error("path {index} ({path:?}) has an empty part")]
    EmptyPart { index: usize, path: String },
    #[error("path {index} ({path:?}) has {found} levels, the first has {wanted}")]
    Depth {
        index: usize,
        path: String,
        found: usize,
        wanted: usize,
    },
    #[error("path {index} ({path:?}) was given before")]
    Duplicate { index: usize, path: String },
    #[error("level {level} has {found} degrees for {wanted} domains")]
    Degrees {
        level: usize,
        found: usize,
        wanted: usize,
    },
    #[error("domain {index} of level {level} has no children")]
    Childless { level: usize, index: usize },
    #[error("the tree has more than 2^32 - 1 domains in a level")]
    TooWide,
    #[error("a group needs at least one data unit and at most 2^32 - 1 units in all")]
    GroupSize,
    #[error("a group has {units} units, but there are only {targets} targets to put them on")]
    TooFewTargets { units: u64, targets: u64 },
    #[error("{wanted} failures in level {level} cannot be tolerated, only {possible}")]
    Unmet {
        level: usize,
        wanted: u32,
        possible: u32,
    },
    #[error("there are {found} numbers for {wanted} levels")]
    Levels { found: usize, wanted: usize },
    #[error("there is no level {level}")]
    NoLevel { level: usize },
    #[error("there is no domain {index} in level {level}")]
    NoDomain { level: usize, index: usize },
    #[error("{failed} failures in level {level}, which has {domains} domains")]
    TooManyFailures {
        level: usize,
        failed: u32,
        domains: u64,
    },
    #[error("there is no unit {unit} in a group of {units}")]
    NoUnit { unit: u32, units: u64 },
    #[error("there is no target {target}, only {targets}")]
    NoTarget { target: u64, targets: u64 },
    #[error("the number of a group or a frame is too large")]
    TooLarge,
    #[error("Motr's permutations are for up to 65535 children, level {level} has {children}")]
    FanOut { level: usize, children: usize },
    #[error("group {group} has lost {lost} units, more than its {parity} parity units can replace")]
    Lost { group: u64, lost: u64, parity: u32 },
    #[error("there are {found} slots for {wanted} units")]
    Slots { found: usize, wanted: usize },
    #[error("a slot holds two units")]
    SlotTwice,
    #[error("there are too many vectors to list")]
    TooManyVectors,
    #[error("there is no domain {path:?}")]
    NoPath { path: String },
    #[error("path {index} is not UTF-8")]
    NotText { index: usize },
    #[error("{what} cannot be {value}")]
    NoChoice { what: &'static str, value: u32 },
    #[error("{0} is NULL or no such handle")]
    Null(&'static str),
    #[error("there is not enough memory for the tree")]
    Memory,
}

pub type Result<T> = std::result::Result<T, Error>;

/// Upper estimate of the memory that building a tree and a placement takes for each path.
const BYTES_PER_PATH: usize = 512;

/// Fails unless there is memory for a tree of `paths` paths. Building it allocates many buffers that grow with the
/// number of paths; one trial allocation of their total, before anything exists that would have to be undone, replaces
/// a check of each.
pub fn check_memory(paths: usize) -> Result<()> {
    let mut trial: Vec<u8> = Vec::new();
    let reserved = trial.try_reserve_exact(paths.saturating_mul(BYTES_PER_PATH));
    // Keeps the compiler from removing the allocation.
    std::hint::black_box(&trial);
    reserved.map_err(|_| Error::Memory)
}
