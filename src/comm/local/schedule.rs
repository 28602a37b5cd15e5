//! One thread at a time: with a [`RankSchedule`], a run is the same whenever it is repeated.
//!
//! Every call of the communicator, and whatever else calls [`Turn::point`], is a point where the thread may lose
//! its turn to another, or die. A thread that dies unwinds: nothing that it would have done afterwards happens.

use std::panic::resume_unwind;
use std::sync::Arc;

use super::world::World;

/// Who runs when, and who dies when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSchedule {
    pub seed: u64,
    /// A thread that could go on gives up its turn at one call in so many; 0 is never.
    pub one_in: u64,
    /// Threads and the number of the call, from 0, at which each of them dies.
    pub deaths: Vec<(usize, u64)>,
    /// The call of any thread, counted over all of them, at which all die.
    pub end: Option<u64>,
}

/// How a rank of a scheduled run has ended.
#[derive(Debug)]
pub enum End<T> {
    Returned(T),
    Died,
    Panicked(String),
}

/// What came of a scheduled run.
#[derive(Debug)]
pub struct Ended<T> {
    /// In rank order.
    pub ranks: Vec<End<T>>,
    /// Who waited for what when no rank could go on.
    pub deadlock: Option<String>,
    /// How many calls each rank has made.
    pub calls: Vec<u64>,
}

/// A rank's part in a schedule: for what is not communication but may come before or after what other ranks do.
#[derive(Clone)]
pub struct Turn {
    pub(super) world: Arc<World>,
    pub(super) thread: usize,
}

impl Turn {
    /// Without a schedule this does nothing.
    ///
    /// # Unwinds
    /// If the schedule lets the rank die here.
    pub fn point(&self) {
        self.world.point(self.thread);
    }
}

/// More calls than any collective makes: whoever polls so often polls for ever.
const ENDLESS: u64 = 1 << 22;

/// The payload of a thread that dies.
struct Death;

pub(super) fn die() -> ! {
    resume_unwind(Box::new(Death))
}

/// How a thread ended that returned or unwound so.
pub(super) fn end_of<T>(joined: std::thread::Result<T>) -> End<T> {
    let payload = match joined {
        Ok(result) => return End::Returned(result),
        Err(payload) => payload,
    };
    if payload.is::<Death>() {
        return End::Died;
    }
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
    End::Panicked(text.unwrap_or_default())
}

/// A schedule being followed.
pub(super) struct Turns {
    schedule: RankSchedule,
    random: u64,
    now: usize,
    calls: Vec<u64>,
    total: u64,
}

impl Turns {
    pub(super) fn new(schedule: &RankSchedule, threads: usize) -> Turns {
        let mut turns = Turns {
            schedule: schedule.clone(),
            random: schedule.seed,
            now: 0,
            calls: vec![0; threads],
            total: 0,
        };
        turns.now = turns.below(threads);
        turns
    }

    pub(super) fn now(&self) -> usize {
        self.now
    }

    pub(super) fn calls(self) -> Vec<u64> {
        self.calls
    }

    /// Counts a call and tells whether the thread dies instead of making it.
    pub(super) fn count(&mut self, thread: usize) -> bool {
        let number = self.calls[thread];
        self.calls[thread] += 1;
        self.total += 1;
        self.all_die() || self.schedule.deaths.contains(&(thread, number))
    }

    pub(super) fn all_die(&self) -> bool {
        self.schedule.end.is_some_and(|end| self.total > end)
    }

    pub(super) fn is_endless(&self) -> bool {
        self.total > ENDLESS
    }

    /// Gives the turn to one of `ready`, which are some.
    pub(super) fn choose(&mut self, last: usize, ready: &[usize]) -> usize {
        let stays = match self.schedule.one_in {
            0 => true,
            one_in => self.below(one_in as usize) != 0,
        };
        self.now = match stays && ready.contains(&last) {
            true => last,
            false => ready[self.below(ready.len())],
        };
        self.now
    }

    fn below(&mut self, limit: usize) -> usize {
        (splitmix(&mut self.random) % limit.max(1) as u64) as usize
    }
}

/// SplitMix64.
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
