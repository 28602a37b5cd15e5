//! # Data
//!
//! Variables that are not distributed. All ranks ask for the same part of a variable; the data of the first I/O task are
//! written, and all ranks get what is read.

use super::args::array;
use super::registry::{OpenFile, on_file};
use super::request::{Hyperslab, VarShape};
use super::types::{LONG, PIO_Offset, nc_type};
use crate::capi::boundary::{Array, OutArray};
use crate::pio::{Error, Kind, Result};
use std::ffi::{
    c_char, c_double, c_float, c_int, c_long, c_longlong, c_schar, c_short, c_uchar, c_uint,
    c_ulonglong, c_ushort, c_void,
};

/// The part of a variable that a caller asks for. NULL stands for its begin, its lengths, and for no stride. The type is
/// that of the data in memory; 0 stands for the variable's.
#[derive(Clone, Copy)]
pub(super) struct Selection<'a> {
    start: Array<'a, PIO_Offset>,
    /// One element if absent.
    count: Option<Array<'a, PIO_Offset>>,
    stride: Array<'a, PIO_Offset>,
    xtype: nc_type,
}

impl<'a> Selection<'a> {
    const fn whole(xtype: nc_type) -> Self {
        Self {
            start: Array::NULL,
            count: Some(Array::NULL),
            stride: Array::NULL,
            xtype,
        }
    }

    fn one(index: Array<'a, PIO_Offset>, xtype: nc_type) -> Self {
        Self {
            start: index,
            count: None,
            ..Self::whole(xtype)
        }
    }

    fn block(start: Array<'a, PIO_Offset>, count: Array<'a, PIO_Offset>, xtype: nc_type) -> Self {
        Self::strided(start, count, Array::NULL, xtype)
    }

    pub(super) fn strided(
        start: Array<'a, PIO_Offset>,
        count: Array<'a, PIO_Offset>,
        stride: Array<'a, PIO_Offset>,
        xtype: nc_type,
    ) -> Self {
        Self {
            start,
            count: Some(count),
            stride,
            xtype,
        }
    }

    pub(super) fn put<T>(self, ncid: c_int, varid: c_int, buffer: Array<T>) -> c_int {
        on_file(ncid, |open| {
            let (kind, slab) = self.find(open, varid, buffer.is_null(), true)?;
            // SAFETY: the header says that the buffer holds all of the selection.
            let data = unsafe { array("the buffer", buffer.cast(), slab.bytes(kind)?) }?;
            open.file.put(varid, kind, &slab.regions, data)
        })
    }

    pub(super) fn get<T>(self, ncid: c_int, varid: c_int, buffer: OutArray<T>) -> c_int {
        on_file(ncid, |open| {
            let (kind, slab) = self.find(open, varid, buffer.is_null(), false)?;
            // SAFETY: the header says that the buffer has room for all of the selection.
            let data = unsafe { buffer.cast().slice(slab.bytes(kind)? as usize) };
            let data = data.ok_or(Error::Null("the buffer"))?;
            open.file.get(varid, kind, &slab.regions, data)
        })
    }

    /// The kind of the data and the elements, the same on all ranks. Collective.
    fn find(
        &self,
        open: &mut OpenFile,
        varid: c_int,
        no_buffer: bool,
        putting: bool,
    ) -> Result<(Kind, Hyperslab)> {
        let memory = match self.xtype {
            0 => Ok(None),
            xtype => Kind::from_number(xtype).map(Some),
        };
        let shape = VarShape::of(open, varid, putting, memory.clone())?;
        let kind = memory?.unwrap_or(shape.kind);
        let slab = self.hyperslab(&shape);
        let slab = slab.and_then(|slab| match no_buffer && slab.bytes(kind)? > 0 {
            true => Err(Error::Null("the buffer")),
            false => Ok(slab),
        });
        Ok((kind, agreed(open, slab)?))
    }

    fn hyperslab(&self, shape: &VarShape) -> Result<Hyperslab> {
        let ndims = shape.lengths.len();
        // SAFETY: the header says that there is a number for each dimension.
        let numbers = |given: Array<'a, PIO_Offset>| unsafe { given.slice(ndims) };
        let ones = vec![1; ndims];
        let count = self.count.map_or(Some(&ones[..]), numbers);
        Hyperslab::new(shape, numbers(self.start), count, numbers(self.stride))
    }
}

/// All ranks ask for the same elements.
pub(in crate::capi) fn agreed(open: &OpenFile, slab: Result<Hyperslab>) -> Result<Hyperslab> {
    open.system.agree_same("parts of a variable", slab)
}

/// Writes a whole variable. The data are of its type, as in all functions without a type in their name.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_put_var(ncid: c_int, varid: c_int, buf: Array<c_void>) -> c_int {
    Selection::whole(0).put(ncid, varid, buf)
}

/// Reads a whole variable.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_var(ncid: c_int, varid: c_int, buf: OutArray<c_void>) -> c_int {
    Selection::whole(0).get(ncid, varid, buf)
}

/// Writes one element.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_put_var1(
    ncid: c_int,
    varid: c_int,
    index: Array<PIO_Offset>,
    buf: Array<c_void>,
) -> c_int {
    Selection::one(index, 0).put(ncid, varid, buf)
}

/// Reads one element.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_var1(
    ncid: c_int,
    varid: c_int,
    index: Array<PIO_Offset>,
    buf: OutArray<c_void>,
) -> c_int {
    Selection::one(index, 0).get(ncid, varid, buf)
}

/// Writes a block: `count` elements from `start` in each dimension.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_put_vara(
    ncid: c_int,
    varid: c_int,
    start: Array<PIO_Offset>,
    count: Array<PIO_Offset>,
    buf: Array<c_void>,
) -> c_int {
    Selection::block(start, count, 0).put(ncid, varid, buf)
}

/// Reads a block.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_vara(
    ncid: c_int,
    varid: c_int,
    start: Array<PIO_Offset>,
    count: Array<PIO_Offset>,
    buf: OutArray<c_void>,
) -> c_int {
    Selection::block(start, count, 0).get(ncid, varid, buf)
}

/// Writes `count` elements from `start` that are `stride` apart, in each dimension.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_put_vars(
    ncid: c_int,
    varid: c_int,
    start: Array<PIO_Offset>,
    count: Array<PIO_Offset>,
    stride: Array<PIO_Offset>,
    buf: Array<c_void>,
) -> c_int {
    Selection::strided(start, count, stride, 0).put(ncid, varid, buf)
}

/// Reads as PIOc_put_vars writes.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_vars(
    ncid: c_int,
    varid: c_int,
    start: Array<PIO_Offset>,
    count: Array<PIO_Offset>,
    stride: Array<PIO_Offset>,
    buf: OutArray<c_void>,
) -> c_int {
    Selection::strided(start, count, stride, 0).get(ncid, varid, buf)
}

/// For each type the functions whose names end with it, which do the same with data of that type.
macro_rules! typed {
    ($($type:ty, $kind:expr =>
        $put_var:ident $get_var:ident $put_var1:ident $get_var1:ident
        $put_vara:ident $get_vara:ident $put_vars:ident $get_vars:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $put_var(ncid: c_int, varid: c_int, op: Array<$type>) -> c_int {
            Selection::whole($kind as nc_type).put(ncid, varid, op)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $get_var(ncid: c_int, varid: c_int, buf: OutArray<$type>) -> c_int {
            Selection::whole($kind as nc_type).get(ncid, varid, buf)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $put_var1(
            ncid: c_int,
            varid: c_int,
            index: Array<PIO_Offset>,
            op: Array<$type>,
        ) -> c_int {
            Selection::one(index, $kind as nc_type).put(ncid, varid, op)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $get_var1(
            ncid: c_int,
            varid: c_int,
            index: Array<PIO_Offset>,
            buf: OutArray<$type>,
        ) -> c_int {
            Selection::one(index, $kind as nc_type).get(ncid, varid, buf)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $put_vara(
            ncid: c_int,
            varid: c_int,
            start: Array<PIO_Offset>,
            count: Array<PIO_Offset>,
            op: Array<$type>,
        ) -> c_int {
            Selection::block(start, count, $kind as nc_type).put(ncid, varid, op)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $get_vara(
            ncid: c_int,
            varid: c_int,
            start: Array<PIO_Offset>,
            count: Array<PIO_Offset>,
            buf: OutArray<$type>,
        ) -> c_int {
            Selection::block(start, count, $kind as nc_type).get(ncid, varid, buf)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $put_vars(
            ncid: c_int,
            varid: c_int,
            start: Array<PIO_Offset>,
            count: Array<PIO_Offset>,
            stride: Array<PIO_Offset>,
            op: Array<$type>,
        ) -> c_int {
            Selection::strided(start, count, stride, $kind as nc_type).put(ncid, varid, op)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $get_vars(
            ncid: c_int,
            varid: c_int,
            start: Array<PIO_Offset>,
            count: Array<PIO_Offset>,
            stride: Array<PIO_Offset>,
            buf: OutArray<$type>,
        ) -> c_int {
            Selection::strided(start, count, stride, $kind as nc_type).get(ncid, varid, buf)
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
