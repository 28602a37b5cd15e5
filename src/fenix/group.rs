//! A data group: its members, its snapshots, and what protects them.

use super::{Policy, Regions, Result, Source, Subset, Target};
use crate::comm::Comm;

/// What all ranks give alike when they create a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub id: i32,
    /// The time stamp of the first commit.
    pub first_stamp: i32,
    /// Snapshots kept besides the latest; `None` keeps all.
    pub depth: Option<u32>,
    pub policy: Policy,
    /// Whether shares carry checksums, compared at restore.
    pub checksums: bool,
}

/// What a rank says of its own part of a member; may differ from rank to rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// A store under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u32);

/// What a restore found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub found: Regions,
    /// Whether that is every element of the member.
    pub complete: bool,
}

pub struct Group<C: Comm> {
    settings: Settings,
    /// Absent after a failure until the group is created again.
    comm: Option<C>,
}

impl<C: Comm> Group<C> {
    /// Creates the group, or, after a failure, creates it again: `survived` is what this rank had of it,
    /// `None` on ranks that are new. What was staged is dropped; snapshots that not all survivors have too.
    /// New ranks learn which snapshots there are and get their data with [`Group::restore`].
    ///
    /// # Collective
    /// Called by all ranks of `comm` with the same settings; all return the same verdict. `survived` is
    /// lost with an error only on ranks where it could not be used any more anyway.
    pub fn create(_survived: Option<Group<C>>, _comm: C, _settings: Settings) -> Result<Group<C>> {
        todo!()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn comm(&self) -> Result<&C> {
        self.comm
            .as_ref()
            .ok_or(super::Error::Detached(self.settings.id))
    }

    /// Gives up the communicator and what was staged or under way: a failure has made it useless.
    pub fn detach(&mut self) {
        todo!()
    }

    // ---- members: local ----

    /// A member that came back with a restore may be created once more: it gets these attributes.
    pub fn create_member(&mut self, _member: i32, _attributes: Attributes) -> Result<()> {
        todo!()
    }

    pub fn delete_member(&mut self, _member: i32) -> Result<()> {
        todo!()
    }

    /// In ascending order.
    pub fn members(&self) -> Vec<i32> {
        todo!()
    }

    pub fn attributes(&self, _member: i32) -> Result<Attributes> {
        todo!()
    }

    pub fn set_attributes(&mut self, _member: i32, _attributes: Attributes) -> Result<()> {
        todo!()
    }

    /// The attributes that another rank has.
    ///
    /// # Collective
    /// Called by all ranks of the group; each asks one rank.
    pub fn attributes_of(&self, _member: i32, _rank: usize) -> Result<Attributes> {
        todo!()
    }

    // ---- storing ----

    /// Adds the elements of `subset` to the staged snapshot and protects them; counts and subsets may
    /// differ from rank to rank. A later store of the same elements takes the place of an earlier one.
    ///
    /// # Collective
    /// Called by all ranks of the group in the same order.
    pub fn store(
        &mut self,
        _member: i32,
        _source: &(impl Source + ?Sized),
        _subset: &Subset,
    ) -> Result<()> {
        todo!()
    }

    /// As [`Group::store`], but only copies the elements and starts the protection; `source` may change
    /// as soon as this returns. To be ended with [`Group::wait`] or [`Group::test`].
    pub fn start_store(
        &mut self,
        _member: i32,
        _source: &(impl Source + ?Sized),
        _subset: &Subset,
    ) -> Result<Ticket> {
        todo!()
    }

    /// A ticket that has ended is fine too.
    pub fn wait(&mut self, _ticket: Ticket) -> Result<()> {
        todo!()
    }

    /// Moves stores on as far as possible without waiting and tells whether this one has ended.
    pub fn test(&mut self, _ticket: Ticket) -> Result<bool> {
        todo!()
    }

    // ---- snapshots ----

    /// Waits for stores under way, then makes what is staged a snapshot. Returns its time stamp.
    /// The snapshot that it pushes out is given up only when its memory is needed.
    pub fn commit(&mut self) -> Result<i32> {
        todo!()
    }

    /// Removes snapshots that not all ranks have.
    ///
    /// # Collective
    /// Called by all ranks of the group; all return the same verdict.
    pub fn reconcile(&mut self) -> Result<()> {
        todo!()
    }

    /// Time stamps, newest first.
    pub fn snapshots(&self) -> Vec<i32> {
        todo!()
    }

    /// `None` deletes all.
    pub fn delete_snapshot(&mut self, _which: Option<Stamp>) -> Result<()> {
        todo!()
    }

    // ---- restoring ----

    /// Rebuilds what ranks of this rank's set have lost of a member, then writes the elements below
    /// `max_count` to `target`: as they were at `stamp`, or before where that snapshot lacks them. Without a
    /// target it only rebuilds. A rank that lost the member gets it back, attributes too.
    ///
    /// # Collective
    /// Called by all ranks of the group; all return the same verdict. On an error no target is touched.
    pub fn restore(
        &mut self,
        _member: i32,
        _stamp: Stamp,
        _max_count: u64,
        _target: Option<&mut (impl Target + ?Sized)>,
    ) -> Result<Restored> {
        todo!()
    }

    /// As [`Group::restore`] from what this rank has itself, without the others.
    pub fn restore_locally(
        &self,
        _member: i32,
        _stamp: Stamp,
        _max_count: u64,
        _target: &mut (impl Target + ?Sized),
    ) -> Result<Restored> {
        todo!()
    }

    /// As [`Group::restore`], but every rank gets the elements of the rank it names.
    pub fn restore_from(
        &mut self,
        _member: i32,
        _stamp: Stamp,
        _max_count: u64,
        _target: &mut (impl Target + ?Sized),
        _rank: usize,
    ) -> Result<Restored> {
        todo!()
    }

    /// Bytes held for snapshots, staged and unused ones included.
    pub fn memory(&self) -> u64 {
        todo!()
    }
}
