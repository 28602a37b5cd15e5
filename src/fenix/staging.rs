//! Stores of a group, at once or under way, into the staged snapshot.
//!
//! Stores complete in the order in which they were started. If one fails, the elements that this rank lacks are recorded:
//! other sets may have stored theirs, so a commit would mix elements of two times.

use super::group::Group;
use super::share::Share;
use super::storing::{Manner, Storing};
use super::{Error, Regions, Result, Source, Subset};
use crate::comm::{Comm, Tag};

/// A store under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u32);

/// Every store has two tags of its own, so that messages of stores under way do not match each other: the first tag of all,
/// and how many stores of a group, and groups by their ids, have different ones. Beyond that tags are used again, which
/// is safe: a store starts all its messages, sends and receives, before the next store does, in the same order on all
/// ranks, and MPI matches messages with one tag in that order. No other room sends with tags of this range.
const FIRST_TAG: Tag = 1 << 13;
const STORES: u32 = 256;
const GROUPS: u32 = 16;

/// Steps of a store that are started before the first of them is waited for.
const AHEAD: usize = 3;

pub(super) struct PendingStore<C: Comm> {
    ticket: Ticket,
    member: i32,
    pub(super) storing: Storing<C>,
}

impl<C: Comm> Group<C> {
    /// Adds the elements of `subset` to the staged snapshot and protects them; counts and subsets may
    /// differ from rank to rank. A later store of the same elements takes the place of an earlier one.
    ///
    /// # Collective
    /// Called by all ranks of the group in the same order. An error is the same on all ranks of a set.
    pub fn store(
        &mut self,
        member: i32,
        source: &(impl Source + ?Sized),
        subset: &Subset,
    ) -> Result<()> {
        self.settle();
        let storing = self.begin(member, source, subset, AHEAD)?;
        self.stage(member, storing)
    }

    /// Waits for a store and adds it to what the next commit makes permanent.
    fn stage(&mut self, member: i32, storing: Storing<C>) -> Result<()> {
        let regions = storing.regions().clone();
        let entry = self
            .channel(storing.tag)
            .and_then(|(channel, memory)| storing.finish(&channel, memory));
        match entry {
            Ok(entry) => {
                if let Some(missing) = self.unstored.get_mut(&member) {
                    *missing = missing.without(&regions);
                }
                self.snapshots.stage(member, entry, &mut self.memory);
                Ok(())
            }
            Err(error) => {
                self.miss(member, &regions);
                Err(error)
            }
        }
    }

    fn miss(&mut self, member: i32, regions: &Regions) {
        let missing = self.unstored.entry(member).or_default();
        *missing = missing.union(regions);
    }

    /// As [`Group::store`], but only copies the elements and starts the protection; `source` may change
    /// as soon as this returns. To be ended with [`Group::wait`] or [`Group::test`].
    ///
    /// All messages are started here, so that MPI can move them on in any call: nobody has to wait for
    /// another rank to come back to this library. With parity this takes as much memory again as the share, for
    /// each rank of a set that may be lost; it is kept for the next store until a store that waits is committed.
    pub fn start_store(
        &mut self,
        member: i32,
        source: &(impl Source + ?Sized),
        subset: &Subset,
    ) -> Result<Ticket> {
        let storing = self.begin(member, source, subset, usize::MAX)?;
        let ticket = Ticket(self.tickets);
        self.tickets = self.tickets.wrapping_add(1);
        self.pending.push_back(PendingStore {
            ticket,
            member,
            storing,
        });
        Ok(ticket)
    }

    fn begin(
        &mut self,
        member: i32,
        source: &(impl Source + ?Sized),
        subset: &Subset,
        ahead: usize,
    ) -> Result<Storing<C>> {
        let share = self.attributes(member).map(|attributes| Share {
            attributes,
            regions: subset.regions(attributes.count),
            crc: None,
        });
        let wanted = share.as_ref().ok().map(|share| share.regions.clone());
        let own = share.as_ref().map_or(0, Share::length);
        let manner = Manner {
            checksums: self.settings.checksums,
            ahead,
            expected: self.expected_lengths(member, own),
        };
        let tag = self.store_tag();
        self.stores = self.stores.wrapping_add(1);
        let (channel, memory) = self.channel(tag)?;
        let started = Storing::start(&channel, memory, manner, member, share, source);
        match (&started, wanted) {
            (Ok(storing), _) => drop(self.lengths.insert(member, storing.lengths())),
            (Err(_), Some(regions)) => self.miss(member, &regions),
            (Err(_), None) => {}
        }
        started
    }

    /// The first tag of the next store.
    pub(super) fn store_tag(&self) -> Tag {
        let group = self.settings.id as u32 % GROUPS;
        FIRST_TAG + 2 * (group * STORES + self.stores % STORES) as Tag
    }

    /// The lengths of all shares of the set as they were last, or all as this rank's own.
    fn expected_lengths(&self, member: i32, own: u64) -> Vec<u64> {
        let last = self.lengths.get(&member);
        let last = last.filter(|lengths| lengths[self.set.mine()] == own);
        last.cloned().unwrap_or_else(|| vec![own; self.set.size()])
    }

    /// Ends all stores under way.
    pub(super) fn settle(&mut self) {
        while !self.pending.is_empty() {
            self.end_first();
        }
    }

    fn end_first(&mut self) {
        let Some(PendingStore {
            ticket,
            member,
            storing,
        }) = self.pending.pop_front()
        else {
            return;
        };
        if let Err(error) = self.stage(member, storing) {
            self.failed.insert(ticket, error);
        }
    }

    /// Waits for a store; returns at once if it has ended.
    pub fn wait(&mut self, ticket: Ticket) -> Result<()> {
        self.check_ticket(ticket)?;
        while self.is_pending(ticket) {
            self.end_first();
        }
        self.failed.remove(&ticket).map_or(Ok(()), Err)
    }

    /// Progresses stores without waiting; true if this one has ended.
    pub fn test(&mut self, ticket: Ticket) -> Result<bool> {
        self.check_ticket(ticket)?;
        self.move_on();
        let failed = self.failed.remove(&ticket);
        failed.map_or(Ok(!self.is_pending(ticket)), Err)
    }

    /// Completes the first stores that have nothing left to wait for, and progresses the others.
    fn move_on(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        let done = pending
            .iter_mut()
            .map(|pending| match self.channel(pending.storing.tag) {
                Ok((channel, _)) => pending.storing.is_done(&channel),
                Err(_) => true,
            });
        let done: Vec<_> = done.collect();
        self.pending = pending;
        for _ in done.into_iter().take_while(|done| *done) {
            self.end_first();
        }
    }

    fn is_pending(&self, ticket: Ticket) -> bool {
        self.pending.iter().any(|pending| pending.ticket == ticket)
    }

    fn check_ticket(&self, ticket: Ticket) -> Result<()> {
        let known = ticket.0 < self.tickets;
        known.then_some(()).ok_or(Error::NoSuchRequest)
    }

    /// Waits for stores under way, and refuses to commit if a store has failed that other ranks may have completed.
    pub fn prepare_commit(&mut self) -> Result<()> {
        self.settle();
        if let Some((_, error)) = self.failed.pop_first() {
            return Err(error);
        }
        let missing = self
            .unstored
            .iter()
            .find(|(_, missing)| missing.count() > 0);
        match missing {
            Some((&member, _)) => Err(Error::NotStored {
                group: self.settings.id,
                member,
            }),
            None => self.comm().map(drop),
        }
    }
}
