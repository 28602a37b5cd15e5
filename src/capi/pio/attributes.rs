//! # Attributes
//!
//! PIO_GLOBAL as `varid` stands for the file itself.

use crate::capi::pio::args::{NAME_ROOM, array, name, store_all, store_name};
use crate::capi::pio::registry::{OpenFile, on_file, on_system_of, system_of, with_file};
use crate::capi::pio::types::{LONG, PIO_Offset, nc_type};
use crate::capi::ptr;
use crate::pio::{Error, Kind, Result};
use std::ffi::{
    CStr, c_char, c_double, c_float, c_int, c_long, c_longlong, c_schar, c_short, c_uchar, c_uint,
    c_ulonglong, c_ushort, c_void,
};
use std::ptr::null_mut;

/// Type and length of an attribute. Both may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_att(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    xtypep: *mut nc_type,
    lenp: *mut PIO_Offset,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        let attribute = open.ask(given.map(|name| (varid, name)), |format, (varid, name)| {
            format.attribute(varid, name)
        })?;
        // SAFETY: as above.
        unsafe {
            ptr::store(xtypep, attribute.kind as nc_type);
            ptr::store(lenp, attribute.length as PIO_Offset);
        }
        Ok(())
    })
}

/// The number of elements of an attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_attlen(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    lenp: *mut PIO_Offset,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { PIOc_inq_att(ncid, varid, name, null_mut(), lenp) }
}

/// The type of an attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_atttype(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    xtypep: *mut nc_type,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { PIOc_inq_att(ncid, varid, name, xtypep, null_mut()) }
}

/// The number of the attribute of that name. `idp` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_attid(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    idp: *mut c_int,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        let id = open.ask(given.map(|name| (varid, name)), |format, (varid, name)| {
            format.attribute_named(varid, name)
        })?;
        // SAFETY: as above.
        unsafe { ptr::store(idp, id) };
        Ok(())
    })
}

/// The name of the attribute of that number, of up to PIO_MAX_NAME characters. `name` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_inq_attname(
    ncid: c_int,
    varid: c_int,
    attnum: c_int,
    name: *mut c_char,
) -> c_int {
    on_file(ncid, |open| {
        let known = open.ask(Ok((varid, attnum)), |format, (varid, attnum)| {
            format.attribute_at(varid, attnum)
        })?;
        // SAFETY: arguments of the caller.
        unsafe { store_name(name, NAME_ROOM, &known) };
        Ok(())
    })
}

/// Gives an attribute another name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_rename_att(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    newname: *const c_char,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let new = unsafe { self::name("newname", newname) };
        // SAFETY: as above.
        let given = unsafe { self::name("name", name) };
        let given = given.and_then(|name| Ok((varid, name, new?)));
        open.change(given, |format, (varid, name, new)| {
            format.rename_attribute(varid, name, new)
        })
    })
}

/// Removes an attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_del_att(ncid: c_int, varid: c_int, name: *const c_char) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        open.change(given.map(|name| (varid, name)), |format, (varid, name)| {
            format.delete_attribute(varid, name)
        })
    })
}

/// Copies an attribute of a variable to another one, perhaps in another file of the same I/O system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_copy_att(
    incid: c_int,
    ivarid: c_int,
    name: *const c_char,
    oncid: c_int,
    ovarid: c_int,
) -> c_int {
    on_system_of(incid, |system| {
        // SAFETY: arguments of the caller.
        let name = unsafe { self::name("name", name) };
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
pub unsafe extern "C" fn PIOc_put_att(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    xtype: nc_type,
    len: PIO_Offset,
    op: *const c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { put_att(ncid, varid, name, xtype, None, len, op) }
}

/// Sets an attribute to a text of `len` characters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_put_att_text(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    len: PIO_Offset,
    op: *const c_char,
) -> c_int {
    let text = Kind::Char as nc_type;
    // SAFETY: arguments of the caller.
    unsafe { put_att(ncid, varid, name, text, None, len, op.cast()) }
}

/// The values are of kind `memory`, or of the one that is stored.
unsafe fn put_att(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    stored: nc_type,
    memory: Option<Kind>,
    length: PIO_Offset,
    values: *const c_void,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        let given = given.and_then(|name| {
            let stored = Kind::from_number(stored)?;
            let memory = memory.unwrap_or(stored);
            let bytes = length.saturating_mul(memory.size() as i64);
            // SAFETY: as above.
            let values = unsafe { array("op", values.cast::<u8>(), bytes) }?;
            Ok((name, stored, memory, values))
        });
        put(open, varid, given)
    })
}

/// All ranks name the same attribute; the values are those of the first I/O task.
fn put(open: &mut OpenFile, varid: c_int, given: Result<(&CStr, Kind, Kind, &[u8])>) -> Result<()> {
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
pub unsafe extern "C" fn PIOc_get_att(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    ip: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { get_att(ncid, varid, name, None, ip) }
}

/// Reads a text. `ip` has room for all of it; no NUL is added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_get_att_text(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    ip: *mut c_char,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { get_att(ncid, varid, name, Some(Kind::Char), ip.cast()) }
}

/// The values become of kind `memory`, or stay of the one that is stored.
unsafe fn get_att(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    memory: Option<Kind>,
    place: *mut c_void,
) -> c_int {
    on_file(ncid, |open| {
        // SAFETY: arguments of the caller.
        let given = unsafe { self::name("name", name) };
        let given = given.and_then(|name| {
            // SAFETY: as above; one byte stands for all.
            unsafe { array("ip", place.cast::<u8>(), 1) }?;
            Ok(name)
        });
        let (_, values) = get(open, varid, given, memory)?;
        // SAFETY: as above.
        unsafe { store_all(place.cast::<u8>(), &values) };
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
        pub unsafe extern "C" fn $put(
            ncid: c_int,
            varid: c_int,
            name: *const c_char,
            xtype: nc_type,
            len: PIO_Offset,
            op: *const $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { put_att(ncid, varid, name, xtype, Some($kind), len, op.cast()) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            ncid: c_int,
            varid: c_int,
            name: *const c_char,
            ip: *mut $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { get_att(ncid, varid, name, Some($kind), ip.cast()) }
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
