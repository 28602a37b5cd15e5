//! The sets that the latest apply under a name has left.
//!
//! The name of a redundancy file says to which set of how many it belongs. An earlier apply under the same name,
//! with other sets, has left files beside those of the latest one. The descriptor files tell them apart: their
//! names hold nothing but the rank, so each apply replaces those of its ranks. The one of the highest generation is of
//! the latest apply; where none names a generation, the one of the lowest rank is, as every apply has a rank 0. What
//! contradicts it is of an earlier apply.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::super::descriptors::{StoredDescriptor, stored};
use super::super::names::ParsedName;
use super::{Descriptor, Error, Result, SchemeKind, bad_file, names};

/// The redundancy files of one set, as far as they are there.
#[derive(Debug)]
pub struct SetFiles {
    /// `None` for SINGLE, which protects nothing.
    pub kind: Option<SchemeKind>,
    /// Which set it is, from 0, of how many.
    pub group: usize,
    pub groups: usize,
    pub ranks: usize,
    pub files: Vec<PathBuf>,
}

/// What was applied under a name.
#[derive(Debug, Default)]
pub struct Applied {
    /// By number.
    pub sets: Vec<SetFiles>,
    /// Redundancy files of earlier applies.
    pub earlier: Vec<PathBuf>,
}

/// The sets that were applied under the name `prefix`.
pub fn applied(prefix: &OsStr) -> Result<Applied> {
    let files = FilesOfName::read(prefix)?;
    let mut found = Applied::default();
    let mut sets = BTreeMap::new();
    for (name, path) in &files.redundancy {
        if !files.is_of_latest(name) {
            found.earlier.push(path.clone());
            continue;
        }
        let set = sets.entry((name.groups, name.group, name.ranks, name.scheme));
        let set = set.or_insert_with(|| SetFiles {
            kind: name.kind(),
            group: name.group,
            groups: name.groups,
            ranks: name.ranks,
            files: Vec::new(),
        });
        set.files.push(path.clone());
    }
    found.sets = sets.into_values().collect();
    match is_one_apply(&found.sets) {
        true => Ok(found),
        false => Err(Error::Mismatch(format!(
            "redundancy files of several applies have the name {prefix:?}, and no descriptor file is left that says \
             which of them was the last"
        ))),
    }
}

/// Whether sets can be of one apply: one number of sets, one scheme, and each set once.
fn is_one_apply(sets: &[SetFiles]) -> bool {
    let apply = |set: &SetFiles| (set.groups, set.kind);
    let is_same = sets
        .windows(2)
        .all(|pair| apply(&pair[0]) == apply(&pair[1]));
    is_same && sets.windows(2).all(|pair| pair[0].group != pair[1].group)
}

/// The directory of a name, and how the names of its files begin.
pub(super) fn split(prefix: &OsStr) -> (&Path, &[u8]) {
    let bytes = prefix.as_bytes();
    let start = bytes
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    let (directory, start) = bytes.split_at(start);
    match directory {
        b"" => (Path::new("."), start),
        directory => (Path::new(OsStr::from_bytes(directory)), start),
    }
}

/// The files under a name.
struct FilesOfName {
    redundancy: Vec<(ParsedName, PathBuf)>,
    /// What each rank says about itself.
    descriptors: BTreeMap<usize, StoredDescriptor>,
}

impl FilesOfName {
    fn read(prefix: &OsStr) -> Result<FilesOfName> {
        let (directory, start) = split(prefix);
        let unreadable = |error: std::io::Error| bad_file(directory, error);
        let mut files = FilesOfName {
            redundancy: Vec::new(),
            descriptors: BTreeMap::new(),
        };
        for entry in fs::read_dir(directory).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.file_name();
            let suffix = file.as_bytes().strip_prefix(start);
            let Some(suffix) = suffix.and_then(|suffix| std::str::from_utf8(suffix).ok()) else {
                continue;
            };
            let path = directory.join(&file);
            if let Some(name) = names::parse(suffix) {
                files.redundancy.push((name, path));
            } else if let Some(rank) = names::parse_descriptor_file(suffix) {
                let stored = stored(&path, rank).map(|stored| (rank, stored));
                files.descriptors.extend(stored);
            }
        }
        files.redundancy.sort();
        Ok(files)
    }

    /// A descriptor of the latest apply: of the highest generation, or, without any, of the lowest rank.
    fn latest(&self) -> Option<&Descriptor> {
        let mut newest: Option<&StoredDescriptor> = None;
        for stored in self.descriptors.values() {
            if newest.is_none_or(|newest| stored.generation > newest.generation) {
                newest = Some(stored);
            }
        }
        newest.map(|stored| &stored.descriptor)
    }

    /// Whether a redundancy file can be of the latest apply.
    fn is_of_latest(&self, name: &ParsedName) -> bool {
        let Some(latest) = self.latest() else {
            return true;
        };
        let apply = |one: &Descriptor| (one.scheme, one.groups, one.world_ranks);
        let is_latest = |one: &&Descriptor| apply(one) == apply(latest);
        let own = self.descriptors.get(&name.world_rank);
        if let Some(own) = own.map(|stored| &stored.descriptor).filter(is_latest) {
            return *name == ParsedName::of(own);
        }
        let all = self.descriptors.values().map(|stored| &stored.descriptor);
        let mut others = all.filter(is_latest);
        let scheme = names::scheme_name(latest.scheme);
        (name.scheme, name.groups) == (scheme, latest.groups)
            && name.world_rank < latest.world_ranks
            && others.all(|other| other.group != name.group || other.ranks == name.ranks)
    }
}

impl ParsedName {
    fn kind(&self) -> Option<SchemeKind> {
        match self.scheme {
            names::PARTNER => Some(SchemeKind::Partner),
            names::XOR => Some(SchemeKind::Xor),
            names::REED_SOLOMON => Some(SchemeKind::ReedSolomon),
            _ => None,
        }
    }

    fn of(descriptor: &Descriptor) -> ParsedName {
        ParsedName {
            scheme: names::scheme_name(descriptor.scheme),
            groups: descriptor.groups,
            group: descriptor.group,
            ranks: descriptor.ranks,
            rank: descriptor.rank,
            world_rank: descriptor.world_rank,
        }
    }
}
