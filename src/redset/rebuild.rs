//! Without MPI: one process has the redundancy files of a set at hand.
//!
//! The ranks of the set run as threads and recover, or verify, as they would on a machine of their own, except that
//! files may have moved meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::engine::Means;
use super::header::{Header, Info};
pub use super::members::State;
use super::members::{Location, Members};
use super::{Config, Descriptor, Error, Neighbour, Result, Scheme, Set, agree, names};
use crate::comm::Comm;
use crate::comm::local::{self, LocalComm};
use crate::kvtree::TreeRef;
use crate::log;
use crate::protect::generation;

/// Which scheme the caller expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Partner,
    Xor,
    ReedSolomon,
}

impl Kind {
    fn of(scheme: Scheme) -> Option<Kind> {
        match scheme {
            Scheme::Single => None,
            Scheme::Partner { .. } => Some(Kind::Partner),
            Scheme::Xor => Some(Kind::Xor),
            Scheme::ReedSolomon { .. } => Some(Kind::ReedSolomon),
        }
    }

    fn fits(self, scheme: Scheme) -> bool {
        Kind::of(scheme) == Some(self)
    }
}

/// The redundancy files of one set, as far as they are there.
#[derive(Debug)]
pub struct SetFiles {
    /// Nothing for a set that no scheme protects.
    pub kind: Option<Kind>,
    /// Which set it is, from 0, of how many.
    pub group: usize,
    pub groups: usize,
    pub ranks: usize,
    pub files: Vec<PathBuf>,
}

/// The sets that were applied under the name `prefix`, in their order.
pub fn sets(prefix: &OsStr) -> Result<Vec<SetFiles>> {
    let (directory, start) = split(prefix);
    let unreadable = |error: std::io::Error| Error::BadFile {
        path: directory.to_owned(),
        what: error.to_string(),
    };
    let mut sets = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(OsStr::to_str);
        let Some(name) = name.and_then(|name| names::parse(name.strip_prefix(start)?)) else {
            continue;
        };
        let kind = match name.scheme {
            "single" => None,
            "partner" => Some(Kind::Partner),
            "xor" => Some(Kind::Xor),
            "rs" => Some(Kind::ReedSolomon),
            _ => continue,
        };
        let key = (name.groups, name.group, name.ranks, name.scheme.to_owned());
        let set = sets.entry(key).or_insert_with(|| SetFiles {
            kind,
            group: name.group,
            groups: name.groups,
            ranks: name.ranks,
            files: Vec::new(),
        });
        set.files
            .push(directory.join(path.file_name().unwrap_or_default()));
    }
    let mut sets: Vec<_> = sets.into_values().collect();
    sets.iter_mut().for_each(|set| set.files.sort());
    Ok(sets)
}

/// The directory of a name, and how the names of its files begin.
fn split(prefix: &OsStr) -> (&Path, &str) {
    let bytes = prefix.as_bytes();
    let start = bytes
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    let (directory, start) = bytes.split_at(start);
    let directory = match directory {
        b"" => Path::new("."),
        directory => Path::new(OsStr::from_bytes(directory)),
    };
    (directory, std::str::from_utf8(start).unwrap_or("/"))
}

/// What verifying has found out about one file.
#[derive(Debug)]
pub struct Finding {
    pub world_rank: usize,
    pub path: PathBuf,
    pub state: State,
}

/// Reads all files of a set and its redundancy, and compares them with their checksums. Nothing is changed.
pub fn verify(set: &SetFiles, prefix: &OsStr) -> Result<Vec<Finding>> {
    let found = Found::read(|scheme| Kind::of(scheme) == set.kind, &set.files)?;
    let ranks = local::run(found.infos.len(), |comm| {
        let set = found.set(comm);
        let descriptor = &found.infos[&set.comm.rank()].descriptor;
        let location = found.location(descriptor, prefix, None);
        let surveyed = Members::survey(&set, descriptor, &location);
        let scrubbed = agree(&set.comm, surveyed)?.scrub();
        let all = scrubbed.files.into_iter().chain(scrubbed.redundancy);
        let findings = all.map(|(path, state)| Finding {
            world_rank: descriptor.world_rank,
            path,
            state,
        });
        Ok(findings.collect::<Vec<_>>())
    });
    let ranks = ranks.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(ranks.into_iter().flatten().collect())
}

/// The original files of a set and the rank in the parent communicator of each of its ranks.
#[derive(Debug)]
pub struct Contents {
    pub files: Vec<PathBuf>,
    pub world_ranks: Vec<usize>,
}

/// What the set protects whose redundancy files (those that were found) are given.
pub fn contents(kind: Kind, files: &[PathBuf]) -> Result<Contents> {
    let found = Found::read(|scheme| kind.fits(scheme), files)?;
    let paths = found.infos.values().flat_map(|info| &info.files);
    Ok(Contents {
        files: paths.map(|file| file.path.clone()).collect(),
        world_ranks: found.world_ranks(),
    })
}

/// Rebuilds what is missing of the set. `map` gives the present path of each original file; without
/// it they are where they were. New redundancy files get names that begin with `prefix`.
pub fn rebuild(kind: Kind, files: &[PathBuf], prefix: &OsStr, map: Option<TreeRef>) -> Result<()> {
    let found = Found::read(|scheme| kind.fits(scheme), files)?;
    let moved = map.map(paths_of);
    let config = Config::current();
    let means = Means::usual(&config).shared_by(found.infos.len());
    let ranks = local::run(found.infos.len(), |comm| {
        let set = found.set(comm);
        let descriptor = &found.infos[&set.comm.rank()].descriptor;
        let location = found.location(descriptor, prefix, moved.as_ref());
        let surveyed = Members::survey(&set, descriptor, &location);
        let repaired = surveyed.and_then(|members| members.repair(means, config.salvages()));
        let placed = agree(&set.comm, repaired)?.commit();
        agree(&set.comm, placed)
    });
    ranks.into_iter().collect()
}

fn paths_of(map: TreeRef) -> HashMap<PathBuf, PathBuf> {
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let entries = map.iter().filter_map(|entry| {
        let now = entry.tree()?.first()?;
        Some((path(entry.key_bytes()), path(now.key_bytes())))
    });
    entries.collect()
}

fn present(moved: Option<&HashMap<PathBuf, PathBuf>>, path: &Path) -> Result<PathBuf> {
    let Some(moved) = moved else {
        return Ok(path.to_owned());
    };
    moved.get(path).cloned().ok_or_else(|| Error::BadFile {
        path: path.to_owned(),
        what: "the map does not say where it is now".into(),
    })
}

/// What the given redundancy files tell about their set.
struct Found {
    /// By rank.
    redundancy: BTreeMap<usize, PathBuf>,
    infos: BTreeMap<usize, Info>,
}

impl Found {
    fn read(fits: impl Fn(Scheme) -> bool, files: &[PathBuf]) -> Result<Found> {
        let mut headers: BTreeMap<usize, (PathBuf, Header)> = BTreeMap::new();
        for path in files {
            let header = match Header::read(path) {
                Ok(Some((header, _))) => header,
                Ok(None) => {
                    log!(Warning, "{} does not exist", path.display());
                    continue;
                }
                Err(error) => {
                    log!(Warning, "{error}");
                    continue;
                }
            };
            let own = &header.own().descriptor;
            let first = headers.values().next();
            let fits_first =
                first.is_none_or(|(_, first)| first.own().descriptor.is_of_same_set(own));
            if !fits(own.scheme) || !fits_first {
                let what = "it belongs to another set or scheme".into();
                let path = path.to_owned();
                return Err(Error::BadFile { path, what });
            }
            headers.insert(header.rank, (path.to_owned(), header));
        }
        Found::judged(headers)
    }

    /// Goes by the headers of the newest apply that the set can be completed to.
    fn judged(headers: BTreeMap<usize, (PathBuf, Header)>) -> Result<Found> {
        let (_, first) = headers
            .values()
            .next()
            .ok_or_else(|| Error::Lost("no redundancy file can be read".into()))?;
        let Descriptor { ranks, scheme, .. } = first.own().descriptor;
        let claim = |rank| headers.get(&rank).map(|(_, header)| header.claim());
        let claims = (0..ranks).map(|rank| claim(rank).transpose());
        let claims = claims.collect::<Result<Vec<_>>>()?;
        let judged = generation::judge(&claims, |lost| scheme.tolerates(ranks, lost));
        let verdict = judged.map_err(Error::Generations)?;
        let mut found = Found {
            redundancy: BTreeMap::new(),
            infos: BTreeMap::new(),
        };
        for (rank, (path, header)) in headers {
            found.redundancy.insert(rank, path);
            if verdict.current.contains(&rank) {
                found.infos.extend(header.infos);
            }
        }
        found.check(ranks)
    }

    fn check(self, ranks: usize) -> Result<Found> {
        match (0..ranks).find(|rank| !self.infos.contains_key(rank)) {
            None => Ok(self),
            Some(rank) => Err(Error::Lost(format!(
                "nobody knows which files rank {rank} of the set has"
            ))),
        }
    }

    fn world_ranks(&self) -> Vec<usize> {
        let infos = self.infos.values();
        infos.map(|info| info.descriptor.world_rank).collect()
    }

    fn location<'a>(
        &self,
        descriptor: &Descriptor,
        prefix: &OsStr,
        moved: Option<&'a HashMap<PathBuf, PathBuf>>,
    ) -> Location<'a> {
        let known = self.redundancy.get(&descriptor.rank).cloned();
        Location {
            redundancy: known.unwrap_or_else(|| names::redundancy_file(prefix, descriptor)),
            of_original: Box::new(move |path| present(moved, path)),
        }
    }

    fn set(&self, comm: LocalComm) -> Set<LocalComm> {
        let map = self.world_ranks();
        let neighbour = |rank: usize| Neighbour {
            rank,
            world_rank: map[rank],
            hostname: String::new(),
        };
        let (rank, ranks) = (comm.rank(), comm.size());
        Set {
            left: neighbour((rank + ranks - 1) % ranks),
            right: neighbour((rank + 1) % ranks),
            on_one_node: true,
            comm,
            map,
        }
    }
}
