//! Files through PnetCDF: every I/O task has the file.
#![allow(unsafe_code)]

mod transfer;

use std::ffi::{CStr, CString, c_char, c_int};

use super::calls::{Call, Pnetcdf};
use super::classic::{Classic, FILL_VALUE, Handle, Library, unfilled, zeroed};
use super::load::{Loaded, Source};
use super::{Format, Write};
use crate::comm::Comm;
use crate::comm::mpi::{Info, MPI_Comm, MPI_Info, MpiComm};
use crate::pio::{Error, Kind, Regions, Result, agree};
use transfer::{Direction, transfer};

const SOURCE: Source = Source {
    title: "PnetCDF",
    names: env!("STANCHION_PNETCDF_NAMES"),
};

/// Files are laid out as upstream's: SCORPIO asks for no gaps between variables, NCAR's PIO leaves it to the library.
const LAYOUT: &[(&CStr, &CStr)] = match cfg!(feature = "pio_ncar") {
    true => &[],
    false => &[(c"nc_var_align_size", c"1")],
};

/// What belongs to one open file.
struct File {
    calls: &'static Pnetcdf,
    /// The tasks that have the file.
    comm: MpiComm,
    /// Whether a task may write and read on its own.
    independent: bool,
}

/// Loads the library if nobody has. Local; an error is kept as well.
pub(super) fn calls() -> Result<&'static Pnetcdf> {
    static LOADED: Loaded<Pnetcdf> = Loaded::new();
    let loaded = LOADED.get_or_init(|| SOURCE.load(Pnetcdf::find));
    loaded.as_ref().map_err(Error::clone)
}

/// Collective over `comm`. As PIO has it: nothing is filled unless asked for.
pub fn create(
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    unfilled(started(|calls| &calls.create, comm, path, mode, hints)?)
}

/// Collective over `comm`.
pub fn open(
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    started(|calls| &calls.open, comm, path, mode, hints)
}

type Start = unsafe extern "C" fn(MPI_Comm, *const c_char, c_int, MPI_Info, *mut c_int) -> c_int;

fn started(
    start: fn(&'static Pnetcdf) -> &'static Call<Start>,
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    let owned = |hint: &(&CStr, &CStr)| (hint.0.to_owned(), hint.1.to_owned());
    let layout = LAYOUT.iter().map(owned);
    let hints: Vec<_> = layout.chain(hints.iter().cloned()).collect();
    // One task may lack the library: nobody calls it then.
    let ready = calls().and_then(|calls| Ok((calls, Info::new(&hints)?)));
    let (calls, info) = agree(comm, ready)?;
    let all = comm.split(Some(0), comm.rank() as i32)?;
    let library = File {
        calls,
        comm: all.ok_or_else(|| Error::Comm("no communicator for a file".into()))?,
        independent: !hints.iter().any(forbids_independent),
    };
    let (start, calls) = (start(calls), &calls.both);
    let mut id = -1;
    // SAFETY: communicator and info are valid, the path ends with NUL, `id` is ours to write.
    calls.check(start.name, unsafe {
        (start.run)(comm.handle(), path.as_ptr(), mode, info.handle(), &mut id)
    })?;
    Ok(Box::new(Classic {
        handle: Handle { id, calls },
        library,
    }))
}

/// ROMIO's hint that only its aggregators may open the file.
fn forbids_independent((key, value): &(CString, CString)) -> bool {
    let yes = ["true", "enable"].map(str::as_bytes);
    key.as_c_str() == c"romio_no_indep_rw" && yes.contains(&value.as_bytes())
}

impl Library for File {
    fn def_var_fill(
        &mut self,
        file: &Handle,
        var: i32,
        fill: bool,
        value: Option<&[u8]>,
    ) -> Result<()> {
        let value = value.map_or(std::ptr::null(), <[u8]>::as_ptr);
        let call = &self.calls.def_var_fill;
        // SAFETY: the file is open; the value is one of the variable's kind, or NULL.
        file.calls.check(call.name, unsafe {
            (call.run)(file.id, var, c_int::from(!fill), value.cast())
        })
    }

    fn inq_var_fill(&mut self, file: &Handle, var: i32) -> Result<(bool, Vec<u8>)> {
        let size = file.kind_of(var)?.size();
        let stored = file.attribute(var, FILL_VALUE);
        let mut value = zeroed(stored.map_or(1, |stored| stored.length.max(1)), size)?;
        let (call, mut nofill) = (&self.calls.inq_var_fill, 0);
        // SAFETY: the file is open; there is room for all values of the attribute, which should be one.
        file.calls.check(call.name, unsafe {
            (call.run)(file.id, var, &mut nofill, value.as_mut_ptr().cast())
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
        transfer::piece(file, &Direction::put(self.calls), write)
    }

    fn get_piece(&mut self, file: &Handle, read: &mut Write) -> Result<()> {
        transfer::piece(file, &Direction::get(self.calls), read)
    }

    fn end_pieces(&mut self, file: &Handle) -> Result<()> {
        transfer::end_pieces(self, file)
    }

    fn write(&mut self, file: &Handle, writes: &mut [Write]) -> Result<()> {
        transfer(self, file, &Direction::put(self.calls), writes)
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
        transfer(self, file, &Direction::get(self.calls), &mut [read])
    }
}
