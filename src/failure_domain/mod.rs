//! Failure domains: what fails together, and how to spread things so that failures are survived.
//!
//! `tree` describes the domains. The other parts stand on it. `placement` chooses the sets of a job's ranks, which
//! `topology` tells apart; `survival` says which failures they survive, `report` and `picture` show it.
#![forbid(unsafe_code)]

mod picture;
pub mod placement;
mod report;
mod report_load;
mod survival;
#[cfg(test)]
mod survival_tests;
pub mod topology;
pub mod tree;

pub use placement::Placement;
pub use survival::Scenario;
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
}

pub type Result<T> = std::result::Result<T, Error>;
