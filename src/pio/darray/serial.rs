//! Files that only the first I/O task has open: it writes and reads for the others, one after the other, so
//! that it needs memory for one of them at a time.
//!
//! Another task says how much it has; the first asks for it if there is memory for it. Nobody leaves early:
//! what goes wrong is told where all ranks agree.

use super::super::format::{Format, Write};
use super::super::memory::{self, Loan};
use super::super::{Kind, Regions, Result};
use super::buffer::Entry;
use crate::comm::{Comm, Tag};

const OFFER: Tag = 1;
const ANSWER: Tag = 2;
const CONTENTS: Tag = 3;

/// Writes what all I/O tasks have. Collective over them; `format` is there on the first.
pub(super) fn write<C: Comm>(
    io: &C,
    format: Option<&mut dyn Format>,
    entries: &mut [Entry],
) -> Result<()> {
    let Some(format) = format else {
        return hand_over(io, entries);
    };
    let own = entries.iter_mut().map(Entry::as_write);
    let own = write_each(format, &mut own.collect::<Vec<_>>());
    entries
        .iter_mut()
        .for_each(|entry| entry.data = Loan::default());
    (1..io.size()).fold(own, |verdict, task| {
        verdict.and(write_for(io, format, task, entries))
    })
}

fn hand_over<C: Comm>(io: &C, entries: &[Entry]) -> Result<()> {
    let encoded: Result<Vec<_>> = entries.iter().map(|e| encode(e.regions())).collect();
    let sizes: Vec<_> = match &encoded {
        Ok(_) => entries.iter().map(|e| size(e.regions(), &e.data)).collect(),
        Err(_) => vec![[0; 2]; entries.len()],
    };
    let wanted = offer(io, &sizes)?;
    let encoded = encoded?;
    if wanted {
        let all = encoded.iter().zip(entries);
        let sends = all.flat_map(|(regions, entry)| [(0, &regions[..]), (0, &entry.data[..])]);
        io.transfer(CONTENTS, &sends.collect::<Vec<_>>(), &mut [])?;
    }
    Ok(())
}

fn write_for<C: Comm>(
    io: &C,
    format: &mut dyn Format,
    task: usize,
    entries: &[Entry],
) -> Result<()> {
    let dimensions: Vec<_> = entries.iter().map(|e| e.regions().dimensions()).collect();
    let Some(mut parts) = accept(io, task, &dimensions)? else {
        return Ok(());
    };
    let recvs = parts.iter_mut();
    let recvs = recvs.flat_map(|p| [(task, &mut p.encoded[..]), (task, &mut p.data[..])]);
    io.transfer(CONTENTS, &[], &mut recvs.collect::<Vec<_>>())?;
    let regions: Result<Vec<_>> = parts.iter().map(Part::regions).collect();
    let regions = regions?;
    let all = entries.iter().zip(&regions).zip(&mut parts);
    let writes = all.map(|((entry, regions), part)| Write {
        var: entry.var,
        kind: entry.decomp.kind,
        regions,
        data: &mut part.data,
    });
    write_each(format, &mut writes.collect::<Vec<_>>())
}

/// One by one, so that what goes wrong with one variable does not keep the others from the file.
fn write_each(format: &mut dyn Format, writes: &mut [Write]) -> Result<()> {
    let each = writes.chunks_mut(1).map(|write| format.write(write));
    each.fold(Ok(()), Result::and)
}

/// Reads for all I/O tasks. Collective over them; `format` is there on the first.
pub(super) fn read<C: Comm>(
    io: &C,
    format: Option<&mut dyn Format>,
    var: i32,
    kind: Kind,
    regions: &Regions,
    data: &mut [u8],
) -> Result<()> {
    let Some(format) = format else {
        return fetch(io, regions, data);
    };
    let own = format.read(var, kind, regions, data);
    (1..io.size()).fold(own, |verdict, task| {
        let dimensions = regions.dimensions();
        verdict.and(read_for(io, format, task, var, kind, dimensions))
    })
}

fn fetch<C: Comm>(io: &C, regions: &Regions, data: &mut [u8]) -> Result<()> {
    let encoded = encode(regions);
    let sizes = match &encoded {
        Ok(_) => [size(regions, data)],
        Err(_) => [[0; 2]],
    };
    let wanted = offer(io, &sizes)?;
    let encoded = encoded?;
    if wanted {
        io.transfer(CONTENTS, &[(0, &encoded)], &mut [(0, data)])?;
    }
    Ok(())
}

fn read_for<C: Comm>(
    io: &C,
    format: &mut dyn Format,
    task: usize,
    var: i32,
    kind: Kind,
    dimensions: usize,
) -> Result<()> {
    let parts = accept(io, task, &[dimensions])?;
    let Some(mut part) = parts.into_iter().flatten().next() else {
        return Ok(());
    };
    io.recv(task, CONTENTS, &mut part.encoded)?;
    let regions = part.regions();
    let read = regions.and_then(|regions| format.read(var, kind, &regions, &mut part.data));
    // Sent even if it could not be read: the task waits for it.
    io.send(task, CONTENTS, &part.data)?;
    read
}

/// Number of regions and bytes of data.
type Size = [u64; 2];

fn size(regions: &Regions, data: &[u8]) -> Size {
    [regions.len() as u64, data.len() as u64]
}

/// Tells the first I/O task how much there is; whether it wants it.
fn offer<C: Comm>(io: &C, sizes: &[Size]) -> Result<bool> {
    let words = sizes.iter().flatten();
    let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
    io.send(0, OFFER, &bytes)?;
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(false);
    }
    let mut answer = [0];
    io.recv(0, ANSWER, &mut answer)?;
    Ok(answer == [1])
}

/// Learns from a task how much there is and tells it whether there is memory for it; nothing if there is
/// nothing.
fn accept<C: Comm>(io: &C, task: usize, dimensions: &[usize]) -> Result<Option<Vec<Part>>> {
    let mut sizes = vec![0; 16 * dimensions.len()];
    io.recv(task, OFFER, &mut sizes)?;
    if sizes.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let each = dimensions.iter().enumerate();
    let parts: Result<Vec<_>> = each
        .map(|(at, dimensions)| {
            Part::new(
                *dimensions,
                [word(&sizes, 2 * at), word(&sizes, 2 * at + 1)],
            )
        })
        .collect();
    io.send(task, ANSWER, &[parts.is_ok().into()])?;
    parts.map(Some)
}

/// What another I/O task has of one variable.
struct Part {
    dimensions: usize,
    number: usize,
    encoded: Vec<u8>,
    data: Vec<u8>,
}

impl Part {
    fn new(dimensions: usize, [number, bytes]: Size) -> Result<Self> {
        Ok(Self {
            dimensions,
            number: number as usize,
            encoded: memory::zeros(number.saturating_mul(16 * dimensions as u64))?,
            data: memory::zeros(bytes)?,
        })
    }

    fn regions(&self) -> Result<Regions> {
        let mut regions = Regions::with_room(self.dimensions, self.number)?;
        let mut own = vec![0; 2 * self.dimensions];
        for at in 0..self.number {
            let words = own.iter_mut().enumerate();
            words.for_each(|(i, w)| *w = word(&self.encoded, 2 * self.dimensions * at + i));
            regions.push(&own[..self.dimensions], &own[self.dimensions..]);
        }
        Ok(regions)
    }
}

fn encode(regions: &Regions) -> Result<Vec<u8>> {
    let mut bytes = memory::list(regions.len() * 16 * regions.dimensions())?;
    for (start, count) in regions.iter() {
        let words = start.iter().chain(count);
        words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }
    Ok(bytes)
}

fn word(bytes: &[u8], index: usize) -> u64 {
    let own = bytes.get(8 * index..).and_then(|rest| rest.first_chunk());
    own.map_or(0, |own| u64::from_le_bytes(*own))
}
