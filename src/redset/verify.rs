//! Verify: reads a set without changing it, and reports on every file.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::recover::{check_descriptor_file, find_sets, one_generation};
use super::repair::{FileVerdict, Location, Scrubbed, SurveyedSet};
use super::sharing::unpack;
use super::{Peers, Result, agree, bad_file, grouping, names};
use crate::comm::{Comm, Tag, transfer_unsized};
use crate::kvtree::value::rank_text;
use crate::kvtree::{Tree, TreeMut, pack};

const TAG: Tag = 0x7665;
const RANK: &CStr = c"RANK";

/// Reads every file that is protected under `name` and its redundancy, and compares them with their
/// checksums. Nothing is changed. The tree has a verdict on each file of each rank of the caller's
/// set; the result is an error on all ranks when anything is missing or damaged on any of them.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub fn verify<C: Comm>(comm: &C, name: &OsStr) -> Result<(Tree, Result<()>)> {
    let (redset, formed) = find_sets(grouping::duplicate(comm)?, name, Ok(()))?;
    if let Err(error) = formed {
        return Ok((Tree::new(), Err(error)));
    }
    let (descriptor, set) = redset.formed()?;
    let surveyed = SurveyedSet::survey(set, descriptor, &Location::usual(name, descriptor));
    // If one set cannot be surveyed, the result is an error for all sets.
    let surveyed = match agree(&redset.parent, surveyed) {
        Ok(surveyed) => surveyed,
        Err(error) => return Ok((Tree::new(), Err(error))),
    };
    let generation = surveyed.generation();
    let mut scrubbed = surveyed.scrub();
    let descriptor_file = names::descriptor_file(name, descriptor.world_rank);
    let found = match check_descriptor_file(&descriptor_file, descriptor, generation) {
        Ok(()) => FileVerdict::Good,
        Err(wrong) => FileVerdict::Bad(wrong),
    };
    scrubbed.redundancy.push((descriptor_file, found));
    let verdict = agree(&redset.parent, scrubbed.verdict());
    let verdict = verdict.and_then(|()| one_generation(&redset.parent, generation));
    let report = merge_reports(set, scrubbed.to_tree(descriptor.world_rank)?)?;
    Ok((report, verdict))
}

impl Scrubbed {
    fn verdict(&self) -> Result<()> {
        let mut all = self.files.iter().chain(&self.redundancy);
        let bad = all.find_map(|(path, verdict)| match verdict {
            FileVerdict::Bad(wrong) => Some((path, wrong)),
            FileVerdict::Good | FileVerdict::Unchecked => None,
        });
        bad.map_or(Ok(()), |(path, wrong)| Err(bad_file(path, wrong)))
    }

    fn to_tree(&self, world_rank: usize) -> Result<Tree> {
        let mut tree = Tree::new();
        let mut own = tree
            .edit()
            .into_child(RANK)
            .into_child(&rank_text(world_rank));
        for (path, verdict) in &self.files {
            insert(own.child(c"FILE"), path, verdict);
        }
        for (path, verdict) in &self.redundancy {
            insert(own.child(c"REDUNDANCY"), path, verdict);
        }
        Ok(tree)
    }
}

fn insert(list: TreeMut, path: &Path, verdict: &FileVerdict) {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    let mut entry = list.into_child(&path);
    match verdict {
        FileVerdict::Good => entry.set_str(c"STATE", c"GOOD"),
        FileVerdict::Unchecked => entry.set_str(c"STATE", c"UNCHECKED"),
        FileVerdict::Bad(wrong) => {
            entry.set_str(c"STATE", c"BAD");
            let reason = CString::new(wrong.as_str()).unwrap_or_default();
            entry.set_str(c"REASON", &reason);
        }
    }
}

/// The reports of all ranks of the set in one tree.
fn merge_reports<C: Comm>(set: &Peers<C>, own: Tree) -> Result<Tree> {
    let comm = &set.comm;
    let packed = pack::packed(Some(own.view()))?;
    let others: Vec<_> = (0..comm.size())
        .filter(|&rank| rank != comm.rank())
        .collect();
    let sends: Vec<_> = others.iter().map(|&rank| (rank, &packed[..])).collect();
    let mut all = own;
    for block in transfer_unsized(comm, TAG, &sends, &others)? {
        all.edit().merge(unpack(&block)?.view())?;
    }
    Ok(all)
}
