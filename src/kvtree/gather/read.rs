//! Finding the files of a set from its top map, and reading them.

use super::names::with_suffix;
use super::{FILE, GENERATION, LEVEL, NO_PREFIX, OFFSET, RANK, RANKS};
use crate::comm::Comm;
use crate::kvtree::exchange::{self, Direction};
use crate::kvtree::file::{self, CheckedFile};
use crate::kvtree::pack::{self, Order, PackedTree};
use crate::kvtree::value::parse_rank;
use crate::kvtree::{Error, Result, Tree, TreeMut, TreeRef, agree};
use crate::protect::generation::Generation;
use crate::storage;
use crate::wire::{put, take};
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

// ---- all ranks ------------------------------------------------------------------------------

/// Merges into `data` the tree that this rank gave to [`write_gather`](super::write_gather). A rank of which no file has
/// a tree gets none: one process may have written those of some ranks only.
pub fn read_scatter<C: Comm>(comm: &C, prefix: Option<&Path>, data: Option<TreeMut>) -> Result<()> {
    let data = data.ok_or(Error::Null("the tree to receive into"));
    let given = data.and_then(|data| Ok((prefix.ok_or(NO_PREFIX)?, data)));
    let (prefix, mut data) = agree(comm, given)?;
    let mut source = (comm.rank() == 0).then(SetFile::top);
    let mut above = Above::default();
    while above.level > 1 {
        let map = read_if_any(prefix, source).and_then(|map| check_map(map, above));
        let next = match &map {
            Ok(Some((_, next))) => *next,
            _ => Above::default(),
        };
        let received = scatter(comm, map.map(|map| map.map(|(part, _)| part)))?;
        above = next.share(comm)?;
        let next = only(prefix, &received).and_then(|entry| entry.map(SetFile::of).transpose());
        source = agree(comm, next)?;
    }
    let part = read_if_any(prefix, source);
    let part = part.and_then(|part| check_data(part, comm.size(), above));
    let received = scatter(comm, part)?;
    match agree(comm, only(prefix, &received))? {
        Some(tree) => data.merge(tree),
        None => Ok(()),
    }
}

/// What is known of a set from the maps above a file.
#[derive(Clone, Copy)]
pub(super) struct Above {
    pub(super) level: u64,
    /// Of the whole set, by its top map; that itself is compared with nothing.
    generation: Option<Option<Generation>>,
}

impl Default for Above {
    /// Above the top map there is nothing.
    fn default() -> Above {
        Above {
            level: u64::MAX,
            generation: None,
        }
    }
}

impl Above {
    /// As rank 0 knows it: it reads a map of every level.
    fn share<C: Comm>(self, comm: &C) -> Result<Above> {
        let mut bytes = Vec::new();
        put(&mut bytes, &[self.level]);
        put(&mut bytes, &Generation::numbers(self.generation.flatten()));
        comm.bcast(0, &mut bytes)?;
        Above::from_bytes(&bytes).ok_or(Error::Malformed)
    }

    fn from_bytes(mut bytes: &[u8]) -> Option<Above> {
        let [level] = take(&mut bytes)?;
        let generation = Some(Generation::from_numbers(take(&mut bytes)?));
        Some(Above { level, generation })
    }
}

/// What one rank has sent to this one. Two files that name it cannot be of one set.
fn only<'a>(prefix: &Path, received: &'a Tree) -> Result<Option<TreeRef<'a>>> {
    let mut senders = received.view().iter();
    let first = senders.next().and_then(|sender| sender.tree());
    match senders.next() {
        None => Ok(first),
        Some(_) => Err(Error::SentTwice(prefix.to_owned())),
    }
}

fn read_if_any(prefix: &Path, source: Option<SetFile>) -> Result<Option<FileContent>> {
    let part = source.map(|source| FileContent::read(prefix, &source));
    part.transpose()
}

fn check_map(map: Option<FileContent>, above: Above) -> Result<Option<(FileContent, Above)>> {
    let Some(map) = map else {
        return Ok(None);
    };
    match map.below(above)? {
        Above { level: 0, .. } => Err(map.bad_level(0)),
        below => Ok(Some((map, below))),
    }
}

fn check_data(
    part: Option<FileContent>,
    ranks: usize,
    above: Above,
) -> Result<Option<FileContent>> {
    let Some(part) = part else {
        return Ok(None);
    };
    let (found, expected) = (part.number(RANKS)?, ranks as u64);
    if found != expected {
        return Err(Error::RankCount {
            path: part.path,
            found,
            expected,
        });
    }
    part.check_generation(above)?;
    Ok(Some(part))
}

fn scatter<C: Comm>(comm: &C, part: Result<Option<FileContent>>) -> Result<Tree> {
    let messages = part.and_then(|part| match part {
        Some(part) => part.messages(comm.size()),
        None => Ok(Vec::new()),
    });
    let mut received = Tree::new();
    exchange::exchange_packed(comm, messages, &mut received.edit(), Direction::Right)?;
    Ok(received)
}

// ---- one process for all ranks --------------------------------------------------------------

/// Merges into `data`, below each rank's key, the tree of that rank: all files in one process.
pub fn read_scatter_single(prefix: &Path, mut data: TreeMut) -> Result<()> {
    let mut found = Tree::new();
    let mut entries = 0;
    let mut expected = None;
    let mut walk = SetWalk::from_top();
    while let Some((source, above)) = walk.next() {
        let part = FileContent::read(prefix, &source)?;
        if expected.is_none() {
            expected = Some(part.number(RANKS)?);
        }
        match part.below(above)? {
            Above { level: 0, .. } => entries += part.merge_ranks(&mut found.edit())?,
            below => walk.go_on(&part, below)?,
        }
    }
    let expected = expected.unwrap_or(0);
    // Neither is enough: a rank may stand twice while another is missing.
    for count in [entries, found.view().len() as u64] {
        if count != expected {
            return Err(Error::RankCount {
                path: prefix.to_owned(),
                found: count,
                expected,
            });
        }
    }
    data.merge(found.view())
}

/// A walk through the files of a set: each is read once, and levels only descend. So reading terminates, and takes memory in
/// proportion to existing files.
pub(super) struct SetWalk {
    next: Vec<(SetFile, Above)>,
    seen: HashSet<SetFile>,
}

impl SetWalk {
    pub(super) fn from_top() -> SetWalk {
        SetWalk {
            next: vec![(SetFile::top(), Above::default())],
            seen: HashSet::from([SetFile::top()]),
        }
    }

    /// A file, and what is known from the map that names it.
    pub(super) fn next(&mut self) -> Option<(SetFile, Above)> {
        self.next.pop()
    }

    /// The files that a map names come next.
    pub(super) fn go_on(&mut self, map: &FileContent, above: Above) -> Result<()> {
        for source in map.sources() {
            let source = source?;
            if !self.seen.insert(source.clone()) {
                return Err(Error::NamedTwice {
                    path: map.path.clone(),
                    file: source.name.to_string_lossy().into_owned(),
                });
            }
            self.next.push((source, above));
        }
        Ok(())
    }
}

// ---- files ----------------------------------------------------------------------------------

/// A file of a set, and where in it to read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SetFile {
    /// What is put behind the prefix.
    pub(super) name: CString,
    offset: u64,
}

impl SetFile {
    pub(super) fn top() -> SetFile {
        SetFile::start_of(c"")
    }

    pub(super) fn start_of(name: &CStr) -> SetFile {
        SetFile {
            name: name.to_owned(),
            offset: 0,
        }
    }

    fn of(entry: TreeRef) -> Result<SetFile> {
        Ok(SetFile {
            name: entry.value(FILE)?.to_owned(),
            offset: number(OFFSET, entry.value(OFFSET)?)?,
        })
    }
}

/// A number that a file holds below `key`.
fn number(key: &CStr, text: &CStr) -> Result<u64> {
    let number = parse_rank(text.to_bytes());
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| not_a(key, text.to_string_lossy().into_owned(), "a number"))
}

fn not_a(key: &CStr, text: String, wanted: &'static str) -> Error {
    Error::NotA {
        key: key.to_string_lossy().into_owned(),
        text,
        wanted,
    }
}

fn named(generation: Option<Generation>) -> String {
    generation.map_or("none".into(), |it| it.to_string())
}

/// The content of one file of a set: a map, or data.
pub(super) struct FileContent {
    path: PathBuf,
    /// None in an empty file.
    contents: Option<CheckedFile>,
}

impl FileContent {
    pub(super) fn read(prefix: &Path, source: &SetFile) -> Result<FileContent> {
        let path = with_suffix(prefix, &source.name);
        let fd = storage::file::open_read(&path)?;
        storage::file::seek_to(&fd, source.offset)?;
        let contents = file::read_packed(&path, &fd)?;
        Ok(FileContent { path, contents })
    }

    fn number(&self, key: &CStr) -> Result<u64> {
        let text = self.contents.as_ref().and_then(|c| c.tree().value(key));
        let found = text.ok_or_else(|| Error::NotSet(key.into()));
        let found = found.and_then(|text| number(key, text));
        found.map_err(|cause| self.error(cause))
    }

    fn error(&self, cause: Error) -> Error {
        Error::InFile {
            path: self.path.clone(),
            cause: cause.into(),
        }
    }

    /// What this file tells those that it names. Levels only ever go down.
    pub(super) fn below(&self, above: Above) -> Result<Above> {
        let level = self.number(LEVEL)?;
        if level >= above.level {
            return Err(self.bad_level(level));
        }
        let generation = Some(self.check_generation(above)?);
        Ok(Above { level, generation })
    }

    /// The generation of this file. One that has none is not of a set that has one: whoever writes, writes all files.
    fn check_generation(&self, above: Above) -> Result<Option<Generation>> {
        let found = self.generation()?;
        match above.generation {
            Some(expected) if expected != found => Err(Error::Stale {
                path: self.path.clone(),
                found: named(found),
                expected: named(expected),
            }),
            _ => Ok(found),
        }
    }

    /// None in files of other libraries, and of version 0.1.0.
    pub(super) fn generation(&self) -> Result<Option<Generation>> {
        let tree = self.contents.as_ref().map(CheckedFile::tree);
        let Some(named) = tree.and_then(|tree| tree.get(GENERATION)) else {
            return Ok(None);
        };
        let text = named.children().next().map_or(c"", |(text, _)| text);
        let text = text.to_string_lossy();
        match Generation::from_text(&text) {
            Some(generation) => Ok(Some(generation)),
            None => Err(self.error(not_a(GENERATION, text.into(), "a generation"))),
        }
    }

    /// Whether it has trees of ranks, or names files that have.
    pub(super) fn is_data(&self) -> bool {
        self.number(LEVEL).is_ok_and(|level| level == 0)
    }

    fn bad_level(&self, level: u64) -> Error {
        Error::MapLevel {
            path: self.path.clone(),
            level,
        }
    }

    /// What stands below RANK: for each rank its data, or the file that it is to read.
    fn ranks(&self) -> impl Iterator<Item = (&CStr, PackedTree<'_>)> {
        let ranks = self.contents.as_ref().and_then(|c| c.tree().get(RANK));
        ranks.into_iter().flat_map(PackedTree::children)
    }

    /// What stands below RANK, for the ranks named there.
    fn messages(&self, size: usize) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut seen = HashSet::new();
        let addressed = self.ranks().map(|(key, tree)| {
            let rank = exchange::destination(key.to_bytes(), size)?;
            // A rank takes one message from each other one.
            match seen.insert(rank) {
                true => Ok((rank, tree.bytes().to_vec())),
                false => Err(Error::NamedTwice {
                    path: self.path.clone(),
                    file: key.to_string_lossy().into_owned(),
                }),
            }
        });
        addressed.collect()
    }

    /// The files that a map names.
    pub(super) fn sources(&self) -> impl Iterator<Item = Result<SetFile>> {
        self.ranks().map(|(_, entry)| {
            let (entry, _) = pack::unpack(entry.bytes(), Order::AsPacked)?;
            SetFile::of(entry.view())
        })
    }

    /// Merges the data of all ranks of this file into `found`; returns how many there are.
    fn merge_ranks(&self, found: &mut TreeMut) -> Result<u64> {
        let ranks = self.contents.as_ref().and_then(|c| c.tree().get(RANK));
        if let Some(ranks) = ranks {
            pack::merge_into(ranks.bytes(), found.edit(), Order::Reversed)?;
        }
        Ok(self.ranks().count() as u64)
    }
}
