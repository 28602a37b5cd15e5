//! From the I/O tasks to the ranks.
//!
//! An I/O task splits what it reads by receiver, as a whole or piece by piece ([`Scatter::split`],
//! [`Scatter::split_pieces`]), and sends it when all is read ([`Scatter::deliver`]). If it reads blocks, these go among
//! the I/O tasks first ([`Scatter::from_blocks`]). If it reads piece by piece and no blocks, elements for ranks that are
//! no I/O tasks are sent at once ([`Scatter::stream`]): these ranks only receive, so no cycle of waiting can arise.

use std::sync::Arc;

use super::chunk_sender::{ChunkPool, ChunkSender, NoChunks, WORTHWHILE};
use super::splitter::{Destination, PieceSource, Splitter};
use super::{FROM_BLOCKS, Outgoing, Protocol, Receiver, TO_COMPUTE, borrow, check};
use crate::comm::{Comm, Sparse};
use crate::pio::iosystem::FlowControl;
use crate::pio::packing::pack;
use crate::pio::plan::pattern::{Pattern, Peer};
use crate::pio::pool::{BufferPool, PoolBuffer};
use crate::pio::{IoSystem, Plan, Result, agree};

/// Whether this I/O task can split what it reads piece by piece.
pub(in crate::pio) fn reads_in_pieces(plan: &Plan) -> bool {
    let pattern = match plan.reads_blocks {
        true => &plan.to_blocks,
        false => &plan.to_io,
    };
    pattern.ascends()
}

/// How an I/O task handles what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pio) enum ReadMode {
    Whole,
    Pieces,
    /// In pieces of at most this many bytes, sent at once.
    Stream(usize),
}

/// How the elements for one rank are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SendMode {
    /// Copied into the array of this rank.
    Own,
    /// From their place in the buffer.
    InPlace,
    Packed,
    Chunks,
}

/// Brings what the I/O tasks hold ([`Plan::held`]; nothing elsewhere) into the arrays of all ranks. Holes keep what they
/// had. Collective over the I/O system.
pub fn to_compute<C: Sparse>(
    system: &IoSystem<C>,
    plan: &Plan,
    element: usize,
    held: &[u8],
    array: &mut [u8],
) -> Result<()> {
    let mut split = || {
        check(held.len() as u64 == plan.to_io.length * element as u64)?;
        check(array.len() >= plan.map_len() * element)?;
        let (pool, comm) = (&system.pool, &system.comm);
        let mut stage = Stage::new(comm, pool, &plan.to_io, element, scattered_packed)?;
        stage.split(held, array);
        Ok(stage)
    };
    let mut stage = agree(&system.comm, split())?;
    stage.exchange(&system.comm, to_ranks(system), held, array)
}

fn to_ranks<C: Comm>(system: &IoSystem<C>) -> Protocol {
    let flow = system.flow().to_compute;
    Protocol {
        tag: TO_COMPUTE,
        flow,
        chunks: flow == FlowControl::default() && system.io.is_none(),
    }
}

fn scattered_packed(peer: &Peer) -> SendMode {
    match peer.places.as_block() {
        Some(_) => SendMode::InPlace,
        None => SendMode::Packed,
    }
}

/// A read on its way from the I/O tasks into the arrays of all ranks.
pub(in crate::pio) struct Scatter<'a> {
    to_ranks: Stage<'a>,
    /// From blocks to what this I/O task holds, and the buffer for that.
    from_blocks: Option<(Stage<'a>, PoolBuffer)>,
    map_bytes: usize,
    chunks: ChunkPool,
}

impl<'a> Scatter<'a> {
    /// Local.
    pub(in crate::pio) fn new<C: Comm>(
        system: &IoSystem<C>,
        plan: &'a Plan,
        element: usize,
        mode: ReadMode,
    ) -> Result<Self> {
        let (comm, pool) = (&system.comm, &system.pool);
        let send_mode = |peer: &Peer| match mode {
            ReadMode::Whole => scattered_packed(peer),
            ReadMode::Stream(_) if !system.groups.is_task(peer.rank) => SendMode::Chunks,
            _ => SendMode::Packed,
        };
        let (to_ranks, from_blocks) = match system.io.as_ref().filter(|_| plan.reads_blocks) {
            Some(io) => {
                let from_blocks =
                    Stage::new(io, pool, &plan.to_blocks, element, |peer| match mode {
                        ReadMode::Whole => scattered_packed(peer),
                        _ => SendMode::Packed,
                    })?;
                let held = borrow(pool, plan.to_io.length, element)?;
                let to_ranks = Stage::new(comm, pool, &plan.to_io, element, scattered_packed)?;
                (to_ranks, Some((from_blocks, held)))
            }
            None => (
                Stage::new(comm, pool, &plan.to_io, element, send_mode)?,
                None,
            ),
        };
        Ok(Self {
            chunks: to_ranks.chunk_pool(pool, mode)?,
            to_ranks,
            from_blocks,
            map_bytes: plan.map_len() * element,
        })
    }

    /// Splits what was read ([`Plan::read`]; nothing elsewhere). Local.
    pub(in crate::pio) fn split(&mut self, read: &[u8], array: &mut [u8]) -> Result<()> {
        check(array.len() >= self.map_bytes)?;
        let (stage, into) = match &mut self.from_blocks {
            Some((stage, held)) => (stage, &mut held[..]),
            None => (&mut self.to_ranks, array),
        };
        check(read.len() as u64 == stage.pattern.length * stage.element as u64)?;
        stage.split(read, into);
        Ok(())
    }

    /// As [`Scatter::split`] for all pieces of `source`; `piece` is as long as the longest. Goes on after a failure.
    pub(in crate::pio) fn split_pieces(
        &mut self,
        source: &mut dyn PieceSource,
        piece: &mut [u8],
        array: &mut [u8],
    ) -> Result<()> {
        check(array.len() >= self.map_bytes)?;
        let (stage, into) = match &mut self.from_blocks {
            Some((stage, held)) => (stage, &mut held[..]),
            None => (&mut self.to_ranks, array),
        };
        let (element, disjoint) = (stage.element, stage.pattern.disjoint);
        let lanes = stage.lanes(into);
        Splitter::new(lanes, &mut NoChunks, element, disjoint).split_from(source, piece)
    }

    /// As [`Scatter::split_pieces`], and sends their elements to the ranks that are no I/O tasks.
    pub(in crate::pio) fn stream<C: Comm>(
        &mut self,
        system: &IoSystem<C>,
        source: &mut dyn PieceSource,
        piece: &mut [u8],
        array: &mut [u8],
    ) -> Result<()> {
        check(array.len() >= self.map_bytes)?;
        let mut sender = ChunkSender::new(&system.comm, TO_COMPUTE, &mut self.chunks);
        let (element, disjoint) = (self.to_ranks.element, self.to_ranks.pattern.disjoint);
        let lanes = self.to_ranks.lanes(array);
        let split = Splitter::new(lanes, &mut sender, element, disjoint).split_from(source, piece);
        split.and(sender.finish())
    }

    /// From blocks to what the I/O tasks hold, if blocks are read; `read` as given to [`Scatter::split`]. Collective over
    /// the I/O tasks; returns the result of this one.
    pub(in crate::pio) fn from_blocks<C: Sparse>(
        split: Result<Self>,
        io: &C,
        read: &[u8],
        array: &mut [u8],
    ) -> Result<Self> {
        let mut scatter = agree(io, split)?;
        if let Some((stage, held)) = &mut scatter.from_blocks {
            stage.exchange(io, Protocol::plain(FROM_BLOCKS), read, held)?;
            scatter.to_ranks.split(held, array);
        }
        Ok(scatter)
    }

    /// Into the arrays. Collective over the I/O system.
    pub(in crate::pio) fn deliver<C: Sparse>(
        mut self,
        system: &IoSystem<C>,
        read: &[u8],
        array: &mut [u8],
    ) -> Result<()> {
        let held = self.from_blocks.as_ref();
        let buffer = held.map_or(read, |(_, held)| &held[..]);
        self.to_ranks
            .exchange(&system.comm, to_ranks(system), buffer, array)
    }
}

/// A pattern, run backwards: from buffers to arrays.
struct Stage<'a> {
    pattern: &'a Pattern,
    receiver: Receiver<'a>,
    element: usize,
    /// For each peer of `pattern.into`.
    modes: Vec<SendMode>,
    packed: PoolBuffer,
    staging: PoolBuffer,
}

impl<'a> Stage<'a> {
    /// `mode` does not apply to the rank's own elements if they can be copied directly.
    fn new<C: Comm>(
        comm: &C,
        pool: &Arc<BufferPool>,
        pattern: &'a Pattern,
        element: usize,
        mode: impl Fn(&Peer) -> SendMode,
    ) -> Result<Self> {
        let receiver = Receiver::new(comm, &pattern.out, true, element);
        let direct = receiver.own_start().is_some();
        let mode = |peer: &Peer| match direct && peer.rank == receiver.own {
            true => SendMode::Own,
            false => mode(peer),
        };
        let modes: Vec<_> = pattern.into.iter().map(mode).collect();
        let packed = elements_of(pattern, &modes, SendMode::Packed).sum();
        let packed = borrow(pool, packed, element)?;
        let staging = receiver.staging(pool)?;
        Ok(Self {
            pattern,
            receiver,
            element,
            modes,
            packed,
            staging,
        })
    }

    fn chunk_pool(&self, pool: &Arc<BufferPool>, mode: ReadMode) -> Result<ChunkPool> {
        let ReadMode::Stream(piece) = mode else {
            return Ok(ChunkPool::default());
        };
        let lengths: Vec<_> = elements_of(self.pattern, &self.modes, SendMode::Chunks).collect();
        let longest = lengths.iter().max().map_or(0, |most| *most as usize) * self.element;
        ChunkPool::new(pool, lengths.len(), longest.min(piece + WORTHWHILE))
    }

    /// The peers whose elements are copied out of the buffer, and where to.
    fn lanes<'b>(&'b mut self, array: &'b mut [u8]) -> Vec<(&'b Peer, Destination<'b>)> {
        let bytes = |peer: &Peer| peer.places.len() as usize * self.element;
        let own = self.receiver.own_start();
        let (mut rest, mut array) = (&mut self.packed[..], Some(array));
        let mut lanes = Vec::with_capacity(self.modes.len());
        for (peer, mode) in self.pattern.into.iter().zip(&self.modes) {
            let destination = match mode {
                SendMode::InPlace => None,
                SendMode::Chunks => Some(Destination::Chunks(peer.rank)),
                SendMode::Packed => {
                    let (now, later) = rest.split_at_mut(bytes(peer));
                    rest = later;
                    Some(Destination::Buffer(now))
                }
                SendMode::Own => {
                    let place = array.take().zip(own);
                    place.map(|(array, start)| {
                        Destination::Buffer(&mut array[start..][..bytes(peer)])
                    })
                }
            };
            lanes.extend(destination.map(|destination| (peer, destination)));
        }
        lanes
    }

    fn split(&mut self, buffer: &[u8], array: &mut [u8]) {
        let (element, disjoint) = (self.element, self.pattern.disjoint);
        let ascends = self.pattern.ascends();
        let lanes = self.lanes(array);
        if ascends {
            return Splitter::new(lanes, &mut NoChunks, element, disjoint).split_all(buffer);
        }
        for (peer, destination) in lanes {
            if let Destination::Buffer(place) = destination {
                pack(&peer.places, element, buffer, place);
            }
        }
    }

    /// Sends packed elements, and contiguous ones from their places in `buffer`.
    fn exchange<C: Sparse>(
        &mut self,
        comm: &C,
        how: Protocol,
        buffer: &[u8],
        array: &mut [u8],
    ) -> Result<()> {
        let mut rest = &self.packed[..];
        let mut messages = Vec::new();
        for (peer, mode) in self.pattern.into.iter().zip(&self.modes) {
            let length = peer.places.len() as usize * self.element;
            match (mode, peer.places.as_block()) {
                (SendMode::InPlace, Some(start)) => {
                    let start = start as usize * self.element;
                    messages.push((peer.rank, &buffer[start..start + length]));
                }
                (SendMode::Packed, _) => {
                    let (now, later) = rest.split_at(length);
                    messages.push((peer.rank, now));
                    rest = later;
                }
                _ => {}
            }
        }
        let outgoing = Outgoing {
            messages,
            own: None,
        };
        self.receiver
            .exchange(comm, how, &outgoing, &mut self.staging, array)
    }
}

/// The number of elements for each rank that gets them in this mode.
fn elements_of<'a>(
    pattern: &'a Pattern,
    modes: &'a [SendMode],
    wanted: SendMode,
) -> impl Iterator<Item = u64> + 'a {
    let peers = pattern.into.iter().zip(modes);
    let peers = peers.filter(move |(_, mode)| **mode == wanted);
    peers.map(|(peer, _)| peer.places.len())
}
