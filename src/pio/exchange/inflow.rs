//! Elements that come in parts, so that those which are complete can be used while others are under way, and a part is
//! still in the processor's cache when it goes to its places.
//!
//! A message is cut into parts of the same length, which both sides know. A receiver takes parts in the order of their
//! places. Where a leg does not ascend, or two legs share places, nothing is known to be complete before the end.

use super::super::packing::unpack_next;
use super::super::route::{Leg, Route};
use super::Result;
use crate::comm::{Comm, Tag};

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

    /// Sends parts, and puts all that comes to its places. `own` is this rank's own message. `arrived` is told, again
    /// and again, how many elements of the buffer are complete from its beginning on.
    pub(super) fn carry<C: Comm>(
        &self,
        comm: &C,
        tag: Tag,
        (sends, own): (&[(usize, &[u8])], &[u8]),
        room: &mut [u8],
        buffer: &mut [u8],
        arrived: &mut dyn FnMut(u64, &mut [u8]),
    ) -> Result<()> {
        let bytes = |elements: u64| elements as usize * self.element;
        let turn = |part: &Part| {
            let from = (self.legs[part.leg].rank, bytes(part.length));
            (!self.is_own(part)).then_some(from)
        };
        let turns: Vec<_> = self.parts.iter().map(turn).collect();
        let mut rooms: Vec<_> = room.chunks_exact_mut(self.longest().max(1)).collect();
        let mut cursors: Vec<_> = self.legs.iter().map(|leg| leg.places.cursor()).collect();
        let take = &mut |turn: usize, came: &[u8]| {
            let part = &self.parts[turn];
            let came = match self.is_own(part) {
                true => &own[bytes(part.start)..][..bytes(part.length)],
                false => came,
            };
            let cursor = &mut cursors[part.leg];
            unpack_next(cursor, part.length, self.element, came, buffer);
            let next = self.parts.get(turn + 1).map(|part| part.lowest);
            arrived(next.unwrap_or(self.length), buffer);
        };
        comm.transfer_in_turn(tag, sends, &turns, &mut rooms, take)?;
        if self.parts.is_empty() {
            arrived(self.length, buffer);
        }
        Ok(())
    }
}

fn cut(leg: usize, into: &Leg, ascends: bool, most: u64, parts: &mut Vec<Part>) {
    let mut cursor = into.places.cursor();
    let mut start = 0;
    while start < into.places.len() {
        let length = most.min(into.places.len() - start);
        let lowest = cursor.peek().filter(|_| ascends).unwrap_or(0);
        parts.push(Part {
            leg,
            start,
            length,
            lowest,
        });
        if ascends {
            cursor.skip(length);
        }
        start += length;
    }
}
