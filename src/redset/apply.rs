//! Apply: writes redundancy for the files of all ranks.
//!
//! Each rank records its files and gives the record to the right neighbours that may have to rebuild them. The sizes of
//! all ranks' files give the geometry of the set, hence all flows; carrying them out fills the redundancy file behind
//! the place of its header. The header comes last, when the checksums are known. Then all ranks commit.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::access::{self, Access};
use super::header::{FileRecord, Header, RankInfo, StripeInfo};
use super::member::{DataStream, MemberFiles};
use super::redundancy::RedundancyStream;
use super::sharing::infos;
use super::{Config, Descriptor, Error, Peers, Redset, Result, agree, commit, descriptors, names};
use crate::comm::Comm;
use crate::protect::generation::Generation;
use crate::protect::{Geometry, Part};
use crate::storage::names::attributes;

pub(super) fn apply<C: Comm>(redset: &Redset<C>, files: &[PathBuf], name: &OsStr) -> Result<()> {
    let (descriptor, set) = redset.ready()?;
    let parent = &redset.parent;
    commit::resolve(parent, name)?;
    let config = Config::current();
    let mut info = agree(parent, note_down(descriptor, files))?;
    // Either all ranks write checksums and a generation, or none does.
    info.generation = Generation::next(parent, found(name, descriptor), config.checksums())?;
    for file in &mut info.files {
        file.checksum = info.generation.map(|_| 0);
    }
    let new_files = redset.redundancy_files(name)?;
    let [descriptor_file, redundancy_file] = &new_files[..] else {
        return Err(Error::Descriptor("it names no files".into()));
    };
    // The other ranks of the set wait for both messages, so both are sent even if the first step fails.
    let described = descriptors::write(set, descriptor, info.generation, descriptor_file);
    let written = match described {
        // The transport is broken: the others learn of it in the agreement, not from messages within the set.
        Err(Error::Comm(_)) => described,
        described => described.and(write_redundancy(set, info, redundancy_file, &config)),
    };
    let in_order = [redundancy_file.clone(), descriptor_file.clone()];
    commit::commit(parent, &in_order, written)
}

/// The highest generation in the files of this rank under the name. Unreadable files have none.
fn found(name: &OsStr, descriptor: &Descriptor) -> Option<Generation> {
    let file = names::descriptor_file(name, descriptor.world_rank);
    let before = descriptors::noted(&file, descriptor.world_rank);
    let before = before.map(|noted| noted.descriptor);
    let before = before.filter(|before| before != descriptor);
    let headers = before.iter().chain([descriptor]).filter_map(|descriptor| {
        let read = Header::read(&names::redundancy_file(name, descriptor));
        read.ok()??.0.generation()
    });
    headers.chain(descriptors::highest(&file)).max()
}

/// What this rank protects.
fn note_down(descriptor: &Descriptor, files: &[PathBuf]) -> Result<RankInfo> {
    let record = |path: &PathBuf| {
        let bad = |what: &str| Error::BadFile {
            path: path.clone(),
            what: what.into(),
        };
        let attributes = attributes(path)?.ok_or_else(|| bad("it does not exist"))?;
        if !attributes.is_regular() {
            return Err(bad("it is not a regular file"));
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
    let geometry = Geometry::new(info.descriptor.scheme, bytes)?;
    let lengths = geometry.redundancy(rank);
    let mut header = Header {
        rank,
        infos: infos(comm, &info)?,
        stripes: geometry.chunk().map(|chunk| StripeInfo {
            chunk,
            map: set.map.clone(),
        }),
        checksums: vec![0; if checksums { lengths.len() } else { 0 }],
    };
    let unfinished = header.to_bytes();
    let length = unfinished.as_ref().map_or(0, |bytes| bytes.len() as u64);
    let located = info
        .files
        .iter()
        .map(|file| (file.clone(), file.path.clone().into()));
    let summed = checksums && !geometry.is_copies();
    let mut member = MemberFiles::new(
        DataStream::new(located.collect(), checksums),
        RedundancyStream::new(names::part(file).into(), length, lengths, summed),
    );
    let begun = unfinished.and(member.redundancy.begin(access, None));
    let ran = set.carry_out(geometry.encoding()?, config.limits(1), &mut member);
    if let Err(Error::Comm(_)) = ran {
        return ran;
    }
    // SINGLE has no flows, so its files have not been read yet.
    let read = member.take_unread(Part::Data).map_or(Ok(()), Err);
    let summed = begun
        .and(ran)
        .and(read)
        .and_then(|()| member.data.read_rest());
    if let Some(checksums) = member.data.checksums() {
        let files = info.files.iter_mut().zip(checksums);
        files.for_each(|(file, checksum)| file.checksum = Some(checksum));
        header.infos = infos(comm, &info)?;
        header.checksums = match geometry.is_copies() {
            // Copies are not computed, so they have the checksums of what their owners have read.
            true => left_neighbours(&info.descriptor)
                .map(|rank| header.infos.get(&rank)?.checksum())
                .collect::<Option<_>>()
                .ok_or(Error::Broken("a copy has no checksum"))?,
            false => member.redundancy.checksums(),
        };
    }
    summed?;
    member.redundancy.settle(&header.to_bytes()?)
}

/// The ranks whose copies this rank keeps, nearest first.
fn left_neighbours(of: &Descriptor) -> impl Iterator<Item = usize> {
    (1..=of.scheme.copies()).map(|distance| of.left(distance))
}
