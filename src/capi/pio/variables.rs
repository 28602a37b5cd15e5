//! # Variables
//!
//! What they are made of and what they are filled with.

use crate::capi::pio::args::{NAME_ROOM, array, int, name, store_all, store_name};
use crate::capi::pio::registry::on_file;
use crate::capi::pio::types::{PIO_Offset, nc_type};
use crate::capi::ptr;
use crate::pio::{Error, Kind, Result};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

/// Defines a variable of these dimensions, the slowest first. `varidp` gets its number and may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_def_var(
    ncid: c_int,
    name: *const c_char,
    xtype: nc_type,
    ndims: c_int,
    dimidsp: *const c_int,
    varidp: *mut c_int,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let dims = unsafe { array("dimidsp", dimidsp, ndims) };
        // SAFETY: as above.
        let given = unsafe { self::name("name", name) };
        let given = given.and_then(|name| Ok((name, Kind::from_number(xtype)?, dims?)));
        let var = open.change(given, |format, (name, kind, dims)| {
            format.def_var(name, kind, dims)
        })?;
        open.vars = open.vars.max(var + 1);
        // SAFETY: as above.
        unsafe { ptr::store(varidp, var) };
        Ok(())
    })
}

/// The variable of that name. `varidp` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_varid(
    ncid: c_int,
    name: *const c_char,
    varidp: *mut c_int,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        let var = open.ask(given, |format, name| format.var_named(name))?;
        // SAFETY: as above.
        unsafe { ptr::store(varidp, var) };
        Ok(())
    })
}

/// What a variable is made of. All but the ids may be NULL; a name has up to PIO_MAX_NAME characters.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_var(
    ncid: c_int,
    varid: c_int,
    name: *mut c_char,
    xtypep: *mut nc_type,
    ndimsp: *mut c_int,
    dimidsp: *mut c_int,
    nattsp: *mut c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe {
        inq_var(
            ncid,
            varid,
            (name, NAME_ROOM),
            xtypep,
            ndimsp,
            dimidsp,
            nattsp,
        )
    }
}

/// What a variable is made of. All but the ids may be NULL; the name is cut to `namelen` bytes with its NUL.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_var(
    ncid: c_int,
    varid: c_int,
    name: *mut c_char,
    namelen: c_int,
    xtypep: *mut nc_type,
    ndimsp: *mut c_int,
    dimidsp: *mut c_int,
    nattsp: *mut c_int,
) -> c_int {
    let room = usize::try_from(namelen).unwrap_or(0);
    // SAFETY: arguments of the caller.
    unsafe { inq_var(ncid, varid, (name, room), xtypep, ndimsp, dimidsp, nattsp) }
}

/// `name` and the room that it has.
unsafe fn inq_var(
    ncid: c_int,
    varid: c_int,
    name: (*mut c_char, usize),
    xtypep: *mut nc_type,
    ndimsp: *mut c_int,
    dimidsp: *mut c_int,
    nattsp: *mut c_int,
) -> c_int {
    on_file(ncid, |open| {
        let variable = open.ask(Ok(varid), |format, varid| format.var(varid))?;
        // SAFETY: promised by the caller.
        unsafe {
            store_name(name.0, name.1, &variable.name);
            ptr::store(xtypep, variable.kind as nc_type);
            ptr::store(ndimsp, int(variable.dims.len()));
            store_all(dimidsp, &variable.dims);
            ptr::store(nattsp, variable.attributes);
        }
        Ok(())
    })
}

/// The name of a variable, of up to PIO_MAX_NAME characters.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_varname(ncid: c_int, varid: c_int, name: *mut c_char) -> c_int {
    let name = (name, NAME_ROOM);
    // SAFETY: arguments of the caller.
    unsafe {
        inq_var(
            ncid,
            varid,
            name,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
        )
    }
}

/// The name of a variable, cut to `namelen` bytes with its NUL.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_varname(
    ncid: c_int,
    varid: c_int,
    name: *mut c_char,
    namelen: c_int,
) -> c_int {
    let name = (name, usize::try_from(namelen).unwrap_or(0));
    // SAFETY: arguments of the caller.
    unsafe {
        inq_var(
            ncid,
            varid,
            name,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
        )
    }
}

/// The type of a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_vartype(
    ncid: c_int,
    varid: c_int,
    xtypep: *mut nc_type,
) -> c_int {
    let no_name = (null_mut(), 0);
    // SAFETY: arguments of the caller.
    unsafe {
        inq_var(
            ncid,
            varid,
            no_name,
            xtypep,
            null_mut(),
            null_mut(),
            null_mut(),
        )
    }
}

/// The number of a variable's dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_varndims(ncid: c_int, varid: c_int, ndimsp: *mut c_int) -> c_int {
    let no_name = (null_mut(), 0);
    // SAFETY: arguments of the caller.
    unsafe {
        inq_var(
            ncid,
            varid,
            no_name,
            null_mut(),
            ndimsp,
            null_mut(),
            null_mut(),
        )
    }
}

/// A variable's dimensions, the slowest first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_vardimid(
    ncid: c_int,
    varid: c_int,
    dimidsp: *mut c_int,
) -> c_int {
    let no_name = (null_mut(), 0);
    // SAFETY: arguments of the caller.
    unsafe {
        inq_var(
            ncid,
            varid,
            no_name,
            null_mut(),
            null_mut(),
            dimidsp,
            null_mut(),
        )
    }
}

/// The number of a variable's attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_varnatts(ncid: c_int, varid: c_int, nattsp: *mut c_int) -> c_int {
    let no_name = (null_mut(), 0);
    // SAFETY: arguments of the caller.
    unsafe {
        inq_var(
            ncid,
            varid,
            no_name,
            null_mut(),
            null_mut(),
            null_mut(),
            nattsp,
        )
    }
}

/// Gives a variable another name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_rename_var(ncid: c_int, varid: c_int, name: *const c_char) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        open.change(given.map(|name| (varid, name)), |format, (varid, name)| {
            format.rename_var(varid, name)
        })
    })
}

// ---- types and fill values ----

/// Name and size of a type. Both may be NULL; a name has up to PIO_MAX_NAME characters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_type(
    ncid: c_int,
    xtype: nc_type,
    name: *mut c_char,
    sizep: *mut PIO_Offset,
) -> c_int {
    on_file(ncid, |_| {
        let kind = Kind::from_number(xtype)?;
        // SAFETY: arguments of the caller.
        unsafe {
            store_name(name, NAME_ROOM, type_name(kind));
            ptr::store(sizep, kind.size() as PIO_Offset);
        }
        Ok(())
    })
}

fn type_name(kind: Kind) -> &'static CStr {
    match kind {
        Kind::Byte => c"byte",
        Kind::Char => c"char",
        Kind::Short => c"short",
        Kind::Int => c"int",
        Kind::Float => c"float",
        Kind::Double => c"double",
        Kind::UnsignedByte => c"ubyte",
        Kind::UnsignedShort => c"ushort",
        Kind::UnsignedInt => c"uint",
        Kind::Int64 => c"int64",
        Kind::UnsignedInt64 => c"uint64",
    }
}

/// Says whether places of a variable that are not written are filled (`no_fill` 0) or not (PIO_NOFILL), and
/// with what: one element of the variable's type. It may be NULL where nothing is filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_def_var_fill(
    ncid: c_int,
    varid: c_int,
    no_fill: c_int,
    fill_value: *const c_void,
) -> c_int {
    on_file(ncid, |open| {
        let fill = match fills(no_fill) {
            Ok(true) if fill_value.is_null() => Err(Error::Null("fill_value")),
            fill => fill,
        };
        let given = fill.map(|fill| (varid, fill, fill_value.is_null()));
        open.change(given, |format, (varid, fill, _)| {
            let size = format.var(varid)?.kind.size();
            // SAFETY: arguments of the caller: one element of the variable's type.
            let value = (!fill_value.is_null())
                .then(|| unsafe { std::slice::from_raw_parts(fill_value.cast::<u8>(), size) });
            format.def_var_fill(varid, fill, value)
        })
    })
}

fn fills(no_fill: c_int) -> Result<bool> {
    match no_fill {
        0 => Ok(true),
        // netCDF's own calls take 1, upstream NC_NOFILL.
        1 | 256 => Ok(false),
        other => Err(Error::Invalid(format!("{other} is not a fill mode"))),
    }
}

/// Whether places of a variable that are not written are left alone (`no_fill` 1) or filled (0), and with what.
/// Both may be NULL; `fill_valuep` has room for one element of the variable's type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_var_fill(
    ncid: c_int,
    varid: c_int,
    no_fill: *mut c_int,
    fill_valuep: *mut c_void,
) -> c_int {
    on_file(ncid, |open| {
        let (filled, value) = open.ask(Ok(varid), |format, varid| format.inq_var_fill(varid))?;
        // SAFETY: arguments of the caller.
        unsafe {
            ptr::store(no_fill, (!filled).into());
            store_all(fill_valuep.cast::<u8>(), &value);
        }
        Ok(())
    })
}
