//! From the write buffer to the file: each batch of arrays is collected on the I/O tasks and written, piece by piece
//! while its elements arrive if the file library says so.

use std::sync::Arc;

use super::super::exchange::PieceSink;
use super::super::format::{Format, Transfer};
use super::super::pool::PoolBuffer;
use super::super::{Error, File, Hyperslabs, IoSystem, Kind, Result, agree, exchange};
use super::buffer::{BufferedArray, batches};
use super::serial;
use crate::comm::Sparse;

/// Writes what is buffered. Collective, but returns at once if the buffer is empty, which it then is on all ranks.
pub(in crate::pio) fn flush<C: Sparse>(file: &mut File<C>) -> Result<()> {
    if file.buffer.is_empty() {
        return Ok(());
    }
    let written = write_out(file);
    agree(&file.system.comm, written)
}

/// As [`flush`], but returns the result of this rank alone. Goes on after a failure.
pub(in crate::pio) fn write_out<C: Sparse>(file: &mut File<C>) -> Result<()> {
    let mut verdict = Ok(());
    for batch in batches(file.buffer.take()) {
        verdict = verdict.and(write_batch(file, batch));
    }
    verdict
}

/// Collective; returns the result of this rank alone.
fn write_batch<C: Sparse>(file: &mut File<C>, mut batch: Vec<BufferedArray>) -> Result<()> {
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
            let mut writer = PieceWriter::new(&mut **format, entry, pieces);
            let fill = &entry.fill;
            let collected =
                exchange::collect_pieces(system, plan, element, &data, fill, &mut writer);
            verdict = verdict.and(collected).and(writer.verdict);
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
                let writes = batch.iter_mut().map(BufferedArray::as_transfer);
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
fn begin_pieces<'a>(
    format: &mut dyn Format,
    batch: &'a [BufferedArray],
) -> Result<Option<Vec<Hyperslabs>>> {
    let var = |entry: &'a BufferedArray| (entry.var, entry.decomp.kind, entry.regions());
    format.begin_pieces(&batch.iter().map(var).collect::<Vec<_>>())
}

/// Writes the pieces of an array as they become complete.
struct PieceWriter<'a> {
    format: &'a mut dyn Format,
    var: i32,
    kind: Kind,
    pieces: &'a Hyperslabs,
    done: usize,
    verdict: Result<()>,
}

impl<'a> PieceWriter<'a> {
    fn new(format: &'a mut dyn Format, entry: &BufferedArray, pieces: &'a Hyperslabs) -> Self {
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

impl PieceSink for PieceWriter<'_> {
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
        let piece = self.pieces.one(self.done);
        let mut transfer = Transfer::new(self.var, self.kind, &piece, data);
        let written = self.format.put_piece(&mut transfer);
        if self.verdict.is_ok() {
            self.verdict = written;
        }
        self.done += 1;
    }
}

/// Brings an array to the I/O tasks. After a failure, a task takes part in writing without data.
fn collect<C: Sparse>(system: &IoSystem<C>, entry: &mut BufferedArray) -> Result<()> {
    let (plan, element) = (&entry.decomp.plan, entry.decomp.kind.size());
    let collected = exchange::collect(system, plan, element, &entry.data, &entry.fill);
    match collected {
        Ok(data) => {
            entry.data = data;
            Ok(())
        }
        Err(error) => {
            entry.data = PoolBuffer::default();
            let nothing = Hyperslabs::new(entry.regions().dimensions());
            entry.placed = Some(Arc::new(nothing));
            Err(error)
        }
    }
}

fn lost(cause: Error, batch: &[BufferedArray]) -> Error {
    let mut vars: Vec<_> = batch.iter().map(|entry| entry.var).collect();
    vars.dedup();
    let names: Vec<_> = vars.iter().map(i32::to_string).collect();
    Error::Lost {
        cause: Box::new(cause),
        arrays: format!("variables {}", names.join(", ")),
    }
}
