//! I/O systems: a communicator, and those of its ranks that write and read files, the I/O tasks.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cache::PlanCache;
use super::groups::Groups;
use super::plan::Rearranger;
use super::pool::BufferPool;
use super::{Error, Result, agree};
use crate::comm::{Comm, Limit};

/// Which ranks are I/O tasks.
#[derive(Clone, Copy, Debug, Hash)]
pub struct IoPlacement {
    pub tasks: i64,
    pub stride: i64,
    pub base: i64,
}

/// Flow control of one direction: how many messages may be under way, and whether a sender waits for a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowControl {
    pub handshake: bool,
    pub nonblocking: bool,
    /// `None`: no limit.
    pub pending: Option<usize>,
}

impl FlowControl {
    pub(super) fn limit(self) -> Limit {
        Limit {
            handshake: self.handshake,
            receives: self.pending,
            sends: match self.nonblocking {
                true => self.pending,
                false => Some(1),
            },
        }
    }
}

impl Default for FlowControl {
    fn default() -> Self {
        Self {
            handshake: false,
            nonblocking: true,
            pending: None,
        }
    }
}

/// Flow control in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowOptions {
    pub to_io: FlowControl,
    pub to_compute: FlowControl,
}

pub struct IoSystem<C: Comm> {
    /// All ranks.
    pub comm: C,
    /// The I/O tasks alone; `None` on other ranks.
    pub io: Option<C>,
    /// The rank in `comm` of each I/O task.
    pub io_ranks: Vec<usize>,
    /// The default of decompositions.
    pub rearranger: Rearranger,
    flow: Mutex<FlowOptions>,
    pub(super) groups: Groups,
    pub(super) plans: Mutex<PlanCache>,
    /// How many decompositions were made: the same on all ranks.
    pub(super) decomps: AtomicU64,
    pub(super) pool: Arc<BufferPool>,
}

impl<C: Comm> IoSystem<C> {
    /// Duplicates `comm`. Collective over it.
    pub fn new(comm: &C, placement: IoPlacement, rearranger: Rearranger) -> Result<Self> {
        let io_ranks = agree(comm, io_ranks(comm.size(), placement))?;
        // A duplicate, so that messages of different I/O systems cannot match.
        let copy = comm.split(Some(0), comm.rank() as i32)?;
        let comm = copy.ok_or(Error::Comm("no copy of the communicator was made".into()))?;
        let own = io_ranks.iter().position(|rank| *rank == comm.rank());
        let io = comm.split(own.map(|_| 0), own.unwrap_or(0) as i32)?;
        let groups = Groups::new(comm.size(), &io_ranks);
        Ok(Self {
            comm,
            io,
            io_ranks,
            rearranger,
            flow: Mutex::default(),
            groups,
            plans: Mutex::default(),
            decomps: AtomicU64::new(0),
            pool: Arc::default(),
        })
    }

    /// Frees unused plans, except for the few that the cache keeps. To be called after a decomposition is freed. Local.
    pub fn forget_plans(&self) {
        self.plans().trim();
    }

    /// Must not be held during communication.
    pub(super) fn plans(&self) -> MutexGuard<'_, PlanCache> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn flow(&self) -> FlowOptions {
        *self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Must be the same on all ranks: with handshakes only on one side, a sender waits forever.
    pub fn set_flow(&self, flow: FlowOptions) {
        *self.flow.lock().unwrap_or_else(PoisonError::into_inner) = flow;
    }

    /// The index of this rank among the I/O tasks.
    pub fn io_rank(&self) -> Option<usize> {
        self.io.as_ref().map(Comm::rank)
    }

    /// The rank of the first I/O task, which answers for all of them if one answer is enough.
    pub fn io_root(&self) -> usize {
        self.io_ranks[0]
    }
}

fn io_ranks(size: usize, placement: IoPlacement) -> Result<Vec<usize>> {
    let IoPlacement {
        tasks,
        stride,
        base,
    } = placement;
    let fits = tasks >= 1 && stride >= 1 && tasks.saturating_mul(stride) <= size as i64;
    if !fits || base < 0 || base >= size as i64 {
        return Err(Error::Invalid(format!(
            "{tasks} I/O tasks with stride {stride} from rank {base} do not fit into {size} ranks"
        )));
    }
    let rank = |task: i64| (base + task * stride) as usize % size;
    Ok((0..tasks).map(rank).collect())
}
