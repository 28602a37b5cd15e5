//! The job of a life, its disks, and the model of what they must hold.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Mutex;

use stanchion::comm::Comm;
use stanchion::comm::local::LocalComm;
use stanchion::redset::{self, Redset, Scheme};

use super::{RedsetLife, Step};
use crate::chance::{self, hash};
use crate::disk::{Disks, Image};
use crate::trouble::{Outcome, Trouble};
use crate::{Checked, Finding, Tally};

/// What the job has given to one apply.
struct Generation {
    scheme: Scheme,
    /// The set of each rank; empty where apply did not get so far.
    sets: Vec<Vec<usize>>,
    /// The files of each rank, and those that apply writes.
    files: Vec<Image>,
    redundancy: Vec<Vec<String>>,
}

impl Generation {
    /// Whether the scheme promises to survive that these ranks have lost something.
    fn tolerates(&self, lost: &BTreeSet<usize>) -> bool {
        self.sets.iter().all(|set| {
            let is_lost = |place: &usize| lost.contains(&set[place % set.len()]);
            let losses = (0..set.len()).filter(is_lost).count();
            match self.scheme {
                Scheme::Single => losses == 0,
                Scheme::Xor => losses <= 1,
                Scheme::ReedSolomon { k } => losses <= k,
                Scheme::Copies { replicas } => (0..set.len()).filter(is_lost).all(|place| {
                    let mut holders = (1..=replicas).map(|distance| place + distance);
                    holders.any(|holder| !is_lost(&holder))
                }),
            }
        })
    }
}

pub(super) struct Job<'a> {
    life: &'a RedsetLife,
    disks: Disks,
    ranks: usize,
    generations: Vec<Generation>,
    /// Generations that may be in force.
    candidates: Vec<usize>,
    /// Whether recover must succeed when no more is lost than the scheme tolerates.
    is_recoverable: bool,
    /// Whether the last call completed the set, so that verify must find it whole.
    is_whole: bool,
    /// Ranks that had lost something before the last call and may not have it back.
    damaged: BTreeSet<usize>,
    /// The disks after the last call, and after each apply that succeeded.
    last: Vec<Image>,
    past: Vec<Vec<Image>>,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn is_redundancy(name: &str) -> bool {
    name.contains(".redset")
}

/// A file that is being rebuilt.
fn is_unfinished(name: &str) -> bool {
    name.ends_with(".stanchion-part")
}

/// In the sense of [`Step::Return`].
fn part_of(name: &str) -> u8 {
    match (is_redundancy(name), name.contains(".mem_")) {
        (false, _) => 1,
        (true, true) => 2,
        (true, false) => 4,
    }
}

fn data(image: &Image) -> Image {
    let files = image.iter().filter(|(name, _)| !is_redundancy(name));
    files
        .map(|(name, bytes)| (name.clone(), bytes.clone()))
        .collect()
}

impl<'a> Job<'a> {
    pub(super) fn new(life: &'a RedsetLife) -> Job<'a> {
        Job {
            life,
            disks: Disks::new(life.ranks),
            ranks: life.ranks,
            generations: Vec::new(),
            candidates: Vec::new(),
            is_recoverable: false,
            is_whole: false,
            damaged: BTreeSet::new(),
            last: vec![Image::new(); life.ranks],
            past: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, step: &Step, tally: &mut Tally) -> Checked {
        match step {
            Step::Apply { scheme, trouble } => return self.apply(*scheme, trouble, tally),
            Step::Recover(trouble) => return self.recover(trouble, tally),
            Step::Verify(trouble) => return self.verify(trouble, tally),
            Step::Unapply(trouble) => return self.unapply(trouble, tally),
            Step::Shrink => return self.shrink(tally),
            Step::Lose { ranks } => {
                tally.note("disks are lost");
                for rank in ranks {
                    let nothing = Image::new();
                    self.disks.put_back(rank % self.ranks, &nothing, |_| true);
                }
            }
            Step::Remove { rank, file } => {
                tally.note("a file is lost");
                if let Some((rank, name, _)) = self.pick(*rank, *file) {
                    self.disks.remove(rank, &name);
                }
            }
            Step::Flip { rank, file, bit } => {
                tally.note("a bit flips");
                if let Some((rank, name, mut bytes)) = self.pick(*rank, *file) {
                    let bit = bit % (8 * bytes.len()).max(1);
                    if let Some(byte) = bytes.get_mut(bit / 8) {
                        *byte ^= 1 << (bit % 8);
                    }
                    self.disks.write(rank, &name, &bytes);
                }
            }
            Step::Cut { rank, file } => {
                tally.note("a file is cut short");
                if let Some((rank, name, bytes)) = self.pick(*rank, *file) {
                    self.disks.write(rank, &name, &bytes[..bytes.len() / 2]);
                }
            }
            Step::Return { rank, age, parts } => {
                tally.note("a disk returns");
                let rank = rank % self.ranks;
                if let Some(index) = self.past.len().checked_sub(1 + age) {
                    let of_parts = |name: &str| part_of(name) & parts != 0;
                    self.disks.put_back(rank, &self.past[index][rank], of_parts);
                }
            }
        }
        Ok(())
    }

    fn pick(&self, rank: usize, file: usize) -> Option<(usize, String, Vec<u8>)> {
        let rank = rank % self.ranks;
        let image = self.disks.image(rank);
        let (name, bytes) = image.iter().nth(file % image.len().max(1))?;
        Some((rank, name.clone(), bytes.clone()))
    }

    fn images(&self) -> Vec<Image> {
        (0..self.ranks).map(|rank| self.disks.image(rank)).collect()
    }

    /// Ranks that have lost or damaged something, as far as can be known.
    fn touched(&self) -> BTreeSet<usize> {
        let mut touched = self.damaged.clone();
        let changed = (0..self.ranks).filter(|rank| self.disks.image(*rank) != self.last[*rank]);
        touched.extend(changed);
        touched
    }

    /// Whether every generation that may be in force survives this.
    fn is_tolerable(&self, touched: &BTreeSet<usize>) -> bool {
        let mut all = self.candidates.iter();
        all.all(|index| self.generations[*index].tolerates(touched))
    }

    /// Generations of which every rank has every file.
    fn present(&self) -> Vec<usize> {
        let images = self.images();
        let is_present = |index: &usize| {
            let files = &self.generations[*index].files;
            let has = |(files, image): (&Image, &Image)| {
                files
                    .iter()
                    .all(|(name, bytes)| image.get(name) == Some(bytes))
            };
            files.len() == images.len() && files.iter().zip(&images).all(has)
        };
        (0..self.generations.len()).filter(is_present).collect()
    }

    fn nodes(&self) -> Vec<u64> {
        let node = |rank: usize| (rank / self.life.ranks_per_node) as u64;
        (0..self.ranks).map(node).collect()
    }

    fn name(&self, rank: usize) -> OsString {
        self.disks.of(rank).join("ck.").into()
    }

    fn paths(&self, rank: usize, files: &Image) -> Vec<PathBuf> {
        files
            .keys()
            .map(|name| self.disks.of(rank).join(name))
            .collect()
    }

    fn create(&self, comm: &LocalComm, scheme: Scheme) -> Result<Redset<LocalComm>, String> {
        let group = (comm.rank() / self.life.ranks_per_group).to_string();
        redset::create(comm, scheme, Some(group.as_bytes()), self.life.set_size).map_err(text)
    }

    /// The files that the job writes next.
    fn new_files(&self, rank: usize) -> Image {
        let generation = self.generations.len() as u64;
        let (life, rank) = (self.life, rank as u64);
        let number = hash(&[rank, 1]) as usize % (life.files + 1);
        let file = |index: usize| {
            let shape = if life.resizes { generation } else { 0 };
            let length = hash(&[rank, index as u64, shape]) as usize % life.size;
            let name = match life.in_place {
                true => format!("f{index}"),
                false => format!("f{index}.{generation}"),
            };
            (
                name,
                chance::bytes(&[generation, rank, index as u64], length),
            )
        };
        (0..number).map(file).collect()
    }

    // ---- calls ----

    fn apply(&mut self, scheme: Scheme, trouble: &Trouble, tally: &mut Tally) -> Checked {
        let touched = self.touched();
        let files: Vec<Image> = (0..self.ranks).map(|rank| self.new_files(rank)).collect();
        for (rank, files) in files.iter().enumerate() {
            files
                .iter()
                .for_each(|(name, bytes)| self.disks.write(rank, name, bytes));
        }
        let before: Vec<Image> = self.images().iter().map(data).collect();
        let formed = Mutex::new(vec![Default::default(); self.ranks]);
        let outcome = trouble.call("apply", &self.nodes(), tally, |comm| {
            let rank = comm.rank();
            let redset = self.create(comm, scheme)?;
            let set = redset.set().map(|set| set.map.clone()).unwrap_or_default();
            let written = redset.redundancy_files(&self.name(rank)).map_err(text)?;
            formed.lock().expect("no panic")[rank] = (set, written);
            let paths = self.paths(rank, &files[rank]);
            redset.apply(&paths, &self.name(rank)).map_err(text)
        })?;
        let after: Vec<Image> = self.images().iter().map(data).collect();
        if after != before {
            return Err(Finding("apply has changed a file of the job".into()));
        }
        let (sets, written): (Vec<_>, Vec<_>) =
            formed.into_inner().expect("no panic").into_iter().unzip();
        self.generations.push(Generation {
            scheme,
            sets,
            files,
            redundancy: written.iter().map(|paths| names(paths)).collect(),
        });
        self.applied(&outcome, touched);
        Ok(())
    }

    fn applied(&mut self, outcome: &Outcome<()>, touched: BTreeSet<usize>) {
        let new = self.generations.len() - 1;
        let is_formed = self.generations[new].sets.iter().all(|set| !set.is_empty());
        self.is_whole = outcome.all_ok();
        if outcome.any_ok() {
            self.candidates = vec![new];
            self.damaged.clear();
            self.is_recoverable = true;
        } else {
            self.candidates.extend(is_formed.then_some(new));
            self.damaged = touched;
            self.is_recoverable &= !self.life.in_place;
        }
        if outcome.all_ok() {
            self.remove_older_files();
            self.past.push(self.images());
        }
        self.last = self.images();
    }

    /// A job needs its older files no longer once the new ones are protected.
    fn remove_older_files(&self) {
        let Some(newest) = self.generations.last() else {
            return;
        };
        for (rank, files) in newest.files.iter().enumerate() {
            let image = self.disks.image(rank);
            let older = data(&image)
                .into_keys()
                .filter(|name| !files.contains_key(name));
            older.for_each(|name| self.disks.remove(rank, &name));
        }
    }

    fn recover(&mut self, trouble: &Trouble, tally: &mut Tally) -> Checked {
        let touched = self.touched();
        let before = self.images();
        let outcome = trouble.call("recover", &self.nodes(), tally, |comm| {
            let (_, done) = redset::recover(comm, &self.name(comm.rank())).map_err(text)?;
            done.map_err(text)
        })?;
        let must = self.is_recoverable && self.is_tolerable(&touched);
        if outcome.any_ok() {
            self.recovered(must)?;
            self.is_whole = outcome.all_ok();
        } else {
            if must && !outcome.troubled {
                return Err(Finding(format!(
                    "recover refuses a loss within tolerance, of ranks {touched:?}:\n  {}",
                    outcome.errors()
                )));
            }
            self.check_kept(&before, &touched, outcome.any_died())?;
            self.damaged = touched;
            self.is_whole = false;
        }
        self.last = self.images();
        Ok(())
    }

    fn recovered(&mut self, must: bool) -> Checked {
        let present = self.present();
        if present.is_empty() {
            return Err(Finding(
                "recover succeeds, but the files are not those of one apply".into(),
            ));
        }
        if must && !self.candidates.iter().any(|index| present.contains(index)) {
            return Err(Finding(format!(
                "recover goes back to apply {present:?} where {:?} could be had",
                self.candidates
            )));
        }
        match self.candidates.iter().any(|index| present.contains(index)) {
            true => self.candidates.retain(|index| present.contains(index)),
            false => self.candidates = present,
        }
        self.damaged.clear();
        self.is_recoverable = true;
        Ok(())
    }

    /// A call that fails takes nothing away from ranks that had everything, and leaves them nothing, unless it was killed
    /// while it wrote.
    fn check_kept(&self, before: &[Image], touched: &BTreeSet<usize>, died: bool) -> Checked {
        let ranks = (0..self.ranks).filter(|rank| self.is_recoverable && !touched.contains(rank));
        for rank in ranks {
            let (before, after) = (data(&before[rank]), data(&self.disks.image(rank)));
            let kept = before.keys().filter(|name| !is_unfinished(name));
            let new = after.keys().filter(|name| !is_unfinished(name) || !died);
            let new = new.filter(|name| !before.contains_key(*name));
            if let Some(name) = kept
                .chain(new)
                .find(|name| before.get(*name) != after.get(*name))
            {
                return Err(Finding(format!(
                    "a call that failed has changed {name} of rank {rank}"
                )));
            }
        }
        Ok(())
    }

    fn verify(&mut self, trouble: &Trouble, tally: &mut Tally) -> Checked {
        let touched = self.touched();
        let before = self.images();
        let outcome = trouble.call("verify", &self.nodes(), tally, |comm| {
            let (_, verdict) = redset::verify(comm, &self.name(comm.rank())).map_err(text)?;
            verdict.map_err(text)
        })?;
        if self.images() != before {
            return Err(Finding("verify has changed a file".into()));
        }
        if outcome.any_ok() && self.present().is_empty() {
            return Err(Finding(
                "verify succeeds, but the files are not those of one apply".into(),
            ));
        }
        let is_intact = self.is_whole && touched.is_empty();
        if is_intact && !outcome.any_ok() && !outcome.troubled {
            return Err(Finding(format!(
                "verify refuses an intact set: {}",
                outcome.errors()
            )));
        }
        match self.is_whole && outcome.any_ok() {
            true => self.check_redundancy(),
            false => Ok(()),
        }
    }

    /// Everything that belongs to the generation in force is as the last call has left it.
    fn check_redundancy(&self) -> Checked {
        let [only] = self.candidates[..] else {
            return Ok(());
        };
        let generation = &self.generations[only];
        for rank in 0..self.ranks {
            let image = self.disks.image(rank);
            for name in &generation.redundancy[rank] {
                if image.get(name) != self.last[rank].get(name) {
                    return Err(Finding(format!(
                        "verify succeeds, but {name} of rank {rank} is damaged"
                    )));
                }
            }
        }
        Ok(())
    }

    fn unapply(&mut self, trouble: &Trouble, tally: &mut Tally) -> Checked {
        let Some(scheme) = self
            .candidates
            .last()
            .map(|last| self.generations[*last].scheme)
        else {
            return Ok(());
        };
        let before: Vec<Image> = self.images().iter().map(data).collect();
        trouble.call("unapply", &self.nodes(), tally, |comm| {
            let redset = self.create(comm, scheme)?;
            redset.unapply(&self.name(comm.rank())).map_err(text)
        })?;
        let after: Vec<Image> = self.images().iter().map(data).collect();
        if after != before {
            return Err(Finding("unapply has changed a file of the job".into()));
        }
        self.forget();
        Ok(())
    }

    /// Fewer ranks than a set was made of cannot recover it.
    fn shrink(&mut self, tally: &mut Tally) -> Checked {
        if self.ranks == 1 {
            return Ok(());
        }
        self.ranks -= 1;
        let outcome = Trouble::none().call("shrink", &self.nodes(), tally, |comm| {
            let (_, done) = redset::recover(comm, &self.name(comm.rank())).map_err(text)?;
            done.map_err(text)
        })?;
        if outcome.any_ok() && self.present().is_empty() {
            return Err(Finding("fewer ranks recover what is not theirs".into()));
        }
        self.forget();
        Ok(())
    }

    /// Nothing is promised until the next apply.
    fn forget(&mut self) {
        self.candidates.clear();
        self.damaged.clear();
        self.is_recoverable = false;
        self.is_whole = false;
        self.last = self.images();
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    let names = paths.iter().filter_map(|path| path.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}
