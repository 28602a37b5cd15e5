//! Elements that come in parts, so that those which are complete can be used while others are under way, and a part is
//! still in the processor's cache when it goes to its places.
//!
//! A message is cut into parts of the same length, which both sides know. A receiver takes parts in the order of their
//! places. Where a leg does not ascend, or two legs share places, nothing is known to be complete before the end.

use super::super::packing::unpack_next;
use super::super::route::{Leg, Route};
use super::super::sequence::Cursor;
use super::Result;
use crate::comm::{Comm, Tag};

/// Bytes of a part: small enough for a cache, large enough for a message. A multiple of any element.
const PART: usize = if cfg!(test) { 32 } else { 256 << 10 };
/// How many parts are under way at once.
const ROOMS: usize = 4;

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

    fn others(&self) -> impl Iterator<Item = &Part> {
        let is_own = |part: &&Part| self.legs[part.leg].rank == self.own;
        self.parts.iter().filter(move |part| !is_own(part))
    }

    /// Bytes of room for the parts under way.
    pub(super) fn room(&self) -> u64 {
        let longest = self.others().map(|part| part.length).max();
        let rooms = self.others().count().min(ROOMS);
        longest.unwrap_or(0) * (self.element * rooms) as u64
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
        let recvs = self.others().map(|part| {
            let bytes = part.length as usize * self.element;
            (self.legs[part.leg].rank, bytes)
        });
        let recvs: Vec<_> = recvs.collect();
        let each = room.len() / recvs.len().clamp(1, ROOMS);
        let mut rooms: Vec<_> = room.chunks_exact_mut(each.max(1)).collect();
        let mut cursors: Vec<_> = self.legs.iter().map(|leg| leg.places.cursor()).collect();
        let mut next = 0;
        let take = &mut |_, bytes: &[u8]| {
            next = self.put_own(next, own, &mut cursors, buffer);
            self.put(&self.parts[next], bytes, &mut cursors, buffer);
            next += 1;
            let lowest = self.parts.get(next).map(|part| part.lowest);
            arrived(lowest.unwrap_or(self.length), buffer);
        };
        comm.transfer_in_turn(tag, sends, &recvs, &mut rooms, take)?;
        self.put_own(next, own, &mut cursors, buffer);
        arrived(self.length, buffer);
        Ok(())
    }

    /// Puts the next parts as long as they are this rank's own; returns the number of the next.
    fn put_own(
        &self,
        mut next: usize,
        own: &[u8],
        cursors: &mut [Cursor],
        buffer: &mut [u8],
    ) -> usize {
        while let Some(part) = self.parts.get(next) {
            if self.legs[part.leg].rank != self.own {
                break;
            }
            let bytes = &own[part.start as usize * self.element..];
            let bytes = &bytes[..part.length as usize * self.element];
            self.put(part, bytes, cursors, buffer);
            next += 1;
        }
        next
    }

    fn put(&self, part: &Part, bytes: &[u8], cursors: &mut [Cursor], buffer: &mut [u8]) {
        unpack_next(
            &mut cursors[part.leg],
            part.length,
            self.element,
            bytes,
            buffer,
        );
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
