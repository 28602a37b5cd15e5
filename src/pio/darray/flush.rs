//! From the buffer to the file.

use std::rc::Rc;

use super::super::format::{Format, Write};
use super::super::memory::Loan;
use super::super::{Error, File, IoSystem, Kind, Regions, Result, agree, exchange};
use super::buffer::{Entry, batches};
use super::serial;
use crate::comm::Comm;

/// Writes what is buffered. Collective, but for an empty buffer, which is empty on all ranks.
pub(in crate::pio) fn flush<C: Comm>(file: &mut File<C>) -> Result<()> {
    if file.buffer.is_empty() {
        return Ok(());
    }
    let written = write_out(file);
    agree(&file.system.comm, written)
}

/// As [`flush`]; the result is that of this rank alone. Goes on after a failure: what else can be written is.
pub(in crate::pio) fn write_out<C: Comm>(file: &mut File<C>) -> Result<()> {
    let mut verdict = Ok(());
    for batch in batches(file.buffer.take()) {
        verdict = verdict.and(write_batch(file, batch));
    }
    verdict
}

/// The result is that of this rank alone.
fn write_batch<C: Comm>(file: &mut File<C>, mut batch: Vec<Entry>) -> Result<()> {
    let File { system, format, .. } = file;
    let parallel = format.as_mut().filter(|_| file.parallel);
    let (pieces, mut verdict) = match parallel.map(|format| begin_pieces(&mut **format, &batch)) {
        Some(Ok(pieces)) => (pieces, Ok(())),
        Some(Err(error)) => (None, Err(error)),
        None => (None, Ok(())),
    };
    if let (Some(pieces), Some(format)) = (pieces, &mut *format) {
        for (entry, pieces) in batch.iter_mut().zip(&pieces) {
            let mut outflow = Outflow::new(&mut **format, entry, pieces);
            let collected = collect(system, entry, &mut |n, data| outflow.reach(n, data));
            verdict = verdict.and(collected).and(outflow.verdict);
            entry.data = Loan::default();
        }
        verdict = verdict.and(format.end_pieces());
        return verdict.map_err(|cause| lost(cause, &batch));
    }
    for entry in &mut batch {
        verdict = verdict.and(collect(system, entry, &mut |_, _| ()));
    }
    if let Some(io) = &system.io {
        let written = match format {
            Some(format) if file.parallel => {
                let writes = batch.iter_mut().map(Entry::as_write);
                format.write(&mut writes.collect::<Vec<_>>())
            }
            Some(format) => serial::write(io, Some(&mut **format), &mut batch),
            None => serial::write(io, None, &mut batch),
        };
        verdict = verdict.and(written);
    }
    verdict.map_err(|cause| lost(cause, &batch))
}

/// Collective over the I/O tasks.
fn begin_pieces<'a>(format: &mut dyn Format, batch: &'a [Entry]) -> Result<Option<Vec<Regions>>> {
    let part = |entry: &'a Entry| (entry.var, entry.decomp.kind, entry.regions());
    let parts = batch.iter().map(part);
    format.begin_pieces(&parts.collect::<Vec<_>>())
}

/// Writes pieces of an array as soon as their elements are there.
struct Outflow<'a> {
    format: &'a mut dyn Format,
    var: i32,
    kind: Kind,
    pieces: &'a Regions,
    /// Pieces and elements that are written.
    next: usize,
    done: u64,
    verdict: Result<()>,
}

impl<'a> Outflow<'a> {
    fn new(format: &'a mut dyn Format, entry: &Entry, pieces: &'a Regions) -> Self {
        Self {
            format,
            var: entry.var,
            kind: entry.decomp.kind,
            pieces,
            next: 0,
            done: 0,
            verdict: Ok(()),
        }
    }

    /// So many elements are there.
    fn reach(&mut self, complete: u64, data: &mut [u8]) {
        while self.next < self.pieces.len() {
            let end = self.done + self.pieces.elements_at(self.next);
            if end > complete {
                return;
            }
            let written = self.write(end, data);
            if self.verdict.is_ok() {
                self.verdict = written;
            }
            (self.next, self.done) = (self.next + 1, end);
        }
    }

    fn write(&mut self, end: u64, data: &mut [u8]) -> Result<()> {
        let (start, count) = self.pieces.at(self.next);
        let mut piece = Regions::new(start.len());
        piece.push(start, count);
        let range = [self.done, end].map(|element| element as usize * self.kind.size());
        self.format.put_piece(&mut Write {
            var: self.var,
            kind: self.kind,
            regions: &piece,
            data: &mut data[range[0]..range[1]],
        })
    }
}

/// Brings an array to the I/O tasks. A task that gets nothing still takes part in writing, with nothing.
fn collect<C: Comm>(
    system: &IoSystem<C>,
    entry: &mut Entry,
    arrived: &mut dyn FnMut(u64, &mut [u8]),
) -> Result<()> {
    let (plan, element) = (&entry.decomp.plan, entry.decomp.kind.size());
    let collected = exchange::collect(system, plan, element, &entry.data, &entry.fill, arrived);
    match collected {
        Ok(data) => {
            entry.data = data;
            Ok(())
        }
        Err(error) => {
            entry.data = Loan::default();
            let nothing = Regions::new(entry.regions().dimensions());
            entry.placed = Some(Rc::new(nothing));
            Err(error)
        }
    }
}

fn lost(cause: Error, batch: &[Entry]) -> Error {
    Error::Lost {
        cause: Box::new(cause),
        arrays: name_all(batch),
    }
}

fn name_all(entries: &[Entry]) -> String {
    let mut vars: Vec<_> = entries.iter().map(|entry| entry.var).collect();
    vars.dedup();
    let names: Vec<_> = vars.iter().map(i32::to_string).collect();
    format!("variables {}", names.join(", "))
}
