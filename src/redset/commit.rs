//! Two-phase commit of the new redundancy files of all ranks.
//!
//! Each rank writes its files under names that end in `.part`. When all ranks have done so, all rename
//! them to `.ready`; when all have done that, to their final names. So after a crash, one `.ready` file
//! anywhere says that the files of all ranks are complete, and all are renamed to their final names;
//! without one, every rank still has its old files, and the new ones are removed.
//!
//! A rank may come back with `.ready` files of an earlier apply that the other ranks have rolled back. So only
//! files of the generation of the newest `.ready` file are renamed, and only if the others still support it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::descriptors::stored;
use super::{Error, Result, agree, names};
use crate::comm::{Comm, Op};
use crate::protect::generation::Generation;
use crate::storage::names::{attributes, remove, rename, sync_parent};
use crate::wire::{gather, put, take};

/// Gives the files, which were written as `.part`, their final names, or removes them all if a rank has
/// failed to write its own. The last file is the descriptor, which says that the others exist.
///
/// # Collective
/// Called by all ranks of `parent`; all return the same verdict.
pub(super) fn commit<C: Comm>(parent: &C, files: &[PathBuf], written: Result<()>) -> Result<()> {
    if let Err(error) = agree(parent, written) {
        files
            .iter()
            .for_each(|file| drop(remove(&names::part(file))));
        return Err(error);
    }
    if let Err(error) = agree(parent, rename_all(files, names::part, names::ready)) {
        // First all ranks rename back, so that a crash now cannot find some files ready and others removed.
        let back = rename_back(files);
        agree(parent, back)?;
        files
            .iter()
            .for_each(|file| drop(remove(&names::part(file))));
        return Err(error);
    }
    agree(parent, rename_all(files, names::ready, Path::to_path_buf))
}

fn rename_all(
    files: &[PathBuf],
    from: impl Fn(&Path) -> PathBuf,
    to: impl Fn(&Path) -> PathBuf,
) -> Result<()> {
    for file in files {
        rename(&from(file), &to(file))?;
    }
    files.iter().try_for_each(|file| Ok(sync_parent(file)?))
}

fn rename_back(files: &[PathBuf]) -> Result<()> {
    for file in files {
        if attributes(&names::ready(file))?.is_some() {
            rename(&names::ready(file), &names::part(file))?;
            sync_parent(file)?;
        }
    }
    Ok(())
}

/// Rolls an interrupted commit forward or back.
///
/// # Collective
/// Called by all ranks of `parent`; all return the same verdict.
pub(super) fn resolve<C: Comm>(parent: &C, name: &OsStr) -> Result<()> {
    let left = agree(parent, InterruptedCommit::find(name, parent.rank()))?;
    let mut seen = [left.is_ready.into(), left.files.len() as u64];
    parent.allreduce(Op::Max, &mut seen)?;
    match seen {
        [0, 0] => Ok(()),
        [0, _] => agree(parent, left.remove()),
        _ => {
            let claims = gather_claims(parent, name, &left)?;
            let is_completed = left.generation.is_some() && left.generation == to_complete(&claims);
            let ended = match is_completed {
                true => left.complete(),
                false => left.remove(),
            };
            agree(parent, ended)
        }
    }
}

fn gather_claims<C: Comm>(
    parent: &C,
    name: &OsStr,
    left: &InterruptedCommit,
) -> Result<Vec<CommitClaim>> {
    let in_force = stored(&names::descriptor_file(name, parent.rank()), parent.rank());
    let claim = CommitClaim {
        in_force: in_force.and_then(|stored| stored.generation),
        is_ready: left.is_ready,
        left: left.generation,
    };
    let mut own = Vec::new();
    claim.put(&mut own);
    let all = gather(parent, &own)?;
    let claims = all.iter().map(|bytes| CommitClaim::take(&mut &bytes[..]));
    let claims = claims.collect::<Option<Vec<_>>>();
    claims.ok_or(Error::Broken("malformed message from a rank"))
}

/// What a rank tells the others: what it has of an interrupted commit, and of the last complete one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CommitClaim {
    is_ready: bool,
    /// Generation of the interrupted commit: `None` without files of one, `Some(None)` if they name no generation.
    left: Option<Option<Generation>>,
    /// Generation of the files with final names, if they name one.
    in_force: Option<Generation>,
}

impl CommitClaim {
    fn put(&self, bytes: &mut Vec<u8>) {
        put(bytes, &[self.is_ready.into(), self.left.is_some().into()]);
        put(bytes, &Generation::numbers(self.left.flatten()));
        put(bytes, &Generation::numbers(self.in_force));
    }

    fn take(bytes: &mut &[u8]) -> Option<CommitClaim> {
        let [is_ready, is_left] = take(bytes)?;
        let generation = Generation::from_numbers(take(bytes)?);
        Some(CommitClaim {
            is_ready: is_ready != 0,
            left: (is_left != 0).then_some(generation),
            in_force: Generation::from_numbers(take(bytes)?),
        })
    }
}

/// The generation that is rolled forward, if any: the newest one that is ready on some rank. If a single rank has it while
/// at least two others have another in force, it was rolled back while that rank was away.
fn to_complete(all: &[CommitClaim]) -> Option<Option<Generation>> {
    let ready = all.iter().filter(|claim| claim.is_ready);
    let newest = ready.filter_map(|claim| claim.left).max()?;
    let supports = |claim: &&CommitClaim| {
        let stands = newest.is_some() && claim.in_force == newest;
        stands || claim.left == Some(newest)
    };
    let has_another = |claim: &&CommitClaim| claim.in_force.is_some() && !supports(claim);
    let supporters = all.iter().filter(supports).count();
    let others = all.iter().filter(has_another).count();
    (newest.is_none() || supporters > 1 || others < 2).then_some(newest)
}

/// The files of an interrupted commit on this rank.
struct InterruptedCommit {
    /// Final names of files that exist as `.part` or `.ready`.
    files: Vec<PathBuf>,
    is_ready: bool,
    /// As [`CommitClaim::left`].
    generation: Option<Option<Generation>>,
}

impl InterruptedCommit {
    fn find(name: &OsStr, world_rank: usize) -> Result<InterruptedCommit> {
        let descriptor_file = names::descriptor_file(name, world_rank);
        let described = [names::ready, names::part]
            .iter()
            .find_map(|named| stored(&named(&descriptor_file), world_rank));
        let redundancy_file = described
            .as_ref()
            .map(|stored| names::redundancy_file(name, &stored.descriptor));
        let candidates = redundancy_file.into_iter().chain([descriptor_file]);
        let (mut files, mut any_is_ready) = (Vec::new(), false);
        for file in candidates {
            let is_ready = attributes(&names::ready(&file))?.is_some();
            if is_ready || attributes(&names::part(&file))?.is_some() {
                any_is_ready |= is_ready;
                files.push(file);
            }
        }
        let generation = described.and_then(|stored| stored.generation);
        Ok(InterruptedCommit {
            is_ready: any_is_ready,
            generation: (!files.is_empty()).then_some(generation),
            files,
        })
    }

    fn remove(self) -> Result<()> {
        for file in self.files {
            remove(&names::part(&file))?;
            remove(&names::ready(&file))?;
        }
        Ok(())
    }

    fn complete(self) -> Result<()> {
        for file in self.files {
            let ready = names::ready(&file);
            let from = match attributes(&ready)? {
                Some(_) => ready,
                None => names::part(&file),
            };
            rename(&from, &file)?;
            sync_parent(&file)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_rank_has_and_others_gave_up_is_not_completed() {
        let [old, new] =
            [(4, 1), (5, 2)].map(|(counter, random)| Some(Generation::new(counter, random)));
        let stands = |in_force| CommitClaim {
            is_ready: false,
            left: None,
            in_force,
        };
        let ready = |left, in_force| CommitClaim {
            is_ready: true,
            left: Some(left),
            in_force,
        };
        let part = |left, in_force| CommitClaim {
            is_ready: false,
            ..ready(left, in_force)
        };
        // Some have renamed already, or none but one.
        assert_eq!(
            to_complete(&[stands(new), ready(new, old), stands(new)]),
            Some(new)
        );
        assert_eq!(
            to_complete(&[part(new, old), ready(new, old), part(new, old)]),
            Some(new)
        );
        // The others have lost their files, or there is one other.
        assert_eq!(
            to_complete(&[stands(None), ready(new, old), stands(None)]),
            Some(new)
        );
        assert_eq!(to_complete(&[stands(old), ready(new, old)]), Some(new));
        // The others gave it up, or went on.
        assert_eq!(
            to_complete(&[stands(old), ready(new, old), stands(old)]),
            None
        );
        assert_eq!(
            to_complete(&[stands(new), ready(old, old), stands(new)]),
            None
        );
        assert_eq!(
            to_complete(&[part(new, new), ready(old, old), part(new, new)]),
            None
        );
        // Files without names are completed as they always were.
        assert_eq!(
            to_complete(&[ready(None, None), part(None, old), stands(old)]),
            Some(None)
        );
        assert_eq!(to_complete(&[part(None, None), stands(old)]), None);
    }
}
