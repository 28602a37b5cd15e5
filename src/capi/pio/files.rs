//! # Files

use crate::capi::pio::args::path;
use crate::capi::pio::open::{self as pio_open, Opening};
use crate::capi::pio::registry::{self as registry, on_file, on_system, on_system_of};
use crate::capi::{guard, ptr};
use crate::comm::Comm;
use crate::pio::{Error, Result, format};
use crate::storage::place::remove;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether this process can write and read files in that way: the build knows the file library, and it can be loaded, which
/// this call does.
///
/// # Returns
/// 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_iotype_available(iotype: c_int) -> c_int {
    format::available(iotype).into()
}

/// Creates a file. What is not written is not filled, unless PIOc_set_fill or PIOc_def_var_fill ask for it.
///
/// # Returns
/// PIO_NOERR, and the id in `ncidp`; PIO_EBADIOTYPE if the library was built without that I/O type, or
/// an I/O task cannot load what it needs.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_createfile(
    iosysid: c_int,
    ncidp: *mut c_int,
    iotype: *const c_int,
    fname: *const c_char,
    mode: c_int,
) -> c_int {
    on_system(iosysid, |system| {
        // SAFETY: arguments of the caller.
        let given = unsafe { Opening::check(ncidp, iotype, fname, mode) };
        let opening = system.agree_same("files", given)?;
        // SAFETY: not NULL, or the ranks had not agreed.
        unsafe { ncidp.write(opening.create(system)?) };
        Ok(())
    })
}

/// As PIOc_createfile with the I/O type in the `mode`: PnetCDF with NC_PNETCDF, else netCDF, which fills.
///
/// # Collective
/// As PIOc_createfile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_create(
    iosysid: c_int,
    path: *const c_char,
    cmode: c_int,
    ncidp: *mut c_int,
) -> c_int {
    on_system(iosysid, |system| {
        let iotype = pio_open::iotype_of(cmode);
        // SAFETY: arguments of the caller.
        let given = unsafe { Opening::check(ncidp, &iotype, path, cmode) };
        let opening = system.agree_same("files", given.map(Opening::filling))?;
        // SAFETY: not NULL, or the ranks had not agreed.
        unsafe { ncidp.write(opening.create(system)?) };
        Ok(())
    })
}

/// Opens a file, for writing too if `mode` has PIO_WRITE. Where the I/O type does not suit the file, it is opened
/// as PIO_IOTYPE_NETCDF; `iotype` is not changed.
///
/// # Returns
/// PIO_NOERR, and the id in `ncidp`.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_openfile(
    iosysid: c_int,
    ncidp: *mut c_int,
    iotype: *mut c_int,
    fname: *const c_char,
    mode: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { PIOc_openfile_retry(iosysid, ncidp, iotype, fname, mode, 1) }
}

/// As PIOc_openfile with that I/O type only.
///
/// # Collective
/// As PIOc_openfile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_openfile2(
    iosysid: c_int,
    ncidp: *mut c_int,
    iotype: *mut c_int,
    fname: *const c_char,
    mode: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { PIOc_openfile_retry(iosysid, ncidp, iotype, fname, mode, 0) }
}

/// As PIOc_openfile if `retry` is not 0, else as PIOc_openfile2.
///
/// # Collective
/// As PIOc_openfile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_openfile_retry(
    iosysid: c_int,
    ncidp: *mut c_int,
    iotype: *mut c_int,
    filename: *const c_char,
    mode: c_int,
    retry: c_int,
) -> c_int {
    on_system(iosysid, |system| {
        // SAFETY: arguments of the caller.
        let given = unsafe { Opening::check(ncidp, iotype, filename, mode) };
        let given = given.map(|opening| (opening, retry != 0));
        let (opening, retry) = system.agree_same("files", given)?;
        // SAFETY: not NULL, or the ranks had not agreed.
        unsafe { ncidp.write(opening.open(system, retry)?) };
        Ok(())
    })
}

/// As PIOc_openfile2 with the I/O type in the `mode`: PnetCDF with NC_PNETCDF, else netCDF.
///
/// # Collective
/// As PIOc_openfile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_open(
    iosysid: c_int,
    path: *const c_char,
    mode: c_int,
    ncidp: *mut c_int,
) -> c_int {
    let mut iotype = pio_open::iotype_of(mode);
    // SAFETY: arguments of the caller.
    unsafe { PIOc_openfile_retry(iosysid, ncidp, &mut iotype, path, mode, 0) }
}

/// Writes what is buffered and closes the file. It is closed even if that fails.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_closefile(ncid: c_int) -> c_int {
    on_system_of(ncid, |_| registry::take_file(ncid)?.file.close())
}

/// Removes a file.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_deletefile(iosysid: c_int, filename: *const c_char) -> c_int {
    on_system(iosysid, |system| {
        // SAFETY: arguments of the caller.
        let path = system.agree_same("files", unsafe { path("filename", filename) })?;
        let is_root = system.io.comm.rank() == system.io.io_root();
        system.agree(if is_root { delete(path) } else { Ok(()) })
    })
}

fn delete(path: &CStr) -> Result<()> {
    // Codes as upstream: those of the system.
    let failed = |code: c_int, text: String| Error::Format {
        call: "PIOc_deletefile",
        code,
        text,
    };
    match remove(Path::new(OsStr::from_bytes(path.to_bytes()))) {
        Ok(true) => Ok(()),
        Ok(false) => Err(failed(libc::ENOENT, format!("there is no {path:?}"))),
        Err(error) => Err(failed(error.errno().raw_os_error(), error.to_string())),
    }
}

/// Writes what is buffered, and what the file library has buffered.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_sync(ncid: c_int) -> c_int {
    on_file(ncid, |open| open.file.sync())
}

/// Lets dimensions, variables and attributes be changed.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_redef(ncid: c_int) -> c_int {
    on_file(ncid, |open| open.file.redef())
}

/// Ends the changes: data can be written and read.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_enddef(ncid: c_int) -> c_int {
    on_file(ncid, |open| open.file.enddef())
}

/// Whether there is such an open file. Not collective.
///
/// # Returns
/// 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_File_is_Open(ncid: c_int) -> c_int {
    guard(0, || registry::is_open(ncid).into())
}

const NC_FILL: c_int = 0;
const NC_NOFILL: c_int = 256;

/// Whether what is not written is filled (PIO_FILL) or not (PIO_NOFILL), for variables without a setting of
/// their own. `old_modep` gets what it was and may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_set_fill(
    ncid: c_int,
    fillmode: c_int,
    old_modep: *mut c_int,
) -> c_int {
    on_file(ncid, |open| {
        let given = match fillmode {
            NC_FILL => Ok(true),
            NC_NOFILL => Ok(false),
            other => Err(Error::Invalid(format!("{other} is not a fill mode"))),
        };
        let was_filled = open.change(given, |format, fill| format.set_fill(fill))?;
        // SAFETY: arguments of the caller.
        unsafe { ptr::store(old_modep, if was_filled { NC_FILL } else { NC_NOFILL }) };
        Ok(())
    })
}

// ---- what a file is made of ----

/// The number of dimensions, of variables and of attributes of the file itself, and the unlimited dimension or -1.
/// All of them may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq(
    ncid: c_int,
    ndimsp: *mut c_int,
    nvarsp: *mut c_int,
    ngattsp: *mut c_int,
    unlimdimidp: *mut c_int,
) -> c_int {
    on_file(ncid, |open| {
        let counts = open.file.ask(|format| format.counts())?;
        // SAFETY: arguments of the caller.
        unsafe {
            ptr::store(ndimsp, counts.dims);
            ptr::store(nvarsp, counts.vars);
            ptr::store(ngattsp, counts.attributes);
            ptr::store(unlimdimidp, counts.unlimited);
        }
        Ok(())
    })
}

/// The number of dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_ndims(ncid: c_int, ndimsp: *mut c_int) -> c_int {
    let none = std::ptr::null_mut();
    // SAFETY: arguments of the caller.
    unsafe { PIOc_inq(ncid, ndimsp, none, none, none) }
}

/// The number of variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_nvars(ncid: c_int, nvarsp: *mut c_int) -> c_int {
    let none = std::ptr::null_mut();
    // SAFETY: arguments of the caller.
    unsafe { PIOc_inq(ncid, none, nvarsp, none, none) }
}

/// The number of attributes of the file itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_natts(ncid: c_int, ngattsp: *mut c_int) -> c_int {
    let none = std::ptr::null_mut();
    // SAFETY: arguments of the caller.
    unsafe { PIOc_inq(ncid, none, none, ngattsp, none) }
}

/// The unlimited dimension, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_unlimdim(ncid: c_int, unlimdimidp: *mut c_int) -> c_int {
    let none = std::ptr::null_mut();
    // SAFETY: arguments of the caller.
    unsafe { PIOc_inq(ncid, none, none, none, unlimdimidp) }
}

/// How many unlimited dimensions there are, and which. Both may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_unlimdims(
    ncid: c_int,
    nunlimdimsp: *mut c_int,
    unlimdimidsp: *mut c_int,
) -> c_int {
    on_file(ncid, |open| {
        let unlimited = open.file.ask(|format| format.counts())?.unlimited;
        // SAFETY: arguments of the caller.
        unsafe {
            ptr::store(nunlimdimsp, (unlimited >= 0).into());
            if unlimited >= 0 {
                ptr::store(unlimdimidsp, unlimited);
            }
        }
        Ok(())
    })
}

/// The format of the file, as nc_inq_format numbers it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_format(ncid: c_int, formatp: *mut c_int) -> c_int {
    on_file(ncid, |open| {
        let format = open.file.ask(|format| format.file_format())?;
        // SAFETY: arguments of the caller.
        unsafe { ptr::store(formatp, format) };
        Ok(())
    })
}
