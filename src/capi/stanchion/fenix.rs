//! # Fenix
//!
//! Checksums of data groups in memory.

use crate::capi::boundary::Text;
use crate::failure_domain::topology;
use crate::fenix::{Error, Result};
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A name for Fenix_Data_group_create, beside those of Fenix.
pub(in crate::capi) const STANCHION_FENIX_POLICY_PLACED: c_int = 113;

/// Another one: sets of ranks keep Reed-Solomon parity.
pub(in crate::capi) const STANCHION_FENIX_POLICY_RS: c_int = 114;

/// As `stanchion.h` declares it, but for `k`, which only callers that know mode 6 have.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct stanchion_fenix_placed<'a> {
    pub(in crate::capi) mode: c_int,
    pub(in crate::capi) set_size: c_int,
    path: Text<'a>,
}

/// All of it.
#[repr(C)]
pub(in crate::capi) struct PlacedWithK<'a> {
    placed: stanchion_fenix_placed<'a>,
    pub(in crate::capi) k: c_int,
}

impl stanchion_fenix_placed<'_> {
    /// The path of this rank: that of the caller, of the environment, or the name of the host.
    pub(in crate::capi) fn path_or_own(&self) -> Result<String> {
        match self.path.get() {
            Some(path) => match path.to_str() {
                Ok(path) => Ok(path.to_owned()),
                Err(_) => Err(Error::Policy("the path is not UTF-8".into())),
            },
            None => topology::path_or_host().map_err(no_path),
        }
    }
}

/// The path of this rank if the environment declares one.
pub(in crate::capi) fn declared_path() -> Result<Option<String>> {
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
pub(in crate::capi) fn checksums() -> bool {
    setting().load(Ordering::Relaxed)
}

/// Makes data groups of Fenix that are created from now on keep checksums (1) or not (0, the default). A restore compares
/// what it reads with them; damaged data counts as lost. Until the first call the environment variable
/// STANCHION_FENIX_CHECKSUM decides. The setting must be the same on all ranks.
///
/// # Returns
/// The previous setting.
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
