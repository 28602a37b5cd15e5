//! Gives back to ranks of a set what they have lost of a member.
//!
//! The ranks of a set tell each other which snapshots of the member they have. Where one rank lacks a
//! snapshot, another tells it what the shares were, and then its share and its guard come back in steps: each
//! segment is the XOR of segments that the other ranks have. One of these gathers the others' segments, XORs
//! them and sends the result, so that no rank has to take in more than it lost.
//!
//! A repair is planned first: then all ranks of the set know what will come back and have the memory for it,
//! so that only the transport can still fail. What is rebuilt is handed to the caller as a whole; a repair
//! that breaks off changes nothing.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::bytes::Bytes;
use super::header::{judge, status_of, statuses};
use super::memory::Memory;
use super::reading::Stored;
use super::set::Set;
use super::share::{Description, message};
use super::snapshot::{Entries, Entry, Snapshot};
use super::storing::{Means, reserved, xor};
use super::stripes::{Layout, Part, Stripe, stripes};
use super::telling::{State, Told, had_alike, lost_positions, states, tell};
use super::{Error, Result};
use crate::comm::{Comm, Tag, Underway};
use crate::pages::Room;

const READY: Tag = 1;
const GATHER: Tag = 3;
const RETURN: Tag = 4;

/// Steps under way at once.
const AT_ONCE: usize = 4;

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
pub(super) struct Plan {
    repairs: Vec<Repair>,
    /// For segments that pass through this rank.
    transit: Vec<Room>,
    /// Snapshots of which this rank has nothing that can be trusted and gets nothing back.
    pub(super) lost: Vec<usize>,
}

/// The repair of one snapshot.
struct Repair {
    index: usize,
    lost: usize,
    stripes: Vec<Stripe>,
    layouts: Vec<Layout>,
    /// Whether this rank is the one.
    mine: bool,
    /// On that rank.
    rebuilt: Vec<Rebuilt>,
    /// The members that were stored, if it was told.
    stored: Option<BTreeSet<i32>>,
}

impl Repair {
    /// This rank, which has lost the snapshot, learns that the member was not stored.
    fn of_nothing(index: usize, mine: usize) -> Repair {
        Repair {
            index,
            lost: mine,
            stripes: Vec::new(),
            layouts: Vec::new(),
            mine: true,
            rebuilt: Vec::new(),
            stored: None,
        }
    }
}

impl Plan {
    /// Plans the repair of what can be repaired of the member in `snapshots`.
    ///
    /// # Collective
    /// Called by all ranks of the set with the same snapshots; all return the same verdict.
    pub(super) fn make<C: Comm>(
        means: &mut Means<'_, C>,
        member: i32,
        snapshots: &[(usize, &Snapshot)],
    ) -> Result<Plan> {
        let states = states(means, member, snapshots)?;
        let mut plan = Ok(Plan::default());
        let (mut lost_for_good, mut to_do) = (Vec::new(), 0);
        for ((index, snapshot), states) in snapshots.iter().zip(states) {
            let lost = lost_positions(&states);
            let mine = lost.contains(&means.set.mine());
            // A store is one of all ranks: what one has not stored, no other has lost.
            if states.contains(&State::Nothing) && had_alike(&states) {
                let nothing = Repair::of_nothing(*index, means.set.mine());
                plan = plan.map(|plan| plan.and(mine.then_some(nothing)));
                continue;
            }
            let [lost] = lost[..] else {
                lost_for_good.extend(mine.then_some(*index));
                continue;
            };
            if !had_alike(&states) {
                return Err(Error::NoData(format!(
                    "the ranks that protect rank {} have stored member {member} differently",
                    means.set.rank(lost)
                )));
            }
            to_do += 1;
            let entries = held(snapshot, member, mine)?;
            let told = tell(means, lost, snapshot, entries)?;
            plan = plan.and_then(|plan| plan.with(means, *index, lost, told?, entries));
        }
        if to_do > 0 {
            plan = all_ready(means, plan)?;
        }
        plan.map(|plan| Plan {
            lost: lost_for_good,
            ..plan
        })
    }

    fn and(mut self, repair: Option<Repair>) -> Plan {
        self.repairs.extend(repair);
        self
    }

    fn with<C: Comm>(
        mut self,
        means: &mut Means<'_, C>,
        index: usize,
        lost: usize,
        told: Told,
        entries: &[Entry],
    ) -> Result<Plan> {
        let Told { shares, stored } = told;
        let mut repair = Repair {
            index,
            lost,
            stripes: stripes(means.set, lost),
            layouts: shares.iter().map(|s| Layout::new(means.set, s)).collect(),
            mine: means.set.mine() == lost,
            rebuilt: Vec::new(),
            stored,
        };
        if repair.mine {
            for (layout, shares) in repair.layouts.iter().zip(shares) {
                let rebuilt = Rebuilt::new(means.memory, layout, lost, shares)?;
                repair.rebuilt.push(rebuilt);
            }
        } else {
            let mine = means.set.mine();
            let mut held = repair.layouts.iter().zip(entries);
            held.try_for_each(|(layout, entry)| layout.check(mine, entry))?;
            self.reserve_transit(means, &repair)?;
        }
        self.repairs.push(repair);
        Ok(self)
    }

    /// A rank works on at most two stripes in a step, and has results of as many under way.
    fn reserve_transit<C: Comm>(
        &mut self,
        means: &mut Means<'_, C>,
        repair: &Repair,
    ) -> Result<()> {
        let sources = repair.stripes.iter().map(|stripe| stripe.sources.len());
        let passing = match sources.max() {
            Some(sources) if sources > 1 => 2 * sources * (AT_ONCE + 1),
            _ => 0,
        };
        let cuts = repair.layouts.iter().flat_map(|layout| &layout.shares);
        let longest = cuts.map(|cut| cut.segment_length(0, 0)).fold(0, usize::max);
        let (long, short): (_, Vec<_>) = std::mem::take(&mut self.transit)
            .into_iter()
            .partition(|room| room.capacity() >= longest);
        self.transit = long;
        means.memory.put_all(short);
        let missing = passing.saturating_sub(self.transit.len());
        let room = std::iter::repeat_n(longest, missing);
        self.transit.extend(means.memory.reserve(room)?);
        Ok(())
    }

    /// What this rank will have got back of a snapshot.
    pub(super) fn coming(&self, index: usize) -> Option<Vec<Stored<'_>>> {
        let mut repairs = self.repairs.iter();
        let repair = repairs.find(|repair| repair.index == index && repair.mine)?;
        let stored = repair.rebuilt.iter().map(|rebuilt| Stored {
            share: &rebuilt.shares[repair.lost],
            bytes: &rebuilt.own,
        });
        Some(stored.collect())
    }

    /// # Collective
    /// Called by all ranks of the set with the snapshots of which the plan was made.
    pub(super) fn carry_out<C: Comm>(
        self,
        means: &mut Means<'_, C>,
        member: i32,
        snapshots: &VecDeque<Snapshot>,
    ) -> Result<Repaired> {
        let (mut transit, mut repaired) = (self.transit, Repaired::default());
        for repair in self.repairs {
            let (index, lost, mine) = (repair.index, repair.lost, repair.mine);
            let mut work = Work {
                entries: held(&snapshots[index], member, mine)?,
                repair,
                transit,
            };
            work.run(means)?;
            transit = work.transit;
            let stored = work.repair.stored.map(|stored| (index, stored));
            repaired.stored.extend(stored);
            let rebuilt = work.repair.rebuilt.into_iter();
            let rebuilt: Entries = rebuilt.map(|entry| entry.done(lost)).collect();
            // An error of the lost rank alone must not keep it from helping with the next snapshot.
            match rebuilt.iter().all(Entry::is_sound) {
                _ if !mine => {}
                true => repaired.entries.push((index, rebuilt)),
                false => repaired.lost.push(index),
            }
        }
        means.memory.put_all(transit);
        Ok(repaired)
    }
}

/// What this rank has of a member to help others with; nothing if it is the one that lost it.
fn held(snapshot: &Snapshot, member: i32, mine: bool) -> Result<&[Entry]> {
    let lost = Error::Invariant("a rank said that it has what it has lost");
    match mine {
        true => Ok(&[]),
        false => snapshot.entries(member).ok_or(lost),
    }
}

/// The plan if no rank of the set lacks anything it needs for it. The outer error is one of the transport.
fn all_ready<C: Comm>(means: &Means<'_, C>, plan: Result<Plan>) -> Result<Result<Plan>> {
    let status = message(&[plan.as_ref().err().map_or(0, status_of)]);
    let exchange = means.exchange(READY, status.clone(), |_| 8)?;
    let told = means.by_position(exchange, status)?;
    Ok(judge(means.set, plan, statuses(&told)?.into_iter()))
}

/// An entry that comes back.
struct Rebuilt {
    shares: Vec<Description>,
    own: Bytes,
    guard: Bytes,
    own_room: VecDeque<Room>,
    guard_room: VecDeque<Room>,
}

impl Rebuilt {
    fn new(
        memory: &mut Memory,
        layout: &Layout,
        lost: usize,
        shares: Vec<Description>,
    ) -> Result<Rebuilt> {
        let (own, guard) = (layout.shares[lost], layout.guards[lost]);
        Ok(Rebuilt {
            shares,
            own: Bytes::new(own),
            guard: Bytes::new(guard),
            own_room: memory.reserve(own.lengths())?,
            guard_room: memory.reserve(guard.lengths())?,
        })
    }

    /// Room for the next segment of a part.
    fn room(&mut self, part: Part) -> Result<Room> {
        reserved(match part {
            Part::Chunk(_) => self.own_room.pop_front(),
            Part::Guard => self.guard_room.pop_front(),
        })
    }

    fn add(&mut self, part: Part, segment: Room) {
        match part {
            Part::Chunk(chunk) => self.own.push(chunk, Arc::new(segment)),
            Part::Guard => self.guard.push(0, Arc::new(segment)),
        }
    }

    fn done(self, mine: usize) -> Entry {
        Entry {
            shares: self.shares,
            mine,
            own: self.own,
            guard: Some(self.guard),
        }
    }
}

/// A repair that is carried out.
struct Work<'a> {
    repair: Repair,
    /// On the ranks that have them.
    entries: &'a [Entry],
    transit: Vec<Room>,
}

/// Segments on their way to this rank, which is to work on them.
struct Gathering<U> {
    underway: U,
    entry: usize,
    step: usize,
}

/// Results on their way to the rank that lost them.
struct Returning<U> {
    underway: U,
    results: Vec<Arc<Room>>,
}

/// The segments of which a lost one is the XOR.
struct Inputs {
    own: Option<Arc<Room>>,
    /// How many come from other ranks.
    others: usize,
    /// Of the lost one.
    length: usize,
}

impl Inputs {
    /// A result for which no room is left gets new memory: it is written in full either way.
    fn combine(self, others: &[Room], room: &mut Vec<Room>) -> Arc<Room> {
        match &self.own {
            Some(own) if others.is_empty() && own.len() == self.length => return own.clone(),
            _ => {}
        }
        let mut result = room.pop().unwrap_or_default();
        result.resize(self.length);
        let pieces = others.iter().chain(self.own.as_deref());
        let pieces: Vec<_> = pieces.map(|piece| &piece[..]).collect();
        xor(&mut result, &pieces);
        Arc::new(result)
    }
}

impl Work<'_> {
    fn run<C: Comm>(&mut self, means: &Means<'_, C>) -> Result<()> {
        let steps = |(entry, layout): (usize, &Layout)| {
            (0..layout.steps(self.repair.lost)).map(move |step| (entry, step))
        };
        let steps: Vec<_> = self
            .repair
            .layouts
            .iter()
            .enumerate()
            .flat_map(steps)
            .collect();
        match self.repair.mine {
            true => self.receive(means, steps),
            false => self.help(means, steps),
        }
    }

    /// The stripes of which there is something left in a step.
    fn active(&self, entry: usize, step: usize) -> impl Iterator<Item = &Stripe> {
        let layout = &self.repair.layouts[entry];
        let length = move |stripe: &&Stripe| layout.length(self.repair.lost, stripe.lost, step);
        self.repair
            .stripes
            .iter()
            .filter(move |stripe| length(stripe) > 0)
    }

    fn receive<C: Comm>(&mut self, means: &Means<'_, C>, steps: Vec<(usize, usize)>) -> Result<()> {
        let mut arriving = VecDeque::new();
        for (entry, step) in steps {
            if arriving.len() >= AT_ONCE {
                self.arrive(arriving.pop_front())?;
            }
            let parts: Vec<_> = self.active(entry, step).map(|stripe| stripe.lost).collect();
            let workers = self.active(entry, step).map(|stripe| stripe.worker(step));
            let workers: Vec<_> = workers.map(|worker| means.set.rank(worker)).collect();
            let rebuilt = &mut self.repair.rebuilt[entry];
            let rooms: Result<Vec<_>> = parts.iter().map(|part| rebuilt.room(*part)).collect();
            let recvs = workers.into_iter().zip(rooms?).collect();
            arriving.push_back((means.comm.start(RETURN, vec![], recvs)?, entry, parts));
        }
        while !arriving.is_empty() {
            self.arrive(arriving.pop_front())?;
        }
        Ok(())
    }

    fn arrive<U: Underway<Room>>(&mut self, arriving: Option<(U, usize, Vec<Part>)>) -> Result<()> {
        let Some((underway, entry, parts)) = arriving else {
            return Ok(());
        };
        for (part, segment) in parts.into_iter().zip(underway.finish()?) {
            self.repair.rebuilt[entry].add(part, segment);
        }
        Ok(())
    }

    fn help<C: Comm>(&mut self, means: &Means<'_, C>, steps: Vec<(usize, usize)>) -> Result<()> {
        let (mut gathering, mut returning) = (VecDeque::new(), VecDeque::new());
        for (entry, step) in steps {
            if gathering.len() >= AT_ONCE {
                returning.extend(self.give_back(means, gathering.pop_front())?);
            }
            if returning.len() > AT_ONCE {
                self.recycle(returning.pop_front())?;
            }
            gathering.push_back(self.gather(means, entry, step)?);
        }
        while !gathering.is_empty() {
            returning.extend(self.give_back(means, gathering.pop_front())?);
            if returning.len() > AT_ONCE {
                self.recycle(returning.pop_front())?;
            }
        }
        while !returning.is_empty() {
            self.recycle(returning.pop_front())?;
        }
        Ok(())
    }

    /// Sends this rank's segments to those that work on them, and expects those it works on itself.
    fn gather<C: Comm>(
        &mut self,
        means: &Means<'_, C>,
        entry: usize,
        step: usize,
    ) -> Result<Gathering<C::Underway<Room>>> {
        let (set, mine) = (means.set, means.set.mine());
        let (mut sends, mut wanted) = (Vec::new(), Vec::new());
        for stripe in self.active(entry, step) {
            let worker = stripe.worker(step);
            for (position, part) in &stripe.sources {
                if worker == mine && *position != mine {
                    wanted.push((
                        *position,
                        self.repair.layouts[entry].length(*position, *part, step),
                    ));
                } else if worker != mine && *position == mine {
                    let segment = part.segment(&self.entries[entry], step);
                    sends.extend(segment.map(|segment| (set.rank(worker), segment.clone())));
                }
            }
        }
        wanted.retain(|(_, length)| *length > 0);
        let room = wanted.into_iter().map(|(position, length)| {
            let mut room = self.transit.pop().unwrap_or_default();
            room.resize(length);
            (set.rank(position), room)
        });
        let recvs = room.collect();
        Ok(Gathering {
            underway: means.comm.start(GATHER, sends, recvs)?,
            entry,
            step,
        })
    }

    /// XORs what has arrived and sends it to the rank that lost it.
    fn give_back<C: Comm>(
        &mut self,
        means: &Means<'_, C>,
        gathering: Option<Gathering<C::Underway<Room>>>,
    ) -> Result<Option<Returning<C::Underway<Room>>>> {
        let Some(Gathering {
            underway,
            entry,
            step,
        }) = gathering
        else {
            return Ok(None);
        };
        let mut arrived = underway.finish()?;
        let mut results = Vec::new();
        let worked_on: Vec<_> = self
            .active(entry, step)
            .filter(|stripe| stripe.worker(step) == means.set.mine())
            .map(|stripe| self.inputs(means.set, stripe, entry, step))
            .collect();
        for inputs in worked_on {
            let rest = arrived.split_off(inputs.others);
            results.push(inputs.combine(&arrived, &mut self.transit));
            self.transit.append(&mut arrived);
            arrived = rest;
        }
        let lost = means.set.rank(self.repair.lost);
        let sends = results
            .iter()
            .map(|result| (lost, result.clone()))
            .collect();
        let underway = means.comm.start(RETURN, sends, vec![])?;
        Ok(Some(Returning { underway, results }))
    }

    /// What a stripe is made of on the rank that works on it.
    fn inputs(&self, set: &Set, stripe: &Stripe, entry: usize, step: usize) -> Inputs {
        let (layout, mine) = (&self.repair.layouts[entry], set.mine());
        let has_some = |position, part| layout.length(position, part, step) > 0;
        let (own, others): (Vec<_>, Vec<_>) = stripe
            .sources
            .iter()
            .partition(|(position, _)| *position == mine);
        let own = own
            .first()
            .and_then(|(_, part)| part.segment(&self.entries[entry], step));
        Inputs {
            own: own.cloned(),
            others: others
                .iter()
                .filter(|(p, part)| has_some(*p, *part))
                .count(),
            length: layout.length(self.repair.lost, stripe.lost, step),
        }
    }

    fn recycle<U: Underway<Room>>(&mut self, returning: Option<Returning<U>>) -> Result<()> {
        if let Some(Returning { underway, results }) = returning {
            underway.finish()?;
            self.transit
                .extend(results.into_iter().filter_map(Arc::into_inner));
        }
        Ok(())
    }
}
