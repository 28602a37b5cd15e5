//! An I/O system: a communicator, some of whose ranks do the reading and writing.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cache::Cache;
use super::groups::Groups;
use super::memory::Spare;
use super::plan::Rearranger;
use super::{Error, Result, agree};
use crate::comm::{Comm, Limit};

/// Where the I/O tasks sit among the ranks.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Placement {
    pub tasks: i64,
    pub stride: i64,
    pub base: i64,
}

/// How many messages may be under way at once in one direction, and whether a sender waits to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowControl {
    pub handshake: bool,
    pub nonblocking: bool,
    /// `None`: as many as there are.
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
pub struct Flow {
    pub to_io: FlowControl,
    pub to_compute: FlowControl,
}

pub struct IoSystem<C: Comm> {
    /// All ranks.
    pub comm: C,
    /// The I/O tasks alone, on those that are one.
    pub io: Option<C>,
    /// The rank in `comm` of each I/O task.
    pub io_ranks: Vec<usize>,
    /// What a decomposition gets that does not ask for another.
    pub rearranger: Rearranger,
    flow: Mutex<Flow>,
    pub groups: Groups,
    pub(super) plans: Mutex<Cache>,
    /// How many decompositions were asked for: the same on all ranks.
    pub(super) decomps: AtomicU64,
    pub(super) spare: Arc<Spare>,
}

impl<C: Comm> IoSystem<C> {
    /// Collective over `comm`, of which a copy is kept.
    pub fn new(comm: &C, placement: Placement, rearranger: Rearranger) -> Result<Self> {
        let io_ranks = agree(comm, io_ranks(comm.size(), placement))?;
        // Messages of different I/O systems must not meet.
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
            spare: Arc::default(),
        })
    }

    /// Gives back the memory of plans that no decomposition uses any more, but for some. To be called when a
    /// decomposition has gone. Local.
    pub fn forget_plans(&self) {
        self.plans().trim();
    }

    /// Never held while ranks talk to each other.
    pub(super) fn plans(&self) -> MutexGuard<'_, Cache> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn flow(&self) -> Flow {
        *self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be the same on all ranks: a sender that waits to be asked waits for ever for a receiver that does not ask.
    pub fn set_flow(&self, flow: Flow) {
        *self.flow.lock().unwrap_or_else(PoisonError::into_inner) = flow;
    }

    /// The number of this rank among the I/O tasks.
    pub fn io_rank(&self) -> Option<usize> {
        self.io.as_ref().map(Comm::rank)
    }

    /// The first I/O task: it speaks for all where one answer is enough.
    pub fn io_root(&self) -> usize {
        self.io_ranks[0]
    }
}

fn io_ranks(size: usize, placement: Placement) -> Result<Vec<usize>> {
    let Placement {
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
