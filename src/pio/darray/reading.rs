//! What an I/O task reads, and how: as a whole, or piece by piece where the file library says so.

use super::super::exchange::{Homeward, Source, Taking, comes_in_pieces};
use super::super::format::{Format, Write};
use super::super::iosystem::FlowControl;
use super::super::memory::Loan;
use super::super::{Decomp, Error, File, IoSystem, Kind, Regions, Result, agree};
use super::serial;
use crate::comm::{Comm, Op, Sparse, Tag};

const VERDICT: Tag = 7130;

/// What is asked of the file.
pub(super) struct Reading<'a> {
    var: i32,
    decomp: &'a Decomp,
    /// The regions of the variable, where they are not those of the plan.
    placed: Option<Regions>,
    /// Where they are read one by one.
    pieces: Option<Regions>,
    /// On a rank that reads nothing itself, or sends on what it reads at once.
    homeward: Option<Homeward<'a>>,
    /// For a piece.
    room: Loan,
}

impl<'a> Reading<'a> {
    /// Opens the file for pieces where that can be, whatever has failed before. Collective over the I/O tasks; the result
    /// is that of this rank alone.
    pub(super) fn begin<C: Comm>(
        file: &mut File<C>,
        var: i32,
        decomp: &'a Decomp,
        placed: Result<Option<Regions>>,
        dimensions: usize,
    ) -> Result<Self> {
        let nothing = Regions::new(dimensions);
        let regions = match &placed {
            Ok(placed) => placed.as_ref().unwrap_or(decomp.plan.read()),
            Err(_) => &nothing,
        };
        let part = (var, decomp.kind, regions);
        let pieces = match file.format.as_mut().filter(|_| file.parallel) {
            Some(format) => format.begin_pieces(&[part]),
            None => Ok(None),
        };
        file.in_pieces = matches!(pieces, Ok(Some(_)));
        Self {
            var,
            decomp,
            placed: placed?,
            pieces: pieces?.and_then(|mut pieces| pieces.pop()),
            homeward: None,
            room: Loan::default(),
        }
        .prepare(&file.system)
    }

    fn prepare<C: Comm>(mut self, system: &IoSystem<C>) -> Result<Self> {
        let (plan, element) = (&self.decomp.plan, self.decomp.kind.size());
        let taking = match &system.io {
            None => Taking::Whole,
            Some(_) if self.streams(system) => Taking::Stream(self.longest_piece()),
            Some(_) => return Ok(self),
        };
        self.homeward = Some(Homeward::new(system, plan, element, taking)?);
        // Not always used: so what is at hand already is for the others.
        if let Taking::Stream(longest) = taking {
            self.room = system.spare.borrow(longest as u64)?;
        }
        Ok(self)
    }

    /// Whether this I/O task sends on at once what it reads, as then all do.
    pub(super) fn streams<C: Comm>(&self, system: &IoSystem<C>) -> bool {
        let free = system.flow().to_compute == FlowControl::default();
        free && self.decomp.plan.streams && self.pieces.is_some()
    }

    fn regions(&self) -> &Regions {
        self.placed.as_ref().unwrap_or(self.decomp.plan.read())
    }

    /// Bytes of the longest piece.
    fn longest_piece(&self) -> usize {
        let longest = self.pieces.as_ref().map_or(0, Regions::longest);
        longest as usize * self.decomp.kind.size()
    }

    /// Reads, and sends on what was read. Collective; the result is that of this rank alone.
    pub(super) fn stream<C: Sparse>(mut self, file: &mut File<C>, array: &mut [u8]) -> Result<()> {
        let system = file.system.clone();
        let mut room = std::mem::take(&mut self.room);
        let homeward = self.homeward.take();
        let mut homeward = homeward.ok_or_else(|| Error::Comm("nothing is to be read".into()))?;
        let read = match self.source(file) {
            Some(mut source) => homeward.stream(&system, &mut source, &mut room, array),
            None => Ok(()),
        };
        let ended = file.end_pieces();
        let arrived = homeward.arrive(&system, &[], array);
        read.and(ended).and(arrived)
    }

    fn source<'b, C: Comm>(&'b self, file: &'b mut File<C>) -> Option<Pieces<'b>> {
        let (format, pieces) = file.format.as_mut().zip(self.pieces.as_ref())?;
        Some(Pieces {
            format: &mut **format,
            var: self.var,
            kind: self.decomp.kind,
            pieces,
            next: 0,
        })
    }

    /// Reads, and takes apart what came. What was read is to be kept until it has arrived. Collective over the I/O tasks;
    /// the results are those of this rank alone.
    pub(super) fn take<C: Sparse>(
        mut self,
        file: &mut File<C>,
        array: &mut [u8],
    ) -> (Loan, Result<Homeward<'a>>) {
        if let Some(homeward) = self.homeward.take() {
            return (Loan::default(), Ok(homeward));
        }
        let system = file.system.clone();
        let (read, taken) = match self.pieces {
            Some(_) => self.take_pieces(file, array),
            None => self.take_whole(file, array),
        };
        let crosses = system.io.as_ref().filter(|_| self.decomp.plan.reads_blocks);
        let taken = match crosses {
            Some(io) => Homeward::cross(taken, io, &read, array),
            None => taken,
        };
        (read, taken)
    }

    fn take_pieces<C: Sparse>(
        &self,
        file: &mut File<C>,
        array: &mut [u8],
    ) -> (Loan, Result<Homeward<'a>>) {
        let (element, plan) = (self.decomp.kind.size(), &self.decomp.plan);
        let apart = comes_in_pieces(plan);
        let (bytes, taking) = match apart {
            true => (self.longest_piece(), Taking::Pieces),
            false => (self.regions().elements() as usize * element, Taking::Whole),
        };
        let rooms = file.system.spare.borrow(bytes as u64).and_then(|room| {
            let homeward = Homeward::new(&file.system, plan, element, taking)?;
            Ok((room, homeward))
        });
        let taken = rooms.and_then(|(mut room, mut homeward)| {
            let Some(mut source) = self.source(file) else {
                return Ok((room, homeward));
            };
            if apart {
                homeward.take_pieces(&mut source, &mut room, array)?;
                return Ok((Loan::default(), homeward));
            }
            source.read_all(&mut room)?;
            homeward.take(&room, array)?;
            Ok((room, homeward))
        });
        let ended = file.end_pieces();
        match taken {
            Ok((room, homeward)) => (room, ended.map(|()| homeward)),
            Err(error) => (Loan::default(), Err(error)),
        }
    }

    /// A task that has no room takes part with nothing.
    fn take_whole<C: Comm>(
        &self,
        file: &mut File<C>,
        array: &mut [u8],
    ) -> (Loan, Result<Homeward<'a>>) {
        let (kind, plan) = (self.decomp.kind, &self.decomp.plan);
        let regions = self.regions();
        let bytes = regions.elements().saturating_mul(kind.size() as u64);
        let mut room = match file.system.spare.borrow(bytes) {
            Ok(room) => room,
            Err(error) => {
                let nothing = Regions::new(regions.dimensions());
                let read = self.read(file, &nothing, &mut []);
                return (Loan::default(), Err(read.err().unwrap_or(error)));
            }
        };
        let read = self.read(file, regions, &mut room);
        let homeward = read.and_then(|()| {
            let mut homeward = Homeward::new(&file.system, plan, kind.size(), Taking::Whole)?;
            homeward.take(&room, array)?;
            Ok(homeward)
        });
        (room, homeward)
    }

    fn read<C: Comm>(&self, file: &mut File<C>, regions: &Regions, data: &mut [u8]) -> Result<()> {
        let Some(io) = &file.system.io else {
            return Ok(());
        };
        let (var, kind) = (self.var, self.decomp.kind);
        match &mut file.format {
            Some(format) if file.parallel => format.read(var, kind, regions, data),
            Some(format) => serial::read(io, Some(&mut **format), var, kind, regions, data),
            None => serial::read(io, None, var, kind, regions, data),
        }
    }
}

/// Whether all I/O tasks could read, on all ranks: a task tells those that it serves, and they wait for nobody else, so
/// that what was read can follow at once. Collective.
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

/// Pieces of a file.
struct Pieces<'a> {
    format: &'a mut dyn Format,
    var: i32,
    kind: Kind,
    pieces: &'a Regions,
    next: usize,
}

impl Pieces<'_> {
    /// One after the other.
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

impl Source for Pieces<'_> {
    fn next(&self) -> Option<u64> {
        let left = self.next < self.pieces.len();
        left.then(|| self.pieces.elements_at(self.next))
    }

    fn read(&mut self, place: &mut [u8]) -> Result<()> {
        let (start, count) = self.pieces.at(self.next);
        let mut piece = Regions::new(start.len());
        piece.push(start, count);
        self.next += 1;
        self.format.get_piece(&mut Write {
            var: self.var,
            kind: self.kind,
            regions: &piece,
            data: place,
        })
    }
}
