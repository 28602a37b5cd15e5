//! What the redundancy files of a set tell about it, before any of its ranks runs.
//!
//! All entries of all headers must be of one set: ranks that differ in their scheme would wait for each other for
//! ever. A header that contradicts itself is refused when it is read, and counts as lost. What a rank says about
//! itself goes before what its neighbours say.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::super::access::heir;
use super::super::header::{Header, Info};
use super::super::{Neighbour, names};
use super::{Descriptor, Error, LocalComm, Location, Places, Result, Scheme, Set, local};
use crate::comm::Comm;
use crate::log;
use crate::storage::place::{Owner, attributes};

/// Each rank is a thread, and tells each other rank where its files are.
const MOST_RANKS: usize = 1024;

pub(super) struct Found {
    /// By rank.
    redundancy: BTreeMap<usize, PathBuf>,
    /// By rank, with the owner of the file that says so.
    infos: BTreeMap<usize, (Info, Owner)>,
}

impl Found {
    pub(super) fn read(fits: impl Fn(Scheme) -> bool, files: &[PathBuf]) -> Result<Found> {
        let mut headers: Vec<(Header, &Path, Owner)> = Vec::new();
        for path in files {
            let (header, owner) = match read_header(path) {
                Ok(Some(read)) => read,
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
            let first = headers.first();
            let is_same = first.is_none_or(|(first, ..)| first.own().descriptor.is_of_set(own));
            if !fits(own.scheme) || !is_same {
                return Err(Error::BadFile {
                    path: path.clone(),
                    what: "it belongs to another set or scheme".into(),
                });
            }
            headers.push((header, path, owner));
        }
        Found::from(headers)
    }

    fn from(headers: Vec<(Header, &Path, Owner)>) -> Result<Found> {
        let Some((first, ..)) = headers.first() else {
            return Err(Error::Lost("no redundancy file can be read".into()));
        };
        let (ranks, most) = (first.own().descriptor.ranks, MOST_RANKS);
        if ranks > most {
            return Err(Error::TooManyRanks { ranks, most });
        }
        let (mut redundancy, mut infos) = (BTreeMap::new(), BTreeMap::new());
        for (header, path, owner) in &headers {
            redundancy.entry(header.rank).or_insert(path.to_path_buf());
            infos
                .entry(header.rank)
                .or_insert((header.own().clone(), *owner));
        }
        for (header, _, owner) in headers {
            for (rank, info) in header.infos {
                infos.entry(rank).or_insert((info, owner));
            }
        }
        match (0..ranks).find(|rank| !infos.contains_key(rank)) {
            None => Ok(Found { redundancy, infos }),
            Some(rank) => Err(Error::Lost(format!(
                "nobody knows which files rank {rank} of the set has"
            ))),
        }
    }

    pub(super) fn ranks(&self) -> usize {
        self.infos.len()
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = &Descriptor> {
        self.infos.values().map(|(info, _)| &info.descriptor)
    }

    pub(super) fn world_ranks(&self) -> Vec<usize> {
        self.descriptors().map(|one| one.world_rank).collect()
    }

    /// The paths of the protected files, as recorded.
    pub(super) fn originals(&self) -> impl Iterator<Item = &PathBuf> {
        let files = self.infos.values().flat_map(|(info, _)| &info.files);
        files.map(|file| &file.path)
    }

    pub(super) fn redundancy_file(&self, descriptor: &Descriptor, prefix: &OsStr) -> PathBuf {
        let known = self.redundancy.get(&descriptor.rank).cloned();
        known.unwrap_or_else(|| names::redundancy_file(prefix, descriptor))
    }

    /// Runs `act` as each rank of the set.
    pub(super) fn run<T: Send>(
        &self,
        places: &Places,
        act: impl Fn(&Set<LocalComm>, &Descriptor, &Location) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let ranks = local::try_run(self.ranks(), |comm| {
            let set = self.set(comm);
            let (info, owner) = &self.infos[&set.comm.rank()];
            let file = self.redundancy_file(&info.descriptor, places.prefix);
            let location = Location {
                redundancy: places.of_redundancy(file),
                of_original: Box::new(|path| places.of_original(path)),
                heir: heir(*owner),
            };
            act(&set, &info.descriptor, &location)
        });
        ranks.map_err(Error::NoThread)?.into_iter().collect()
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

fn read_header(path: &Path) -> Result<Option<(Header, Owner)>> {
    let header = Header::read(path)?;
    let Some(((header, _), found)) = header.zip(attributes(path)?) else {
        return Ok(None);
    };
    let (uid, gid) = (found.uid, found.gid);
    Ok(Some((header, Owner { uid, gid })))
}
