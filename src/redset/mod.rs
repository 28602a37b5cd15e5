//! Redundancy for the files of a set of ranks: lost files are rebuilt from those of the others.
//!
//! | step | files |
//! |---|---|
//! | make the sets of a communicator | `grouping`; `descriptor` is what a rank knows of its set |
//! | finish or undo an interrupted apply; commit a new one | `commit` |
//! | apply: record the files, encode, write redundancy files | `apply`; `header` is the tree in front of a redundancy file, `sharing` gives copies to neighbours, `access` has permissions and owners |
//! | recover: find the descriptors, compare the headers, rebuild what is lost | `recover`, `descriptors`, `survey`, `repair` |
//! | verify: read everything, report on every file | `verify`, `repair` |
//! | both without MPI, with ranks as threads | `rebuild` |
//!
//! `protect` plans and carries out what is missing, from the two streams of bytes that each rank has: its files
//! (`streams`) and its redundancy (`redundancy`). `names` has the names of all files, `config` the settings.
//!
//! Nothing is changed in place: new files are written beside the old ones, all ranks agree, then all
//! rename (`commit`). A crash at any moment leaves the old state or one that the next recover completes.
#![forbid(unsafe_code)]

mod access;
mod apply;
mod commit;
mod config;
mod descriptor;
mod descriptors;
mod grouping;
mod header;
mod names;
pub mod rebuild;
mod recover;
mod redundancy;
mod repair;
mod sharing;
mod streams;
mod survey;
#[cfg(test)]
mod tests;
mod verify;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::comm::{self, Comm, FromPeer, PeerFailure, RankName, Tag, agree};
use crate::failure_domain::placement::{self, Placement};
use crate::log;
use crate::protect::set::placed;
use crate::protect::{self, Channel, Flow, FlowRun, Limits, Set, Traffic, near};
use crate::storage::names::remove;
use crate::{kvtree, rankstr, storage};

use streams::MemberFiles;

pub use crate::protect::Scheme;
pub use config::Config;
pub use descriptor::Descriptor;
pub use grouping::create;
pub use recover::recover;
pub use verify::verify;

/// Messages with blocks of files have this tag and the next.
const TAG: Tag = 0x7265;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} must not be NULL")]
    Null(&'static str),
    #[error("{0} is not a redset descriptor")]
    NotADescriptor(&'static str),
    #[error("{0} is not one of REDSET_COPY_SINGLE, PARTNER, XOR, RS")]
    Type(i32),
    #[error("{what} is {value}, which is out of range")]
    Number { what: &'static str, value: i64 },
    #[error("{0:?} is not a key that redset_config knows")]
    ConfigKey(String),
    #[error("MPI_BUF_SIZE is {0}, it must be in 1..=2147483647")]
    BufSize(u64),
    #[error("{scheme:?} cannot protect a set of {ranks} ranks")]
    SetSize { scheme: Scheme, ranks: usize },
    #[error("{0:?} is not a scheme")]
    UnknownScheme(String),
    #[error("a descriptor contradicts itself: {0}")]
    Descriptor(String),
    #[error("neither rank {rank} nor its neighbours have its descriptor under {name}")]
    NoDescriptor { rank: usize, name: String },
    /// Without MPI, every rank of a set is a thread.
    #[error("the set has {ranks} ranks; without MPI, at most {most} are possible")]
    TooManyRanks { ranks: usize, most: usize },
    #[error("a thread for a rank could not be started: {0}")]
    NoThread(std::io::Error),
    /// Only `stanchion rebuild` confines files to a directory; the C functions trust the caller's map.
    #[error("these files are not below {}: {paths:?}", directory.display())]
    Outside {
        directory: PathBuf,
        paths: Vec<PathBuf>,
    },
    #[error("the set of this rank was not formed")]
    NotFormed,
    #[error("the descriptors of the ranks do not fit together: {0}")]
    Mismatch(String),
    #[error("STANCHION_TOPOLOGY is set on some ranks only")]
    Undeclared,
    #[error("the placement is one of {placed} ranks, the communicator has {ranks}")]
    Misplaced { placed: usize, ranks: usize },
    #[error(transparent)]
    Placement(#[from] placement::Error),
    /// The ranks of a set, or the sets of an apply, have files of different applies.
    #[error("the files are not those of one complete apply: {0}")]
    Generations(String),
    /// An invariant does not hold. Going on could give wrong data.
    #[error("internal error: {0}")]
    Broken(&'static str),
    /// More is lost than the scheme tolerates, or no scheme protects it.
    #[error("too much is lost to rebuild it: {0}")]
    Lost(String),
    /// More ranks have lost something than the scheme promises to survive, but enough is left of them.
    #[error(
        "more is lost than the scheme promises to survive; redset_config with SALVAGE=1 lets the next \
         recover rebuild it all the same: {0}"
    )]
    Intolerable(String),
    #[error("{path}: {what}", path = path.display())]
    BadFile { path: PathBuf, what: String },
    #[error(transparent)]
    Kvtree(#[from] kvtree::Error),
    #[error(transparent)]
    Rankstr(#[from] rankstr::Error),
    #[error(transparent)]
    Storage(#[from] storage::Error),
    #[error(transparent)]
    Comm(#[from] comm::Error),
    /// Another rank of the collective failed.
    #[error(transparent)]
    Peer(#[from] PeerFailure),
}

pub type Result<T> = std::result::Result<T, Error>;

fn bad_file(path: &Path, what: impl ToString) -> Error {
    Error::BadFile {
        path: path.to_owned(),
        what: what.to_string(),
    }
}

/// A rank next to ours in the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// In the set, and in the communicator that the sets were made from.
    pub rank: usize,
    pub world_rank: usize,
    pub hostname: String,
}

/// A rank's part in the sets of a communicator; what a C caller holds as `redset`.
pub struct Redset<C: Comm> {
    parent: C,
    /// Unknown when recover found no descriptor for this rank.
    descriptor: Option<Descriptor>,
    /// Absent when recover failed before the set could be formed.
    set: Option<Peers<C>>,
}

/// The set of this rank: its communicator and its neighbours.
pub struct Peers<C: Comm> {
    comm: C,
    set: Set,
    /// The node of each, numbered from 0.
    nodes: Vec<usize>,
    /// Rank in the parent communicator of each rank of the set.
    pub map: Vec<usize>,
    pub left: Neighbour,
    pub right: Neighbour,
}

/// The sets of a placement that was made for the ranks of `comm`, protected by its scheme.
///
/// # Collective
/// Called by all ranks of `comm` with the same placement; all return the same verdict.
pub fn create_placed<C: Comm>(comm: &C, placement: &Placement) -> Result<Redset<C>> {
    placed::check(comm, placement)?;
    grouping::create_placed(grouping::duplicate(comm)?, placement)
}

impl<C: Comm> Redset<C> {
    pub fn descriptor(&self) -> Option<&Descriptor> {
        self.descriptor.as_ref()
    }

    pub fn set(&self) -> Option<&Peers<C>> {
        self.set.as_ref()
    }

    /// Writes redundancy for `files` to new files whose names begin with `name`.
    ///
    /// # Collective
    /// Called by all ranks of the communicator the sets were made from; all return the same verdict.
    pub fn apply(&self, files: &[PathBuf], name: &OsStr) -> Result<()> {
        apply::apply(self, files, name)
    }

    /// Removes what `apply` wrote under `name`.
    ///
    /// # Collective
    /// As [`Redset::apply`].
    pub fn unapply(&self, name: &OsStr) -> Result<()> {
        let resolved = commit::resolve(&self.parent, name);
        agree(
            &self.parent,
            resolved.and_then(|()| self.remove_files(name)),
        )
    }

    /// Missing files are not an error.
    fn remove_files(&self, name: &OsStr) -> Result<()> {
        for file in self.redundancy_files(name)?.iter().rev() {
            remove(file)?;
        }
        Ok(())
    }

    /// The files that `apply` writes on this rank: descriptors first, then the redundancy.
    pub fn redundancy_files(&self, name: &OsStr) -> Result<[PathBuf; 2]> {
        let descriptor = self.descriptor.as_ref().ok_or(Error::NotFormed)?;
        Ok([
            names::descriptor_file(name, descriptor.world_rank),
            names::redundancy_file(name, descriptor),
        ])
    }

    /// The files that this rank gave to `apply`, from the header of its redundancy file.
    pub fn original_files(&self, name: &OsStr) -> Result<Vec<PathBuf>> {
        let descriptor = self.descriptor.as_ref().ok_or(Error::NotFormed)?;
        let path = names::redundancy_file(name, descriptor);
        let found = header::Header::read(&path)?;
        let (header, _) = found.ok_or_else(|| bad_file(&path, "it does not exist"))?;
        let files = header.own().files.iter();
        Ok(files.map(|file| file.path.clone()).collect())
    }

    /// Descriptor and set; an error if the set was not formed.
    fn formed(&self) -> Result<(&Descriptor, &Peers<C>)> {
        let both = self.descriptor.as_ref().zip(self.set.as_ref());
        both.ok_or(Error::NotFormed)
    }
}

impl<C: Comm> Peers<C> {
    /// How messages name a rank of the set.
    fn name(&self, rank: usize) -> RankName {
        self.set.name(&self.comm, rank)
    }

    /// Carries out `flows`; `member` has the bytes of this rank.
    ///
    /// # Collective
    /// Called by all ranks of the set with the same flows and limits. The error is this rank's own: a broken
    /// transport at once, a failed write after all ranks are done.
    fn carry_out(&self, flows: Vec<Flow>, limits: Limits, member: &mut MemberFiles) -> Result<()> {
        let budget = limits.budget.unwrap_or(u64::MAX);
        let on_one_node = self.nodes.iter().all(|node| *node == 0);
        let is_near = on_one_node && limits.near && !flows.is_empty();
        let begun = Instant::now();
        if is_near && near::run(&self.comm, &flows, budget, member)? {
            self.report("through files", Traffic::default(), begun);
            return Ok(());
        }
        member.check_meanwhile(&flows, self.set.mine());
        let channel = Channel {
            comm: &self.comm,
            set: &self.set,
            tag: TAG,
        };
        let mut run = FlowRun::new(flows, limits);
        run.finish(&channel, member)?;
        self.report("by messages", run.traffic(), begun);
        member.take_unwritten().map_or(Ok(()), Err)
    }

    /// Logs how the bytes of a set went, and how fast.
    fn report(&self, way: &str, traffic: Traffic, begun: Instant) {
        let seconds = begun.elapsed().as_secs_f64();
        let Traffic { sent, received } = traffic;
        log!(
            Info,
            "set of {} ranks, {:?}, {way}: {sent} bytes sent, {received} received, {seconds:.3} s, {:.0} MB/s",
            self.map.len(),
            self.set.scheme(),
            sent.max(received) as f64 / 1e6 / seconds.max(1e-9),
        );
    }
}

impl From<protect::Error> for Error {
    fn from(error: protect::Error) -> Error {
        match error {
            protect::Error::SetSize { scheme, ranks } => Error::SetSize { scheme, ranks },
            protect::Error::Mismatch(what) => Error::Mismatch(what),
            protect::Error::Undeclared => Error::Undeclared,
            protect::Error::Misplaced { placed, ranks } => Error::Misplaced { placed, ranks },
            protect::Error::Placement(error) => Error::Placement(error),
            protect::Error::Rankstr(error) => Error::Rankstr(error),
            protect::Error::Comm(error) => Error::Comm(error),
            protect::Error::Peer(failure) => Error::Peer(failure),
            protect::Error::TooLong => Error::Mismatch("its files are too long to protect".into()),
            protect::Error::Broken(what) => Error::Broken(what),
        }
    }
}

impl FromPeer for Error {
    fn as_peer(&self) -> Option<&PeerFailure> {
        match self {
            Error::Peer(failure) => Some(failure),
            _ => None,
        }
    }
}
