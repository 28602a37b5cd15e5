//! Lives of jobs that keep their data in memory with Fenix.
//!
//! All ranks make the same calls, so the model knows from the list of calls what each rank had at each commit. A commit
//! is each rank's own: after a failure the survivors may be some commits apart, and go back to what all of them have.

mod job;

use stanchion::fenix::Policy;

use self::job::Job;
use crate::chance::Chance;
use crate::reduce::{shorter, simpler};
use crate::trouble::Trouble;
use crate::{Checked, Finding, Life, Tally};

#[derive(Clone, Debug)]
pub struct FenixLife {
    pub ranks: usize,
    pub policy: Policy,
    /// Snapshots kept besides the latest.
    pub depth: Option<u32>,
    pub checksums: bool,
    /// Most elements of a member.
    pub elements: u64,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub enum Step {
    Work {
        calls: Vec<Call>,
        trouble: Trouble,
    },
    /// Restores everything and compares it.
    Restore(Trouble),
    /// Processes end between two calls and others take their places.
    Lose {
        ranks: Vec<usize>,
    },
    /// A process ends and none takes its place.
    Shrink {
        rank: usize,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Call {
    Store {
        member: i32,
        subset: u64,
    },
    StartStore {
        member: i32,
        subset: u64,
    },
    Test,
    Commit,
    /// All ranks come together before they commit.
    BarrierAndCommit,
    Reconcile,
}

const MEMBERS: i32 = 3;

impl Life for FenixLife {
    fn random(chance: &mut Chance) -> FenixLife {
        let ranks = chance.within(2, 9);
        let separation = chance.within(1, ranks) as u32;
        let set_size = chance.within(3, 6) as u32;
        let policy = match chance.below(4) {
            0 if ranks > 2 => Policy::Parity {
                separation,
                set_size,
            },
            1 if ranks > 2 => Policy::ReedSolomon {
                separation,
                set_size,
                k: chance.within(1, ranks.min(set_size as usize) - 2) as u32,
            },
            _ => Policy::Copy { separation },
        };
        let number = chance.within(1, 8);
        let mut steps = vec![Step::Work {
            calls: calls(chance),
            trouble: Trouble::none(),
        }];
        steps.extend((0..number).map(|_| step(chance, ranks)));
        steps.push(Step::Restore(Trouble::none()));
        FenixLife {
            ranks,
            policy,
            depth: chance.any(&[Some(0), Some(0), Some(1), Some(3), None]),
            checksums: chance.one_in(2),
            elements: chance.any(&[3, 40, 400]),
            steps,
        }
    }

    fn live(&self, tally: &mut Tally) -> Checked {
        let mut job = Job::new(self);
        for (number, step) in self.steps.iter().enumerate() {
            job.take(step, tally)
                .map_err(|finding| Finding(format!("step {number}: {}", finding.0)))?;
        }
        Ok(())
    }

    fn smaller(&self) -> Vec<FenixLife> {
        let with = |steps| FenixLife {
            steps,
            ..self.clone()
        };
        let mut all: Vec<_> = shorter(&self.steps).into_iter().map(with).collect();
        for ranks in [self.ranks.div_ceil(2), self.ranks - 1] {
            let least = match self.policy {
                Policy::ReedSolomon { k, .. } => k as usize + 2,
                _ => 3,
            };
            if ranks < self.ranks && ranks >= least {
                all.push(FenixLife {
                    ranks,
                    ..self.clone()
                });
            }
        }
        if self.elements > 3 {
            all.push(FenixLife {
                elements: 3,
                ..self.clone()
            });
        }
        all.extend(simpler(&self.steps, Step::smaller).into_iter().map(with));
        all
    }
}

fn calls(chance: &mut Chance) -> Vec<Call> {
    let number = chance.within(1, 9);
    let mut call = |_| {
        let (member, subset) = (chance.below(MEMBERS as usize) as i32, chance.number());
        match chance.below(10) {
            0..=3 => Call::Store { member, subset },
            4 | 5 => Call::StartStore { member, subset },
            6 => Call::Test,
            7 => Call::Commit,
            8 => Call::BarrierAndCommit,
            _ => Call::Reconcile,
        }
    };
    (0..number).map(&mut call).collect()
}

fn step(chance: &mut Chance, ranks: usize) -> Step {
    match chance.below(10) {
        0..=4 => Step::Work {
            calls: calls(chance),
            trouble: Trouble::deaths(chance, ranks),
        },
        5 | 6 => Step::Restore(Trouble::deaths(chance, ranks)),
        9 if chance.one_in(3) => Step::Shrink {
            rank: chance.below(ranks),
        },
        _ => {
            let number = chance.any(&[1, 1, 1, 2]);
            let ranks = (0..number).map(|_| chance.below(ranks)).collect();
            Step::Lose { ranks }
        }
    }
}

impl Step {
    fn smaller(&self) -> Vec<Step> {
        match self {
            Step::Work { calls, trouble } => {
                let fewer = shorter(calls).into_iter().map(|calls| Step::Work {
                    calls,
                    trouble: trouble.clone(),
                });
                let less = trouble.smaller().into_iter().map(|trouble| Step::Work {
                    calls: calls.clone(),
                    trouble,
                });
                fewer.chain(less).collect()
            }
            Step::Restore(trouble) => trouble.smaller().into_iter().map(Step::Restore).collect(),
            Step::Lose { ranks } if ranks.len() > 1 => {
                let one = |rank: &usize| Step::Lose { ranks: vec![*rank] };
                ranks.iter().map(one).collect()
            }
            _ => Vec::new(),
        }
    }
}
