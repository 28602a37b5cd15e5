//! Without MPI: one process has the redundancy files of a set at hand.
//!
//! The ranks of the set run as threads and recover as they would on a machine of their own, except that
//! files may have moved meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::engine::Means;
use super::header::{Header, Info};
use super::members::{Location, Members};
use super::{Config, Descriptor, Error, Neighbour, Result, Scheme, Set, agree, names};
use crate::comm::Comm;
use crate::comm::local::{self, LocalComm};
use crate::kvtree::TreeRef;
use crate::log;

/// Which scheme the caller expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Partner,
    Xor,
    ReedSolomon,
}

impl Kind {
    fn fits(self, scheme: Scheme) -> bool {
        match scheme {
            Scheme::Single => false,
            Scheme::Partner { .. } => self == Kind::Partner,
            Scheme::Xor => self == Kind::Xor,
            Scheme::ReedSolomon { .. } => self == Kind::ReedSolomon,
        }
    }
}

/// The original files of a set and the rank in the parent communicator of each of its ranks.
#[derive(Debug)]
pub struct Contents {
    pub files: Vec<PathBuf>,
    pub world_ranks: Vec<usize>,
}

/// What the set protects whose redundancy files (those that were found) are given.
pub fn contents(kind: Kind, files: &[PathBuf]) -> Result<Contents> {
    let found = Found::read(kind, files)?;
    let paths = found.infos.values().flat_map(|info| &info.files);
    Ok(Contents {
        files: paths.map(|file| file.path.clone()).collect(),
        world_ranks: found.world_ranks(),
    })
}

/// Rebuilds what is missing of the set. `map` gives the present path of each original file; without
/// it they are where they were. New redundancy files get names that begin with `prefix`.
pub fn rebuild(kind: Kind, files: &[PathBuf], prefix: &OsStr, map: Option<TreeRef>) -> Result<()> {
    let found = Found::read(kind, files)?;
    let moved = map.map(paths_of);
    let config = Config::current();
    let means = Means::usual(&config).shared_by(found.infos.len());
    let ranks = local::run(found.infos.len(), |comm| {
        let rank = comm.rank();
        let set = found.set(comm);
        let descriptor = &found.infos[&rank].descriptor;
        let location = Location {
            redundancy: found.redundancy(descriptor, prefix),
            of_original: Box::new(|path| present(moved.as_ref(), path)),
        };
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
    fn read(kind: Kind, files: &[PathBuf]) -> Result<Found> {
        let mut found = Found {
            redundancy: BTreeMap::new(),
            infos: BTreeMap::new(),
        };
        for path in files {
            match Header::read(path) {
                Ok(Some((header, _))) => found.add(kind, path, header)?,
                Ok(None) => log!(Warning, "{} does not exist", path.display()),
                Err(error) => log!(Warning, "{error}"),
            }
        }
        found.check()
    }

    fn add(&mut self, kind: Kind, path: &Path, header: Header) -> Result<()> {
        let own = &header.own().descriptor;
        let first = self.infos.values().next();
        let same_set = first.is_none_or(|info| is_same_set(&info.descriptor, own));
        if !kind.fits(own.scheme) || !same_set {
            let what = "it belongs to another set or scheme".into();
            let path = path.to_owned();
            return Err(Error::BadFile { path, what });
        }
        self.redundancy.insert(header.rank, path.to_owned());
        for (rank, info) in header.infos {
            self.infos.entry(rank).or_insert(info);
        }
        Ok(())
    }

    fn check(self) -> Result<Found> {
        let first = self.infos.values().next();
        let ranks = first.map_or(0, |info| info.descriptor.ranks);
        if ranks == 0 {
            return Err(Error::Lost("no redundancy file can be read".into()));
        }
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

    fn redundancy(&self, descriptor: &Descriptor, prefix: &OsStr) -> PathBuf {
        match self.redundancy.get(&descriptor.rank) {
            Some(path) => path.clone(),
            None => names::redundancy_file(prefix, descriptor),
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

fn is_same_set(a: &Descriptor, b: &Descriptor) -> bool {
    let set = |d: &Descriptor| (d.scheme, d.groups, d.group, d.ranks, d.world_ranks);
    set(a) == set(b)
}
