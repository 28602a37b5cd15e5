//! # Library
//!
//! Meanings of error codes, messages, versions.

use super::errors::{PIO_NOERR, status};
use super::registry::on_system;
use crate::capi::boundary::{Out, OutArray};
use crate::capi::guard;
use crate::comm::Comm;
use crate::log;
use crate::pio::error::{EBADIOTYPE, EBADREARR};
use crate::pio::{Error, format};
use std::ffi::{CStr, CString, c_char, c_int};

/// Gets the meaning of an error code. `errstr` has room for PIO_MAX_NAME characters and a NUL. stanchion_last_error tells
/// more.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_strerror(pioerr: c_int, errstr: OutArray<c_char>) -> c_int {
    strerror(pioerr, errstr, super::args::NAME_ROOM)
}

/// Gets the meaning of an error code, cut to `errmsg_sz` bytes with the closing NUL. stanchion_last_error tells more.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_strerror(
    pioerr: c_int,
    errmsg: OutArray<c_char>,
    errmsg_sz: usize,
) -> c_int {
    strerror(pioerr, errmsg, errmsg_sz)
}

fn strerror(code: c_int, place: OutArray<c_char>, room: usize) -> c_int {
    status(|| {
        if place.is_null() {
            return Err(Error::Null("errmsg"));
        }
        let text = CString::new(text_of(code)).unwrap_or_default();
        // SAFETY: the header says that there is so much room.
        unsafe { place.put(room, &text) };
        Ok(())
    })
}

fn text_of(code: c_int) -> String {
    const EINTERNAL: c_int = -501;
    match code {
        PIO_NOERR => "No error".into(),
        1.. => text_of_system(code),
        EBADIOTYPE => "Bad IO type".into(),
        EINTERNAL if cfg!(feature = "pio_ncar") => "Variable dim mismatch in multivar call".into(),
        EINTERNAL => "Internal error".into(),
        EBADREARR => "Rearranger mismatch in async mode".into(),
        code => format::text_of(code).unwrap_or_else(|| unknown(code)),
    }
}

/// As strerror has it.
fn text_of_system(code: c_int) -> String {
    let text = std::io::Error::from_raw_os_error(code).to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.into(),
        None => text,
    }
}

fn unknown(code: c_int) -> String {
    let text = "Unknown Error: Unrecognized error code";
    match cfg!(feature = "pio_ncar") {
        true => text.into(),
        false => format!("{text} (err = {code})"),
    }
}

/// Sets which messages are logged: -1 none, 0 errors, 1 warnings, 2 information, 3 and more all. As
/// stanchion_set_log_level.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_log_level(level: c_int) -> c_int {
    guard(PIO_NOERR, || {
        log::set_level(level.saturating_add(1));
        PIO_NOERR
    })
}

/// As PIOc_set_log_level with the level of the first rank on all of them.
///
/// # Collective
/// Called by all ranks of the I/O system.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_global_log_level(iosysid: c_int, level: c_int) -> c_int {
    on_system(iosysid, |system| {
        let mut bytes = level.to_le_bytes();
        system.io.comm.bcast(0, &mut bytes)?;
        log::set_level(c_int::from_le_bytes(bytes).saturating_add(1));
        Ok(())
    })
}

// ---- versions ----

/// The version of upstream whose functions these are.
pub(in crate::capi) const VERSION: (c_int, c_int, c_int) = if cfg!(feature = "pio_ncar") {
    (2, 7, 0)
} else {
    (2, 0, 1)
};

/// As text.
pub(in crate::capi) fn version() -> String {
    let (major, minor, patch) = VERSION;
    format!("{major}.{minor}.{patch}")
}

/// Returns PIO_VERSION_MAJOR of the library.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_version_major() -> c_int {
    VERSION.0
}

/// Returns PIO_VERSION_MINOR of the library.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_version_minor() -> c_int {
    VERSION.1
}

/// Returns PIO_VERSION_PATCH of the library.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_version_patch() -> c_int {
    VERSION.2
}

/// Gets the version as text, cut to `len` bytes with the closing NUL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_version_string(vstr: OutArray<c_char>, len: c_int) -> c_int {
    put(vstr, len, &CString::new(version()).unwrap_or_default())
}

/// Gets what stands for the commit: the version of Stanchion, cut to `len` bytes with the closing NUL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_version_hash(vstr: OutArray<c_char>, len: c_int) -> c_int {
    let text = CString::new(concat!("stanchion-", env!("CARGO_PKG_VERSION")));
    put(vstr, len, &text.unwrap_or_default())
}

/// Gets the numbers of the version and its text. Each may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_version(
    major: Out<c_int>,
    minor: Out<c_int>,
    patch: Out<c_int>,
    vstr: OutArray<c_char>,
    vstr_len: c_int,
) -> c_int {
    major.set(VERSION.0);
    minor.set(VERSION.1);
    patch.set(VERSION.2);
    PIOc_get_version_string(vstr, vstr_len)
}

fn put(place: OutArray<c_char>, room: c_int, text: &CStr) -> c_int {
    guard(PIO_NOERR, || {
        // SAFETY: the header says that there is so much room.
        unsafe { place.put(usize::try_from(room).unwrap_or(0), text) };
        PIO_NOERR
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_text() {
        assert_eq!(text_of(0), "No error");
        assert_eq!(text_of(-500), "Bad IO type");
        assert!(text_of(2).contains("No such file"));
        assert!(text_of(-9999).starts_with("Unknown Error"));
        for code in [-33, -36, -61, -111, -203, -501, -502] {
            assert!(!text_of(code).is_empty());
        }
    }
}
