//! The tree in front of every redundancy file: what it protects, for the rank that wrote it and for the
//! left neighbours that may have to be rebuilt from it.
//!
//! Trees are sorted before they are written, so that the same set always gives the same bytes. Checksums
//! stand under keys that other readers of the format skip, and have a fixed width, so that the length of a header is known
//! before the checksums are. Checksums of redundancy are stored below the rank that holds it, because upstream makes
//! a lost header from that of a neighbour, with all keys that it does not know. The generation of the apply is stored in
//! the entry of each rank, which upstream copies whole.
//!
//! Numbers are checked when a header is read, so that sums of them cannot overflow.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::hash::BuildHasher;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::names::is_of_member;
use super::{Descriptor, Error, Result, bad_file};
use crate::kvtree::value::{parse_rank, parse_unsigned, rank_text};
use crate::kvtree::{self, Tree, TreeMut, TreeRef, pack};
use crate::protect::Geometry;
use crate::protect::generation::{Generation, HeaderClaim};
use crate::protect::sums::joined;
use crate::storage::names::{FileAttributes, FileName, Owner, Time, owner_of};

const DESCRIPTORS: &CStr = c"DESC";
const FILES: &CStr = c"FILES";
const FILE: &CStr = c"FILE";
const RANK: &CStr = c"RANK";
const RANKS: &CStr = c"RANKS";
const GROUP: &CStr = c"GROUP";
const CHUNK: &CStr = c"CHUNK";
const CHECKSUM: &CStr = c"CRC32";
const GENERATION: &CStr = c"GENERATION";
/// The longest file possible; sums of lengths are refused beyond it.
const LONGEST: u64 = i64::MAX as u64;
const SECOND: u64 = 1_000_000_000;

/// A file as it was when it was protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileRecord {
    pub(super) path: PathBuf,
    pub(super) attributes: FileAttributes,
    pub(super) checksum: Option<u32>,
}

/// What is known about one rank of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RankInfo {
    pub(super) descriptor: Descriptor,
    pub(super) files: Vec<FileRecord>,
    /// Of the apply that wrote it; `None` in older files and those of other libraries.
    pub(super) generation: Option<Generation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) rank: usize,
    /// By rank in the set.
    pub(super) infos: BTreeMap<usize, RankInfo>,
    /// Under XOR and RS only.
    pub(super) stripes: Option<StripeInfo>,
    /// Of each parity chunk or copy in the redundancy, in their order; empty when there are none.
    pub(super) checksums: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StripeInfo {
    pub(super) chunk: u64,
    /// Rank in the parent communicator of each rank of the set.
    pub(super) map: Vec<usize>,
}

impl RankInfo {
    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        // `checked` has found that the sum does not overflow.
        self.files.iter().map(|file| file.attributes.size).sum()
    }

    /// Refuses files that together are longer than a file can be.
    pub(super) fn checked(self) -> Result<RankInfo> {
        let mut sizes = self.files.iter().map(|file| file.attributes.size);
        let sum = sizes.try_fold(0u64, |sum, size| sum.checked_add(size));
        match sum.is_some_and(|sum| sum <= LONGEST) {
            true => Ok(self),
            false => Err(out_of_range(c"SIZE", u64::MAX)),
        }
    }

    /// Checksum of all files one after the other; `None` if one of them has none.
    pub(super) fn checksum(&self) -> Option<u32> {
        let files = self.files.iter();
        let each = files.map(|file| Some((file.checksum?, file.attributes.size)));
        Some(joined(each.collect::<Option<Vec<_>>>()?.into_iter()))
    }

    pub(super) fn has_checksums(&self) -> bool {
        self.files.iter().any(|file| file.checksum.is_some())
    }

    fn fill(&self, mut tree: TreeMut) -> Result<()> {
        tree.set(DESCRIPTORS, Some(self.descriptor.to_tree()));
        tree.set_u64(FILES, self.files.len() as u64);
        let mut list = tree.child(FILE);
        for (index, file) in self.files.iter().enumerate() {
            let path = file.path.as_os_str().as_bytes();
            let path =
                CString::new(path).map_err(|_| bad_file(&file.path, "its name has a zero"))?;
            file.fill(list.child(&rank_text(index)).into_child(&path))?;
        }
        if self.files.is_empty() {
            tree.unset(FILE);
        }
        set_generation(tree, self.generation)
    }

    pub(super) fn to_tree(&self) -> Result<Tree> {
        let mut tree = Tree::new();
        self.fill(tree.edit())?;
        Ok(tree)
    }

    pub(super) fn from_tree(tree: TreeRef) -> Result<RankInfo> {
        let descriptor = tree.get(DESCRIPTORS).ok_or_else(|| absent(DESCRIPTORS))?;
        let count = tree.value_u64(FILES)?;
        let list = tree.get(FILE);
        let record = |index: u64| {
            let entry = list.and_then(|list| list.elem(&rank_text(index as usize)));
            let file = entry.and_then(|entry| entry.tree()?.first());
            file.ok_or_else(|| absent(FILE)).and_then(FileRecord::read)
        };
        RankInfo {
            descriptor: Descriptor::from_tree(descriptor)?,
            files: (0..count).map(record).collect::<Result<_>>()?,
            generation: generation_in(tree)?,
        }
        .checked()
    }

    /// Hash that differs if two applies say different things about a rank, with or without generations.
    fn fingerprint(&self) -> Result<u64> {
        let mut nameless = self.to_tree()?;
        nameless.edit().unset(GENERATION);
        let bytes = pack::packed(Some(nameless.view()))?;
        Ok(foldhash::quality::FixedState::default().hash_one(bytes))
    }
}

/// The generation that a tree names; malformed text is an error.
pub(super) fn generation_in(tree: TreeRef) -> Result<Option<Generation>> {
    if tree.get(GENERATION).is_none() {
        return Ok(None);
    }
    let text = tree.value(GENERATION)?.to_string_lossy();
    match Generation::from_text(&text) {
        Some(generation) => Ok(Some(generation)),
        None => Err(Error::Descriptor(format!("GENERATION is {text}"))),
    }
}

/// Stores a generation where [`generation_in`] finds it.
pub(super) fn set_generation(mut tree: TreeMut, generation: Option<Generation>) -> Result<()> {
    if let Some(generation) = generation {
        tree.set_str(GENERATION, &text(generation.to_text())?);
    }
    Ok(())
}

/// The numbers that a tree holds about a file.
fn numbers(attributes: &FileAttributes) -> [(&'static CStr, u64); 10] {
    let FileAttributes {
        atime,
        mtime,
        ctime,
        ..
    } = attributes;
    [
        (c"MODE", attributes.mode.into()),
        (c"UID", attributes.uid.into()),
        (c"GID", attributes.gid.into()),
        (c"SIZE", attributes.size),
        (c"ATIME_SECS", atime.seconds as u64),
        (c"ATIME_NSECS", atime.nanoseconds as u64),
        (c"MTIME_SECS", mtime.seconds as u64),
        (c"MTIME_NSECS", mtime.nanoseconds as u64),
        (c"CTIME_SECS", ctime.seconds as u64),
        (c"CTIME_NSECS", ctime.nanoseconds as u64),
    ]
}

impl FileRecord {
    fn fill(&self, mut tree: TreeMut) -> Result<()> {
        for (key, number) in numbers(&self.attributes) {
            tree.set_u64(key, number);
        }
        if let Some(checksum) = self.checksum {
            tree.set_str(CHECKSUM, &checksum_text(checksum)?);
        }
        Ok(())
    }

    fn read(entry: kvtree::ElemRef) -> Result<FileRecord> {
        let tree = entry.tree().ok_or_else(|| absent(FILE))?;
        let time = |seconds: &CStr, nanoseconds: &CStr| -> Result<Time> {
            Ok(Time {
                // Times before 1970 wrap around to large unsigned numbers.
                seconds: tree.value_u64(seconds)? as i64,
                nanoseconds: below(tree, nanoseconds, SECOND)? as i64,
            })
        };
        let checksum = match tree.get(CHECKSUM) {
            Some(_) => Some(parse_checksum(tree.value(CHECKSUM)?)?),
            None => None,
        };
        // For chown, the id 2^32 - 1 means "do not change".
        let owner = |key: &CStr| -> Result<u32> { Ok(below(tree, key, u32::MAX.into())? as u32) };
        Ok(FileRecord {
            path: OsStr::from_bytes(entry.key_bytes()).into(),
            attributes: FileAttributes {
                mode: below(tree, c"MODE", 1 << 32)? as u32,
                uid: owner(c"UID")?,
                gid: owner(c"GID")?,
                size: below(tree, c"SIZE", LONGEST)?,
                atime: time(c"ATIME_SECS", c"ATIME_NSECS")?,
                mtime: time(c"MTIME_SECS", c"MTIME_NSECS")?,
                ctime: time(c"CTIME_SECS", c"CTIME_NSECS")?,
            },
            checksum,
        })
    }
}

/// A number that must be less than `limit`.
fn below(tree: TreeRef, key: &CStr, limit: u64) -> Result<u64> {
    let value = tree.value_u64(key)?;
    match value < limit {
        true => Ok(value),
        false => Err(out_of_range(key, value)),
    }
}

fn out_of_range(key: &CStr, value: u64) -> Error {
    let key = key.to_string_lossy();
    Error::Descriptor(format!("{key} is out of range with {value}"))
}

fn text(text: String) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Descriptor("a text has a zero".into()))
}

fn checksum_text(checksum: u32) -> Result<CString> {
    text(format!("{checksum:08x}"))
}

fn parse_checksum(text: &CStr) -> Result<u32> {
    let number = text.to_str().ok();
    let number = number.and_then(|text| u32::from_str_radix(text, 16).ok());
    number.ok_or_else(|| Error::Descriptor(format!("CRC32 is {}", text.to_string_lossy())))
}

fn absent(key: &CStr) -> Error {
    kvtree::Error::NotSet(key.into()).into()
}

impl Header {
    /// With zeros as the checksums of the redundancy, which is not written yet.
    pub(super) fn new(
        rank: usize,
        infos: BTreeMap<usize, RankInfo>,
        geometry: &Geometry,
        map: &[usize],
        has_checksums: bool,
    ) -> Header {
        let pieces = geometry.redundancy(rank).len();
        let stripes = geometry.chunk().map(|chunk| StripeInfo {
            chunk,
            map: map.to_vec(),
        });
        Header {
            rank,
            infos,
            stripes,
            checksums: vec![0; if has_checksums { pieces } else { 0 }],
        }
    }

    /// The header as it stands in a file.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut tree = Tree::new();
        let mut edit = tree.edit();
        edit.set_u64(RANK, self.rank as u64);
        for (rank, info) in &self.infos {
            info.fill(edit.child(DESCRIPTORS).into_child(&rank_text(*rank)))?;
        }
        if let Some(stripes) = &self.stripes {
            edit.set_u64(CHUNK, stripes.chunk);
            let mut group = edit.child(GROUP);
            group.set_u64(RANKS, stripes.map.len() as u64);
            let mut map = group.child(RANK);
            for (rank, world_rank) in stripes.map.iter().enumerate() {
                map.set_u64(&rank_text(rank), *world_rank as u64);
            }
        }
        for (index, checksum) in self.checksums.iter().enumerate() {
            let mut list = edit.child(CHECKSUM).into_child(&rank_text(self.rank));
            list.set_str(&rank_text(index), &checksum_text(*checksum)?);
        }
        sort(tree.edit());
        Ok(kvtree::file::persisted(tree.view())?)
    }

    /// The header of the file at `path` and its length; `None` if there is no file.
    pub(super) fn read(path: &Path) -> Result<Option<(Header, u64)>> {
        Header::read_at(&path.to_owned().into())
    }

    pub(super) fn read_at(file: &FileName) -> Result<Option<(Header, u64)>> {
        let fd = opened(file)?;
        fd.map(|fd| Header::from_fd(file.path(), fd)).transpose()
    }

    /// The header of a file, and the owner of the file.
    pub(super) fn read_owned(path: &Path) -> Result<Option<(Header, Owner)>> {
        let Some(fd) = opened(&path.to_owned().into())? else {
            return Ok(None);
        };
        let owner = owner_of(&fd)?;
        Ok(Some((Header::from_fd(path, fd)?.0, owner)))
    }

    fn from_fd(path: &Path, fd: OwnedFd) -> Result<(Header, u64)> {
        let mut tree = Tree::new();
        let length = kvtree::file::read_fd(path, &fd, tree.edit())?;
        if length == 0 {
            return Err(bad_file(path, "it is empty"));
        }
        Ok((Header::from_tree(tree.view(), path)?, length))
    }

    fn from_tree(tree: TreeRef, path: &Path) -> Result<Header> {
        let list = tree.get(DESCRIPTORS).ok_or_else(|| absent(DESCRIPTORS))?;
        let mut infos = BTreeMap::new();
        for entry in list.iter() {
            let rank = parse_rank(entry.key_bytes()).ok_or_else(|| absent(RANK))?;
            let info = RankInfo::from_tree(entry.tree().ok_or_else(|| absent(DESCRIPTORS))?)?;
            if info.descriptor.rank != rank {
                return Err(bad_file(path, "its ranks contradict each other"));
            }
            infos.insert(rank, info);
        }
        let rank = own_rank(tree, &infos, path)?;
        let stripes = match tree.get(CHUNK) {
            Some(_) => Some(StripeInfo::from_tree(tree)?),
            None => None,
        };
        let header = Header {
            rank,
            infos,
            stripes,
            checksums: checksums_of(tree, rank)?,
        };
        match header.contradiction() {
            Some(what) => Err(bad_file(path, what)),
            None => Ok(header),
        }
    }

    /// What in the header contradicts the rest, if anything does.
    fn contradiction(&self) -> Option<&'static str> {
        let own = &self.own().descriptor;
        let others = || {
            self.infos
                .values()
                .filter(|info| info.descriptor.rank != self.rank)
        };
        if others().any(|info| !info.descriptor.is_of_same_set(own)) {
            return Some("its ranks are of different sets");
        }
        let mut named = self.infos.values().filter_map(|info| info.generation);
        if named.any(|generation| self.generation() != Some(generation)) {
            return Some("it mixes generations");
        }
        let stripes = self.stripes.as_ref();
        stripes.and_then(
            |stripes| match stripes.chunk.checked_mul(own.ranks as u64) {
                _ if stripes.map.len() != own.ranks => Some("its map is of another set"),
                Some(all) if all <= LONGEST => None,
                _ => Some("its chunks are too long"),
            },
        )
    }

    /// The apply that it belongs to, if it says so.
    pub(super) fn generation(&self) -> Option<Generation> {
        self.infos.values().find_map(|info| info.generation)
    }

    /// What other ranks compare to find out whether their headers belong to the same apply.
    pub(super) fn claim(&self) -> Result<HeaderClaim> {
        let about = self.infos.iter();
        let about = about.map(|(&rank, info)| Ok((rank, info.fingerprint()?)));
        Ok(HeaderClaim {
            generation: self.generation(),
            about: about.collect::<Result<_>>()?,
            common: self.chunk(),
        })
    }

    /// Whether it is the header of this rank in this set.
    pub(super) fn belongs_to(&self, descriptor: &Descriptor) -> bool {
        let left = (1..=descriptor.scheme.copies()).map(|distance| descriptor.left(distance));
        self.own().descriptor == *descriptor
            && left.into_iter().all(|rank| self.infos.contains_key(&rank))
    }

    /// The chunk length that it names, or 0.
    pub(super) fn chunk(&self) -> u64 {
        self.stripes.as_ref().map_or(0, |stripes| stripes.chunk)
    }

    /// What the rank that wrote the file says about itself.
    pub(super) fn own(&self) -> &RankInfo {
        // `own_rank` has found it.
        &self.infos[&self.rank]
    }
}

impl StripeInfo {
    fn from_tree(tree: TreeRef) -> Result<StripeInfo> {
        let group = tree.get(GROUP).ok_or_else(|| absent(GROUP))?;
        let ranks = group.value_u64(RANKS)?;
        let list = group.get(RANK).ok_or_else(|| absent(RANK))?;
        let world_rank = |rank: u64| -> Result<usize> {
            let value = parse_unsigned(list.value(&rank_text(rank as usize))?.to_bytes());
            usize::try_from(value).map_err(|_| out_of_range(RANK, value))
        };
        Ok(StripeInfo {
            chunk: tree.value_u64(CHUNK)?,
            map: (0..ranks).map(world_rank).collect::<Result<_>>()?,
        })
    }
}

/// The checksums of the redundancy of this rank, in their order.
fn checksums_of(tree: TreeRef, rank: usize) -> Result<Vec<u32>> {
    let list = tree.get(CHECKSUM);
    let own = list.and_then(|list| list.get(&rank_text(rank)));
    let mut checksums = BTreeMap::new();
    for entry in own.iter().flat_map(|list| list.iter()) {
        let index = parse_rank(entry.key_bytes()).ok_or_else(|| absent(CHECKSUM))?;
        let value = entry.tree().and_then(|tree| tree.first()?.key());
        checksums.insert(
            index,
            parse_checksum(value.ok_or_else(|| absent(CHECKSUM))?)?,
        );
    }
    Ok(checksums.into_values().collect())
}

/// The rank whose file this is. Headers that upstream rebuilt may name two ranks, that of the neighbour too. Then the name
/// of the file decides.
fn own_rank(tree: TreeRef, infos: &BTreeMap<usize, RankInfo>, path: &Path) -> Result<usize> {
    let named = tree.get(RANK).ok_or_else(|| absent(RANK))?;
    let ranks = named
        .iter()
        .filter_map(|entry| parse_rank(entry.key_bytes()));
    let known: Vec<_> = ranks.filter(|rank| infos.contains_key(rank)).collect();
    match known[..] {
        [rank] => Ok(rank),
        [] => Err(bad_file(path, "it does not say whose it is")),
        _ => {
            let mine = known.iter().find(|rank| is_of_member(path, **rank));
            mine.copied()
                .ok_or_else(|| bad_file(path, "it names several ranks"))
        }
    }
}

/// `None` if there is no file.
fn opened(file: &FileName) -> Result<Option<OwnedFd>> {
    match file.open_read() {
        Err(error) if error.is_absent() => Ok(None),
        outcome => Ok(Some(outcome?)),
    }
}

/// Sorts a tree and everything below it in the byte order of the keys.
pub(super) fn sort(mut tree: TreeMut) {
    tree.sort_by_key(|elem| elem.key_bytes().to_vec());
    let keys = tree.view().iter().filter(|elem| elem.tree().is_some());
    let keys: Vec<CString> = keys
        .filter_map(|elem| Some(elem.key()?.to_owned()))
        .collect();
    for key in keys {
        sort(tree.child(&key));
    }
}
