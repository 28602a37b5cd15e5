//! How a rank waits for others: first by asking MPI again at once, because an answer within microseconds is the usual
//! case, then by giving its core away between questions. Other ranks of the node may need it to send what this one
//! waits for; MPI's own waits keep it.

use std::thread;
use std::time::{Duration, Instant};

/// So long a rank keeps its core: a few round trips of a fast network.
const SPIN: Duration = Duration::from_micros(20);

pub(super) struct Patience {
    since: Option<Instant>,
}

impl Patience {
    pub(super) fn new() -> Patience {
        Patience { since: None }
    }

    /// Passes the time until the next question.
    pub(super) fn pause(&mut self) {
        let since = *self.since.get_or_insert_with(Instant::now);
        match since.elapsed() < SPIN {
            true => std::hint::spin_loop(),
            false => thread::yield_now(),
        }
    }
}
