//! How the new redundancy files of all ranks come into force together.
//!
//! Each rank writes its files under names that end in `.part`. When all ranks have done so, all rename
//! them to `.ready`; when all have done that, to their final names. So after a crash, one `.ready` file
//! anywhere says that the files of all ranks are complete, and they are carried through to their final
//! names; without one, no rank has given up its old files, and what is left of the new ones is removed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Descriptor, Result, agree, names};
use crate::comm::{Comm, Op};
use crate::kvtree::value::rank_text;
use crate::kvtree::{self, Tree};
use crate::storage::place::{attributes, remove, rename, sync_parent};

/// Gives the files, which were written as `.part`, their final names, or removes them all if a rank has
/// failed to write its own. The last file is the one that says that the others exist.
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
        // First all back, so that a crash now finds either all or none to be carried through.
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

/// Completes or removes what a crash has left of an earlier commit.
///
/// # Collective
/// Called by all ranks of `parent`; all return the same verdict.
pub(super) fn resolve<C: Comm>(parent: &C, name: &OsStr) -> Result<()> {
    let left = agree(parent, Left::find(name, parent.rank()))?;
    let mut seen = [u64::from(left.is_ready), left.files.len() as u64];
    parent.allreduce(Op::Max, &mut seen)?;
    match seen {
        [0, 0] => Ok(()),
        [0, _] => agree(parent, left.remove()),
        _ => agree(parent, left.carry_through()),
    }
}

/// What is left on this rank of a commit that did not end.
struct Left {
    /// Final names of the files that lie beside them as `.part` or `.ready`.
    files: Vec<PathBuf>,
    is_ready: bool,
}

impl Left {
    fn find(name: &OsStr, world_rank: usize) -> Result<Left> {
        let descriptor_file = names::descriptor_file(name, world_rank);
        let redundancy_file = [names::ready, names::part]
            .iter()
            .find_map(|place| described(&place(&descriptor_file), world_rank))
            .map(|descriptor| names::redundancy_file(name, &descriptor));
        let candidates = redundancy_file.into_iter().chain([descriptor_file]);
        let mut left = Left {
            files: Vec::new(),
            is_ready: false,
        };
        for file in candidates {
            let is_ready = attributes(&names::ready(&file))?.is_some();
            if is_ready || attributes(&names::part(&file))?.is_some() {
                left.is_ready |= is_ready;
                left.files.push(file);
            }
        }
        Ok(left)
    }

    fn remove(self) -> Result<()> {
        for file in self.files {
            remove(&names::part(&file))?;
        }
        Ok(())
    }

    fn carry_through(self) -> Result<()> {
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

/// The descriptor of a rank in a descriptor file, if it is complete.
pub(super) fn described(path: &Path, world_rank: usize) -> Option<Descriptor> {
    let descriptors = read_descriptors(path).ok()??;
    let own = descriptors.view().get(&rank_text(world_rank))?;
    Descriptor::from_tree(own.get(c"DESC")?).ok()
}

/// The tree of a descriptor file; `None` if there is no file.
pub(super) fn read_descriptors(path: &Path) -> Result<Option<Tree>> {
    let fd = match crate::storage::file::open_read(path) {
        Err(error) if error.is_absent() => return Ok(None),
        outcome => outcome?,
    };
    let mut tree = Tree::new();
    kvtree::file::read_fd(path, fd, tree.edit())?;
    Ok(Some(tree))
}
