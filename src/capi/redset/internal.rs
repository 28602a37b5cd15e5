//! Names of redset that no public header declares. Upstream's own test programs use them; nothing else should.

use super::{REDSET_FAILURE, REDSET_SUCCESS};
use crate::capi::boundary::{Out, Text};
use crate::capi::guard;
use crate::storage;
use std::ffi::{c_int, c_ulong};

/// Bytes per read.
const BLOCK: usize = 1 << 18;

/// As stat(2).
#[unsafe(no_mangle)]
pub extern "C" fn redset_stat(file: Text, statbuf: Out<libc::stat>) -> c_int {
    // SAFETY: NULL, or a string and room for the answer; the kernel refuses NULL.
    unsafe { libc::stat(file.as_ptr(), statbuf.as_ptr()) }
}

/// The CRC-32 of a file.
#[unsafe(no_mangle)]
pub extern "C" fn redset_crc32(filename: Text, crc: Out<c_ulong>) -> c_int {
    guard(REDSET_FAILURE, || {
        let sum = filename.path().and_then(|path| crc_of(path).ok());
        match sum.is_some_and(|sum| crc.set(sum.into())) {
            true => REDSET_SUCCESS,
            false => REDSET_FAILURE,
        }
    })
}

fn crc_of(path: &std::path::Path) -> storage::Result<u32> {
    let file = storage::file::open_read(path)?;
    let mut buffer = vec![0; BLOCK];
    let mut crc = crc32fast::Hasher::new();
    loop {
        match storage::file::read_full(&file, &mut buffer)? {
            0 => return Ok(crc.finalize()),
            read => crc.update(&buffer[..read]),
        }
    }
}

/// Copies of the settings of `redset_config`, to be read only: writing to them has no effect.
#[cfg(feature = "mpi")]
pub mod settings {
    #![allow(non_upper_case_globals)]

    use crate::redset::Config;
    use std::sync::atomic::{AtomicI32, Ordering};

    const USUAL: Config = Config::usual();

    #[unsafe(no_mangle)]
    pub static redset_debug: AtomicI32 = AtomicI32::new(USUAL.debug);
    #[unsafe(no_mangle)]
    pub static redset_set_size: AtomicI32 = AtomicI32::new(USUAL.set_size);
    #[unsafe(no_mangle)]
    pub static redset_mpi_buf_size: AtomicI32 = AtomicI32::new(USUAL.shown_buf_size());

    pub(in crate::capi) fn show(config: &Config) {
        redset_debug.store(config.debug, Ordering::Relaxed);
        redset_set_size.store(config.set_size, Ordering::Relaxed);
        redset_mpi_buf_size.store(config.shown_buf_size(), Ordering::Relaxed);
    }
}
