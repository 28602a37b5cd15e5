//! Moving data along a plan, from the ranks to the I/O tasks and back.
//!
//! Only ranks that have something for each other talk. To the I/O tasks elements go in parts ([`inflow`]), and from
//! there what is contiguous at both ends is sent from and received into its place; the rest goes through a buffer on
//! the side where it is not. A rank's own elements never become a message.

use std::sync::Arc;

use super::iosystem::FlowControl;
use super::memory::{Loan, Spare};
use super::packing::{pack as pack_places, unpack as unpack_places};
use super::route::{Leg, Route};
use super::{Error, IoSystem, Plan, Result, agree};
use crate::comm::{Comm, Sparse, Tag};
use inflow::{Inflow, parts_of};

mod dealer;
mod homeward;
mod inflow;
mod outbox;
mod window;

pub(in crate::pio) use dealer::Source;
pub use homeward::to_compute;
pub(in crate::pio) use homeward::{Homeward, Taking, comes_in_pieces};
pub(in crate::pio) use window::Sink;
use window::{Stay, Window};

const TO_IO: Tag = 7110;
const TO_BLOCKS: Tag = 7111;
const FROM_BLOCKS: Tag = 7112;
const TO_COMPUTE: Tag = 7113;

/// The elements of a rank's array in the order in which they are sent, without holes. Local.
pub fn pack<C: Comm>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    array: &[u8],
) -> Result<Loan> {
    let mut packed = room(&system.spare, plan.packed_len() as u64, element)?;
    pack_legs(&plan.first.out, element, array, &mut packed);
    Ok(packed)
}

/// Brings packed elements to the I/O tasks; returns there what goes to the file ([`Plan::written`]), elsewhere
/// nothing. Elements that no rank holds get `fill` (one element). Collective over the I/O system.
pub fn collect<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    packed: &[u8],
    fill: &[u8],
) -> Result<Loan> {
    if !plan.writes_blocks {
        return to_io(system, plan, element, packed, fill);
    }
    let held = to_io(system, plan, element, packed, fill)?;
    let moved = match &system.io {
        Some(io) => to_blocks(io, &system.spare, plan, element, &held, fill),
        None => Ok(Loan::default()),
    };
    agree(&system.comm, moved)
}

/// As [`collect`] on an I/O task that uses what comes piece by piece, and so needs little room for it.
pub(in crate::pio) fn pour<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    packed: &[u8],
    fill: &[u8],
    sink: &mut dyn Sink,
) -> Result<()> {
    if !plan.writes_blocks {
        return bring(system, plan, element, packed, fill, sink).map(drop);
    }
    let mut blocks = collect(system, plan, element, packed, fill)?;
    Window::complete(&mut blocks, element).drain(plan.second.length, sink);
    Ok(())
}

/// As [`collect`], but returns what the rearranger lets the I/O task hold ([`Plan::held`]).
pub fn to_io<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    packed: &[u8],
    fill: &[u8],
) -> Result<Loan> {
    let stay = &mut Stay::of(plan.first.length);
    bring(system, plan, element, packed, fill, stay)
}

/// As [`collect`] or [`pour`] without the second way. With flow control a message is one, for it is messages that are
/// counted then.
fn bring<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    packed: &[u8],
    fill: &[u8],
    sink: &mut dyn Sink,
) -> Result<Loan> {
    let (comm, route) = (&system.comm, &plan.first);
    let (spare, flow) = (&system.spare, system.flow().to_io);
    let whole = flow != FlowControl::default();
    let landing = Landing::new(comm, &route.into, route.disjoint, element);
    let inflow = Inflow::new(comm.rank(), route, element);
    let room = || {
        check(packed.len() == plan.packed_len() * element && fill.len() == element)?;
        check(sink.elements() == route.length)?;
        Ok(match whole {
            true => (filled(spare, route, element, fill)?, landing.room(spare)?),
            false => (
                room(spare, inflow.window(sink.longest()), element)?,
                spare.borrow(inflow.room())?,
            ),
        })
    };
    let (mut held, mut aside) = agree(comm, room())?;
    let messages = cut(&route.out, element, packed);
    if whole {
        let going = Going {
            messages,
            own: None,
        };
        let how = Arrival {
            tag: TO_IO,
            flow,
            parts: false,
        };
        landing.carry(comm, how, &going, &mut aside, &mut held)?;
        Window::complete(&mut held, element).drain(route.length, sink);
        return Ok(held);
    }
    let is_own = |message: &(usize, &[u8])| message.0 == comm.rank();
    let (own, others): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_own);
    let sends = parts_of(&others);
    let own = own.first().map_or(&[][..], |(_, bytes)| *bytes);
    let mut window = Window::new(&mut held, element, (!route.covered).then_some(fill));
    inflow.carry(comm, TO_IO, (&sends, own), &mut aside, &mut window, sink)?;
    Ok(held)
}

fn to_blocks<C: Sparse>(
    io: &C,
    spare: &Arc<Spare>,
    plan: &Plan,
    element: usize,
    held: &[u8],
    fill: &[u8],
) -> Result<Loan> {
    let route = &plan.second;
    let landing = Landing::new(io, &route.into, route.disjoint, element);
    let (own, others) = landing.own(&route.out);
    let room = || {
        let packed = room_for_scattered(spare, &others, element)?;
        let blocks = filled(spare, route, element, fill)?;
        Ok((blocks, packed, landing.room(spare)?))
    };
    let (mut blocks, mut packed, mut aside) = agree(io, room())?;
    let going = Going {
        messages: outgoing(&others, element, held, &mut packed),
        own: own.map(|leg| (leg, held)),
    };
    let how = Arrival {
        tag: TO_BLOCKS,
        flow: FlowControl::default(),
        parts: false,
    };
    landing.carry(io, how, &going, &mut aside, &mut blocks)?;
    Ok(blocks)
}

fn check(fits: bool) -> Result<()> {
    let wrong = || Error::Invalid("a buffer is not as long as the decomposition says".into());
    fits.then_some(()).ok_or_else(wrong)
}

fn room(spare: &Arc<Spare>, elements: u64, element: usize) -> Result<Loan> {
    spare.borrow(elements.saturating_mul(element as u64))
}

/// A buffer for what comes in, with `fill` where nothing may come.
fn filled(spare: &Arc<Spare>, route: &Route, element: usize, fill: &[u8]) -> Result<Loan> {
    let mut buffer = room(spare, route.length, element)?;
    if !route.covered {
        let places = buffer.chunks_exact_mut(element);
        places.for_each(|place| place.copy_from_slice(fill));
    }
    Ok(buffer)
}

fn pack_legs(legs: &[Leg], element: usize, array: &[u8], packed: &mut [u8]) {
    let mut rest = packed;
    for leg in legs {
        let (now, later) = rest.split_at_mut(leg.places.len() as usize * element);
        pack_places(&leg.places, element, array, now);
        rest = later;
    }
}

/// The parts of a packed buffer.
fn cut<'a>(legs: &[Leg], element: usize, packed: &'a [u8]) -> Vec<(usize, &'a [u8])> {
    let mut rest = packed;
    let part = |leg: &Leg| {
        let (now, later) = rest.split_at(leg.places.len() as usize * element);
        rest = later;
        (leg.rank, now)
    };
    legs.iter().map(part).collect()
}

/// Room for what has to be packed to be sent.
fn room_for_scattered(spare: &Arc<Spare>, legs: &[&Leg], element: usize) -> Result<Loan> {
    let scattered = legs.iter().filter(|leg| leg.places.as_block().is_none());
    room(spare, scattered.map(|leg| leg.places.len()).sum(), element)
}

/// What goes out, straight from its place where it is contiguous.
fn outgoing<'a>(
    legs: &[&Leg],
    element: usize,
    buffer: &'a [u8],
    packed: &'a mut [u8],
) -> Vec<(usize, &'a [u8])> {
    let mut rest = packed;
    let mut parts = Vec::with_capacity(legs.len());
    for leg in legs {
        let length = leg.places.len() as usize * element;
        if let Some(start) = leg.places.as_block() {
            parts.push((leg.rank, &buffer[start as usize * element..][..length]));
            continue;
        }
        let (now, later) = rest.split_at_mut(length);
        pack_places(&leg.places, element, buffer, now);
        parts.push((leg.rank, &*now));
        rest = later;
    }
    parts
}

/// What leaves its places.
struct Going<'a> {
    /// For each rank, in the order of its elements.
    messages: Vec<(usize, &'a [u8])>,
    /// This rank's own leg and the buffer that it leads through, if it is not among the messages.
    own: Option<(&'a Leg, &'a [u8])>,
}

/// How messages come.
#[derive(Clone, Copy)]
struct Arrival {
    tag: Tag,
    flow: FlowControl,
    /// Whether they may come in parts. Who receives so sends nothing.
    parts: bool,
}

/// How what comes in gets to its places.
struct Landing<'a> {
    legs: &'a [Leg],
    element: usize,
    own: usize,
    /// Whether no two legs share a place: else the order in which they are unpacked matters.
    disjoint: bool,
}

impl<'a> Landing<'a> {
    fn new<C: Comm>(comm: &C, legs: &'a [Leg], disjoint: bool, element: usize) -> Self {
        Self {
            legs,
            element,
            own: comm.rank(),
            disjoint,
        }
    }

    fn bytes(&self, leg: &Leg) -> usize {
        leg.places.len() as usize * self.element
    }

    /// Where in the buffer a message is received, unless it has to be unpacked.
    fn direct(&self, leg: &Leg) -> Option<usize> {
        let start = leg.places.as_block().filter(|_| self.disjoint)?;
        Some(start as usize * self.element)
    }

    /// Room for the messages that have to be unpacked.
    fn room(&self, spare: &Arc<Spare>) -> Result<Loan> {
        let others = self.legs.iter().filter(|leg| leg.rank != self.own);
        let unpacked = others.filter(|leg| self.direct(leg).is_none());
        let elements = unpacked.map(|leg| leg.places.len()).sum();
        room(spare, elements, self.element)
    }

    /// Where the rank's own leg goes, if it does so without a detour.
    fn own_start(&self) -> Option<usize> {
        let lands = self.legs.iter().find(|leg| leg.rank == self.own);
        lands.and_then(|leg| self.direct(leg))
    }

    /// Of the legs that go out, the rank's own, if it goes from place to place without a detour; and those that become
    /// messages.
    fn own<'b>(&self, out: &'b [Leg]) -> (Option<&'b Leg>, Vec<&'b Leg>) {
        let direct = self.own_start().is_some();
        let is_own = |leg: &&Leg| direct && leg.rank == self.own;
        let others = out.iter().filter(|leg| !is_own(leg)).collect();
        (out.iter().find(is_own), others)
    }

    /// Sends what goes out, and takes in all legs.
    fn carry<C: Sparse>(
        &self,
        comm: &C,
        how: Arrival,
        going: &Going,
        aside: &mut [u8],
        buffer: &mut [u8],
    ) -> Result<()> {
        let is_own = |message: &&(usize, &[u8])| message.0 == self.own;
        let (packed, sends): (Vec<_>, Vec<_>) = going.messages.iter().partition(is_own);
        let mut targets = self.targets(aside, buffer);
        match how.parts {
            true => comm.recv_in_parts(how.tag, &mut targets)?,
            false => comm.transfer_limited(how.tag, how.flow.limit(), &sends, &mut targets)?,
        }
        let mut rest = &aside[..];
        for leg in self.legs {
            let came = if leg.rank == self.own {
                if let Some((start, (out, array))) = self.direct(leg).zip(going.own) {
                    let place = &mut buffer[start..start + self.bytes(leg)];
                    pack_places(&out.places, self.element, array, place);
                }
                packed.first().map(|(_, bytes)| *bytes)
            } else if self.direct(leg).is_none() {
                let (now, later) = rest.split_at(self.bytes(leg));
                rest = later;
                Some(now)
            } else {
                None
            };
            if let Some(bytes) = came {
                unpack_places(&leg.places, self.element, bytes, buffer);
            }
        }
        Ok(())
    }

    /// Where the messages of others are received, by rank.
    fn targets<'b>(&self, aside: &'b mut [u8], buffer: &'b mut [u8]) -> Vec<(usize, &'b mut [u8])> {
        let others = self.legs.iter().filter(|leg| leg.rank != self.own);
        let (mut direct, unpacked): (Vec<_>, Vec<_>) =
            others.partition(|leg| self.direct(leg).is_some());
        let mut targets = Vec::with_capacity(self.legs.len());
        let mut rest = aside;
        for leg in unpacked {
            let (now, later) = rest.split_at_mut(self.bytes(leg));
            targets.push((leg.rank, now));
            rest = later;
        }
        direct.sort_by_key(|leg| self.direct(leg));
        let (mut rest, mut gone) = (buffer, 0);
        for leg in direct {
            let skip = self.direct(leg).unwrap_or(0) - gone;
            let (now, later) = rest.split_at_mut(skip).1.split_at_mut(self.bytes(leg));
            gone += skip + now.len();
            targets.push((leg.rank, now));
            rest = later;
        }
        targets.sort_by_key(|(rank, _)| *rank);
        targets
    }
}

#[cfg(test)]
mod tests;
