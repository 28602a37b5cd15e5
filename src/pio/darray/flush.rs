//! From the buffer to the file.

use std::sync::Arc;

use super::super::exchange::Sink;
use super::super::format::{Format, Write};
use super::super::memory::Loan;
use super::super::{Error, File, IoSystem, Kind, Regions, Result, agree, exchange};
use super::buffer::{Entry, batches};
use super::serial;
use crate::comm::Sparse;

/// Writes what is buffered. Collective, but for an empty buffer, which is empty on all ranks.
pub(in crate::pio) fn flush<C: Sparse>(file: &mut File<C>) -> Result<()> {
    if file.buffer.is_empty() {
        return Ok(());
    }
    let written = write_out(file);
    agree(&file.system.comm, written)
}

/// As [`flush`]; the result is that of this rank alone. Goes on after a failure: what else can be written is.
pub(in crate::pio) fn write_out<C: Sparse>(file: &mut File<C>) -> Result<()> {
    let mut verdict = Ok(());
    for batch in batches(file.buffer.take()) {
        verdict = verdict.and(write_batch(file, batch));
    }
    verdict
}

/// The result is that of this rank alone.
fn write_batch<C: Sparse>(file: &mut File<C>, mut batch: Vec<Entry>) -> Result<()> {
    let File { system, format, .. } = file;
    let parallel = format.as_mut().filter(|_| file.parallel);
    let (pieces, mut verdict) = match parallel.map(|format| begin_pieces(&mut **format, &batch)) {
        Some(Ok(pieces)) => (pieces, Ok(())),
        Some(Err(error)) => (None, Err(error)),
        None => (None, Ok(())),
    };
    if let (Some(pieces), Some(format)) = (pieces, &mut *format) {
        for (entry, pieces) in batch.iter_mut().zip(&pieces) {
            let data = std::mem::take(&mut entry.data);
            let (plan, element) = (&entry.decomp.plan, entry.decomp.kind.size());
            let mut outflow = Outflow::new(&mut **format, entry, pieces);
            let poured = exchange::pour(system, plan, element, &data, &entry.fill, &mut outflow);
            verdict = verdict.and(poured).and(outflow.verdict);
        }
        verdict = verdict.and(format.end_pieces());
        return verdict.map_err(|cause| lost(cause, &batch));
    }
    for entry in &mut batch {
        verdict = verdict.and(collect(system, entry));
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
    /// How many are written.
    done: usize,
    verdict: Result<()>,
}

impl<'a> Outflow<'a> {
    fn new(format: &'a mut dyn Format, entry: &Entry, pieces: &'a Regions) -> Self {
        Self {
            format,
            var: entry.var,
            kind: entry.decomp.kind,
            pieces,
            done: 0,
            verdict: Ok(()),
        }
    }
}

impl Sink for Outflow<'_> {
    fn elements(&self) -> u64 {
        self.pieces.elements()
    }

    fn longest(&self) -> u64 {
        self.pieces.longest()
    }

    fn next(&self) -> Option<u64> {
        let left = self.done < self.pieces.len();
        left.then(|| self.pieces.elements_at(self.done))
    }

    fn write(&mut self, data: &mut [u8]) {
        let (start, count) = self.pieces.at(self.done);
        let mut piece = Regions::new(start.len());
        piece.push(start, count);
        let written = self.format.put_piece(&mut Write {
            var: self.var,
            kind: self.kind,
            regions: &piece,
            data,
        });
        if self.verdict.is_ok() {
            self.verdict = written;
        }
        self.done += 1;
    }
}

/// Brings an array to the I/O tasks. A task that gets nothing still takes part in writing, with nothing.
fn collect<C: Sparse>(system: &IoSystem<C>, entry: &mut Entry) -> Result<()> {
    let (plan, element) = (&entry.decomp.plan, entry.decomp.kind.size());
    let collected = exchange::collect(system, plan, element, &entry.data, &entry.fill);
    match collected {
        Ok(data) => {
            entry.data = data;
            Ok(())
        }
        Err(error) => {
            entry.data = Loan::default();
            let nothing = Regions::new(entry.regions().dimensions());
            entry.placed = Some(Arc::new(nothing));
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
