//! Verify: reads a set without changing it, and reports on every file.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::members::{FileVerdict, Location, Scrubbed, SurveyedSet};
use super::recover::{descriptor_state, find_sets, one_generation};
use super::sharing::unpack;
use super::{Error, Peers, Result, agree, grouping, names};
use crate::comm::{Comm, Tag, transfer_unsized};
use crate::kvtree::value::rank_text;
use crate::kvtree::{Tree, TreeMut, pack};

const TAG: Tag = 0x7665;
const RANK: &CStr = c"RANK";

pub(super) fn verify<C: Comm>(comm: &C, name: &OsStr) -> Result<(Tree, Result<()>)> {
    let (redset, formed) = find_sets(grouping::same(comm)?, name, Ok(()))?;
    if let Err(error) = formed {
        return Ok((Tree::new(), Err(error)));
    }
    let (descriptor, set) = redset.ready()?;
    let surveyed = SurveyedSet::survey(set, descriptor, &Location::usual(name, descriptor));
    // If one set cannot be surveyed, the verdict is an error for all sets.
    let members = match agree(&redset.parent, surveyed) {
        Ok(members) => members,
        Err(error) => return Ok((Tree::new(), Err(error))),
    };
    let generation = members.generation();
    let mut scrubbed = members.scrub();
    let descriptor_file = names::descriptor_file(name, descriptor.world_rank);
    let state = match descriptor_state(&descriptor_file, descriptor, generation) {
        Ok(()) => FileVerdict::Good,
        Err(wrong) => FileVerdict::Bad(wrong),
    };
    scrubbed.redundancy.push((descriptor_file, state));
    let verdict = agree(&redset.parent, scrubbed.verdict());
    let verdict = verdict.and_then(|()| one_generation(&redset.parent, generation));
    let report = share(set, scrubbed.to_tree(descriptor.world_rank)?)?;
    Ok((report, verdict))
}

impl Scrubbed {
    fn verdict(&self) -> Result<()> {
        let mut all = self.files.iter().chain(&self.redundancy);
        let bad = all.find_map(|(path, state)| match state {
            FileVerdict::Bad(wrong) => Some((path, wrong)),
            FileVerdict::Good | FileVerdict::Unchecked => None,
        });
        bad.map_or(Ok(()), |(path, wrong)| {
            Err(Error::BadFile {
                path: path.clone(),
                what: wrong.clone(),
            })
        })
    }

    fn to_tree(&self, world_rank: usize) -> Result<Tree> {
        let mut tree = Tree::new();
        let mut own = tree
            .edit()
            .into_child(RANK)
            .into_child(&rank_text(world_rank));
        for (path, state) in &self.files {
            note(own.child(c"FILE"), path, state);
        }
        for (path, state) in &self.redundancy {
            note(own.child(c"REDUNDANCY"), path, state);
        }
        Ok(tree)
    }
}

fn note(list: TreeMut, path: &Path, state: &FileVerdict) {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    let mut entry = list.into_child(&path);
    match state {
        FileVerdict::Good => entry.set_str(c"STATE", c"GOOD"),
        FileVerdict::Unchecked => entry.set_str(c"STATE", c"UNCHECKED"),
        FileVerdict::Bad(wrong) => {
            entry.set_str(c"STATE", c"BAD");
            let reason = CString::new(wrong.as_str()).unwrap_or_default();
            entry.set_str(c"REASON", &reason);
        }
    }
}

/// The reports of all ranks of the set in one.
fn share<C: Comm>(set: &Peers<C>, own: Tree) -> Result<Tree> {
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
