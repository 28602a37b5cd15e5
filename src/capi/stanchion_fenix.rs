//! `stanchion.h`: what the library adds to Fenix.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The setting; before the first look at it the environment decides.
fn setting() -> &'static AtomicBool {
    static CHECKSUMS: OnceLock<AtomicBool> = OnceLock::new();
    CHECKSUMS.get_or_init(|| {
        let given = std::env::var_os("STANCHION_FENIX_CHECKSUM");
        AtomicBool::new(given.is_some_and(|value| value == "1"))
    })
}

/// Whether groups that are created now keep checksums.
pub(super) fn checksums() -> bool {
    setting().load(Ordering::Relaxed)
}

/// Lets data groups of Fenix that are created from now on keep checksums (1) or not (0, the default): what a
/// restore brings back is compared with them, and a share that is damaged counts as lost. Before the first
/// call the environment variable STANCHION_FENIX_CHECKSUM decides. To be the same on all ranks.
///
/// # Returns
/// The setting until now.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_fenix_checksums(on: c_int) -> c_int {
    setting().swap(on != 0, Ordering::Relaxed).into()
}
