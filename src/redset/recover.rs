//! Recover: rebuilds what is missing of a set.
//!
//! First every rank gets its descriptor back, from its own file or from a right neighbour, and the sets
//! form again. Within a set, the headers show which apply is the newest that can be completed; what is of
//! another counts as lost. Each rank finds out what it still has: its header (or a neighbour's copy of its contents),
//! its files, its redundancy. From what all ranks have, `protect` plans the flows that complete the set, or finds that
//! too much is lost. Rebuilt files are written beside their places, and checksums of all that is read or written are
//! compared. What turns out to be damaged counts as lost, and the set starts again. When all sets are complete, all ranks
//! rename their files into place.

use std::ffi::OsStr;
use std::path::Path;

use super::members::{Location, SurveyedSet, put_in_place};
use super::{Config, Descriptor, Error, Redset, Result};
use super::{agree, commit, descriptors, grouping, names};
use crate::comm::Comm;
use crate::protect::generation::{Generation, Standing};
use crate::storage::names::remove;
use crate::wire::any;

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
    let found = SurveyedSet::survey(set, descriptor, &Location::usual(name, descriptor));
    let repair = agree(
        &redset.parent,
        found.and_then(|members| members.repair(config.limits(1), config.salvages())),
    )?;
    one_generation(&redset.parent, repair.generation)?;
    let file = names::descriptor_file(name, descriptor.world_rank);
    let has_descriptor = descriptor_state(&file, descriptor, repair.generation).is_ok();
    let written = match any(&set.comm, !has_descriptor)? {
        true => descriptors::write(set, descriptor, repair.generation, &file),
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
pub(super) fn descriptor_state(
    file: &Path,
    descriptor: &Descriptor,
    current: Option<Generation>,
) -> std::result::Result<(), String> {
    let Some(noted) = descriptors::noted(file, descriptor.world_rank) else {
        return Err("it does not exist or is damaged".into());
    };
    match (noted.generation, current) {
        _ if noted.descriptor != *descriptor => Err("it is of another set".into()),
        (Some(own), Some(current)) if own != current => {
            Err(format!("it is of generation {own}, the set of {current}"))
        }
        _ => Ok(()),
    }
}

/// Gives every rank its descriptor and forms the sets. The inner error is a verdict of all ranks, as is `before`: with
/// an error there, nothing is done.
pub(super) fn find_sets<C: Comm>(
    parent: C,
    name: &OsStr,
    before: Result<()>,
) -> Result<(Redset<C>, Result<()>)> {
    let found = before.and_then(|()| descriptors::find(&parent, name));
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
