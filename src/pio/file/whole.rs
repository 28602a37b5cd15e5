//! Data that are not distributed: all ranks have all of them.

use super::super::format::Transfer;
use super::super::{Error, Hyperslabs, Kind, Result, agree, alloc, darray};
use super::File;
use crate::comm::Sparse;

impl<C: Sparse> File<C> {
    /// Writes regions of a variable, which follow each other in `data`: the same on all ranks, written by the
    /// first I/O task. Collective.
    pub fn put(&mut self, var: i32, kind: Kind, regions: &Hyperslabs, data: &[u8]) -> Result<()> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        darray::flush(self)?;
        let room = length(kind, regions, data.len()).and_then(|length| match self.speaks() {
            true => alloc::copy(&data[..length]),
            false => Ok(Vec::new()),
        });
        let (mut data, checked) = settle(room);
        let none = Hyperslabs::new(regions.dimensions());
        let regions = match self.speaks() && checked.is_ok() {
            true => regions,
            false => &none,
        };
        let written = match &mut self.format {
            Some(format) => format.write(&mut [Transfer::new(var, kind, regions, &mut data)]),
            None => Ok(()),
        };
        agree(&self.system.comm, checked.and(written))
    }

    /// Reads regions of a variable one after the other into `data`, on all ranks. Collective.
    pub fn get(
        &mut self,
        var: i32,
        kind: Kind,
        regions: &Hyperslabs,
        data: &mut [u8],
    ) -> Result<()> {
        darray::flush(self)?;
        let (length, checked) = settle(length(kind, regions, data.len()));
        let data = &mut data[..length];
        let none = Hyperslabs::new(regions.dimensions());
        let speaks = self.speaks() && checked.is_ok();
        let read = match &mut self.format {
            Some(format) => {
                let (regions, data) = match speaks {
                    true => (regions, &mut *data),
                    false => (&none, &mut [][..]),
                };
                format.read(&mut Transfer::new(var, kind, regions, data))
            }
            None => Ok(()),
        };
        agree(&self.system.comm, checked.and(read))?;
        Ok(self.system.comm.bcast(self.system.io_root(), data)?)
    }

    fn speaks(&self) -> bool {
        self.system.io_rank() == Some(0)
    }
}

/// Splits a local result into its value, or a default, and a verdict to agree on later.
fn settle<T: Default>(result: Result<T>) -> (T, Result<()>) {
    match result {
        Ok(value) => (value, Ok(())),
        Err(error) => (T::default(), Err(error)),
    }
}

/// Bytes of the regions, if `given` has as many.
fn length(kind: Kind, regions: &Hyperslabs, given: usize) -> Result<usize> {
    let needed = regions.elements().checked_mul(kind.size() as u64);
    match needed.map(usize::try_from) {
        Some(Ok(needed)) if needed <= given => Ok(needed),
        _ => Err(Error::Invalid(format!(
            "{given} bytes are given for {} elements of {} bytes",
            regions.elements(),
            kind.size()
        ))),
    }
}
