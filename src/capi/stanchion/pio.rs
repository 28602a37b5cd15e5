//! # PIO
//!
//! What the library adds to PIO.

use crate::capi::pio::args as pio_args;
use crate::capi::pio::errors::status;
use crate::capi::pio::registry::{self as registry, System, on_system};
use crate::capi::{guard, ptr};
use crate::pio::error::EIO;
use crate::pio::{Decomp, Error, Outside, Result, agree_same, exchange};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The setting; before the first look at it the environment decides.
fn setting() -> &'static AtomicBool {
    static STRICT: OnceLock<AtomicBool> = OnceLock::new();
    STRICT.get_or_init(|| {
        let given = std::env::var_os("STANCHION_PIO_STRICT");
        AtomicBool::new(given.is_some_and(|value| value == "1"))
    })
}

/// Whether decompositions that are made now are refused if an element is in their maps more than once.
pub(in crate::capi) fn is_strict() -> bool {
    setting().load(Ordering::Relaxed)
}

/// What entries of a map are that are not in the array, as the environment says.
pub(in crate::capi) fn outside() -> Result<Outside> {
    static OUTSIDE: OnceLock<Result<Outside>> = OnceLock::new();
    let look = || match std::env::var_os("STANCHION_PIO_BOUNDS") {
        None => Ok(Outside::Refused),
        Some(value) if value == "holes" => Ok(Outside::Hole),
        Some(value) if value == "wrap" => Ok(Outside::Wrapped),
        Some(value) => Err(Error::Invalid(format!(
            "STANCHION_PIO_BOUNDS is {value:?}, not holes or wrap"
        ))),
    };
    OUTSIDE.get_or_init(look).clone()
}

/// Lets decompositions with the subset rearranger that are made from now on fail (1) or only warn (0, the
/// default) if an element is in their maps more than once. Before the first call the environment variable
/// STANCHION_PIO_STRICT decides. To be the same on all ranks.
///
/// # Returns
/// The setting until now.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_strict(on: c_int) -> c_int {
    setting().swap(on != 0, Ordering::Relaxed).into()
}

/// How much of an array this rank holds as an I/O task when it is rearranged: elements, and regions of the array
/// that they lie in. Both are 0 on a rank that is no I/O task, and both pointers may be NULL.
///
/// # Returns
/// 0; PIO_EBADID if there is no such decomposition.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_pio_held(
    ioid: c_int,
    elements: *mut i64,
    regions: *mut i64,
) -> c_int {
    on_decomp(ioid, |_, decomp| {
        let held = decomp.plan.held()?;
        // SAFETY: arguments of the caller.
        unsafe {
            ptr::store(elements, held.elements() as i64);
            ptr::store(regions, held.len() as i64);
        }
        Ok(())
    })
}

/// The regions that stanchion_pio_held has counted, in the order in which their elements are held. `start` and `count`
/// have room for a number in each dimension of each region, the slowest dimension first.
///
/// # Returns
/// 0; PIO_EBADID or PIO_EINVAL.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_pio_regions(
    ioid: c_int,
    start: *mut i64,
    count: *mut i64,
) -> c_int {
    on_decomp(ioid, |_, decomp| {
        let held = decomp.plan.held()?;
        let numbers = held.len() * held.dimensions();
        if numbers > 0 && (start.is_null() || count.is_null()) {
            return Err(Error::Null("start or count"));
        }
        for (at, (from, size)) in held.iter().enumerate() {
            for (dim, (from, size)) in from.iter().zip(size).enumerate() {
                let at = at * held.dimensions() + dim;
                // SAFETY: arguments of the caller, with room for all numbers.
                unsafe {
                    start.add(at).write(*from as i64);
                    count.add(at).write(*size as i64);
                }
            }
        }
        Ok(())
    })
}

/// Moves an array from the ranks to the I/O tasks, without a file. `array` has this rank's `array_length` elements in
/// the order of its map; `held` gets what this rank holds as an I/O task and has room for `held_length` elements.
/// Elements that are in no map get `fill`, or if that is NULL netCDF's fill value.
///
/// # Returns
/// 0; PIO_EBADID; PIO_EINVAL if an array is too short or NULL.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_pio_to_io(
    ioid: c_int,
    array: *const c_void,
    array_length: i64,
    fill: *const c_void,
    held: *mut c_void,
    held_length: i64,
) -> c_int {
    on_decomp(ioid, |system, decomp| {
        let size = decomp.kind.size();
        let given = check(
            decomp,
            (array.is_null(), array_length),
            (held.is_null(), held_length),
        );
        let given = given.and_then(|()| {
            let bytes = decomp.map_len() * size;
            // SAFETY: as long as was checked.
            let array = unsafe { pio_args::array("array", array.cast::<u8>(), bytes as i64) }?;
            exchange::pack(&system.io, &decomp.plan, size, array)
        });
        let packed = agree_on(system, decomp, given)?;
        let fill = match fill.is_null() {
            true => decomp.kind.default_fill(),
            // SAFETY: arguments of the caller: one element.
            false => unsafe { std::slice::from_raw_parts(fill.cast::<u8>(), size) }.to_vec(),
        };
        let moved = exchange::to_io(&system.io, &decomp.plan, size, &packed, &fill)?;
        // SAFETY: as long as was checked.
        unsafe { pio_args::store_all(held.cast::<u8>(), &moved) };
        Ok(())
    })
}

/// Moves an array from the I/O tasks to the ranks, without a file: the way back of stanchion_pio_to_io. Holes of the
/// map keep what they had.
///
/// # Returns
/// As stanchion_pio_to_io.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_pio_to_compute(
    ioid: c_int,
    held: *const c_void,
    held_length: i64,
    array: *mut c_void,
    array_length: i64,
) -> c_int {
    on_decomp(ioid, |system, decomp| {
        let size = decomp.kind.size();
        let given = check(
            decomp,
            (array.is_null(), array_length),
            (held.is_null(), held_length),
        );
        agree_on(system, decomp, given)?;
        let bytes = decomp.plan.held_len() as usize * size;
        // SAFETY: as long as was checked.
        let held = unsafe { pio_args::array("held", held.cast::<u8>(), bytes as i64) }?;
        let array = match decomp.map_len() * size {
            0 => &mut [],
            // SAFETY: as above.
            bytes => unsafe { std::slice::from_raw_parts_mut(array.cast::<u8>(), bytes) },
        };
        exchange::to_compute(&system.io, &decomp.plan, size, held, array)
    })
}

/// All ranks have found their arrays right and name the same decomposition.
fn agree_on<T>(system: &System, decomp: &Decomp, given: Result<T>) -> Result<T> {
    let given = given.map(|given| (given, decomp.number));
    agree_same(&system.io.comm, "decompositions", given)
}

/// Each array is NULL or not and has a length in elements; NULL is as good as an empty one.
fn check(decomp: &Decomp, array: (bool, i64), held: (bool, i64)) -> Result<()> {
    let needed = [
        ("array", array, decomp.map_len() as u64),
        ("held", held, decomp.plan.held_len()),
    ];
    for (name, (is_null, length), needed) in needed {
        let length = u64::try_from(length).ok().filter(|_| !is_null);
        if length.unwrap_or(0) < needed {
            return Err(Error::Invalid(format!(
                "{name} is shorter than {needed} elements"
            )));
        }
    }
    Ok(())
}

/// Runs a call on a decomposition and its I/O system.
fn on_decomp(ioid: c_int, body: impl FnOnce(&System, &Decomp) -> Result<()>) -> c_int {
    let held = match guard(None, || Some(registry::decomp(ioid))) {
        Some(Ok(held)) => held,
        Some(Err(error)) => return status(|| Err(error)),
        None => return EIO,
    };
    on_system(held.system, |system| body(system, &held.decomp))
}

/// What the arrays of a decomposition are made of. The Fortran module asks this of every array it is given.
///
/// # Returns
/// The number of the type; PIO_EBADID if there is no such decomposition.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_decomp_type(ioid: c_int) -> c_int {
    crate::capi::pio::errors::number(|| {
        Ok(crate::capi::pio::registry::decomp(ioid)?.decomp.kind as c_int)
    })
}
