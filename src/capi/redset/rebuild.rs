//! # Rebuild
//!
//! One process rebuilds the files of a set, without MPI, from the redundancy files that were found.

use super::filelists::hand_out;
use super::{paths, redset_filelist, status};
use crate::capi::boundary::{In, InOut, Out, OutArray, Text, malloc_copy};
use crate::capi::guard;
use crate::capi::kvtree::kvtree;
use crate::kvtree::Error as TreeError;
use crate::redset::rebuild::{self, Contents, SchemeKind};
use crate::redset::{Error, Result};
use std::ffi::c_int;
use std::ptr::null_mut;

/// Lists the original files of a PARTNER set, from those of its redundancy files that were found.
///
/// `groupsize` gets the number of ranks of the set, `groupranks` a malloc'ed array with the rank of each in the parent
/// communicator, for the caller to free.
///
/// # Returns
/// The list, to be freed with redset_filelist_release; NULL if the files do not say which.
#[unsafe(no_mangle)]
pub extern "C" fn redset_filelist_get_data_partner(
    num: c_int,
    files: OutArray<Text>,
    groupsize: Out<c_int>,
    groupranks: Out<*mut c_int>,
) -> redset_filelist<'static> {
    get_data(SchemeKind::Partner, num, files, groupsize, groupranks)
}

/// Rebuilds what is missing of a PARTNER set from the redundancy files that are given.
///
/// New redundancy files get names that begin with `prefix`. `map` gives the present path of each original file; NULL if
/// none was moved.
#[unsafe(no_mangle)]
pub extern "C" fn redset_rebuild_partner(
    num: c_int,
    files: OutArray<Text>,
    prefix: Text,
    map: In<kvtree>,
) -> c_int {
    rebuild(SchemeKind::Partner, num, files, prefix, map)
}

/// As redset_filelist_get_data_partner, for an XOR set.
#[unsafe(no_mangle)]
pub extern "C" fn redset_filelist_get_data_xor(
    num: c_int,
    files: OutArray<Text>,
    groupsize: Out<c_int>,
    groupranks: Out<*mut c_int>,
) -> redset_filelist<'static> {
    get_data(SchemeKind::Xor, num, files, groupsize, groupranks)
}

/// As redset_rebuild_partner, for an XOR set.
#[unsafe(no_mangle)]
pub extern "C" fn redset_rebuild_xor(
    num: c_int,
    files: OutArray<Text>,
    prefix: Text,
    map: In<kvtree>,
) -> c_int {
    rebuild(SchemeKind::Xor, num, files, prefix, map)
}

/// As redset_filelist_get_data_partner, for a Reed-Solomon set.
#[unsafe(no_mangle)]
pub extern "C" fn redset_filelist_get_data_rs(
    num: c_int,
    files: OutArray<Text>,
    groupsize: Out<c_int>,
    groupranks: Out<*mut c_int>,
) -> redset_filelist<'static> {
    get_data(SchemeKind::ReedSolomon, num, files, groupsize, groupranks)
}

/// As redset_rebuild_partner, for a Reed-Solomon set.
#[unsafe(no_mangle)]
pub extern "C" fn redset_rebuild_rs(
    num: c_int,
    files: OutArray<Text>,
    prefix: Text,
    map: In<kvtree>,
) -> c_int {
    rebuild(SchemeKind::ReedSolomon, num, files, prefix, map)
}

fn get_data(
    kind: SchemeKind,
    num: c_int,
    files: OutArray<Text>,
    groupsize: Out<c_int>,
    groupranks: Out<*mut c_int>,
) -> redset_filelist<'static> {
    groupsize.set(0);
    groupranks.set(null_mut());
    guard(InOut::NULL, || {
        let found = paths(num, files).and_then(|files| rebuild::contents(kind, &files));
        hand_out(found.and_then(|contents| {
            store_ranks(&contents, groupsize, groupranks)?;
            Ok(contents.files)
        }))
    })
}

fn store_ranks(
    contents: &Contents,
    groupsize: Out<c_int>,
    groupranks: Out<*mut c_int>,
) -> Result<()> {
    let ranks: Vec<c_int> = contents.world_ranks.iter().map(|&r| r as c_int).collect();
    if !groupranks.is_null() {
        groupranks.set(malloc_copy(&ranks).ok_or(TreeError::NoMemory(ranks.len()))?);
    }
    groupsize.set(ranks.len() as c_int);
    Ok(())
}

fn rebuild(
    kind: SchemeKind,
    num: c_int,
    files: OutArray<Text>,
    prefix: Text,
    map: In<kvtree>,
) -> c_int {
    status(|| {
        let prefix = prefix.path().ok_or(Error::Null("prefix"))?;
        rebuild::rebuild(kind, &paths(num, files)?, prefix.as_ref(), map.tree())
    })
}
