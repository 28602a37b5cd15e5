//! Reads, whole and in pieces, and a sink for writes in pieces.

use super::*;

pub(super) struct Reads<'a> {
    system: &'a IoSystem<LocalComm>,
    plan: &'a Plan,
    element: usize,
}

impl<'a> Reads<'a> {
    pub(super) fn new(system: &'a IoSystem<LocalComm>, plan: &'a Plan, element: usize) -> Self {
        Self {
            system,
            plan,
            element,
        }
    }

    fn scatter(&self, mode: ReadMode) -> Result<Scatter<'a>> {
        Scatter::new(self.system, self.plan, self.element, mode)
    }

    pub(super) fn as_a_whole(&self, read: &[u8], array: &mut [u8]) -> Result<()> {
        let mut scatter = self.scatter(ReadMode::Whole)?;
        scatter.split(read, array)?;
        self.end(scatter, read, array)
    }

    /// In pieces of different lengths where that can be.
    pub(super) fn in_pieces(&self, read: &[u8], array: &mut [u8]) -> Result<()> {
        if !reads_in_pieces(self.plan) {
            return self.as_a_whole(read, array);
        }
        let mut source = Slices(self.system.comm.rank(), read, self.element);
        let room = &mut [0; 7 * 8];
        if self.plan.streams {
            let mut scatter = self.scatter(ReadMode::Stream(room.len()))?;
            scatter.stream(self.system, &mut source, room, array)?;
            return scatter.deliver(self.system, &[], array);
        }
        let mut scatter = self.scatter(ReadMode::Pieces)?;
        scatter.split_pieces(&mut source, room, array)?;
        self.end(scatter, &[], array)
    }

    fn end(&self, scatter: Scatter, read: &[u8], array: &mut [u8]) -> Result<()> {
        let scatter = match &self.system.io {
            Some(io) if self.plan.reads_blocks => {
                Scatter::from_blocks(Ok(scatter), io, read, array)?
            }
            _ => scatter,
        };
        scatter.deliver(self.system, read, array)
    }
}

/// What is left of a buffer, in elements of that length; the first number makes pieces differ.
struct Slices<'a>(usize, &'a [u8], usize);

impl PieceSource for Slices<'_> {
    fn next(&self) -> Option<u64> {
        let left = self.1.len() / self.2;
        (left > 0).then(|| left.min(1 + self.0 % 7) as u64)
    }

    fn read(&mut self, place: &mut [u8]) -> Result<()> {
        let (now, later) = self.1.split_at(place.len());
        place.copy_from_slice(now);
        (self.0, self.1) = (self.0 + 3, later);
        Ok(())
    }
}

/// What comes in pieces of so many elements.
pub(super) struct Collected {
    elements: u64,
    left: u64,
    piece: u64,
    pub(super) bytes: Vec<u8>,
}

impl Collected {
    pub(super) fn new(elements: u64, piece: u64) -> Self {
        Self {
            elements,
            left: elements,
            piece,
            bytes: Vec::new(),
        }
    }
}

impl PieceSink for Collected {
    fn elements(&self) -> u64 {
        self.elements
    }

    fn longest(&self) -> u64 {
        self.piece.min(self.elements)
    }

    fn next(&self) -> Option<u64> {
        (self.left > 0).then(|| self.piece.min(self.left))
    }

    fn write(&mut self, piece: &mut [u8]) {
        self.bytes.extend_from_slice(piece);
        piece.fill(0x77);
        self.left -= self.piece.min(self.left);
    }
}
