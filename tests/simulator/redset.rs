//! Lives of jobs that protect their files with redset.
//!
//! Before every apply the job writes a new generation of its files, in place of the old ones or beside them. The model
//! knows the bytes of every generation, which generations may be in force after calls that failed (the old one or the
//! new one), and which ranks have lost something since. A success must leave one generation on all ranks.

mod job;

use stanchion::redset::{Config, Scheme};

use self::job::Job;
use crate::chance::Chance;
use crate::reduce::{shorter, simpler};
use crate::trouble::Trouble;
use crate::{Checked, Finding, Life, Tally};

#[derive(Clone, Debug)]
pub struct RedsetLife {
    pub ranks: usize,
    /// Least size of a set.
    pub set_size: usize,
    /// Ranks of a node open each other's files; those of a group are expected to fail together.
    pub ranks_per_node: usize,
    pub ranks_per_group: usize,
    /// Most files of a rank, and most bytes of a file.
    pub files: usize,
    pub size: usize,
    /// Whether a file has another length in every generation.
    pub resizes: bool,
    /// Whether a new generation overwrites the old one.
    pub in_place: bool,
    /// Largest message.
    pub block: Option<i32>,
    pub steps: Vec<Step>,
}

/// Ranks, files and ages beyond the last wrap around.
#[derive(Clone, Debug)]
pub enum Step {
    Apply {
        scheme: Scheme,
        trouble: Trouble,
    },
    Recover(Trouble),
    Verify(Trouble),
    Unapply(Trouble),
    /// Disks are empty.
    Lose {
        ranks: Vec<usize>,
    },
    Remove {
        rank: usize,
        file: usize,
    },
    Flip {
        rank: usize,
        file: usize,
        bit: usize,
    },
    Cut {
        rank: usize,
        file: usize,
    },
    /// A disk returns as it was after an earlier apply: its data (1), redundancy (2), descriptor (4).
    Return {
        rank: usize,
        age: usize,
        parts: u8,
    },
    /// The job goes on with a rank less.
    Shrink,
}

/// One that a set of so many ranks can have, mostly.
fn scheme(chance: &mut Chance, set_size: usize) -> Scheme {
    let most = (set_size - 1).min(3) + usize::from(chance.one_in(20));
    match chance.below(8) {
        0 if chance.one_in(2) => Scheme::Single,
        1 | 2 => Scheme::Copies {
            replicas: chance.within(1, most),
        },
        0 | 3 | 4 => Scheme::Xor,
        _ => Scheme::ReedSolomon {
            k: chance.within(1, most),
        },
    }
}

fn step(chance: &mut Chance, ranks: usize, set_size: usize, usual: Scheme) -> Step {
    let (rank, file) = (chance.below(ranks), chance.below(6));
    match chance.below(20) {
        0..=3 => Step::Apply {
            scheme: if chance.one_in(6) {
                scheme(chance, set_size)
            } else {
                usual
            },
            trouble: Trouble::random(chance, ranks),
        },
        4..=8 => Step::Recover(Trouble::random(chance, ranks)),
        9 => Step::Verify(Trouble::random(chance, ranks)),
        10 if chance.one_in(3) => Step::Unapply(Trouble::random(chance, ranks)),
        10 | 11 => {
            let bit = chance.number() as usize >> 8;
            Step::Flip { rank, file, bit }
        }
        12..=14 => {
            let number = chance.any(&[1, 1, 1, 2, 2, 3]);
            let ranks = (0..number).map(|_| chance.below(ranks)).collect();
            Step::Lose { ranks }
        }
        15 => Step::Remove { rank, file },
        16 if chance.one_in(3) => Step::Shrink,
        16 => Step::Cut { rank, file },
        _ => Step::Return {
            rank,
            age: chance.depth(4),
            parts: chance.any(&[7, 7, 7, 1, 2, 3, 4, 5, 6]),
        },
    }
}

impl Life for RedsetLife {
    fn random(chance: &mut Chance) -> RedsetLife {
        let fewest = if chance.one_in(30) { 1 } else { 2 };
        let ranks = chance.within(fewest, 9);
        let ranks_per_group = chance.any(&[1, 1, 1, 2]);
        let set_size = chance.within(2, (ranks / ranks_per_group).max(2));
        let usual = scheme(chance, set_size);
        let first = Step::Apply {
            scheme: usual,
            trouble: Trouble::none(),
        };
        let others = chance.within(2, 12);
        let mut steps = vec![first];
        steps.extend((0..others).map(|_| step(chance, ranks, set_size, usual)));
        steps.push(Step::Recover(Trouble::none()));
        RedsetLife {
            ranks,
            set_size,
            ranks_per_node: chance.any(&[1, 1, 2, ranks]),
            ranks_per_group,
            files: chance.within(1, 3),
            size: chance.any(&[20, 300, 3000]),
            resizes: chance.one_in(4),
            in_place: chance.one_in(2),
            block: chance.any(&[None, Some(64), Some(700)]),
            steps,
        }
    }

    fn live(&self, tally: &mut Tally) -> Checked {
        let mut config = Config::current();
        config.buf_size = self.block;
        config.set();
        let mut job = Job::new(self);
        for (number, step) in self.steps.iter().enumerate() {
            job.take(step, tally)
                .map_err(|finding| Finding(format!("step {number}: {}", finding.0)))?;
        }
        Ok(())
    }

    fn smaller(&self) -> Vec<RedsetLife> {
        let with = |steps| RedsetLife {
            steps,
            ..self.clone()
        };
        let mut all: Vec<_> = shorter(&self.steps).into_iter().map(with).collect();
        let mut other = |change: &dyn Fn(&mut RedsetLife)| {
            let mut life = self.clone();
            change(&mut life);
            if format!("{life:?}") != format!("{self:?}") {
                all.push(life);
            }
        };
        other(&|life| life.ranks = life.ranks.div_ceil(2));
        other(&|life| life.ranks = (life.ranks - 1).max(1));
        other(&|life| life.files = 1);
        other(&|life| life.size = 20);
        other(&|life| life.block = None);
        other(&|life| life.resizes = false);
        other(&|life| life.in_place = false);
        other(&|life| life.ranks_per_node = 1);
        other(&|life| life.ranks_per_group = 1);
        other(&|life| life.set_size = life.ranks.max(2));
        all.extend(simpler(&self.steps, Step::smaller).into_iter().map(with));
        all
    }
}

impl Step {
    fn smaller(&self) -> Vec<Step> {
        let less = |trouble: &Trouble| trouble.smaller().into_iter();
        match self {
            Step::Apply { scheme, trouble } => less(trouble)
                .map(|trouble| Step::Apply {
                    scheme: *scheme,
                    trouble,
                })
                .collect(),
            Step::Recover(trouble) => less(trouble).map(Step::Recover).collect(),
            Step::Verify(trouble) => less(trouble).map(Step::Verify).collect(),
            Step::Unapply(trouble) => less(trouble).map(Step::Unapply).collect(),
            Step::Lose { ranks } if ranks.len() > 1 => {
                let one = |rank: &usize| Step::Lose { ranks: vec![*rank] };
                ranks.iter().map(one).collect()
            }
            _ => Vec::new(),
        }
    }
}
