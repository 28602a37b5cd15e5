//! The part of a buffer that is in use. Elements before it have been handed on; none after it has been received.

/// Takes the elements of a buffer, piece by piece in their order.
pub(in crate::pio) trait PieceSink {
    /// The number of elements of all pieces together, and of the longest.
    fn elements(&self) -> u64;
    fn longest(&self) -> u64;

    /// The number of elements of the next piece.
    fn next(&self) -> Option<u64>;

    /// Takes the next piece; may overwrite it.
    fn write(&mut self, piece: &mut [u8]);
}

/// One piece, which stays in the buffer.
pub(super) struct WholeBuffer {
    length: u64,
    done: bool,
}

impl WholeBuffer {
    pub(super) fn of(length: u64) -> Self {
        let done = false;
        Self { length, done }
    }
}

impl PieceSink for WholeBuffer {
    fn elements(&self) -> u64 {
        self.length
    }

    fn longest(&self) -> u64 {
        self.length
    }

    fn next(&self) -> Option<u64> {
        (!self.done).then_some(self.length)
    }

    fn write(&mut self, _piece: &mut [u8]) {
        self.done = true;
    }
}

pub(super) struct Window<'a> {
    memory: &'a mut [u8],
    element: usize,
    /// One element, for places that receive nothing.
    fill: Option<&'a [u8]>,
    /// In elements of the buffer: where `memory` begins, the end of what was handed on, and the end of what is in use.
    start: u64,
    drained: u64,
    end: u64,
}

impl<'a> Window<'a> {
    /// `memory` has room for all elements that are in use at once.
    pub(super) fn new(memory: &'a mut [u8], element: usize, fill: Option<&'a [u8]>) -> Self {
        Self {
            memory,
            element,
            fill,
            start: 0,
            drained: 0,
            end: 0,
        }
    }

    /// A buffer that is complete.
    pub(super) fn complete(buffer: &'a mut [u8], element: usize) -> Self {
        let end = (buffer.len() / element) as u64;
        Self {
            end,
            ..Self::new(buffer, element, None)
        }
    }

    /// Extends the window to `end`; returns the element at which the memory begins, and the memory.
    pub(super) fn reach(&mut self, end: u64) -> (u64, &mut [u8]) {
        if end > self.end {
            if self.bytes(end) > self.memory.len() {
                self.slide();
            }
            let range = self.bytes(self.end)..self.bytes(end);
            if let Some(fill) = self.fill {
                let places = self.memory[range].chunks_exact_mut(self.element);
                places.for_each(|place| place.copy_from_slice(fill));
            }
            self.end = end;
        }
        (self.start, self.memory)
    }

    /// Hands all pieces that end by `complete` to the sink.
    pub(super) fn drain(&mut self, complete: u64, sink: &mut dyn PieceSink) {
        while let Some(end) = sink.next().map(|count| self.drained + count) {
            if end > complete {
                return;
            }
            self.reach(end);
            let range = self.bytes(self.drained)..self.bytes(end);
            sink.write(&mut self.memory[range]);
            self.drained = end;
        }
    }

    fn bytes(&self, element: u64) -> usize {
        (element - self.start) as usize * self.element
    }

    /// Moves what is in use to the beginning of the memory.
    fn slide(&mut self) {
        let range = self.bytes(self.drained)..self.bytes(self.end);
        self.memory.copy_within(range, 0);
        self.start = self.drained;
    }
}
