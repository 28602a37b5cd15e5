//! Which process a message comes from: thousands may write to one terminal.

use std::fmt;

/// The process that writes, such as `rank 3 on node7`; without MPI, and outside of its life, `node7`.
pub(super) struct Origin {
    rank: Option<i32>,
    host: String,
}

pub(super) fn here() -> Origin {
    Origin {
        rank: rank(),
        host: crate::comm::host_name(),
    }
}

#[cfg(feature = "mpi")]
fn rank() -> Option<i32> {
    crate::comm::mpi::rank_of_process()
}

#[cfg(not(feature = "mpi"))]
fn rank() -> Option<i32> {
    None
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "rank {rank} on {}", self.host),
            None => f.write_str(&self.host),
        }
    }
}
