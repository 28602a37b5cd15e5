//! One store call, from the user's memory to a finished entry.
//!
//! The ranks of a set first tell each other what they are about to store; a rank that cannot take part
//! says so here, so that nobody waits for it. Then each copies its share segment by segment, sends every
//! segment to the rank that guards it while it is still in the cache, and turns what arrives into its guard.
//! All memory is reserved before the first segment is sent.

use std::collections::VecDeque;
use std::sync::Arc;

use crc32fast::Hasher;

use super::bytes::Bytes;
use super::header::{HEADER, Header, READY, judge, status_of, statuses};
use super::memory::Memory;
use super::set::{Cut, Set};
use super::share::{Description, Packed, message, values};
use super::snapshot::Entry;
use super::{Attributes, Error, Regions, Result, Source};
use crate::comm::{Comm, Tag, Underway};
use crate::erasure;
use crate::pages::Room;

/// What the steps of a transfer need.
pub(super) struct Means<'a, C: Comm> {
    pub(super) comm: &'a C,
    pub(super) set: &'a Set,
    pub(super) memory: &'a mut Memory,
}

impl<C: Comm> Means<'_, C> {
    /// Sends `bytes` to all other ranks of the set and gets the messages of the given lengths from them.
    pub(super) fn exchange(
        &self,
        tag: Tag,
        bytes: Vec<u8>,
        length: impl Fn(usize) -> usize,
    ) -> Result<C::Underway<Vec<u8>>> {
        let (bytes, rank) = (Arc::new(bytes), |position| self.set.rank(position));
        let sends = self.set.others().map(|to| (rank(to), bytes.clone()));
        let recvs = self
            .set
            .others()
            .map(|from| (rank(from), vec![0; length(from)]));
        Ok(self.comm.start(tag, sends.collect(), recvs.collect())?)
    }

    /// Completes an exchange: the messages of all, by position.
    pub(super) fn by_position(
        &self,
        exchange: C::Underway<Vec<u8>>,
        own: Vec<u8>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut messages = exchange.finish()?;
        messages.insert(self.set.mine(), own);
        Ok(messages)
    }
}

/// What a rank wants to store.
pub(super) struct Offer {
    pub(super) attributes: Attributes,
    pub(super) regions: Regions,
}

/// The share of this rank on its way out of the user's memory.
struct Own {
    share: Description,
    packed: Packed,
    room: VecDeque<Room>,
    bytes: Bytes,
    copied: usize,
    /// Of each chunk, if shares carry checksums.
    sums: Option<Vec<Hasher>>,
}

impl Own {
    fn new(memory: &mut Memory, set: &Set, offer: Offer, checksums: bool) -> Result<Own> {
        let share = Description {
            attributes: offer.attributes,
            regions: offer.regions,
            crc: None,
        };
        let cut = set.cut(share.length());
        Ok(Own {
            room: memory.reserve(cut.lengths())?,
            packed: Packed::new(share.regions.clone(), share.attributes.element),
            share,
            bytes: Bytes::new(cut),
            copied: 0,
            sums: checksums.then(|| vec![Hasher::new(); cut.chunks()]),
        })
    }

    /// Copies the segments of all steps before `end`.
    fn copy(&mut self, source: &(impl Source + ?Sized), end: usize) -> Result<()> {
        let end = end.min(self.bytes.cut().steps());
        for step in self.copied..end {
            let mut chunks = 0..self.bytes.cut().chunks();
            chunks.try_for_each(|chunk| self.copy_segment(source, chunk, step))?;
        }
        self.copied = self.copied.max(end);
        Ok(())
    }

    fn copy_segment(
        &mut self,
        source: &(impl Source + ?Sized),
        chunk: usize,
        step: usize,
    ) -> Result<()> {
        let bytes = self.bytes.cut().segment(chunk, step);
        if bytes.is_empty() {
            return Ok(());
        }
        let mut segment = reserved(self.room.pop_front())?;
        let mut rest = &mut segment[..];
        for (offset, length) in self.packed.spans(bytes) {
            let (part, others) = rest.split_at_mut(length as usize);
            source.read(offset, part);
            rest = others;
        }
        if let Some(sums) = &mut self.sums {
            sums[chunk].update(&segment);
        }
        self.bytes.push(chunk, Arc::new(segment));
        Ok(())
    }

    fn crc(&mut self) -> Option<u32> {
        let mut sums = self.sums.take()?.into_iter();
        let first = sums.next()?;
        let all = sums.fold(first, |mut all, sum| {
            all.combine(&sum);
            all
        });
        Some(all.finalize())
    }
}

/// The guard of this rank, and the segments that arrive for it.
struct Guard {
    room: VecDeque<Room>,
    /// For segments that only pass through; the guard keeps what arrives if it protects one share alone.
    transit: Option<Vec<Room>>,
    bytes: Bytes,
}

impl Guard {
    /// For shares of the given lengths and so many steps at once.
    fn new(memory: &mut Memory, set: &Set, lengths: &[u64], at_once: usize) -> Result<Guard> {
        let cut = set.guard_cut(set.mine(), lengths);
        let sources = set.guarded_by(set.mine()).len();
        let passing = sources * at_once.min(cut.steps());
        let transit = || memory.reserve_passing(passing, cut.segment_length(0, 0));
        let transit = (sources > 1).then(transit).transpose()?;
        Ok(Guard {
            room: memory.reserve(cut.lengths())?,
            transit,
            bytes: Bytes::new(cut),
        })
    }

    fn room_for(&mut self, length: usize) -> Result<Room> {
        let room = match &mut self.transit {
            Some(transit) => transit.pop(),
            None => self.room.pop_front(),
        };
        let mut room = reserved(room)?;
        room.resize(length);
        Ok(room)
    }

    /// Adds the segment that those of a step make.
    fn add(&mut self, mut arrived: Vec<Room>) -> Result<()> {
        let Some(transit) = &mut self.transit else {
            let segments = arrived.into_iter();
            segments.for_each(|segment| self.bytes.push(0, Arc::new(segment)));
            return Ok(());
        };
        if let Some(length) = arrived.iter().map(|bytes| bytes.len()).max() {
            let mut segment = reserved(self.room.pop_front())?;
            segment.resize(length);
            let arrived: Vec<_> = arrived.iter().map(|bytes| &bytes[..]).collect();
            xor(&mut segment, &arrived);
            self.bytes.push(0, Arc::new(segment));
        }
        transit.append(&mut arrived);
        Ok(())
    }
}

/// A segment that was reserved before the first message.
pub(super) fn reserved(segment: Option<Room>) -> Result<Room> {
    segment.ok_or(Error::Invariant("a segment was not reserved"))
}

/// `target` = the XOR of all pieces; those that are longer are cut, those that are shorter end in zeros.
pub(super) fn xor(target: &mut [u8], pieces: &[&[u8]]) {
    let (long, short): (Vec<&[u8]>, Vec<&[u8]>) =
        pieces.iter().partition(|piece| piece.len() >= target.len());
    let long: Vec<_> = long.iter().map(|piece| &piece[..target.len()]).collect();
    erasure::xor_all(target, &long);
    for piece in short {
        erasure::xor_into(&mut target[..piece.len()], piece);
    }
}

enum Flight<C: Comm> {
    Segments(C::Underway<Room>),
    Sums(C::Underway<Vec<u8>>),
}

impl<C: Comm> Flight<C> {
    fn is_done(&mut self) -> bool {
        match self {
            Flight::Segments(segments) => segments.is_done(),
            Flight::Sums(sums) => sums.is_done(),
        }
    }
}

/// A store all of whose segments are copied.
pub(super) struct Storing<C: Comm> {
    shares: Vec<Description>,
    cuts: Vec<Cut>,
    own: Own,
    guard: Guard,
    flights: VecDeque<Flight<C>>,
    failure: Option<Error>,
}

/// How a store is to be carried out.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) tag: Tag,
    pub(super) checksums: bool,
    /// Steps that may be under way at once.
    pub(super) at_once: usize,
}

impl<C: Comm> Storing<C> {
    /// Copies the share and starts all messages, completing only as many as `manner.at_once` asks for.
    ///
    /// # Collective
    /// Called by all ranks of the set, with an error by those that cannot take part.
    pub(super) fn start(
        means: &mut Means<'_, C>,
        manner: Manner,
        member: i32,
        offer: Result<Offer>,
        source: &(impl Source + ?Sized),
    ) -> Result<Storing<C>> {
        let mut offer = offer.and_then(|offer| reserve(means, manner, offer));
        let header = Header::of(member, offer.as_ref().map(|(own, _)| &own.share)).encode();
        let exchange = means.exchange(manner.tag, header.clone(), |_| HEADER)?;
        let copied = match &mut offer {
            Ok((own, _)) => own.copy(source, manner.at_once),
            Err(_) => Ok(()),
        };
        let headers = means.by_position(exchange, header)?;
        copied?;
        let headers: Result<Vec<_>> = headers.iter().map(|bytes| Header::decode(bytes)).collect();
        let headers = headers?;
        let statuses = headers.iter().map(|header| header.status_for(member));
        let (own, guard) = judge(means.set, offer, statuses)?;
        let (shares, guard) = tell_details(means, manner, &headers, &own.share, guard)?;
        let mut storing = Storing {
            cuts: shares
                .iter()
                .map(|share| means.set.cut(share.length()))
                .collect(),
            shares,
            own,
            guard,
            flights: VecDeque::new(),
            failure: None,
        };
        storing.send(means, manner, source)?;
        Ok(storing)
    }

    fn send(
        &mut self,
        means: &mut Means<'_, C>,
        manner: Manner,
        source: &(impl Source + ?Sized),
    ) -> Result<()> {
        let steps = self.cuts.iter().map(Cut::steps).fold(0, usize::max);
        for step in 0..steps {
            if self.flights.len() >= manner.at_once {
                self.land(means)?;
            }
            self.own.copy(source, step + 1)?;
            self.start_step(means, manner.tag, step)?;
        }
        if let Some(crc) = self.own.crc() {
            self.shares[means.set.mine()].crc = Some(crc);
            let sum = message(&[crc.into()]);
            let exchange = means.exchange(manner.tag, sum, |_| 8)?;
            self.flights.push_back(Flight::Sums(exchange));
        }
        Ok(())
    }

    fn start_step(&mut self, means: &Means<'_, C>, tag: Tag, step: usize) -> Result<()> {
        let (set, mine) = (means.set, means.set.mine());
        let mut sends = Vec::new();
        for (chunk, to) in set.guards_of(mine) {
            let segment = self.own.bytes.segment(chunk, step);
            sends.extend(segment.map(|segment| (set.rank(to), segment.clone())));
        }
        let mut recvs = Vec::new();
        for (from, chunk) in set.guarded_by(mine) {
            let length = self.cuts[from].segment_length(chunk, step);
            if length > 0 {
                recvs.push((set.rank(from), self.guard.room_for(length)?));
            }
        }
        let underway = means.comm.start(tag, sends, recvs)?;
        self.flights.push_back(Flight::Segments(underway));
        Ok(())
    }

    /// Completes the oldest messages.
    fn land(&mut self, means: &Means<'_, C>) -> Result<()> {
        match self.flights.pop_front() {
            Some(Flight::Segments(segments)) => self.guard.add(segments.finish()?)?,
            Some(Flight::Sums(sums)) => {
                let sums = sums.finish()?;
                for (position, sum) in means.set.others().zip(sums) {
                    let [crc] = values(&sum)?;
                    self.shares[position].crc = Some(crc as u32);
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Moves the store on without waiting; true when [`Storing::finish`] would not wait either. That one
    /// tells of a failure too.
    pub(super) fn is_done(&mut self, means: &Means<'_, C>) -> bool {
        while let Some(first) = self.flights.front_mut() {
            if self.failure.is_some() {
                return true;
            }
            if !first.is_done() {
                return false;
            }
            self.failure = self.land(means).err();
        }
        true
    }

    pub(super) fn finish(mut self, means: &mut Means<'_, C>) -> Result<Entry> {
        self.failure.take().map_or(Ok(()), Err)?;
        while !self.flights.is_empty() {
            self.land(means)?;
        }
        means.memory.put_all(self.guard.transit.unwrap_or_default());
        Ok(Entry {
            shares: self.shares,
            mine: means.set.mine(),
            own: self.own.bytes,
            guard: Some(self.guard.bytes),
        })
    }

    /// What this rank stores.
    pub(super) fn regions(&self) -> &Regions {
        &self.own.share.regions
    }

    /// Memory in use, as far as it is known.
    pub(super) fn bytes(&self) -> u64 {
        self.own.bytes.size() + self.guard.bytes.size()
    }
}

/// Memory for a store, if all ranks of the set store as much as this one.
fn reserve<C: Comm>(
    means: &mut Means<'_, C>,
    manner: Manner,
    offer: Offer,
) -> Result<(Own, Guard)> {
    let own = Own::new(means.memory, means.set, offer, manner.checksums)?;
    let lengths = vec![own.share.length(); means.set.size()];
    let guard = Guard::new(means.memory, means.set, &lengths, manner.at_once)?;
    Ok((own, guard))
}

/// The shares of all, and a guard for them. Where they are not all of one length the memory for the guard
/// is not what it was thought to be; then, and where regions are to be told, another round is needed.
fn tell_details<C: Comm>(
    means: &mut Means<'_, C>,
    manner: Manner,
    headers: &[Header],
    own: &Description,
    guard: Guard,
) -> Result<(Vec<Description>, Guard)> {
    let lengths: Vec<_> = headers.iter().map(Header::length).collect();
    let alike = lengths.iter().all(|length| *length == lengths[0]);
    if alike && headers.iter().all(|header| header.ranges.is_none()) {
        let shares = headers.iter().map(|header| header.share(&[]));
        return Ok((all_known(means.set, shares)?, guard));
    }
    means.memory.put_all(guard.room);
    means.memory.put_all(guard.transit.unwrap_or_default());
    let guard = Guard::new(means.memory, means.set, &lengths, manner.at_once);
    let mut details = message(&[guard.as_ref().err().map_or(READY, status_of)]);
    if headers[means.set.mine()].ranges.is_some() {
        details.extend(own.regions.encode());
    }
    let length = |position: usize| 8 + 16 * headers[position].ranges.unwrap_or(0) as usize;
    let exchange = means.exchange(manner.tag, details.clone(), length)?;
    let details = means.by_position(exchange, details)?;
    let guard = judge(means.set, guard, statuses(&details)?.into_iter())?;
    let shares = headers.iter().zip(&details);
    let shares = shares.map(|(header, bytes)| header.share(&bytes[8..]));
    Ok((all_known(means.set, shares)?, guard))
}

fn all_known(
    set: &Set,
    shares: impl Iterator<Item = Option<Description>>,
) -> Result<Vec<Description>> {
    let unknown = |position| Error::Peer {
        rank: set.rank(position),
        text: "it sent no valid regions".into(),
    };
    let shares = shares.enumerate();
    shares
        .map(|(position, share)| share.ok_or_else(|| unknown(position)))
        .collect()
}
