//! From the buffer to the file.

use std::rc::Rc;

use super::super::memory::Loan;
use super::super::{Error, File, IoSystem, Regions, Result, agree, exchange};
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
    let mut verdict = Ok(());
    for entry in &mut batch {
        verdict = verdict.and(collect(&file.system, entry));
    }
    if let Some(io) = &file.system.io {
        let written = match &mut file.format {
            Some(format) if file.parallel => {
                let writes = batch.iter_mut().map(Entry::as_write);
                format.write(&mut writes.collect::<Vec<_>>())
            }
            Some(format) => serial::write(io, Some(&mut **format), &mut batch),
            None => serial::write(io, None, &mut batch),
        };
        verdict = verdict.and(written);
    }
    verdict.map_err(|cause| Error::Lost {
        cause: Box::new(cause),
        arrays: name_all(&batch),
    })
}

/// Brings an array to the I/O tasks. A task that gets nothing still takes part in writing, with nothing.
fn collect<C: Comm>(system: &IoSystem<C>, entry: &mut Entry) -> Result<()> {
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
            entry.placed = Some(Rc::new(nothing));
            Err(error)
        }
    }
}

fn name_all(entries: &[Entry]) -> String {
    let mut vars: Vec<_> = entries.iter().map(|entry| entry.var).collect();
    vars.dedup();
    let names: Vec<_> = vars.iter().map(i32::to_string).collect();
    format!("variables {}", names.join(", "))
}
