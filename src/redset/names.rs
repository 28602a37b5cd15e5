//! The names of redundancy files.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Descriptor, Scheme};
use crate::storage::names::FileName;

const PART: &str = ".part";
const SINGLE: &str = "single";
pub(super) const PARTNER: &str = "partner";
pub(super) const XOR: &str = "xor";
pub(super) const REED_SOLOMON: &str = "rs";
const SCHEMES: [&str; 4] = [SINGLE, PARTNER, XOR, REED_SOLOMON];

/// The file with the descriptors of a rank and its neighbours. `name` is a prefix, not a directory.
pub(super) fn descriptor_file(name: &OsStr, world_rank: usize) -> PathBuf {
    with_suffix(name, &format!("{world_rank}.redset"))
}

/// The file with the redundancy itself.
pub(super) fn redundancy_file(name: &OsStr, of: &Descriptor) -> PathBuf {
    let scheme = scheme_name(of.scheme);
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

/// Whether the name says that it is the redundancy file of this rank of a set.
pub(super) fn is_of_member(path: &Path, rank: usize) -> bool {
    let member = format!(".mem_{}_of_", rank + 1);
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().contains(&member))
}

/// The scheme as file names spell it.
pub(super) fn scheme_name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Single => SINGLE,
        Scheme::Copies { .. } => PARTNER,
        Scheme::Xor => XOR,
        Scheme::ReedSolomon { .. } => REED_SOLOMON,
    }
}

/// What the name of a redundancy file says; ranks and sets are counted from 0, unlike in the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ParsedName {
    pub(super) scheme: &'static str,
    pub(super) groups: usize,
    pub(super) group: usize,
    pub(super) ranks: usize,
    pub(super) rank: usize,
    pub(super) world_rank: usize,
}

/// Reads what [`redundancy_file`] puts behind a prefix.
pub(super) fn parse(suffix: &str) -> Option<ParsedName> {
    let one_of = |text: &str| -> Option<(usize, usize)> {
        let (which, all) = text.split_once("_of_")?;
        let which = which.parse::<usize>().ok()?.checked_sub(1)?;
        let all = all.parse().ok()?;
        (which < all).then_some((which, all))
    };
    let mut parts = suffix.strip_suffix(".redset")?.split('.');
    let mut next = || parts.next();
    let (world_rank, scheme) = (next()?.parse().ok()?, next()?);
    let scheme = SCHEMES.into_iter().find(|known| *known == scheme)?;
    let (group, groups) = one_of(next()?.strip_prefix("grp_")?)?;
    let (rank, ranks) = one_of(next()?.strip_prefix("mem_")?)?;
    let name = ParsedName {
        scheme,
        groups,
        group,
        ranks,
        rank,
        world_rank,
    };
    next().is_none().then_some(name)
}

/// The rank in what [`descriptor_file`] puts behind a prefix.
pub(super) fn parse_descriptor_file(suffix: &str) -> Option<usize> {
    suffix.strip_suffix(".redset")?.parse().ok()
}

/// The name of a file while any rank may still be writing its own.
pub(super) fn part(file: &Path) -> PathBuf {
    with_suffix(file.as_os_str(), PART)
}

/// As [`part`].
pub(super) fn part_of(file: &FileName) -> FileName {
    file.with_suffix(PART)
}

/// The name of a file once all ranks have finished writing.
pub(super) fn ready(file: &Path) -> PathBuf {
    with_suffix(file.as_os_str(), ".ready")
}

fn with_suffix(name: &OsStr, suffix: &str) -> PathBuf {
    let mut name = OsString::from(name);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let name = ParsedName {
            scheme: "xor",
            groups: 3,
            group: 1,
            ranks: 4,
            rank: 0,
            world_rank: 17,
        };
        assert_eq!(parse("17.xor.grp_2_of_3.mem_1_of_4.redset"), Some(name));
        for other in [
            "17.redset",
            "17.xor.grp_2_of_3.mem_1_of_4.redset.part",
            "17.xor.grp_0_of_3.mem_1_of_4.redset",
            "17.xor.grp_4_of_3.mem_1_of_4.redset",
            "17.xor.grp_2_of_3.redset",
            "17.raid.grp_2_of_3.mem_1_of_4.redset",
            "a.xor.grp_2_of_3.mem_1_of_4.redset",
            "17.xor.grp_2_of_3.mem_1_of_4.x.redset",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
