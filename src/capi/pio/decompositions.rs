//! # Decompositions
//!
//! A decomposition says which elements of an array each rank has: its map.

use super::args::array;
use super::errors::{PIO_NOERR, number};
use super::io_systems::{PIO_REARR_SUBSET, rearranger};
use super::registry::{self, System, digest, on_system};
use super::types::PIO_Offset;
use crate::capi::boundary::{Array, In, Out};
use crate::capi::stanchion::pio::{is_strict, outside};
use crate::pio::{Decomp, DecompSpec, Error, Kind, Rearranger, Result, agree_same};
use std::borrow::Cow;
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicI32, Ordering};

/// Upstream's default.
const BLOCK_SIZE: c_int = if cfg!(feature = "pio_ncar") {
    1 << 20
} else {
    1024
};

static BLOCK: AtomicI32 = AtomicI32::new(BLOCK_SIZE);

/// A decomposition as the caller describes it. `rearranger`: another than the I/O system has.
pub(super) fn spec(
    system: &System,
    pio_type: c_int,
    dims: Vec<u64>,
    rearranger: Option<c_int>,
) -> Result<DecompSpec> {
    let default = system.io.rearranger;
    let chosen = rearranger.map(|number| self::rearranger(number, default));
    Ok(DecompSpec {
        block_size: BLOCK.load(Ordering::Relaxed) as u64,
        strict: is_strict(),
        outside: outside()?,
        ..DecompSpec::new(
            Kind::from_number(pio_type)?,
            dims,
            chosen.transpose()?.unwrap_or(default),
        )
    })
}

/// Makes the decomposition, which all ranks describe alike but for their map, and returns its id. Collective.
pub(super) fn make(
    system: &System,
    described: Result<(DecompSpec, Cow<'_, [i64]>)>,
) -> Result<c_int> {
    let described = described.map(|(spec, map)| {
        let digest = digest(spec.common());
        ((spec, map), digest)
    });
    let (spec, map) = agree_same(&system.io.comm, "decompositions", described)?;
    let decomp = Decomp::new(&system.io, &spec, &map)?;
    registry::add_decomp(system.id, decomp)
}

/// The start and the count in each dimension of what an I/O task shall hold; NULL if the library chooses.
type IoRegion<'a> = (Array<'a, PIO_Offset>, Array<'a, PIO_Offset>);

/// Makes a decomposition whose map is what `map` returns.
fn init<'a>(
    iosysid: c_int,
    pio_type: c_int,
    (ndims, gdimlen): (c_int, Array<c_int>),
    map: impl FnOnce() -> Result<Cow<'a, [i64]>>,
    ioidp: Out<c_int>,
    rearranger: Option<c_int>,
    (iostart, iocount): IoRegion,
    read_only: bool,
) -> c_int {
    on_system(iosysid, |system| {
        let described = map().and_then(|map| {
            if ioidp.is_null() {
                return Err(Error::Null("ioidp"));
            }
            let dims = dims(ndims, gdimlen)?;
            let mut spec = spec(system, pio_type, dims, rearranger)?;
            spec.read_only = read_only;
            let is_held = spec.rearranger == Rearranger::Box && system.io.io_rank().is_some();
            if is_held && !iostart.is_null() && !iocount.is_null() {
                let start = naturals("iostart", iostart, ndims)?;
                spec.io_region = Some((start, naturals("iocount", iocount, ndims)?));
            }
            Ok((spec, map))
        });
        ioidp.set(make(system, described)?);
        Ok(())
    })
}

/// Lengths of dimensions: at least one, each at least 1.
pub(super) fn dims(ndims: c_int, lengths: Array<c_int>) -> Result<Vec<u64>> {
    if ndims < 1 {
        return Err(Error::Invalid(format!("{ndims} dimensions")));
    }
    // SAFETY: the header says that there are `ndims` lengths.
    let lengths = unsafe { array("gdimlen", lengths, ndims) }?;
    match lengths.iter().find(|length| **length < 1) {
        Some(length) => Err(Error::Invalid(format!("a dimension of length {length}"))),
        None => Ok(lengths.iter().map(|length| *length as u64).collect()),
    }
}

/// A number for each dimension, none of them negative.
fn naturals<T: Copy + TryInto<u64>>(
    name: &'static str,
    values: Array<T>,
    ndims: c_int,
) -> Result<Vec<u64>> {
    // SAFETY: the header says that there is a number for each dimension.
    let values = unsafe { array(name, values, ndims) }?;
    let naturals = values.iter().map(|value| (*value).try_into().ok());
    let naturals = naturals.collect::<Option<_>>();
    naturals.ok_or_else(|| Error::Invalid(format!("{name} has a negative entry")))
}

fn entries(maplen: c_int, compmap: Array<'_, PIO_Offset>) -> Result<&[i64]> {
    // SAFETY: the header says that the map has `maplen` entries.
    unsafe { array("compmap", compmap, maplen) }
}

/// Makes a decomposition: `compmap` has the place in the array of each of this rank's elements, counted from 1; 0 is an
/// element that is in no file (a hole). The order is free. `rearr` is another rearranger than the I/O system's, or NULL.
/// `iostart` and `iocount`, unless NULL, say what this I/O task shall hold (box rearranger only).
///
/// # Returns
/// PIO_NOERR, and the id in `ioidp`. PIO_EINVAL if an entry is outside of the array, or if an element is in the maps more
/// than once: always with the box rearranger, with the subset rearranger if stanchion_pio_strict asks for it.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_InitDecomp(
    iosysid: c_int,
    pio_type: c_int,
    ndims: c_int,
    gdimlen: Array<c_int>,
    maplen: c_int,
    compmap: Array<PIO_Offset>,
    ioidp: Out<c_int>,
    rearr: In<c_int>,
    iostart: Array<PIO_Offset>,
    iocount: Array<PIO_Offset>,
) -> c_int {
    let (dims, region) = ((ndims, gdimlen), (iostart, iocount));
    let map = || entries(maplen, compmap).map(Cow::from);
    let rearranger = rearr.get().copied();
    init(
        iosysid, pio_type, dims, map, ioidp, rearranger, region, false,
    )
}

/// As PIOc_InitDecomp for a decomposition that is only read with: an element may be in the maps many times.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_InitDecomp_ReadOnly(
    iosysid: c_int,
    pio_type: c_int,
    ndims: c_int,
    gdimlen: Array<c_int>,
    maplen: c_int,
    compmap: Array<PIO_Offset>,
    ioidp: Out<c_int>,
    rearr: In<c_int>,
    iostart: Array<PIO_Offset>,
    iocount: Array<PIO_Offset>,
) -> c_int {
    let (dims, region) = ((ndims, gdimlen), (iostart, iocount));
    let map = || entries(maplen, compmap).map(Cow::from);
    let rearranger = rearr.get().copied();
    init(
        iosysid, pio_type, dims, map, ioidp, rearranger, region, true,
    )
}

/// As PIOc_InitDecomp with places counted from 0 and -1 for a hole; a `rearranger` of 0 is the I/O system's.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_init_decomp(
    iosysid: c_int,
    pio_type: c_int,
    ndims: c_int,
    gdimlen: Array<c_int>,
    maplen: c_int,
    compmap: Array<PIO_Offset>,
    ioidp: Out<c_int>,
    rearranger: c_int,
    iostart: Array<PIO_Offset>,
    iocount: Array<PIO_Offset>,
) -> c_int {
    let (dims, region) = ((ndims, gdimlen), (iostart, iocount));
    let map = || Ok(from_one(entries(maplen, compmap)?)?.into());
    let rearranger = (rearranger != 0).then_some(rearranger);
    init(
        iosysid, pio_type, dims, map, ioidp, rearranger, region, false,
    )
}

/// Places counted from 1 instead of from 0.
fn from_one(map: &[i64]) -> Result<Vec<i64>> {
    let mut counted = Vec::new();
    let room = counted.try_reserve_exact(map.len());
    room.map_err(|_| Error::Memory(8 * map.len() as u64))?;
    counted.extend(map.iter().map(|place| place.saturating_add(1)));
    Ok(counted)
}

/// Makes a decomposition in which this rank has one block of the array: `count` elements from `start`, counted from 0, in
/// each dimension. With the subset rearranger.
///
/// # Collective
/// As PIOc_InitDecomp.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_InitDecomp_bc(
    iosysid: c_int,
    basetype: c_int,
    ndims: c_int,
    gdimlen: Array<c_int>,
    start: Array<c_long>,
    count: Array<c_long>,
    ioidp: Out<c_int>,
) -> c_int {
    let map = || {
        let dims = dims(ndims, gdimlen)?;
        let (start, count) = (
            naturals("start", start, ndims)?,
            naturals("count", count, ndims)?,
        );
        Ok(map_of_block(&dims, &start, &count)?.into())
    };
    let (dims, region) = ((ndims, gdimlen), (Array::NULL, Array::NULL));
    let rearranger = Some(PIO_REARR_SUBSET);
    init(
        iosysid, basetype, dims, map, ioidp, rearranger, region, false,
    )
}

/// The places of a block of the array, counted from 1.
fn map_of_block(dims: &[u64], start: &[u64], count: &[u64]) -> Result<Vec<i64>> {
    let ends = start
        .iter()
        .zip(count)
        .map(|(start, count)| start.checked_add(*count));
    if ends
        .zip(dims)
        .any(|(end, dim)| end.is_none_or(|end| end > *dim))
    {
        let text = "a block reaches beyond the end of a dimension".into();
        return Err(Error::Invalid(text));
    }
    let elements = count
        .iter()
        .try_fold(1_u64, |product, n| product.checked_mul(*n));
    if elements.is_none_or(|elements| elements > isize::MAX as u64 / 8) {
        return Err(Error::Memory(elements.unwrap_or(u64::MAX)));
    }
    // Dimension by dimension, slowest first: each place so far becomes the begin of a row.
    let (mut map, mut rows) = (vec![0], Vec::new());
    for ((dim, start), count) in dims.iter().zip(start).zip(count) {
        std::mem::swap(&mut map, &mut rows);
        map.clear();
        map.try_reserve_exact(rows.len() * *count as usize)
            .map_err(|_| Error::Memory(8 * rows.len() as u64 * count))?;
        let range = *start as i64..(start + count) as i64;
        map.extend(
            rows.iter()
                .flat_map(|row| range.clone().map(move |at| row * *dim as i64 + at)),
        );
    }
    map.iter_mut().for_each(|place| *place += 1);
    Ok(map)
}

/// Frees a decomposition. Data that PIOc_write_darray has buffered with it are still written.
///
/// # Collective
/// Called by all ranks of the I/O system.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_freedecomp(iosysid: c_int, ioid: c_int) -> c_int {
    on_system(iosysid, |system| {
        registry::remove_decomp(ioid)?;
        system.io.forget_plans();
        Ok(())
    })
}

/// Returns the length of this rank's map; PIO_EBADID if there is no such decomposition.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_local_array_size(ioid: c_int) -> c_int {
    number(|| {
        let length = registry::decomp(ioid)?.decomp.map_len();
        c_int::try_from(length).map_err(|_| Error::Invalid(format!("{length} elements")))
    })
}

/// Sets the fewest bytes for which the box rearranger uses another I/O task, for decompositions that are made from now on.
/// It must be the same on all ranks. Ignored if not positive.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_blocksize(newblocksize: c_int) -> c_int {
    if newblocksize > 0 {
        BLOCK.store(newblocksize, Ordering::Relaxed);
    }
    PIO_NOERR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_its_places_in_order() {
        let map = map_of_block(&[3, 4, 5], &[1, 1, 2], &[2, 3, 2]).unwrap();
        let mut wanted = Vec::new();
        for i in 1..3 {
            for j in 1..4 {
                for k in 2..4 {
                    wanted.push((i * 4 + j) * 5 + k + 1);
                }
            }
        }
        assert_eq!(map, wanted);
        assert!(map_of_block(&[7], &[7], &[0]).unwrap().is_empty());
        assert_eq!(map_of_block(&[7], &[6], &[1]).unwrap(), [7]);
    }

    #[test]
    fn a_block_outside_of_the_array_is_refused() {
        assert!(map_of_block(&[3, 4], &[0, 1], &[3, 4]).is_err());
        assert!(map_of_block(&[3], &[u64::MAX], &[2]).is_err());
    }

    #[test]
    fn places_are_counted_from_one() {
        assert_eq!(from_one(&[0, -1, 7]).unwrap(), [1, 0, 8]);
        assert_eq!(from_one(&[i64::MAX]).unwrap(), [i64::MAX]);
    }
}
