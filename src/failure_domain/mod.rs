//! Failure domains: what fails together, and how to spread things so that failures are survived.
//!
//! `tree` describes the domains. The other parts stand on it.
//!
//! A layout spreads groups of N data, K parity and S spare units over the targets of a tree. `symmetric` is the
//! symmetric tree it works in and what that tolerates; `plan` decides which levels take part; `layout` maps units to
//! targets and back, through a `permutation` in every domain that `turns` and `walk` change, or by `water` where a small domain leaves no symmetric
//! tree. `failures` says whether counted failures are survived, `failed` the same for named domains, `repair` which
//! spare takes a lost unit.
//!
//! `placement` chooses the sets of a job's ranks, which `topology` tells apart; `survival` says which failures they
//! survive, `report` and `picture` show it.
#![forbid(unsafe_code)]

mod divisor;
mod failed;
pub mod failures;
pub mod layout;
#[cfg(test)]
mod layout_tests;
mod permutation;
mod picture;
pub mod placement;
pub mod plan;
pub mod repair;
mod report;
mod report_load;
mod survival;
#[cfg(test)]
mod survival_tests;
pub mod symmetric;
pub mod topology;
pub mod tree;
mod turns;
#[cfg(test)]
mod verdict_tests;
mod walk;
mod water;

pub use failures::{Test, Verdict};
pub use layout::{File, Layout, Mode, Place, Settings, Source};
pub use placement::Placement;
pub use plan::{Plan, State};
pub use survival::Scenario;
pub use symmetric::{Symmetric, Tolerance, Units};
pub use tree::{Domain, Tree};

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
    #[error("a group needs a data unit and has at most 2^32 - 1 units")]
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
    #[error("a number of a group or a frame is too large")]
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
    #[error("path {index} is no UTF-8 text")]
    NotText { index: usize },
    #[error("{what} cannot be {value}")]
    NoChoice { what: &'static str, value: u32 },
    #[error("{0} is NULL or no such handle")]
    Null(&'static str),
    #[error("there is not enough memory for the tree")]
    Memory,
}

pub type Result<T> = std::result::Result<T, Error>;

/// About what a tree and the placement of its ranks take at most while they are made, for each path.
const BYTES_PER_PATH: usize = 512;

/// Fails unless there is memory for a tree of so many paths. Making it takes many buffers that grow with their number: to ask
/// for all of them at once, and give that back, is the one moment at which nothing has to be undone.
pub fn check_memory(paths: usize) -> Result<()> {
    let mut all: Vec<u8> = Vec::new();
    let room = all.try_reserve_exact(paths.saturating_mul(BYTES_PER_PATH));
    // Without it the compiler may leave the request out.
    std::hint::black_box(&all);
    room.map_err(|_| Error::Memory)
}
