//! Lives of jobs that write the trees of all ranks into gathered files and read them back.
//!
//! Each write gives every rank a new tree. After a write that failed, the old or the new trees are there, on all ranks.

use std::path::{Path, PathBuf};

use stanchion::comm::Comm;
use stanchion::kvtree::{Tree, gather};

use crate::chance::{Chance, hash};
use crate::disk::{Disks, Image};
use crate::reduce::{shorter, simpler};
use crate::trouble::{Outcome, Trouble};
use crate::{Checked, Finding, Life, Tally};

#[derive(Clone, Debug)]
pub struct GatherLife {
    pub ranks: usize,
    /// Packed bytes of a file: small ones give many files and maps of maps.
    pub segment: u64,
    /// Most values of a rank.
    pub values: usize,
    pub steps: Vec<Step>,
}

/// Ranks and files beyond the last wrap around.
#[derive(Clone, Debug)]
pub enum Step {
    Write(Trouble),
    Read(Trouble),
    /// One process reads all.
    ReadSingle,
    Remove {
        file: usize,
    },
    Flip {
        file: usize,
        bit: usize,
    },
    /// All files are what they were after an earlier write.
    Return {
        age: usize,
    },
    /// One file is what it was then.
    ReturnOne {
        age: usize,
        file: usize,
    },
    /// The job goes on with another number of ranks.
    Resize {
        ranks: usize,
    },
}

impl Life for GatherLife {
    fn random(chance: &mut Chance) -> GatherLife {
        let ranks = chance.within(1, 9);
        let first = Step::Write(Trouble::none());
        let others = chance.within(1, 10);
        let mut steps = vec![first];
        steps.extend((0..others).map(|_| step(chance, ranks)));
        steps.push(Step::Read(Trouble::none()));
        steps.push(Step::ReadSingle);
        GatherLife {
            ranks,
            segment: chance.any(&[1 << 20, 128, 128, 400]),
            values: chance.within(1, 20),
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

    fn smaller(&self) -> Vec<GatherLife> {
        let with = |steps| GatherLife {
            steps,
            ..self.clone()
        };
        let mut all: Vec<_> = shorter(&self.steps).into_iter().map(with).collect();
        for ranks in [self.ranks.div_ceil(2), (self.ranks - 1).max(1)] {
            if ranks < self.ranks {
                all.push(GatherLife {
                    ranks,
                    ..self.clone()
                });
            }
        }
        if self.values > 1 {
            all.push(GatherLife {
                values: 1,
                ..self.clone()
            });
        }
        all.extend(simpler(&self.steps, Step::smaller).into_iter().map(with));
        all
    }
}

fn step(chance: &mut Chance, ranks: usize) -> Step {
    let file = chance.below(12);
    match chance.below(12) {
        0..=3 => Step::Write(Trouble::random(chance, ranks)),
        4..=6 => Step::Read(Trouble::random(chance, ranks)),
        7 | 8 => Step::ReadSingle,
        9 if chance.one_in(2) => Step::Remove { file },
        9 => Step::Flip {
            file,
            bit: chance.number() as usize >> 8,
        },
        10 => {
            let age = chance.below(3);
            match chance.one_in(3) {
                true => Step::Return { age },
                false => Step::ReturnOne { age, file },
            }
        }
        _ => Step::Resize {
            ranks: chance.within(1, 9),
        },
    }
}

impl Step {
    fn smaller(&self) -> Vec<Step> {
        match self {
            Step::Write(trouble) => trouble.smaller().into_iter().map(Step::Write).collect(),
            Step::Read(trouble) => trouble.smaller().into_iter().map(Step::Read).collect(),
            _ => Vec::new(),
        }
    }
}

struct Job<'a> {
    life: &'a GatherLife,
    disk: Disks,
    ranks: usize,
    writes: usize,
    /// How many ranks took part in each write.
    sizes: Vec<usize>,
    /// Writes that may be in force; `None` is that there is none.
    candidates: Vec<Option<usize>>,
    /// Whether files were damaged since the last write that succeeded.
    is_damaged: bool,
    /// The files after each write that succeeded, and its number.
    past: Vec<(usize, Image)>,
}

/// What a rank writes, as text that can be compared.
fn content(write: usize, rank: usize, most: usize) -> Vec<String> {
    let number = 1 + hash(&[rank as u64, 7]) as usize % most;
    let mut values: Vec<_> = (0..number)
        .map(|value| format!("{rank}.{value}.{write}"))
        .collect();
    values.sort();
    values
}

fn tree(values: &[String]) -> Tree {
    let mut tree = Tree::new();
    for value in values {
        let key = std::ffi::CString::new(value.as_str()).expect("no NUL in numbers");
        tree.edit().child(c"V").child(&key);
    }
    tree
}

fn values(tree: stanchion::kvtree::TreeRef) -> Vec<String> {
    let below = tree.get(c"V");
    let keys = below.iter().flat_map(|values| values.iter());
    let text = keys.filter_map(|entry| entry.key().map(|key| key.to_string_lossy().into_owned()));
    let mut values: Vec<_> = text.collect();
    values.sort();
    values
}

impl<'a> Job<'a> {
    fn new(life: &'a GatherLife) -> Job<'a> {
        Job {
            life,
            disk: Disks::new(1),
            ranks: life.ranks,
            writes: 0,
            sizes: Vec::new(),
            candidates: vec![None],
            is_damaged: false,
            past: Vec::new(),
        }
    }

    fn prefix(&self) -> PathBuf {
        self.disk.of(0).join("g")
    }

    fn take(&mut self, step: &Step, tally: &mut Tally) -> Checked {
        match step {
            Step::Write(trouble) => return self.write(trouble, tally),
            Step::Read(trouble) => return self.read(trouble, tally),
            Step::ReadSingle => return self.read_single(tally),
            Step::Resize { ranks } => {
                tally.note("another number of ranks");
                self.ranks = *ranks;
            }
            Step::Remove { file } => {
                tally.note("a file is lost");
                if let Some((name, _)) = self.pick(*file) {
                    self.disk.remove(0, &name);
                    self.is_damaged = true;
                }
            }
            Step::Flip { file, bit } => {
                tally.note("a bit flips");
                if let Some((name, mut bytes)) = self.pick(*file) {
                    let bit = bit % (8 * bytes.len()).max(1);
                    if let Some(byte) = bytes.get_mut(bit / 8) {
                        *byte ^= 1 << (bit % 8);
                    }
                    self.disk.write(0, &name, &bytes);
                    self.is_damaged = true;
                }
            }
            Step::Return { age } => {
                tally.note("old files return");
                if let Some(index) = self.past.len().checked_sub(1 + age) {
                    let (write, image) = &self.past[index];
                    self.disk.put_back(0, image, |_| true);
                    self.candidates = vec![Some(*write)];
                    self.is_damaged = false;
                }
            }
            Step::ReturnOne { age, file } => {
                tally.note("an old file returns");
                if let Some(index) = self.past.len().checked_sub(1 + age) {
                    let (write, image) = &self.past[index];
                    if let Some((name, bytes)) = nth(image, *file) {
                        self.disk.write(0, &name, &bytes);
                        // An old top map may find all that it names.
                        self.candidates.push(Some(*write));
                        self.is_damaged = true;
                    }
                }
            }
        }
        Ok(())
    }

    fn pick(&self, file: usize) -> Option<(String, Vec<u8>)> {
        nth(&self.disk.image(0), file)
    }

    fn write(&mut self, trouble: &Trouble, tally: &mut Tally) -> Checked {
        let (prefix, write) = (self.prefix(), self.writes);
        let outcome = trouble.call("write_gather", &vec![0; self.ranks], tally, |comm| {
            let tree = tree(&content(write, comm.rank(), self.life.values));
            gather::write_gather_in_segments(comm, &prefix, tree.view(), self.life.segment)
                .map_err(|error| error.to_string())
        })?;
        self.writes += 1;
        self.sizes.push(self.ranks);
        match outcome.any_ok() {
            true => {
                self.candidates = vec![Some(write)];
                self.is_damaged = false;
            }
            false => self.candidates.push(Some(write)),
        }
        if outcome.all_ok() {
            self.past.push((write, self.disk.image(0)));
        }
        Ok(())
    }

    fn read(&mut self, trouble: &Trouble, tally: &mut Tally) -> Checked {
        let prefix = self.prefix();
        let outcome = trouble.call("read_scatter", &vec![0; self.ranks], tally, |comm| {
            let mut tree = Tree::new();
            gather::read_scatter(comm, Some(&prefix), Some(tree.edit()))
                .map_err(|error| error.to_string())?;
            Ok(values(tree.view()))
        })?;
        let found: Vec<_> = found_by(&outcome).collect();
        self.check_read(&found, !outcome.troubled, &outcome.errors())
    }

    fn read_single(&mut self, tally: &mut Tally) -> Checked {
        tally.note("read_scatter_single");
        let (found, error) = match read_single(&self.prefix()) {
            Ok(found) => (found, String::new()),
            Err(error) => (Vec::new(), error),
        };
        let ranks = std::mem::replace(&mut self.ranks, found.len());
        // One process reads what any number of ranks has written.
        let mut known = self
            .candidates
            .iter()
            .flatten()
            .map(|write| self.sizes[*write]);
        if found.is_empty() {
            self.ranks = known.next_back().unwrap_or(ranks);
        }
        let found: Vec<_> = found.iter().map(|(rank, values)| (*rank, values)).collect();
        let checked = self.check_read(&found, true, &error);
        self.ranks = ranks;
        checked
    }

    /// What was read must be one write that may be in force; and something must be read if something must be there.
    fn check_read(
        &mut self,
        found: &[(usize, &Vec<String>)],
        untroubled: bool,
        errors: &str,
    ) -> Checked {
        let size = self.ranks;
        let matches = |write: usize| {
            let same = |(rank, values): &(usize, &Vec<String>)| {
                **values == content(write, *rank, self.life.values)
            };
            self.sizes[write] == size && found.iter().all(same)
        };
        if !found.is_empty() {
            let known = self.candidates.iter().flatten().copied();
            let read: Vec<_> = known.filter(|write| matches(*write)).collect();
            if read.is_empty() {
                return Err(Finding(format!(
                    "a read succeeds with what is none of {:?}: {found:?}",
                    self.candidates
                )));
            }
            self.candidates = read.into_iter().map(Some).collect();
            return Ok(());
        }
        let fits = |write: &Option<usize>| write.is_some_and(|write| self.sizes[write] == size);
        match untroubled && !self.is_damaged && self.candidates.iter().all(fits) {
            true => Err(Finding(format!(
                "{:?} cannot be read:\n  {errors}",
                self.candidates
            ))),
            false => Ok(()),
        }
    }
}

/// A file by its number; those beyond the last wrap around.
fn nth(image: &Image, file: usize) -> Option<(String, Vec<u8>)> {
    let found = image.iter().nth(file % image.len().max(1));
    found.map(|(name, bytes)| (name.clone(), bytes.clone()))
}

fn found_by(outcome: &Outcome<Vec<String>>) -> impl Iterator<Item = (usize, &Vec<String>)> {
    let each = outcome.verdicts.iter().enumerate();
    each.filter_map(|(rank, verdict)| Some((rank, verdict.as_ref()?.as_ref().ok()?)))
}

fn read_single(prefix: &Path) -> Result<Vec<(usize, Vec<String>)>, String> {
    let mut all = Tree::new();
    gather::read_scatter_single(prefix, all.edit()).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for entry in all.view().iter() {
        let key = entry.key().map(|key| key.to_string_lossy().into_owned());
        let rank = key.and_then(|key| key.parse().ok());
        let rank = rank.ok_or("a key is not a rank")?;
        found.push((rank, entry.tree().map(values).unwrap_or_default()));
    }
    Ok(found)
}
