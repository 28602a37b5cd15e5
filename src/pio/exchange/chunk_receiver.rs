//! Receives messages in chunks: elements that are complete are used while others are under way, and a chunk is still in
//! the processor's cache when it is unpacked.
//!
//! Sender and receiver cut a message into chunks of the same length. A receiver takes chunks in the order of their
//! places, so that only a [`Window`] of the buffer is in use. If the places of a peer do not ascend, or two peers share
//! places, nothing is known to be complete before the end, and the window is the whole buffer.

use super::Result;
use super::window::{PieceSink, Window};
use crate::comm::{Sparse, Tag};
use crate::pio::packing::unpack_next;
use crate::pio::plan::pattern::{Pattern, Peer};

/// Bytes of a chunk: small enough for a cache, large enough for a message. A multiple of any element.
const CHUNK: usize = if cfg!(test) { 32 } else { 256 << 10 };
/// Chunks for which receives are posted at once.
const POSTED: usize = 3;

pub(super) fn chunks_of<'a>(messages: &[(usize, &'a [u8])]) -> Vec<(usize, &'a [u8])> {
    let chunks = |(rank, bytes): &(usize, &'a [u8])| {
        let rank = *rank;
        bytes.chunks(CHUNK).map(move |chunk| (rank, chunk))
    };
    messages.iter().flat_map(chunks).collect()
}

struct MessageChunk {
    /// Index of the peer that sends it.
    peer: usize,
    /// In elements of the message.
    start: u64,
    length: u64,
    /// No place of this chunk or a later one of the peer is below.
    lowest: u64,
    /// All its places are below.
    end: u64,
}

pub(super) struct ChunkReceiver<'a> {
    peers: &'a [Peer],
    /// Elements of the buffer.
    length: u64,
    element: usize,
    own: usize,
    chunks: Vec<MessageChunk>,
}

impl<'a> ChunkReceiver<'a> {
    pub(super) fn new(own: usize, pattern: &'a Pattern, element: usize) -> Self {
        let mut chunks = Vec::new();
        for (peer, into) in pattern.into.iter().enumerate() {
            let ascends = pattern.disjoint && into.places.ascends();
            cut(peer, into, ascends, (CHUNK / element) as u64, &mut chunks);
        }
        chunks.sort_by_key(|chunk: &MessageChunk| chunk.lowest);
        Self {
            peers: &pattern.into,
            length: pattern.length,
            element,
            own,
            chunks,
        }
    }

    fn is_own(&self, chunk: &MessageChunk) -> bool {
        self.peers[chunk.peer].rank == self.own
    }

    fn longest(&self) -> usize {
        let lengths = self.chunks.iter().map(|chunk| chunk.length);
        lengths.max().unwrap_or(0) as usize * self.element
    }

    /// Bytes for the chunks under way.
    pub(super) fn staging(&self) -> u64 {
        let others = self.chunks.iter().filter(|chunk| !self.is_own(chunk));
        (self.longest() * others.take(POSTED).count()) as u64
    }

    /// Elements, from the beginning of the buffer, that are complete after this many chunks.
    fn complete(&self, chunks: usize) -> u64 {
        let next = self.chunks.get(chunks);
        next.map_or(self.length, |chunk| chunk.lowest)
    }

    /// Elements of the buffer in use at once, if complete ones are used in pieces of at most `piece`.
    pub(super) fn window(&self, piece: u64) -> u64 {
        let (mut widest, mut end) = (0, 0);
        for chunk in &self.chunks {
            end = chunk.end.max(end);
            widest = widest.max(end - chunk.lowest);
        }
        (widest + piece).min(self.length)
    }

    /// Sends chunks, and unpacks all that arrive; `own` is this rank's message to itself. Complete elements go to `sink`.
    pub(super) fn exchange<C: Sparse>(
        &self,
        comm: &C,
        tag: Tag,
        (sends, own): (&[(usize, &[u8])], &[u8]),
        staging: &mut [u8],
        window: &mut Window,
        sink: &mut dyn PieceSink,
    ) -> Result<()> {
        let bytes = |elements: u64| elements as usize * self.element;
        let turn = |chunk: &MessageChunk| {
            let from = (self.peers[chunk.peer].rank, bytes(chunk.length));
            (!self.is_own(chunk)).then_some(from)
        };
        let turns: Vec<_> = self.chunks.iter().map(turn).collect();
        let mut buffers: Vec<_> = staging.chunks_exact_mut(self.longest().max(1)).collect();
        let mut cursors: Vec<_> = self.peers.iter().map(|peer| peer.places.cursor()).collect();
        window.drain(self.complete(0), sink);
        let take = &mut |turn: usize, came: &[u8]| {
            let chunk = &self.chunks[turn];
            let came = match self.is_own(chunk) {
                true => &own[bytes(chunk.start)..][..bytes(chunk.length)],
                false => came,
            };
            let (start, places) = window.reach(chunk.end);
            let cursor = &mut cursors[chunk.peer];
            unpack_next(cursor, chunk.length, self.element, came, start, places);
            window.drain(self.complete(turn + 1), sink);
        };
        comm.transfer_in_turn(tag, sends, &turns, &mut buffers, take)?;
        Ok(())
    }
}

fn cut(peer: usize, into: &Peer, ascends: bool, most: u64, chunks: &mut Vec<MessageChunk>) {
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
        chunks.push(MessageChunk {
            peer,
            start,
            length,
            lowest,
            end,
        });
        start += length;
    }
}
