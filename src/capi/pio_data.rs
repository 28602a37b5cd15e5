//! `pio.h`: variables that are not distributed. All ranks give the same data, and all get what is read.

use super::pio_args::array;
use super::pio_registry::{OpenFile, digest, on_file};
use super::pio_types::{LONG, PIO_Offset};
use crate::pio::{Error, Kind, Regions, Result, agree_same};
use std::ffi::{
    c_char, c_double, c_float, c_int, c_long, c_longlong, c_schar, c_short, c_uchar, c_uint,
    c_ulonglong, c_ushort, c_void,
};
use std::ptr::null;

const EINVALCOORDS: c_int = -40;
const EEDGE: c_int = -57;
const ESTRIDE: c_int = -58;

/// What part of a variable is meant; NULL stands for its begin, its lengths, and for no stride. The kind is that
/// of the data in memory; without one they are as the variable has them.
pub(super) struct Part {
    start: *const PIO_Offset,
    count: Count,
    stride: *const PIO_Offset,
    kind: Option<Kind>,
}

enum Count {
    One,
    Of(*const PIO_Offset),
}

impl Part {
    /// As PIOc_put_vars, with data of that kind.
    pub(super) fn of_vars(
        start: *const PIO_Offset,
        count: *const PIO_Offset,
        stride: *const PIO_Offset,
        kind: Option<Kind>,
    ) -> Self {
        Self::strided(start, Count::Of(count), stride, kind)
    }

    fn whole(kind: Option<Kind>) -> Self {
        let count = Count::Of(null());
        Self::strided(null(), count, null(), kind)
    }

    fn one(index: *const PIO_Offset, kind: Option<Kind>) -> Self {
        Self::strided(index, Count::One, null(), kind)
    }

    fn block(start: *const PIO_Offset, count: *const PIO_Offset, kind: Option<Kind>) -> Self {
        Self::strided(start, Count::Of(count), null(), kind)
    }

    fn strided(
        start: *const PIO_Offset,
        count: Count,
        stride: *const PIO_Offset,
        kind: Option<Kind>,
    ) -> Self {
        Self {
            start,
            count,
            stride,
            kind,
        }
    }

    /// Writes from, or reads into, `buffer`.
    pub(super) unsafe fn put(self, ncid: c_int, varid: c_int, buffer: *const c_void) -> c_int {
        on_file(ncid, |open| {
            // SAFETY: promised by the caller.
            let (kind, regions) = unsafe { self.find(open, varid, buffer) }?;
            let bytes = length(kind, &regions);
            // SAFETY: as above.
            let data = unsafe { array("the buffer", buffer.cast::<u8>(), bytes) }?;
            open.file.put(varid, kind, &regions, data)
        })
    }

    pub(super) unsafe fn get(self, ncid: c_int, varid: c_int, buffer: *mut c_void) -> c_int {
        on_file(ncid, |open| {
            // SAFETY: promised by the caller.
            let (kind, regions) = unsafe { self.find(open, varid, buffer) }?;
            let data = match length(kind, &regions) {
                0 => &mut [],
                // SAFETY: as above; not NULL, or the ranks had not agreed.
                bytes => unsafe {
                    std::slice::from_raw_parts_mut(buffer.cast::<u8>(), bytes as usize)
                },
            };
            open.file.get(varid, kind, &regions, data)
        })
    }

    /// The kind of the data and the regions, the same on all ranks. Collective.
    unsafe fn find(
        &self,
        open: &mut OpenFile,
        varid: c_int,
        buffer: *const c_void,
    ) -> Result<(Kind, Regions)> {
        let (stored, lengths) = open.file.ask(|format| {
            let variable = format.var(varid)?;
            let lengths = variable.dims.iter().map(|dim| Ok(format.dim(*dim)?.1));
            Ok((variable.kind, lengths.collect::<Result<Vec<u64>>>()?))
        })?;
        let kind = self.kind.unwrap_or(stored);
        // SAFETY: promised by the caller.
        let found = unsafe { self.regions(&lengths) };
        let found = found.and_then(|regions| {
            // SAFETY: as above.
            unsafe { array("the buffer", buffer.cast::<u8>(), length(kind, &regions)) }?;
            let parts: Vec<_> = regions.iter().take(1).collect();
            let digest = digest((varid, kind as c_int, regions.len(), parts));
            Ok((regions, digest))
        });
        let regions = agree_same(&open.system.io.comm, "parts of a variable", found)?;
        Ok((kind, regions))
    }

    unsafe fn regions(&self, lengths: &[u64]) -> Result<Regions> {
        let ndims = lengths.len();
        let read = |place: *const PIO_Offset| {
            // SAFETY: promised by the caller: NULL, or a number for each dimension.
            (!place.is_null()).then(|| unsafe { std::slice::from_raw_parts(place, ndims) })
        };
        let start = naturals(read(self.start), &vec![0; ndims], EINVALCOORDS)?;
        let count = match &self.count {
            Count::One => vec![1; ndims],
            Count::Of(place) => naturals(read(*place), lengths, EEDGE)?,
        };
        let stride = naturals(read(self.stride), &vec![1; ndims], ESTRIDE)?;
        match stride.contains(&0) {
            true => Err(wrong(ESTRIDE, 0)),
            false => strided_regions(&start, &count, &stride),
        }
    }
}

fn wrong(code: c_int, value: i64) -> Error {
    let text = format!("{value} is not possible here");
    let call = "PIO";
    Error::Format { call, code, text }
}

fn naturals(given: Option<&[i64]>, otherwise: &[u64], code: c_int) -> Result<Vec<u64>> {
    let Some(given) = given else {
        return Ok(otherwise.to_vec());
    };
    let natural = |value: &i64| u64::try_from(*value).map_err(|_| wrong(code, *value));
    given.iter().map(natural).collect()
}

/// Regions in the order of a dense array with `count` elements in each dimension, that are `stride` apart.
fn strided_regions(start: &[u64], count: &[u64], stride: &[u64]) -> Result<Regions> {
    let mut regions = Regions::new(start.len());
    if count.contains(&0) {
        return Ok(regions);
    }
    // Dimensions up to the last with a stride are taken apart, the others are taken whole.
    let apart = |at: &usize| stride[*at] > 1 && count[*at] > 1;
    let apart = (0..start.len()).rev().find(apart).map_or(0, |at| at + 1);
    let size: Vec<u64> = (0..start.len())
        .map(|at| if at < apart { 1 } else { count[at] })
        .collect();
    let mut index = vec![0; apart];
    loop {
        let mut from = start.to_vec();
        for at in 0..apart {
            let moved = index[at] * stride[at];
            from[at] = from[at].checked_add(moved).ok_or(wrong(EEDGE, i64::MAX))?;
        }
        regions.push(&from, &size);
        // The next index, the last dimension fastest.
        let Some(at) = (0..apart).rev().find(|at| index[*at] + 1 < count[*at]) else {
            return Ok(regions);
        };
        index[at] += 1;
        index[at + 1..].fill(0);
    }
}

/// In bytes; what is too long for memory is the longest there is.
fn length(kind: Kind, regions: &Regions) -> i64 {
    let bytes = regions.elements().saturating_mul(kind.size() as u64);
    bytes.try_into().unwrap_or(i64::MAX)
}

// ---- data as the variable has them ----

/// Writes a whole variable. The data are of its type, as in all functions without a type in their name.
#[unsafe(export_name = "inner_PIOc_put_var")]
pub unsafe extern "C" fn PIOc_put_var(ncid: c_int, varid: c_int, buf: *const c_void) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::whole(None).put(ncid, varid, buf) }
}

/// Reads a whole variable.
#[unsafe(export_name = "inner_PIOc_get_var")]
pub unsafe extern "C" fn PIOc_get_var(ncid: c_int, varid: c_int, buf: *mut c_void) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::whole(None).get(ncid, varid, buf) }
}

/// Writes one element.
#[unsafe(export_name = "inner_PIOc_put_var1")]
pub unsafe extern "C" fn PIOc_put_var1(
    ncid: c_int,
    varid: c_int,
    index: *const PIO_Offset,
    buf: *const c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::one(index, None).put(ncid, varid, buf) }
}

/// Reads one element.
#[unsafe(export_name = "inner_PIOc_get_var1")]
pub unsafe extern "C" fn PIOc_get_var1(
    ncid: c_int,
    varid: c_int,
    index: *const PIO_Offset,
    buf: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::one(index, None).get(ncid, varid, buf) }
}

/// Writes a block: `count` elements from `start` in each dimension.
#[unsafe(export_name = "inner_PIOc_put_vara")]
pub unsafe extern "C" fn PIOc_put_vara(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    buf: *const c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::block(start, count, None).put(ncid, varid, buf) }
}

/// Reads a block.
#[unsafe(export_name = "inner_PIOc_get_vara")]
pub unsafe extern "C" fn PIOc_get_vara(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    buf: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::block(start, count, None).get(ncid, varid, buf) }
}

/// Writes `count` elements from `start` that are `stride` apart, in each dimension.
#[unsafe(export_name = "inner_PIOc_put_vars")]
pub unsafe extern "C" fn PIOc_put_vars(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    stride: *const PIO_Offset,
    buf: *const c_void,
) -> c_int {
    let part = Part::of_vars(start, count, stride, None);
    // SAFETY: arguments of the caller.
    unsafe { part.put(ncid, varid, buf) }
}

/// Reads as PIOc_put_vars writes.
#[unsafe(export_name = "inner_PIOc_get_vars")]
pub unsafe extern "C" fn PIOc_get_vars(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    stride: *const PIO_Offset,
    buf: *mut c_void,
) -> c_int {
    let part = Part::of_vars(start, count, stride, None);
    // SAFETY: arguments of the caller.
    unsafe { part.get(ncid, varid, buf) }
}

/// For each type the functions whose names end with it, which do the same with data of that type.
macro_rules! typed {
    ($($type:ty, $kind:expr =>
        $put_var:ident $get_var:ident $put_var1:ident $get_var1:ident
        $put_vara:ident $get_vara:ident $put_vars:ident $get_vars:ident;)*) => {$(
        #[unsafe(export_name = concat!("inner_", stringify!($put_var)))]
        pub unsafe extern "C" fn $put_var(ncid: c_int, varid: c_int, op: *const $type) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::whole(Some($kind)).put(ncid, varid, op.cast()) }
        }

        #[unsafe(export_name = concat!("inner_", stringify!($get_var)))]
        pub unsafe extern "C" fn $get_var(ncid: c_int, varid: c_int, buf: *mut $type) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::whole(Some($kind)).get(ncid, varid, buf.cast()) }
        }

        #[unsafe(export_name = concat!("inner_", stringify!($put_var1)))]
        pub unsafe extern "C" fn $put_var1(
            ncid: c_int,
            varid: c_int,
            index: *const PIO_Offset,
            op: *const $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::one(index, Some($kind)).put(ncid, varid, op.cast()) }
        }

        #[unsafe(export_name = concat!("inner_", stringify!($get_var1)))]
        pub unsafe extern "C" fn $get_var1(
            ncid: c_int,
            varid: c_int,
            index: *const PIO_Offset,
            buf: *mut $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::one(index, Some($kind)).get(ncid, varid, buf.cast()) }
        }

        #[unsafe(export_name = concat!("inner_", stringify!($put_vara)))]
        pub unsafe extern "C" fn $put_vara(
            ncid: c_int,
            varid: c_int,
            start: *const PIO_Offset,
            count: *const PIO_Offset,
            op: *const $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::block(start, count, Some($kind)).put(ncid, varid, op.cast()) }
        }

        #[unsafe(export_name = concat!("inner_", stringify!($get_vara)))]
        pub unsafe extern "C" fn $get_vara(
            ncid: c_int,
            varid: c_int,
            start: *const PIO_Offset,
            count: *const PIO_Offset,
            buf: *mut $type,
        ) -> c_int {
            // SAFETY: arguments of the caller.
            unsafe { Part::block(start, count, Some($kind)).get(ncid, varid, buf.cast()) }
        }

        #[unsafe(export_name = concat!("inner_", stringify!($put_vars)))]
        pub unsafe extern "C" fn $put_vars(
            ncid: c_int,
            varid: c_int,
            start: *const PIO_Offset,
            count: *const PIO_Offset,
            stride: *const PIO_Offset,
            op: *const $type,
        ) -> c_int {
            let part = Part::of_vars(start, count, stride, Some($kind));
            // SAFETY: arguments of the caller.
            unsafe { part.put(ncid, varid, op.cast()) }
        }

        #[unsafe(export_name = concat!("inner_", stringify!($get_vars)))]
        pub unsafe extern "C" fn $get_vars(
            ncid: c_int,
            varid: c_int,
            start: *const PIO_Offset,
            count: *const PIO_Offset,
            stride: *const PIO_Offset,
            buf: *mut $type,
        ) -> c_int {
            let part = Part::of_vars(start, count, stride, Some($kind));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(start: &[u64], count: &[u64], stride: &[u64]) -> Vec<(Vec<u64>, Vec<u64>)> {
        let regions = strided_regions(start, count, stride).unwrap();
        regions
            .iter()
            .map(|(s, c)| (s.to_vec(), c.to_vec()))
            .collect()
    }

    #[test]
    fn without_a_stride_there_is_one_region() {
        assert_eq!(
            regions(&[1, 2], &[3, 4], &[1, 1]),
            [(vec![1, 2], vec![3, 4])]
        );
        assert_eq!(
            regions(&[1, 2], &[1, 4], &[9, 1]),
            [(vec![1, 2], vec![1, 4])]
        );
        assert_eq!(regions(&[], &[], &[]), [(vec![], vec![])]);
        assert!(regions(&[0, 0], &[3, 0], &[1, 1]).is_empty());
    }

    #[test]
    fn with_a_stride_the_elements_come_in_order() {
        let found = regions(&[1, 0, 5], &[2, 2, 3], &[1, 4, 1]);
        let starts = [[1, 0, 5], [1, 4, 5], [2, 0, 5], [2, 4, 5]];
        assert_eq!(found.len(), 4);
        for ((start, count), wanted) in found.iter().zip(starts) {
            assert_eq!((&start[..], &count[..]), (&wanted[..], &[1, 1, 3][..]));
        }
        let found = regions(&[0], &[3], &[2]);
        assert_eq!(found, [0, 2, 4].map(|at| (vec![at], vec![1])));
    }

    #[test]
    fn places_beyond_all_are_refused() {
        assert!(strided_regions(&[1], &[2], &[u64::MAX]).is_err());
        let lengths = [4];
        let refused = |start: i64, count: i64, stride: i64| {
            let count = Count::Of(&count);
            let part = Part::strided(&start, count, &stride, None);
            // SAFETY: one number for the one dimension each.
            unsafe { part.regions(&lengths) }.err().map(|e| e.code())
        };
        assert_eq!(refused(0, 1, 1), None);
        assert_eq!(refused(-1, 1, 1), Some(EINVALCOORDS));
        assert_eq!(refused(0, -1, 1), Some(EEDGE));
        assert_eq!(refused(0, 1, 0), Some(ESTRIDE));
        assert_eq!(refused(0, 1, -1), Some(ESTRIDE));
    }
}
