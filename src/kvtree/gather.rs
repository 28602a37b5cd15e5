//! The trees of all ranks in a few files, and back.
//!
//! Data files `<prefix>.0.<writer>` hold the trees of a run of ranks of about 1 MiB; map files
//! `<prefix>.<level>.<writer>` say which file a writer wrote, level upon level until one map covers all
//! ranks; that one is `<prefix>` itself. Everything is staged on all ranks first, then all ranks agree,
//! then files appear, the top map last: a failure on any rank leaves the old files as they were.

use super::exchange::{self, Direction};
use super::value::{parse_int, parse_rank, rank_text, signed_text};
use super::{Error, Result, Tree, TreeMut, TreeRef, agree, file};
use crate::comm::{Comm, Op};
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
    write_in_segments(comm, prefix, data, SEGMENT)
}

/// As [`write_gather`] with segments of so many bytes, at least two entries of a map.
fn write_in_segments<C: Comm>(
    comm: &C,
    prefix: Option<&Path>,
    data: Option<TreeRef>,
    segment: u64,
) -> Result<()> {
    let mut files = Vec::new();
    let mut level = 0;
    let mut outgoing = Tree::new();
    let mut place = choose_writer(comm, super::pack::packed_size(data) as u64, segment)?;
    // A tree that cannot be copied must not keep the other ranks waiting: all fail in the end.
    let queued = exchange::enqueue(&mut outgoing.edit(), place.writer as i32, data);
    loop {
        let mut received = Tree::new();
        let direction = Direction::Left;
        exchange::exchange_direction(
            comm,
            Some(outgoing.view()),
            Some(received.edit()),
            direction,
        )?;
        let is_top = level > 0 && place.covers_all;
        let name = match is_top {
            true => c"".to_owned(),
            false => suffix(level, place.writer),
        };
        let writes = comm.rank() == place.writer;
        if writes {
            let content = gathered(level, comm.size(), received);
            files.push((name.clone(), content));
        }
        if is_top {
            break;
        }
        level += 1;
        let entry = writes.then(|| map_entry(&name));
        let size = entry
            .as_ref()
            .map_or(0, |e| super::pack::packed_size(Some(e.view())));
        place = choose_writer(comm, size as u64, segment)?;
        outgoing = Tree::new();
        if let Some(entry) = entry {
            exchange::enqueue(
                &mut outgoing.edit(),
                place.writer as i32,
                Some(entry.view()),
            )?;
        }
    }
    publish(comm, prefix, queued.map(|()| files))
}

struct Place {
    writer: usize,
    /// One writer covers all ranks.
    covers_all: bool,
}

/// A rank starts a new segment when its last byte lies beyond the segment in which its first one is;
/// it writes for itself and for all ranks up to the next start.
fn choose_writer<C: Comm>(comm: &C, size: u64, segment: u64) -> Result<Place> {
    let mut end = [size];
    comm.scan(Op::Sum, &mut end)?;
    let start = end[0] - size;
    let crosses = size > 0 && (end[0] - 1) / segment > start / segment;
    let starts = crosses || comm.rank() == 0;
    let mut writer = [if starts { comm.rank() as u64 } else { 0 }];
    comm.scan(Op::Max, &mut writer)?;
    let mut last = writer;
    comm.allreduce(Op::Max, &mut last)?;
    Ok(Place {
        writer: writer[0] as usize,
        covers_all: last[0] == 0,
    })
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
    prefix: Option<&Path>,
    files: Result<Vec<(CString, Tree)>>,
) -> Result<()> {
    let staged = files.and_then(|files| {
        let prefix = prefix.ok_or(NO_PREFIX)?;
        let stage = |(name, content): &(CString, Tree)| stage(prefix, name, content);
        files.iter().map(stage).collect::<Result<Vec<_>>>()
    });
    let mut staged = agree(comm, staged)?;
    // Rank 0 writes the top map, and it is the last of its files.
    let top = if comm.rank() == 0 { staged.pop() } else { None };
    agree(comm, commit_all(staged))?;
    agree(comm, commit_all(top))
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
    let mut level = u64::MAX;
    while level > 1 {
        let map = agree(comm, read_source(source.as_ref()))?;
        let above = level;
        level = agree(comm, shared_level(comm, map.as_ref(), above, prefix)?)?;
        let received = scatter(comm, map)?;
        let next = received.view().first().and_then(|e| e.tree());
        let next = next.map(|entry| Source::of(prefix, entry)).transpose();
        source = agree(comm, next)?;
    }
    let read = read_source(source.as_ref()).and_then(|content| {
        if let (Some(source), Some(content)) = (&source, &content) {
            check_ranks(source, content.view(), comm.size())?;
        }
        Ok(content)
    });
    let received = scatter(comm, agree(comm, read)?)?;
    for sender in received.view().iter() {
        if let Some(tree) = sender.tree() {
            data.merge(tree)?;
        }
    }
    Ok(())
}

impl Source {
    fn of(prefix: &Path, entry: TreeRef) -> Result<Source> {
        Ok(Source {
            path: with_suffix(prefix, entry.value(FILE)?),
            offset: entry.value_u64(OFFSET)?,
        })
    }
}

fn read_source(source: Option<&Source>) -> Result<Option<Tree>> {
    let Some(source) = source else {
        return Ok(None);
    };
    let fd = storage::file::open_read(&source.path)?;
    storage::file::seek_to(&fd, source.offset)?;
    let mut tree = Tree::new();
    file::read_fd(&source.path, &fd, tree.edit())?;
    Ok(Some(tree))
}

/// The level of the maps just read, as rank 0 knows it; levels only ever go down.
fn shared_level<C: Comm>(
    comm: &C,
    map: Option<&Tree>,
    above: u64,
    prefix: &Path,
) -> Result<Result<u64>> {
    let local = match map {
        Some(map) => map.view().value_int(LEVEL),
        None => Ok(0),
    };
    let mut bytes = local.as_ref().copied().unwrap_or(0).to_le_bytes();
    comm.bcast(0, &mut bytes)?;
    let level = i32::from_le_bytes(bytes);
    Ok(local.and_then(|_| match u64::try_from(level) {
        Ok(level) if level < above && level > 0 => Ok(level),
        _ => Err(Error::MapLevel {
            path: prefix.to_owned(),
            level,
        }),
    }))
}

/// Sends what stands below RANK to the ranks named there.
fn scatter<C: Comm>(comm: &C, content: Option<Tree>) -> Result<Tree> {
    let outgoing = content.as_ref().and_then(|c| c.view().get(RANK));
    let mut received = Tree::new();
    exchange::exchange_direction(comm, outgoing, Some(received.edit()), Direction::Right)?;
    Ok(received)
}

fn check_ranks(source: &Source, content: TreeRef, expected: usize) -> Result<()> {
    let found = content.value_int(RANKS).unwrap_or(0);
    if found as usize == expected {
        return Ok(());
    }
    Err(Error::RankCount {
        path: source.path.clone(),
        found: found as u64,
        expected: expected as u64,
    })
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
    let map = read_tree(&top)?;
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
            to_read.push((read_tree(&Source::of(prefix, entry)?)?, level));
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

fn read_tree(source: &Source) -> Result<Tree> {
    Ok(read_source(Some(source))?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
