//! The descriptor files of all ranks, and which descriptor each rank uses.
//!
//! A rank's file has its own descriptor and those of its left neighbours, each with the generation of the apply that
//! wrote it, under keys that other readers of the format ignore. To find its descriptor again, a rank collects what its
//! own file and those of its neighbours say about it. If they differ, some rank has a file of an earlier apply: then all
//! ranks use the newest generation of which every rank has a descriptor.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::hash::BuildHasher;
use std::path::Path;

use super::sharing::give_to_right;
use super::{Descriptor, Error, Peers, Result, agree, header, names};
use crate::comm::{Comm, Op};
use crate::kvtree::value::{parse_rank, rank_text};
use crate::kvtree::{self, Tree, TreeRef, exchange};
use crate::log;
use crate::protect::generation::{Generation, NewestApply, newest};
use crate::storage::file::{open_read, sync, write_full};
use crate::storage::names::create;
use crate::wire::{gather, put, take};

/// A descriptor and the generation of the apply that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredDescriptor {
    pub(super) descriptor: Descriptor,
    pub(super) generation: Option<Generation>,
}

impl StoredDescriptor {
    /// From a descriptor's tree, with the generation among its keys.
    fn from_tree(tree: TreeRef) -> Result<StoredDescriptor> {
        Ok(StoredDescriptor {
            descriptor: Descriptor::from_tree(tree)?,
            generation: header::generation_in(tree)?,
        })
    }

    fn key(&self) -> ApplyKey {
        let Descriptor {
            scheme,
            groups,
            world_ranks,
            ..
        } = self.descriptor;
        let layout = (scheme.numbers(), groups, world_ranks);
        ApplyKey {
            generation: self.generation,
            layout: foldhash::quality::FixedState::default().hash_one(layout),
        }
    }
}

/// What all descriptors of one apply have in common, and those of another have not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ApplyKey {
    generation: Option<Generation>,
    /// Hash of the scheme, the number of sets and the number of ranks.
    layout: u64,
}

impl ApplyKey {
    /// Whether both may be of one apply. A missing generation fits any other.
    fn fits(&self, other: &ApplyKey) -> bool {
        let named = self.generation.zip(other.generation);
        self.layout == other.layout && named.is_none_or(|(own, others)| own == others)
    }
}

/// The tree in a descriptor file; `None` if there is no file.
fn read(path: &Path) -> Result<Option<Tree>> {
    let fd = match open_read(path) {
        Err(error) if error.is_absent() => return Ok(None),
        outcome => outcome?,
    };
    let mut tree = Tree::new();
    kvtree::file::read_fd(path, fd, tree.edit())?;
    Ok(Some(tree))
}

/// The descriptors in the tree of a file, by rank, each with its generation among its keys.
fn entries(file: &Tree) -> Result<Tree> {
    let mut entries = Tree::new();
    for entry in file.view().iter() {
        let descriptor = entry.tree().and_then(|tree| tree.get(c"DESC"));
        if let (Some(key), Some(tree), Some(descriptor)) = (entry.key(), entry.tree(), descriptor) {
            let generation = header::generation_in(tree)?;
            let mut edit = entries.edit();
            edit.child(key).merge(descriptor)?;
            header::set_generation(edit.into_child(key), generation)?;
        }
    }
    Ok(entries)
}

/// The descriptor of a rank in a descriptor file; `None` if it is missing or incomplete.
pub(super) fn stored(path: &Path, world_rank: usize) -> Option<StoredDescriptor> {
    let entries = entries(&read(path).ok()??).ok()?;
    StoredDescriptor::from_tree(entries.view().get(&rank_text(world_rank))?).ok()
}

/// The highest generation that a descriptor file names.
pub(super) fn highest(path: &Path) -> Option<Generation> {
    let entries = entries(&read(path).ok()??).ok()?;
    let named = entries.view().iter().filter_map(|entry| entry.tree());
    named
        .filter_map(|tree| header::generation_in(tree).ok()?)
        .max()
}

/// Writes the descriptors of this rank and its left neighbours, as a `.part` file.
///
/// # Collective
/// Called by all ranks of the set.
pub(super) fn write<C: Comm>(
    set: &Peers<C>,
    descriptor: &Descriptor,
    generation: Option<Generation>,
    file: &Path,
) -> Result<()> {
    let own = descriptor.to_tree();
    let copies = descriptor.scheme.copies();
    let mut all = Tree::new();
    let mut edit = all.edit();
    let mut insert = |rank: usize, tree: Tree| {
        let key = rank_text(set.map[rank]);
        edit.child(&key).set(c"DESC", Some(tree));
        header::set_generation(edit.child(&key), generation)
    };
    for (rank, tree) in give_to_right(&set.comm, copies, &own)? {
        insert(rank, tree)?;
    }
    insert(descriptor.rank, own)?;
    header::sort(all.edit());
    let bytes = kvtree::file::persisted(all.view())?;
    let fd = create(&names::part(file), 0o666)?;
    write_full(&fd, &bytes)?;
    Ok(sync(&fd)?)
}

/// This rank's descriptor, and an error if some rank has none.
///
/// # Collective
/// Called by all ranks of `parent`; all have the same verdict.
pub(super) fn find<C: Comm>(parent: &C, name: &OsStr) -> Result<(Option<Descriptor>, Result<()>)> {
    let rank = parent.rank();
    let mut candidates = candidates(parent, name)?;
    let first = candidates.first().map(|stored| stored.descriptor.clone());
    let differ = candidates
        .iter()
        .any(|stored| Some(&stored.descriptor) != first.as_ref());
    let mut anywhere = [differ.into(), first.is_none().into()];
    parent.allreduce(Op::Max, &mut anywhere)?;
    let [any_differ, any_has_none] = anywhere.map(|rank| rank != 0);
    if any_differ && !any_has_none {
        let Some(key) = agree_on_apply(parent, &candidates)? else {
            return Ok((first, Err(undecided())));
        };
        candidates.sort_by_key(|stored| (stored.key() != key, !stored.key().fits(&key)));
        return Ok((
            candidates.into_iter().next().map(|it| it.descriptor),
            Ok(()),
        ));
    }
    let missing = Error::NoDescriptor {
        rank,
        name: name.to_string_lossy().into_owned(),
    };
    let agreed = agree(parent, first.as_ref().map(drop).ok_or(missing));
    Ok((first, agreed))
}

fn undecided() -> Error {
    let what = "some are of an earlier apply, and no apply has left every rank its own";
    Error::Mismatch(what.into())
}

/// The descriptors of this rank in the files of all ranks, that of its own file first.
fn candidates<C: Comm>(parent: &C, name: &OsStr) -> Result<Vec<StoredDescriptor>> {
    let (rank, ranks) = (parent.rank(), parent.size());
    let file = names::descriptor_file(name, rank);
    // An unreadable file counts as lost.
    let outgoing = read(&file).and_then(|tree| tree.as_ref().map(entries).transpose());
    let outgoing = outgoing.unwrap_or_else(|error| {
        log!(Warning, "{error}");
        None
    });
    let mut outgoing = outgoing.unwrap_or_default();
    remove_missing_ranks(&mut outgoing, ranks);
    let mut incoming = Tree::new();
    exchange::exchange(parent, Some(outgoing.view()), Some(incoming.edit()))?;
    let own_key = rank_text(rank);
    let own = incoming.view().get(&own_key).into_iter();
    let others = incoming.view().iter();
    let others = others.filter(|entry| entry.key() != Some(&own_key));
    let sent = own.chain(others.filter_map(|entry| entry.tree()));
    let valid = sent.filter_map(|tree| StoredDescriptor::from_tree(tree).ok());
    let of_this_rank = |stored: &StoredDescriptor| {
        let Descriptor {
            world_rank,
            world_ranks,
            ..
        } = stored.descriptor;
        (world_rank, world_ranks) == (rank, ranks)
    };
    Ok(valid.filter(of_this_rank).collect())
}

/// Removes descriptors of ranks that this job does not have: a larger one wrote them.
fn remove_missing_ranks(entries: &mut Tree, ranks: usize) {
    let keys = entries.view().iter().filter_map(|entry| entry.key());
    let is_rank = |key: &CStr| parse_rank(key.to_bytes()).is_some_and(|rank| rank < ranks);
    let missing: Vec<_> = keys
        .filter(|key| !is_rank(key))
        .map(CString::from)
        .collect();
    missing.iter().for_each(|key| entries.edit().unset(key));
}

/// The newest apply of which every rank has a descriptor, which all ranks then use.
fn agree_on_apply<C: Comm>(
    parent: &C,
    candidates: &[StoredDescriptor],
) -> Result<Option<ApplyKey>> {
    let mut own = Vec::new();
    for key in candidates.iter().map(StoredDescriptor::key) {
        put(&mut own, &Generation::numbers(key.generation));
        put(&mut own, &[key.layout]);
    }
    let all = gather(parent, &own)?;
    let all: Vec<Vec<ApplyKey>> = all.iter().map(|bytes| take_keys(bytes)).collect();
    Ok(newest_complete(&all))
}

fn take_keys(mut bytes: &[u8]) -> Vec<ApplyKey> {
    let one = || {
        let generation = Generation::from_numbers(take(&mut bytes)?);
        let [layout] = take(&mut bytes)?;
        Some(ApplyKey { generation, layout })
    };
    std::iter::from_fn(one).collect()
}

/// The same, from the descriptors that each rank has.
fn newest_complete(known: &[Vec<ApplyKey>]) -> Option<ApplyKey> {
    let keys: BTreeSet<ApplyKey> = known.iter().flatten().copied().collect();
    let is_complete = |key: &ApplyKey| {
        let mut ranks = known.iter();
        ranks.all(|keys| keys.iter().any(|other| other.fits(key)))
    };
    let complete: Vec<ApplyKey> = keys.into_iter().filter(is_complete).collect();
    // The first descriptor of each rank comes from its own file.
    let candidates = complete.iter().map(|key| NewestApply {
        generation: key.generation,
        current: (0..known.len())
            .filter(|&rank| known[rank].first().is_some_and(|first| first.fits(key)))
            .collect(),
    });
    let candidates: Vec<_> = candidates.collect();
    newest(&candidates.iter().collect::<Vec<_>>()).map(|index| complete[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ApplyKey = ApplyKey {
        generation: Some(Generation::new(1, 7)),
        layout: 1,
    };
    const B: ApplyKey = ApplyKey {
        generation: Some(Generation::new(2, 3)),
        layout: 2,
    };
    const UNNAMED: ApplyKey = ApplyKey {
        generation: None,
        layout: 3,
    };

    #[test]
    fn the_newest_descriptors_that_every_rank_has_are_taken() {
        let stale = [vec![B], vec![A, B], vec![B], vec![B]];
        assert_eq!(newest_complete(&stale), Some(B));
        let ahead = [vec![A], vec![B, A], vec![A], vec![A]];
        assert_eq!(newest_complete(&ahead), Some(A));
        assert_eq!(newest_complete(&[vec![A], vec![B], vec![B]]), None);
        // Either would do for two ranks: the counter tells.
        assert_eq!(newest_complete(&[vec![A, B], vec![B, A]]), Some(B));
    }

    /// The usual case: the same sets, again and again.
    #[test]
    fn applies_of_one_layout_differ_by_their_generations() {
        let again = ApplyKey { layout: 1, ..B };
        assert_eq!(newest_complete(&[vec![again], vec![A], vec![again]]), None);
        let stale = [vec![again], vec![A, again], vec![again]];
        assert_eq!(newest_complete(&stale), Some(again));
        let ahead = [vec![again, A], vec![A], vec![A]];
        assert_eq!(newest_complete(&ahead), Some(A));
    }

    #[test]
    fn where_counters_do_not_tell_most_ranks_decide() {
        let again = ApplyKey {
            generation: Some(Generation::new(1, 9)),
            layout: 2,
        };
        let known = [vec![again], vec![A, again], vec![again], vec![again, A]];
        assert_eq!(newest_complete(&known), Some(again));
        assert_eq!(newest_complete(&[vec![A, again], vec![again, A]]), None);
        assert_eq!(newest_complete(&[vec![A, UNNAMED], vec![UNNAMED, A]]), None);
        let most = [vec![A, UNNAMED], vec![UNNAMED, A], vec![UNNAMED, A]];
        assert_eq!(newest_complete(&most), Some(UNNAMED));
    }
}
