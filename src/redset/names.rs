//! The names of redundancy files.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Descriptor, Scheme};

/// The file with the descriptors of a rank and its neighbours. `name` is a prefix, not a directory.
pub(super) fn descriptor_file(name: &OsStr, world_rank: usize) -> PathBuf {
    with_suffix(name, &format!("{world_rank}.redset"))
}

/// The file with the redundancy itself.
pub(super) fn redundancy_file(name: &OsStr, of: &Descriptor) -> PathBuf {
    let scheme = match of.scheme {
        Scheme::Single => "single",
        Scheme::Partner { .. } => "partner",
        Scheme::Xor => "xor",
        Scheme::ReedSolomon { .. } => "rs",
    };
    let suffix = format!(
        "{}.{scheme}.grp_{}_of_{}.mem_{}_of_{}.redset",
        of.world_rank,
        of.group + 1,
        of.groups,
        of.rank + 1,
        of.ranks
    );
    with_suffix(name, &suffix)
}

/// Being written, or complete while other ranks may not be.
pub(super) fn part(file: &Path) -> PathBuf {
    with_suffix(file.as_os_str(), ".part")
}

/// Complete like those of all other ranks.
pub(super) fn ready(file: &Path) -> PathBuf {
    with_suffix(file.as_os_str(), ".ready")
}

fn with_suffix(name: &OsStr, suffix: &str) -> PathBuf {
    let mut name = OsString::from(name);
    name.push(suffix);
    name.into()
}
