//! Creating and opening files: arguments, I/O types, which rank opens what.

use super::args::any_text;
use super::registry::{self, System};
use crate::capi::boundary::{Text, path_of};
use crate::comm::Comm;
use crate::comm::mpi::MpiComm;
use crate::log;
use crate::pio::error::EBADIOTYPE;
use crate::pio::format::{self, Format, NETCDF, PNETCDF};
use crate::pio::{Error, File, Result};
use crate::storage::names::attributes;
use std::ffi::{CStr, CString, c_int};
use std::sync::Arc;

const NC_WRITE: c_int = 1;
const NC_64BIT_DATA: c_int = 0x20;
const NC_64BIT_OFFSET: c_int = 0x200;
const NC_NETCDF4: c_int = 0x1000;
/// NC_PNETCDF as well.
const NC_MPIIO: c_int = 0x2000;

const NETCDF4C: c_int = 3;
const NETCDF4P: c_int = 4;

/// Codes of the file libraries for a file of another format.
const WRONG_KIND: [c_int; 4] = [-51, -36, -128, -500];

/// The I/O type that a mode asks for.
pub(super) fn iotype_of(mode: c_int) -> c_int {
    match (mode & NC_NETCDF4 != 0, mode & NC_MPIIO != 0) {
        (true, true) => NETCDF4P,
        (true, false) => NETCDF4C,
        (false, true) => PNETCDF,
        (false, false) => NETCDF,
    }
}

/// A file to be created or opened.
#[derive(Hash)]
pub(super) struct Opening<'a> {
    iotype: c_int,
    path: &'a CStr,
    mode: c_int,
    /// Whether unwritten places of a new file are filled.
    fill: bool,
}

impl<'a> Opening<'a> {
    pub(super) fn check(iotype: Option<c_int>, name: Text<'a>, mode: c_int) -> Result<Self> {
        let iotype = iotype.ok_or(Error::Null("iotype"))?;
        if cfg!(feature = "pio_ncar") && !(PNETCDF..=NETCDF4P).contains(&iotype) {
            return Err(Error::Invalid(format!("{iotype} is not an I/O type")));
        }
        Ok(Self {
            iotype,
            path: any_text("the name of the file", name)?,
            mode,
            fill: false,
        })
    }

    /// With the I/O type that the mode names, or the only one there is.
    pub(super) fn by_mode(name: Text<'a>, mode: c_int) -> Result<Self> {
        let iotype = match iotype_of(mode) {
            NETCDF if !format::is_built(NETCDF) => PNETCDF,
            iotype => iotype,
        };
        Self::check(Some(iotype), name, mode)
    }

    /// As netCDF does it, where the mode names the I/O type.
    pub(super) fn filling(mut self) -> Self {
        self.fill = self.iotype == NETCDF;
        self
    }

    /// In the format with 64-bit numbers (CDF-5).
    pub(super) fn with_large_numbers(mut self) -> Self {
        self.mode = self.mode & !NC_64BIT_OFFSET | NC_64BIT_DATA;
        self
    }

    pub(super) fn create(&self, system: &Arc<System>) -> Result<c_int> {
        registry::add_file(system.clone(), self.create_file(system)?, 0)
    }

    pub(super) fn create_file(&self, system: &Arc<System>) -> Result<File<MpiComm>> {
        check_built(system, self.iotype)?;
        let created = self.start(system, self.iotype, OpenCalls::CREATE);
        let mut file = File::new(system.io.clone(), created, self.iotype == PNETCDF)?;
        if self.fill {
            file.ask(|format| format.set_fill(true))?;
        }
        Ok(file)
    }

    /// `retry`: as netCDF, if the file is of another format than the I/O type's.
    pub(super) fn open(&self, system: &Arc<System>, retry: bool) -> Result<c_int> {
        let mut file = match self.open_as(system, self.iotype) {
            Err(error) if retry && self.may_be_netcdf(&error) => {
                log!(
                    Info,
                    "{}: trying netCDF, since {error}",
                    self.path.to_string_lossy()
                );
                match self.open_as(system, NETCDF) {
                    // netCDF cannot be loaded: the first error says more.
                    Err(second) if second.code() == EBADIOTYPE => return Err(error),
                    opened => opened?,
                }
            }
            opened => opened?,
        };
        let vars = file.ask(|format| format.counts())?.vars;
        registry::add_file(system.clone(), file, vars)
    }

    pub(super) fn open_file(&self, system: &Arc<System>) -> Result<File<MpiComm>> {
        self.open_as(system, self.iotype)
    }

    /// Unknown if the name has a prefix that only MPI-IO knows.
    pub(super) fn file_length(&self) -> Option<u64> {
        let known = attributes(path_of(self.path)).ok().flatten();
        known.map(|known| known.size)
    }

    fn may_be_netcdf(&self, error: &Error) -> bool {
        let known = (PNETCDF..=NETCDF4P).contains(&self.iotype) && self.iotype != NETCDF;
        known && format::is_built(NETCDF) && WRONG_KIND.contains(&error.code())
    }

    fn open_as(&self, system: &Arc<System>, iotype: c_int) -> Result<File<MpiComm>> {
        check_built(system, iotype)?;
        let opened = self.start(system, iotype, OpenCalls::OPEN);
        let mut file = File::new(system.io.clone(), opened, iotype == PNETCDF)?;
        if self.mode & NC_WRITE == 0 {
            file.forbid_writing();
        }
        Ok(file)
    }

    /// On the I/O tasks that hold the file.
    fn start(
        &self,
        system: &System,
        iotype: c_int,
        start: OpenCalls,
    ) -> Result<Option<Box<dyn Format>>> {
        let Some(io) = &system.io.io else {
            return Ok(None);
        };
        if iotype == PNETCDF {
            return (start.parallel)(io, self.path, self.mode, &system.hints()).map(Some);
        }
        match io.rank() {
            0 => (start.serial)(self.path, self.mode).map(Some),
            _ => Ok(None),
        }
    }
}

/// All ranks have the same build, so this fails on all or on none: no agreement is needed for success.
fn check_built(system: &System, iotype: c_int) -> Result<()> {
    match format::check_built(iotype) {
        Ok(()) => Ok(()),
        failed => system.agree(failed),
    }
}

type OpenParallel = fn(&MpiComm, &CStr, i32, &[(CString, CString)]) -> Result<Box<dyn Format>>;
type OpenSerial = fn(&CStr, i32) -> Result<Box<dyn Format>>;

/// The calls that create or open a file in the libraries of this build.
struct OpenCalls {
    parallel: OpenParallel,
    serial: OpenSerial,
}

#[cfg(not(feature = "pnetcdf"))]
fn no_parallel(_: &MpiComm, _: &CStr, _: i32, _: &[(CString, CString)]) -> Result<Box<dyn Format>> {
    Err(Error::IoType(PNETCDF))
}

#[cfg(not(feature = "netcdf"))]
fn no_serial(_: &CStr, _: i32) -> Result<Box<dyn Format>> {
    Err(Error::IoType(NETCDF))
}

impl OpenCalls {
    const CREATE: OpenCalls = OpenCalls {
        #[cfg(feature = "pnetcdf")]
        parallel: format::pnetcdf::create,
        #[cfg(not(feature = "pnetcdf"))]
        parallel: no_parallel,
        #[cfg(feature = "netcdf")]
        serial: format::netcdf::create,
        #[cfg(not(feature = "netcdf"))]
        serial: no_serial,
    };
    const OPEN: OpenCalls = OpenCalls {
        #[cfg(feature = "pnetcdf")]
        parallel: format::pnetcdf::open,
        #[cfg(not(feature = "pnetcdf"))]
        parallel: no_parallel,
        #[cfg(feature = "netcdf")]
        serial: format::netcdf::open,
        #[cfg(not(feature = "netcdf"))]
        serial: no_serial,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_names_an_iotype() {
        let modes = [0, NC_MPIIO, NC_NETCDF4, NC_NETCDF4 | NC_MPIIO];
        assert_eq!(modes.map(iotype_of), [NETCDF, PNETCDF, NETCDF4C, NETCDF4P]);
    }
}
