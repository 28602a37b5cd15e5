//! The functions of the file libraries that `calls.in` lists. Most exist in both, with another prefix of the name.
//!
//! Counts are `MPI_Offset` in one library and `size_t` in the other: both have 64 bits here.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use super::load::Find;
use crate::pio::{Error, Kind, Result};

const _: () = assert!(size_of::<usize>() == 8, "netCDF needs 64-bit counts");

/// A function and its name.
pub(super) struct Call<F> {
    pub(super) name: &'static str,
    pub(super) run: F,
}

/// One function for each kind of data in memory.
pub(super) type ByKind<F> = [Call<F>; 11];

/// put_vara or get_vara: one region.
pub(super) type VaraFn =
    unsafe extern "C" fn(c_int, c_int, *const u64, *const u64, *mut c_void) -> c_int;

// `Calls`: what both libraries have; `Netcdf` and `Pnetcdf`: that, and what only the one has.
include!(concat!(env!("OUT_DIR"), "/calls.rs"));

/// The function for one kind.
pub(super) fn of_kind<F>(table: &ByKind<F>, kind: Kind) -> &Call<F> {
    &table[kind as usize - 1]
}

impl Calls {
    /// An error of the library, with the library's own words for it.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let text = self.text_of(code);
        Err(Error::Format { call, code, text })
    }

    pub(super) fn text_of(&self, code: c_int) -> String {
        // SAFETY: the library has a text for every number, and it lives forever.
        let text = unsafe { CStr::from_ptr((self.strerror.run)(code)) };
        text.to_string_lossy().into_owned()
    }
}
