//! One store call, from the user's memory to a finished entry.
//!
//! The ranks of a set first tell each other what they are about to store; a rank that cannot take part says so here, so
//! that nobody waits for it. Then each copies its share segment by segment and lends every segment while it is still in
//! the cache, and `protect` turns what arrives into redundancy. All memory is reserved before the first segment is sent.

use std::hash::BuildHasher;

use super::header::{HEADER, READY, StoreHeader, judge, status_of, statuses};
use super::memory::Memory;
use super::share::{PackedSpans, Share, message, values};
use super::snapshot::Entry;
use super::streams::{Copying, MemoryStreams, limits};
use super::{Error, Regions, Result, Source};
use crate::comm::{Comm, PeerFailure, Tag};
use crate::pages::PageBuffer;
use crate::protect::sums::Sums;
use crate::protect::{Channel, Exchange, FlowRun, Set, at_targets, passing_blocks};

/// How a store is to be carried out.
pub(super) struct Manner {
    pub(super) checksums: bool,
    /// Steps that are started before the first of them is waited for. With `usize::MAX` nothing is waited for.
    pub(super) ahead: usize,
    /// How long the shares of the set are likely to be, by position: as they were when the member was last stored.
    pub(super) expected: Vec<u64>,
}

/// A store all of whose segments are copied.
pub(super) struct Storing<C: Comm> {
    pub(super) tag: Tag,
    shares: Vec<Share>,
    /// The position of this rank.
    mine: usize,
    streams: MemoryStreams,
    run: FlowRun<C, PageBuffer>,
    /// The checksums of the shares, if they have any.
    sums: Option<Exchange<C>>,
    failure: Option<Error>,
}

impl<C: Comm> Storing<C> {
    /// Copies the share and starts its messages.
    ///
    /// # Collective
    /// Called by all ranks of the set, with an error by those that cannot take part.
    pub(super) fn start(
        channel: &Channel<'_, C>,
        memory: &mut Memory,
        manner: Manner,
        member: i32,
        share: Result<Share>,
        source: &(impl Source + ?Sized),
    ) -> Result<Storing<C>> {
        let set = channel.set;
        let expected = hash(&manner.expected);
        let mut offer = share.and_then(|share| {
            let lengths = manner.expected.clone();
            Ok((PreparedStore::new(set, memory, &manner, lengths)?, share))
        });
        let share = offer.as_ref().map(|(_, share)| share);
        let packed = share.map(PackedSpans::of).unwrap_or_default();
        let header = StoreHeader::of(member, share, expected).encode();
        let exchange = channel.exchange(header, |_| HEADER)?;
        if let Ok((prepared, _)) = &mut offer {
            let (run, mut streams) = prepared.copying(&packed, source);
            run.read_ahead(set.mine(), &mut streams);
        }
        let headers = exchange.finish()?;
        let headers: Result<Vec<_>> = headers
            .iter()
            .map(|bytes| StoreHeader::decode(bytes))
            .collect();
        let headers = headers?;
        let statuses = headers.iter().map(|header| header.status_for(member));
        let (prepared, share) = judge(channel, offer, statuses)?;
        let (mut prepared, shares) =
            tell_details(channel, memory, &manner, &headers, &share, prepared)?;
        let (run, mut streams) = prepared.copying(&packed, source);
        run.start(channel, &mut streams)?;
        let mut storing = Storing {
            tag: channel.tag,
            shares,
            mine: set.mine(),
            streams: prepared.streams,
            run: prepared.run,
            sums: None,
            failure: None,
        };
        if let Some(sums) = prepared.sums {
            let crc = sums.of(0..share.length());
            storing.shares[storing.mine].crc = Some(crc);
            storing.sums = Some(channel.exchange(message(&[crc.into()]), |_| 8)?);
        }
        Ok(storing)
    }

    /// Progresses the store without waiting; true when [`Storing::finish`] would return at once. That one reports failures.
    pub(super) fn is_done(&mut self, channel: &Channel<'_, C>) -> bool {
        if self.failure.is_some() {
            return true;
        }
        match self.run.is_done(channel, &mut self.streams) {
            Ok(true) => self.sums.as_mut().is_none_or(Exchange::is_done),
            Ok(false) => false,
            Err(error) => {
                self.failure = Some(error.into());
                true
            }
        }
    }

    pub(super) fn finish(mut self, channel: &Channel<'_, C>, memory: &mut Memory) -> Result<Entry> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.run.finish(channel, &mut self.streams)?;
        if let Some(sums) = self.sums {
            for (share, sum) in self.shares.iter_mut().zip(sums.finish()?) {
                let [crc] = values(&sum)?;
                share.crc = Some(crc as u32);
            }
        }
        self.streams.release(memory);
        Ok(Entry {
            shares: self.shares,
            mine: self.mine,
            data: self.streams.data,
            redundancy: Some(self.streams.redundancy),
        })
    }

    /// Of the shares, by position.
    pub(super) fn lengths(&self) -> Vec<u64> {
        self.shares.iter().map(Share::length).collect()
    }

    /// What this rank stores.
    pub(super) fn regions(&self) -> &Regions {
        &self.shares[self.mine].regions
    }

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> u64 {
        self.streams.data.size() + self.streams.redundancy.size()
    }
}

/// A store for which memory is reserved.
struct PreparedStore<C: Comm> {
    run: FlowRun<C, PageBuffer>,
    streams: MemoryStreams,
    sums: Option<Sums>,
}

impl<C: Comm> PreparedStore<C> {
    /// For shares of these lengths, by position.
    fn new(
        set: &Set,
        memory: &mut Memory,
        manner: &Manner,
        lengths: Vec<u64>,
    ) -> Result<PreparedStore<C>> {
        let own = lengths[set.mine()];
        let geometry = set.geometry(lengths)?;
        let mut flows = geometry.encoding()?;
        if manner.ahead == usize::MAX {
            at_targets(&mut flows);
        }
        let limits = limits(set, manner.ahead);
        let mut streams = MemoryStreams::reserve(memory, &geometry, set.mine(), limits)?;
        let (blocks, length) = passing_blocks(&flows, limits, set.mine());
        streams.passing = memory.reserve_passing(blocks, length)?;
        Ok(PreparedStore {
            run: FlowRun::new(flows, limits),
            streams,
            sums: manner.checksums.then(|| Sums::new(own, [])),
        })
    }

    fn copying<'a, S: ?Sized>(
        &'a mut self,
        packed: &'a PackedSpans,
        source: &'a S,
    ) -> (&'a mut FlowRun<C, PageBuffer>, Copying<'a, S>) {
        let streams = Copying {
            streams: &mut self.streams,
            packed,
            source,
            sums: &mut self.sums,
        };
        (&mut self.run, streams)
    }
}

/// The shares of all ranks, and a store for them. If they are not as long as some rank expected, that rank must reserve
/// memory anew; then, and where regions are to be told, another round is needed.
fn tell_details<C: Comm>(
    channel: &Channel<'_, C>,
    memory: &mut Memory,
    manner: &Manner,
    headers: &[StoreHeader],
    own: &Share,
    prepared: PreparedStore<C>,
) -> Result<(PreparedStore<C>, Vec<Share>)> {
    let set = channel.set;
    let lengths: Vec<_> = headers.iter().map(StoreHeader::length).collect();
    let hash = hash(&lengths);
    let is_expected = headers.iter().all(|header| header.expected == hash);
    if is_expected && headers.iter().all(|header| header.ranges.is_none()) {
        let shares = headers.iter().map(|header| header.share(&[]));
        return Ok((prepared, all_known(channel, shares)?));
    }
    let prepared = match lengths == manner.expected {
        true => Ok(prepared),
        false => {
            prepared.streams.recycle(memory);
            PreparedStore::new(set, memory, manner, lengths)
        }
    };
    let mut details = message(&[prepared.as_ref().err().map_or(READY, status_of)]);
    if headers[set.mine()].ranges.is_some() {
        details.extend(own.regions.encode());
    }
    let length = |position: usize| 8 + 16 * headers[position].ranges.unwrap_or(0) as usize;
    let details = channel.exchange(details, length)?.finish()?;
    let prepared = judge(channel, prepared, statuses(&details)?.into_iter())?;
    let shares = headers.iter().zip(&details);
    let shares = shares.map(|(header, bytes)| header.share(&bytes[8..]));
    Ok((prepared, all_known(channel, shares)?))
}

fn hash(lengths: &[u64]) -> u64 {
    foldhash::fast::FixedState::default().hash_one(lengths)
}

fn all_known<C: Comm>(
    channel: &Channel<'_, C>,
    shares: impl Iterator<Item = Option<Share>>,
) -> Result<Vec<Share>> {
    let unknown = |position| {
        Error::Peer(PeerFailure {
            who: channel.name(position),
            text: "it sent no valid regions".into(),
        })
    };
    let shares = shares.enumerate();
    shares
        .map(|(position, share)| share.ok_or_else(|| unknown(position)))
        .collect()
}
