//! Files through PnetCDF: every I/O task has the file.
#![allow(unsafe_code)]

mod transfer;

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use super::calls::{Calls, Text, calls_of};
use super::classic::{Classic, FILL_VALUE, Handle, Library, unfilled, zeroed};
use super::{Format, Write};
use crate::comm::Comm;
use crate::comm::mpi::{Info, MPI_Comm, MPI_Info, MpiComm};
use crate::pio::{Error, Kind, Regions, Result, agree};
use transfer::{GET, PUT, transfer};

#[link(name = "pnetcdf")]
unsafe extern "C" {
    fn ncmpi_create(
        comm: MPI_Comm,
        path: *const c_char,
        mode: c_int,
        info: MPI_Info,
        id: *mut c_int,
    ) -> c_int;
    fn ncmpi_open(
        comm: MPI_Comm,
        path: *const c_char,
        mode: c_int,
        info: MPI_Info,
        id: *mut c_int,
    ) -> c_int;
    fn ncmpi_def_var_fill(id: c_int, var: c_int, nofill: c_int, value: *const c_void) -> c_int;
    fn ncmpi_inq_var_fill(id: c_int, var: c_int, nofill: *mut c_int, value: *mut c_void) -> c_int;
}

static CALLS: Calls = calls_of!("ncmpi_");

/// Files are laid out as upstream's: SCORPIO asks for no gaps between variables, NCAR's PIO leaves it to the library.
const LAYOUT: &[(&CStr, &CStr)] = match cfg!(feature = "pio_ncar") {
    true => &[],
    false => &[(c"nc_var_align_size", c"1")],
};

struct Pnetcdf {
    /// The tasks that have the file.
    comm: MpiComm,
    /// Whether a task may write and read on its own.
    independent: bool,
}

/// The library's words for an error.
pub(super) fn text_of(code: i32) -> String {
    CALLS.text_of(code)
}

/// Collective over `comm`. As PIO has it: nothing is filled unless asked for.
pub fn create(
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    unfilled(started(
        "ncmpi_create",
        ncmpi_create,
        comm,
        path,
        mode,
        hints,
    )?)
}

/// Collective over `comm`.
pub fn open(
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    started("ncmpi_open", ncmpi_open, comm, path, mode, hints)
}

type Start = unsafe extern "C" fn(MPI_Comm, Text, c_int, MPI_Info, *mut c_int) -> c_int;

fn started(
    call: &'static str,
    start: Start,
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    let owned = |hint: &(&CStr, &CStr)| (hint.0.to_owned(), hint.1.to_owned());
    let layout = LAYOUT.iter().map(owned);
    let hints: Vec<_> = layout.chain(hints.iter().cloned()).collect();
    let info = agree(comm, Info::new(&hints).map_err(Error::from))?;
    let all = comm.split(Some(0), comm.rank() as i32)?;
    let library = Pnetcdf {
        comm: all.ok_or_else(|| Error::Comm("no communicator for a file".into()))?,
        independent: !hints.iter().any(forbids_independent),
    };
    let mut id = -1;
    // SAFETY: communicator and info are valid, the path ends with NUL, `id` is ours to write.
    CALLS.check(call, unsafe {
        start(comm.handle(), path.as_ptr(), mode, info.handle(), &mut id)
    })?;
    Ok(Box::new(Classic {
        handle: Handle { id, calls: &CALLS },
        library,
    }))
}

/// ROMIO's hint that only its aggregators may open the file.
fn forbids_independent((key, value): &(CString, CString)) -> bool {
    let yes = ["true", "enable"].map(str::as_bytes);
    key.as_c_str() == c"romio_no_indep_rw" && yes.contains(&value.as_bytes())
}

impl Library for Pnetcdf {
    fn def_var_fill(
        &mut self,
        file: &Handle,
        var: i32,
        fill: bool,
        value: Option<&[u8]>,
    ) -> Result<()> {
        let value = value.map_or(std::ptr::null(), <[u8]>::as_ptr);
        // SAFETY: the file is open; the value is one of the variable's kind, or NULL.
        CALLS.check("ncmpi_def_var_fill", unsafe {
            ncmpi_def_var_fill(file.id, var, c_int::from(!fill), value.cast())
        })
    }

    fn inq_var_fill(&mut self, file: &Handle, var: i32) -> Result<(bool, Vec<u8>)> {
        let size = file.kind_of(var)?.size();
        let stored = file.attribute(var, FILL_VALUE);
        let mut value = zeroed(stored.map_or(1, |stored| stored.length.max(1)), size)?;
        let mut nofill = 0;
        // SAFETY: the file is open; there is room for all values of the attribute, which should be one.
        CALLS.check("ncmpi_inq_var_fill", unsafe {
            ncmpi_inq_var_fill(file.id, var, &mut nofill, value.as_mut_ptr().cast())
        })?;
        value.truncate(size);
        Ok((nofill == 0, value))
    }

    fn begin_pieces(
        &mut self,
        file: &Handle,
        parts: &[(i32, Kind, &Regions)],
    ) -> Result<Option<Vec<Regions>>> {
        transfer::begin_pieces(self, file, parts)
    }

    fn put_piece(&mut self, file: &Handle, write: &mut Write) -> Result<()> {
        transfer::piece(file, &PUT, write)
    }

    fn get_piece(&mut self, file: &Handle, read: &mut Write) -> Result<()> {
        transfer::piece(file, &GET, read)
    }

    fn end_pieces(&mut self, file: &Handle) -> Result<()> {
        transfer::end_pieces(file)
    }

    fn write(&mut self, file: &Handle, writes: &mut [Write]) -> Result<()> {
        transfer(self, file, &PUT, writes)
    }

    fn read(
        &mut self,
        file: &Handle,
        var: i32,
        kind: Kind,
        regions: &Regions,
        data: &mut [u8],
    ) -> Result<()> {
        let read = Write {
            var,
            kind,
            regions,
            data,
        };
        transfer(self, file, &GET, &mut [read])
    }
}
