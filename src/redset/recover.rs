//! Recover: rebuilds what is missing of a set.
//!
//! First every rank gets its descriptor back, from its own file or from a right neighbour, and the sets
//! are formed again. Within a set, the headers show which apply is the newest that can be completed; what is of
//! another counts as lost. Each rank finds out what it still has: its header (or a neighbour's copy of its contents),
//! its files, its redundancy. From what all ranks have, `protect` plans the flows that complete the set, or finds that
//! too much is lost. Rebuilt files are written under temporary names, and checksums of all that is read or written are
//! compared. What turns out to be damaged counts as lost, and the set starts again. When all sets are complete, all ranks
//! rename their files into place.

use std::ffi::OsStr;
use std::path::Path;

use super::repair::{Location, SurveyedSet, commit_file};
use super::{Config, Descriptor, Error, Redset, Result};
use super::{agree, commit, descriptors, grouping, names};
use crate::comm::Comm;
use crate::protect::generation::{Generation, Standing};
use crate::storage::names::remove;
use crate::wire::any;

/// Rebuilds what is missing of the files that [`Redset::apply`] protected under `name`. The descriptor
/// is returned whatever happens, as far as it is known, so that `unapply` can clean up.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub fn recover<C: Comm>(comm: &C, name: &OsStr) -> Result<(Redset<C>, Result<()>)> {
    let parent = grouping::duplicate(comm)?;
    let resolved = commit::resolve(&parent, name);
    let (redset, formed) = find_sets(parent, name, resolved)?;
    let done = formed.and_then(|()| complete(&redset, name));
    Ok((redset, done))
}

fn complete<C: Comm>(redset: &Redset<C>, name: &OsStr) -> Result<()> {
    let (descriptor, set) = redset.formed()?;
    let config = Config::current();
    let surveyed = SurveyedSet::survey(set, descriptor, &Location::usual(name, descriptor));
    let repair = agree(
        &redset.parent,
        surveyed.and_then(|surveyed| surveyed.repair(config.limits(1), config.salvages())),
    )?;
    one_generation(&redset.parent, repair.generation)?;
    let file = names::descriptor_file(name, descriptor.world_rank);
    let has_descriptor = check_descriptor_file(&file, descriptor, repair.generation).is_ok();
    let written = match any(&set.comm, !has_descriptor)? {
        true => descriptors::write(set, descriptor, repair.generation, &file),
        false => Ok(()),
    };
    agree(&redset.parent, written)?;
    let mut committed = repair.commit();
    if !has_descriptor && committed.is_ok() {
        committed = commit_file(&file);
    } else {
        let _ = remove(&names::part(&file));
    }
    agree(&redset.parent, committed)
}

/// Refuses sets that are completed to different applies, as far as their headers name one.
///
/// # Collective
/// Called by all ranks of `parent`; all return the same verdict.
pub(super) fn one_generation<C: Comm>(parent: &C, own: Option<Generation>) -> Result<()> {
    let fits = match (Generation::compare(parent, own)?, own) {
        (Standing::Same, _) => return Ok(()),
        (Standing::Behind(highest), Some(own)) => Err(Error::Generations(format!(
            "the set of rank {} has generation {own}, others have {highest}",
            parent.rank()
        ))),
        _ => Ok(()),
    };
    agree(parent, fits)
}

/// What is wrong with the descriptor file of a rank, if anything is.
pub(super) fn check_descriptor_file(
    file: &Path,
    descriptor: &Descriptor,
    current: Option<Generation>,
) -> std::result::Result<(), String> {
    let Some(stored) = descriptors::stored(file, descriptor.world_rank) else {
        return Err("it does not exist or is damaged".into());
    };
    match (stored.generation, current) {
        _ if stored.descriptor != *descriptor => Err("it is of another set".into()),
        (Some(own), Some(current)) if own != current => {
            Err(format!("it is of generation {own}, the set of {current}"))
        }
        _ => Ok(()),
    }
}

/// Gives every rank its descriptor and forms the sets again. `before` and the inner result are the same on all ranks; if
/// `before` is an error, no set is formed.
pub(super) fn find_sets<C: Comm>(
    parent: C,
    name: &OsStr,
    before: Result<()>,
) -> Result<(Redset<C>, Result<()>)> {
    let found = before.and_then(|()| descriptors::find(&parent, name));
    let (descriptor, agreed) = found.unwrap_or_else(|error| (None, Err(error)));
    let formed = match (agreed, descriptor.clone()) {
        (Ok(()), Some(descriptor)) => grouping::restore(grouping::duplicate(&parent)?, descriptor),
        (agreed, _) => agreed.and(Err(Error::NotFormed)),
    };
    let set = None;
    Ok(match formed {
        Ok(redset) => (redset, Ok(())),
        Err(error) => (
            Redset {
                parent,
                descriptor,
                set,
            },
            Err(error),
        ),
    })
}
