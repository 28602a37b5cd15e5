//! `stanchion.h`: what the library adds to PIO.

use std::ffi::c_int;
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
pub(super) fn is_strict() -> bool {
    setting().load(Ordering::Relaxed)
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

/// What the arrays of a decomposition are made of. The Fortran module asks this of every array it is given.
///
/// # Returns
/// The number of the type; PIO_EBADID if there is no such decomposition.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_decomp_type(ioid: c_int) -> c_int {
    super::pio_errors::number(|| Ok(super::pio_registry::decomp(ioid)?.decomp.kind as c_int))
}
