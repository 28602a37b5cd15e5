//! Gives back to ranks of a set what they have lost of a member.
//!
//! The ranks of a set tell each other which snapshots of the member they have. Where some ranks lack a snapshot, no more
//! than the policy tolerates, another tells them what the shares were. From that all ranks derive the same flows, which
//! bring back shares and redundancy.
//!
//! A repair is planned first: then all ranks of the set know what will come back and have the memory for it,
//! so that only the transport can still fail. What is rebuilt is handed to the caller as a whole; a repair
//! that breaks off changes nothing.

use std::collections::BTreeSet;

use super::header::{judge, status_of, statuses};
use super::memory::Memory;
use super::reading::StoredShare;
use super::share::{Share, message};
use super::snapshot::{Entries, Entry, Snapshot};
use super::streams::{MemoryStreams, limits};
use super::telling::{Holding, ToldShares, had_alike, lost_positions, states, tell};
use super::{Error, Result};
use crate::comm::{Comm, Tag};
use crate::pages::PageBuffer;
use crate::protect::{Channel, Flow, FlowRun, Have, Limits, Set, passing_blocks};

/// Blocks go with this tag and the next.
const BLOCKS: Tag = 3;

/// Steps that are started before the first of them is waited for.
const AHEAD: usize = 3;

/// What came of the repair on this rank.
#[derive(Default)]
pub(super) struct Repaired {
    /// By the index of the snapshot.
    pub(super) entries: Vec<(usize, Entries)>,
    /// Which members there were in these snapshots.
    pub(super) stored: Vec<(usize, BTreeSet<i32>)>,
    /// Snapshots of which this rank has nothing that can be trusted.
    pub(super) lost: Vec<usize>,
}

/// What the ranks of a set are going to do.
#[derive(Default)]
pub(super) struct RepairPlan {
    repairs: Vec<SnapshotRepair>,
    /// For blocks that pass through this rank.
    passing: Vec<PageBuffer>,
    /// Snapshots of which this rank has nothing that can be trusted and gets nothing back.
    pub(super) lost: Vec<usize>,
}

/// The repair of one snapshot.
struct SnapshotRepair {
    index: usize,
    /// Of this rank in the set.
    position: usize,
    /// Whether this rank is one of those that have lost it.
    is_mine: bool,
    /// Empty if the member was not stored.
    entries: Vec<EntryRepair>,
    /// The members that were stored, if it was told.
    stored: Option<BTreeSet<i32>>,
}

struct EntryRepair {
    shares: Vec<Share>,
    flows: Vec<Flow>,
    limits: Limits,
    streams: MemoryStreams,
}

impl RepairPlan {
    /// Plans the repair of what can be repaired of the member in `snapshots`.
    ///
    /// # Collective
    /// Called by all ranks of the set with the same snapshots; all return the same verdict.
    pub(super) fn make<C: Comm>(
        channel: &Channel<'_, C>,
        memory: &mut Memory,
        member: i32,
        snapshots: &[(usize, &Snapshot)],
    ) -> Result<RepairPlan> {
        let set = channel.set;
        let states = states(channel, member, snapshots)?;
        let (mut repairs, mut lost_for_good, mut to_do) = (Ok(Vec::new()), Vec::new(), 0);
        for ((index, snapshot), states) in snapshots.iter().zip(states) {
            let lost = lost_positions(&states);
            let is_mine = lost.contains(&set.mine());
            // A store is one of all ranks: what one has not stored, no other has lost.
            let is_nothing = states.contains(&Holding::Nothing) && had_alike(&states);
            if lost.is_empty() {
                continue;
            }
            if !is_nothing && !set.scheme().tolerates(set.size(), &lost) {
                lost_for_good.extend(is_mine.then_some(*index));
                continue;
            }
            if !had_alike(&states) {
                return Err(Error::NoData(format!(
                    "the ranks that protect {} have stored member {member} differently",
                    channel.name(lost[0])
                )));
            }
            let mut told = Ok(ToldShares::default());
            let mut entries = &[][..];
            if !is_nothing {
                to_do += 1;
                entries = held(snapshot, member, is_mine)?;
                told = tell(channel, &lost, snapshot, entries)?;
            }
            repairs = repairs.and_then(|mut repairs| {
                let repair = SnapshotRepair::new(set, memory, (*index, &lost), told?, entries)?;
                repairs.push(repair);
                Ok(repairs)
            });
        }
        let mut plan = repairs.and_then(|repairs| RepairPlan::reserve(set, memory, repairs));
        if to_do > 0 {
            plan = all_ready(channel, plan)?;
        }
        plan.map(|plan| RepairPlan {
            lost: lost_for_good,
            ..plan
        })
    }

    /// Repairs are carried out one after the other, so that one reserve of passing blocks does for all.
    fn reserve(set: &Set, memory: &mut Memory, repairs: Vec<SnapshotRepair>) -> Result<RepairPlan> {
        let entries = repairs.iter().flat_map(|repair| &repair.entries);
        let needs = entries.map(|entry| passing_blocks(&entry.flows, entry.limits, set.mine()));
        let (blocks, length) = needs.fold((0, 0), |most, need| {
            (most.0.max(need.0), most.1.max(need.1))
        });
        Ok(RepairPlan {
            passing: memory.reserve(std::iter::repeat_n(length, blocks))?.into(),
            repairs,
            lost: Vec::new(),
        })
    }

    /// What this rank will have got back of a snapshot.
    pub(super) fn coming(&self, index: usize) -> Option<Vec<StoredShare<'_>>> {
        let mut repairs = self.repairs.iter();
        let repair = repairs.find(|repair| repair.index == index && repair.is_mine)?;
        let stored = repair.entries.iter().map(|entry| StoredShare {
            share: &entry.shares[repair.position],
            bytes: &entry.streams.data,
        });
        Some(stored.collect())
    }

    /// # Collective
    /// Called by all ranks of the set.
    pub(super) fn carry_out<C: Comm>(
        self,
        channel: &Channel<'_, C>,
        memory: &mut Memory,
    ) -> Result<Repaired> {
        let channel = Channel {
            tag: BLOCKS,
            ..*channel
        };
        let (mut passing, mut repaired) = (self.passing, Repaired::default());
        for repair in self.repairs {
            let mut rebuilt = Entries::new();
            for mut entry in repair.entries {
                entry.streams.passing = passing;
                FlowRun::new(entry.flows, entry.limits).finish(&channel, &mut entry.streams)?;
                passing = entry.streams.passing;
                rebuilt.push(Entry {
                    shares: entry.shares,
                    mine: channel.set.mine(),
                    data: entry.streams.data,
                    redundancy: Some(entry.streams.redundancy),
                });
            }
            repaired
                .stored
                .extend(repair.stored.map(|stored| (repair.index, stored)));
            // An error of the lost rank alone must not keep it from helping with the next snapshot.
            match rebuilt.iter().all(Entry::is_sound) {
                _ if !repair.is_mine => {}
                true => repaired.entries.push((repair.index, rebuilt)),
                false => repaired.lost.push(repair.index),
            }
        }
        memory.put_all(passing);
        Ok(repaired)
    }
}

impl SnapshotRepair {
    /// `entries` are what this rank has, if it has not lost them.
    fn new(
        set: &Set,
        memory: &mut Memory,
        (index, lost): (usize, &[usize]),
        told: ToldShares,
        entries: &[Entry],
    ) -> Result<SnapshotRepair> {
        let is_mine = lost.contains(&set.mine());
        let mut repair = SnapshotRepair {
            index,
            position: set.mine(),
            is_mine,
            entries: Vec::new(),
            stored: told.stored,
        };
        for (number, shares) in told.shares.into_iter().enumerate() {
            let own = entries.get(number);
            let entry = EntryRepair::new(set, memory, lost, shares, own)?;
            repair.entries.push(entry);
        }
        Ok(repair)
    }
}

impl EntryRepair {
    fn new(
        set: &Set,
        memory: &mut Memory,
        lost: &[usize],
        shares: Vec<Share>,
        own: Option<&Entry>,
    ) -> Result<EntryRepair> {
        let (mine, limits) = (set.mine(), limits(set, AHEAD));
        let lengths: Vec<_> = shares.iter().map(Share::length).collect();
        let own_length = lengths[mine];
        let geometry = set.geometry(lengths)?;
        let have = (0..set.size()).map(|position| match lost.contains(&position) {
            true => Have::NOTHING,
            false => Have::ALL,
        });
        let flows = geometry.flows(&have.collect::<Vec<_>>())?;
        let flows = flows.ok_or(Error::Invariant("too much is lost for the policy"))?;
        let streams = match own {
            None => MemoryStreams::reserve(memory, &geometry, mine, limits)?,
            Some(own) => {
                let redundancy = geometry.redundancy(mine).into_iter().sum();
                let found = own.redundancy.as_ref();
                let found = found.filter(|found| found.is_whole(redundancy));
                let found = found.filter(|_| own.data.is_whole(own_length));
                // What is missing would count as zeros in a rebuilt share.
                let gap = Error::Invariant("a stored share or its redundancy has a gap");
                MemoryStreams::whole(own.data.clone(), found.ok_or(gap)?.clone())
            }
        };
        Ok(EntryRepair {
            shares,
            flows,
            limits,
            streams,
        })
    }
}

/// What this rank has of a member to help others with; nothing if it is one that lost it.
fn held(snapshot: &Snapshot, member: i32, is_mine: bool) -> Result<&[Entry]> {
    let lost = Error::Invariant("a rank said that it has what it has lost");
    match is_mine {
        true => Ok(&[]),
        false => snapshot.entries(member).ok_or(lost),
    }
}

/// The plan if no rank of the set lacks anything it needs for it. The outer error is one of the transport.
fn all_ready<C: Comm>(
    channel: &Channel<'_, C>,
    plan: Result<RepairPlan>,
) -> Result<Result<RepairPlan>> {
    let status = message(&[plan.as_ref().err().map_or(0, status_of)]);
    let told = channel.exchange(status, |_| 8)?.finish()?;
    Ok(judge(channel, plan, statuses(&told)?.into_iter()))
}
