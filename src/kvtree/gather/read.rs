//! Finding the files of a set from its top map, and reading them.

use super::names::with_suffix;
use super::{FILE, LEVEL, NO_PREFIX, OFFSET, RANK, RANKS};
use crate::comm::Comm;
use crate::kvtree::exchange::{self, Direction};
use crate::kvtree::file::{self, Contents};
use crate::kvtree::pack::{self, Order, Packed};
use crate::kvtree::value::parse_rank;
use crate::kvtree::{Error, Result, Tree, TreeMut, TreeRef, agree};
use crate::storage;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

// ---- all ranks ------------------------------------------------------------------------------

/// Merges into `data` the tree that this rank gave to [`write_gather`](super::write_gather).
pub fn read_scatter<C: Comm>(comm: &C, prefix: Option<&Path>, data: Option<TreeMut>) -> Result<()> {
    let data = data.ok_or(Error::Null("the tree to receive into"));
    let given = data.and_then(|data| Ok((prefix.ok_or(NO_PREFIX)?, data)));
    let (prefix, mut data) = agree(comm, given)?;
    let mut source = (comm.rank() == 0).then(Source::top);
    let mut above = u64::MAX;
    while above > 1 {
        let map = read_if_any(prefix, source).and_then(|map| check_map(map, above));
        let level = match &map {
            Ok(Some((_, level))) => *level,
            _ => 0,
        };
        let received = scatter(comm, map.map(|map| map.map(|(part, _)| part)))?;
        above = share_level(comm, level)?;
        let next = received.view().first().and_then(|e| e.tree());
        source = agree(comm, next.map(Source::of).transpose())?;
    }
    let part = read_if_any(prefix, source).and_then(|part| check_data(part, comm.size()));
    let received = scatter(comm, part)?;
    for sender in received.view().iter() {
        if let Some(tree) = sender.tree() {
            data.merge(tree)?;
        }
    }
    Ok(())
}

fn read_if_any(prefix: &Path, source: Option<Source>) -> Result<Option<Part>> {
    let part = source.map(|source| Part::read(prefix, &source));
    part.transpose()
}

fn check_map(map: Option<Part>, above: u64) -> Result<Option<(Part, u64)>> {
    let Some(map) = map else {
        return Ok(None);
    };
    match map.level_below(above)? {
        0 => Err(map.bad_level(0)),
        level => Ok(Some((map, level))),
    }
}

fn check_data(part: Option<Part>, ranks: usize) -> Result<Option<Part>> {
    let found = part.as_ref().map(|part| part.number(RANKS).unwrap_or(0));
    match part {
        Some(part) if found != Some(ranks as u64) => Err(Error::RankCount {
            path: part.path,
            found: found.unwrap_or(0),
            expected: ranks as u64,
        }),
        part => Ok(part),
    }
}

fn scatter<C: Comm>(comm: &C, part: Result<Option<Part>>) -> Result<Tree> {
    let messages = part.and_then(|part| match part {
        Some(part) => part.messages(comm.size()),
        None => Ok(Vec::new()),
    });
    let mut received = Tree::new();
    exchange::exchange_packed(comm, messages, &mut received.edit(), Direction::Right)?;
    Ok(received)
}

/// The level of the maps just read, as rank 0 knows it: it reads a map of every level.
fn share_level<C: Comm>(comm: &C, level: u64) -> Result<u64> {
    let mut bytes = level.to_le_bytes();
    comm.bcast(0, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

// ---- one process for all ranks --------------------------------------------------------------

/// Merges into `data`, below each rank's key, the tree of that rank: all files in one process.
pub fn read_scatter_single(prefix: &Path, mut data: TreeMut) -> Result<()> {
    let mut found = Tree::new();
    let mut entries = 0;
    let mut expected = None;
    let mut walk = Walk::from_top();
    while let Some((source, above)) = walk.next() {
        let part = Part::read(prefix, &source)?;
        if expected.is_none() {
            expected = Some(part.number(RANKS)?);
        }
        match part.level_below(above)? {
            0 => entries += part.merge_ranks(&mut found.edit())?,
            level => walk.go_on(&part, level)?,
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

/// The way through the files of a set: each is read once, and none is above the map that names it. So reading ends, and
/// takes no more memory than files that are really there.
pub(super) struct Walk {
    next: Vec<(Source, u64)>,
    seen: HashSet<Source>,
}

impl Walk {
    pub(super) fn from_top() -> Walk {
        Walk {
            next: vec![(Source::top(), u64::MAX)],
            seen: HashSet::from([Source::top()]),
        }
    }

    /// A file, and the level of the map that names it.
    pub(super) fn next(&mut self) -> Option<(Source, u64)> {
        self.next.pop()
    }

    /// The files that a map of this level names come next.
    pub(super) fn go_on(&mut self, map: &Part, level: u64) -> Result<()> {
        for source in map.sources() {
            let source = source?;
            if !self.seen.insert(source.clone()) {
                return Err(Error::NamedTwice {
                    path: map.path.clone(),
                    file: source.name.to_string_lossy().into_owned(),
                });
            }
            self.next.push((source, level));
        }
        Ok(())
    }
}

// ---- files ----------------------------------------------------------------------------------

/// A file of a set, and where in it to read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Source {
    /// What is put behind the prefix.
    pub(super) name: CString,
    offset: u64,
}

impl Source {
    pub(super) fn top() -> Source {
        Source::start_of(c"")
    }

    pub(super) fn start_of(name: &CStr) -> Source {
        Source {
            name: name.to_owned(),
            offset: 0,
        }
    }

    fn of(entry: TreeRef) -> Result<Source> {
        Ok(Source {
            name: entry.value(FILE)?.to_owned(),
            offset: number(OFFSET, entry.value(OFFSET)?)?,
        })
    }
}

/// A number that a file holds below `key`.
fn number(key: &CStr, text: &CStr) -> Result<u64> {
    let number = parse_rank(text.to_bytes());
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| Error::NotA {
        key: key.to_string_lossy().into_owned(),
        text: text.to_string_lossy().into_owned(),
        wanted: "a number",
    })
}

/// What one file of a set holds: a map, or data.
pub(super) struct Part {
    path: PathBuf,
    /// None in an empty file.
    contents: Option<Contents>,
}

impl Part {
    pub(super) fn read(prefix: &Path, source: &Source) -> Result<Part> {
        let path = with_suffix(prefix, &source.name);
        let fd = storage::file::open_read(&path)?;
        storage::file::seek_to(&fd, source.offset)?;
        let contents = file::read_packed(&path, &fd)?;
        Ok(Part { path, contents })
    }

    fn number(&self, key: &CStr) -> Result<u64> {
        let text = self.contents.as_ref().and_then(|c| c.tree().value(key));
        let found = text.ok_or_else(|| Error::NotSet(key.into()));
        let found = found.and_then(|text| number(key, text));
        found.map_err(|cause| Error::InFile {
            path: self.path.clone(),
            cause: cause.into(),
        })
    }

    /// Levels only ever go down.
    pub(super) fn level_below(&self, above: u64) -> Result<u64> {
        match self.number(LEVEL)? {
            level if level < above => Ok(level),
            level => Err(self.bad_level(level)),
        }
    }

    fn bad_level(&self, level: u64) -> Error {
        Error::MapLevel {
            path: self.path.clone(),
            level,
        }
    }

    /// What stands below RANK: for each rank its data, or the file that it is to read.
    fn ranks(&self) -> impl Iterator<Item = (&CStr, Packed<'_>)> {
        let ranks = self.contents.as_ref().and_then(|c| c.tree().get(RANK));
        ranks.into_iter().flat_map(Packed::children)
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
    pub(super) fn sources(&self) -> impl Iterator<Item = Result<Source>> {
        self.ranks().map(|(_, entry)| {
            let (entry, _) = pack::unpack(entry.bytes(), Order::AsPacked)?;
            Source::of(entry.view())
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
