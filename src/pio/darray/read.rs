//! Reading: an I/O task reads its regions as a whole, or piece by piece if the file library says so, and scatters them.

use super::super::exchange::{PieceSource, ReadMode, Scatter, reads_in_pieces};
use super::super::format::{Format, Transfer};
use super::super::iosystem::FlowControl;
use super::super::pool::PoolBuffer;
use super::super::{Decomp, Error, File, Hyperslabs, IoSystem, Kind, Result, agree};
use super::serial;
use crate::comm::{Comm, Op, Sparse, Tag};

const VERDICT: Tag = 7130;

/// One array that is being read.
pub(super) struct ArrayRead<'a> {
    var: i32,
    decomp: &'a Decomp,
    /// The regions of the variable, unless they are those of the plan.
    placed: Option<Hyperslabs>,
    /// In which they are read, if piece by piece.
    pieces: Option<Hyperslabs>,
    /// On a rank that reads nothing itself, or that streams.
    scatter: Option<Scatter<'a>>,
    /// For one piece.
    room: PoolBuffer,
}

impl<'a> ArrayRead<'a> {
    /// Prepares the file for pieces if possible, even after a failure. Collective over the I/O tasks; returns the
    /// result of this rank alone.
    pub(super) fn begin<C: Comm>(
        file: &mut File<C>,
        var: i32,
        decomp: &'a Decomp,
        placed: Result<Option<Hyperslabs>>,
        dimensions: usize,
    ) -> Result<Self> {
        let nothing = Hyperslabs::new(dimensions);
        let regions = match &placed {
            Ok(placed) => placed.as_ref().unwrap_or(decomp.plan.read()),
            Err(_) => &nothing,
        };
        let pieces = match file.format.as_mut().filter(|_| file.parallel) {
            Some(format) => format.begin_pieces(&[(var, decomp.kind, regions)]),
            None => Ok(None),
        };
        file.in_pieces = matches!(pieces, Ok(Some(_)));
        Self {
            var,
            decomp,
            placed: placed?,
            pieces: pieces?.and_then(|mut pieces| pieces.pop()),
            scatter: None,
            room: PoolBuffer::default(),
        }
        .prepare(&file.system)
    }

    fn prepare<C: Comm>(mut self, system: &IoSystem<C>) -> Result<Self> {
        let (plan, element) = (&self.decomp.plan, self.decomp.kind.size());
        let mode = match &system.io {
            None => ReadMode::Whole,
            Some(_) if self.streams(system) => ReadMode::Stream(self.longest_piece()),
            Some(_) => return Ok(self),
        };
        self.scatter = Some(Scatter::new(system, plan, element, mode)?);
        // Borrowed last: it is not always used, so the others take the pool's idle buffers first.
        if let ReadMode::Stream(longest) = mode {
            self.room = system.pool.borrow(longest as u64)?;
        }
        Ok(self)
    }

    /// Whether this I/O task sends what it reads piece by piece; then all do.
    pub(super) fn streams<C: Comm>(&self, system: &IoSystem<C>) -> bool {
        let free = system.flow().to_compute == FlowControl::default();
        free && self.decomp.plan.streams && self.pieces.is_some()
    }

    fn regions(&self) -> &Hyperslabs {
        self.placed.as_ref().unwrap_or(self.decomp.plan.read())
    }

    /// Bytes of the longest piece.
    fn longest_piece(&self) -> usize {
        let longest = self.pieces.as_ref().map_or(0, Hyperslabs::longest);
        longest as usize * self.decomp.kind.size()
    }

    /// Reads and sends piece by piece. Collective; returns the result of this rank alone.
    pub(super) fn stream<C: Sparse>(mut self, file: &mut File<C>, array: &mut [u8]) -> Result<()> {
        let system = file.system.clone();
        let mut room = std::mem::take(&mut self.room);
        let scatter = self.scatter.take();
        let mut scatter = scatter.ok_or_else(|| Error::Comm("nothing is to be read".into()))?;
        let read = match self.source(file) {
            Some(mut source) => scatter.stream(&system, &mut source, &mut room, array),
            None => Ok(()),
        };
        let ended = file.end_pieces();
        let delivered = scatter.deliver(&system, &[], array);
        read.and(ended).and(delivered)
    }

    fn source<'b, C: Comm>(&'b self, file: &'b mut File<C>) -> Option<PieceReader<'b>> {
        let (format, pieces) = file.format.as_mut().zip(self.pieces.as_ref())?;
        Some(PieceReader {
            format: &mut **format,
            var: self.var,
            kind: self.decomp.kind,
            pieces,
            next: 0,
        })
    }

    /// Reads, and splits what was read by receiver. The buffer must live until [`Scatter::deliver`]. Collective over the
    /// I/O tasks; returns the results of this rank alone.
    pub(super) fn split<C: Sparse>(
        mut self,
        file: &mut File<C>,
        array: &mut [u8],
    ) -> (PoolBuffer, Result<Scatter<'a>>) {
        if let Some(scatter) = self.scatter.take() {
            return (PoolBuffer::default(), Ok(scatter));
        }
        let system = file.system.clone();
        let (read, split) = match self.pieces {
            Some(_) => self.split_pieces(file, array),
            None => self.split_whole(file, array),
        };
        match system.io.as_ref().filter(|_| self.decomp.plan.reads_blocks) {
            Some(io) => {
                let split = Scatter::from_blocks(split, io, &read, array);
                (read, split)
            }
            None => (read, split),
        }
    }

    fn split_pieces<C: Sparse>(
        &self,
        file: &mut File<C>,
        array: &mut [u8],
    ) -> (PoolBuffer, Result<Scatter<'a>>) {
        let (element, plan) = (self.decomp.kind.size(), &self.decomp.plan);
        let splits = reads_in_pieces(plan);
        let (bytes, mode) = match splits {
            true => (self.longest_piece(), ReadMode::Pieces),
            false => (
                self.regions().elements() as usize * element,
                ReadMode::Whole,
            ),
        };
        let rooms = file.system.pool.borrow(bytes as u64).and_then(|room| {
            let scatter = Scatter::new(&file.system, plan, element, mode)?;
            Ok((room, scatter))
        });
        let split = rooms.and_then(|(mut room, mut scatter)| {
            let Some(mut source) = self.source(file) else {
                return Ok((room, scatter));
            };
            if splits {
                scatter.split_pieces(&mut source, &mut room, array)?;
                return Ok((PoolBuffer::default(), scatter));
            }
            source.read_all(&mut room)?;
            scatter.split(&room, array)?;
            Ok((room, scatter))
        });
        let ended = file.end_pieces();
        match split {
            Ok((room, scatter)) => (room, ended.map(|()| scatter)),
            Err(error) => (PoolBuffer::default(), Err(error)),
        }
    }

    /// A task without memory takes part without regions.
    fn split_whole<C: Comm>(
        &self,
        file: &mut File<C>,
        array: &mut [u8],
    ) -> (PoolBuffer, Result<Scatter<'a>>) {
        let (kind, plan) = (self.decomp.kind, &self.decomp.plan);
        let regions = self.regions();
        let bytes = regions.elements().saturating_mul(kind.size() as u64);
        let mut room = match file.system.pool.borrow(bytes) {
            Ok(room) => room,
            Err(error) => {
                let nothing = Hyperslabs::new(regions.dimensions());
                let read = self.read(file, &nothing, &mut []);
                return (PoolBuffer::default(), Err(read.err().unwrap_or(error)));
            }
        };
        let read = self.read(file, regions, &mut room);
        let scatter = read.and_then(|()| {
            let mut scatter = Scatter::new(&file.system, plan, kind.size(), ReadMode::Whole)?;
            scatter.split(&room, array)?;
            Ok(scatter)
        });
        (room, scatter)
    }

    fn read<C: Comm>(
        &self,
        file: &mut File<C>,
        regions: &Hyperslabs,
        data: &mut [u8],
    ) -> Result<()> {
        let Some(io) = &file.system.io else {
            return Ok(());
        };
        let read = &mut Transfer::new(self.var, self.decomp.kind, regions, data);
        match &mut file.format {
            Some(format) if file.parallel => format.read(read),
            Some(format) => serial::read(io, Some(&mut **format), read),
            None => serial::read(io, None, read),
        }
    }
}

/// Tells all ranks whether all I/O tasks could read. A task tells the ranks of its group, which wait for nobody else: so
/// its data can follow at once. Collective.
pub(super) fn tell<C: Comm, T>(system: &IoSystem<C>, own: Result<T>) -> Result<T> {
    let (comm, rank) = (&system.comm, system.comm.rank());
    let task = system.groups.task_of(rank);
    let mut verdict = [0];
    if let Some(io) = &system.io {
        let mut failed = [u64::from(own.is_err())];
        io.allreduce(Op::Max, &mut failed)?;
        verdict = [failed[0] as u8];
        let members = system.groups.members(task).into_iter();
        let others = members.filter(|member| *member != rank);
        let sends: Vec<_> = others.map(|member| (member, &verdict[..])).collect();
        comm.transfer(VERDICT, &sends, &mut [])?;
    } else {
        comm.recv(system.io_ranks[task], VERDICT, &mut verdict)?;
    }
    match verdict {
        [0] => own,
        _ => agree(comm, own),
    }
}

/// Reads the pieces of an array from the file.
struct PieceReader<'a> {
    format: &'a mut dyn Format,
    var: i32,
    kind: Kind,
    pieces: &'a Hyperslabs,
    next: usize,
}

impl PieceReader<'_> {
    fn read_all(&mut self, data: &mut [u8]) -> Result<()> {
        let (mut verdict, mut rest) = (Ok(()), data);
        while let Some(elements) = self.next() {
            let (now, later) = rest.split_at_mut(elements as usize * self.kind.size());
            verdict = verdict.and(self.read(now));
            rest = later;
        }
        verdict
    }
}

impl PieceSource for PieceReader<'_> {
    fn next(&self) -> Option<u64> {
        let left = self.next < self.pieces.len();
        left.then(|| self.pieces.elements_at(self.next))
    }

    fn read(&mut self, place: &mut [u8]) -> Result<()> {
        let piece = self.pieces.one(self.next);
        self.next += 1;
        let mut transfer = Transfer::new(self.var, self.kind, &piece, place);
        self.format.get_piece(&mut transfer)
    }
}
