//! The trees of all ranks in a few files, and back.
//!
//! Data files `<prefix>.0.<writer>` hold the trees of a run of ranks of about 1 MiB; map files
//! `<prefix>.<level>.<writer>` say which file a writer wrote, level upon level until one map covers all
//! ranks; that one is `<prefix>` itself. Who writes what follows from the sizes of all trees, which all
//! ranks know after one exchange of numbers ([`WritePlan`]).
//!
//! A set replaces another at once: its files take names that the set in use does not have (`names`), so nothing
//! that can be read is touched until the last step, the rename of the top map. Everything is staged on all ranks
//! first, then all ranks agree, then files appear, the top map last; then the files of the old set are removed.
//! All files of a set name its generation: readers refuse one of another set that came back under a name in use.

mod names;
mod read;

pub use read::{read_scatter, read_scatter_single};

use self::names::{Previous, SetIdentity, suffix, with_suffix};
use super::exchange::{self, Arrived, Direction};
use super::file;
use super::pack;
use super::value::{parse_int, parse_rank, rank_text, signed_text};
use super::{Error, Result, Tree, TreeMut, TreeRef, agree};
use crate::comm::Comm;
use crate::log;
use crate::protect::generation::Generation;
use crate::storage::Staged;
use crate::storage::lock::DirectoryLock;
use crate::storage::names::remove;
use crate::wire::gather_u64;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const LEVEL: &CStr = c"LEVEL";
const RANKS: &CStr = c"RANKS";
const RANK: &CStr = c"RANK";
const FILE: &CStr = c"FILE";
const OFFSET: &CStr = c"OFFSET";
/// Ours: other readers of the format do not look at it.
const GENERATION: &CStr = c"GENERATION";

const NO_PREFIX: Error = Error::Null("prefix");

/// Packed bytes that one writer takes on.
const SEGMENT: u64 = 1 << 20;
/// Ranks in one file when a single process writes for all.
const ENTRIES_PER_FILE: usize = 8192;

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

/// All ranks gather their sizes, and learn from rank 0 the identity of the new set: then each can compute who writes what
/// to which file.
fn write_segments<C: Comm>(
    comm: &C,
    prefix: Option<&Path>,
    data: Option<TreeRef>,
    segment: u64,
) -> Result<()> {
    let prepared = Prepared::new(comm.rank(), prefix, data);
    let own = prepared.as_ref().ok();
    let sizes = gather_u64(comm, own.map_or(0, |own| own.message.len() as u64))?;
    let identity = SetIdentity::share(comm, own.map(|own| own.identity))?;
    let plan = WritePlan::new(&sizes, segment, identity);
    let prepared = prepared.and_then(|p| Ok((p, plan.rooms(comm.rank())?)));
    let (prepared, rooms) = agree(comm, prepared)?;
    let mut message = prepared.message;

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
            let content = gathered(number, comm.size(), received, identity.generation);
            let name = plan.name(number, writer);
            message = pack::packed(Some(map_entry(&name).view()))?;
            files.push((name, content));
        }
    }
    publish(comm, prepared.prefix, files, &plan, prepared.previous)
}

/// The contribution of a rank to a write.
struct Prepared<'a> {
    prefix: &'a Path,
    message: Vec<u8>,
    /// The set in use under the prefix; only rank 0 looks.
    previous: Previous,
    identity: SetIdentity,
}

impl<'a> Prepared<'a> {
    fn new(rank: usize, prefix: Option<&'a Path>, data: Option<TreeRef>) -> Result<Prepared<'a>> {
        let message = pack::packed(data)?;
        let prefix = prefix.ok_or(NO_PREFIX)?;
        let previous = match rank {
            0 => Previous::find(prefix)?,
            _ => Previous::default(),
        };
        Ok(Prepared {
            prefix,
            message,
            identity: previous.next(prefix)?,
            previous,
        })
    }
}

/// Who writes files of which level, and for whom.
struct WritePlan {
    levels: Vec<PlanLevel>,
    identity: SetIdentity,
}

struct PlanLevel {
    /// Ranks that have something to be written, with its packed size; ascending.
    sources: Vec<(usize, u64)>,
    /// Ranks that write, each for the sources from itself up to the next writer; ascending from 0.
    writers: Vec<usize>,
}

impl PlanLevel {
    /// A source starts a new segment when its last byte lies beyond the segment of its first one.
    fn new(sources: Vec<(usize, u64)>, segment: u64) -> PlanLevel {
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
        PlanLevel { sources, writers }
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

impl WritePlan {
    fn new(sizes: &[u64], segment: u64, identity: SetIdentity) -> WritePlan {
        let all = sizes.iter().copied().enumerate().collect();
        let mut levels = vec![PlanLevel::new(all, segment)];
        while levels.len() < 2 || levels[levels.len() - 1].writers.len() > 1 {
            let below = levels.len() - 1;
            let size = |writer| {
                let entry = map_entry(&suffix(below as u32, writer, identity.zeros));
                pack::packed_size(Some(entry.view())) as u64
            };
            let writers = levels[below].writers.iter();
            let sources = writers.map(|&writer| (writer, size(writer))).collect();
            levels.push(PlanLevel::new(sources, segment));
        }
        WritePlan { levels, identity }
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
            false => suffix(level, writer, self.identity.zeros),
        }
    }

    /// The names of all files of the set.
    fn names(&self) -> Vec<CString> {
        let levels = self.levels.iter().zip(0..);
        let names = levels.flat_map(|(level, number)| {
            let writers = level.writers.iter();
            writers.map(move |&writer| self.name(number, writer))
        });
        names.collect()
    }

    fn has_one_writer(&self) -> bool {
        self.levels[0].writers.len() == 1
    }
}

fn gathered(level: u32, ranks: usize, received: Tree, generation: Generation) -> Tree {
    let mut content = Tree::new();
    let mut edit = content.edit();
    edit.set(RANK, Some(received));
    edit.set_int(LEVEL, level as i32);
    edit.set_int(RANKS, ranks as i32);
    set_generation(edit, generation);
    content
}

fn set_generation(mut content: TreeMut, generation: Generation) {
    let text = CString::new(generation.to_text()).expect("digits contain no NUL");
    content.set_str(GENERATION, &text);
}

fn map_entry(name: &CStr) -> Tree {
    let mut entry = Tree::new();
    entry.edit().set_str(FILE, name);
    entry.edit().set_u64(OFFSET, 0);
    entry
}

/// Stages this rank's files, lets them appear once all ranks have staged theirs, and last the top map.
fn publish<C: Comm>(
    comm: &C,
    prefix: &Path,
    files: Vec<(CString, Tree)>,
    plan: &WritePlan,
    previous: Previous,
) -> Result<()> {
    let stage = |(name, content): &(CString, Tree)| stage(prefix, name, content);
    let staged: Result<Vec<_>> = files.iter().map(stage).collect();
    let mut staged = agree(comm, staged)?;
    // Rank 0 writes the top map, and it is the last of its files.
    let top = if comm.rank() == 0 { staged.pop() } else { None };
    let paths: Vec<_> = staged.iter().map(|file| file.path.clone()).collect();
    let mut committed = commit_all(staged);
    if !plan.has_one_writer() {
        committed = agree(comm, committed);
    }
    // Where the agreement itself broke, rank 0 may have gone on to the top map.
    if committed
        .as_ref()
        .is_err_and(|e| !matches!(e, Error::Comm(_)))
    {
        discard(&paths);
    }
    let ended = committed.and_then(|()| commit_all(top));
    if ended.is_ok() && comm.rank() == 0 {
        previous.remove(prefix, &plan.names());
    }
    agree(comm, ended)
}

/// A file of a set that is written but has no name yet.
struct StagedFile {
    path: PathBuf,
    staged: Staged,
}

fn stage(prefix: &Path, name: &CStr, content: &Tree) -> Result<StagedFile> {
    let bytes = file::persisted(content.view())?;
    let path = with_suffix(prefix, name);
    let staged = Staged::write_like(&path, &bytes, prefix)?;
    Ok(StagedFile { path, staged })
}

fn commit_all(files: impl IntoIterator<Item = StagedFile>) -> Result<()> {
    let mut files = files.into_iter();
    files.try_for_each(|file| Ok(file.staged.commit()?))
}

/// Removes files of a set that was not committed. A leftover disturbs only upstream's `kvtree_read_scatter_single`, until
/// the next set replaces or removes it.
fn discard(paths: &[PathBuf]) {
    for path in paths {
        if let Err(cause) = remove(path) {
            log!(Warning, "{cause}");
        }
    }
}

// ---- one process for all ranks --------------------------------------------------------------

/// Writes the trees below the ranks' keys in `data`, which is sorted by rank on the way.
///
/// Concurrent writers are serialized, so that the set of one of them remains: upstream's own test has all ranks of a job
/// write the same set.
pub fn write_to_gather(prefix: &Path, data: &mut TreeMut, ranks: i32) -> Result<()> {
    data.sort_int(false);
    let _turn = DirectoryLock::beside(prefix);
    let previous = Previous::find(prefix)?;
    let SetIdentity { zeros, generation } = previous.next(prefix)?;
    let per_file = entries_per_file();
    let entries: Vec<_> = data.view().iter().collect();
    let mut map = Tree::new();
    let mut staged = Vec::new();
    let mut names = Vec::new();
    map.edit().set_int(LEVEL, 1);
    for (number, part) in entries.chunks(per_file).enumerate() {
        let writer = number * per_file;
        let name = suffix(0, writer, zeros);
        let content = part_of(part, ranks, generation)?;
        staged.push(stage(prefix, &name, &content)?);
        let mut entry = map.edit().into_child(RANK).into_child(&rank_text(writer));
        entry.set_str(FILE, &name);
        entry.set_u64(OFFSET, 0);
        names.push(name);
    }
    map.edit().set_int(RANKS, ranks);
    set_generation(map.edit(), generation);
    let top = stage(prefix, c"", &map)?;
    let paths: Vec<_> = staged.iter().map(|file| file.path.clone()).collect();
    commit_all(staged).inspect_err(|_| discard(&paths))?;
    commit_all([top])?;
    previous.remove(prefix, &names);
    Ok(())
}

fn part_of(entries: &[super::ElemRef], ranks: i32, generation: Generation) -> Result<Tree> {
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
    set_generation(edit, generation);
    Ok(part)
}

/// Tests make files small through the environment.
fn entries_per_file() -> usize {
    let asked = std::env::var_os("KVTREE_ENTRIES_PER_FILE");
    let asked = asked.and_then(|v| parse_rank(v.as_bytes()));
    asked.filter(|&n| n > 0).unwrap_or(ENTRIES_PER_FILE)
}

#[cfg(test)]
mod tests;
