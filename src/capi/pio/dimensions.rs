//! # Dimensions

use crate::capi::pio::args::{NAME_ROOM, name, store_name};
use crate::capi::pio::registry::on_file;
use crate::capi::pio::types::PIO_Offset;
use crate::capi::ptr;
use crate::pio::Error;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

const EDIMSIZE: c_int = -63;

/// Defines a dimension; PIO_UNLIMITED as `len` lets it grow. `idp` gets its number and may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_def_dim(
    ncid: c_int,
    name: *const c_char,
    len: PIO_Offset,
    idp: *mut c_int,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        let length = u64::try_from(len).map_err(|_| Error::Format {
            call: "PIOc_def_dim",
            code: EDIMSIZE,
            text: format!("a dimension cannot have the length {len}"),
        });
        let given = given.and_then(|name| Ok((name, length?)));
        let dim = open.change(given, |format, (name, length)| {
            format.def_dim(name, (length > 0).then_some(length))
        })?;
        // SAFETY: as above.
        unsafe { ptr::store(idp, dim) };
        Ok(())
    })
}

/// Name and length of a dimension. Both may be NULL; a name has up to PIO_MAX_NAME characters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_dim(
    ncid: c_int,
    dimid: c_int,
    name: *mut c_char,
    lenp: *mut PIO_Offset,
) -> c_int {
    on_file(ncid, |open| {
        let (known, length) = open.ask(Ok(dimid), |format, dimid| format.dim(dimid))?;
        // SAFETY: arguments of the caller.
        unsafe {
            store_name(name, NAME_ROOM, &known);
            ptr::store(lenp, length as PIO_Offset);
        }
        Ok(())
    })
}

/// The dimension of that name. `idp` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_dimid(
    ncid: c_int,
    name: *const c_char,
    idp: *mut c_int,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        let dim = open.ask(given, |format, name| format.dim_named(name))?;
        // SAFETY: as above.
        unsafe { ptr::store(idp, dim) };
        Ok(())
    })
}

/// The name of a dimension, of up to PIO_MAX_NAME characters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_dimname(ncid: c_int, dimid: c_int, name: *mut c_char) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { PIOc_inq_dim(ncid, dimid, name, null_mut()) }
}

/// The length of a dimension; of the unlimited one, what it has grown to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_dimlen(
    ncid: c_int,
    dimid: c_int,
    lenp: *mut PIO_Offset,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { PIOc_inq_dim(ncid, dimid, null_mut(), lenp) }
}

/// Gives a dimension another name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_rename_dim(ncid: c_int, dimid: c_int, name: *const c_char) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        open.change(given.map(|name| (dimid, name)), |format, (dimid, name)| {
            format.rename_dim(dimid, name)
        })
    })
}
