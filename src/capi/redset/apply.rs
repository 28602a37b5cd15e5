//! # Apply
//!
//! Protect files, and rebuild those that are lost.

use super::descriptors::{HeldRedset, agree, check_same, clear, held, name, own_comm};
use super::filelists::hand_out;
use super::{paths, redset, redset_filelist, status};
use crate::capi::boundary::{InOut, Out, OutArray, Text};
use crate::capi::guard;
use crate::comm::Comm;
use crate::comm::mpi::MPI_Comm;
use crate::redset::{self as room, Config, Result};
use std::ffi::c_int;

/// Fails if ranks have different settings that decide who sends what to whom.
fn check_settings(comm: &impl Comm) -> Result<()> {
    let config = Config::current();
    let buf_size = config.buf_size.map_or(0, |bytes| bytes as u64);
    let switches = [config.checksums(), config.salvages(), config.is_direct()];
    let [checksums, salvages, direct] = switches.map(u64::from);
    check_same(comm, "settings", [buf_size, checksums, salvages, direct])
}

/// Protects `files`: writes redundancy to new files whose names begin with `name`.
///
/// # Collective
/// Called by all ranks of the communicator that the descriptor was made from, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn redset_apply(
    numfiles: c_int,
    files: OutArray<Text>,
    name: Text,
    d: redset,
) -> c_int {
    status(|| {
        let held = held(d)?;
        let given = paths(numfiles, files);
        let given = given.and_then(|files| Ok((files, self::name(name)?, held.redset()?)));
        let (files, name, redset) = agree(&held.comm, given)?;
        check_settings(&held.comm)?;
        redset.apply(&files, name)
    })
}

/// Rebuilds what is missing or damaged of the files that redset_apply protected under `name`.
///
/// # Returns
/// 0 if all files of all ranks are there again. `d` gets a descriptor even on failure, as complete as can be known, to be
/// freed with redset_delete; NULL only if the communicator cannot be used.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn redset_recover(comm: MPI_Comm, name: Text, d: Out<redset>) -> c_int {
    status(|| {
        let cleared = clear(d);
        let comm = own_comm(comm)?;
        let name = agree(&comm, cleared.and_then(|()| self::name(name)));
        let name = name.and_then(|name| check_settings(&comm).map(|()| name));
        let (redset, verdict) = match name {
            Ok(name) => room::recover(&comm, name).map(|(d, verdict)| (Some(d), verdict))?,
            Err(error) => (None, Err(error)),
        };
        if !d.is_null() {
            d.set(HeldRedset::hand_out(comm, redset));
        }
        verdict
    })
}

/// Removes the files that redset_apply wrote under `name`.
///
/// # Collective
/// Called by all ranks of the communicator that the descriptor was made from, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn redset_unapply(name: Text, d: redset) -> c_int {
    status(|| {
        let held = held(d)?;
        let given = self::name(name).and_then(|name| Ok((name, held.redset()?)));
        let (name, redset) = agree(&held.comm, given)?;
        redset.unapply(name)
    })
}

/// Lists the files that redset_apply writes on this rank. Free the list with redset_filelist_release.
#[unsafe(no_mangle)]
pub extern "C" fn redset_filelist_enc_get(name: Text, d: redset) -> redset_filelist<'static> {
    guard(InOut::NULL, || {
        let redset = held(d).and_then(HeldRedset::redset);
        hand_out(
            redset
                .and_then(|redset| redset.redundancy_files(self::name(name)?))
                .map(Vec::from),
        )
    })
}

/// Lists the files that this rank gave to redset_apply; NULL if that is no longer known. Free the list with
/// redset_filelist_release.
#[unsafe(no_mangle)]
pub extern "C" fn redset_filelist_orig_get(name: Text, d: redset) -> redset_filelist<'static> {
    guard(InOut::NULL, || {
        let redset = held(d).and_then(HeldRedset::redset);
        hand_out(redset.and_then(|redset| redset.original_files(self::name(name)?)))
    })
}
