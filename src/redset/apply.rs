//! Apply: writes redundancy for the files of all ranks.
//!
//! Each rank records its files and gives the record to the right neighbours that may have to rebuild them. The sizes of
//! all ranks' files give the geometry of the set, hence all flows; carrying them out fills the redundancy file behind
//! its header, which is written last, when the checksums are known. Then all ranks commit.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::access::{self, Access};
use super::header::{FileRecord, Header, RankInfo};
use super::redundancy::RedundancyStream;
use super::sharing::share_info;
use super::streams::{DataStream, MemberFiles};
use super::{Config, Descriptor, Error, Peers, Redset, Result};
use super::{agree, bad_file, commit, descriptors, names};
use crate::comm::Comm;
use crate::protect::generation::Generation;
use crate::protect::{Geometry, Part};
use crate::storage::names::attributes;

pub(super) fn apply<C: Comm>(redset: &Redset<C>, files: &[PathBuf], name: &OsStr) -> Result<()> {
    let (descriptor, set) = redset.formed()?;
    let parent = &redset.parent;
    commit::resolve(parent, name)?;
    let config = Config::current();
    let mut info = agree(parent, record_files(descriptor, files))?;
    // Either all ranks write checksums and a generation, or none does.
    info.generation = Generation::next(
        parent,
        highest_generation(name, descriptor),
        config.checksums(),
    )?;
    for file in &mut info.files {
        file.checksum = info.generation.map(|_| 0);
    }
    let [descriptor_file, redundancy_file] = redset.redundancy_files(name)?;
    // The other ranks of the set wait for both messages, so both are sent even if the first step fails.
    let described = descriptors::write(set, descriptor, info.generation, &descriptor_file);
    let written = match described {
        // The transport is broken: the others learn of it in the agreement, not from messages within the set.
        Err(Error::Comm(_)) => described,
        described => described.and(write_redundancy(set, info, &redundancy_file, &config)),
    };
    commit::commit(parent, &[redundancy_file, descriptor_file], written)
}

/// The highest generation in this rank's files of earlier applies under the name. Unreadable files have none.
fn highest_generation(name: &OsStr, descriptor: &Descriptor) -> Option<Generation> {
    let file = names::descriptor_file(name, descriptor.world_rank);
    let before = descriptors::stored(&file, descriptor.world_rank);
    let before = before.map(|stored| stored.descriptor);
    let before = before.filter(|before| before != descriptor);
    let headers = before.iter().chain([descriptor]).filter_map(|descriptor| {
        let read = Header::read(&names::redundancy_file(name, descriptor));
        read.ok()??.0.generation()
    });
    headers.chain(descriptors::highest(&file)).max()
}

/// What this rank protects: its descriptor and its files as they are now.
fn record_files(descriptor: &Descriptor, files: &[PathBuf]) -> Result<RankInfo> {
    let record = |path: &PathBuf| {
        let found = attributes(path)?;
        let attributes = found.ok_or_else(|| bad_file(path, "it does not exist"))?;
        if !attributes.is_regular() {
            return Err(bad_file(path, "it is not a regular file"));
        }
        Ok(FileRecord {
            path: path.clone(),
            attributes,
            checksum: None,
        })
    };
    // A file with two records would be rebuilt twice to the same path.
    let mut seen = HashSet::new();
    let files = files.iter().filter(|path| seen.insert(*path));
    RankInfo {
        descriptor: descriptor.clone(),
        files: files.map(record).collect::<Result<_>>()?,
        generation: None,
    }
    .checked()
}

/// Writes this rank's redundancy file, as `.part`. The error may be this rank's alone.
fn write_redundancy<C: Comm>(
    set: &Peers<C>,
    mut info: RankInfo,
    file: &Path,
    config: &Config,
) -> Result<()> {
    let comm = &set.comm;
    let rank = info.descriptor.rank;
    let checksums = info.generation.is_some();
    let (bytes, access) = access::gather(comm, info.bytes(), Access::of(&info.files))?;
    let geometry = Geometry::new(info.descriptor.scheme, bytes)?.on_nodes(&set.nodes);
    let lengths = geometry.redundancy(rank);
    let infos = share_info(comm, &info)?;
    let mut header = Header::new(rank, infos, &geometry, &set.map, checksums);
    // The checksums to come have a fixed width, so this is its final length.
    let unfinished = header.to_bytes();
    let length = unfinished.as_ref().map_or(0, |bytes| bytes.len() as u64);
    let located = info
        .files
        .iter()
        .map(|file| (file.clone(), file.path.clone().into()));
    let sum_redundancy = checksums && !geometry.is_copies();
    let mut member = MemberFiles::new(
        DataStream::new(located.collect(), checksums),
        RedundancyStream::new(names::part(file).into(), length, lengths, sum_redundancy),
    );
    let created = unfinished.and(member.redundancy.create(access, None));
    let ran = set.carry_out(geometry.encoding()?, config.limits(1), &mut member);
    if let Err(Error::Comm(_)) = ran {
        return ran;
    }
    let read = member.take_unread(Part::Data).map_or(Ok(()), Err);
    let written = created.and(ran).and(read);
    // SINGLE has no flows, so its files have not been read yet.
    let written = written.and_then(|()| member.data.read_rest());
    if let Some(checksums) = member.data.checksums() {
        let files = info.files.iter_mut().zip(checksums);
        files.for_each(|(file, checksum)| file.checksum = Some(checksum));
        header.infos = share_info(comm, &info)?;
        header.checksums = match geometry.is_copies() {
            true => copied_checksums(&header)?,
            false => member.redundancy.checksums(),
        };
    }
    written?;
    member.redundancy.finish(&header.to_bytes()?)
}

/// The checksums of the copies that this rank keeps: those that their owners computed when they read their files.
fn copied_checksums(header: &Header) -> Result<Vec<u32>> {
    let own = &header.own().descriptor;
    let kept = (1..=own.scheme.copies()).map(|distance| own.left(distance));
    let checksums = kept.map(|rank| header.infos.get(&rank)?.checksum());
    let checksums = checksums.collect::<Option<_>>();
    checksums.ok_or(Error::Broken("a copy has no checksum"))
}
