//! # Attributes
//!
//! PIO_GLOBAL as `varid` stands for the file itself.

use super::args::{NAME_ROOM, array, name};
use super::registry::{OpenFile, on_file, on_system_of, system_of, with_file};
use super::types::{LONG, PIO_Offset, nc_type};
use crate::capi::boundary::{Array, Out, OutArray, Text};
use crate::pio::{Error, Kind, Result};
use std::ffi::{
    CStr, c_char, c_double, c_float, c_int, c_long, c_longlong, c_schar, c_short, c_uchar, c_uint,
    c_ulonglong, c_ushort, c_void,
};

/// Gets type and length of an attribute.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_att(
    ncid: c_int,
    varid: c_int,
    name: Text,
    xtypep: Out<nc_type>,
    lenp: Out<PIO_Offset>,
) -> c_int {
    on_file(ncid, |open| {
        let given = self::name("name", name).map(|name| (varid, name));
        let attribute = open.ask(given, |format, (varid, name)| format.attribute(varid, name))?;
        xtypep.set(attribute.kind as nc_type);
        lenp.set(attribute.length as PIO_Offset);
        Ok(())
    })
}

/// Gets the number of elements of an attribute.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_attlen(
    ncid: c_int,
    varid: c_int,
    name: Text,
    lenp: Out<PIO_Offset>,
) -> c_int {
    PIOc_inq_att(ncid, varid, name, Out::NULL, lenp)
}

/// Gets the type of an attribute.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_atttype(
    ncid: c_int,
    varid: c_int,
    name: Text,
    xtypep: Out<nc_type>,
) -> c_int {
    PIOc_inq_att(ncid, varid, name, xtypep, Out::NULL)
}

/// Gets the number of the attribute of that name.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_attid(ncid: c_int, varid: c_int, name: Text, idp: Out<c_int>) -> c_int {
    on_file(ncid, |open| {
        let given = self::name("name", name).map(|name| (varid, name));
        idp.set(open.ask(given, |format, (varid, name)| {
            format.attribute_named(varid, name)
        })?);
        Ok(())
    })
}

/// Gets the name of the attribute of that number. `name` has room for PIO_MAX_NAME characters and a NUL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_attname(
    ncid: c_int,
    varid: c_int,
    attnum: c_int,
    name: OutArray<c_char>,
) -> c_int {
    on_file(ncid, |open| {
        let known = open.ask(Ok((varid, attnum)), |format, (varid, attnum)| {
            format.attribute_at(varid, attnum)
        })?;
        // SAFETY: the header says that there is so much room.
        unsafe { name.put(NAME_ROOM, &known) };
        Ok(())
    })
}

/// Renames an attribute.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_rename_att(ncid: c_int, varid: c_int, name: Text, newname: Text) -> c_int {
    on_file(ncid, |open| {
        let new = self::name("newname", newname);
        let given = self::name("name", name).and_then(|name| Ok((varid, name, new?)));
        open.change(given, |format, (varid, name, new)| {
            format.rename_attribute(varid, name, new)
        })
    })
}

/// Removes an attribute.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_del_att(ncid: c_int, varid: c_int, name: Text) -> c_int {
    on_file(ncid, |open| {
        let given = self::name("name", name).map(|name| (varid, name));
        open.change(given, |format, (varid, name)| {
            format.delete_attribute(varid, name)
        })
    })
}

/// Copies an attribute of a variable to another one, which may be in another file of the same I/O system.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_copy_att(
    incid: c_int,
    ivarid: c_int,
    name: Text,
    oncid: c_int,
    ovarid: c_int,
) -> c_int {
    on_system_of(incid, |system| {
        let name = self::name("name", name);
        let name = name.and_then(|name| match system_of(oncid)?.id == system.id {
            true => Ok(name),
            false => Err(Error::Invalid(format!(
                "files {incid} and {oncid} belong to different I/O systems"
            ))),
        });
        let (kind, values) = with_file(incid, |open| get(open, ivarid, name.clone(), None))?;
        with_file(oncid, |open| {
            let given = name.map(|name| (name, kind, kind, &values[..]));
            put(open, ovarid, given)
        })
    })
}

// ---- writing ----

/// Sets an attribute of `len` elements of type `xtype`.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_put_att(
    ncid: c_int,
    varid: c_int,
    name: Text,
    xtype: nc_type,
    len: PIO_Offset,
    op: Array<c_void>,
) -> c_int {
    put_att(ncid, varid, name, xtype, None, len, op.cast())
}

/// Sets an attribute to a text of `len` characters.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_put_att_text(
    ncid: c_int,
    varid: c_int,
    name: Text,
    len: PIO_Offset,
    op: Array<c_char>,
) -> c_int {
    let text = Kind::Char as nc_type;
    put_att(ncid, varid, name, text, None, len, op.cast())
}

/// The values are of kind `memory`, or of the kind that is stored.
fn put_att(
    ncid: c_int,
    varid: c_int,
    name: Text,
    stored: nc_type,
    memory: Option<Kind>,
    length: PIO_Offset,
    values: Array<u8>,
) -> c_int {
    on_file(ncid, |open| {
        let given = self::name("name", name).and_then(|name| {
            let stored = Kind::from_number(stored)?;
            let memory = memory.unwrap_or(stored);
            let bytes = length.saturating_mul(memory.size() as i64);
            // SAFETY: the header says that there are `length` elements of that kind.
            let values = unsafe { array("op", values, bytes) }?;
            Ok((name, stored, memory, values))
        });
        put(open, varid, given)
    })
}

/// All ranks name the same attribute; the values are those of the first I/O task.
pub(in crate::capi) fn put(
    open: &mut OpenFile,
    varid: c_int,
    given: Result<(&CStr, Kind, Kind, &[u8])>,
) -> Result<()> {
    // It may be a fill value, which can be changed without `redef`.
    open.file.forget();
    let (given, values) = match given {
        Ok((name, stored, memory, values)) => {
            (Ok((varid, name, stored, memory, values.len())), values)
        }
        Err(error) => (Err(error), &[][..]),
    };
    open.change(given, |format, (varid, name, stored, memory, _)| {
        format.put_attribute(varid, name, stored, memory, values)
    })
}

// ---- reading ----

/// Reads an attribute as it is stored. `ip` has room for all of it.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_att(
    ncid: c_int,
    varid: c_int,
    name: Text,
    ip: OutArray<c_void>,
) -> c_int {
    get_att(ncid, varid, name, None, ip.cast())
}

/// Reads a text. `ip` has room for all of it; no NUL is added.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_att_text(
    ncid: c_int,
    varid: c_int,
    name: Text,
    ip: OutArray<c_char>,
) -> c_int {
    get_att(ncid, varid, name, Some(Kind::Char), ip.cast())
}

/// The values are converted to kind `memory`, or stay as they are stored.
fn get_att(
    ncid: c_int,
    varid: c_int,
    name: Text,
    memory: Option<Kind>,
    place: OutArray<u8>,
) -> c_int {
    on_file(ncid, |open| {
        let given = self::name("name", name).and_then(|name| match place.is_null() {
            true => Err(Error::Null("ip")),
            false => Ok(name),
        });
        let (_, values) = get(open, varid, given, memory)?;
        // SAFETY: the header says that there is room for the whole attribute.
        unsafe { place.fill(&values) };
        Ok(())
    })
}

/// The kind that is stored, and the values.
fn get(
    open: &mut OpenFile,
    varid: c_int,
    name: Result<&CStr>,
    memory: Option<Kind>,
) -> Result<(Kind, Vec<u8>)> {
    let given = name.map(|name| (varid, name, memory));
    open.ask(given, |format, (varid, name, memory)| {
        let stored = format.attribute(varid, name)?.kind;
        let values = format.get_attribute(varid, name, memory.unwrap_or(stored))?;
        Ok((stored, values))
    })
}

/// For each type the functions whose names end with it: set an attribute, which is stored as `xtype`, and read one.
macro_rules! typed {
    ($($put:ident $get:ident $type:ty, $kind:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $put(
            ncid: c_int,
            varid: c_int,
            name: Text,
            xtype: nc_type,
            len: PIO_Offset,
            op: Array<$type>,
        ) -> c_int {
            put_att(ncid, varid, name, xtype, Some($kind), len, op.cast())
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $get(
            ncid: c_int,
            varid: c_int,
            name: Text,
            ip: OutArray<$type>,
        ) -> c_int {
            get_att(ncid, varid, name, Some($kind), ip.cast())
        }
    )*};
}

typed! {
    PIOc_put_att_schar PIOc_get_att_schar c_schar, Kind::Byte;
    PIOc_put_att_uchar PIOc_get_att_uchar c_uchar, Kind::UnsignedByte;
    PIOc_put_att_short PIOc_get_att_short c_short, Kind::Short;
    PIOc_put_att_ushort PIOc_get_att_ushort c_ushort, Kind::UnsignedShort;
    PIOc_put_att_int PIOc_get_att_int c_int, Kind::Int;
    PIOc_put_att_uint PIOc_get_att_uint c_uint, Kind::UnsignedInt;
    PIOc_put_att_long PIOc_get_att_long c_long, LONG;
    PIOc_put_att_longlong PIOc_get_att_longlong c_longlong, Kind::Int64;
    PIOc_put_att_ulonglong PIOc_get_att_ulonglong c_ulonglong, Kind::UnsignedInt64;
    PIOc_put_att_float PIOc_get_att_float c_float, Kind::Float;
    PIOc_put_att_double PIOc_get_att_double c_double, Kind::Double;
}
