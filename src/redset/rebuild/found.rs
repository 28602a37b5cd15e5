//! Checks the redundancy files of a set before any of its ranks is started.
//!
//! All entries of all headers must be of one set: ranks with different schemes would wait for each other forever. A header
//! that contradicts itself is refused when it is read, and counts as lost. What a rank says about itself takes
//! precedence over what its neighbours say.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::PathBuf;

use super::super::access::heir;
use super::super::header::{Header, RankInfo};
use super::super::{Neighbour, bad_file, names};
use super::{Descriptor, Error, LocalComm, Location, Peers, Result, Scheme, SetLocations, local};
use crate::comm::Comm;
use crate::log;
use crate::protect::Set;
use crate::protect::generation;
use crate::storage::names::Owner;

/// Each rank is a thread, and exchanges messages with all others.
const MOST_RANKS: usize = 1024;

pub(super) struct FoundSet {
    /// Redundancy files by rank.
    redundancy: BTreeMap<usize, PathBuf>,
    /// By rank, with the owner of the redundancy file that says so.
    infos: BTreeMap<usize, (RankInfo, Owner)>,
}

/// A header, and the owner of the file that it stands in.
struct HeaderSource {
    header: Header,
    path: PathBuf,
    owner: Owner,
}

impl FoundSet {
    pub(super) fn read(fits: impl Fn(Scheme) -> bool, files: &[PathBuf]) -> Result<FoundSet> {
        let mut sources: BTreeMap<usize, HeaderSource> = BTreeMap::new();
        for path in files {
            let (header, owner) = match Header::read_owned(path) {
                Ok(Some(found)) => found,
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
            let first = sources.values().next();
            let is_same = |first: &HeaderSource| first.header.own().descriptor.is_of_same_set(own);
            if !fits(own.scheme) || !first.is_none_or(is_same) {
                return Err(bad_file(path, "it belongs to another set or scheme"));
            }
            let path = path.clone();
            sources.insert(
                header.rank,
                HeaderSource {
                    header,
                    path,
                    owner,
                },
            );
        }
        FoundSet::of_newest_apply(sources)
    }

    /// Uses the headers of the newest apply that the set can be completed to.
    fn of_newest_apply(mut sources: BTreeMap<usize, HeaderSource>) -> Result<FoundSet> {
        let first = sources.values().next();
        let first = first.ok_or_else(|| Error::Lost("no redundancy file can be read".into()))?;
        let Descriptor { ranks, scheme, .. } = first.header.own().descriptor;
        if ranks > MOST_RANKS {
            let most = MOST_RANKS;
            return Err(Error::TooManyRanks { ranks, most });
        }
        let known = sources
            .values()
            .flat_map(|source| source.header.infos.keys());
        let known: BTreeSet<_> = known.collect();
        let stripes = sources.values().map(|source| &source.header.stripes);
        let map = stripes.flatten().next().map(|stripes| stripes.map.clone());
        if let Some(rank) = (0..ranks).find(|rank| !known.contains(rank)) {
            return Err(unknown(rank, map));
        }
        let claim = |rank| sources.get(&rank).map(|source| source.header.claim());
        let claims = (0..ranks).map(|rank| claim(rank).transpose());
        let claims = claims.collect::<Result<Vec<_>>>()?;
        let tolerates = |lost: &[usize]| scheme.tolerates(ranks, lost);
        let world_rank = |rank| {
            let infos = sources.values().map(|source| &source.header.infos);
            let info = infos.filter_map(|infos| infos.get(&rank)).next();
            info.map_or(rank, |info| info.descriptor.world_rank)
        };
        let judged = generation::judge(&claims, tolerates, world_rank);
        let current = judged.map_err(Error::Generations)?.current;
        let (mut redundancy, mut infos) = (BTreeMap::new(), BTreeMap::new());
        for (rank, source) in &sources {
            redundancy.insert(*rank, source.path.clone());
            if current.contains(rank) {
                infos.insert(*rank, (source.header.own().clone(), source.owner));
            }
        }
        sources.retain(|rank, _| current.contains(rank));
        for source in sources.into_values() {
            for (rank, info) in source.header.infos {
                infos.entry(rank).or_insert((info, source.owner));
            }
        }
        match (0..ranks).find(|rank| !infos.contains_key(rank)) {
            None => Ok(FoundSet { redundancy, infos }),
            Some(rank) => Err(unknown(rank, map)),
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
        locations: &SetLocations,
        act: impl Fn(&Peers<LocalComm>, &Descriptor, &Location) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let ranks = local::try_run(self.ranks(), |comm| {
            let set = self.set(comm);
            let (info, owner) = &self.infos[&set.comm.rank()];
            let file = self.redundancy_file(&info.descriptor, locations.prefix);
            let location = Location {
                redundancy: locations.of_redundancy(file),
                of_original: Box::new(|path| locations.of_original(path)),
                heir: heir(*owner),
            };
            act(&set, &info.descriptor, &location)
        });
        ranks.map_err(Error::NoThread)?.into_iter().collect()
    }

    fn set(&self, comm: LocalComm) -> Peers<LocalComm> {
        let map = self.world_ranks();
        let neighbour = |rank: usize| Neighbour {
            rank,
            world_rank: map[rank],
            hostname: String::new(),
        };
        let (rank, ranks) = (comm.rank(), comm.size());
        let comm = comm.known_as(map.clone().into());
        Peers {
            left: neighbour((rank + ranks - 1) % ranks),
            right: neighbour((rank + 1) % ranks),
            nodes: vec![0; ranks],
            set: Set::whole(&comm, self.infos[&rank].0.descriptor.scheme),
            comm,
            map,
        }
    }
}

/// `map` has the ranks in the parent communicator, if a header is left that tells.
fn unknown(rank: usize, map: Option<Vec<usize>>) -> Error {
    let who = match map.as_ref().and_then(|map| map.get(rank)) {
        Some(world_rank) => format!("rank {world_rank}"),
        None => format!("rank {rank} of the set"),
    };
    Error::Lost(format!("nobody knows which files {who} has"))
}
