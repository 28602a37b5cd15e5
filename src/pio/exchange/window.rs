//! The stretch of a buffer that is in use: what lies before it has gone on, to what lies behind it nothing has come.

/// Where the elements of a buffer go, piece by piece in their order.
pub(in crate::pio) trait Sink {
    /// How many elements all pieces have together, and the longest has.
    fn elements(&self) -> u64;
    fn longest(&self) -> u64;

    /// How many elements the next piece has.
    fn next(&self) -> Option<u64>;

    /// Takes the next piece, whose contents may be lost.
    fn write(&mut self, piece: &mut [u8]);
}

/// All of a buffer is one piece, and stays where it is.
pub(super) struct Stay {
    length: u64,
    done: bool,
}

impl Stay {
    pub(super) fn of(length: u64) -> Self {
        let done = false;
        Self { length, done }
    }
}

impl Sink for Stay {
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
    room: &'a mut [u8],
    element: usize,
    /// One element, for places to which nothing may come.
    fill: Option<&'a [u8]>,
    /// In elements of the buffer: where the room begins, what has gone on, and where something may have come to.
    start: u64,
    gone: u64,
    end: u64,
}

impl<'a> Window<'a> {
    /// `room` is long enough for all that is in use at once.
    pub(super) fn new(room: &'a mut [u8], element: usize, fill: Option<&'a [u8]>) -> Self {
        Self {
            room,
            element,
            fill,
            start: 0,
            gone: 0,
            end: 0,
        }
    }

    /// A buffer in which everything has its place.
    pub(super) fn complete(buffer: &'a mut [u8], element: usize) -> Self {
        let end = (buffer.len() / element) as u64;
        Self {
            end,
            ..Self::new(buffer, element, None)
        }
    }

    /// Goes on to `end`; returns the element that the room begins with, and the room.
    pub(super) fn reach(&mut self, end: u64) -> (u64, &mut [u8]) {
        if end > self.end {
            if self.bytes(end) > self.room.len() {
                self.slide();
            }
            let range = self.bytes(self.end)..self.bytes(end);
            if let Some(fill) = self.fill {
                let places = self.room[range].chunks_exact_mut(self.element);
                places.for_each(|place| place.copy_from_slice(fill));
            }
            self.end = end;
        }
        (self.start, self.room)
    }

    /// Hands on all pieces that end before `complete`.
    pub(super) fn drain(&mut self, complete: u64, sink: &mut dyn Sink) {
        while let Some(end) = sink.next().map(|count| self.gone + count) {
            if end > complete {
                return;
            }
            self.reach(end);
            let range = self.bytes(self.gone)..self.bytes(end);
            sink.write(&mut self.room[range]);
            self.gone = end;
        }
    }

    fn bytes(&self, element: u64) -> usize {
        (element - self.start) as usize * self.element
    }

    /// What is in use comes to the beginning of the room.
    fn slide(&mut self) {
        let range = self.bytes(self.gone)..self.bytes(self.end);
        self.room.copy_within(range, 0);
        self.start = self.gone;
    }
}
