//! # Library
//!
//! Version, errors and messages.

use crate::capi::boundary::OutArray;
use crate::capi::{error, guard};
use crate::log;
use crate::pio::format::{NETCDF, PNETCDF, is_built};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// As `stanchion.h` declares it.
#[allow(non_camel_case_types)]
pub type stanchion_log_callback =
    Option<unsafe extern "C" fn(level: c_int, text: *const c_char, user: *mut c_void)>;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// Returns the version of the library, such as "0.1.0". The string lives forever.
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_version() -> *const c_char {
    CStr::from_bytes_with_nul(VERSION.as_bytes())
        .unwrap_or(c"")
        .as_ptr()
}

/// Returns how the library was built, in one line: version, target, profile, MPI, and what PIO has. The string lives
/// forever.
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

/// Copies the text of this thread's last error into `buffer`, cut to `size` bytes with the closing NUL. `buffer` may be
/// NULL.
///
/// # Returns
/// The length of the whole text without the NUL; 0 if there was no error.
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_last_error(buffer: OutArray<c_char>, size: usize) -> usize {
    guard(0, || {
        let text = error::last();
        let length = text.len();
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the buffer has room for `size` bytes.
        unsafe { buffer.put(size, &text) };
        length
    })
}

/// Sets which messages are logged: 0 none (the default), 1 errors, 2 warnings, 3 information, 4 all.
/// Until the first call the environment variable STANCHION_LOG decides.
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_set_log_level(level: c_int) {
    log::set_level(level);
}

/// Sends log messages to `callback` instead of standard error; NULL restores that. The callback may be called with `user`
/// from any thread until another one is set.
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_set_log_callback(callback: stanchion_log_callback, user: *mut c_void) {
    struct LogTarget(
        unsafe extern "C" fn(c_int, *const c_char, *mut c_void),
        *mut c_void,
    );
    // SAFETY: the header says that the callback and its pointer may be used from any thread.
    unsafe impl Send for LogTarget {}
    // SAFETY: as above.
    unsafe impl Sync for LogTarget {}
    impl LogTarget {
        fn call(&self, level: log::LogLevel, text: &str) {
            let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
            // SAFETY: a function of the caller; the text lives until it returns.
            unsafe { (self.0)(level as c_int, text.as_ptr(), self.1) }
        }
    }
    let target = callback.map(|function| LogTarget(function, user));
    log::set_sink(
        target.map(|t| Box::new(move |level, text: &str| t.call(level, text)) as log::LogSink),
    );
}
