//! Restore: all ranks agree on the snapshots, plan the repair of what some have lost, and agree on what each will have
//! after it. Only then do they repair, and write to the targets. So ranks that have lost nothing write while others are
//! still being repaired.

use super::group::{Group, Member, Restored, Stamp};
use super::reading::{MemberReading, StoredShare};
use super::repair::RepairPlan;
use super::snapshot::{Entries, SnapshotMark, recycle};
use super::{Error, Regions, Result, Target, agreement};
use crate::comm::{Comm, Op, Tag};
use crate::protect::Channel;

/// Tag of the messages in which ranks tell what they have of a member.
const STATE: Tag = 1;

/// What the ranks have agreed to read.
pub(super) struct Ready {
    /// Which snapshots all ranks have, newest first.
    indices: Vec<usize>,
    /// The entry of `indices` to start from.
    first: usize,
    /// The repair in this rank's set.
    plan: RepairPlan,
    /// Why it cannot be repaired.
    failure: Option<Error>,
    /// Snapshots that this rank has lost for good.
    lost: Vec<usize>,
}

impl Ready {
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }
}

impl<C: Comm> Group<C> {
    /// Rebuilds what ranks of this rank's set have lost of a member, then writes the elements below
    /// `max_count` to `target`: as they were at `stamp`, or before where that snapshot lacks them. Without a
    /// target it only rebuilds. A rank that lost the member gets it back, attributes too.
    ///
    /// # Collective
    /// Called by all ranks of the group; all return the same verdict. On an error no target is touched.
    pub fn restore(
        &mut self,
        member: i32,
        stamp: Stamp,
        max_count: u64,
        target: Option<&mut (impl Target + ?Sized)>,
    ) -> Result<Restored> {
        let mut ready = self.make_ready(member, stamp)?;
        let failure = ready.take_failure();
        let reading = failure.map_or_else(|| self.read(&ready, member, max_count), Err);
        let agreed = self.agree_on_reading(member, reading).map(drop);
        if !matches!(agreed, Err(Error::Comm(_))) {
            self.repair(&mut ready, member)?;
        }
        agreed?;
        let mut reading = self.read(&ready, member, max_count);
        if self.settings.checksums {
            reading = self.agree_on_reading(member, reading);
        }
        let reading = reading?;
        if let Some(target) = target {
            reading.write(target);
        }
        Ok(self.restored(member, reading))
    }

    /// As [`Group::restore`], from the memory of this rank alone.
    pub fn restore_locally(
        &self,
        member: i32,
        stamp: Stamp,
        max_count: u64,
        target: &mut (impl Target + ?Sized),
    ) -> Result<Restored> {
        if !self.members.contains_key(&member) && !self.snapshots.knows(member) {
            return Err(self.no_member(member));
        }
        let first = self.snapshots.index(stamp);
        let first = first.ok_or_else(|| self.no_stamp(stamp))?;
        let snapshots = self.snapshots.kept.iter().skip(first);
        let reading = MemberReading::new(
            snapshots.map(|snapshot| {
                (
                    snapshot,
                    snapshot.sound_entries(member).map(StoredShare::all),
                )
            }),
            member,
            max_count,
        )?;
        if reading.count.is_none() {
            return Err(nothing_stored(member));
        }
        reading.write(target);
        Ok(self.restored(member, reading))
    }

    /// Agrees with all ranks on the snapshots to read and with this rank's set on how they are repaired.
    ///
    /// # Collective
    /// Called by all ranks of the group. An error is one for all of them.
    pub(super) fn make_ready(&mut self, member: i32, stamp: Stamp) -> Result<Ready> {
        self.settle();
        let mut ready = self.agree_on_snapshots(member, stamp)?;
        let kept = &self.snapshots.kept;
        let snapshots = ready.indices.iter().map(|index| (*index, &kept[*index]));
        let snapshots: Vec<_> = snapshots.collect();
        let comm = self.comm.as_ref();
        let channel = Channel {
            comm: comm.ok_or(Error::Detached(self.settings.id))?,
            set: &self.set,
            tag: STATE,
        };
        match RepairPlan::make(&channel, &mut self.memory, member, &snapshots) {
            Err(Error::Comm(error)) => return Err(error.into()),
            Err(error) => ready.failure = Some(error),
            Ok(mut plan) => {
                ready.lost = std::mem::take(&mut plan.lost);
                ready.plan = plan;
            }
        }
        Ok(ready)
    }

    /// Carries out what was planned, if anything was.
    ///
    /// # Collective
    /// Called by all ranks of the set.
    pub(super) fn repair(&mut self, ready: &mut Ready, member: i32) -> Result<()> {
        let plan = std::mem::take(&mut ready.plan);
        let (channel, memory) = self.channel(STATE)?;
        let repaired = plan.carry_out(&channel, memory)?;
        ready.lost.extend(repaired.lost);
        for (index, stored) in repaired.stored {
            self.snapshots.kept[index].learn(stored);
        }
        self.install(member, repaired.entries);
        Ok(())
    }

    /// Finds the snapshots that all ranks have and that a group of this size has made.
    fn agree_on_snapshots(&self, member: i32, stamp: Stamp) -> Result<Ready> {
        let comm = self.comm()?;
        let known = self.members.contains_key(&member) || self.snapshots.knows(member);
        let (wanted, known) = agree_on_wish(comm, stamp, known)?;
        if !known {
            return Err(self.no_member(member));
        }
        let own: Vec<_> = self.snapshots.marks().collect();
        let common = agreement::common(comm, Some(self.past(&own)))?.marks;
        let first = match wanted {
            Stamp::Latest => common.first(),
            Stamp::At(stamp) => common.iter().find(|mark| mark.stamp == stamp),
        };
        let first = *first.ok_or_else(|| self.no_stamp(wanted))?;
        if first.width != comm.size() {
            return Err(Error::NoData(format!(
                "{} ranks have stored it, but the group has {} ranks now",
                first.width,
                comm.size()
            )));
        }
        let usable = common.iter().filter(|mark| mark.width == comm.size());
        let index = |mark: &SnapshotMark| own.iter().position(|own| own == mark);
        Ok(Ready {
            first: usable.clone().take_while(|mark| **mark != first).count(),
            indices: usable.filter_map(index).collect(),
            plan: RepairPlan::default(),
            failure: None,
            lost: Vec::new(),
        })
    }

    /// Installs what was rebuilt; the newest share has the attributes.
    fn install(&mut self, member: i32, rebuilt: Vec<(usize, Entries)>) {
        for (index, entries) in rebuilt {
            if let Some(entry) = entries.last() {
                self.members.entry(member).or_insert(Member {
                    attributes: entry.own_share().attributes,
                    restored: true,
                });
            }
            let members = &mut self.snapshots.kept[index].members;
            let replaced = members.insert(member, entries);
            recycle(replaced.unwrap_or_default(), &mut self.memory);
        }
    }

    /// What this rank has of the member, or will have after the repair.
    pub(super) fn read<'a>(
        &'a self,
        ready: &'a Ready,
        member: i32,
        max_count: u64,
    ) -> Result<MemberReading<'a>> {
        let stored = |index: usize| {
            let present = || {
                self.snapshots.kept[index]
                    .entries(member)
                    .map(StoredShare::all)
            };
            let useful = !ready.lost.contains(&index);
            useful.then(|| ready.plan.coming(index).or_else(present))?
        };
        let indices = ready.indices[ready.first..].iter();
        let snapshots = indices.map(|index| (&self.snapshots.kept[*index], stored(*index)));
        MemberReading::new(snapshots, member, max_count)
    }

    /// # Collective
    /// Called by all ranks of the group; all return the same verdict.
    pub(super) fn agree_on_reading<'a>(
        &self,
        member: i32,
        reading: Result<MemberReading<'a>>,
    ) -> Result<MemberReading<'a>> {
        let comm = self.comm()?;
        let reading = agreement::agree_on_data(comm, reading)?;
        let mut stored = [u64::from(reading.count.is_some())];
        comm.allreduce(Op::Max, &mut stored)?;
        match stored {
            [0] => Err(nothing_stored(member)),
            _ => Ok(reading),
        }
    }

    fn restored(&self, member: i32, reading: MemberReading<'_>) -> Restored {
        let attributes = self.members.get(&member).map(|member| member.attributes);
        let count = attributes
            .map(|attributes| attributes.count)
            .or(reading.count);
        Restored::new(reading.found, count)
    }
}

impl Restored {
    /// `count` is how many elements the member has.
    pub(super) fn new(found: Regions, count: Option<u64>) -> Restored {
        Restored {
            complete: count.is_some_and(|count| found.covers(&Regions::all(count))),
            found,
        }
    }
}

/// The oldest snapshot that any rank wants, and whether any rank knows the member.
fn agree_on_wish<C: Comm>(comm: &C, stamp: Stamp, known: bool) -> Result<(Stamp, bool)> {
    let latest = i64::MAX as u64;
    let wanted = match stamp {
        Stamp::Latest => latest,
        Stamp::At(stamp) => u64::try_from(stamp).unwrap_or(latest - 1),
    };
    let mut wish = [wanted, u64::from(!known)];
    comm.allreduce(Op::Min, &mut wish)?;
    let [wanted, unknown] = wish;
    let stamp = match wanted == latest {
        true => Stamp::Latest,
        false => Stamp::At(i32::try_from(wanted).unwrap_or(-1)),
    };
    Ok((stamp, unknown == 0))
}

fn nothing_stored(member: i32) -> Error {
    Error::NoData(format!("member {member} is in none of the snapshots"))
}
