//! A data group: its members, its snapshots, and what protects them.
//!
//! A store goes through `storing` into a staged entry (`staging`); commit makes the staged entries a snapshot
//! (`snapshot`). Restore is in `restoring`: it lets `repair` rebuild what ranks have lost, and `reading` find
//! the elements. `memory` is where the bytes come from.

use std::collections::{BTreeMap, VecDeque};

use super::agreement::{self, Common, Past};
use super::memory::Memory;
use super::snapshot::{Snapshot, SnapshotMark, Snapshots};
use super::staging::{PendingStore, Ticket};
use super::{Error, Policy, Regions, Result};
use crate::comm::{Comm, Tag};
use crate::protect::set::placed::{KnownSets, PlacedSets, kept_or_chosen};
use crate::protect::{self, Channel, Set};

const HOSTS: Tag = 8;

/// Arguments of the creation of a group; the same on all ranks, but for the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub id: i32,
    /// The time stamp of the first commit.
    pub first_stamp: i32,
    /// Snapshots kept besides the latest; `None` keeps all.
    pub depth: Option<u32>,
    pub policy: Policy,
    /// Where this rank is, if the sets are placed by failure domains.
    pub path: Option<String>,
    /// Whether shares carry checksums, compared at restore.
    pub checksums: bool,
}

/// The size of a rank's own part of a member; may differ from rank to rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    pub count: u64,
    /// Packed bytes of an element.
    pub element: u64,
}

/// Which snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    Latest,
    At(i32),
}

/// What a restore found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub found: Regions,
    /// Whether that is every element of the member.
    pub complete: bool,
}

pub(super) struct Member {
    pub(super) attributes: Attributes,
    /// Restored by a rank that has not created it.
    pub(super) restored: bool,
}

pub struct Group<C: Comm> {
    pub(super) settings: Settings,
    pub(super) members: BTreeMap<i32, Member>,
    pub(super) snapshots: Snapshots,
    pub(super) memory: Memory,
    /// Stores under way, in order.
    pub(super) pending: VecDeque<PendingStore<C>>,
    /// Stores under way that failed, until the caller waits for them or tests them.
    pub(super) failed: BTreeMap<Ticket, Error>,
    pub(super) stores: u32,
    pub(super) tickets: u32,
    pub(super) set: Set,
    /// Of the shares of the set in the last store of a member, by position.
    pub(super) lengths: BTreeMap<i32, Vec<u64>>,
    /// How many ranks it had when it was created last.
    width: usize,
    /// Elements whose store failed on some rank of the set. Other sets may have staged theirs, so there is no commit until
    /// they are stored.
    pub(super) unstored: BTreeMap<i32, Regions>,
    /// The sets of all ranks if they were placed by failure domains.
    placed: Option<KnownSets>,
    /// Absent after a failure until the group is created again.
    pub(super) comm: Option<C>,
}

impl<C: Comm> Group<C> {
    /// Creates the group, or, after a failure, creates it again: `survived` is what this rank had of it,
    /// `None` on ranks that are new. What was staged is dropped; snapshots that not all survivors have too.
    /// New ranks learn which snapshots there are and get their data with [`Group::restore`].
    ///
    /// With an error, `survived` is lost: a rank that may be able to try again calls [`Group::renew`].
    ///
    /// Others may use `comm` too, other groups among them, if all calls on it come in the same order on all ranks and none
    /// but groups sends with the tags of stores (`staging`).
    ///
    /// # Collective
    /// Called by all ranks of `comm` with the same settings; all return the same verdict. Some ranks may
    /// call [`Group::renew`] instead.
    pub fn create(survived: Option<Group<C>>, comm: C, settings: Settings) -> Result<Group<C>> {
        if let Some(mut group) = survived {
            group.renew(comm, settings)?;
            return Ok(group);
        }
        let policy = agreement::check_settings(&comm, &settings, None)?;
        let mut common = agreement::common(&comm, None)?;
        let (set, placed) = sets(&comm, &settings, policy, None, &mut common.marks)?;
        let first = common.next.unwrap_or(settings.first_stamp);
        let mut group = Group {
            set,
            placed,
            width: comm.size(),
            unstored: BTreeMap::new(),
            lengths: BTreeMap::new(),
            snapshots: Snapshots::new(first, common.generation),
            settings,
            members: BTreeMap::new(),
            memory: Memory::default(),
            pending: VecDeque::new(),
            failed: BTreeMap::new(),
            stores: 0,
            tickets: 0,
            comm: Some(comm),
        };
        group.keep(&common.marks)?;
        Ok(group)
    }

    /// As [`Group::create`] on a rank that survived. With an error the group stays without a communicator,
    /// and its snapshots are as they were.
    ///
    /// # Collective
    /// As [`Group::create`], which new ranks call.
    pub fn renew(&mut self, comm: C, settings: Settings) -> Result<()> {
        self.detach();
        let survived = Some((&self.settings, self.width));
        let policy = agreement::check_settings(&comm, &settings, survived)?;
        let mut common = self.common(&comm)?;
        let held = self.placed.as_ref();
        let (set, placed) = sets(&comm, &settings, policy, held, &mut common.marks)?;
        // Nothing is sent from here on, so all ranks or none get here unless the transport fails.
        (self.set, self.placed, self.width) = (set, placed, comm.size());
        self.settings = settings;
        self.lengths.clear();
        self.stores = 0;
        self.comm = Some(comm);
        self.take_up(common)
    }

    /// The snapshots that all ranks have, and the next time stamp. The retired snapshot counts too: it may be the newest
    /// that all ranks have.
    fn common(&self, comm: &C) -> Result<Common> {
        let retired = self.memory.retired.iter().map(Snapshot::mark);
        let own: Vec<_> = self.snapshots.marks().chain(retired).collect();
        agreement::common(comm, Some(self.past(&own)))
    }

    pub(super) fn past<'a>(&self, marks: &'a [SnapshotMark]) -> Past<'a> {
        Past {
            marks,
            next: self.snapshots.next,
            generation: self.snapshots.generation,
        }
    }

    /// Goes on with what all ranks have.
    fn take_up(&mut self, common: Common) -> Result<()> {
        self.snapshots.next = common.next.unwrap_or(self.snapshots.next);
        self.snapshots.generation = common.generation;
        self.keep(&common.marks)
    }

    fn keep(&mut self, marks: &[SnapshotMark]) -> Result<()> {
        let (depth, width) = (self.settings.depth, self.comm()?.size());
        self.snapshots.bring_back(&mut self.memory);
        self.snapshots.keep(marks, depth, width, &mut self.memory);
        Ok(())
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn comm(&self) -> Result<&C> {
        self.comm.as_ref().ok_or(Error::Detached(self.settings.id))
    }

    /// Drops the communicator, which a failure has made useless, and what was staged or under way. Waits for messages under
    /// way: where these cannot complete, the communicator must have been revoked.
    pub fn detach(&mut self) {
        self.pending.clear();
        self.failed.clear();
        self.drop_staged();
        self.comm = None;
    }

    fn drop_staged(&mut self) {
        self.unstored.clear();
        self.snapshots.drop_staged(&mut self.memory);
    }

    /// Messages within the set, and the memory for them.
    pub(super) fn channel(&mut self, tag: Tag) -> Result<(Channel<'_, C>, &mut Memory)> {
        let comm = self.comm.as_ref();
        let channel = Channel {
            comm: comm.ok_or(Error::Detached(self.settings.id))?,
            set: &self.set,
            tag,
        };
        Ok((channel, &mut self.memory))
    }

    // ---- members: local ----

    /// A member that came back with a restore may be created once more: it gets these attributes.
    pub fn create_member(&mut self, member: i32, attributes: Attributes) -> Result<()> {
        check(attributes)?;
        if self.members.get(&member).is_some_and(|old| !old.restored) {
            return Err(Error::MemberExists {
                group: self.settings.id,
                member,
            });
        }
        self.members.insert(
            member,
            Member {
                attributes,
                restored: false,
            },
        );
        Ok(())
    }

    /// Deletes what is stored of it, too.
    pub fn delete_member(&mut self, member: i32) -> Result<()> {
        let known = self.members.remove(&member);
        known.ok_or_else(|| self.no_member(member))?;
        self.unstored.remove(&member);
        self.lengths.remove(&member);
        self.snapshots.delete_member(member, &mut self.memory);
        Ok(())
    }

    /// In ascending order.
    pub fn members(&self) -> Vec<i32> {
        self.members.keys().copied().collect()
    }

    pub fn attributes(&self, member: i32) -> Result<Attributes> {
        let member = self
            .members
            .get(&member)
            .ok_or_else(|| self.no_member(member))?;
        Ok(member.attributes)
    }

    pub fn set_attributes(&mut self, member: i32, attributes: Attributes) -> Result<()> {
        check(attributes)?;
        let unknown = self.no_member(member);
        self.members.get_mut(&member).ok_or(unknown)?.attributes = attributes;
        Ok(())
    }

    pub(super) fn no_member(&self, member: i32) -> Error {
        Error::NoSuchMember {
            group: self.settings.id,
            member,
        }
    }

    // ---- snapshots ----

    /// Waits for stores under way, then makes what is staged a snapshot. Returns its time stamp.
    /// The snapshot beyond the depth is kept until its memory is needed.
    pub fn commit(&mut self) -> Result<i32> {
        self.prepare_commit()?;
        self.unstored.clear();
        let width = self.comm()?.size();
        let depth = self.settings.depth;
        self.snapshots.commit(width, depth, &mut self.memory)
    }

    /// Removes snapshots that not all ranks have.
    ///
    /// # Collective
    /// Called by all ranks of the group; all return the same verdict.
    pub fn reconcile(&mut self) -> Result<()> {
        self.settle();
        let common = self.common(self.comm()?)?;
        if common.next != Some(self.snapshots.next) {
            self.drop_staged();
        }
        self.take_up(common)
    }

    /// Time stamps, newest first.
    pub fn snapshots(&self) -> Vec<i32> {
        let kept = self.snapshots.kept.iter();
        kept.map(|snapshot| snapshot.stamp).collect()
    }

    /// `None` deletes all.
    pub fn delete_snapshot(&mut self, which: Option<Stamp>) -> Result<()> {
        let deleted = match which {
            None => self.snapshots.kept.drain(..).collect(),
            Some(stamp) => {
                let index = self.snapshots.index(stamp);
                let index = index.ok_or_else(|| self.no_stamp(stamp))?;
                Vec::from_iter(self.snapshots.kept.remove(index))
            }
        };
        for snapshot in deleted {
            snapshot.recycle(&mut self.memory);
        }
        self.memory.retire(None);
        Ok(())
    }

    pub(super) fn no_stamp(&self, stamp: Stamp) -> Error {
        match stamp {
            Stamp::Latest => Error::NoData("nothing has been committed".into()),
            Stamp::At(stamp) => Error::NoSuchStamp {
                group: self.settings.id,
                stamp,
            },
        }
    }

    /// Bytes held for snapshots, staged and unused ones included.
    pub fn memory(&self) -> u64 {
        let pending = self.pending.iter();
        let pending: u64 = pending.map(|pending| pending.storing.bytes()).sum();
        self.snapshots.bytes() + self.memory.bytes() + pending
    }
}

/// The set of this rank, and those of all ranks if they are placed. Removes snapshots from `marks` that were stored in
/// other sets.
fn sets<C: Comm>(
    comm: &C,
    settings: &Settings,
    policy: Policy,
    held: Option<&KnownSets>,
    marks: &mut Vec<SnapshotMark>,
) -> Result<(Set, Option<KnownSets>)> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let Some(path) = &settings.path else {
        let mut set = policy.set(rank, ranks)?;
        set.learn_hosts(comm, HOSTS)?;
        return Ok((set, None));
    };
    let [_, _, set_size, _] = policy.numbers();
    let wanted = (policy.scheme(), set_size as usize);
    let found = kept_or_chosen(comm, path, wanted, held).map_err(|error| match error {
        protect::Error::Mismatch(what) => Error::Mismatch {
            group: settings.id,
            what,
        },
        error => error.into(),
    });
    let sets = match found? {
        PlacedSets::Kept(sets) => sets,
        PlacedSets::Chosen(sets) => {
            marks.retain(|mark| mark.width != ranks);
            sets
        }
    };
    let mut set = Set::new(sets.members(rank)?, rank, policy.scheme())?;
    set.learn_hosts(comm, HOSTS)?;
    Ok((set, Some(sets)))
}

fn check(attributes: Attributes) -> Result<()> {
    let Attributes { count, element } = attributes;
    match count.checked_mul(element) {
        Some(bytes) if bytes <= i64::MAX as u64 => Ok(()),
        _ => Err(Error::AttributeValue(format!(
            "{count} elements of {element} bytes are too many"
        ))),
    }
}
