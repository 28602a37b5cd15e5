//! One collective call with what goes wrong in it.
//!
//! The schedule decides which rank goes on at each message and system call; faults are counted per rank. So the same
//! trouble gives the same run. Every call is checked here for what holds always: it ends, nothing panics, and where no
//! rank has died all ranks have one verdict.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use stanchion::comm::Comm;
use stanchion::comm::local::{End, LocalComm, RankSchedule, run_scheduled};
use stanchion::storage::{Operation, faults};

use crate::chance::Chance;
use crate::{Checked, Finding, Tally, scarce};

#[derive(Clone, Debug)]
pub struct Trouble {
    /// The seed of the order of the ranks, and how often they take turns.
    pub order: u64,
    pub one_in: u64,
    pub faults: Vec<Fault>,
}

/// Ranks beyond the last wrap around.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// A system call fails.
    Fails { rank: usize, nth: usize, errno: i32 },
    /// From some write on, the disk is full.
    Full { rank: usize, from: usize },
    /// Reads and writes move few bytes.
    Short { rank: usize, bytes: usize },
    /// A large request for memory is refused.
    Memory { rank: usize, nth: u64 },
    /// The process ends at one of its messages or system calls.
    Dies { rank: usize, nth: u64 },
    /// The job ends.
    AllDie { nth: u64 },
}

/// How many messages and system calls a rank makes in a call at most, roughly.
const CALLS: usize = 160;

impl Trouble {
    pub fn none() -> Trouble {
        Trouble {
            order: 0,
            one_in: 0,
            faults: Vec::new(),
        }
    }

    /// Mostly one fault, sometimes none or two.
    pub fn random(chance: &mut Chance, ranks: usize) -> Trouble {
        let number = chance.any(&[0, 0, 1, 1, 1, 2]);
        Trouble {
            order: chance.number(),
            one_in: chance.any(&[0, 0, 2, 8]),
            faults: (0..number).map(|_| Fault::random(chance, ranks)).collect(),
        }
    }

    /// As [`Trouble::random`] for calls that use no files.
    pub fn deaths(chance: &mut Chance, ranks: usize) -> Trouble {
        let mut trouble = Trouble::random(chance, ranks);
        for fault in &mut trouble.faults {
            let (rank, nth) = (chance.below(ranks), chance.depth(CALLS / 2) as u64);
            *fault = Fault::Dies { rank, nth };
        }
        trouble
    }

    /// Ways to have less of it.
    pub fn smaller(&self) -> Vec<Trouble> {
        let mut all = Vec::new();
        for index in 0..self.faults.len() {
            let mut less = self.clone();
            less.faults.remove(index);
            all.push(less);
        }
        if self.one_in != 0 {
            all.push(Trouble {
                one_in: 0,
                order: 0,
                ..self.clone()
            });
        }
        all
    }

    fn schedule(&self, ranks: usize) -> RankSchedule {
        let mut schedule = RankSchedule {
            seed: self.order,
            one_in: self.one_in,
            ..RankSchedule::default()
        };
        for fault in &self.faults {
            match *fault {
                Fault::Dies { rank, nth } => schedule.deaths.push((rank % ranks, nth)),
                Fault::AllDie { nth } => schedule.end = Some(nth),
                _ => (),
            }
        }
        schedule
    }

    fn rules(&self, rank: usize, ranks: usize) -> Vec<faults::Rule> {
        let is_own = |other: usize| other % ranks == rank;
        let rule = |fault: &Fault| match *fault {
            Fault::Fails { rank, nth, errno } if is_own(rank) => {
                Some(faults::fail(Errno::from_raw_os_error(errno)).at(nth))
            }
            Fault::Full { rank, from } if is_own(rank) => {
                let full = faults::fail(Errno::NOSPC).of(Operation::Write);
                Some(full.from(from))
            }
            Fault::Short { rank, bytes } if is_own(rank) => Some(faults::short(bytes)),
            _ => None,
        };
        self.faults.iter().filter_map(rule).collect()
    }

    fn refused(&self, rank: usize, ranks: usize) -> Option<u64> {
        self.faults.iter().find_map(|fault| match *fault {
            Fault::Memory { rank: own, nth } if own % ranks == rank => Some(nth),
            _ => None,
        })
    }

    /// Runs `f` as one rank on each of `nodes`.
    pub fn call<T: Send>(
        &self,
        what: &'static str,
        nodes: &[u64],
        tally: &mut Tally,
        f: impl Fn(&LocalComm) -> Result<T, String> + Sync,
    ) -> Checked<Outcome<T>> {
        let ranks = nodes.len();
        let fired = AtomicBool::new(false);
        let ended = run_scheduled(nodes.to_vec(), &self.schedule(ranks), |comm| {
            let turn = comm.turn();
            let _watch = faults::watch(move || turn.point());
            let plan = faults::plan(self.rules(comm.rank(), ranks));
            scarce::refuse(self.refused(comm.rank(), ranks));
            let verdict = f(&comm);
            let happened = plan.fired() || scarce::has_refused();
            fired.fetch_or(happened, Ordering::Relaxed);
            verdict
        });
        if let Some(waits) = ended.deadlock {
            return Err(Finding(format!("{what} never returns: {waits}")));
        }
        tally.trace(&ended.calls);
        let mut verdicts = Vec::new();
        for (rank, end) in ended.ranks.into_iter().enumerate() {
            verdicts.push(match end {
                End::Returned(verdict) => Some(verdict),
                End::Died => None,
                End::Panicked(text) => {
                    return Err(Finding(format!("rank {rank} panics in {what}: {text}")));
                }
            });
        }
        let mut outcome = Outcome {
            verdicts,
            troubled: fired.into_inner(),
        };
        outcome.troubled |= outcome.any_died();
        self.note(what, &outcome, tally);
        match outcome.any_died() {
            true => Ok(outcome),
            false => outcome.check_unity(what),
        }
    }

    fn note<T>(&self, what: &'static str, outcome: &Outcome<T>, tally: &mut Tally) {
        tally.note(what);
        if outcome.any_ok() {
            tally.note(tally_ok(what));
        }
        if outcome.troubled {
            self.faults
                .iter()
                .for_each(|fault| tally.note(fault.kind()));
        }
    }
}

fn tally_ok(what: &'static str) -> &'static str {
    match what {
        "apply" => "apply succeeds",
        "recover" => "recover succeeds",
        "verify" => "verify succeeds",
        "write_gather" => "write_gather succeeds",
        "read_scatter" => "read_scatter succeeds",
        "Fenix store and commit" => "Fenix store and commit succeeds",
        "Fenix restore" => "Fenix restore succeeds",
        _ => "other call succeeds",
    }
}

impl Fault {
    fn random(chance: &mut Chance, ranks: usize) -> Fault {
        let rank = chance.below(ranks);
        match chance.below(9) {
            8 => Fault::Memory {
                rank,
                nth: chance.depth(6) as u64,
            },
            0 | 1 => Fault::Fails {
                rank,
                nth: chance.depth(CALLS / 2),
                errno: chance
                    .any(&[Errno::IO, Errno::NOSPC, Errno::ACCESS])
                    .raw_os_error(),
            },
            2 => Fault::Full {
                rank,
                from: chance.depth(8),
            },
            3 => Fault::Short {
                rank,
                bytes: chance.within(1, 7),
            },
            4 | 5 => Fault::Dies {
                rank,
                nth: chance.depth(CALLS) as u64,
            },
            _ => Fault::AllDie {
                nth: chance.depth(CALLS * ranks) as u64,
            },
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Fault::Fails { .. } => "fault: a system call fails",
            Fault::Full { .. } => "fault: a disk is full",
            Fault::Short { .. } => "fault: short reads and writes",
            Fault::Memory { .. } => "fault: memory is refused",
            Fault::Dies { .. } => "fault: a rank dies in a call",
            Fault::AllDie { .. } => "fault: all ranks die in a call",
        }
    }
}

/// What came of a call.
pub struct Outcome<T> {
    /// Of each rank; nothing from those that died.
    pub verdicts: Vec<Option<Result<T, String>>>,
    /// Whether any fault took place.
    pub troubled: bool,
}

impl<T> Outcome<T> {
    pub fn all_ok(&self) -> bool {
        self.verdicts.iter().all(|v| matches!(v, Some(Ok(_))))
    }

    /// Success anywhere is a promise: a rank that hears it may go on.
    pub fn any_ok(&self) -> bool {
        self.verdicts.iter().any(|v| matches!(v, Some(Ok(_))))
    }

    pub fn any_died(&self) -> bool {
        self.verdicts.iter().any(Option::is_none)
    }

    /// What the ranks say that failed.
    pub fn errors(&self) -> String {
        let each = self.verdicts.iter().enumerate();
        let texts = each.filter_map(|(rank, verdict)| match verdict {
            Some(Err(text)) => Some(format!("rank {rank}: {text}")),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n  ")
    }

    fn check_unity(self, what: &str) -> Checked<Self> {
        if self.any_ok() && !self.all_ok() {
            let errors = self.errors();
            return Err(Finding(format!(
                "{what} succeeds on some ranks only:\n  {errors}"
            )));
        }
        Ok(self)
    }
}
