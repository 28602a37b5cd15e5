//! Moves elements along a plan: from the ranks to the I/O tasks ([`collect`]) and back ([`Scatter`]).
//!
//! Writing: [`pack`] puts a rank's elements into the order of the messages; `gather` sends them in chunks, which each I/O
//! task unpacks into a window of its buffer (`chunk_receiver`, `window`); complete pieces go to a [`PieceSink`] while
//! others still arrive. If the plan writes blocks, a second exchange among the I/O tasks follows.
//!
//! Reading: an I/O task splits what it reads among the ranks (`splitter`), piece by piece if it can, and sends it whole
//! (`scatter`, `receiver`) or in chunks (`chunk_sender`).
//!
//! Ranks with nothing to exchange send no message. Contiguous elements are sent from and received into their places
//! without a copy. A rank's own elements never become a message.

use std::sync::Arc;

use super::iosystem::FlowControl;
use super::packing;
use super::plan::pattern::{Pattern, Peer};
use super::pool::{BufferPool, PoolBuffer};
use super::{Error, IoSystem, Plan, Result, agree};
use crate::comm::{Comm, Sparse, Tag};
use chunk_receiver::{ChunkReceiver, chunks_of};

mod chunk_receiver;
mod chunk_sender;
mod receiver;
mod scatter;
mod splitter;
#[cfg(test)]
mod tests;
mod window;

use receiver::{Outgoing, Protocol, Receiver};
pub use scatter::to_compute;
pub(in crate::pio) use scatter::{ReadMode, Scatter, reads_in_pieces};
pub(in crate::pio) use splitter::PieceSource;
pub(in crate::pio) use window::PieceSink;
use window::{WholeBuffer, Window};

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
) -> Result<PoolBuffer> {
    let mut packed = borrow(&system.pool, plan.packed_len() as u64, element)?;
    let mut rest = &mut packed[..];
    for peer in &plan.to_io.out {
        let (now, later) = rest.split_at_mut(peer.places.len() as usize * element);
        packing::pack(&peer.places, element, array, now);
        rest = later;
    }
    Ok(packed)
}

/// Brings packed elements to the I/O tasks; returns there what goes to the file ([`Plan::written`]), elsewhere nothing.
/// Elements that no rank holds get `fill` (one element). Collective over the I/O system.
pub fn collect<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    packed: &[u8],
    fill: &[u8],
) -> Result<PoolBuffer> {
    let held = to_io(system, plan, element, packed, fill)?;
    if !plan.writes_blocks {
        return Ok(held);
    }
    let moved = match &system.io {
        Some(io) => to_blocks(io, &system.pool, plan, element, &held, fill),
        None => Ok(PoolBuffer::default()),
    };
    agree(&system.comm, moved)
}

/// As [`collect`], but hands complete pieces to `sink` as they arrive, so that an I/O task needs little memory.
pub(in crate::pio) fn collect_pieces<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    packed: &[u8],
    fill: &[u8],
    sink: &mut dyn PieceSink,
) -> Result<()> {
    if !plan.writes_blocks {
        return gather(system, plan, element, packed, fill, sink).map(drop);
    }
    let mut blocks = collect(system, plan, element, packed, fill)?;
    Window::complete(&mut blocks, element).drain(plan.to_blocks.length, sink);
    Ok(())
}

/// As [`collect`], but returns what the I/O task holds before blocks are made ([`Plan::held`]).
pub fn to_io<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    packed: &[u8],
    fill: &[u8],
) -> Result<PoolBuffer> {
    let sink = &mut WholeBuffer::of(plan.to_io.length);
    gather(system, plan, element, packed, fill, sink)
}

/// From the ranks to the I/O tasks. Messages go in chunks, but as a whole under flow control, which counts messages.
fn gather<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    packed: &[u8],
    fill: &[u8],
    sink: &mut dyn PieceSink,
) -> Result<PoolBuffer> {
    let (comm, pattern) = (&system.comm, &plan.to_io);
    let (pool, flow) = (&system.pool, system.flow().to_io);
    let whole = flow != FlowControl::default();
    let receiver = Receiver::new(comm, &pattern.into, pattern.disjoint, element);
    let chunks = ChunkReceiver::new(comm.rank(), pattern, element);
    let buffers = || {
        check(packed.len() == plan.packed_len() * element && fill.len() == element)?;
        check(sink.elements() == pattern.length)?;
        Ok(match whole {
            true => (
                filled(pool, pattern, element, fill)?,
                receiver.staging(pool)?,
            ),
            false => (
                borrow(pool, chunks.window(sink.longest()), element)?,
                pool.borrow(chunks.staging())?,
            ),
        })
    };
    let (mut held, mut staging) = agree(comm, buffers())?;
    let messages = split(&pattern.out, element, packed);
    if whole {
        let how = Protocol {
            flow,
            ..Protocol::plain(TO_IO)
        };
        let outgoing = Outgoing {
            messages,
            own: None,
        };
        receiver.exchange(comm, how, &outgoing, &mut staging, &mut held)?;
        Window::complete(&mut held, element).drain(pattern.length, sink);
        return Ok(held);
    }
    let is_own = |message: &(usize, &[u8])| message.0 == comm.rank();
    let (own, others): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_own);
    let sends = chunks_of(&others);
    let own = own.first().map_or(&[][..], |(_, bytes)| *bytes);
    let mut window = Window::new(&mut held, element, (!pattern.covered).then_some(fill));
    chunks.exchange(comm, TO_IO, (&sends, own), &mut staging, &mut window, sink)?;
    Ok(held)
}

/// From what the I/O tasks hold to blocks. Collective over the I/O tasks.
fn to_blocks<C: Sparse>(
    io: &C,
    pool: &Arc<BufferPool>,
    plan: &Plan,
    element: usize,
    held: &[u8],
    fill: &[u8],
) -> Result<PoolBuffer> {
    let pattern = &plan.to_blocks;
    let receiver = Receiver::new(io, &pattern.into, pattern.disjoint, element);
    let (own, others) = receiver.own(&pattern.out);
    let buffers = || {
        let scattered = others
            .iter()
            .filter(|peer| peer.places.as_block().is_none());
        let packed = borrow(pool, scattered.map(|peer| peer.places.len()).sum(), element)?;
        let blocks = filled(pool, pattern, element, fill)?;
        Ok((blocks, packed, receiver.staging(pool)?))
    };
    let (mut blocks, mut packed, mut staging) = agree(io, buffers())?;
    let outgoing = Outgoing {
        messages: pack_scattered(&others, element, held, &mut packed),
        own: own.map(|peer| (peer, held)),
    };
    let how = Protocol::plain(TO_BLOCKS);
    receiver.exchange(io, how, &outgoing, &mut staging, &mut blocks)?;
    Ok(blocks)
}

fn check(fits: bool) -> Result<()> {
    let wrong = || Error::Invalid("a buffer is not as long as the decomposition says".into());
    fits.then_some(()).ok_or_else(wrong)
}

fn borrow(pool: &Arc<BufferPool>, elements: u64, element: usize) -> Result<PoolBuffer> {
    pool.borrow(elements.saturating_mul(element as u64))
}

/// A buffer to receive into, set to `fill` if some elements come from no rank.
fn filled(
    pool: &Arc<BufferPool>,
    pattern: &Pattern,
    element: usize,
    fill: &[u8],
) -> Result<PoolBuffer> {
    let mut buffer = borrow(pool, pattern.length, element)?;
    if !pattern.covered {
        let places = buffer.chunks_exact_mut(element);
        places.for_each(|place| place.copy_from_slice(fill));
    }
    Ok(buffer)
}

/// The messages in a packed buffer.
fn split<'a>(peers: &[Peer], element: usize, packed: &'a [u8]) -> Vec<(usize, &'a [u8])> {
    let mut rest = packed;
    let message = |peer: &Peer| {
        let (now, later) = rest.split_at(peer.places.len() as usize * element);
        rest = later;
        (peer.rank, now)
    };
    peers.iter().map(message).collect()
}

/// One message for each peer: contiguous elements in place, others packed.
fn pack_scattered<'a>(
    peers: &[&Peer],
    element: usize,
    buffer: &'a [u8],
    packed: &'a mut [u8],
) -> Vec<(usize, &'a [u8])> {
    let mut rest = packed;
    let mut messages = Vec::with_capacity(peers.len());
    for peer in peers {
        let length = peer.places.len() as usize * element;
        if let Some(start) = peer.places.as_block() {
            messages.push((peer.rank, &buffer[start as usize * element..][..length]));
            continue;
        }
        let (now, later) = rest.split_at_mut(length);
        packing::pack(&peer.places, element, buffer, now);
        messages.push((peer.rank, &*now));
        rest = later;
    }
    messages
}
