//! # Darrays
//!
//! Distributed arrays.

use crate::capi::guard;
use crate::capi::pio::args::array;
use crate::capi::pio::errors::PIO_NOERR;
use crate::capi::pio::registry::{self as registry, OpenFile, digest, on_file};
use crate::capi::pio::types::{PIO_Offset, c_bool};
use crate::pio::{Decomp, Error, Result, agree_same, darray};
use std::borrow::Cow;
use std::ffi::{c_int, c_void};
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

/// Writes an array that is spread over the ranks: this rank's part has `arraylen` elements of the decomposition's
/// type, in the order of its map. It is copied; it is in the file after PIOc_sync or PIOc_closefile. Places of the
/// array that are in no map get `fillvalue`, or if that is NULL the variable's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_write_darray(
    ncid: c_int,
    varid: c_int,
    ioid: c_int,
    arraylen: PIO_Offset,
    array: *const c_void,
    fillvalue: *const c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    on_file(ncid, |open| unsafe {
        write(open, varid, ioid, arraylen, array, fillvalue)
    })
}

pub(in crate::capi) unsafe fn write(
    open: &mut OpenFile,
    varid: c_int,
    ioid: c_int,
    length: PIO_Offset,
    array: *const c_void,
    fill: *const c_void,
) -> Result<()> {
    let decomp = agree_on(open, &[varid], ioid)?;
    let size = decomp.kind.size();
    // SAFETY: promised by the caller.
    let array = unsafe { elements(array, length, size) };
    let fill = (!fill.is_null())
        // SAFETY: as above: one element.
        .then(|| unsafe { std::slice::from_raw_parts(fill.cast(), size) });
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

/// A rank's part of an array. What is no array is taken for an empty one, which is too short unless the map is empty.
unsafe fn elements<'a>(array: *const c_void, length: PIO_Offset, size: usize) -> &'a [u8] {
    match bytes(array, length, size) {
        // SAFETY: promised by the caller.
        Some(bytes) => unsafe { std::slice::from_raw_parts(array.cast(), bytes) },
        None => &[],
    }
}

/// How many bytes such an array has.
fn bytes(array: *const c_void, length: PIO_Offset, size: usize) -> Option<usize> {
    let length = usize::try_from(length).ok().filter(|_| !array.is_null());
    let bytes = length?.checked_mul(size)?;
    (bytes <= isize::MAX as usize).then_some(bytes)
}

/// As PIOc_write_darray for `nvars` variables, whose parts follow each other in `array`, `arraylen` elements each.
/// `frame`, unless NULL, has the record of each. `fillvalue`, unless NULL, points to an array with one value
/// for each, as upstream takes it.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_write_darray_multi(
    ncid: c_int,
    varids: *const c_int,
    ioid: c_int,
    nvars: c_int,
    arraylen: PIO_Offset,
    array: *const c_void,
    frame: *const c_int,
    fillvalue: *mut *mut c_void,
    flushtodisk: c_bool,
) -> c_int {
    let arrays = Arrays {
        varids,
        nvars,
        arraylen,
        array,
        frame,
        fills: fillvalue.cast_const().cast(),
    };
    // SAFETY: arguments of the caller.
    on_file(ncid, |open| unsafe {
        arrays.write(open, ioid, flushtodisk != 0)
    })
}

/// As PIOc_write_darray for `nvars` variables, whose parts follow each other in `array`, `arraylen` elements each.
/// `frame`, unless NULL, has the record of each. `fillvalue`, unless NULL, points to an array with one value
/// for each, as upstream takes it.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_write_darray_multi(
    ncid: c_int,
    varids: *const c_int,
    ioid: c_int,
    nvars: c_int,
    arraylen: PIO_Offset,
    array: *const c_void,
    frame: *const c_int,
    fillvalue: *mut *const c_void,
    flushtodisk: c_bool,
) -> c_int {
    let arrays = Arrays {
        varids,
        nvars,
        arraylen,
        array,
        frame,
        fills: fillvalue.cast_const().cast(),
    };
    // SAFETY: arguments of the caller.
    on_file(ncid, |open| unsafe {
        arrays.write(open, ioid, flushtodisk != 0)
    })
}

/// The arguments of PIOc_write_darray_multi. Pointers are NULL or as the header says.
struct Arrays {
    varids: *const c_int,
    nvars: c_int,
    arraylen: PIO_Offset,
    array: *const c_void,
    frame: *const c_int,
    fills: *const u8,
}

impl Arrays {
    unsafe fn write(&self, open: &mut OpenFile, ioid: c_int, flush: bool) -> Result<()> {
        // SAFETY: promised by the caller.
        let vars = unsafe { self.vars() };
        let decomp = match &vars {
            Ok(vars) => agree_on(open, vars, ioid),
            Err(error) => agree_same(&open.system.io.comm, "arrays", Err(error.clone())),
        }?;
        let vars = vars?;
        // SAFETY: as above.
        let parts = unsafe { self.parts(&decomp) };
        // SAFETY: as above.
        let fills = unsafe { self.fills(&decomp) };
        let frames = (!self.frame.is_null())
            // SAFETY: as above.
            .then(|| unsafe { std::slice::from_raw_parts(self.frame, vars.len()) });
        let file = &mut open.file;
        darray::write_multi(file, vars, &decomp, &parts, frames, fills.as_deref(), flush)
    }

    unsafe fn vars<'a>(&self) -> Result<&'a [c_int]> {
        match self.nvars {
            // SAFETY: promised by the caller.
            1.. => unsafe { array("varids", self.varids, self.nvars) },
            other => Err(Error::Invalid(format!("{other} variables"))),
        }
    }

    /// The parts without what is more than the map has; nothing if there is too little or no memory.
    unsafe fn parts<'a>(&self, decomp: &Decomp) -> Cow<'a, [u8]> {
        let size = decomp.kind.size();
        let length = self.arraylen.saturating_mul(self.nvars.into());
        // SAFETY: promised by the caller.
        let all = unsafe { elements(self.array, length, size) };
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

    /// Not looked at where no place needs one: NCAR's Fortran module gives nothing there that means something.
    unsafe fn fills<'a>(&self, decomp: &Decomp) -> Option<Vec<Option<&'a [u8]>>> {
        if self.fills.is_null() || !decomp.plan.has_holes() {
            return None;
        }
        let size = decomp.kind.size();
        // SAFETY: promised by the caller: one value for each variable.
        let all = unsafe { std::slice::from_raw_parts(self.fills, size * self.nvars as usize) };
        Some(all.chunks_exact(size).map(Some).collect())
    }
}

/// Reads this rank's part of an array: `arraylen` elements of the decomposition's type, at least as many as its
/// map has. Holes keep what they had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_read_darray(
    ncid: c_int,
    varid: c_int,
    ioid: c_int,
    arraylen: PIO_Offset,
    array: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    on_file(ncid, |open| unsafe {
        read(open, varid, ioid, arraylen, array)
    })
}

pub(in crate::capi) unsafe fn read(
    open: &mut OpenFile,
    varid: c_int,
    ioid: c_int,
    length: PIO_Offset,
    array: *mut c_void,
) -> Result<()> {
    let decomp = agree_on(open, &[varid], ioid)?;
    let array = match bytes(array, length, decomp.kind.size()) {
        // SAFETY: promised by the caller.
        Some(bytes) => unsafe { std::slice::from_raw_parts_mut(array.cast(), bytes) },
        None => &mut [],
    };
    darray::read(&mut open.file, varid, &decomp, array)
}

/// Sets how many bytes a rank may buffer of what PIOc_write_darray gave it; more is written at once. To be the same
/// on all ranks. Ignored if negative, and 0 too in the ABI of NCAR.
///
/// # Returns
/// The limit until now.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn what_is_no_array_has_no_bytes() {
        let array = [0_u8; 8];
        let place = array.as_ptr().cast();
        assert_eq!(bytes(place, 2, 4), Some(8));
        assert_eq!(bytes(place, 0, 4), Some(0));
        assert_eq!(bytes(null(), 2, 4), None);
        assert_eq!(bytes(place, -1, 4), None);
        assert_eq!(bytes(place, i64::MAX, 8), None);
    }
}
