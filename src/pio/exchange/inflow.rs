//! Elements that come in parts, so that those which are complete can be used while others are under way, and a part is
//! still in the processor's cache when it goes to its places.
//!
//! A message is cut into parts of the same length, which both sides know. A receiver takes parts in the order of their
//! places, so that only a [`Window`] of the buffer is in use. Where a leg does not ascend, or two legs share places, nothing
//! is known to be complete before the end, and the window is the whole buffer.

use super::super::packing::unpack_next;
use super::super::route::{Leg, Route};
use super::Result;
use super::window::{Sink, Window};
use crate::comm::{Sparse, Tag};

/// Bytes of a part: small enough for a cache, large enough for a message. A multiple of any element.
const PART: usize = if cfg!(test) { 32 } else { 256 << 10 };
/// How many parts are under way at once.
const ROOMS: usize = 3;

/// The parts of messages.
pub(super) fn parts_of<'a>(messages: &[(usize, &'a [u8])]) -> Vec<(usize, &'a [u8])> {
    let parts = |(rank, bytes): &(usize, &'a [u8])| {
        let rank = *rank;
        bytes.chunks(PART).map(move |part| (rank, part))
    };
    messages.iter().flat_map(parts).collect()
}

/// Part of what a leg brings.
struct Part {
    leg: usize,
    /// In elements of the leg.
    start: u64,
    length: u64,
    /// No place of this part or a later one comes before.
    lowest: u64,
    /// All its places come before.
    end: u64,
}

pub(super) struct Inflow<'a> {
    legs: &'a [Leg],
    /// Elements of the buffer.
    length: u64,
    element: usize,
    own: usize,
    parts: Vec<Part>,
}

impl<'a> Inflow<'a> {
    pub(super) fn new(own: usize, route: &'a Route, element: usize) -> Self {
        let mut parts = Vec::new();
        for (leg, into) in route.into.iter().enumerate() {
            let ascends = route.disjoint && into.places.ascends();
            cut(leg, into, ascends, (PART / element) as u64, &mut parts);
        }
        parts.sort_by_key(|part: &Part| part.lowest);
        Self {
            legs: &route.into,
            length: route.length,
            element,
            own,
            parts,
        }
    }

    fn is_own(&self, part: &Part) -> bool {
        self.legs[part.leg].rank == self.own
    }

    /// How many parts may be under way at once.
    fn rooms(&self) -> usize {
        let others = self.parts.iter().filter(|part| !self.is_own(part));
        others.take(ROOMS).count()
    }

    fn longest(&self) -> usize {
        let lengths = self.parts.iter().map(|part| part.length);
        lengths.max().unwrap_or(0) as usize * self.element
    }

    /// Bytes of room for the parts under way.
    pub(super) fn room(&self) -> u64 {
        (self.longest() * self.rooms()) as u64
    }

    /// How many elements are complete, from the beginning of the buffer on, when so many parts have come.
    fn complete(&self, parts: usize) -> u64 {
        let next = self.parts.get(parts);
        next.map_or(self.length, |part| part.lowest)
    }

    /// Elements of the buffer that are in use at once, where all that are complete are used in pieces of at most so many.
    pub(super) fn window(&self, piece: u64) -> u64 {
        let (mut widest, mut end) = (0, 0);
        for part in &self.parts {
            end = part.end.max(end);
            widest = widest.max(end - part.lowest);
        }
        (widest + piece).min(self.length)
    }

    /// Sends parts, and puts all that comes to its places. `own` is this rank's own message. What is complete goes into the
    /// sink.
    pub(super) fn carry<C: Sparse>(
        &self,
        comm: &C,
        tag: Tag,
        (sends, own): (&[(usize, &[u8])], &[u8]),
        room: &mut [u8],
        window: &mut Window,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let bytes = |elements: u64| elements as usize * self.element;
        let turn = |part: &Part| {
            let from = (self.legs[part.leg].rank, bytes(part.length));
            (!self.is_own(part)).then_some(from)
        };
        let turns: Vec<_> = self.parts.iter().map(turn).collect();
        let mut rooms: Vec<_> = room.chunks_exact_mut(self.longest().max(1)).collect();
        let mut cursors: Vec<_> = self.legs.iter().map(|leg| leg.places.cursor()).collect();
        window.drain(self.complete(0), sink);
        let take = &mut |turn: usize, came: &[u8]| {
            let part = &self.parts[turn];
            let came = match self.is_own(part) {
                true => &own[bytes(part.start)..][..bytes(part.length)],
                false => came,
            };
            let (start, places) = window.reach(part.end);
            let cursor = &mut cursors[part.leg];
            unpack_next(cursor, part.length, self.element, came, start, places);
            window.drain(self.complete(turn + 1), sink);
        };
        comm.transfer_in_turn(tag, sends, &turns, &mut rooms, take)?;
        Ok(())
    }
}

fn cut(leg: usize, into: &Leg, ascends: bool, most: u64, parts: &mut Vec<Part>) {
    let mut cursor = into.places.cursor();
    let mut start = 0;
    while start < into.places.len() {
        let length = most.min(into.places.len() - start);
        let (mut lowest, mut end) = (0, into.places.end());
        if ascends {
            lowest = cursor.peek().unwrap_or(0);
            cursor.skip(length - 1);
            end = cursor.peek().map_or(end, |last| last + 1);
            cursor.skip(1);
        }
        parts.push(Part {
            leg,
            start,
            length,
            lowest,
            end,
        });
        start += length;
    }
}
