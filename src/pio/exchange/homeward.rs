//! From the I/O tasks to the ranks.
//!
//! An I/O task takes what is read apart ([`Homeward::take`], [`Homeward::take_pieces`]) as soon as it is there, and when
//! all is, what has been taken apart goes its way. Where blocks are read, they go among the I/O tasks first
//! ([`Homeward::cross`]). Where they are not, and the file is read piece by piece, what is for ranks that are no I/O tasks
//! goes on at once ([`Homeward::stream`]): these only wait for it, so that nobody waits in a circle.

use std::sync::Arc;

use super::super::memory::{Loan, Spare};
use super::super::packing::pack as pack_places;
use super::super::route::{Leg, Route};
use super::super::{IoSystem, Plan, Result, agree};
use super::dealer::{Dealer, Source, Target};
use super::outbox::{NoPost, Outbox, Parts, WORTHWHILE};
use super::{Arrival, FROM_BLOCKS, Going, Landing, TO_COMPUTE, check, room};
use crate::comm::{Comm, Sparse};
use crate::pio::iosystem::FlowControl;

/// Whether this I/O task can take what it reads piece by piece.
pub(in crate::pio) fn comes_in_pieces(plan: &Plan) -> bool {
    let route = match plan.reads_blocks {
        true => &plan.second,
        false => &plan.first,
    };
    route.ascends()
}

/// How an I/O task takes what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pio) enum Taking {
    Whole,
    Pieces,
    /// In pieces of at most so many bytes, which go on at once.
    Stream(usize),
}

/// How the elements of a leg are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// They stay on this rank and go straight into its array.
    Own,
    Straight,
    Packed,
    Parts,
}

/// Brings what the rearranger lets the I/O tasks hold ([`Plan::held`]; nothing elsewhere) into the arrays of all ranks.
/// Holes keep what they had. Collective over the I/O system.
pub fn to_compute<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    held: &[u8],
    array: &mut [u8],
) -> Result<()> {
    let mut take = || {
        check(held.len() as u64 == plan.first.length * element as u64)?;
        check(array.len() >= plan.map_len() * element)?;
        let (spare, comm) = (&system.spare, &system.comm);
        let mut way = Way::new(comm, spare, &plan.first, element, scattered_packed)?;
        way.take(held, array);
        Ok(way)
    };
    let mut way = agree(&system.comm, take())?;
    way.carry(&system.comm, home(system), held, array)
}

fn home<C: Comm>(system: &IoSystem<C>) -> Arrival {
    let flow = system.flow().to_compute;
    Arrival {
        tag: TO_COMPUTE,
        flow,
        parts: flow == FlowControl::default() && system.io.is_none(),
    }
}

fn scattered_packed(leg: &Leg) -> Sent {
    match leg.places.as_block() {
        Some(_) => Sent::Straight,
        None => Sent::Packed,
    }
}

fn all_packed(_leg: &Leg) -> Sent {
    Sent::Packed
}

/// What is read, on its way into the arrays of all ranks.
pub(in crate::pio) struct Homeward<'a> {
    first: Way<'a>,
    /// From blocks to what the rearranger lets this I/O task hold.
    second: Option<(Way<'a>, Loan)>,
    map_bytes: usize,
    parts: Parts,
}

impl<'a> Homeward<'a> {
    /// Local.
    pub(in crate::pio) fn new<C: Comm>(
        system: &IoSystem<C>,
        plan: &'a Plan,
        element: usize,
        taking: Taking,
    ) -> Result<Self> {
        let (comm, spare) = (&system.comm, &system.spare);
        let way = |way: &'a Route| match taking {
            Taking::Whole => Way::new(comm, spare, way, element, scattered_packed),
            Taking::Pieces => Way::new(comm, spare, way, element, all_packed),
            Taking::Stream(_) => Way::new(comm, spare, way, element, |leg| {
                match system.groups.is_task(leg.rank) {
                    true => Sent::Packed,
                    false => Sent::Parts,
                }
            }),
        };
        let second = match system.io.as_ref().filter(|_| plan.reads_blocks) {
            Some(io) => {
                let sent = match taking {
                    Taking::Whole => scattered_packed,
                    _ => all_packed,
                };
                let way = Way::new(io, spare, &plan.second, element, sent)?;
                Some((way, room(spare, plan.first.length, element)?))
            }
            None => None,
        };
        let first = match second {
            Some(_) => Way::new(comm, spare, &plan.first, element, scattered_packed)?,
            None => way(&plan.first)?,
        };
        Ok(Self {
            parts: first.parts(spare, taking)?,
            first,
            second,
            map_bytes: plan.map_len() * element,
        })
    }

    /// Takes apart what is read ([`Plan::read`]; nothing elsewhere). Local.
    pub(in crate::pio) fn take(&mut self, read: &[u8], array: &mut [u8]) -> Result<()> {
        check(array.len() >= self.map_bytes)?;
        let (way, into) = match &mut self.second {
            Some((way, held)) => (way, &mut held[..]),
            None => (&mut self.first, array),
        };
        check(read.len() as u64 == way.route.length * way.element as u64)?;
        way.take(read, into);
        Ok(())
    }

    /// As [`Homeward::take`] for all pieces of `source`; `room` is as long as the longest. Goes on after a failure.
    pub(in crate::pio) fn take_pieces(
        &mut self,
        source: &mut dyn Source,
        room: &mut [u8],
        array: &mut [u8],
    ) -> Result<()> {
        check(array.len() >= self.map_bytes)?;
        match &mut self.second {
            Some((way, held)) => way.take_pieces(source, room, held),
            None => self.first.take_pieces(source, room, array),
        }
    }

    /// As [`Homeward::take_pieces`]; what is for ranks that are no I/O tasks is there when it returns.
    pub(in crate::pio) fn stream<C: Comm>(
        &mut self,
        system: &IoSystem<C>,
        source: &mut dyn Source,
        room: &mut [u8],
        array: &mut [u8],
    ) -> Result<()> {
        check(array.len() >= self.map_bytes)?;
        let mut outbox = Outbox::new(&system.comm, TO_COMPUTE, &mut self.parts);
        let (element, disjoint) = (self.first.element, self.first.route.disjoint);
        let hands = self.first.hands(array);
        let dealt = Dealer::new(hands, &mut outbox, element, disjoint).deal_from(source, room);
        dealt.and(outbox.finish())
    }

    /// From blocks to what the I/O tasks hold, where blocks are read; `read` as given to [`Homeward::take`]. Collective
    /// over the I/O tasks; the result is that of this one alone.
    pub(in crate::pio) fn cross<C: Sparse>(
        taken: Result<Self>,
        io: &C,
        read: &[u8],
        array: &mut [u8],
    ) -> Result<Self> {
        let mut homeward = agree(io, taken)?;
        if let Some((way, held)) = &mut homeward.second {
            let how = Arrival {
                tag: FROM_BLOCKS,
                flow: FlowControl::default(),
                parts: false,
            };
            way.carry(io, how, read, held)?;
            homeward.first.take(held, array);
        }
        Ok(homeward)
    }

    /// Into the arrays. Collective over the I/O system.
    pub(in crate::pio) fn arrive<C: Sparse>(
        mut self,
        system: &IoSystem<C>,
        read: &[u8],
        array: &mut [u8],
    ) -> Result<()> {
        let buffer = self.second.as_ref().map_or(read, |(_, held)| &held[..]);
        self.first.carry(&system.comm, home(system), buffer, array)
    }
}

/// The way back along a route.
struct Way<'a> {
    route: &'a Route,
    landing: Landing<'a>,
    element: usize,
    /// For each leg into the buffer.
    sent: Vec<Sent>,
    packed: Loan,
    aside: Loan,
}

impl<'a> Way<'a> {
    /// `sent`: how the legs are sent, but for the rank's own if it goes without a detour.
    fn new<C: Comm>(
        comm: &C,
        spare: &Arc<Spare>,
        route: &'a Route,
        element: usize,
        sent: impl Fn(&Leg) -> Sent,
    ) -> Result<Self> {
        let landing = Landing::new(comm, &route.out, true, element);
        let direct = landing.own_start().is_some();
        let sent = |leg: &Leg| match direct && leg.rank == landing.own {
            true => Sent::Own,
            false => sent(leg),
        };
        let sent: Vec<_> = route.into.iter().map(sent).collect();
        let legs = route.into.iter().zip(&sent);
        let packed = legs.filter(|(_, sent)| **sent == Sent::Packed);
        let packed = room(
            spare,
            packed.map(|(leg, _)| leg.places.len()).sum(),
            element,
        )?;
        let aside = landing.room(spare)?;
        Ok(Self {
            route,
            landing,
            element,
            sent,
            packed,
            aside,
        })
    }

    /// Memory for the parts of messages.
    fn parts(&self, spare: &Arc<Spare>, taking: Taking) -> Result<Parts> {
        let Taking::Stream(piece) = taking else {
            return Ok(Parts::default());
        };
        let legs = self.route.into.iter().zip(&self.sent);
        let in_parts = legs.filter(|(_, sent)| **sent == Sent::Parts);
        let lengths: Vec<_> = in_parts.map(|(leg, _)| leg.places.len()).collect();
        let longest = lengths.iter().max().map_or(0, |most| *most as usize) * self.element;
        Parts::new(spare, lengths.len(), longest.min(piece + WORTHWHILE))
    }

    /// The legs that are taken apart, and where their elements go.
    fn hands<'b>(&'b mut self, array: &'b mut [u8]) -> Vec<(&'b Leg, Target<'b>)> {
        let bytes = |leg: &Leg| leg.places.len() as usize * self.element;
        let own = self.landing.own_start();
        let (mut rest, mut array) = (&mut self.packed[..], Some(array));
        let mut hands = Vec::with_capacity(self.sent.len());
        for (leg, sent) in self.route.into.iter().zip(&self.sent) {
            let target = match sent {
                Sent::Straight => None,
                Sent::Parts => Some(Target::Parts(leg.rank)),
                Sent::Packed => {
                    let (now, later) = rest.split_at_mut(bytes(leg));
                    rest = later;
                    Some(Target::Place(now))
                }
                Sent::Own => {
                    let place = array.take().zip(own);
                    place.map(|(array, start)| Target::Place(&mut array[start..][..bytes(leg)]))
                }
            };
            hands.extend(target.map(|target| (leg, target)));
        }
        hands
    }

    fn take(&mut self, buffer: &[u8], array: &mut [u8]) {
        let (element, disjoint) = (self.element, self.route.disjoint);
        let ascends = self.route.ascends();
        let hands = self.hands(array);
        if ascends {
            return Dealer::new(hands, &mut NoPost, element, disjoint).deal_all(buffer);
        }
        for (leg, target) in hands {
            if let Target::Place(place) = target {
                pack_places(&leg.places, element, buffer, place);
            }
        }
    }

    fn take_pieces(
        &mut self,
        source: &mut dyn Source,
        room: &mut [u8],
        array: &mut [u8],
    ) -> Result<()> {
        let (element, disjoint) = (self.element, self.route.disjoint);
        let hands = self.hands(array);
        Dealer::new(hands, &mut NoPost, element, disjoint).deal_from(source, room)
    }

    /// Sends what was taken apart, and what is not scattered straight from `buffer`.
    fn carry<C: Sparse>(
        &mut self,
        comm: &C,
        how: Arrival,
        buffer: &[u8],
        array: &mut [u8],
    ) -> Result<()> {
        let mut rest = &self.packed[..];
        let mut messages = Vec::new();
        for (leg, sent) in self.route.into.iter().zip(&self.sent) {
            let length = leg.places.len() as usize * self.element;
            match (sent, leg.places.as_block()) {
                (Sent::Straight, Some(start)) => {
                    let start = start as usize * self.element;
                    messages.push((leg.rank, &buffer[start..start + length]));
                }
                (Sent::Packed, _) => {
                    let (now, later) = rest.split_at(length);
                    messages.push((leg.rank, now));
                    rest = later;
                }
                _ => {}
            }
        }
        let going = Going {
            messages,
            own: None,
        };
        self.landing
            .carry(comm, how, &going, &mut self.aside, array)
    }
}
