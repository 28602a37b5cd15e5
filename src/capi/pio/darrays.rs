//! # Darrays
//!
//! Arrays that are distributed over the ranks by a decomposition.

use super::args::array;
use super::errors::PIO_NOERR;
use super::registry::{self, OpenFile, digest, on_file};
use super::types::{PIO_Offset, c_bool};
use crate::capi::boundary::{Array, OutArray};
use crate::capi::guard;
use crate::pio::{Decomp, Error, Kind, Result, agree_same, darray};
use std::borrow::Cow;
use std::ffi::{
    c_char, c_double, c_float, c_int, c_longlong, c_schar, c_short, c_uchar, c_uint, c_ulonglong,
    c_ushort, c_void,
};
use std::sync::Arc;

/// Sets the record that the next writes and reads of a variable go to, counted from 0. Not collective.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_setframe(ncid: c_int, varid: c_int, frame: c_int) -> c_int {
    on_file(ncid, |open| {
        open.check_var(varid)?;
        open.file.set_frame(varid, frame);
        Ok(())
    })
}

/// Goes on to the next record of a variable. Not collective.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_advanceframe(ncid: c_int, varid: c_int) -> c_int {
    on_file(ncid, |open| {
        open.check_var(varid)?;
        open.file.advance_frame(varid);
        Ok(())
    })
}

/// Writes a distributed array: this rank's part has `arraylen` elements of the decomposition's type, in the order of its
/// map. The part is copied; it is in the file after PIOc_sync or PIOc_closefile. Places that are in no rank's map get
/// `fillvalue`, or the variable's fill value if that is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_write_darray(
    ncid: c_int,
    varid: c_int,
    ioid: c_int,
    arraylen: PIO_Offset,
    array: Array<c_void>,
    fillvalue: Array<c_void>,
) -> c_int {
    on_file(ncid, |open| {
        write(open, varid, ioid, arraylen, array.cast(), fillvalue.cast())
    })
}

fn write(
    open: &mut OpenFile,
    varid: c_int,
    ioid: c_int,
    length: PIO_Offset,
    array: Array<u8>,
    fill: Array<u8>,
) -> Result<()> {
    let decomp = agree_on(open, &[varid], ioid)?;
    let size = decomp.kind.size();
    // SAFETY: the header says that the array has so many elements, and the fill value one.
    let (array, fill) = unsafe { (array.slice(bytes(length, size)), fill.slice(size)) };
    let array = array.unwrap_or_default();
    darray::write(&mut open.file, varid, &decomp, array, fill)
}

/// All ranks name the same variables and decomposition, which exist.
fn agree_on(open: &OpenFile, vars: &[c_int], ioid: c_int) -> Result<Arc<Decomp>> {
    let known = vars.iter().try_for_each(|var| open.check_var(*var));
    let known = known.and_then(|()| registry::decomp_of(&open.system, ioid));
    // The ids of a decomposition may differ: some ranks may have made others in I/O systems of their own.
    let known = known.map(|decomp| {
        let digest = digest((vars, decomp.number));
        (decomp, digest)
    });
    agree_same(&open.system.io.comm, "arrays", known)
}

/// The bytes of so many elements. A negative number makes an empty array, one beyond all memory none: both are too short
/// unless the map is empty.
fn bytes(length: PIO_Offset, size: usize) -> usize {
    let length = usize::try_from(length).unwrap_or(0);
    length.saturating_mul(size)
}

/// As PIOc_write_darray for `nvars` variables, whose parts follow each other in `array`, `arraylen` elements each. `frame`,
/// unless NULL, has the record of each. `fillvalue`, unless NULL, points to an array with one value for each, as upstream
/// takes it.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_write_darray_multi(
    ncid: c_int,
    varids: Array<c_int>,
    ioid: c_int,
    nvars: c_int,
    arraylen: PIO_Offset,
    array: Array<c_void>,
    frame: Array<c_int>,
    fillvalue: OutArray<*mut c_void>,
    flushtodisk: c_bool,
) -> c_int {
    let fills = fillvalue.as_array().cast();
    let array = array.cast();
    Darrays {
        varids,
        nvars,
        arraylen,
        array,
        frame,
        fills,
    }
    .write(ncid, ioid, flushtodisk != 0)
}

/// As PIOc_write_darray for `nvars` variables, whose parts follow each other in `array`, `arraylen` elements each. `frame`,
/// unless NULL, has the record of each. `fillvalue`, unless NULL, points to an array with one value for each, as upstream
/// takes it.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_write_darray_multi(
    ncid: c_int,
    varids: Array<c_int>,
    ioid: c_int,
    nvars: c_int,
    arraylen: PIO_Offset,
    array: Array<c_void>,
    frame: Array<c_int>,
    fillvalue: OutArray<*const c_void>,
    flushtodisk: c_bool,
) -> c_int {
    let fills = fillvalue.as_array().cast();
    let array = array.cast();
    Darrays {
        varids,
        nvars,
        arraylen,
        array,
        frame,
        fills,
    }
    .write(ncid, ioid, flushtodisk != 0)
}

/// The arguments of PIOc_write_darray_multi.
struct Darrays<'a> {
    varids: Array<'a, c_int>,
    nvars: c_int,
    arraylen: PIO_Offset,
    array: Array<'a, u8>,
    frame: Array<'a, c_int>,
    fills: Array<'a, u8>,
}

impl<'a> Darrays<'a> {
    fn write(&self, ncid: c_int, ioid: c_int, flush: bool) -> c_int {
        on_file(ncid, |open| {
            let vars = self.vars();
            let decomp = match &vars {
                Ok(vars) => agree_on(open, vars, ioid),
                Err(error) => agree_same(&open.system.io.comm, "arrays", Err(error.clone())),
            }?;
            let vars = vars?;
            let (parts, fills) = (self.parts(&decomp), self.fills(&decomp));
            // SAFETY: the header says that there is a record for each variable.
            let frames = unsafe { self.frame.slice(vars.len()) };
            let file = &mut open.file;
            darray::write_multi(file, vars, &decomp, &parts, frames, fills.as_deref(), flush)
        })
    }

    fn vars(&self) -> Result<&'a [c_int]> {
        match self.nvars {
            // SAFETY: the header says that there are `nvars` ids.
            1.. => unsafe { array("varids", self.varids, self.nvars) },
            other => Err(Error::Invalid(format!("{other} variables"))),
        }
    }

    /// The parts without what is more than the map has; nothing if there is too little or no memory.
    fn parts(&self, decomp: &Decomp) -> Cow<'a, [u8]> {
        let size = decomp.kind.size();
        let length = self.arraylen.saturating_mul(self.nvars.into());
        // SAFETY: the header says that there are `arraylen` elements for each variable.
        let all = unsafe { self.array.slice(bytes(length, size)) }.unwrap_or_default();
        let given = all.len() / self.nvars as usize;
        let needed = decomp.map_len() * size;
        let mut kept = Vec::new();
        if given == needed {
            return all.into();
        }
        let room = kept.try_reserve_exact(needed * self.nvars as usize);
        if given > needed && room.is_ok() {
            let parts = all.chunks_exact(given);
            kept.extend(parts.flat_map(|part| &part[..needed]));
        }
        kept.into()
    }

    /// Not read unless a place needs one: NCAR's Fortran module passes no valid address otherwise.
    fn fills(&self, decomp: &Decomp) -> Option<Vec<Option<&'a [u8]>>> {
        if !decomp.plan.has_holes() {
            return None;
        }
        let size = decomp.kind.size();
        // SAFETY: the header says that there is one value for each variable.
        let all = unsafe { self.fills.slice(size * self.nvars as usize) }?;
        Some(all.chunks_exact(size).map(Some).collect())
    }
}

/// Reads this rank's part of a distributed array: `arraylen` elements of the decomposition's type, at least as many as its
/// map has. Holes keep what they had.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_read_darray(
    ncid: c_int,
    varid: c_int,
    ioid: c_int,
    arraylen: PIO_Offset,
    array: OutArray<c_void>,
) -> c_int {
    on_file(ncid, |open| read(open, varid, ioid, arraylen, array.cast()))
}

fn read(
    open: &mut OpenFile,
    varid: c_int,
    ioid: c_int,
    length: PIO_Offset,
    array: OutArray<u8>,
) -> Result<()> {
    let decomp = agree_on(open, &[varid], ioid)?;
    // SAFETY: the header says that the array has so many elements.
    let array = unsafe { array.slice(bytes(length, decomp.kind.size())) };
    darray::read(&mut open.file, varid, &decomp, array.unwrap_or_default())
}

/// Sets how many bytes of PIOc_write_darray a rank may buffer before it writes them. The limit must be the same on all
/// ranks. A negative one is ignored, and 0 too in the ABI of NCAR.
///
/// # Returns
/// The previous limit.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_buffer_size_limit(limit: PIO_Offset) -> PIO_Offset {
    guard(PIO_NOERR.into(), || {
        let least = u64::from(cfg!(feature = "pio_ncar"));
        let old = match u64::try_from(limit) {
            Ok(limit) if limit >= least => darray::set_buffer_limit(limit),
            _ => darray::buffer_limit(),
        };
        PIO_Offset::try_from(old).unwrap_or(PIO_Offset::MAX)
    })
}

// ---- with their record ----

/// Writes record `recnum` of a variable as PIOc_setframe and PIOc_write_darray do. The array is as long as the map.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_put_vard(
    ncid: c_int,
    varid: c_int,
    decompid: c_int,
    recnum: PIO_Offset,
    buf: Array<c_void>,
) -> c_int {
    put_vard(ncid, varid, decompid, recnum, None, buf.cast())
}

/// Reads record `recnum` of a variable as PIOc_setframe and PIOc_read_darray do. The array is as long as the map.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_vard(
    ncid: c_int,
    varid: c_int,
    decompid: c_int,
    recnum: PIO_Offset,
    buf: OutArray<c_void>,
) -> c_int {
    get_vard(ncid, varid, decompid, recnum, None, buf.cast())
}

fn put_vard(
    ncid: c_int,
    varid: c_int,
    ioid: c_int,
    record: PIO_Offset,
    kind: Option<Kind>,
    array: Array<u8>,
) -> c_int {
    on_file(ncid, |open| {
        begin(open, varid, record, kind)?;
        write(open, varid, ioid, map_len(ioid), array, Array::NULL)
    })
}

fn get_vard(
    ncid: c_int,
    varid: c_int,
    ioid: c_int,
    record: PIO_Offset,
    kind: Option<Kind>,
    array: OutArray<u8>,
) -> c_int {
    on_file(ncid, |open| {
        begin(open, varid, record, kind)?;
        read(open, varid, ioid, map_len(ioid), array)
    })
}

/// Sets the record, and refuses a kind that is not the variable's, as upstream does. Collective.
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

/// 0 for a decomposition that does not exist: `write` and `read` find that out together with the other ranks.
fn map_len(ioid: c_int) -> PIO_Offset {
    let found = registry::decomp(ioid);
    found.map_or(0, |held| held.decomp.map_len() as PIO_Offset)
}

/// For each type the functions whose names end with it.
macro_rules! typed {
    ($($put:ident $get:ident $type:ty, $kind:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $put(
            ncid: c_int,
            varid: c_int,
            decompid: c_int,
            recnum: PIO_Offset,
            op: Array<$type>,
        ) -> c_int {
            put_vard(ncid, varid, decompid, recnum, Some($kind), op.cast())
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $get(
            ncid: c_int,
            varid: c_int,
            decompid: c_int,
            recnum: PIO_Offset,
            buf: OutArray<$type>,
        ) -> c_int {
            get_vard(ncid, varid, decompid, recnum, Some($kind), buf.cast())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_is_none_has_no_bytes() {
        assert_eq!(bytes(2, 4), 8);
        assert_eq!(bytes(-1, 4), 0);
        // SAFETY: refused, since no memory is so long.
        assert!(unsafe { Array::from(&[0_u8][..]).slice(bytes(i64::MAX, 8)) }.is_none());
    }
}
