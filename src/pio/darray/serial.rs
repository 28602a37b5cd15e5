//! Files that only the first I/O task has open: it writes and reads for the others, one task at a time, so that it needs
//! memory for one at a time.
//!
//! Another task offers what it has; the first accepts it if it has memory for it. No task returns early: errors are
//! reported where all ranks agree.

use super::super::format::{Format, Transfer};
use super::super::pool::PoolBuffer;
use super::super::{Hyperslabs, Result, alloc};
use super::buffer::BufferedArray;
use crate::comm::{Comm, Tag};
use crate::wire;

const OFFER: Tag = 1;
const ANSWER: Tag = 2;
const CONTENTS: Tag = 3;

/// Writes the arrays of all I/O tasks. Collective over them; the first has `format`.
pub(super) fn write<C: Comm>(
    io: &C,
    format: Option<&mut dyn Format>,
    entries: &mut [BufferedArray],
) -> Result<()> {
    let Some(format) = format else {
        return hand_over(io, entries);
    };
    let own = entries.iter_mut().map(BufferedArray::as_transfer);
    let own = write_each(format, &mut own.collect::<Vec<_>>());
    entries
        .iter_mut()
        .for_each(|entry| entry.data = PoolBuffer::default());
    (1..io.size()).fold(own, |verdict, task| {
        verdict.and(write_for(io, format, task, entries))
    })
}

fn hand_over<C: Comm>(io: &C, entries: &[BufferedArray]) -> Result<()> {
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
    entries: &[BufferedArray],
) -> Result<()> {
    let dimensions: Vec<_> = entries.iter().map(|e| e.regions().dimensions()).collect();
    let Some(mut parts) = accept(io, task, &dimensions)? else {
        return Ok(());
    };
    let recvs = parts.iter_mut();
    let recvs = recvs.flat_map(|p| [(task, &mut p.encoded[..]), (task, &mut p.data[..])]);
    io.transfer(CONTENTS, &[], &mut recvs.collect::<Vec<_>>())?;
    let regions: Result<Vec<_>> = parts.iter().map(TaskArray::regions).collect();
    let regions = regions?;
    let all = entries.iter().zip(&regions).zip(&mut parts);
    let writes = all.map(|((entry, regions), part)| {
        Transfer::new(entry.var, entry.decomp.kind, regions, &mut part.data)
    });
    write_each(format, &mut writes.collect::<Vec<_>>())
}

/// One by one, so that a failure of one variable does not keep the others from the file.
fn write_each(format: &mut dyn Format, writes: &mut [Transfer]) -> Result<()> {
    let each = writes.chunks_mut(1).map(|write| format.write(write));
    each.fold(Ok(()), Result::and)
}

/// Reads for all I/O tasks. Collective over them; the first has `format`.
pub(super) fn read<C: Comm>(
    io: &C,
    format: Option<&mut dyn Format>,
    read: &mut Transfer,
) -> Result<()> {
    let Some(format) = format else {
        return fetch(io, read);
    };
    let own = format.read(read);
    (1..io.size()).fold(own, |verdict, task| {
        verdict.and(read_for(io, format, task, read))
    })
}

fn fetch<C: Comm>(io: &C, read: &mut Transfer) -> Result<()> {
    let encoded = encode(read.regions);
    let sizes = match &encoded {
        Ok(_) => [size(read.regions, read.data)],
        Err(_) => [[0; 2]],
    };
    let wanted = offer(io, &sizes)?;
    let encoded = encoded?;
    if wanted {
        io.transfer(CONTENTS, &[(0, &encoded)], &mut [(0, &mut *read.data)])?;
    }
    Ok(())
}

/// `own`: what the first task has read of the same variable.
fn read_for<C: Comm>(io: &C, format: &mut dyn Format, task: usize, own: &Transfer) -> Result<()> {
    let parts = accept(io, task, &[own.regions.dimensions()])?;
    let Some(mut part) = parts.into_iter().flatten().next() else {
        return Ok(());
    };
    io.recv(task, CONTENTS, &mut part.encoded)?;
    let read = part.regions().and_then(|regions| {
        format.read(&mut Transfer::new(
            own.var,
            own.kind,
            &regions,
            &mut part.data,
        ))
    });
    // Sent even if the read failed: the task waits for it.
    io.send(task, CONTENTS, &part.data)?;
    read
}

/// Number of regions and bytes of data.
type Size = [u64; 2];

fn size(regions: &Hyperslabs, data: &[u8]) -> Size {
    [regions.len() as u64, data.len() as u64]
}

/// Tells the first I/O task how much there is; returns whether it accepts.
fn offer<C: Comm>(io: &C, sizes: &[Size]) -> Result<bool> {
    let mut bytes = Vec::new();
    wire::put(&mut bytes, sizes.as_flattened());
    io.send(0, OFFER, &bytes)?;
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(false);
    }
    let mut answer = [0];
    io.recv(0, ANSWER, &mut answer)?;
    Ok(answer == [1])
}

/// Learns from a task how much it has and answers whether there is memory for it. `None` if it has nothing.
fn accept<C: Comm>(io: &C, task: usize, dimensions: &[usize]) -> Result<Option<Vec<TaskArray>>> {
    let mut sizes = vec![0; 16 * dimensions.len()];
    io.recv(task, OFFER, &mut sizes)?;
    if sizes.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let mut words = wire::numbers(&sizes);
    let mut next = || words.next().unwrap_or(0);
    let each = dimensions.iter();
    let parts: Result<Vec<_>> = each
        .map(|dimensions| TaskArray::new(*dimensions, [next(), next()]))
        .collect();
    io.send(task, ANSWER, &[parts.is_ok().into()])?;
    parts.map(Some)
}

/// Hyperslabs and data of one variable, from another I/O task.
struct TaskArray {
    dimensions: usize,
    number: usize,
    encoded: Vec<u8>,
    data: Vec<u8>,
}

impl TaskArray {
    fn new(dimensions: usize, [number, bytes]: Size) -> Result<Self> {
        Ok(Self {
            dimensions,
            number: number as usize,
            encoded: alloc::zeros(number.saturating_mul(16 * dimensions as u64))?,
            data: alloc::zeros(bytes)?,
        })
    }

    fn regions(&self) -> Result<Hyperslabs> {
        let mut regions = Hyperslabs::with_room(self.dimensions, self.number)?;
        let mut words = wire::numbers(&self.encoded);
        let mut region = vec![0; 2 * self.dimensions];
        for _ in 0..self.number {
            let pairs = region.iter_mut().zip(&mut words);
            pairs.for_each(|(number, word)| *number = word);
            regions.push(&region[..self.dimensions], &region[self.dimensions..]);
        }
        Ok(regions)
    }
}

fn encode(regions: &Hyperslabs) -> Result<Vec<u8>> {
    let mut bytes = alloc::list(regions.len() * 16 * regions.dimensions())?;
    for (start, count) in regions.iter() {
        wire::put(&mut bytes, start);
        wire::put(&mut bytes, count);
    }
    Ok(bytes)
}
