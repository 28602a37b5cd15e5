//! Whole sets, with ranks as threads.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::comm::local::run;

/// The files of a job with ranks as threads, each in a directory of its own.
#[derive(Debug)]
struct Job {
    dir: TempDir,
    scheme: Scheme,
    min_size: usize,
    /// Sizes of the files of each rank.
    sizes: Vec<Vec<usize>>,
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

impl Job {
    fn new(scheme: Scheme, min_size: usize, sizes: Vec<Vec<usize>>) -> Job {
        let dir = tempfile::tempdir().unwrap();
        for (rank, sizes) in sizes.iter().enumerate() {
            fs::create_dir(dir.path().join(format!("{rank}"))).unwrap();
            for (index, size) in sizes.iter().enumerate() {
                let seed = rank * 131 + index * 17;
                let byte = |i: usize| (i * 7 + i / 251 + seed) as u8;
                let bytes: Vec<u8> = (0..*size).map(byte).collect();
                fs::write(dir.path().join(format!("{rank}/file{index}")), bytes).unwrap();
            }
        }
        Job {
            dir,
            scheme,
            min_size,
            sizes,
        }
    }

    fn ranks(&self) -> usize {
        self.sizes.len()
    }

    fn originals(&self, rank: usize) -> Vec<PathBuf> {
        let files = 0..self.sizes[rank].len();
        let path = |index| self.dir.path().join(format!("{rank}/file{index}"));
        files.map(path).collect()
    }

    /// The prefix of redundancy files of a rank.
    fn name(&self, rank: usize) -> OsString {
        self.dir.path().join(format!("{rank}/ck.")).into()
    }

    fn apply(&self) -> Vec<Result<()>> {
        run(self.ranks(), |comm| {
            let rank = comm.rank();
            let group = format!("node{rank}");
            let redset = create(&comm, self.scheme, Some(group.as_bytes()), self.min_size)?;
            redset.apply(&self.originals(rank), &self.name(rank))
        })
    }

    fn recover(&self) -> Vec<Result<()>> {
        run(self.ranks(), |comm| {
            let name = self.name(comm.rank());
            recover(&comm, &name)?.1
        })
    }

    fn verify(&self) -> Vec<Result<()>> {
        run(self.ranks(), |comm| {
            let name = self.name(comm.rank());
            verify(&comm, &name)?.1
        })
    }

    /// Everything in the directories of all ranks.
    fn files(&self) -> Files {
        (0..self.ranks())
            .flat_map(|rank| self.files_of(rank))
            .collect()
    }

    fn files_of(&self, rank: usize) -> Files {
        let entries = fs::read_dir(self.dir.path().join(format!("{rank}"))).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .map(|path| (path.clone(), fs::read(&path).unwrap()))
            .collect()
    }

    fn lose(&self, what: impl Fn(usize, &Path) -> bool) {
        for rank in 0..self.ranks() {
            for path in self.files_of(rank).into_keys() {
                if what(rank, &path) {
                    fs::remove_file(path).unwrap();
                }
            }
        }
    }
}

fn all_ok(verdicts: Vec<Result<()>>) {
    for (rank, verdict) in verdicts.into_iter().enumerate() {
        verdict.unwrap_or_else(|error| panic!("rank {rank}: {error}"));
    }
}

fn all_fail(verdicts: &[Result<()>]) {
    assert!(verdicts.iter().all(Result::is_err), "{verdicts:?}");
}

fn is_redundancy(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "redset")
}

fn schemes(ranks: usize) -> Vec<Scheme> {
    let partner = (1..ranks).map(|replicas| Scheme::Partner { replicas });
    let rs = (1..ranks).map(|k| Scheme::ReedSolomon { k });
    partner.chain([Scheme::Xor]).chain(rs).collect()
}

/// Whether a set of `ranks` survives the loss of all files of these ranks.
fn survives(scheme: Scheme, ranks: usize, lost: &[usize]) -> bool {
    match scheme {
        Scheme::Single => lost.is_empty(),
        Scheme::Xor => lost.len() <= 1,
        Scheme::ReedSolomon { k } => lost.len() <= k,
        Scheme::Partner { replicas } => lost.iter().all(|rank| {
            let mut holders = (1..=replicas).map(|distance| (rank + distance) % ranks);
            holders.any(|holder| !lost.contains(&holder))
        }),
    }
}

/// A job and the ranks that it loses: none, or some, or just more than its scheme tolerates.
fn job() -> impl Strategy<Value = (Job, Vec<usize>)> {
    let sizes = prop::collection::vec(prop::collection::vec(0usize..3000, 1..4), 2..13);
    let picks = prop::collection::vec(any::<prop::sample::Index>(), 0..13);
    (sizes, any::<prop::sample::Index>(), picks).prop_map(|(sizes, scheme, picks)| {
        let ranks = sizes.len();
        let schemes = schemes(ranks);
        let scheme = schemes[scheme.index(schemes.len())];
        let picks = picks.iter().take(scheme.copies() + 1);
        let mut lost: Vec<_> = picks.map(|pick| pick.index(ranks)).collect();
        lost.sort_unstable();
        lost.dedup();
        (Job::new(scheme, ranks, sizes), lost)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_loss_within_tolerance_is_rebuilt_and_every_other_changes_nothing((job, lost) in job()) {
        all_ok(job.apply());
        let before = job.files();
        job.lose(|rank, _| lost.contains(&rank));
        let left = job.files();
        let verdicts = job.recover();
        if survives(job.scheme, job.ranks(), &lost) {
            all_ok(verdicts);
            prop_assert!(job.files() == before);
            all_ok(job.verify());
        } else {
            all_fail(&verdicts);
            prop_assert!(job.files() == left);
        }
    }
}

#[test]
fn a_small_set_survives() {
    for scheme in [
        Scheme::Xor,
        Scheme::Partner { replicas: 1 },
        Scheme::ReedSolomon { k: 1 },
    ] {
        let job = Job::new(scheme, 3, vec![vec![10], vec![20, 5], vec![]]);
        all_ok(job.apply());
        let before = job.files();
        job.lose(|rank, _| rank == 1);
        all_ok(job.recover());
        assert!(job.files() == before);
    }
}
