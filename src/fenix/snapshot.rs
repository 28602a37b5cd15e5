//! Snapshots: what a rank has of each, and which of them it keeps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::memory::Memory;
use super::segments::Segments;
use super::share::{Share, message};
use super::{Error, Result, Stamp};
use crate::wire::take;

/// What a rank has of one store: its own share, and redundancy for the shares of its set.
#[derive(Debug)]
pub(super) struct Entry {
    /// Of all ranks of the set, by position.
    pub(super) shares: Vec<Share>,
    /// The position of this rank.
    pub(super) mine: usize,
    pub(super) data: Segments,
    /// Dropped when the set changes.
    pub(super) redundancy: Option<Segments>,
}

impl Entry {
    pub(super) fn own_share(&self) -> &Share {
        &self.shares[self.mine]
    }

    /// Whether the own share matches its checksum, if it has one.
    pub(super) fn is_sound(&self) -> bool {
        let crc = self.own_share().crc;
        crc.is_none_or(|crc| crc == self.data.crc())
    }

    /// Whether it has all elements that `other` has, on all ranks of the set.
    fn covers(&self, other: &Entry) -> bool {
        let mut pairs = self.shares.iter().zip(&other.shares);
        pairs.all(|(new, old)| new.regions.covers(&old.regions))
    }

    fn bytes(&self) -> u64 {
        self.data.size() + self.redundancy.as_ref().map_or(0, Segments::size)
    }

    pub(super) fn recycle(self, memory: &mut Memory) {
        self.data.recycle(memory);
        if let Some(redundancy) = self.redundancy {
            redundancy.recycle(memory);
        }
    }
}

/// In the order of the stores.
pub(super) type Entries = Vec<Entry>;

pub(super) fn recycle(entries: Entries, memory: &mut Memory) {
    entries.into_iter().for_each(|entry| entry.recycle(memory));
}

/// The shares of all entries, for a rank of the set that has lost them.
pub(super) fn encode_shares(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = message(&[entries.len() as u64]);
    let shares = entries.iter().flat_map(|entry| &entry.shares);
    shares.for_each(|share| share.encode(&mut bytes));
    bytes
}

/// The shares of each entry in a set of `size` ranks.
pub(super) fn decode_shares(bytes: &mut &[u8], size: usize) -> Option<Vec<Vec<Share>>> {
    let [entries] = take(bytes)?;
    let mut entry = || (0..size).map(|_| Share::decode(bytes)).collect();
    (0..entries).map(|_| entry()).collect()
}

pub(super) type Members = BTreeMap<i32, Entries>;

/// The members of a snapshot that a rank has lost.
pub(super) enum MissingMembers {
    Nothing,
    /// The rank is new or has lost the snapshot, and has learned which members there were. Those that were rebuilt since
    /// are not removed from the list.
    Known(BTreeSet<i32>),
    Unknown,
}

pub(super) struct Snapshot {
    pub(super) stamp: i32,
    /// How many ranks the group had.
    pub(super) width: usize,
    /// Of the creation of the group in which it was committed.
    pub(super) generation: u64,
    pub(super) missing: MissingMembers,
    pub(super) members: Members,
}

impl Snapshot {
    pub(super) fn mark(&self) -> SnapshotMark {
        SnapshotMark {
            stamp: self.stamp,
            width: self.width,
            generation: self.generation,
        }
    }

    /// `None` if this rank has lost the member.
    pub(super) fn entries(&self, member: i32) -> Option<&[Entry]> {
        let is_missing = match &self.missing {
            MissingMembers::Nothing => false,
            MissingMembers::Known(members) => members.contains(&member),
            MissingMembers::Unknown => true,
        };
        match self.members.get(&member) {
            Some(entries) => Some(entries),
            None => (!is_missing).then_some(&[]),
        }
    }

    /// The members that were stored in it; `None` if this rank does not know.
    pub(super) fn stored(&self) -> Option<BTreeSet<i32>> {
        let entries = self.members.iter();
        let own = entries.filter(|(_, entries)| !entries.is_empty());
        let own = own.map(|(member, _)| *member);
        match &self.missing {
            MissingMembers::Nothing => Some(own.collect()),
            MissingMembers::Known(members) => Some(own.chain(members.iter().copied()).collect()),
            MissingMembers::Unknown => None,
        }
    }

    /// Records which members there were.
    pub(super) fn learn(&mut self, stored: BTreeSet<i32>) {
        if let MissingMembers::Unknown = self.missing {
            self.missing = MissingMembers::Known(stored);
        }
    }

    /// The entries of the member; `None` if any of them is lost or damaged.
    pub(super) fn sound_entries(&self, member: i32) -> Option<&[Entry]> {
        let entries = self.entries(member);
        entries.filter(|entries| entries.iter().all(Entry::is_sound))
    }

    pub(super) fn bytes(&self) -> u64 {
        bytes_of(&self.members)
    }

    pub(super) fn recycle(self, memory: &mut Memory) {
        let entries = self.members.into_values();
        entries.for_each(|entries| recycle(entries, memory));
    }

    fn drop_redundancy(&mut self, memory: &mut Memory) {
        for entry in self.members.values_mut().flatten() {
            if let Some(redundancy) = entry.redundancy.take() {
                redundancy.recycle(memory);
            }
        }
    }
}

fn bytes_of(members: &Members) -> u64 {
    members.values().flatten().map(Entry::bytes).sum()
}

/// What is committed, newest first, and what is staged.
pub(super) struct Snapshots {
    pub(super) kept: VecDeque<Snapshot>,
    staged: Members,
    /// Of the next commit.
    pub(super) next: i32,
    /// Counts the times that ranks went back to the snapshots that all have. After that, a time stamp may be used a second
    /// time. The generation tells the second snapshot from the first, which a rank that missed the agreement still has.
    pub(super) generation: u64,
}

/// Identifies a snapshot in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SnapshotMark {
    pub(super) stamp: i32,
    pub(super) width: usize,
    pub(super) generation: u64,
}

impl Snapshots {
    pub(super) fn new(first_stamp: i32, generation: u64) -> Snapshots {
        Snapshots {
            kept: VecDeque::new(),
            staged: Members::new(),
            next: first_stamp,
            generation,
        }
    }

    pub(super) fn stage(&mut self, member: i32, entry: Entry, memory: &mut Memory) {
        let entries = self.staged.entry(member).or_default();
        let (covered, rest) = std::mem::take(entries)
            .into_iter()
            .partition(|old| entry.covers(old));
        *entries = rest;
        entries.push(entry);
        recycle(covered, memory);
    }

    pub(super) fn drop_staged(&mut self, memory: &mut Memory) {
        let staged = std::mem::take(&mut self.staged).into_values();
        staged.for_each(|entries| recycle(entries, memory));
    }

    pub(super) fn commit(
        &mut self,
        width: usize,
        depth: Option<u32>,
        memory: &mut Memory,
    ) -> Result<i32> {
        let stamp = self.next;
        self.next = stamp.checked_add(1).ok_or(Error::Number {
            what: "the next time stamp",
            value: i64::from(stamp) + 1,
        })?;
        self.kept.push_front(Snapshot {
            stamp,
            width,
            generation: self.generation,
            missing: MissingMembers::Nothing,
            members: std::mem::take(&mut self.staged),
        });
        let retired = self.too_old(depth).last();
        memory.retire(retired);
        Ok(stamp)
    }

    /// Removes the snapshots beyond the depth, oldest first.
    fn too_old(&mut self, depth: Option<u32>) -> impl Iterator<Item = Snapshot> {
        let keep = depth.map_or(usize::MAX, |depth| depth as usize + 1);
        std::iter::from_fn(move || (self.kept.len() > keep).then(|| self.kept.pop_back())?)
    }

    pub(super) fn marks(&self) -> impl Iterator<Item = SnapshotMark> {
        self.kept.iter().map(Snapshot::mark)
    }

    /// Keeps the snapshots in `marks`, back to the given depth; those that this rank does not have are lost. Snapshots of a
    /// group of another size lose their redundancy, which has become useless.
    pub(super) fn keep(
        &mut self,
        marks: &[SnapshotMark],
        depth: Option<u32>,
        width: usize,
        memory: &mut Memory,
    ) {
        let mut had: BTreeMap<SnapshotMark, Snapshot> =
            self.kept.drain(..).map(|s| (s.mark(), s)).collect();
        for mark in marks {
            let lost = || Snapshot {
                stamp: mark.stamp,
                width: mark.width,
                generation: mark.generation,
                missing: MissingMembers::Unknown,
                members: Members::new(),
            };
            let snapshot = had.remove(mark).unwrap_or_else(lost);
            self.kept.push_back(snapshot);
        }
        had.into_values()
            .for_each(|snapshot| snapshot.recycle(memory));
        let too_old: Vec<_> = self.too_old(depth).collect();
        too_old
            .into_iter()
            .for_each(|snapshot| snapshot.recycle(memory));
        let resized = self
            .kept
            .iter_mut()
            .filter(|snapshot| snapshot.width != width);
        resized.for_each(|snapshot| snapshot.drop_redundancy(memory));
    }

    pub(super) fn bring_back(&mut self, memory: &mut Memory) {
        self.kept.extend(memory.retired.take());
    }

    /// `None` for a time stamp that no snapshot has.
    pub(super) fn index(&self, stamp: Stamp) -> Option<usize> {
        match stamp {
            Stamp::Latest => (!self.kept.is_empty()).then_some(0),
            Stamp::At(stamp) => self.kept.iter().position(|s| s.stamp == stamp),
        }
    }

    pub(super) fn knows(&self, member: i32) -> bool {
        let mut all = self.kept.iter();
        all.any(|snapshot| snapshot.members.contains_key(&member))
    }

    pub(super) fn delete_member(&mut self, member: i32, memory: &mut Memory) {
        let mut retired = memory.retired.take();
        let snapshots = self.kept.iter_mut().chain(&mut retired);
        let members = snapshots.map(|snapshot| {
            if let MissingMembers::Known(members) = &mut snapshot.missing {
                members.remove(&member);
            }
            &mut snapshot.members
        });
        for members in members.chain([&mut self.staged]) {
            recycle(members.remove(&member).unwrap_or_default(), memory);
        }
        memory.retired = retired;
    }

    pub(super) fn bytes(&self) -> u64 {
        let kept = self.kept.iter().map(Snapshot::bytes);
        kept.sum::<u64>() + bytes_of(&self.staged)
    }
}
