//! `stanchion.h`: what the library adds to Fenix.

use super::ptr;
use crate::failure_domain::topology;
use crate::fenix::{Error, Result};
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A name for Fenix_Data_group_create, beside those of Fenix.
pub(super) const STANCHION_FENIX_POLICY_PLACED: c_int = 113;

/// Another one: sets of ranks keep Reed-Solomon parity.
pub(super) const STANCHION_FENIX_POLICY_RS: c_int = 114;

/// As `stanchion.h` declares it, but for `k`, which only callers that know mode 6 have.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct stanchion_fenix_placed {
    pub(super) mode: c_int,
    pub(super) set_size: c_int,
    path: *const c_char,
}

/// All of it.
#[repr(C)]
pub(super) struct PlacedWithK {
    placed: stanchion_fenix_placed,
    pub(super) k: c_int,
}

impl stanchion_fenix_placed {
    /// The path of this rank: that of the caller, of the environment, or the name of the host.
    pub(super) unsafe fn path_or_own(&self) -> Result<String> {
        // SAFETY: arguments of the caller.
        match unsafe { ptr::text(self.path) } {
            Some(path) => match path.to_str() {
                Ok(path) => Ok(path.to_owned()),
                Err(_) => Err(Error::Policy("the path is not UTF-8".into())),
            },
            None => topology::path_or_host().map_err(no_path),
        }
    }
}

/// The path of this rank if the environment declares one.
pub(super) fn declared_path() -> Result<Option<String>> {
    topology::path().map_err(no_path)
}

fn no_path(cause: topology::Error) -> Error {
    Error::Policy(cause.to_string())
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_struct_is_laid_out_as_in_c() {
        assert_eq!(offset_of!(stanchion_fenix_placed, set_size), 4);
        assert_eq!(offset_of!(stanchion_fenix_placed, path), 8);
        assert_eq!(size_of::<stanchion_fenix_placed>(), 16);
        assert_eq!(offset_of!(PlacedWithK, placed), 0);
        assert_eq!(offset_of!(PlacedWithK, k), 16);
    }
}
