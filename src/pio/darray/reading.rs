//! What an I/O task reads, and how: as a whole, or piece by piece where the file library says so.

use super::super::exchange::{Homeward, Source, comes_in_pieces};
use super::super::format::{Format, Write};
use super::super::memory::Loan;
use super::super::{Decomp, File, Kind, Regions, Result};
use super::fit::Fit;
use super::serial;
use crate::comm::Comm;

/// What is asked of the file.
pub(super) struct Reading<'a> {
    var: i32,
    decomp: &'a Decomp,
    /// The regions of the variable, where they are not those of the plan. A task that cannot tell them takes part with
    /// nothing.
    placed: Option<Regions>,
    prepared: Result<()>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(var: i32, decomp: &'a Decomp, fit: Result<Fit>, dimensions: usize) -> Self {
        let placed = fit.and_then(|fit| fit.place(decomp.plan.read()));
        let (placed, prepared) = match placed {
            Ok(placed) => (placed, Ok(())),
            Err(error) => (Some(Regions::new(dimensions)), Err(error)),
        };
        Self {
            var,
            decomp,
            placed,
            prepared,
        }
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
        let begun = match &mut file.format {
            Some(format) if file.parallel => {
                let part = (self.var, self.decomp.kind, self.regions());
                format.begin_pieces(&[part])
            }
            _ => Ok(None),
        };
        let begun = begun.unwrap_or_else(|error| {
            self.note(Err(error));
            None
        });
        match begun {
            Some(pieces) => self.take_pieces(file, &pieces[0], array),
            None => self.take_whole(file, array),
        }
    }

    fn note(&mut self, ended: Result<()>) {
        let before = std::mem::replace(&mut self.prepared, Ok(()));
        self.prepared = before.and(ended);
    }

    fn take_pieces<C: Comm>(
        mut self,
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
        let prepared = std::mem::replace(&mut self.prepared, Ok(()));
        let rooms = prepared.and_then(|()| {
            let bytes = elements.saturating_mul(kind.size() as u64);
            let room = file.system.spare.borrow(bytes)?;
            Ok((room, Homeward::new(&file.system, plan, kind.size(), apart)?))
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

    fn take_whole<C: Comm>(
        mut self,
        file: &mut File<C>,
        array: &mut [u8],
    ) -> (Loan, Result<Homeward<'a>>) {
        let (kind, plan) = (self.decomp.kind, &self.decomp.plan);
        let bytes = self.regions().elements().saturating_mul(kind.size() as u64);
        let mut room = match file.system.spare.borrow(bytes) {
            Ok(room) => room,
            Err(error) => {
                self.note(Err(error));
                self.placed = Some(Regions::new(self.regions().dimensions()));
                Loan::default()
            }
        };
        let read = self.read(file, &mut room);
        self.note(read);
        let homeward = self.prepared.and_then(|()| {
            let mut homeward = Homeward::new(&file.system, plan, kind.size(), false)?;
            homeward.take(&room, array)?;
            Ok(homeward)
        });
        (room, homeward)
    }

    fn read<C: Comm>(&self, file: &mut File<C>, data: &mut [u8]) -> Result<()> {
        let Some(io) = &file.system.io else {
            return Ok(());
        };
        let (var, kind, regions) = (self.var, self.decomp.kind, self.regions());
        match &mut file.format {
            Some(format) if file.parallel => format.read(var, kind, regions, data),
            Some(format) => serial::read(io, Some(&mut **format), var, kind, regions, data),
            None => serial::read(io, None, var, kind, regions, data),
        }
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
