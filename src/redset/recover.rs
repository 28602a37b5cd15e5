//! Recover: rebuilds what is missing of a set.
//!
//! First every rank gets its descriptor back, from its own file or from a right neighbour, and the sets
//! form again. Within a set, each rank finds out what it still has: its header (or a neighbour's copy of
//! what stood in it), its files, its redundancy. From what all ranks have follow the flows that complete
//! the set, or that too much is lost. Rebuilt files are written beside their places; checksums of all that
//! was read or written are compared on the way. If they show that something was damaged, it counts as
//! lost too, and the set begins again. When all sets are complete, all ranks put their files in place.

use std::ffi::OsStr;

use super::apply::write_descriptors;
use super::engine::Means;
use super::members::{Location, Members, any, put_in_place};
use super::{Config, Descriptor, Error, Redset, Result, agree, commit, grouping, names};
use crate::comm::Comm;
use crate::kvtree::value::rank_text;
use crate::kvtree::{Tree, exchange};
use crate::log;
use crate::storage::place::remove;

pub(super) fn recover<C: Comm>(comm: &C, name: &OsStr) -> Result<(Redset<C>, Result<()>)> {
    let parent = grouping::same(comm)?;
    let resolved = commit::resolve(&parent, name);
    let (redset, formed) = find_sets(parent, name, resolved)?;
    let done = formed.and_then(|()| complete(&redset, name));
    Ok((redset, done))
}

fn complete<C: Comm>(redset: &Redset<C>, name: &OsStr) -> Result<()> {
    let (descriptor, set) = redset.ready()?;
    let config = Config::current();
    let means = Means::usual(&config);
    let found = Members::survey(set, descriptor, &Location::usual(name, descriptor));
    let repair = agree(
        &redset.parent,
        found.and_then(|members| members.repair(means, config.salvages())),
    )?;
    let file = names::descriptor_file(name, descriptor.world_rank);
    let has_descriptor = commit::described(&file, descriptor.world_rank).is_some();
    let written = match any(&set.comm, !has_descriptor)? {
        true => write_descriptors(set, descriptor, &file),
        false => Ok(()),
    };
    agree(&redset.parent, written)?;
    let mut placed = repair.commit();
    if !has_descriptor && placed.is_ok() {
        placed = put_in_place(&file);
    } else {
        let _ = remove(&names::part(&file));
    }
    agree(&redset.parent, placed)
}

/// Gives every rank its descriptor and forms the sets. What fails is a verdict of all ranks, as is
/// `before`, which says whether it makes sense at all.
pub(super) fn find_sets<C: Comm>(
    parent: C,
    name: &OsStr,
    before: Result<()>,
) -> Result<(Redset<C>, Result<()>)> {
    let found = before.and_then(|()| find_descriptor(&parent, name));
    let unformed = |parent, descriptor| Redset {
        parent,
        descriptor,
        set: None,
    };
    let (own, agreed) = match found {
        Ok((own, agreed)) => (own, agreed),
        Err(error) => return Ok((unformed(parent, None), Err(error))),
    };
    match (own, agreed) {
        (Some(descriptor), Ok(())) => {
            let again = grouping::same(&parent)?;
            match grouping::restore(parent, descriptor.clone()) {
                Ok(redset) => Ok((redset, Ok(()))),
                Err(error) => Ok((unformed(again, Some(descriptor)), Err(error))),
            }
        }
        (own, agreed) => Ok((unformed(parent, own), agreed)),
    }
}

/// This rank's descriptor, and whether all ranks have theirs.
fn find_descriptor<C: Comm>(parent: &C, name: &OsStr) -> Result<(Option<Descriptor>, Result<()>)> {
    let rank = parent.rank();
    let file = names::descriptor_file(name, rank);
    // An unreadable file is a lost one.
    let known = commit::read_descriptors(&file).unwrap_or_else(|error| {
        log!(Warning, "{error}");
        None
    });
    let mut outgoing = Tree::new();
    for entry in known.iter().flat_map(|tree| tree.view().iter()) {
        let descriptor = entry.tree().and_then(|tree| tree.get(c"DESC"));
        if let (Some(key), Some(descriptor)) = (entry.key(), descriptor) {
            outgoing.edit().child(key).merge(descriptor)?;
        }
    }
    let mut incoming = Tree::new();
    exchange::exchange(parent, Some(outgoing.view()), Some(incoming.edit()))?;
    let own = own_descriptor(&incoming, rank, parent.size());
    let missing = Error::NoDescriptor {
        rank,
        name: name.to_string_lossy().into_owned(),
    };
    let agreed = agree(parent, own.as_ref().map(drop).ok_or(missing));
    Ok((own, agreed))
}

/// Our descriptor among those that others sent, our own file before the others'.
fn own_descriptor(incoming: &Tree, rank: usize, ranks: usize) -> Option<Descriptor> {
    let own_first = incoming.view().get(&rank_text(rank)).into_iter();
    let others = incoming.view().iter().filter_map(|entry| entry.tree());
    let sent = own_first.chain(others).map(Descriptor::from_tree);
    let valid = sent.filter_map(Result::ok);
    let mut mine = valid.filter(|d| (d.world_rank, d.world_ranks) == (rank, ranks));
    mine.next()
}
