//! One rank's disk fails, or one rank dies, at every step of apply and recover.

use std::fs;

use rustix::io::Errno;

use super::*;
use crate::comm::Comm;
use crate::comm::local::LocalComm;
use crate::storage::{Operation, faults};
use crate::testing::stride;

/// Each scheme, the rank that is lost, and whether the ranks run on nodes of their own.
fn cases() -> Vec<(Scheme, usize, bool)> {
    let schemes = [
        (Scheme::Single, usize::MAX),
        (Scheme::Copies { replicas: 1 }, 1),
        (Scheme::Xor, 1),
        (Scheme::ReedSolomon { k: 2 }, 1),
    ];
    let on_nodes = |(scheme, lost)| [(scheme, lost, false), (scheme, lost, true)];
    schemes.into_iter().flat_map(on_nodes).collect()
}

fn job(scheme: Scheme, apart: bool) -> Job {
    let sizes = vec![vec![40, 5], vec![100], vec![77, 0], vec![60]];
    Job::new(scheme, 4, sizes).apart(apart)
}

/// Runs `what` with a fault at the n-th operation of rank 1, for every n or some, until none is left to hit. Which ones
/// these are differs with the `case`. `check` gets the verdicts.
fn at_operations(
    case: usize,
    rule: impl Fn(usize) -> faults::Rule + Sync,
    prepare: impl Fn() -> Job,
    what: impl Fn(&Job, &LocalComm) -> Result<()> + Sync,
    check: impl Fn(&Job, Vec<Result<()>>),
) {
    let stride = stride(4);
    for n in (case % stride..).step_by(stride) {
        let job = prepare();
        let outcomes = job.run(|comm| {
            let plan = (comm.rank() == 1).then(|| faults::plan([rule(n)]));
            let verdict = what(&job, &comm);
            let fired = plan.is_none_or(|plan| plan.fired());
            (verdict, fired)
        });
        let fired = outcomes.iter().all(|(_, fired)| *fired);
        check(
            &job,
            outcomes.into_iter().map(|(verdict, _)| verdict).collect(),
        );
        if !fired {
            return;
        }
        assert!(n < 1000, "no end of operations");
    }
}

fn apply(job: &Job, comm: &LocalComm) -> Result<()> {
    let group = format!("node{}", comm.rank());
    let redset = create(comm, job.scheme, Some(group.as_bytes()), job.min_size)?;
    redset.apply(&job.originals(comm.rank()), &job.name(comm.rank()))
}

fn recover_on(job: &Job, comm: &LocalComm) -> Result<()> {
    recover(comm, &job.name(comm.rank()))?.1
}

fn same_verdict(verdicts: &[Result<()>]) -> bool {
    let failed = verdicts.iter().filter(|verdict| verdict.is_err()).count();
    assert!(failed == 0 || failed == verdicts.len(), "{verdicts:?}");
    failed == 0
}

/// No file of a redundancy set other than the final ones is left.
fn is_tidy(job: &Job) -> bool {
    let unfinished = |path: &PathBuf| path.to_string_lossy().ends_with("part");
    !job.files().keys().any(unfinished)
}

#[test]
fn a_failing_disk_in_apply_fails_everywhere_and_changes_nothing() {
    for (case, (scheme, _, apart)) in cases().into_iter().enumerate() {
        at_operations(
            case,
            |n| faults::fail(Errno::NOSPC).at(n),
            || job(scheme, apart),
            apply,
            |job, verdicts| {
                let originals = |files: Files| -> Files {
                    files
                        .into_iter()
                        .filter(|(path, _)| !is_redundancy(path))
                        .collect()
                };
                let done = same_verdict(&verdicts);
                let after = job.files();
                all_ok(job.apply());
                assert!(is_tidy(job));
                assert_eq!(originals(after.clone()), originals(job.files()));
                assert!(!done || after.keys().eq(job.files().keys()));
            },
        );
    }
}

#[test]
fn a_failing_disk_in_recover_fails_everywhere_and_a_second_recover_succeeds() {
    for (case, (scheme, lost, apart)) in cases().into_iter().enumerate() {
        let complete = std::cell::RefCell::new(Files::new());
        at_operations(
            case,
            |n| faults::fail(Errno::IO).at(n),
            || {
                let job = job(scheme, apart);
                all_ok(job.apply());
                *complete.borrow_mut() = job.files();
                job.lose(|rank, _| rank == lost);
                job
            },
            recover_on,
            |job, verdicts| {
                let done = same_verdict(&verdicts);
                if done {
                    assert!(job.files() == *complete.borrow());
                }
                all_ok(job.recover());
                assert!(job.files() == *complete.borrow(), "{scheme:?}");
            },
        );
    }
}

#[test]
fn a_death_in_apply_leaves_the_old_or_the_new_state() {
    for (case, (scheme, lost, apart)) in cases().into_iter().enumerate() {
        let old = std::cell::RefCell::new(Files::new());
        at_operations(
            case,
            |n| faults::crash().at(n),
            || {
                let job = job(scheme, apart);
                all_ok(job.apply());
                *old.borrow_mut() = job.files();
                job
            },
            apply,
            |job, verdicts| {
                let _ = verdicts;
                // The same files were protected again, so both states protect the same.
                job.lose(|rank, _| rank == lost);
                all_ok(job.recover());
                let originals = |files: &Files| -> Files {
                    let files = files.iter().filter(|(path, _)| !is_redundancy(path));
                    files
                        .map(|(path, bytes)| (path.clone(), bytes.clone()))
                        .collect()
                };
                assert!(
                    originals(&job.files()) == originals(&old.borrow()),
                    "{scheme:?}"
                );
                all_ok(job.verify());
            },
        );
    }
}

#[test]
fn a_death_in_recover_is_made_good_by_the_next() {
    for (case, (scheme, lost, apart)) in cases().into_iter().enumerate() {
        let complete = std::cell::RefCell::new(Files::new());
        at_operations(
            case,
            |n| faults::crash().at(n),
            || {
                let job = job(scheme, apart);
                all_ok(job.apply());
                *complete.borrow_mut() = job.files();
                job.lose(|rank, _| rank == lost);
                job
            },
            recover_on,
            |job, _| {
                all_ok(job.recover());
                let mut files = job.files();
                files.retain(|path, _| !path.to_string_lossy().ends_with("part"));
                assert!(files == *complete.borrow(), "{scheme:?}");
            },
        );
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_until_it_can() {
    [false, true].into_iter().for_each(block_a_directory);
}

fn block_a_directory(apart: bool) {
    let job = job(Scheme::ReedSolomon { k: 2 }, apart);
    all_ok(job.apply());
    let before = job.files();
    let home = job.dir.path().join("2");
    fs::remove_dir_all(&home).unwrap();
    fs::write(&home, "a file").unwrap();
    let left: Files = [0, 1, 3]
        .into_iter()
        .flat_map(|rank| job.files_of(rank))
        .collect();
    all_fail(&job.recover());
    let still: Files = [0, 1, 3]
        .into_iter()
        .flat_map(|rank| job.files_of(rank))
        .collect();
    assert!(left == still);
    fs::remove_file(&home).unwrap();
    all_ok(job.recover());
    assert!(job.files() == before);
}

/// How many refusals to open a file apply survives on rank 1; the set is whole after each of them.
fn refusals_survived(scheme: Scheme, apart: bool) -> usize {
    let survived = std::cell::Cell::new(0);
    at_operations(
        0,
        |n| faults::fail(Errno::PERM).of(Operation::Open).at(n),
        || job(scheme, apart),
        apply,
        |job, verdicts| {
            if same_verdict(&verdicts) {
                survived.set(survived.get() + 1);
                all_ok(job.verify());
            }
        },
    );
    survived.get()
}

/// Ranks of one node that may not open a file of another one send messages instead.
#[test]
fn a_file_that_only_its_owner_may_open_comes_by_message() {
    for scheme in [Scheme::Xor, Scheme::Copies { replicas: 1 }] {
        let (together, apart) = (
            refusals_survived(scheme, false),
            refusals_survived(scheme, true),
        );
        assert!(together > apart, "{scheme:?} {together} {apart}");
    }
}
