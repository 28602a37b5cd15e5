//! Distributed arrays: PIOc_write_darray and PIOc_read_darray.
//!
//! [`write`] packs a rank's part of an array and keeps it in the file's write buffer (`buffer`). When one rank's buffer
//! is full, or at sync or close, all ranks [`flush`]: `exchange` brings the elements to the I/O tasks, which write
//! them. [`read`] flushes first; then the I/O tasks read their regions and `exchange` scatters them (`read`). `fit`
//! says where in a variable an array goes; `serial` serves files that only the first I/O task has open.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::error::different;
use super::file::VarInfo;
use super::pool::PoolBuffer;
use super::{Decomp, Error, File, Result, agree_with, exchange};
use crate::comm::{Comm, Sparse};

mod buffer;
mod fit;
mod flush;
mod read;
mod serial;
#[cfg(test)]
mod tests;

use buffer::BufferedArray;
pub(super) use buffer::WriteBuffer;
pub use buffer::{buffer_limit, set_buffer_limit};
use fit::Fit;
pub(super) use flush::{flush, write_out};
use read::ArrayRead;

/// Buffers this rank's part of one array; it is written when the buffer is full, or at the next sync or close. `fill` is
/// one element for places that no rank holds. Collective.
pub fn write<C: Sparse>(
    file: &mut File<C>,
    var: i32,
    decomp: &Arc<Decomp>,
    array: &[u8],
    fill: Option<&[u8]>,
) -> Result<()> {
    let fills = [fill];
    let request = ArrayWrite {
        vars: &[var],
        decomp,
        arrays: array,
        frames: None,
        fills: Some(&fills),
        flush: false,
        // Here, and only here, NCAR's library refuses a value that is not the variable's.
        same_fill: cfg!(feature = "pio_ncar"),
    };
    request.write(file)
}

/// As [`write`] for several variables of one decomposition, whose parts follow each other in `arrays`.
/// `flush`: write them before returning. Collective.
pub fn write_multi<C: Sparse>(
    file: &mut File<C>,
    vars: &[i32],
    decomp: &Arc<Decomp>,
    arrays: &[u8],
    frames: Option<&[i32]>,
    fills: Option<&[Option<&[u8]>]>,
    flush: bool,
) -> Result<()> {
    let request = ArrayWrite {
        vars,
        decomp,
        arrays,
        frames,
        fills,
        flush,
        same_fill: false,
    };
    request.write(file)
}

/// What a rank needs for its new arrays; all ranks do what the most demanding one needs.
const KEEP: u64 = 0;
const FLUSH_AFTER: u64 = 1;
const FLUSH_BEFORE: u64 = 2;

struct ArrayWrite<'a> {
    vars: &'a [i32],
    decomp: &'a Arc<Decomp>,
    arrays: &'a [u8],
    frames: Option<&'a [i32]>,
    fills: Option<&'a [Option<&'a [u8]>]>,
    flush: bool,
    same_fill: bool,
}

impl ArrayWrite<'_> {
    fn write<C: Sparse>(&self, file: &mut File<C>) -> Result<()> {
        if file.read_only {
            return Err(Error::ReadOnly);
        }
        let variables = file.describe(self.vars)?;
        let fits = self.fit(file, &variables);
        let wanted = fits
            .as_ref()
            .map(|fits| (self.vars, fits, self.fills_of(&variables)));
        let digest = wanted.map_or(0, |wanted| digest(&wanted));
        let prepare = |file: &File<C>| match &fits {
            Ok(fits) => self.prepare(file, &variables, fits),
            Err(error) => Err(error.clone()),
        };
        let mut prepared = prepare(file);
        loop {
            let need = self.need(file, &prepared);
            let own = match need {
                FLUSH_BEFORE => Ok(None),
                _ => prepared.map(Some),
            };
            let mut words = [u64::MAX - need, digest, !digest];
            let own = agree_with(&file.system.comm, own, &mut words)?;
            let greatest = u64::MAX - words[0];
            if words[1] != !words[2] {
                return Err(different(
                    &file.system.comm,
                    "variables, records or fill values",
                ));
            }
            if greatest == FLUSH_BEFORE {
                flush(file)?;
                prepared = own.map_or_else(|| prepare(file), Ok);
                continue;
            }
            let entries = own.into_iter().flatten();
            entries.for_each(|entry| file.buffer.push(entry));
            return match greatest {
                KEEP => Ok(()),
                _ => flush(file),
            };
        }
    }

    fn need<C: Comm>(&self, file: &File<C>, prepared: &Result<Vec<BufferedArray>>) -> u64 {
        match prepared {
            Err(Error::Memory(_)) if !file.buffer.is_empty() => FLUSH_BEFORE,
            Ok(entries) if self.flush || file.buffer.is_full_with(entries) => FLUSH_AFTER,
            _ => KEEP,
        }
    }

    /// Where in their variables the arrays go.
    fn fit<C: Sparse>(&self, file: &File<C>, variables: &[Arc<VarInfo>]) -> Result<Vec<Fit>> {
        self.check(variables)?;
        let each = self.vars.iter().zip(variables).enumerate();
        each.map(|(at, (&var, variable))| {
            let frame = self.frames.map_or_else(|| file.frame(var), |f| f[at]);
            Fit::new(var, variable, &self.decomp.dims, frame)
        })
        .collect()
    }

    /// Packs this rank's part. Local.
    fn prepare<C: Comm>(
        &self,
        file: &File<C>,
        variables: &[Arc<VarInfo>],
        fits: &[Fit],
    ) -> Result<Vec<BufferedArray>> {
        let length = self.decomp.map_len() * self.decomp.kind.size();
        let each = self.vars.iter().zip(variables).zip(fits).enumerate();
        each.map(|(at, ((&var, variable), &fit))| {
            let placed = match file.buffer.placed_alike(self.decomp, fit) {
                Some(placed) => placed,
                None => fit.place(self.decomp.plan.written())?.map(Arc::new),
            };
            Ok(BufferedArray {
                var,
                decomp: self.decomp.clone(),
                fit,
                placed,
                fill: self.fill(variable, self.fills.and_then(|fills| fills[at]))?,
                data: self.pack(file, &self.arrays[at * length..][..length])?,
            })
        })
        .collect()
    }

    fn check(&self, variables: &[Arc<VarInfo>]) -> Result<()> {
        let number = self.vars.len();
        if self.decomp.read_only {
            return Err(invalid("a decomposition for reading only cannot write"));
        }
        let lengths = [self.frames.map(<[_]>::len), self.fills.map(<[_]>::len)];
        if lengths.into_iter().flatten().any(|length| length != number) {
            return Err(invalid("every variable needs a record and a fill value"));
        }
        if cfg!(feature = "pio_ncar") {
            check_alike(self.vars, variables)?;
        }
        long_enough(self.decomp, number, self.arrays.len())
    }

    fn pack<C: Comm>(&self, file: &File<C>, array: &[u8]) -> Result<PoolBuffer> {
        let (plan, element) = (&self.decomp.plan, self.decomp.kind.size());
        exchange::pack(&file.system, plan, element, array)
    }

    /// The fill values that will be written. They must be the same on all ranks: each I/O task writes its own.
    fn fills_of(&self, variables: &[Arc<VarInfo>]) -> Vec<Option<Vec<u8>>> {
        let each = variables.iter().enumerate();
        let each = each.filter(|_| self.decomp.plan.has_holes());
        each.map(|(at, variable)| {
            let given = self.fills.and_then(|fills| fills[at]);
            self.fill(variable, given).ok()
        })
        .collect()
    }

    fn fill(&self, variable: &VarInfo, given: Option<&[u8]>) -> Result<Vec<u8>> {
        let kind = self.decomp.kind;
        let own = variable.fill_as(kind);
        match given {
            None => Ok(own),
            Some(given) if given.len() != kind.size() => Err(invalid(
                "a fill value is one element of the decomposition's type",
            )),
            Some(given) if self.same_fill && variable.filled && given != own => {
                Err(invalid("the fill value is not that of the variable"))
            }
            Some(given) => Ok(given.to_vec()),
        }
    }
}

/// Reads this rank's part; holes keep what they had. Collective.
pub fn read<C: Sparse>(
    file: &mut File<C>,
    var: i32,
    decomp: &Decomp,
    array: &mut [u8],
) -> Result<()> {
    let variable = file.describe(&[var])?.swap_remove(0);
    flush(file)?;
    let system = file.system.clone();
    let fit = Fit::new(var, &variable, &decomp.dims, file.frame(var).max(0));
    let digest = digest(&(var, fit.as_ref().ok()));
    let placed = long_enough(decomp, 1, array.len()).and(fit);
    let placed = placed.and_then(|fit| fit.place(decomp.plan.read()));
    let reading = ArrayRead::begin(file, var, decomp, placed, variable.dims.len());
    let streams = system.io.is_none() || reading.as_ref().is_ok_and(|own| own.streams(&system));
    let mut words = [digest, !digest, u64::from(streams)];
    let mut reading = agree_with(&system.comm, reading, &mut words);
    if words[0] != !words[1] {
        reading = reading.and(Err(different(&system.comm, "variables or records")));
    }
    let reading = match reading {
        Ok(reading) => reading,
        Err(error) => {
            // All ranks report the error from before.
            let _ = file.end_pieces();
            return Err(error);
        }
    };
    let array = &mut array[..decomp.map_len() * decomp.kind.size()];
    if words[2] == 1 {
        let delivered = reading.stream(file, array);
        return read::tell(&system, delivered);
    }
    let (buffer, split) = reading.split(file, array);
    let scatter = read::tell(&system, split)?;
    scatter.deliver(&system, &buffer, array)
}

fn long_enough(decomp: &Decomp, arrays: usize, given: usize) -> Result<()> {
    let needed = (decomp.map_len() * decomp.kind.size()).checked_mul(arrays);
    if needed.is_some_and(|needed| needed <= given) {
        return Ok(());
    }
    let (length, given) = (decomp.map_len(), given / decomp.kind.size());
    let text = format!("{given} elements are given where {arrays} times {length} are needed");
    Err(Error::Invalid(text))
}

/// NCAR's library writes variables together only if they have equally many dimensions.
fn check_alike(vars: &[i32], variables: &[Arc<VarInfo>]) -> Result<()> {
    let Some(first) = variables.first() else {
        return Ok(());
    };
    let other = |(_, v): &(_, &Arc<VarInfo>)| v.dims.len() != first.dims.len();
    match vars.iter().zip(variables).find(other) {
        None => Ok(()),
        Some((&var, other)) => Err(Error::Shape {
            var,
            file: other.dims.clone(),
            decomp: first.dims.clone(),
        }),
    }
}

fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

fn invalid(text: &str) -> Error {
    Error::Invalid(text.into())
}
