//! Redundancy for the files of a set of ranks: lost files are rebuilt from those of the others.
//!
//! `descriptor` says what a rank's set is, `grouping` makes the sets of a communicator, `header` is the tree in front of
//! every redundancy file. [`Redset::apply`] and [`recover`] let `protect` plan and carry out what
//! is missing; `member` has the files of a rank as the two streams that it needs. The offline `rebuild` does the same
//! with ranks as threads.
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
mod member;
mod members;
mod names;
pub mod rebuild;
mod recover;
mod redundancy;
mod sharing;
mod survey;
#[cfg(test)]
mod tests;
mod verify;

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::comm::{self, Comm, FromPeer, PeerFailure, RankName, Tag, agree};
use crate::failure_domain::placement::{self, Placement};
use crate::protect::set::placed;
use crate::protect::{self, Channel, Flow, FlowRun, Limits, Set, near};
use crate::storage::place::remove;
use crate::{kvtree, rankstr, storage};

use member::MemberFiles;

pub use crate::protect::Scheme;
pub use config::Config;
pub use descriptor::Descriptor;

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
    /// Only the command refuses them; the functions trust the caller's map.
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
    /// Something that must hold does not; what would follow from it must not be taken for data.
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

/// What a rank next to us in the set is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// In the set, and in the communicator the sets were made from.
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

/// The other ranks of our set.
pub struct Peers<C: Comm> {
    comm: C,
    set: Set,
    /// Whether all of them run on one node.
    on_one_node: bool,
    /// Rank in the parent communicator of each rank of the set.
    pub map: Vec<usize>,
    pub left: Neighbour,
    pub right: Neighbour,
}

/// Chooses the sets of a communicator: ranks that give the same `group` string are expected to fail
/// together, so they come into different sets. Sets of at least `min_size` ranks where there are enough.
/// If the environment declares a topology, the sets are placed by it, and `group` names a domain in it.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub fn create<C: Comm>(
    comm: &C,
    scheme: Scheme,
    group: Option<&[u8]>,
    min_size: usize,
) -> Result<Redset<C>> {
    grouping::create(comm, scheme, group, min_size)
}

/// The sets of a placement that was made for the ranks of `comm`, protected by its scheme.
///
/// # Collective
/// Called by all ranks of `comm` with the same placement; all return the same verdict.
pub fn create_placed<C: Comm>(comm: &C, placement: &Placement) -> Result<Redset<C>> {
    placed::check(comm, placement)?;
    grouping::create_placed(grouping::same(comm)?, placement)
}

/// Rebuilds what is missing of the files that [`Redset::apply`] protected under `name`. The descriptor
/// is returned whatever happens, as far as it is known, so that `unapply` can clean up.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub fn recover<C: Comm>(comm: &C, name: &OsStr) -> Result<(Redset<C>, Result<()>)> {
    recover::recover(comm, name)
}

/// Reads every file that is protected under `name` and its redundancy, and compares them with their
/// checksums. Nothing is changed. The tree shows the state of each file of each rank of the caller's
/// set; the verdict is an error on all ranks when anything is missing or damaged on any of them.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub fn verify<C: Comm>(comm: &C, name: &OsStr) -> Result<(kvtree::Tree, Result<()>)> {
    verify::verify(comm, name)
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
    pub fn redundancy_files(&self, name: &OsStr) -> Result<Vec<PathBuf>> {
        let descriptor = self.descriptor.as_ref().ok_or(Error::NotFormed)?;
        Ok(vec![
            names::descriptor_file(name, descriptor.world_rank),
            names::redundancy_file(name, descriptor),
        ])
    }

    /// The files that this rank gave to `apply`, from the header of its redundancy file.
    pub fn original_files(&self, name: &OsStr) -> Result<Vec<PathBuf>> {
        let descriptor = self.descriptor.as_ref().ok_or(Error::NotFormed)?;
        let path = names::redundancy_file(name, descriptor);
        let (header, _) = header::Header::read(&path)?.ok_or_else(|| Error::BadFile {
            path,
            what: "it does not exist".into(),
        })?;
        let files = header.own().files.iter();
        Ok(files.map(|file| file.path.clone()).collect())
    }

    /// Descriptor and set, once the set is formed.
    fn ready(&self) -> Result<(&Descriptor, &Peers<C>)> {
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
        let is_near = self.on_one_node && limits.near && !flows.is_empty();
        if is_near && near::run(&self.comm, &flows, budget, member)? {
            return Ok(());
        }
        let channel = Channel {
            comm: &self.comm,
            set: &self.set,
            tag: TAG,
        };
        FlowRun::new(flows, limits).finish(&channel, member)?;
        member.take_unwritten().map_or(Ok(()), Err)
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
