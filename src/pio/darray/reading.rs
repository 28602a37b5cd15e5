//! What an I/O task reads, and how: as a whole, or piece by piece where the file library says so.

use super::super::exchange::{Homeward, Source, comes_in_pieces};
use super::super::format::{Format, Write};
use super::super::memory::Loan;
use super::super::{Decomp, File, IoSystem, Kind, Regions, Result, agree};
use super::fit::Fit;
use super::serial;
use crate::comm::{Comm, Op, Tag};

const VERDICT: Tag = 7130;

/// What is asked of the file.
pub(super) struct Reading<'a> {
    var: i32,
    decomp: &'a Decomp,
    /// The regions of the variable, where they are not those of the plan.
    placed: Option<Regions>,
    /// On a rank that reads nothing itself. The others first learn how they read.
    homeward: Option<Homeward<'a>>,
}

impl<'a> Reading<'a> {
    /// Local.
    pub(super) fn new<C: Comm>(
        system: &IoSystem<C>,
        var: i32,
        decomp: &'a Decomp,
        fit: Fit,
    ) -> Result<Self> {
        let (plan, element) = (&decomp.plan, decomp.kind.size());
        Ok(Self {
            var,
            decomp,
            placed: fit.place(plan.read())?,
            homeward: match &system.io {
                Some(_) => None,
                None => Some(Homeward::new(system, plan, element, false)?),
            },
        })
    }

    fn regions(&self) -> &Regions {
        self.placed.as_ref().unwrap_or(self.decomp.plan.read())
    }

    /// Reads, and takes apart what came. What was read is to be kept until it has arrived. Collective over the I/O tasks;
    /// the results are those of this rank alone.
    pub(super) fn take<C: Comm>(
        mut self,
        file: &mut File<C>,
        array: &mut [u8],
    ) -> (Loan, Result<Homeward<'a>>) {
        if let Some(homeward) = self.homeward.take() {
            return (Loan::default(), Ok(homeward));
        }
        let system = file.system.clone();
        let (read, taken) = match self.begin_pieces(file) {
            Ok(Some(pieces)) => self.take_pieces(file, &pieces, array),
            Ok(None) => self.take_whole(file, array, Ok(())),
            Err(error) => self.take_whole(file, array, Err(error)),
        };
        let crosses = system.io.as_ref().filter(|_| self.decomp.plan.reads_blocks);
        let taken = match crosses {
            Some(io) => Homeward::cross(taken, io, &read, array),
            None => taken,
        };
        (read, taken)
    }

    fn begin_pieces<C: Comm>(&self, file: &mut File<C>) -> Result<Option<Regions>> {
        let Some(format) = file.format.as_mut().filter(|_| file.parallel) else {
            return Ok(None);
        };
        let part = (self.var, self.decomp.kind, self.regions());
        let pieces = format.begin_pieces(&[part])?;
        Ok(pieces.and_then(|mut pieces| pieces.pop()))
    }

    fn take_pieces<C: Comm>(
        &self,
        file: &mut File<C>,
        pieces: &Regions,
        array: &mut [u8],
    ) -> (Loan, Result<Homeward<'a>>) {
        let (kind, plan) = (self.decomp.kind, &self.decomp.plan);
        let apart = comes_in_pieces(plan);
        let longest = (0..pieces.len()).map(|at| pieces.elements_at(at)).max();
        let elements = match apart {
            true => longest.unwrap_or(0),
            false => pieces.elements(),
        };
        let bytes = elements.saturating_mul(kind.size() as u64);
        let rooms = file.system.spare.borrow(bytes).and_then(|room| {
            let homeward = Homeward::new(&file.system, plan, kind.size(), apart)?;
            Ok((room, homeward))
        });
        let Some(format) = &mut file.format else {
            return (Loan::default(), rooms.map(|(_, homeward)| homeward));
        };
        let mut source = Pieces {
            format: &mut **format,
            var: self.var,
            kind,
            pieces,
            next: 0,
        };
        let taken = rooms.and_then(|(mut room, mut homeward)| {
            if apart {
                homeward.take_pieces(&mut source, &mut room, array)?;
                return Ok((Loan::default(), homeward));
            }
            source.read_all(&mut room)?;
            homeward.take(&room, array)?;
            Ok((room, homeward))
        });
        let ended = format.end_pieces();
        match taken {
            Ok((room, homeward)) => (room, ended.map(|()| homeward)),
            Err(error) => (Loan::default(), Err(error)),
        }
    }

    /// A task that has no room, or has failed before, takes part with nothing.
    fn take_whole<C: Comm>(
        &self,
        file: &mut File<C>,
        array: &mut [u8],
        prepared: Result<()>,
    ) -> (Loan, Result<Homeward<'a>>) {
        let (kind, plan) = (self.decomp.kind, &self.decomp.plan);
        let regions = self.regions();
        let bytes = regions.elements().saturating_mul(kind.size() as u64);
        let room = prepared.and_then(|()| file.system.spare.borrow(bytes));
        let mut room = match room {
            Ok(room) => room,
            Err(error) => {
                let nothing = Regions::new(regions.dimensions());
                let read = self.read(file, &nothing, &mut []);
                return (Loan::default(), Err(read.err().unwrap_or(error)));
            }
        };
        let read = self.read(file, regions, &mut room);
        let homeward = read.and_then(|()| {
            let mut homeward = Homeward::new(&file.system, plan, kind.size(), false)?;
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
