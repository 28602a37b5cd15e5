//! Gives back to ranks of a set what they have lost of a member.
//!
//! The ranks of a set tell each other which snapshots of the member they have. Where one rank lacks a
//! snapshot, another tells it what the shares were, and then its share and its guard come back in steps: each
//! segment is the XOR of segments that the other ranks have. One of these gathers the others' segments, XORs
//! them and sends the result, so that no rank has to take in more than it lost. What is rebuilt is handed to
//! the caller as a whole; a repair that breaks off changes nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use super::bytes::Bytes;
use super::header::{judge, status_of};
use super::memory::Memory;
use super::set::Set;
use super::share::{Description, message, values};
use super::snapshot::{Entries, Entry, Snapshot, decode_shares, encode_shares};
use super::storing::{Means, xor};
use super::stripes::{Layout, Part, Stripe, stripes};
use super::{Error, Result};
use crate::comm::{Comm, Tag, Underway, transfer_unsized};

const STATE: Tag = 1;
const SHARES: Tag = 2;
const GATHER: Tag = 3;
const RETURN: Tag = 4;

/// Steps under way at once.
const AT_ONCE: usize = 4;

/// What a rank has of a member in one snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// With a number that tells different shares apart.
    Has(u32),
    Lost,
}

impl State {
    /// Of an entry that the checksums do not confirm nothing is trusted.
    fn of(snapshot: &Snapshot, member: i32) -> State {
        let entries = snapshot.entries(member).unwrap_or_default();
        match snapshot.is_sound(member) {
            true => State::Has(crc32fast::hash(&encode_shares(entries))),
            false => State::Lost,
        }
    }

    fn encode(self) -> u64 {
        match self {
            State::Has(number) => number.into(),
            State::Lost => u64::MAX,
        }
    }

    fn decode(value: u64) -> State {
        u32::try_from(value).map_or(State::Lost, State::Has)
    }
}

/// What came of the repair on this rank.
#[derive(Default)]
pub(super) struct Repaired {
    /// By the index of the snapshot.
    pub(super) entries: Vec<(usize, Entries)>,
    /// Snapshots of which this rank has nothing that can be trusted.
    pub(super) lost: Vec<usize>,
}

/// Repairs what can be repaired of the member in `snapshots`.
///
/// # Collective
/// Called by all ranks of the set with the same snapshots.
pub(super) fn repair<C: Comm>(
    means: &mut Means<'_, C>,
    member: i32,
    snapshots: &[(usize, &Snapshot)],
) -> Result<Repaired> {
    let mut repaired = Repaired::default();
    let states = states(means, member, snapshots)?;
    let mine = means.set.mine();
    for ((index, snapshot), states) in snapshots.iter().zip(states) {
        let lost: Vec<_> = positions(&states, |state| state == State::Lost).collect();
        let [lost] = lost[..] else {
            repaired.lost.extend(lost.contains(&mine).then_some(*index));
            continue;
        };
        if !had_alike(&states) {
            return Err(Error::NoData(format!(
                "the ranks that protect rank {} have stored member {member} differently",
                means.set.rank(lost)
            )));
        }
        let entries = snapshot.entries(member).unwrap_or_default();
        let rebuilt = repair_snapshot(means, lost, entries)?;
        // An error of the lost rank alone must not keep it from helping with the next snapshot.
        match rebuilt.iter().all(Entry::is_sound) {
            _ if lost != mine => {}
            true => repaired.entries.push((*index, rebuilt)),
            false => repaired.lost.push(*index),
        }
    }
    Ok(repaired)
}

fn positions(states: &[State], is: impl Fn(State) -> bool) -> impl Iterator<Item = usize> {
    let all = states.iter().enumerate();
    all.filter(move |(_, state)| is(**state)).map(|(p, _)| p)
}

fn had_alike(states: &[State]) -> bool {
    let mut had = states.iter().filter(|state| **state != State::Lost);
    let first = had.next();
    had.all(|state| Some(state) == first)
}

/// For each snapshot the states of all ranks of the set.
fn states<C: Comm>(
    means: &Means<'_, C>,
    member: i32,
    snapshots: &[(usize, &Snapshot)],
) -> Result<Vec<Vec<State>>> {
    let own = snapshots.iter().map(|(_, s)| State::of(s, member).encode());
    let own = message(&own.collect::<Vec<_>>());
    let exchange = means.exchange(STATE, own.clone(), |_| own.len())?;
    let all = means.by_position(exchange, own)?;
    let state = |bytes: &[u8], index: usize| State::decode(values::<1>(&bytes[8 * index..])[0]);
    let of_one = |index| all.iter().map(|bytes| state(bytes, index)).collect();
    Ok((0..snapshots.len()).map(of_one).collect())
}

/// What the rank at `lost` had, on that rank; the others help with what they have, and get nothing.
fn repair_snapshot<C: Comm>(
    means: &mut Means<'_, C>,
    lost: usize,
    entries: &[Entry],
) -> Result<Entries> {
    let told = tell_shares(means, lost, entries)?;
    let prepared = told.and_then(|shares| Work::prepare(means, lost, shares, entries));
    let status = message(&[prepared.as_ref().err().map_or(0, status_of)]);
    let exchange = means.exchange(STATE, status.clone(), |_| 8)?;
    let statuses = means.by_position(exchange, status)?;
    let statuses = statuses.iter().map(|bytes| values::<1>(bytes)[0]);
    let mut work = judge(means.set, prepared, statuses)?;
    work.run(means)?;
    means.memory.put_all(work.transit);
    let rebuilt = work.rebuilt.into_iter();
    Ok(rebuilt.map(|entry| entry.done(lost)).collect())
}

/// The shares of each entry. The inner error is one of this rank alone.
fn tell_shares<C: Comm>(
    means: &Means<'_, C>,
    lost: usize,
    entries: &[Entry],
) -> Result<Result<Vec<Vec<Description>>>> {
    let teller = usize::from(lost == 0);
    let (mine, rank) = (means.set.mine(), |position| means.set.rank(position));
    if mine == lost {
        let told = transfer_unsized(means.comm, SHARES, &[], &[rank(teller)])?;
        let shares = decode_shares(&told[0], means.set.size());
        let nonsense = || Error::Peer {
            rank: rank(teller),
            text: "it sent no valid shares".into(),
        };
        return Ok(shares.ok_or_else(nonsense));
    }
    if mine == teller {
        let shares = encode_shares(entries);
        transfer_unsized(means.comm, SHARES, &[(rank(lost), &shares)], &[])?;
    }
    Ok(Ok(entries
        .iter()
        .map(|entry| entry.shares.clone())
        .collect()))
}

/// An entry that comes back.
struct Rebuilt {
    shares: Vec<Description>,
    own: Bytes,
    guard: Bytes,
    own_room: VecDeque<Vec<u8>>,
    guard_room: VecDeque<Vec<u8>>,
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
    fn room(&mut self, part: Part) -> Vec<u8> {
        let room = match part {
            Part::Chunk(_) => self.own_room.pop_front(),
            Part::Guard => self.guard_room.pop_front(),
        };
        room.unwrap_or_default()
    }

    fn add(&mut self, part: Part, segment: Vec<u8>) {
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

/// The repair of one snapshot.
struct Work<'a> {
    lost: usize,
    stripes: Vec<Stripe>,
    layouts: Vec<Layout>,
    /// On the ranks that have them.
    entries: &'a [Entry],
    /// On the rank that has lost them.
    rebuilt: Vec<Rebuilt>,
    /// For segments that pass through this rank.
    transit: Vec<Vec<u8>>,
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
    results: Vec<Arc<Vec<u8>>>,
}

/// The segments of which a lost one is the XOR.
struct Inputs {
    own: Option<Arc<Vec<u8>>>,
    /// How many come from other ranks.
    others: usize,
    /// Of the lost one.
    length: usize,
}

impl Inputs {
    fn combine(self, others: &[Vec<u8>], room: &mut Vec<Vec<u8>>) -> Arc<Vec<u8>> {
        match &self.own {
            Some(own) if others.is_empty() && own.len() == self.length => return own.clone(),
            _ => {}
        }
        let mut result = room.pop().unwrap_or_default();
        result.resize(self.length, 0);
        let pieces = others.iter().chain(self.own.as_deref());
        let pieces: Vec<_> = pieces.map(|piece| &piece[..]).collect();
        xor(&mut result, &pieces);
        Arc::new(result)
    }
}

impl<'a> Work<'a> {
    fn prepare<C: Comm>(
        means: &mut Means<'_, C>,
        lost: usize,
        shares: Vec<Vec<Description>>,
        entries: &'a [Entry],
    ) -> Result<Work<'a>> {
        let layouts: Vec<_> = shares.iter().map(|s| Layout::new(means.set, s)).collect();
        let mut work = Work {
            lost,
            stripes: stripes(means.set, lost),
            layouts,
            entries,
            rebuilt: Vec::new(),
            transit: Vec::new(),
        };
        if means.set.mine() == lost {
            for (layout, shares) in work.layouts.iter().zip(shares) {
                let rebuilt = Rebuilt::new(means.memory, layout, lost, shares)?;
                work.rebuilt.push(rebuilt);
            }
        } else {
            work.reserve_transit(means)?;
        }
        Ok(work)
    }

    /// A rank works on at most two stripes in a step, and has results of as many under way.
    fn reserve_transit<C: Comm>(&mut self, means: &mut Means<'_, C>) -> Result<()> {
        let sources = self.stripes.iter().map(|stripe| stripe.sources.len()).max();
        let passing = match sources {
            Some(sources) if sources > 1 => 2 * sources * (AT_ONCE + 1),
            _ => 0,
        };
        let cuts = self.layouts.iter().flat_map(|layout| &layout.shares);
        let longest = cuts.map(|cut| cut.segment_length(0, 0)).max().unwrap_or(0);
        let room = std::iter::repeat_n(longest, passing);
        self.transit = means.memory.reserve(room)?.into();
        Ok(())
    }

    fn run<C: Comm>(&mut self, means: &Means<'_, C>) -> Result<()> {
        let steps = |(entry, layout): (usize, &Layout)| {
            (0..layout.steps(self.lost)).map(move |step| (entry, step))
        };
        let steps: Vec<_> = self.layouts.iter().enumerate().flat_map(steps).collect();
        match means.set.mine() == self.lost {
            true => self.receive(means, steps),
            false => self.help(means, steps),
        }
    }

    /// The stripes of which there is something left in a step.
    fn active(&self, entry: usize, step: usize) -> impl Iterator<Item = &Stripe> {
        let layout = &self.layouts[entry];
        let length = move |stripe: &&Stripe| layout.length(self.lost, stripe.lost, step);
        self.stripes.iter().filter(move |stripe| length(stripe) > 0)
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
            let rooms = parts.iter().map(|part| self.rebuilt[entry].room(*part));
            let recvs = workers.into_iter().zip(rooms).collect();
            arriving.push_back((means.comm.start(RETURN, vec![], recvs)?, entry, parts));
        }
        while !arriving.is_empty() {
            self.arrive(arriving.pop_front())?;
        }
        Ok(())
    }

    fn arrive<U: Underway>(&mut self, arriving: Option<(U, usize, Vec<Part>)>) -> Result<()> {
        let Some((underway, entry, parts)) = arriving else {
            return Ok(());
        };
        for (part, segment) in parts.into_iter().zip(underway.finish()?) {
            self.rebuilt[entry].add(part, segment);
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
    ) -> Result<Gathering<C::Underway>> {
        let (set, mine) = (means.set, means.set.mine());
        let (mut sends, mut wanted) = (Vec::new(), Vec::new());
        for stripe in self.active(entry, step) {
            let worker = stripe.worker(step);
            for (position, part) in &stripe.sources {
                if worker == mine && *position != mine {
                    wanted.push((
                        *position,
                        self.layouts[entry].length(*position, *part, step),
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
            room.resize(length, 0);
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
        gathering: Option<Gathering<C::Underway>>,
    ) -> Result<Option<Returning<C::Underway>>> {
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
        let lost = means.set.rank(self.lost);
        let sends = results
            .iter()
            .map(|result| (lost, result.clone()))
            .collect();
        let underway = means.comm.start(RETURN, sends, vec![])?;
        Ok(Some(Returning { underway, results }))
    }

    /// What a stripe is made of on the rank that works on it.
    fn inputs(&self, set: &Set, stripe: &Stripe, entry: usize, step: usize) -> Inputs {
        let (layout, mine) = (&self.layouts[entry], set.mine());
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
            length: layout.length(self.lost, stripe.lost, step),
        }
    }

    fn recycle<U: Underway>(&mut self, returning: Option<Returning<U>>) -> Result<()> {
        if let Some(Returning { underway, results }) = returning {
            underway.finish()?;
            self.transit
                .extend(results.into_iter().filter_map(Arc::into_inner));
        }
        Ok(())
    }
}
