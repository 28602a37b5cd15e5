//! # Variables
//!
//! What variables are made of, and what they are filled with.

use super::args::{NAME_ROOM, array, int, name};
use super::registry::on_file;
use super::types::{PIO_Offset, nc_type};
use crate::capi::boundary::{Array, Out, OutArray, Text};
use crate::pio::{Error, Kind, Result};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Defines a variable of `ndims` dimensions, the slowest first. `varidp` gets its id.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var(
    ncid: c_int,
    name: Text,
    xtype: nc_type,
    ndims: c_int,
    dimidsp: Array<c_int>,
    varidp: Out<c_int>,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: the header says that there are `ndims` ids.
        let dims = unsafe { array("dimidsp", dimidsp, ndims) };
        let given = self::name("name", name);
        let given = given.and_then(|name| Ok((name, Kind::from_number(xtype)?, dims?)));
        let var = open.change(given, |format, (name, kind, dims)| {
            format.def_var(name, kind, dims)
        })?;
        open.vars = open.vars.max(var + 1);
        varidp.set(var);
        Ok(())
    })
}

/// Gets the id of the variable of that name.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_varid(ncid: c_int, name: Text, varidp: Out<c_int>) -> c_int {
    on_file(ncid, |open| {
        let given = self::name("name", name);
        varidp.set(open.ask(given, |format, name| format.var_named(name))?);
        Ok(())
    })
}

/// Gets what a variable is made of. `name` has room for PIO_MAX_NAME characters and a NUL.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var(
    ncid: c_int,
    varid: c_int,
    name: OutArray<c_char>,
    xtypep: Out<nc_type>,
    ndimsp: Out<c_int>,
    dimidsp: OutArray<c_int>,
    nattsp: Out<c_int>,
) -> c_int {
    let name = (name, NAME_ROOM);
    Inquiry {
        name,
        xtypep,
        ndimsp,
        dimidsp,
        nattsp,
    }
    .answer(ncid, varid)
}

/// Gets what a variable is made of. The name is cut to `namelen` bytes with its NUL.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var(
    ncid: c_int,
    varid: c_int,
    name: OutArray<c_char>,
    namelen: c_int,
    xtypep: Out<nc_type>,
    ndimsp: Out<c_int>,
    dimidsp: OutArray<c_int>,
    nattsp: Out<c_int>,
) -> c_int {
    let name = (name, usize::try_from(namelen).unwrap_or(0));
    Inquiry {
        name,
        xtypep,
        ndimsp,
        dimidsp,
        nattsp,
    }
    .answer(ncid, varid)
}

/// Where the answers about a variable go; each may be NULL.
struct Inquiry<'a> {
    /// With the room that it has.
    name: (OutArray<'a, c_char>, usize),
    xtypep: Out<'a, nc_type>,
    ndimsp: Out<'a, c_int>,
    dimidsp: OutArray<'a, c_int>,
    nattsp: Out<'a, c_int>,
}

impl Inquiry<'_> {
    const NOTHING: Self = Self {
        name: (OutArray::NULL, 0),
        xtypep: Out::NULL,
        ndimsp: Out::NULL,
        dimidsp: OutArray::NULL,
        nattsp: Out::NULL,
    };

    fn answer(self, ncid: c_int, varid: c_int) -> c_int {
        on_file(ncid, |open| {
            let variable = open.ask(Ok(varid), |format, varid| format.var(varid))?;
            self.xtypep.set(variable.kind as nc_type);
            self.ndimsp.set(int(variable.dims.len()));
            self.nattsp.set(variable.attributes);
            // SAFETY: the caller has room for the name as told, and for the dimensions.
            unsafe {
                self.name.0.put(self.name.1, &variable.name);
                self.dimidsp.fill(&variable.dims);
            }
            Ok(())
        })
    }
}

/// Gets the name of a variable. `name` has room for PIO_MAX_NAME characters and a NUL.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_varname(ncid: c_int, varid: c_int, name: OutArray<c_char>) -> c_int {
    let name = (name, NAME_ROOM);
    Inquiry {
        name,
        ..Inquiry::NOTHING
    }
    .answer(ncid, varid)
}

/// Gets the name of a variable, cut to `namelen` bytes with its NUL.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_varname(
    ncid: c_int,
    varid: c_int,
    name: OutArray<c_char>,
    namelen: c_int,
) -> c_int {
    let name = (name, usize::try_from(namelen).unwrap_or(0));
    Inquiry {
        name,
        ..Inquiry::NOTHING
    }
    .answer(ncid, varid)
}

/// Gets the type of a variable.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_vartype(ncid: c_int, varid: c_int, xtypep: Out<nc_type>) -> c_int {
    Inquiry {
        xtypep,
        ..Inquiry::NOTHING
    }
    .answer(ncid, varid)
}

/// Gets the number of a variable's dimensions.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_varndims(ncid: c_int, varid: c_int, ndimsp: Out<c_int>) -> c_int {
    Inquiry {
        ndimsp,
        ..Inquiry::NOTHING
    }
    .answer(ncid, varid)
}

/// Gets the ids of a variable's dimensions, the slowest first.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_vardimid(ncid: c_int, varid: c_int, dimidsp: OutArray<c_int>) -> c_int {
    Inquiry {
        dimidsp,
        ..Inquiry::NOTHING
    }
    .answer(ncid, varid)
}

/// Gets the number of a variable's attributes.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_varnatts(ncid: c_int, varid: c_int, nattsp: Out<c_int>) -> c_int {
    Inquiry {
        nattsp,
        ..Inquiry::NOTHING
    }
    .answer(ncid, varid)
}

/// Renames a variable.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_rename_var(ncid: c_int, varid: c_int, name: Text) -> c_int {
    on_file(ncid, |open| {
        let given = self::name("name", name).map(|name| (varid, name));
        open.change(given, |format, (varid, name)| {
            format.rename_var(varid, name)
        })
    })
}

// ---- types and fill values ----

/// Gets name and size of a type. `name` has room for PIO_MAX_NAME characters and a NUL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_type(
    ncid: c_int,
    xtype: nc_type,
    name: OutArray<c_char>,
    sizep: Out<PIO_Offset>,
) -> c_int {
    on_file(ncid, |_| {
        let kind = Kind::from_number(xtype)?;
        // SAFETY: the header says that there is so much room.
        unsafe { name.put(NAME_ROOM, type_name(kind)) };
        sizep.set(kind.size() as PIO_Offset);
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

/// Sets whether unwritten places of a variable are filled (`no_fill` 0) or not (PIO_NOFILL), and with what: one element
/// of the variable's type. It may be NULL where nothing is filled.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_fill(
    ncid: c_int,
    varid: c_int,
    no_fill: c_int,
    fill_value: Array<c_void>,
) -> c_int {
    on_file(ncid, |open| {
        let fill = match fills(no_fill) {
            Ok(true) if fill_value.is_null() => Err(Error::Null("fill_value")),
            fill => fill,
        };
        let given = fill.map(|fill| (varid, fill, fill_value.is_null()));
        open.change(given, |format, (varid, fill, _)| {
            let size = format.var(varid)?.kind.size();
            // SAFETY: the header says that it is one element of the variable's type.
            let value = unsafe { fill_value.cast().slice(size) };
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

/// Gets whether unwritten places of a variable are left alone (`no_fill` 1) or filled (0), and with what. `fill_valuep`
/// has room for one element of the variable's type.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_fill(
    ncid: c_int,
    varid: c_int,
    no_fill: Out<c_int>,
    fill_valuep: OutArray<c_void>,
) -> c_int {
    on_file(ncid, |open| {
        let (filled, value) = open.ask(Ok(varid), |format, varid| format.inq_var_fill(varid))?;
        no_fill.set((!filled).into());
        // SAFETY: the header says that there is room for one element.
        unsafe { fill_valuep.cast().fill(&value) };
        Ok(())
    })
}
