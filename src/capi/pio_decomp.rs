//! `pio.h`: decompositions.

use super::pio_args::array;
use super::pio_errors::number;
use super::pio_iosystem::{PIO_REARR_SUBSET, rearranger};
use super::pio_registry::{self as registry, System, digest, on_system};
use super::pio_types::PIO_Offset;
use super::stanchion_pio;
use crate::pio::{Decomp, DecompSpec, Error, Kind, Outside, Rearranger, Result, agree_same};
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicI32, Ordering};

/// What upstream has unless told otherwise.
const BLOCK_SIZE: c_int = if cfg!(feature = "pio_ncar") {
    1 << 20
} else {
    1024
};

static BLOCK: AtomicI32 = AtomicI32::new(BLOCK_SIZE);

/// What a rank gave to one of the functions below, checked.
pub(super) struct Given<'a> {
    kind: Kind,
    dims: Vec<u64>,
    map: &'a [i64],
    rearranger: Rearranger,
    read_only: bool,
    io_region: Option<(Vec<u64>, Vec<u64>)>,
    block_size: u64,
    strict: bool,
    outside: Outside,
}

impl<'a> Given<'a> {
    /// `rearranger`: another than the I/O system has.
    pub(super) fn new(
        system: &System,
        pio_type: c_int,
        dims: Vec<u64>,
        map: &'a [i64],
        rearranger: Option<c_int>,
    ) -> Result<Self> {
        let default = system.io.rearranger;
        let chosen = rearranger.map(|number| self::rearranger(number, default));
        Ok(Given {
            kind: Kind::from_number(pio_type)?,
            dims,
            map,
            rearranger: chosen.transpose()?.unwrap_or(default),
            read_only: false,
            io_region: None,
            block_size: BLOCK.load(Ordering::Relaxed) as u64,
            strict: stanchion_pio::is_strict(),
            outside: stanchion_pio::outside()?,
        })
    }

    /// Of what all ranks must want alike.
    fn digest(&self) -> u64 {
        let kind = self.kind as c_int;
        let options = (self.read_only, self.block_size, self.strict, self.outside);
        digest((kind, &self.dims, self.rearranger, options))
    }

    fn spec(&self) -> DecompSpec {
        DecompSpec {
            kind: self.kind,
            dims: self.dims.clone(),
            rearranger: self.rearranger,
            read_only: self.read_only,
            io_region: self.io_region.clone(),
            block_size: self.block_size,
            strict: self.strict,
            outside: self.outside,
        }
    }
}

/// The arguments that all functions have, unchecked. Pointers are NULL or as the header says.
struct Arguments {
    pio_type: c_int,
    ndims: c_int,
    gdimlen: *const c_int,
    maplen: c_int,
    compmap: *const PIO_Offset,
    ioidp: *mut c_int,
    rearranger: Option<c_int>,
    iostart: *const PIO_Offset,
    iocount: *const PIO_Offset,
    read_only: bool,
}

impl Arguments {
    unsafe fn check<'a>(&self, system: &System) -> Result<Given<'a>> {
        // SAFETY: promised by the caller.
        let map = unsafe { array("compmap", self.compmap, self.maplen) }?;
        // SAFETY: as above.
        unsafe { self.check_with(system, map) }
    }

    /// With a map that takes the place of the caller's.
    unsafe fn check_with<'a>(&self, system: &System, map: &'a [i64]) -> Result<Given<'a>> {
        if self.ioidp.is_null() {
            return Err(Error::Null("ioidp"));
        }
        // SAFETY: promised by the caller.
        let dims = unsafe { dims(self.ndims, self.gdimlen) }?;
        let mut given = Given::new(system, self.pio_type, dims, map, self.rearranger)?;
        given.read_only = self.read_only;
        if given.rearranger == Rearranger::Box && system.io.io_rank().is_some() {
            // SAFETY: as above.
            given.io_region = unsafe { self.io_region() }?;
        }
        Ok(given)
    }

    unsafe fn io_region(&self) -> Result<Option<(Vec<u64>, Vec<u64>)>> {
        if self.iostart.is_null() || self.iocount.is_null() {
            return Ok(None);
        }
        // SAFETY: promised by the caller.
        let start = unsafe { array("iostart", self.iostart, self.ndims) }?;
        // SAFETY: as above.
        let count = unsafe { array("iocount", self.iocount, self.ndims) }?;
        Ok(Some((
            naturals("iostart", start)?,
            naturals("iocount", count)?,
        )))
    }

    unsafe fn give(&self, id: c_int) -> Result<()> {
        // SAFETY: not NULL, or the ranks had not agreed.
        unsafe { self.ioidp.write(id) };
        Ok(())
    }
}

/// Makes what all ranks want alike, and returns its id. Collective.
pub(super) fn make(system: &System, given: Result<Given>) -> Result<c_int> {
    let given = given.map(|given| {
        let digest = given.digest();
        (given, digest)
    });
    let given = agree_same(&system.io.comm, "decompositions", given)?;
    let decomp = Decomp::new(&system.io, &given.spec(), given.map)?;
    registry::add_decomp(system.id, decomp)
}

/// Lengths of dimensions, at least one of them and each at least 1.
pub(super) unsafe fn dims(ndims: c_int, lengths: *const c_int) -> Result<Vec<u64>> {
    if ndims < 1 {
        return Err(Error::Invalid(format!("{ndims} dimensions")));
    }
    // SAFETY: promised by the caller.
    let lengths = unsafe { array("gdimlen", lengths, ndims) }?;
    match lengths.iter().find(|length| **length < 1) {
        Some(length) => Err(Error::Invalid(format!("a dimension of length {length}"))),
        None => Ok(lengths.iter().map(|length| *length as u64).collect()),
    }
}

fn naturals(name: &str, values: &[i64]) -> Result<Vec<u64>> {
    let naturals = values.iter().map(|value| u64::try_from(*value));
    let naturals = naturals.collect::<std::result::Result<_, _>>();
    naturals.map_err(|_| Error::Invalid(format!("{name} has a negative entry")))
}

/// Makes a decomposition: `compmap` has the places in the array of this rank's elements, counted from 1, 0
/// for an element that is in no file (a hole). The order is free. `rearr` NULL: as the I/O system has it.
/// `iostart` and `iocount`, unless NULL, say what this I/O task shall hold (box rearranger only).
///
/// # Returns
/// PIO_NOERR, and the id in `ioidp`. PIO_EINVAL if an entry is outside of the array, or if an element is in the
/// maps more than once: with the box rearranger always, with the subset rearranger if
/// stanchion_pio_strict asks for it.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_InitDecomp(
    iosysid: c_int,
    pio_type: c_int,
    ndims: c_int,
    gdimlen: *const c_int,
    maplen: c_int,
    compmap: *const PIO_Offset,
    ioidp: *mut c_int,
    rearr: *const c_int,
    iostart: *const PIO_Offset,
    iocount: *const PIO_Offset,
) -> c_int {
    let arguments = Arguments {
        pio_type,
        ndims,
        gdimlen,
        maplen,
        compmap,
        ioidp,
        // SAFETY: arguments of the caller.
        rearranger: unsafe { rearr.as_ref() }.copied(),
        iostart,
        iocount,
        read_only: false,
    };
    // SAFETY: as above.
    on_system(iosysid, |system| unsafe {
        arguments.give(make(system, arguments.check(system))?)
    })
}

/// As PIOc_InitDecomp for a decomposition that is only read with: an element may be in the maps many times.
///
/// # Collective
/// As PIOc_InitDecomp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_InitDecomp_ReadOnly(
    iosysid: c_int,
    pio_type: c_int,
    ndims: c_int,
    gdimlen: *const c_int,
    maplen: c_int,
    compmap: *const PIO_Offset,
    ioidp: *mut c_int,
    rearr: *const c_int,
    iostart: *const PIO_Offset,
    iocount: *const PIO_Offset,
) -> c_int {
    let arguments = Arguments {
        pio_type,
        ndims,
        gdimlen,
        maplen,
        compmap,
        ioidp,
        // SAFETY: arguments of the caller.
        rearranger: unsafe { rearr.as_ref() }.copied(),
        iostart,
        iocount,
        read_only: true,
    };
    // SAFETY: as above.
    on_system(iosysid, |system| unsafe {
        arguments.give(make(system, arguments.check(system))?)
    })
}

/// As PIOc_InitDecomp with places counted from 0 and -1 for a hole; `rearranger` 0: as the I/O system has it.
///
/// # Collective
/// As PIOc_InitDecomp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_init_decomp(
    iosysid: c_int,
    pio_type: c_int,
    ndims: c_int,
    gdimlen: *const c_int,
    maplen: c_int,
    compmap: *const PIO_Offset,
    ioidp: *mut c_int,
    rearranger: c_int,
    iostart: *const PIO_Offset,
    iocount: *const PIO_Offset,
) -> c_int {
    let arguments = Arguments {
        pio_type,
        ndims,
        gdimlen,
        maplen,
        compmap,
        ioidp,
        rearranger: (rearranger != 0).then_some(rearranger),
        iostart,
        iocount,
        read_only: false,
    };
    // SAFETY: arguments of the caller.
    on_system(iosysid, |system| unsafe {
        let map = array("compmap", compmap, maplen).and_then(from_one);
        let given = match &map {
            Ok(map) => arguments.check_with(system, map),
            Err(error) => Err(error.clone()),
        };
        arguments.give(make(system, given)?)
    })
}

/// Places counted from 1 instead of from 0.
fn from_one(map: &[i64]) -> Result<Vec<i64>> {
    let mut counted = room(map.len())?;
    counted.extend(map.iter().map(|place| place.saturating_add(1)));
    Ok(counted)
}

/// An empty list with room for so many entries.
fn room(entries: usize) -> Result<Vec<i64>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(entries) {
        Ok(()) => Ok(list),
        Err(_) => Err(Error::Memory(8 * entries as u64)),
    }
}

/// Makes a decomposition in which this rank has one block of the array: `count` elements from `start` (counted
/// from 0) in each dimension. With the subset rearranger.
///
/// # Collective
/// As PIOc_InitDecomp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_InitDecomp_bc(
    iosysid: c_int,
    basetype: c_int,
    ndims: c_int,
    gdimlen: *const c_int,
    start: *const c_long,
    count: *const c_long,
    ioidp: *mut c_int,
) -> c_int {
    let arguments = Arguments {
        pio_type: basetype,
        ndims,
        gdimlen,
        maplen: 0,
        compmap: std::ptr::null(),
        ioidp,
        rearranger: Some(PIO_REARR_SUBSET),
        iostart: std::ptr::null(),
        iocount: std::ptr::null(),
        read_only: false,
    };
    // SAFETY: arguments of the caller.
    on_system(iosysid, |system| unsafe {
        let map = block(ndims, gdimlen, start, count);
        let given = match &map {
            Ok(map) => arguments.check_with(system, map),
            Err(error) => Err(error.clone()),
        };
        arguments.give(make(system, given)?)
    })
}

unsafe fn block(
    ndims: c_int,
    gdimlen: *const c_int,
    start: *const c_long,
    count: *const c_long,
) -> Result<Vec<i64>> {
    // SAFETY: promised by the caller.
    let dims = unsafe { dims(ndims, gdimlen) }?;
    // SAFETY: as above.
    let (start, count) = unsafe { (array("start", start, ndims)?, array("count", count, ndims)?) };
    #[allow(clippy::useless_conversion)] // a long has 32 bits elsewhere
    let wide = |values: &[c_long]| values.iter().map(|v| i64::from(*v)).collect::<Vec<_>>();
    let start = naturals("start", &wide(start))?;
    let count = naturals("count", &wide(count))?;
    map_of_block(&dims, &start, &count)
}

/// The places of a block of the array, from 1.
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
    // From the places of one dimension to those of one more: each place becomes the begin of a row.
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

/// Frees a decomposition. What was handed to PIOc_write_darray with it is still written.
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

/// The length of this rank's map.
///
/// # Returns
/// The length; PIO_EBADID if there is no such decomposition.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_local_array_size(ioid: c_int) -> c_int {
    number(|| {
        let length = registry::decomp(ioid)?.decomp.map_len();
        c_int::try_from(length).map_err(|_| Error::Invalid(format!("{length} elements")))
    })
}

/// Sets the fewest bytes that an I/O task is used for by the box rearranger, for decompositions that are made
/// from now on. To be the same on all ranks. Ignored if not positive.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_blocksize(newblocksize: c_int) -> c_int {
    if newblocksize > 0 {
        BLOCK.store(newblocksize, Ordering::Relaxed);
    }
    super::pio_errors::PIO_NOERR
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
