//! Verify and rebuild without MPI: one process reads the redundancy files of all ranks of a set.
//!
//! [`applied`] finds the sets under a name. The headers of a set are read and compared first (`found`): one that
//! contradicts itself counts as lost, and all others must be of one set. Then its ranks are started, as threads. They
//! recover or verify as they would under MPI, except that files may have moved, or must be below a directory of the caller
//! ([`rebuild_below`]).

mod applied;
mod found;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use super::repair::FileVerdict;
use super::repair::{Location, SurveyedSet};
use super::{Config, Descriptor, Error, Peers, Result, Scheme, agree, bad_file, names};
use crate::comm::local::{self, LocalComm};
use crate::kvtree::TreeRef;
use crate::storage::confined::ConfinedDirectory;
use crate::storage::names::FileName;

pub use applied::{Applied, SetFiles, applied};
use found::FoundSet;

/// Which scheme the caller expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeKind {
    Partner,
    Xor,
    ReedSolomon,
}

impl SchemeKind {
    fn of(scheme: Scheme) -> Option<SchemeKind> {
        match scheme {
            Scheme::Single => None,
            Scheme::Copies { .. } => Some(SchemeKind::Partner),
            Scheme::Xor => Some(SchemeKind::Xor),
            Scheme::ReedSolomon { .. } => Some(SchemeKind::ReedSolomon),
        }
    }

    fn fits(self, scheme: Scheme) -> bool {
        SchemeKind::of(scheme) == Some(self)
    }
}

/// What verifying has found out about one file.
#[derive(Debug)]
pub struct Finding {
    pub world_rank: usize,
    pub path: PathBuf,
    pub verdict: FileVerdict,
}

/// Reads all files of a set and its redundancy, and compares them with their checksums. Nothing is changed.
pub fn verify(set: &SetFiles, prefix: &OsStr) -> Result<Vec<Finding>> {
    let found = FoundSet::read(|scheme| SchemeKind::of(scheme) == set.kind, &set.files)?;
    let locations = SetLocations::as_recorded(prefix);
    let ranks = found.run(&locations, |set, descriptor, location| {
        let surveyed = SurveyedSet::survey(set, descriptor, location);
        let scrubbed = agree(&set.comm, surveyed)?.scrub();
        let all = scrubbed.files.into_iter().chain(scrubbed.redundancy);
        let findings = all.map(|(path, verdict)| Finding {
            world_rank: descriptor.world_rank,
            path,
            verdict,
        });
        Ok(findings.collect::<Vec<_>>())
    })?;
    Ok(ranks.into_iter().flatten().collect())
}

/// The original files of a set and the rank in the parent communicator of each of its ranks.
#[derive(Debug)]
pub struct Contents {
    pub files: Vec<PathBuf>,
    pub world_ranks: Vec<usize>,
}

/// What a set protects, from those of its redundancy files that were found.
pub fn contents(kind: SchemeKind, files: &[PathBuf]) -> Result<Contents> {
    let found = FoundSet::read(|scheme| kind.fits(scheme), files)?;
    Ok(Contents {
        files: found.originals().cloned().collect(),
        world_ranks: found.world_ranks(),
    })
}

/// Rebuilds what is missing of the set. `map` gives the present path of each original file; without
/// it, no file has moved. New redundancy files get names that begin with `prefix`.
pub fn rebuild(
    kind: SchemeKind,
    files: &[PathBuf],
    prefix: &OsStr,
    map: Option<TreeRef>,
) -> Result<()> {
    let found = FoundSet::read(|scheme| kind.fits(scheme), files)?;
    let locations = match map {
        Some(map) => SetLocations::mapped(prefix, map),
        None => SetLocations::as_recorded(prefix),
    };
    repair(&found, &locations)
}

/// As [`rebuild`] for files of a stranger: nothing is read or written that is not below `directory`, or, for
/// redundancy, in the directory of the prefix. If the set has another file, nothing is done.
pub fn rebuild_below(
    kind: SchemeKind,
    files: &[PathBuf],
    prefix: &OsStr,
    directory: &Path,
) -> Result<()> {
    let found = FoundSet::read(|scheme| kind.fits(scheme), files)?;
    let outside = outside(&found, directory)?;
    if !outside.is_empty() {
        let (directory, paths) = (directory.to_owned(), outside);
        return Err(Error::Outside { directory, paths });
    }
    repair(&found, &SetLocations::below(prefix, &found, directory)?)
}

/// The original files of a set that are not below a directory.
pub fn files_outside(set: &SetFiles, directory: &Path) -> Result<Vec<PathBuf>> {
    let found = FoundSet::read(|scheme| SchemeKind::of(scheme) == set.kind, &set.files)?;
    outside(&found, directory)
}

fn outside(found: &FoundSet, directory: &Path) -> Result<Vec<PathBuf>> {
    let confined = ConfinedDirectory::open(directory)?;
    let outside = found.originals().filter(|path| !confined.contains(path));
    Ok(outside.cloned().collect())
}

fn repair(found: &FoundSet, locations: &SetLocations) -> Result<()> {
    let config = Config::current();
    let limits = config.limits(found.ranks());
    let ranks = found.run(locations, |set, descriptor, location| {
        let surveyed = SurveyedSet::survey(set, descriptor, location);
        let repaired = surveyed.and_then(|surveyed| surveyed.repair(limits, config.salvages()));
        let committed = agree(&set.comm, repaired)?.commit();
        agree(&set.comm, committed)
    });
    ranks.map(drop)
}

/// Where the files of a set are.
struct SetLocations<'a> {
    prefix: &'a OsStr,
    /// Of each original file, by its recorded path; `None` if no file has moved.
    originals: Option<HashMap<PathBuf, FileName>>,
    /// Of each redundancy file that is not where its name says.
    redundancy: HashMap<PathBuf, FileName>,
    /// What is wrong with a file that is not in `originals`.
    unknown: &'static str,
}

impl SetLocations<'_> {
    fn as_recorded(prefix: &OsStr) -> SetLocations<'_> {
        SetLocations {
            prefix,
            originals: None,
            redundancy: HashMap::new(),
            unknown: "",
        }
    }

    fn mapped<'a>(prefix: &'a OsStr, map: TreeRef) -> SetLocations<'a> {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let entries = map.iter().filter_map(|entry| {
            let now = entry.tree()?.first()?;
            Some((path(entry.key_bytes()), path(now.key_bytes()).into()))
        });
        SetLocations {
            originals: Some(entries.collect()),
            unknown: "the map does not say where it is now",
            ..SetLocations::as_recorded(prefix)
        }
    }

    /// Holds the directories of all files open, so that they cannot be exchanged after the check.
    fn below<'a>(
        prefix: &'a OsStr,
        found: &FoundSet,
        directory: &Path,
    ) -> Result<SetLocations<'a>> {
        let mut confined = ConfinedDirectory::open(directory)?;
        let mut originals = HashMap::new();
        for path in found.originals() {
            let file = confined.file_name(path)?;
            originals.extend(file.map(|file| (path.clone(), file)));
        }
        let (directory, _) = applied::split(prefix);
        let mut confined = ConfinedDirectory::open(directory)?;
        let mut redundancy = HashMap::new();
        for descriptor in found.descriptors() {
            let path = found.redundancy_file(descriptor, prefix);
            let file = confined.file_name(&path)?;
            redundancy.extend(file.map(|file| (path, file)));
        }
        Ok(SetLocations {
            prefix,
            originals: Some(originals),
            redundancy,
            unknown: "its name has changed meanwhile",
        })
    }

    fn of_original(&self, path: &Path) -> Result<FileName> {
        let Some(originals) = &self.originals else {
            return Ok(path.to_owned().into());
        };
        let found = originals.get(path).cloned();
        found.ok_or_else(|| bad_file(path, self.unknown))
    }

    fn of_redundancy(&self, path: PathBuf) -> FileName {
        let moved = self.redundancy.get(&path).cloned();
        moved.unwrap_or_else(|| path.into())
    }
}
