//! # Library

use super::{REDSET_FAILURE, REDSET_SUCCESS, internal, remembered};
use crate::capi::boundary::In;
use crate::capi::kvtree::kvtree;
use crate::capi::{error, guard};
use crate::kvtree::TreeRef;
use crate::log;
use crate::redset::{Config, Result};
use std::ffi::c_int;
use std::ptr::null_mut;

/// Prepares the library. Fails if the environment variable REDSET_ENCODE is set to something other than CPU, OPENMP,
/// PTHREADS or CUDA; which of them does not matter, since the library chooses how it computes.
#[unsafe(no_mangle)]
pub extern "C" fn redset_init() -> c_int {
    guard(REDSET_FAILURE, || {
        let method = std::env::var_os("REDSET_ENCODE").unwrap_or("CPU".into());
        if let Some("CPU" | "OPENMP" | "PTHREADS" | "CUDA") = method.to_str() {
            return REDSET_SUCCESS;
        }
        error::remember(format!("REDSET_ENCODE is {method:?}, which is not known"));
        REDSET_FAILURE
    })
}

/// Ends the use of the library. Descriptors that are left must still be deleted.
#[unsafe(no_mangle)]
pub extern "C" fn redset_finalize() -> c_int {
    REDSET_SUCCESS
}

/// Changes the settings of the process, or shows them.
///
/// DEBUG (int): above 0, errors are logged unless a log level was chosen. SETSIZE (int): least size of the sets that
/// redset_create makes. MPI_BUF_SIZE (byte count): largest message. CHECKSUM (int): 0 leaves checksums out of new
/// redundancy files. SALVAGE (int): 1 lets recover rebuild all it can although more ranks have lost something than the
/// scheme survives. DIRECT (int): 0 makes ranks of one node exchange messages instead of reading and writing each
/// other's files. The last three are shown only once they were set.
///
/// # Returns
/// `config`; NULL if a key or a value is not known, and then nothing is changed. With NULL as `config`: a new tree with
/// all settings, to be freed with kvtree_delete.
#[unsafe(no_mangle)]
pub extern "C" fn redset_config(config: In<kvtree>) -> *mut kvtree {
    guard(null_mut(), || {
        let Some(tree) = config.tree() else {
            return Config::current().to_tree().into_raw();
        };
        match remembered(configure(tree)) {
            Some(()) => config.as_ptr().cast_mut(),
            None => null_mut(),
        }
    })
}

fn configure(tree: TreeRef) -> Result<()> {
    let changed = Config::current().changed_by(tree)?;
    changed.set();
    internal::settings::show(&changed);
    if changed.debug > 0 && tree.get(c"DEBUG").is_some() {
        log::set_default_level(log::LogLevel::Error);
    }
    Ok(())
}
