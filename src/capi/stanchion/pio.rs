//! # PIO
//!
//! Settings of PIO, and the rearrangement of arrays without a file.

use crate::capi::boundary::{Array, Out, OutArray};
use crate::capi::guard;
use crate::capi::pio::errors::{number, status};
use crate::capi::pio::registry::{self, System, on_system};
use crate::pio::error::EIO;
use crate::pio::{Decomp, Error, Outside, Result, agree_same, exchange};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The setting; the environment gives its first value.
fn setting() -> &'static AtomicBool {
    static STRICT: OnceLock<AtomicBool> = OnceLock::new();
    STRICT.get_or_init(|| {
        let given = std::env::var_os("STANCHION_PIO_STRICT");
        AtomicBool::new(given.is_some_and(|value| value == "1"))
    })
}

/// Whether a new decomposition is refused if an element is in its maps more than once.
pub(in crate::capi) fn is_strict() -> bool {
    setting().load(Ordering::Relaxed)
}

/// How to treat entries of a map that are outside of the array, as the environment says.
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

/// Makes new decompositions with the subset rearranger fail (1) or only warn (0, the default) if an element is in their
/// maps more than once. Until the first call the environment variable STANCHION_PIO_STRICT decides. The setting must be
/// the same on all ranks.
///
/// # Returns
/// The previous setting.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_strict(on: c_int) -> c_int {
    setting().swap(on != 0, Ordering::Relaxed).into()
}

/// Counts what this rank holds of a rearranged array as an I/O task: elements, and regions of the array that they are in.
/// Both are 0 on a rank that is no I/O task, and both pointers may be NULL.
///
/// # Returns
/// 0; PIO_EBADID if there is no such decomposition.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_held(ioid: c_int, elements: Out<i64>, regions: Out<i64>) -> c_int {
    on_decomp(ioid, |_, decomp| {
        let held = decomp.plan.held()?;
        elements.set(held.elements() as i64);
        regions.set(held.len() as i64);
        Ok(())
    })
}

/// Lists the regions that stanchion_pio_held has counted, in the order in which their elements are held. `start` and
/// `count` have room for a number in each dimension of each region, the slowest dimension first.
///
/// # Returns
/// 0; PIO_EBADID or PIO_EINVAL.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_regions(
    ioid: c_int,
    start: OutArray<i64>,
    count: OutArray<i64>,
) -> c_int {
    on_decomp(ioid, |_, decomp| {
        let held = decomp.plan.held()?;
        let numbers = held.len() * held.dimensions();
        if numbers > 0 && (start.is_null() || count.is_null()) {
            return Err(Error::Null("start or count"));
        }
        let starts = held.iter().flat_map(|(from, _)| from);
        let starts: Vec<i64> = starts.map(|number| *number as i64).collect();
        let counts = held.iter().flat_map(|(_, size)| size);
        let counts: Vec<i64> = counts.map(|number| *number as i64).collect();
        // SAFETY: the header says that there is room for all numbers.
        unsafe {
            start.fill(&starts);
            count.fill(&counts);
        }
        Ok(())
    })
}

/// Moves an array from the ranks to the I/O tasks, without a file. `array` has this rank's `array_length` elements in the
/// order of its map; `held` gets what this rank holds as an I/O task and has room for `held_length` elements. Elements
/// that are in no map get `fill`, or netCDF's fill value if that is NULL.
///
/// # Returns
/// 0; PIO_EBADID; PIO_EINVAL if an array is too short or NULL.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_to_io(
    ioid: c_int,
    array: Array<c_void>,
    array_length: i64,
    fill: Array<c_void>,
    held: OutArray<c_void>,
    held_length: i64,
) -> c_int {
    on_decomp(ioid, |system, decomp| {
        let size = decomp.kind.size();
        let lengths = [
            (array.is_null(), array_length),
            (held.is_null(), held_length),
        ];
        let given = check(decomp, lengths).and_then(|()| {
            // SAFETY: at least as long, as was checked.
            let array = unsafe { array.cast().slice(decomp.map_len() * size) };
            exchange::pack(&system.io, &decomp.plan, size, array.unwrap_or_default())
        });
        let packed = agree_on(system, decomp, given)?;
        // SAFETY: the header says that it is one element.
        let fill = match unsafe { fill.cast().slice(size) } {
            Some(fill) => fill.to_vec(),
            None => decomp.kind.default_fill(),
        };
        let moved = exchange::to_io(&system.io, &decomp.plan, size, &packed, &fill)?;
        // SAFETY: at least as long, as was checked.
        unsafe { held.cast().fill(&moved) };
        Ok(())
    })
}

/// Moves an array from the I/O tasks to the ranks, without a file: the way back of stanchion_pio_to_io. Holes of the map
/// keep what they had.
///
/// # Returns
/// As stanchion_pio_to_io.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_to_compute(
    ioid: c_int,
    held: Array<c_void>,
    held_length: i64,
    array: OutArray<c_void>,
    array_length: i64,
) -> c_int {
    on_decomp(ioid, |system, decomp| {
        let size = decomp.kind.size();
        let lengths = [
            (array.is_null(), array_length),
            (held.is_null(), held_length),
        ];
        agree_on(system, decomp, check(decomp, lengths))?;
        // SAFETY: both are at least as long, as was checked.
        let (held, array) = unsafe {
            let held = held.cast().slice(decomp.plan.held_len() as usize * size);
            (held, array.cast().slice(decomp.map_len() * size))
        };
        let (held, array) = (held.unwrap_or_default(), array.unwrap_or_default());
        exchange::to_compute(&system.io, &decomp.plan, size, held, array)
    })
}

/// All ranks have arrays that are long enough, and name the same decomposition.
fn agree_on<T>(system: &System, decomp: &Decomp, given: Result<T>) -> Result<T> {
    let given = given.map(|given| (given, decomp.number));
    agree_same(&system.io.comm, "decompositions", given)
}

/// Of `array` and `held`: whether it is NULL, which is as good as empty, and its length in elements.
fn check(decomp: &Decomp, [array, held]: [(bool, i64); 2]) -> Result<()> {
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

/// Returns the number of the type of a decomposition's arrays, which the Fortran module checks; PIO_EBADID if there is no
/// such decomposition.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_decomp_type(ioid: c_int) -> c_int {
    number(|| Ok(registry::decomp(ioid)?.decomp.kind as c_int))
}
