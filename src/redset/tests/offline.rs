//! Sets that one process finds under the name that they were applied with.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;

use super::super::rebuild::{FileVerdict, SchemeKind, applied, rebuild, verify};
use super::{Job, Scheme, all_ok, create};
use crate::comm::Comm;

/// All files under a name that are not as they should be.
fn bad(prefix: &OsStr) -> Vec<PathBuf> {
    let sets = applied(prefix).unwrap().sets;
    let findings = sets.iter().flat_map(|set| verify(set, prefix).unwrap());
    let bad = findings.filter(|finding| finding.verdict != FileVerdict::Good);
    let mut bad: Vec<_> = bad.map(|finding| finding.path).collect();
    bad.sort();
    bad
}

#[test]
fn sets_are_found_verified_and_rebuilt() {
    let job = Job::new(Scheme::Xor, 2, vec![vec![500, 3]; 4]);
    let prefix = OsString::from(job.dir.path().join("ck."));
    all_ok(job.run(|comm| {
        let rank = comm.rank();
        let group = format!("node{rank}");
        let redset = create(&comm, job.scheme, Some(group.as_bytes()), job.min_size)?;
        redset.apply(&job.originals(rank), &prefix)
    }));
    let found = applied(&prefix).unwrap().sets;
    let seen = found
        .iter()
        .map(|set| (set.group, set.groups, set.ranks, set.kind));
    let xor = Some(SchemeKind::Xor);
    assert_eq!(seen.collect::<Vec<_>>(), [(0, 2, 2, xor), (1, 2, 2, xor)]);
    assert!(found.iter().all(|set| set.files.len() == 2));
    assert!(bad(&prefix).is_empty());
    let before = job.files();

    let (lost, damaged) = (&job.originals(1)[0], &job.originals(2)[1]);
    fs::remove_file(lost).unwrap();
    fs::write(damaged, [1, 2, 3]).unwrap();
    assert_eq!(bad(&prefix), [lost.clone(), damaged.clone()]);
    for set in &found {
        rebuild(SchemeKind::Xor, &set.files, &prefix, None).unwrap();
    }
    assert!(bad(&prefix).is_empty());
    assert!(job.files() == before);
}

#[test]
fn a_name_without_files_has_no_sets() {
    let job = Job::new(Scheme::Xor, 2, vec![vec![1]; 2]);
    assert!(
        applied(job.dir.path().join("ck.").as_os_str())
            .unwrap()
            .sets
            .is_empty()
    );
    assert!(applied(job.dir.path().join("none/ck.").as_os_str()).is_err());
}
