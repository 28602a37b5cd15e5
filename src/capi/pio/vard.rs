//! # Vard
//!
//! Distributed arrays in one call with their record.

use crate::capi::pio::darrays::{read, write};
use crate::capi::pio::registry::{self as registry, OpenFile, on_file};
use crate::capi::pio::types::PIO_Offset;
use crate::pio::{Error, Kind, Result};
use std::ffi::{
    c_char, c_double, c_float, c_int, c_longlong, c_schar, c_short, c_uchar, c_uint, c_ulonglong,
    c_ushort, c_void,
};
use std::ptr::null;

/// Writes record `recnum` of a variable as PIOc_setframe and PIOc_write_darray do. The array is as long as the map.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_put_vard(
    ncid: c_int,
    varid: c_int,
    decompid: c_int,
    recnum: PIO_Offset,
    buf: *const c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { put_vard(ncid, varid, decompid, recnum, None, buf) }
}

/// Reads record `recnum` of a variable as PIOc_setframe and PIOc_read_darray do. The array is as long as the map.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_get_vard(
    ncid: c_int,
    varid: c_int,
    decompid: c_int,
    recnum: PIO_Offset,
    buf: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { get_vard(ncid, varid, decompid, recnum, None, buf) }
}

unsafe fn put_vard(
    ncid: c_int,
    varid: c_int,
    ioid: c_int,
    record: PIO_Offset,
    kind: Option<Kind>,
    array: *const c_void,
) -> c_int {
    on_file(ncid, |open| {
        begin(open, varid, record, kind)?;
        // SAFETY: promised by the caller.
        unsafe { write(open, varid, ioid, map_len(ioid), array, null()) }
    })
}

unsafe fn get_vard(
    ncid: c_int,
    varid: c_int,
    ioid: c_int,
    record: PIO_Offset,
    kind: Option<Kind>,
    array: *mut c_void,
) -> c_int {
    on_file(ncid, |open| {
        begin(open, varid, record, kind)?;
        // SAFETY: promised by the caller.
        unsafe { read(open, varid, ioid, map_len(ioid), array) }
    })
}

/// Sets the record and compares the kind with the variable's, which as upstream must be the same. Collective.
fn begin(open: &mut OpenFile, varid: c_int, record: PIO_Offset, kind: Option<Kind>) -> Result<()> {
    let record = i32::try_from(record);
    let record = record.map_err(|_| Error::Invalid("there is no such record".into()));
    let record = open.check_var(varid).and(record);
    let given = record.map(|frame| (varid, frame, kind));
    let frame = open.ask(given, |format, (varid, frame, kind)| {
        let stored = format.var(varid)?.kind;
        match kind {
            Some(kind) if kind != stored => Err(Error::Kind(kind as i32)),
            _ => Ok(frame),
        }
    })?;
    open.file.set_frame(varid, frame);
    Ok(())
}

/// 0 for a decomposition that does not exist, which is found out later.
fn map_len(ioid: c_int) -> PIO_Offset {
    let found = registry::decomp(ioid);
    found.map_or(0, |held| held.decomp.map_len() as PIO_Offset)
}

/// For each type the functions whose names end with it.
macro_rules! typed {
    ($($put:ident $get:ident $type:ty, $kind:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $put(
            ncid: c_int,
            varid: c_int,
            decompid: c_int,
            recnum: PIO_Offset,
            op: *const $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { put_vard(ncid, varid, decompid, recnum, Some($kind), op.cast()) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            ncid: c_int,
            varid: c_int,
            decompid: c_int,
            recnum: PIO_Offset,
            buf: *mut $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { get_vard(ncid, varid, decompid, recnum, Some($kind), buf.cast()) }
        }
    )*};
}

typed! {
    PIOc_put_vard_text PIOc_get_vard_text c_char, Kind::Char;
    PIOc_put_vard_schar PIOc_get_vard_schar c_schar, Kind::Byte;
    PIOc_put_vard_uchar PIOc_get_vard_uchar c_uchar, Kind::UnsignedByte;
    PIOc_put_vard_short PIOc_get_vard_short c_short, Kind::Short;
    PIOc_put_vard_ushort PIOc_get_vard_ushort c_ushort, Kind::UnsignedShort;
    PIOc_put_vard_int PIOc_get_vard_int c_int, Kind::Int;
    PIOc_put_vard_uint PIOc_get_vard_uint c_uint, Kind::UnsignedInt;
    PIOc_put_vard_longlong PIOc_get_vard_longlong c_longlong, Kind::Int64;
    PIOc_put_vard_ulonglong PIOc_get_vard_ulonglong c_ulonglong, Kind::UnsignedInt64;
    PIOc_put_vard_float PIOc_get_vard_float c_float, Kind::Float;
    PIOc_put_vard_double PIOc_get_vard_double c_double, Kind::Double;
}
