//! The job of a life, its groups, and the model of what they must hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use stanchion::comm::Comm;
use stanchion::comm::local::LocalComm;
use stanchion::fenix::{Attributes, Group, Policy, Regions, Settings, Stamp, Subset};

use super::{Call, FenixLife, MEMBERS, Step};
use crate::chance::{self, Chance, hash};
use crate::trouble::Trouble;
use crate::{Checked, Finding, Tally};

/// For each member, which store each element is from.
type Writes = BTreeMap<i32, BTreeMap<u64, u64>>;

pub(super) struct Job<'a> {
    life: &'a FenixLife,
    /// Nothing on ranks that are new.
    groups: Vec<Option<Group<LocalComm>>>,
    /// Number of stores so far: each has other bytes.
    stores: u64,
    /// What each rank gave to each commit, by time stamp; of this number of ranks.
    committed: BTreeMap<i32, Vec<Writes>>,
    /// Ranks that are new and have not got all of their data back.
    lost: BTreeSet<usize>,
}

/// What a rank has done in a step of work: the time stamps of its commits, and its snapshots when it began and ended.
#[derive(Default)]
struct Done {
    commits: Vec<(usize, i32)>,
    found: Vec<i32>,
}

impl<'a> Job<'a> {
    pub(super) fn new(life: &'a FenixLife) -> Job<'a> {
        Job {
            life,
            groups: (0..life.ranks).map(|_| None).collect(),
            stores: 0,
            committed: BTreeMap::new(),
            lost: BTreeSet::new(),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            id: 1,
            first_stamp: 3,
            depth: self.life.depth,
            policy: self.life.policy,
            path: None,
            checksums: self.life.checksums,
        }
    }

    pub(super) fn take(&mut self, step: &Step, tally: &mut Tally) -> Checked {
        match step {
            Step::Work { calls, trouble } => self.work(calls, trouble, tally),
            Step::Restore(trouble) => self.restore(trouble, tally),
            Step::Lose { ranks } => {
                tally.note("processes end");
                for rank in ranks {
                    let rank = rank % self.groups.len();
                    self.groups[rank] = None;
                    self.lost.insert(rank);
                }
                self.forget_if_nobody_is_left();
                Ok(())
            }
            Step::Shrink { rank } => {
                tally.note("the job shrinks");
                if self.groups.len() > 3 {
                    self.groups.remove(rank % self.groups.len());
                    // Restores of what more ranks have stored are refused; nothing of it counts.
                    self.committed.clear();
                    self.lost.clear();
                }
                Ok(())
            }
        }
    }

    fn forget_if_nobody_is_left(&mut self) {
        if self.groups.iter().all(Option::is_none) {
            self.committed.clear();
            self.lost.clear();
        }
    }

    /// Runs `f` on the groups of all ranks, created again as after a failure.
    fn call<T: Send>(
        &mut self,
        what: &'static str,
        trouble: &Trouble,
        tally: &mut Tally,
        f: impl Fn(&mut Group<LocalComm>) -> Result<T, String> + Sync,
    ) -> Checked<crate::trouble::Outcome<T>> {
        let ranks = self.groups.len();
        let groups = Mutex::new(std::mem::take(&mut self.groups));
        let settings = self.settings();
        let outcome = trouble.call(what, &vec![0; ranks], tally, |comm| {
            let rank = comm.rank();
            let again = comm.split(Some(0), 0).map_err(text)?;
            let again = again.ok_or("no communicator")?;
            let survived = groups.lock().expect("no panic")[rank].take();
            let (mut group, begun) = match survived {
                Some(mut group) => {
                    let begun = group.renew(again, settings.clone());
                    (group, begun)
                }
                None => (
                    Group::create(None, again, settings.clone()).map_err(text)?,
                    Ok(()),
                ),
            };
            let ended = match begun {
                Ok(()) => f(&mut group),
                Err(error) => Err(text(error)),
            };
            group.detach();
            groups.lock().expect("no panic")[rank] = Some(group);
            ended
        });
        self.groups = groups.into_inner().unwrap_or_else(|e| e.into_inner());
        let outcome = outcome?;
        for (rank, group) in self.groups.iter().enumerate() {
            if group.is_none() {
                self.lost.insert(rank);
            }
        }
        Ok(outcome)
    }

    fn work(&mut self, calls: &[Call], trouble: &Trouble, tally: &mut Tally) -> Checked {
        let (first, elements) = (self.stores, self.life.elements);
        self.stores += calls.len() as u64;
        let kept_before = self.kept_by_all();
        let done: Mutex<BTreeMap<usize, Done>> = Mutex::default();
        let outcome = self.call("Fenix store and commit", trouble, tally, |group| {
            let rank = group.comm().map_err(text)?.rank();
            let found = group.snapshots();
            done.lock()
                .expect("no panic")
                .entry(rank)
                .or_default()
                .found = found;
            play(group, calls, first, elements, |call, stamp| {
                let mut done = done.lock().expect("no panic");
                done.entry(rank).or_default().commits.push((call, stamp));
            })
        })?;
        let done = done.into_inner().expect("no panic");
        check_found(
            done.iter().map(|(rank, done)| (*rank, &done.found)),
            kept_before,
        )?;
        // Commits go on from what all ranks have found.
        let found = done.values().next().map(|done| done.found.clone());
        if let Some(found) = found {
            self.committed.retain(|stamp, _| found.contains(stamp));
        }
        self.note_commits(calls, first, &done)?;
        self.forget_if_nobody_is_left();
        if !outcome.troubled && !outcome.all_ok() {
            return Err(Finding(format!(
                "work fails without a cause:\n  {}",
                outcome.errors()
            )));
        }
        Ok(())
    }

    /// Snapshots that every survivor has, if there is one.
    fn kept_by_all(&self) -> Option<BTreeSet<i32>> {
        let sets = self.groups.iter().flatten();
        sets.map(|group| group.snapshots().into_iter().collect::<BTreeSet<_>>())
            .reduce(|all, own| all.intersection(&own).copied().collect())
    }

    fn note_commits(
        &mut self,
        calls: &[Call],
        first: u64,
        done: &BTreeMap<usize, Done>,
    ) -> Checked {
        let mut stamps: BTreeMap<usize, i32> = BTreeMap::new();
        for (call, stamp) in done.values().flat_map(|done| &done.commits) {
            if *stamps.entry(*call).or_insert(*stamp) != *stamp {
                return Err(Finding(format!(
                    "call {call} commits under different time stamps"
                )));
            }
        }
        let ranks = self.groups.len();
        for (call, stamp) in stamps {
            let writes =
                (0..ranks).map(|rank| staged(&calls[..call], first, rank, self.life.elements));
            self.committed.insert(stamp, writes.collect());
        }
        Ok(())
    }

    /// How many ranks may be lost, whichever they are.
    fn tolerated(&self) -> usize {
        match self.life.policy {
            Policy::ReedSolomon { k, .. } => (k as usize).min(self.groups.len() - 2).max(1),
            Policy::Copy { .. } | Policy::Parity { .. } => 1,
        }
    }

    fn restore(&mut self, trouble: &Trouble, tally: &mut Tally) -> Checked {
        let kept_before = self.kept_by_all();
        let committed = &self.committed.clone();
        let elements = self.life.elements;
        let found: Mutex<BTreeMap<usize, Vec<i32>>> = Mutex::default();
        let wrong: Mutex<Vec<String>> = Mutex::default();
        let is_unknown = AtomicBool::new(false);
        let outcome = self.call("Fenix restore", trouble, tally, |group| {
            let rank = group.comm().map_err(text)?.rank();
            let stamps = group.snapshots();
            found.lock().expect("no panic").insert(rank, stamps.clone());
            let mut refused = None;
            for (member, stamp) in (0..MEMBERS).flat_map(|m| stamps.iter().map(move |s| (m, *s))) {
                let expected = expected(committed, &stamps, stamp, rank, member);
                match restore_one(group, member, stamp, elements, expected) {
                    Ok(()) => (),
                    Err(Wrong::Unknown) => is_unknown.store(true, Ordering::Relaxed),
                    Err(Wrong::Refused(text)) => refused = Some(text),
                    Err(Wrong::Bytes(text)) => {
                        wrong
                            .lock()
                            .expect("no panic")
                            .push(format!("rank {rank}: {text}"));
                    }
                }
            }
            refused.map_or(Ok(()), Err)
        })?;
        let wrong = wrong.into_inner().expect("no panic");
        if !wrong.is_empty() {
            return Err(Finding(format!("wrong data: {}", wrong.join("; "))));
        }
        let found = found.into_inner().expect("no panic");
        check_found(
            found.iter().map(|(rank, stamps)| (*rank, stamps)),
            kept_before,
        )?;
        let lost_before = self.lost.len();
        if outcome.all_ok() && !is_unknown.into_inner() {
            self.lost.clear();
        } else if lost_before <= self.tolerated() && !outcome.troubled {
            return Err(Finding(format!(
                "the loss of ranks {:?} cannot be made good:\n  {}",
                self.lost,
                outcome.errors()
            )));
        }
        self.forget_if_nobody_is_left();
        Ok(())
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// All ranks find the same snapshots, among them all that every survivor had.
fn check_found<'a>(
    mut found: impl Iterator<Item = (usize, &'a Vec<i32>)>,
    kept_before: Option<BTreeSet<i32>>,
) -> Checked {
    let Some((first, stamps)) = found.next() else {
        return Ok(());
    };
    for (rank, others) in found {
        if others != stamps {
            return Err(Finding(format!(
                "rank {first} has snapshots {stamps:?}, rank {rank} has {others:?}"
            )));
        }
    }
    let kept = kept_before.unwrap_or_default();
    match kept.iter().find(|stamp| !stamps.contains(stamp)) {
        Some(stamp) => Err(Finding(format!(
            "snapshot {stamp}, which every survivor had, is gone"
        ))),
        None => Ok(()),
    }
}

fn attributes(rank: usize, member: i32, elements: u64) -> Attributes {
    Attributes {
        count: hash(&[rank as u64, member as u64]) % elements,
        element: 1 + member as u64,
    }
}

/// What a rank gives to a store.
fn content(rank: usize, member: i32, store: u64, elements: u64) -> Vec<u8> {
    let Attributes { count, element } = attributes(rank, member, elements);
    chance::bytes(
        &[rank as u64, member as u64, store],
        (count * element) as usize,
    )
}

/// Different on every rank.
fn subset(seed: u64, rank: usize) -> Subset {
    let mut chance = Chance::new(hash(&[seed, rank as u64]));
    let mut small = |limit: usize| chance.below(limit) as i64;
    match small(6) {
        0..=2 => Subset::Full,
        3 => Subset::Empty,
        4 => {
            let first = small(9);
            Subset::strided(1 + small(9), first, first + small(5), 1 + small(12))
                .expect("a valid subset")
        }
        _ => {
            let blocks = [(); 3].map(|()| {
                let first = 5 * small(9);
                (first, first + small(9))
            });
            Subset::blocks(&blocks).expect("valid blocks")
        }
    }
}

/// Makes the calls; tells of commits as they happen.
fn play(
    group: &mut Group<LocalComm>,
    calls: &[Call],
    first: u64,
    elements: u64,
    committed: impl Fn(usize, i32),
) -> Result<(), String> {
    let rank = group.comm().map_err(text)?.rank();
    for member in (0..MEMBERS)
        .filter(|member| !group.members().contains(member))
        .collect::<Vec<_>>()
    {
        group
            .create_member(member, attributes(rank, member, elements))
            .map_err(text)?;
    }
    for member in 0..MEMBERS {
        group
            .set_attributes(member, attributes(rank, member, elements))
            .map_err(text)?;
    }
    let mut tickets = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let bytes = |member| content(rank, member, first + index as u64, elements);
        match *call {
            Call::Store {
                member,
                subset: seed,
            } => {
                group
                    .store(member, &bytes(member)[..], &subset(seed, rank))
                    .map_err(text)?;
            }
            Call::StartStore {
                member,
                subset: seed,
            } => {
                let ticket = group.start_store(member, &bytes(member)[..], &subset(seed, rank));
                tickets.push(ticket.map_err(text)?);
            }
            Call::Test => {
                for ticket in std::mem::take(&mut tickets) {
                    if !group.test(ticket).map_err(text)? {
                        tickets.push(ticket);
                    }
                }
            }
            Call::Commit => committed(index, group.commit().map_err(text)?),
            Call::BarrierAndCommit => {
                for ticket in tickets.drain(..) {
                    group.wait(ticket).map_err(text)?;
                }
                group
                    .comm()
                    .and_then(|comm| Ok(comm.barrier()?))
                    .map_err(text)?;
                committed(index, group.commit().map_err(text)?);
            }
            Call::Reconcile => group.reconcile().map_err(text)?,
        }
    }
    for ticket in tickets {
        group.wait(ticket).map_err(text)?;
    }
    Ok(())
}

/// What a rank has staged after these calls.
fn staged(calls: &[Call], first: u64, rank: usize, elements: u64) -> Writes {
    let mut writes = Writes::new();
    for (index, call) in calls.iter().enumerate() {
        match *call {
            Call::Store {
                member,
                subset: seed,
            }
            | Call::StartStore {
                member,
                subset: seed,
            } => {
                let count = attributes(rank, member, elements).count;
                let regions = subset(seed, rank).regions(count);
                let stored = regions.ranges().iter().cloned().flatten();
                let member = writes.entry(member).or_default();
                member.extend(stored.map(|element| (element, first + index as u64)));
            }
            Call::Commit | Call::BarrierAndCommit => writes.clear(),
            Call::Test | Call::Reconcile => (),
        }
    }
    writes
}

/// Which store each element is from at a time; nothing if the member was never stored.
fn expected(
    committed: &BTreeMap<i32, Vec<Writes>>,
    kept: &[i32],
    stamp: i32,
    rank: usize,
    member: i32,
) -> Expected {
    let mut all: Option<BTreeMap<u64, u64>> = None;
    for (_, writes) in committed
        .iter()
        .filter(|(at, _)| **at <= stamp && kept.contains(at))
    {
        if let Some(writes) = writes.get(rank).and_then(|writes| writes.get(&member)) {
            all.get_or_insert_default().extend(writes);
        }
    }
    match committed.contains_key(&stamp) {
        true => Expected::Known(all),
        false => Expected::Unknown,
    }
}

enum Expected {
    Known(Option<BTreeMap<u64, u64>>),
    /// The snapshot is one of more ranks than there are now.
    Unknown,
}

enum Wrong {
    Refused(String),
    /// Nothing was stored, but too many have lost the snapshot to know it.
    Unknown,
    Bytes(String),
}

fn restore_one(
    group: &mut Group<LocalComm>,
    member: i32,
    stamp: i32,
    elements: u64,
    expected: Expected,
) -> Result<(), Wrong> {
    let rank = group
        .comm()
        .map_err(|error| Wrong::Refused(text(error)))?
        .rank();
    let Attributes { count, element } = attributes(rank, member, elements);
    let mut bytes = vec![0xEE; (count * element) as usize];
    let restored = group.restore(member, Stamp::At(stamp), u64::MAX, Some(&mut bytes[..]));
    let Expected::Known(expected) = expected else {
        return Ok(());
    };
    let (versions, restored) = match (expected, restored) {
        (None, Err(error)) if text(&error).ends_with("is lost") => return Err(Wrong::Unknown),
        (None, Err(_)) => return Ok(()),
        (None, Ok(restored)) if restored.found == Regions::from_ranges([]) => return Ok(()),
        (None, Ok(_)) => return Err(Wrong::Bytes(format!("member {member} was never stored"))),
        (Some(_), Err(error)) => return Err(Wrong::Refused(text(error))),
        (Some(versions), Ok(restored)) => (versions, restored),
    };
    let found = Regions::from_ranges(versions.keys().map(|index| *index..*index + 1));
    let mut whole = vec![0xEE; bytes.len()];
    let mut stores: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for (index, store) in &versions {
        let range = (index * element) as usize..((index + 1) * element) as usize;
        let stored = stores.entry(*store);
        let stored = stored.or_insert_with(|| content(rank, member, *store, elements));
        whole[range.clone()].copy_from_slice(&stored[range]);
    }
    match bytes == whole && restored.found == found {
        true => Ok(()),
        false => Err(Wrong::Bytes(format!("member {member} at {stamp}"))),
    }
}
