//! # Data
//!
//! Variables that are not distributed. All ranks ask for the same part of a variable; what is
//! written are the data of the first I/O task, and all ranks get what is read.

use crate::capi::pio::args::array;
use crate::capi::pio::registry::{OpenFile, on_file};
use crate::capi::pio::request::{Request, Shape};
use crate::capi::pio::types::{LONG, PIO_Offset, nc_type};
use crate::pio::{Kind, Result};
use std::ffi::{
    c_char, c_double, c_float, c_int, c_long, c_longlong, c_schar, c_short, c_uchar, c_uint,
    c_ulonglong, c_ushort, c_void,
};
use std::ptr::null;

/// What part of a variable is meant; NULL stands for its begin, its lengths, and for no stride. The type is that
/// of the data in memory; 0 stands for the variable's.
pub(in crate::capi) struct Part {
    start: *const PIO_Offset,
    count: Count,
    stride: *const PIO_Offset,
    xtype: nc_type,
}

enum Count {
    One,
    Of(*const PIO_Offset),
}

impl Part {
    /// As PIOc_put_vars, with data of that type.
    pub(in crate::capi) fn of_vars(
        start: *const PIO_Offset,
        count: *const PIO_Offset,
        stride: *const PIO_Offset,
        xtype: nc_type,
    ) -> Self {
        Self {
            start,
            count: Count::Of(count),
            stride,
            xtype,
        }
    }

    fn whole(xtype: nc_type) -> Self {
        Self::of_vars(null(), null(), null(), xtype)
    }

    fn one(index: *const PIO_Offset, xtype: nc_type) -> Self {
        Self {
            count: Count::One,
            ..Self::of_vars(index, null(), null(), xtype)
        }
    }

    fn block(start: *const PIO_Offset, count: *const PIO_Offset, xtype: nc_type) -> Self {
        Self::of_vars(start, count, null(), xtype)
    }

    /// Writes from, or reads into, `buffer`.
    pub(in crate::capi) unsafe fn put(
        self,
        ncid: c_int,
        varid: c_int,
        buffer: *const c_void,
    ) -> c_int {
        on_file(ncid, |open| {
            // SAFETY: promised by the caller.
            let (kind, request) = unsafe { self.find(open, varid, buffer, true) }?;
            // SAFETY: as above.
            let data = unsafe { array("the buffer", buffer.cast::<u8>(), request.bytes(kind)?) }?;
            open.file.put(varid, kind, &request.regions, data)
        })
    }

    pub(in crate::capi) unsafe fn get(
        self,
        ncid: c_int,
        varid: c_int,
        buffer: *mut c_void,
    ) -> c_int {
        on_file(ncid, |open| {
            // SAFETY: promised by the caller.
            let (kind, request) = unsafe { self.find(open, varid, buffer, false) }?;
            let data = match request.bytes(kind)? {
                0 => &mut [],
                // SAFETY: as above; not NULL, or the ranks had not agreed.
                bytes => unsafe {
                    std::slice::from_raw_parts_mut(buffer.cast::<u8>(), bytes as usize)
                },
            };
            open.file.get(varid, kind, &request.regions, data)
        })
    }

    /// The kind of the data and what is asked for, the same on all ranks. Collective.
    unsafe fn find(
        &self,
        open: &mut OpenFile,
        varid: c_int,
        buffer: *const c_void,
        putting: bool,
    ) -> Result<(Kind, Request)> {
        let memory = match self.xtype {
            0 => Ok(None),
            xtype => Kind::from_number(xtype).map(Some),
        };
        let shape = Shape::of(open, varid, putting, memory.clone())?;
        let kind = memory?.unwrap_or(shape.kind);
        // SAFETY: promised by the caller.
        let request = unsafe { self.request(&shape) };
        let request = request.and_then(|request| {
            // SAFETY: as above.
            unsafe { array("the buffer", buffer.cast::<u8>(), request.bytes(kind)?) }?;
            Ok(request)
        });
        Ok((kind, request_of_all(open, request)?))
    }

    unsafe fn request(&self, shape: &Shape) -> Result<Request> {
        let ndims = shape.lengths.len();
        let read = |place: *const PIO_Offset| {
            // SAFETY: promised by the caller: NULL, or a number for each dimension.
            (!place.is_null()).then(|| unsafe { std::slice::from_raw_parts(place, ndims) })
        };
        let ones = vec![1; ndims];
        let count = match &self.count {
            Count::One => Some(&ones[..]),
            Count::Of(place) => read(*place),
        };
        Request::new(shape, read(self.start), count, read(self.stride))
    }
}

/// All ranks ask for the same part.
pub(in crate::capi) fn request_of_all(
    open: &OpenFile,
    request: Result<Request>,
) -> Result<Request> {
    open.system.agree_same("parts of a variable", request)
}

// ---- data as the variable has them ----

/// Writes a whole variable. The data are of its type, as in all functions without a type in their name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_put_var(ncid: c_int, varid: c_int, buf: *const c_void) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::whole(0).put(ncid, varid, buf) }
}

/// Reads a whole variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_get_var(ncid: c_int, varid: c_int, buf: *mut c_void) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::whole(0).get(ncid, varid, buf) }
}

/// Writes one element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_put_var1(
    ncid: c_int,
    varid: c_int,
    index: *const PIO_Offset,
    buf: *const c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::one(index, 0).put(ncid, varid, buf) }
}

/// Reads one element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_get_var1(
    ncid: c_int,
    varid: c_int,
    index: *const PIO_Offset,
    buf: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::one(index, 0).get(ncid, varid, buf) }
}

/// Writes a block: `count` elements from `start` in each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_put_vara(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    buf: *const c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::block(start, count, 0).put(ncid, varid, buf) }
}

/// Reads a block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_get_vara(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    buf: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::block(start, count, 0).get(ncid, varid, buf) }
}

/// Writes `count` elements from `start` that are `stride` apart, in each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_put_vars(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    stride: *const PIO_Offset,
    buf: *const c_void,
) -> c_int {
    let part = Part::of_vars(start, count, stride, 0);
    // SAFETY: arguments of the caller.
    unsafe { part.put(ncid, varid, buf) }
}

/// Reads as PIOc_put_vars writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_get_vars(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    stride: *const PIO_Offset,
    buf: *mut c_void,
) -> c_int {
    let part = Part::of_vars(start, count, stride, 0);
    // SAFETY: arguments of the caller.
    unsafe { part.get(ncid, varid, buf) }
}

/// For each type the functions whose names end with it, which do the same with data of that type.
macro_rules! typed {
    ($($type:ty, $kind:expr =>
        $put_var:ident $get_var:ident $put_var1:ident $get_var1:ident
        $put_vara:ident $get_vara:ident $put_vars:ident $get_vars:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $put_var(ncid: c_int, varid: c_int, op: *const $type) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::whole($kind as nc_type).put(ncid, varid, op.cast()) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get_var(ncid: c_int, varid: c_int, buf: *mut $type) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::whole($kind as nc_type).get(ncid, varid, buf.cast()) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $put_var1(
            ncid: c_int,
            varid: c_int,
            index: *const PIO_Offset,
            op: *const $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::one(index, $kind as nc_type).put(ncid, varid, op.cast()) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get_var1(
            ncid: c_int,
            varid: c_int,
            index: *const PIO_Offset,
            buf: *mut $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::one(index, $kind as nc_type).get(ncid, varid, buf.cast()) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $put_vara(
            ncid: c_int,
            varid: c_int,
            start: *const PIO_Offset,
            count: *const PIO_Offset,
            op: *const $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::block(start, count, $kind as nc_type).put(ncid, varid, op.cast()) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get_vara(
            ncid: c_int,
            varid: c_int,
            start: *const PIO_Offset,
            count: *const PIO_Offset,
            buf: *mut $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::block(start, count, $kind as nc_type).get(ncid, varid, buf.cast()) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $put_vars(
            ncid: c_int,
            varid: c_int,
            start: *const PIO_Offset,
            count: *const PIO_Offset,
            stride: *const PIO_Offset,
            op: *const $type,
        ) -> c_int {
            let part = Part::of_vars(start, count, stride, $kind as nc_type);
            // SAFETY: arguments of the caller.
            unsafe { part.put(ncid, varid, op.cast()) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get_vars(
            ncid: c_int,
            varid: c_int,
            start: *const PIO_Offset,
            count: *const PIO_Offset,
            stride: *const PIO_Offset,
            buf: *mut $type,
        ) -> c_int {
            let part = Part::of_vars(start, count, stride, $kind as nc_type);
            // SAFETY: arguments of the caller.
            unsafe { part.get(ncid, varid, buf.cast()) }
        }
    )*};
}

typed! {
    c_char, Kind::Char =>
        PIOc_put_var_text PIOc_get_var_text PIOc_put_var1_text PIOc_get_var1_text
        PIOc_put_vara_text PIOc_get_vara_text PIOc_put_vars_text PIOc_get_vars_text;
    c_schar, Kind::Byte =>
        PIOc_put_var_schar PIOc_get_var_schar PIOc_put_var1_schar PIOc_get_var1_schar
        PIOc_put_vara_schar PIOc_get_vara_schar PIOc_put_vars_schar PIOc_get_vars_schar;
    c_uchar, Kind::UnsignedByte =>
        PIOc_put_var_uchar PIOc_get_var_uchar PIOc_put_var1_uchar PIOc_get_var1_uchar
        PIOc_put_vara_uchar PIOc_get_vara_uchar PIOc_put_vars_uchar PIOc_get_vars_uchar;
    c_short, Kind::Short =>
        PIOc_put_var_short PIOc_get_var_short PIOc_put_var1_short PIOc_get_var1_short
        PIOc_put_vara_short PIOc_get_vara_short PIOc_put_vars_short PIOc_get_vars_short;
    c_ushort, Kind::UnsignedShort =>
        PIOc_put_var_ushort PIOc_get_var_ushort PIOc_put_var1_ushort PIOc_get_var1_ushort
        PIOc_put_vara_ushort PIOc_get_vara_ushort PIOc_put_vars_ushort PIOc_get_vars_ushort;
    c_int, Kind::Int =>
        PIOc_put_var_int PIOc_get_var_int PIOc_put_var1_int PIOc_get_var1_int
        PIOc_put_vara_int PIOc_get_vara_int PIOc_put_vars_int PIOc_get_vars_int;
    c_uint, Kind::UnsignedInt =>
        PIOc_put_var_uint PIOc_get_var_uint PIOc_put_var1_uint PIOc_get_var1_uint
        PIOc_put_vara_uint PIOc_get_vara_uint PIOc_put_vars_uint PIOc_get_vars_uint;
    c_long, LONG =>
        PIOc_put_var_long PIOc_get_var_long PIOc_put_var1_long PIOc_get_var1_long
        PIOc_put_vara_long PIOc_get_vara_long PIOc_put_vars_long PIOc_get_vars_long;
    c_longlong, Kind::Int64 =>
        PIOc_put_var_longlong PIOc_get_var_longlong PIOc_put_var1_longlong PIOc_get_var1_longlong
        PIOc_put_vara_longlong PIOc_get_vara_longlong PIOc_put_vars_longlong PIOc_get_vars_longlong;
    c_ulonglong, Kind::UnsignedInt64 =>
        PIOc_put_var_ulonglong PIOc_get_var_ulonglong PIOc_put_var1_ulonglong PIOc_get_var1_ulonglong
        PIOc_put_vara_ulonglong PIOc_get_vara_ulonglong PIOc_put_vars_ulonglong PIOc_get_vars_ulonglong;
    c_float, Kind::Float =>
        PIOc_put_var_float PIOc_get_var_float PIOc_put_var1_float PIOc_get_var1_float
        PIOc_put_vara_float PIOc_get_vara_float PIOc_put_vars_float PIOc_get_vars_float;
    c_double, Kind::Double =>
        PIOc_put_var_double PIOc_get_var_double PIOc_put_var1_double PIOc_get_var1_double
        PIOc_put_vara_double PIOc_get_vara_double PIOc_put_vars_double PIOc_get_vars_double;
}
