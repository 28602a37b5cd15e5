//! The trees of all ranks in a few files, and back.
//!
//! Data files `<prefix>.0.<writer>` hold the trees of a run of ranks of about 1 MiB; map files
//! `<prefix>.<level>.<writer>` say which file a writer wrote, level upon level until one map covers all
//! ranks; that one is `<prefix>` itself. Who writes what follows from the sizes of all trees, which all
//! ranks know after one exchange of numbers ([`Plan`]). Everything is staged on all ranks first, then all ranks agree,
//! then files appear, the top map last: a failure on any rank leaves the old files as they were.

use super::exchange::{self, Arrived, Direction};
use super::file::{self, Contents};
use super::pack::{self, Order};
use super::value::{parse_int, parse_rank, rank_text, signed_text};
use super::{Error, Result, Tree, TreeMut, TreeRef, agree};
use crate::comm::Comm;
use crate::storage::{self, Staged};
use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

const LEVEL: &CStr = c"LEVEL";
const RANKS: &CStr = c"RANKS";
const RANK: &CStr = c"RANK";
const FILE: &CStr = c"FILE";
const OFFSET: &CStr = c"OFFSET";

const NO_PREFIX: Error = Error::Null("prefix");

/// Packed bytes that one writer takes on.
const SEGMENT: u64 = 1 << 20;
/// Ranks in one file when a single process writes for all.
const ENTRIES_PER_FILE: usize = 8192;

fn with_suffix(prefix: &Path, suffix: &CStr) -> PathBuf {
    let mut path = prefix.as_os_str().as_bytes().to_vec();
    path.extend_from_slice(suffix.to_bytes());
    OsString::from_vec(path).into()
}

fn suffix(level: u32, writer: usize) -> CString {
    CString::new(format!(".{level}.{writer}")).expect("digits contain no NUL")
}

// ---- writing, all ranks ---------------------------------------------------------------------

/// Writes the trees of all ranks of `comm`.
pub fn write_gather<C: Comm>(comm: &C, prefix: Option<&Path>, data: Option<TreeRef>) -> Result<()> {
    write_segments(comm, prefix, data, SEGMENT)
}

/// As [`write_gather`] in files of about `segment` bytes: small trees too make many files.
#[cfg(feature = "faults")]
#[doc(hidden)]
pub fn write_gather_in_segments<C: Comm>(
    comm: &C,
    prefix: &Path,
    data: TreeRef,
    segment: u64,
) -> Result<()> {
    write_segments(comm, Some(prefix), Some(data), segment)
}

/// Each rank tells all others its size; from then on everybody knows who writes what.
fn write_segments<C: Comm>(
    comm: &C,
    prefix: Option<&Path>,
    data: Option<TreeRef>,
    segment: u64,
) -> Result<()> {
    let prepared = pack::packed(data).and_then(|d| Ok((prefix.ok_or(NO_PREFIX)?, d)));
    let sizes = share_sizes(comm, prepared.as_ref().map(|(_, d)| d.len() as u64).ok())?;
    let plan = Plan::new(&sizes, segment);
    let prepared = prepared.and_then(|p| Ok((p, plan.rooms(comm.rank())?)));
    let ((prefix, mut message), rooms) = agree(comm, prepared)?;

    let mut files = Vec::new();
    for ((level, number), room) in plan.levels.iter().zip(0..).zip(rooms) {
        let writer = level.writer_of(comm.rank());
        let sends = level
            .takes_part(comm.rank())
            .then_some((writer, &message[..]));
        let sends: Vec<_> = sends.into_iter().collect();
        let mut received = Tree::new();
        exchange::deliver(comm, &sends, room, &mut received.edit(), Direction::Left)?;
        if writer == comm.rank() {
            let content = gathered(number, comm.size(), received);
            let name = plan.name(number, writer);
            message = pack::packed(Some(map_entry(&name).view()))?;
            files.push((name, content));
        }
    }
    publish(comm, prefix, files, plan.has_one_writer())
}

fn share_sizes<C: Comm>(comm: &C, mine: Option<u64>) -> Result<Vec<u64>> {
    let mut all = vec![0; comm.size() * 8];
    comm.allgather(&mine.unwrap_or(0).to_le_bytes(), &mut all)?;
    let sizes = all.chunks_exact(8);
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    Ok(sizes.map(number).collect())
}

/// Who writes files of which level, and for whom.
struct Plan {
    levels: Vec<Level>,
}

struct Level {
    /// Ranks that have something to be written, with its packed size; ascending.
    sources: Vec<(usize, u64)>,
    /// Ranks that write, each for the sources from itself up to the next writer; ascending from 0.
    writers: Vec<usize>,
}

impl Level {
    /// A source starts a new segment when its last byte lies beyond the segment of its first one.
    fn new(sources: Vec<(usize, u64)>, segment: u64) -> Level {
        let mut writers = vec![0];
        let mut start = 0;
        for &(rank, size) in &sources {
            let end = start + size;
            let crosses = size > 0 && (end - 1) / segment > start / segment;
            if crosses && rank > 0 {
                writers.push(rank);
            }
            start = end;
        }
        Level { sources, writers }
    }

    fn writer_of(&self, rank: usize) -> usize {
        let after = self.writers.partition_point(|&writer| writer <= rank);
        self.writers[after - 1]
    }

    fn takes_part(&self, rank: usize) -> bool {
        self.sources.binary_search_by_key(&rank, |s| s.0).is_ok()
    }

    /// What `rank` receives as a writer.
    fn sources_of(&self, rank: usize) -> impl Iterator<Item = (usize, u64)> {
        let is_writer = self.writer_of(rank) == rank;
        let sources = self.sources.iter().copied();
        sources.filter(move |s| is_writer && self.writer_of(s.0) == rank)
    }
}

impl Plan {
    fn new(sizes: &[u64], segment: u64) -> Plan {
        let all = sizes.iter().copied().enumerate().collect();
        let mut levels = vec![Level::new(all, segment)];
        while levels.len() < 2 || levels[levels.len() - 1].writers.len() > 1 {
            let below = levels.len() - 1;
            let size = |writer| {
                let entry = map_entry(&suffix(below as u32, writer));
                pack::packed_size(Some(entry.view())) as u64
            };
            let writers = levels[below].writers.iter();
            let sources = writers.map(|&writer| (writer, size(writer))).collect();
            levels.push(Level::new(sources, segment));
        }
        Plan { levels }
    }

    /// Room for everything that `rank` receives, level by level.
    fn rooms(&self, rank: usize) -> Result<Vec<Arrived>> {
        let levels = self.levels.iter();
        levels
            .map(|l| Arrived::expected(l.sources_of(rank)))
            .collect()
    }

    /// What is put behind the prefix; the top map has the prefix for its name.
    fn name(&self, level: u32, writer: usize) -> CString {
        match level as usize + 1 == self.levels.len() {
            true => c"".to_owned(),
            false => suffix(level, writer),
        }
    }

    fn has_one_writer(&self) -> bool {
        self.levels[0].writers.len() == 1
    }
}

fn gathered(level: u32, ranks: usize, received: Tree) -> Tree {
    let mut content = Tree::new();
    let mut edit = content.edit();
    edit.set(RANK, Some(received));
    edit.set_int(LEVEL, level as i32);
    edit.set_int(RANKS, ranks as i32);
    content
}

fn map_entry(name: &CStr) -> Tree {
    let mut entry = Tree::new();
    entry.edit().set_str(FILE, name);
    entry.edit().set_u64(OFFSET, 0);
    entry
}

/// Stages this rank's files, and lets them appear once all ranks have staged theirs.
fn publish<C: Comm>(
    comm: &C,
    prefix: &Path,
    files: Vec<(CString, Tree)>,
    has_one_writer: bool,
) -> Result<()> {
    let stage = |(name, content): &(CString, Tree)| stage(prefix, name, content);
    let staged: Result<Vec<_>> = files.iter().map(stage).collect();
    let mut staged = agree(comm, staged)?;
    // Rank 0 writes the top map, and it is the last of its files.
    let top = if comm.rank() == 0 { staged.pop() } else { None };
    let mut committed = commit_all(staged);
    if !has_one_writer {
        committed = agree(comm, committed);
    }
    agree(comm, committed.and_then(|()| commit_all(top)))
}

fn stage(prefix: &Path, name: &CStr, content: &Tree) -> Result<Staged> {
    let bytes = file::persisted(content.view())?;
    Ok(Staged::write(&with_suffix(prefix, name), &bytes)?)
}

fn commit_all(staged: impl IntoIterator<Item = Staged>) -> Result<()> {
    staged.into_iter().try_for_each(|file| Ok(file.commit()?))
}

// ---- reading, all ranks ---------------------------------------------------------------------

/// A file that this rank is to read, and where in it.
struct Source {
    path: PathBuf,
    offset: u64,
}

/// Merges into `data` the tree that this rank gave to [`write_gather`].
pub fn read_scatter<C: Comm>(comm: &C, prefix: Option<&Path>, data: Option<TreeMut>) -> Result<()> {
    let data = data.ok_or(Error::Null("the tree to receive into"));
    let given = data.and_then(|data| Ok((prefix.ok_or(NO_PREFIX)?, data)));
    let (prefix, mut data) = agree(comm, given)?;
    let mut source = (comm.rank() == 0).then(|| Source {
        path: prefix.to_owned(),
        offset: 0,
    });
    let mut level = i32::MAX;
    while level > 1 {
        let map = Part::read(source.as_ref());
        let below = map.as_ref().map_or(0, |m| m.number(LEVEL).unwrap_or(0));
        let received = scatter(comm, map.and_then(|map| map.check_level(level, prefix)))?;
        level = share_level(comm, below)?;
        let next = received.view().first().and_then(|e| e.tree());
        let next = next.map(|entry| Source::of(prefix, entry)).transpose();
        source = agree(comm, next)?;
    }
    let part = Part::read(source.as_ref()).and_then(|part| part.check_ranks(comm.size()));
    let received = scatter(comm, part)?;
    for sender in received.view().iter() {
        if let Some(tree) = sender.tree() {
            data.merge(tree)?;
        }
    }
    Ok(())
}

/// What this rank has read: one file, or nothing if it had nothing to read.
struct Part<'a> {
    source: Option<&'a Source>,
    contents: Option<Contents>,
}

impl<'a> Part<'a> {
    fn read(source: Option<&'a Source>) -> Result<Part<'a>> {
        let contents = source.map_or(Ok(None), Source::read)?;
        Ok(Part { source, contents })
    }

    fn number(&self, key: &CStr) -> Option<i32> {
        let value = self.contents.as_ref()?.tree().value(key)?;
        Some(parse_int(value.to_bytes()))
    }

    /// Levels only ever go down.
    fn check_level(self, above: i32, prefix: &Path) -> Result<Self> {
        if self.source.is_none() {
            return Ok(self);
        }
        match self.number(LEVEL) {
            Some(level) if level > 0 && level < above => Ok(self),
            Some(level) => Err(Error::MapLevel {
                path: prefix.to_owned(),
                level,
            }),
            None => Err(Error::NotSet(LEVEL.to_string_lossy().into_owned())),
        }
    }

    fn check_ranks(self, expected: usize) -> Result<Self> {
        let found = self.number(RANKS).unwrap_or(0);
        match self.source {
            Some(source) if found as usize != expected => Err(Error::RankCount {
                path: source.path.clone(),
                found: found as u64,
                expected: expected as u64,
            }),
            _ => Ok(self),
        }
    }

    /// What stands below RANK, for the ranks named there.
    fn messages(&self, size: usize) -> Result<Vec<(usize, Vec<u8>)>> {
        let ranks = self.contents.as_ref().and_then(|c| c.tree().get(RANK));
        let messages = ranks.iter().flat_map(|ranks| ranks.children());
        let addressed = messages.map(|(key, tree)| {
            let rank = exchange::destination(key.to_bytes(), size)?;
            Ok((rank, tree.bytes().to_vec()))
        });
        addressed.collect()
    }
}

fn scatter<C: Comm>(comm: &C, part: Result<Part>) -> Result<Tree> {
    let messages = part.and_then(|part| part.messages(comm.size()));
    let mut received = Tree::new();
    exchange::exchange_packed(comm, messages, &mut received.edit(), Direction::Right)?;
    Ok(received)
}

/// The level of the maps just read, as rank 0 knows it: it reads a map of every level.
fn share_level<C: Comm>(comm: &C, level: i32) -> Result<i32> {
    let mut bytes = level.to_le_bytes();
    comm.bcast(0, &mut bytes)?;
    Ok(i32::from_le_bytes(bytes))
}

impl Source {
    fn of(prefix: &Path, entry: TreeRef) -> Result<Source> {
        Ok(Source {
            path: with_suffix(prefix, entry.value(FILE)?),
            offset: entry.value_u64(OFFSET)?,
        })
    }

    fn read(&self) -> Result<Option<Contents>> {
        let fd = storage::file::open_read(&self.path)?;
        storage::file::seek_to(&fd, self.offset)?;
        file::read_packed(&self.path, &fd)
    }

    fn read_tree(&self) -> Result<Tree> {
        let mut tree = Tree::new();
        if let Some(contents) = self.read()? {
            pack::merge_into(contents.tree().bytes(), tree.edit(), Order::AsPacked)?;
        }
        Ok(tree)
    }
}

// ---- one process for all ranks --------------------------------------------------------------

/// Writes the trees below the ranks' keys in `data`, which is sorted by rank on the way.
pub fn write_to_gather(prefix: &Path, data: &mut TreeMut, ranks: i32) -> Result<()> {
    data.sort_int(false);
    let per_file = entries_per_file();
    let entries: Vec<_> = data.view().iter().collect();
    let mut map = Tree::new();
    let mut staged = Vec::new();
    map.edit().set_int(LEVEL, 1);
    for (number, part) in entries.chunks(per_file).enumerate() {
        let writer = number * per_file;
        let name = suffix(0, writer);
        staged.push(stage(prefix, &name, &part_of(part, ranks)?)?);
        let mut entry = map.edit().into_child(RANK).into_child(&rank_text(writer));
        entry.set_str(FILE, &name);
        entry.set_u64(OFFSET, 0);
    }
    map.edit().set_int(RANKS, ranks);
    staged.push(stage(prefix, c"", &map)?);
    commit_all(staged)
}

fn part_of(entries: &[super::ElemRef], ranks: i32) -> Result<Tree> {
    let mut part = Tree::new();
    let mut edit = part.edit();
    edit.set_int(LEVEL, 0);
    edit.set_int(RANKS, ranks);
    for elem in entries {
        let rank = parse_int(elem.key_bytes());
        let mut copy = edit.child(RANK).into_child(&signed_text(rank.into()));
        if let Some(tree) = elem.tree() {
            copy.merge(tree)?;
        }
    }
    Ok(part)
}

/// Tests make files small through the environment.
fn entries_per_file() -> usize {
    let asked = std::env::var_os("KVTREE_ENTRIES_PER_FILE");
    let asked = asked.and_then(|v| parse_rank(v.as_bytes()));
    asked.filter(|&n| n > 0).unwrap_or(ENTRIES_PER_FILE)
}

/// Merges into `data`, below each rank's key, the tree of that rank: all files in one process.
pub fn read_scatter_single(prefix: &Path, mut data: TreeMut) -> Result<()> {
    let top = Source {
        path: prefix.to_owned(),
        offset: 0,
    };
    let mut found = Tree::new();
    let mut ranks_found = 0;
    let map = top.read_tree()?;
    let expected = map.view().value_u64(RANKS)?;
    let mut to_read = vec![(map, u64::MAX)];
    while let Some((content, above)) = to_read.pop() {
        let level = content.view().value_u64(LEVEL)?;
        let Some(below) = content.view().get(RANK) else {
            continue;
        };
        if level >= above {
            return Err(Error::MapLevel {
                path: prefix.to_owned(),
                level: level as i32,
            });
        }
        if level == 0 {
            ranks_found += below.len() as u64;
            found.edit().merge(below)?;
            continue;
        }
        for entry in below.iter().filter_map(|e| e.tree()) {
            to_read.push((Source::of(prefix, entry)?.read_tree()?, level));
        }
    }
    if ranks_found != expected {
        return Err(Error::RankCount {
            path: prefix.to_owned(),
            found: ranks_found,
            expected,
        });
    }
    data.merge(found.view())
}

#[cfg(test)]
mod tests;
