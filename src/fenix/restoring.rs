//! Restoring: the ranks agree on what there is, repair what some have lost, agree again, and only then write.

use super::group::{Group, Member, Restored, Stamp};
use super::reading::Reading;
use super::repair::{Repaired, repair};
use super::snapshot::{Entries, Mark, recycle};
use super::storing::Means;
use super::{Error, Regions, Result, Target, agreement};
use crate::comm::{Comm, Op};

/// What the ranks have agreed to read.
pub(super) struct Ready {
    /// Which snapshots all ranks have, newest first.
    indices: Vec<usize>,
    /// The one among `indices` to begin with.
    first: usize,
    /// Those of which this rank has nothing that can be trusted.
    lost: Vec<usize>,
    /// A repair of this set that did not take place.
    failure: Option<Error>,
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
        let reading = self.agree_on_reading(member, reading)?;
        if let Some(target) = target {
            reading.write(target);
        }
        Ok(self.restored(member, reading))
    }

    /// As [`Group::restore`] from what this rank has itself, without the others.
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
        let reading = Reading::new(
            snapshots.map(|snapshot| (snapshot, !snapshot.is_sound(member))),
            member,
            max_count,
        )?;
        if reading.count.is_none() {
            return Err(nothing_stored(member));
        }
        reading.write(target);
        Ok(self.restored(member, reading))
    }

    /// Agrees with all ranks on the snapshots to read and repairs them as far as possible.
    ///
    /// # Collective
    /// Called by all ranks of the group. An error is one for all of them.
    pub(super) fn make_ready(&mut self, member: i32, stamp: Stamp) -> Result<Ready> {
        self.settle();
        let mut ready = self.agree_on_snapshots(member, stamp)?;
        match self.repair(member, &ready.indices) {
            Err(Error::Comm(error)) => return Err(error.into()),
            Err(error) => ready.failure = Some(error),
            Ok(repaired) => {
                ready.lost = repaired.lost;
                self.install(member, repaired.entries);
            }
        }
        Ok(ready)
    }

    /// Finds the snapshots that all ranks have and that this many ranks have made.
    fn agree_on_snapshots(&self, member: i32, stamp: Stamp) -> Result<Ready> {
        let comm = self.comm()?;
        let known = self.members.contains_key(&member) || self.snapshots.knows(member);
        let (wanted, known) = agree_on_wish(comm, stamp, known)?;
        if !known {
            return Err(self.no_member(member));
        }
        let own: Vec<_> = self.snapshots.marks().collect();
        let (common, _) = agreement::common(comm, Some((&own, self.snapshots.next)))?;
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
        let index = |mark: &Mark| own.iter().position(|own| own == mark);
        Ok(Ready {
            first: usable.clone().take_while(|mark| **mark != first).count(),
            indices: usable.filter_map(index).collect(),
            lost: Vec::new(),
            failure: None,
        })
    }

    fn repair(&mut self, member: i32, indices: &[usize]) -> Result<Repaired> {
        let comm = self
            .comm
            .as_ref()
            .ok_or(Error::Detached(self.settings.id))?;
        let mut means = Means {
            comm,
            set: &self.set,
            memory: &mut self.memory,
        };
        let kept = &self.snapshots.kept;
        let snapshots: Vec<_> = indices
            .iter()
            .map(|index| (*index, &kept[*index]))
            .collect();
        repair(&mut means, member, &snapshots)
    }

    /// Takes in what was rebuilt; the newest share tells the attributes.
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

    /// What this rank has of the member, as far as it knows.
    pub(super) fn read(&self, ready: &Ready, member: i32, max_count: u64) -> Result<Reading<'_>> {
        let indices = ready.indices[ready.first..].iter();
        let snapshots =
            indices.map(|index| (&self.snapshots.kept[*index], ready.lost.contains(index)));
        Reading::new(snapshots, member, max_count)
    }

    /// # Collective
    /// Called by all ranks of the group; all return the same verdict.
    pub(super) fn agree_on_reading<'a>(
        &self,
        member: i32,
        reading: Result<Reading<'a>>,
    ) -> Result<Reading<'a>> {
        let comm = self.comm()?;
        let reading = agreement::agree_on_data(comm, reading)?;
        let mut stored = [u64::from(reading.count.is_some())];
        comm.allreduce(Op::Max, &mut stored)?;
        match stored {
            [0] => Err(nothing_stored(member)),
            _ => Ok(reading),
        }
    }

    fn restored(&self, member: i32, reading: Reading<'_>) -> Restored {
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
