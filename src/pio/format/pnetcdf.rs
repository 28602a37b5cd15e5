//! PnetCDF: every I/O task has the file open.
#![allow(unsafe_code)]

mod transfer;

use std::ffi::{CStr, CString, c_char, c_int};

use super::calls::{Call, Pnetcdf};
use super::classic::{Classic, DataAccess, FILL_VALUE, NcFile, unfilled};
use super::load::{LibraryNames, Loaded};
use super::{Format, Transfer};
use crate::comm::Comm;
use crate::comm::mpi::{Info, MPI_Comm, MPI_Info, MpiComm};
use crate::pio::{Error, Hyperslabs, Kind, Result, agree, alloc};
use transfer::{TransferCalls, transfer};

const SOURCE: LibraryNames = LibraryNames {
    title: "PnetCDF",
    names: env!("STANCHION_PNETCDF_NAMES"),
};

/// Files are laid out as upstream's: SCORPIO asks for no gaps between variables, NCAR's PIO leaves it to the library.
const LAYOUT: &[(&CStr, &CStr)] = match cfg!(feature = "pio_ncar") {
    true => &[],
    false => &[(c"nc_var_align_size", c"1")],
};

struct PnetcdfFile {
    calls: &'static Pnetcdf,
    /// The tasks that have the file open.
    comm: MpiComm,
    /// Whether tasks may use independent I/O.
    independent: bool,
}

/// The library's functions; loads it at the first call, and keeps an error, too. Local.
pub(super) fn calls() -> Result<&'static Pnetcdf> {
    static LOADED: Loaded<Pnetcdf> = Loaded::new();
    let loaded = LOADED.get_or_init(|| SOURCE.load(Pnetcdf::find));
    loaded.as_ref().map_err(Error::clone)
}

/// Turns filling off, as PIO does. Collective over `comm`.
pub fn create(
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    unfilled(start(|calls| &calls.create, comm, path, mode, hints)?)
}

/// Collective over `comm`.
pub fn open(
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    start(|calls| &calls.open, comm, path, mode, hints)
}

type ParallelOpenFn =
    unsafe extern "C" fn(MPI_Comm, *const c_char, c_int, MPI_Info, *mut c_int) -> c_int;

fn start(
    open: fn(&'static Pnetcdf) -> &'static Call<ParallelOpenFn>,
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    let owned = |hint: &(&CStr, &CStr)| (hint.0.to_owned(), hint.1.to_owned());
    let layout = LAYOUT.iter().map(owned);
    let hints: Vec<_> = layout.chain(hints.iter().cloned()).collect();
    // If one task cannot load the library, none calls it.
    let ready = calls().and_then(|calls| Ok((calls, Info::new(&hints)?)));
    let (calls, info) = agree(comm, ready)?;
    let all = comm.split(Some(0), comm.rank() as i32)?;
    let library = PnetcdfFile {
        calls,
        comm: all.ok_or_else(|| Error::Comm("no communicator for a file".into()))?,
        independent: !hints.iter().any(forbids_independent),
    };
    let (open, calls) = (open(calls), &calls.both);
    let mut id = -1;
    // SAFETY: communicator and info are valid, the path ends with NUL, `id` is ours to write.
    calls.check(open.name, unsafe {
        (open.run)(comm.handle(), path.as_ptr(), mode, info.handle(), &mut id)
    })?;
    Ok(Box::new(Classic {
        handle: NcFile { id, calls },
        library,
    }))
}

/// ROMIO's hint that only its aggregators may open the file.
fn forbids_independent((key, value): &(CString, CString)) -> bool {
    let yes = ["true", "enable"].map(str::as_bytes);
    key.as_c_str() == c"romio_no_indep_rw" && yes.contains(&value.as_bytes())
}

impl DataAccess for PnetcdfFile {
    fn def_var_fill(
        &mut self,
        file: &NcFile,
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

    fn inq_var_fill(&mut self, file: &NcFile, var: i32) -> Result<(bool, Vec<u8>)> {
        let size = file.kind_of(var)?.size();
        let stored = file.attribute(var, FILL_VALUE);
        let stored = stored.map_or(1, |stored| stored.length.max(1));
        let mut value = alloc::zeros(stored.saturating_mul(size as u64))?;
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
        file: &NcFile,
        vars: &[(i32, Kind, &Hyperslabs)],
    ) -> Result<Option<Vec<Hyperslabs>>> {
        transfer::begin_pieces(self, file, vars)
    }

    fn put_piece(&mut self, file: &NcFile, piece: &mut Transfer) -> Result<()> {
        transfer::piece(file, &TransferCalls::put(self.calls), piece)
    }

    fn get_piece(&mut self, file: &NcFile, piece: &mut Transfer) -> Result<()> {
        transfer::piece(file, &TransferCalls::get(self.calls), piece)
    }

    fn end_pieces(&mut self, file: &NcFile) -> Result<()> {
        transfer::end_pieces(self, file)
    }

    fn write(&mut self, file: &NcFile, writes: &mut [Transfer]) -> Result<()> {
        transfer(self, file, &TransferCalls::put(self.calls), writes)
    }

    fn read(&mut self, file: &NcFile, read: &mut Transfer) -> Result<()> {
        let reads = std::slice::from_mut(read);
        transfer(self, file, &TransferCalls::get(self.calls), reads)
    }
}
