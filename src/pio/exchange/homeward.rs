//! From the I/O tasks to the ranks.
//!
//! An I/O task takes what is read apart ([`Homeward::take`], [`Homeward::take_pieces`]) as soon as it is there; then all
//! agree that it is, and what has been taken apart goes its way. Where blocks are read, they go among the I/O tasks first
//! ([`Homeward::cross`]).

use std::rc::Rc;

use super::super::memory::{Loan, Spare};
use super::super::packing::pack as pack_places;
use super::super::route::{Leg, Route};
use super::super::{IoSystem, Plan, Result, agree};
use super::dealer::{Dealer, Source};
use super::{FROM_BLOCKS, Going, Landing, TO_COMPUTE, check, room};
use crate::comm::{Comm, Tag};
use crate::pio::iosystem::FlowControl;

/// Whether this I/O task can take what it reads piece by piece.
pub(in crate::pio) fn comes_in_pieces(plan: &Plan) -> bool {
    let route = match plan.reads_blocks {
        true => &plan.second,
        false => &plan.first,
    };
    ascend(&route.into)
}

fn ascend(legs: &[Leg]) -> bool {
    legs.iter().all(|leg| leg.places.ascends())
}

/// Brings what the rearranger lets the I/O tasks hold ([`Plan::held`]; nothing elsewhere) into the arrays of all ranks.
/// Holes keep what they had. Collective over the I/O system.
pub fn to_compute<C: Comm>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    held: &[u8],
    array: &mut [u8],
) -> Result<()> {
    let mut take = || {
        check(held.len() as u64 == plan.first.length * element as u64)?;
        check(array.len() >= plan.map_len() * element)?;
        let mut way = Way::new(&system.comm, &system.spare, &plan.first, element, false)?;
        way.take(held, array);
        Ok(way)
    };
    let mut way = agree(&system.comm, take())?;
    way.carry(&system.comm, home(system), held, array)
}

fn home<C: Comm>(system: &IoSystem<C>) -> (Tag, FlowControl) {
    (TO_COMPUTE, system.flow.get().to_compute)
}

/// What is read, on its way into the arrays of all ranks.
pub(in crate::pio) struct Homeward<'a> {
    first: Way<'a>,
    /// From blocks to what the rearranger lets this I/O task hold.
    second: Option<(Way<'a>, Loan)>,
    map_bytes: usize,
}

impl<'a> Homeward<'a> {
    /// `pieces`: what is read will be taken piece by piece. Local.
    pub(in crate::pio) fn new<C: Comm>(
        system: &IoSystem<C>,
        plan: &'a Plan,
        element: usize,
        pieces: bool,
    ) -> Result<Self> {
        let spare = &system.spare;
        let second = match system.io.as_ref().filter(|_| plan.reads_blocks) {
            Some(io) => Some((
                Way::new(io, spare, &plan.second, element, pieces)?,
                room(spare, plan.first.length, element)?,
            )),
            None => None,
        };
        let pieces = pieces && second.is_none();
        Ok(Self {
            first: Way::new(&system.comm, spare, &plan.first, element, pieces)?,
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

    /// From blocks to what the I/O tasks hold, where blocks are read; `read` as given to [`Homeward::take`]. Collective
    /// over the I/O tasks; the result is that of this one alone.
    pub(in crate::pio) fn cross<C: Comm>(
        taken: Result<Self>,
        io: &C,
        read: &[u8],
        array: &mut [u8],
    ) -> Result<Self> {
        let mut homeward = agree(io, taken)?;
        if let Some((way, held)) = &mut homeward.second {
            let how = (FROM_BLOCKS, FlowControl::default());
            way.carry(io, how, read, held)?;
            homeward.first.take(held, array);
        }
        Ok(homeward)
    }

    /// Into the arrays. Collective over the I/O system.
    pub(in crate::pio) fn arrive<C: Comm>(
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
    /// Whether all messages are packed, not only those that are scattered over the buffer.
    pieces: bool,
    packed: Loan,
    aside: Loan,
}

impl<'a> Way<'a> {
    fn new<C: Comm>(
        comm: &C,
        spare: &Rc<Spare>,
        route: &'a Route,
        element: usize,
        pieces: bool,
    ) -> Result<Self> {
        let landing = Landing::new(comm, &route.out, true, element);
        let (_, others) = landing.own(&route.into);
        let packed = others.iter().filter(|leg| pieces || is_scattered(leg));
        let packed = room(spare, packed.map(|leg| leg.places.len()).sum(), element)?;
        let aside = landing.room(spare)?;
        Ok(Self {
            route,
            landing,
            element,
            pieces,
            packed,
            aside,
        })
    }

    /// The legs that are packed, and where; the rank's own, if it goes straight into its array.
    fn hands<'b>(&'b mut self, array: &'b mut [u8]) -> Vec<(&'b Leg, &'b mut [u8])> {
        let (own, others) = self.landing.own(&self.route.into);
        let bytes = |leg: &Leg| leg.places.len() as usize * self.element;
        let mut hands = Vec::with_capacity(others.len() + 1);
        let mut rest = &mut self.packed[..];
        for leg in others {
            if self.pieces || is_scattered(leg) {
                let (now, later) = rest.split_at_mut(bytes(leg));
                hands.push((leg, now));
                rest = later;
            }
        }
        if let Some((leg, start)) = own.zip(self.landing.own_start()) {
            hands.push((leg, &mut array[start..][..bytes(leg)]));
        }
        hands
    }

    fn take(&mut self, buffer: &[u8], array: &mut [u8]) {
        let (element, disjoint) = (self.element, self.route.disjoint);
        let ascend = ascend(&self.route.into);
        let hands = self.hands(array);
        if ascend {
            return Dealer::new(hands, element, disjoint).deal_all(buffer);
        }
        for (leg, place) in hands {
            pack_places(&leg.places, element, buffer, place);
        }
    }

    fn take_pieces(
        &mut self,
        source: &mut dyn Source,
        room: &mut [u8],
        array: &mut [u8],
    ) -> Result<()> {
        let (element, disjoint) = (self.element, self.route.disjoint);
        let mut dealer = Dealer::new(self.hands(array), element, disjoint);
        dealer.deal_from(source, room)
    }

    /// Sends what was taken apart, and what is not scattered straight from `buffer`.
    fn carry<C: Comm>(
        &mut self,
        comm: &C,
        how: (Tag, FlowControl),
        buffer: &[u8],
        array: &mut [u8],
    ) -> Result<()> {
        let (_, others) = self.landing.own(&self.route.into);
        let mut rest = &self.packed[..];
        let message = |leg: &&Leg| {
            let length = leg.places.len() as usize * self.element;
            let straight = leg.places.as_block().filter(|_| !self.pieces);
            if let Some(start) = straight {
                return (leg.rank, &buffer[start as usize * self.element..][..length]);
            }
            let (now, later) = rest.split_at(length);
            rest = later;
            (leg.rank, now)
        };
        let going = Going {
            messages: others.iter().map(message).collect(),
            own: None,
        };
        let aside = &mut self.aside;
        self.landing.carry(comm, how, &going, aside, array)
    }
}

fn is_scattered(leg: &Leg) -> bool {
    leg.places.as_block().is_none()
}
