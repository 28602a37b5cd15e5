//! Splits a buffer by receiver, piece by piece, while a piece is still in the processor's cache: most buffers never exist
//! as a whole.

use super::Result;
use super::chunk_sender::{SendChunks, WORTHWHILE};
use crate::comm::Filled;
use crate::pio::packing::pack_below;
use crate::pio::plan::pattern::Peer;
use crate::pio::sequence::RunCursor;

/// Bytes of the pieces into which a whole buffer is cut.
const PIECE: usize = if cfg!(test) { 32 } else { 256 << 10 };

/// Gives the pieces of a buffer in their order.
pub(in crate::pio) trait PieceSource {
    /// The number of elements of the next piece.
    fn next(&self) -> Option<u64>;
    /// Reads the next piece into `place`, which is as long.
    fn read(&mut self, place: &mut [u8]) -> Result<()>;
}

/// Where the elements for one rank go.
pub(super) enum Destination<'a> {
    Buffer(&'a mut [u8]),
    /// To this rank, in chunks.
    Chunks(usize),
}

struct Lane<'a> {
    places: RunCursor<'a>,
    output: Output<'a>,
}

struct Output<'a> {
    destination: Destination<'a>,
    /// Bytes that are missing.
    left: usize,
    chunk: Option<Filled>,
}

pub(super) struct Splitter<'a> {
    lanes: Vec<Lane<'a>>,
    sender: &'a mut dyn SendChunks,
    element: usize,
    /// Whether no two peers share a place.
    disjoint: bool,
    /// Elements of the buffer that are done.
    done: u64,
}

impl<'a> Splitter<'a> {
    /// The places of every peer ascend.
    pub(super) fn new(
        peers: Vec<(&'a Peer, Destination<'a>)>,
        sender: &'a mut dyn SendChunks,
        element: usize,
        disjoint: bool,
    ) -> Self {
        let lane = |(peer, destination): (&'a Peer, _)| Lane {
            places: peer.places.cursor(),
            output: Output {
                destination,
                left: peer.places.len() as usize * element,
                chunk: None,
            },
        };
        Self {
            lanes: peers.into_iter().map(lane).collect(),
            sender,
            element,
            disjoint,
            done: 0,
        }
    }

    /// All pieces of a source, read into `room` unless one peer gets the whole piece. Goes on after a failure.
    pub(super) fn split_from(
        &mut self,
        source: &mut dyn PieceSource,
        room: &mut [u8],
    ) -> Result<()> {
        let mut verdict = Ok(());
        while let Some(count) = source.next() {
            let read = match self.gets_all(count) {
                Some(lane) => self.read_into(lane, count, source),
                None => {
                    let piece = &mut room[..count as usize * self.element];
                    let read = source.read(piece);
                    self.split(piece);
                    read
                }
            };
            verdict = verdict.and(read);
        }
        verdict
    }

    pub(super) fn split_all(&mut self, buffer: &[u8]) {
        let pieces = buffer.chunks(PIECE / self.element * self.element);
        pieces.for_each(|piece| self.split(piece));
    }

    fn split(&mut self, piece: &[u8]) {
        let end = self.done + (piece.len() / self.element) as u64;
        for Lane { places, output } in &mut self.lanes {
            if places.peek().is_none_or(|next| next >= end) {
                continue;
            }
            let (range, rest) = ((self.done, end), output.rest(self.sender));
            let bytes = pack_below(places, range, self.element, piece, rest);
            output.fill(bytes, self.sender);
        }
        self.done = end;
    }

    /// The lane that gets all of the next elements, if there is one: they are read directly into it.
    fn gets_all(&self, count: u64) -> Option<usize> {
        let gets_all =
            |lane: &Lane| lane.places.peek() == Some(self.done) && lane.places.ahead() >= count;
        let disjoint = self.disjoint;
        self.lanes.iter().position(gets_all).filter(|_| disjoint)
    }

    fn read_into(&mut self, lane: usize, count: u64, source: &mut dyn PieceSource) -> Result<()> {
        let (lane, bytes) = (&mut self.lanes[lane], count as usize * self.element);
        let read = source.read(&mut lane.output.rest(self.sender)[..bytes]);
        lane.places.skip(count);
        lane.output.fill(bytes, self.sender);
        self.done += count;
        read
    }
}

impl Output<'_> {
    /// Room for the elements of the next piece.
    fn rest(&mut self, sender: &mut dyn SendChunks) -> &mut [u8] {
        match &mut self.destination {
            Destination::Buffer(rest) => rest,
            Destination::Chunks(_) => self.chunk.get_or_insert_with(|| sender.chunk()).rest(),
        }
    }

    /// `bytes` more were written to [`Output::rest`]; sends the chunk if it is long enough or the last.
    fn fill(&mut self, bytes: usize, sender: &mut dyn SendChunks) {
        self.left -= bytes;
        match &mut self.destination {
            Destination::Buffer(rest) => *rest = &mut std::mem::take(rest)[bytes..],
            Destination::Chunks(to) => {
                let worthwhile = if self.left == 0 { 1 } else { WORTHWHILE };
                if let Some(chunk) = &mut self.chunk {
                    chunk.fill(bytes);
                }
                if let Some(chunk) = self.chunk.take_if(|chunk| chunk.filled() >= worthwhile) {
                    sender.send(*to, chunk);
                }
            }
        }
    }
}
