//! # Files

use super::args::any_text;
use super::open::{Opening, iotype_of};
use super::registry::{self, on_file, on_system, on_system_of};
use crate::capi::boundary::{In, InOut, Out, OutArray, Text, path_of};
use crate::capi::guard;
use crate::comm::Comm;
use crate::pio::{Error, Result, format};
use crate::storage::names::remove;
use std::ffi::{CStr, c_int};

/// Tells whether this process can use an I/O type: the build knows the file library, and it can be loaded, which this call
/// does.
///
/// # Returns
/// 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_iotype_available(iotype: c_int) -> c_int {
    format::available(iotype).into()
}

/// Creates a file. Unwritten places are not filled, unless PIOc_set_fill or PIOc_def_var_fill ask for it.
///
/// # Returns
/// PIO_NOERR, and the id in `ncidp`; PIO_EBADIOTYPE if the library was built without that I/O type, or an I/O task cannot
/// load the file library.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_createfile(
    iosysid: c_int,
    ncidp: Out<c_int>,
    iotype: In<c_int>,
    fname: Text,
    mode: c_int,
) -> c_int {
    let iotype = iotype.get().copied();
    create(iosysid, ncidp, || Opening::check(iotype, fname, mode))
}

/// As PIOc_createfile with the I/O type in the `mode`: PnetCDF with NC_PNETCDF, else netCDF, which fills.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_create(
    iosysid: c_int,
    path: Text,
    cmode: c_int,
    ncidp: Out<c_int>,
) -> c_int {
    let opening = || Opening::check(Some(iotype_of(cmode)), path, cmode).map(Opening::filling);
    create(iosysid, ncidp, opening)
}

fn create<'a>(
    iosysid: c_int,
    ncidp: Out<c_int>,
    opening: impl FnOnce() -> Result<Opening<'a>>,
) -> c_int {
    on_system(iosysid, |system| {
        let given = needed(ncidp).and_then(|()| opening());
        ncidp.set(system.agree_same("files", given)?.create(system)?);
        Ok(())
    })
}

fn needed(ncidp: Out<c_int>) -> Result<()> {
    match ncidp.is_null() {
        true => Err(Error::Null("ncidp")),
        false => Ok(()),
    }
}

/// Opens a file, for writing too if `mode` has PIO_WRITE. A file that the I/O type cannot open is opened as
/// PIO_IOTYPE_NETCDF; `iotype` is not changed.
///
/// # Returns
/// PIO_NOERR, and the id in `ncidp`.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_openfile(
    iosysid: c_int,
    ncidp: Out<c_int>,
    iotype: InOut<c_int>,
    fname: Text,
    mode: c_int,
) -> c_int {
    PIOc_openfile_retry(iosysid, ncidp, iotype, fname, mode, 1)
}

/// As PIOc_openfile with that I/O type only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_openfile2(
    iosysid: c_int,
    ncidp: Out<c_int>,
    iotype: InOut<c_int>,
    fname: Text,
    mode: c_int,
) -> c_int {
    PIOc_openfile_retry(iosysid, ncidp, iotype, fname, mode, 0)
}

/// As PIOc_openfile if `retry` is not 0, else as PIOc_openfile2.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_openfile_retry(
    iosysid: c_int,
    ncidp: Out<c_int>,
    iotype: InOut<c_int>,
    filename: Text,
    mode: c_int,
    retry: c_int,
) -> c_int {
    open(iosysid, ncidp, iotype.get(), filename, mode, retry != 0)
}

/// As PIOc_openfile2 with the I/O type in the `mode`: PnetCDF with NC_PNETCDF, else netCDF.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_open(iosysid: c_int, path: Text, mode: c_int, ncidp: Out<c_int>) -> c_int {
    open(iosysid, ncidp, Some(iotype_of(mode)), path, mode, false)
}

fn open(
    iosysid: c_int,
    ncidp: Out<c_int>,
    iotype: Option<c_int>,
    name: Text,
    mode: c_int,
    retry: bool,
) -> c_int {
    on_system(iosysid, |system| {
        let given = needed(ncidp).and_then(|()| Opening::check(iotype, name, mode));
        let given = given.map(|opening| (opening, retry));
        let (opening, retry) = system.agree_same("files", given)?;
        ncidp.set(opening.open(system, retry)?);
        Ok(())
    })
}

/// Flushes buffered data and closes the file. It is closed even if that fails.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_closefile(ncid: c_int) -> c_int {
    on_system_of(ncid, |_| registry::take_file(ncid)?.file.close())
}

/// Removes a file.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_deletefile(iosysid: c_int, filename: Text) -> c_int {
    on_system(iosysid, |system| {
        let path = system.agree_same("files", any_text("filename", filename))?;
        let is_root = system.io.comm.rank() == system.io.io_root();
        system.agree(if is_root { delete(path) } else { Ok(()) })
    })
}

fn delete(path: &CStr) -> Result<()> {
    // Upstream returns the codes of the system.
    let failed = |code: c_int, text: String| Error::Format {
        call: "PIOc_deletefile",
        code,
        text,
    };
    match remove(path_of(path)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(failed(libc::ENOENT, format!("there is no {path:?}"))),
        Err(error) => Err(failed(error.errno().raw_os_error(), error.to_string())),
    }
}

/// Flushes buffered data, and the buffers of the file library.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_sync(ncid: c_int) -> c_int {
    on_file(ncid, |open| open.file.sync())
}

/// Enters define mode: dimensions, variables and attributes can be changed.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_redef(ncid: c_int) -> c_int {
    on_file(ncid, |open| open.file.redef())
}

/// Leaves define mode: data can be written and read.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_enddef(ncid: c_int) -> c_int {
    on_file(ncid, |open| open.file.enddef())
}

/// Tells whether there is such an open file. Not collective.
///
/// # Returns
/// 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_File_is_Open(ncid: c_int) -> c_int {
    guard(0, || registry::is_open(ncid).into())
}

const NC_FILL: c_int = 0;
const NC_NOFILL: c_int = 256;

/// Sets whether unwritten places are filled (PIO_FILL) or not (PIO_NOFILL), for variables without a setting of their own.
/// `old_modep` gets the previous mode.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_fill(ncid: c_int, fillmode: c_int, old_modep: Out<c_int>) -> c_int {
    on_file(ncid, |open| {
        let given = match fillmode {
            NC_FILL => Ok(true),
            NC_NOFILL => Ok(false),
            other => Err(Error::Invalid(format!("{other} is not a fill mode"))),
        };
        let was_filled = open.change(given, |format, fill| format.set_fill(fill))?;
        old_modep.set(if was_filled { NC_FILL } else { NC_NOFILL });
        Ok(())
    })
}

// ---- what a file holds ----

/// Gets the number of dimensions, of variables and of global attributes, and the unlimited dimension or -1.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq(
    ncid: c_int,
    ndimsp: Out<c_int>,
    nvarsp: Out<c_int>,
    ngattsp: Out<c_int>,
    unlimdimidp: Out<c_int>,
) -> c_int {
    on_file(ncid, |open| {
        let counts = open.file.ask(|format| format.counts())?;
        ndimsp.set(counts.dims);
        nvarsp.set(counts.vars);
        ngattsp.set(counts.attributes);
        unlimdimidp.set(counts.unlimited);
        Ok(())
    })
}

/// Gets the number of dimensions.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_ndims(ncid: c_int, ndimsp: Out<c_int>) -> c_int {
    PIOc_inq(ncid, ndimsp, Out::NULL, Out::NULL, Out::NULL)
}

/// Gets the number of variables.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_nvars(ncid: c_int, nvarsp: Out<c_int>) -> c_int {
    PIOc_inq(ncid, Out::NULL, nvarsp, Out::NULL, Out::NULL)
}

/// Gets the number of global attributes.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_natts(ncid: c_int, ngattsp: Out<c_int>) -> c_int {
    PIOc_inq(ncid, Out::NULL, Out::NULL, ngattsp, Out::NULL)
}

/// Gets the unlimited dimension, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_unlimdim(ncid: c_int, unlimdimidp: Out<c_int>) -> c_int {
    PIOc_inq(ncid, Out::NULL, Out::NULL, Out::NULL, unlimdimidp)
}

/// Gets the number of unlimited dimensions, and their ids.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_unlimdims(
    ncid: c_int,
    nunlimdimsp: Out<c_int>,
    unlimdimidsp: OutArray<c_int>,
) -> c_int {
    on_file(ncid, |open| {
        let unlimited = open.file.ask(|format| format.counts())?.unlimited;
        let unlimited = (unlimited >= 0).then_some(unlimited);
        nunlimdimsp.set(unlimited.is_some().into());
        // SAFETY: the header says that there is room for the ids; no format has more than one.
        unsafe { unlimdimidsp.fill(unlimited.as_slice()) };
        Ok(())
    })
}

/// Gets the format of the file, as nc_inq_format numbers it.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_format(ncid: c_int, formatp: Out<c_int>) -> c_int {
    on_file(ncid, |open| {
        formatp.set(open.file.ask(|format| format.file_format())?);
        Ok(())
    })
}
