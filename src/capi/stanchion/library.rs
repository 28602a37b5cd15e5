//! # Library
//!
//! What the library says about itself and its errors.

use crate::capi::{error, guard};
use crate::log;
use crate::pio::format::{NETCDF, PNETCDF, is_built};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// Receives every message up to the log level: the level (1 error, 2 warning, 3 info, 4 debug), the
/// text, and the pointer given along with the callback. May be called from any thread.
#[allow(non_camel_case_types)]
pub type stanchion_log_callback =
    Option<unsafe extern "C" fn(level: c_int, text: *const c_char, user: *mut c_void)>;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The version of the library, such as "0.1.0". The string lives forever.
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_version() -> *const c_char {
    CStr::from_bytes_with_nul(VERSION.as_bytes())
        .unwrap_or(c"")
        .as_ptr()
}

/// How the library was built: version, target, profile, MPI, and what PIO has. One line; the string lives forever.
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_build_info() -> *const c_char {
    static INFO: OnceLock<CString> = OnceLock::new();
    INFO.get_or_init(|| CString::new(build_info()).unwrap_or_default())
        .as_ptr()
}

fn build_info() -> String {
    format!(
        "stanchion {} ({}{})",
        env!("CARGO_PKG_VERSION"),
        env!("STANCHION_BUILD_INFO"),
        pio_info()
    )
}

/// The binary interface of PIO and its file libraries; PIO comes with MPI only.
fn pio_info() -> String {
    if !cfg!(feature = "mpi") {
        return String::new();
    }
    let abi = if cfg!(feature = "pio_ncar") {
        "NCAR"
    } else {
        "SCORPIO"
    };
    let libraries = [(PNETCDF, "PnetCDF"), (NETCDF, "netCDF")];
    let here = libraries.into_iter().filter(|library| is_built(library.0));
    let names: Vec<_> = here.map(|library| library.1).collect();
    let files = match names.is_empty() {
        true => "no file library".into(),
        false => names.join(" and "),
    };
    format!(", PIO as {abi}'s with {files}")
}

/// Copies the text of this thread's last error, cut to `size` bytes with the closing NUL.
///
/// # Returns
/// The length of the whole text without the NUL; 0 if there was no error.
///
/// # Safety
/// `buffer` is NULL or has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_last_error(buffer: *mut c_char, size: usize) -> usize {
    guard(0, || {
        let text = error::last();
        if size > 0 && !buffer.is_null() {
            let kept = text.len().min(size - 1);
            // SAFETY: the buffer has room for `size` bytes, and kept + 1 <= size.
            unsafe {
                buffer.copy_from_nonoverlapping(text.as_ptr().cast(), kept);
                buffer.add(kept).write(0);
            }
        }
        text.len()
    })
}

/// Sets which messages are logged: 0 none (the default), 1 errors, 2 warnings, 3 information, 4 all.
/// Before the first call the environment variable STANCHION_LOG decides.
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_set_log_level(level: c_int) {
    log::set_level(level);
}

/// Sends log messages to `callback` instead of standard error; NULL goes back to that.
///
/// # Safety
/// `callback` may be called with `user` from any thread until another one is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_set_log_callback(
    callback: stanchion_log_callback,
    user: *mut c_void,
) {
    struct Target(
        unsafe extern "C" fn(c_int, *const c_char, *mut c_void),
        *mut c_void,
    );
    // SAFETY: the caller promised that the callback and its pointer may be used from any thread.
    unsafe impl Send for Target {}
    // SAFETY: as above.
    unsafe impl Sync for Target {}
    impl Target {
        fn call(&self, level: log::Level, text: &str) {
            let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
            // SAFETY: the caller promised a callable function; the text lives over the call.
            unsafe { (self.0)(level as c_int, text.as_ptr(), self.1) }
        }
    }
    let target = callback.map(|function| Target(function, user));
    log::set_sink(
        target.map(|t| Box::new(move |level, text: &str| t.call(level, text)) as log::Sink),
    );
}
