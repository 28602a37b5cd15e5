//! Whole sets, with ranks as threads.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::comm::local::{LocalComm, run, run_on};
use crate::storage::memory_dir;

mod crafted;
mod faults;
mod golden;
mod new_node;
mod offline;
mod placed;
mod stale;
mod strangers;
mod texts;

/// The files of a job with ranks as threads, each in a directory of its own.
#[derive(Debug)]
struct Job {
    dir: TempDir,
    scheme: Scheme,
    min_size: usize,
    /// Sizes of the files of each rank.
    sizes: Vec<Vec<usize>>,
    /// Whether each rank runs on a node of its own. Then they send messages; otherwise they open each
    /// other's files.
    apart: bool,
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

impl Job {
    fn new(scheme: Scheme, min_size: usize, sizes: Vec<Vec<usize>>) -> Job {
        let dir = memory_dir();
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
            apart: false,
        }
    }

    fn apart(mut self, apart: bool) -> Job {
        self.apart = apart;
        self
    }

    fn run<T: Send>(&self, f: impl Fn(LocalComm) -> T + Sync) -> Vec<T> {
        let node = |rank| if self.apart { rank as u64 } else { 0 };
        run_on((0..self.ranks()).map(node).collect(), f)
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
        self.run(|comm| {
            let rank = comm.rank();
            let group = format!("node{rank}");
            let redset = create(&comm, self.scheme, Some(group.as_bytes()), self.min_size)?;
            redset.apply(&self.originals(rank), &self.name(rank))
        })
    }

    fn recover(&self) -> Vec<Result<()>> {
        self.run(|comm| {
            let name = self.name(comm.rank());
            recover(&comm, &name)?.1
        })
    }

    fn verify(&self) -> Vec<Result<()>> {
        self.run(|comm| {
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
    path.to_string_lossy().contains(".redset")
}

fn schemes(ranks: usize) -> Vec<Scheme> {
    let partner = (1..ranks).map(|replicas| Scheme::Copies { replicas });
    let rs = (1..ranks).map(|k| Scheme::ReedSolomon { k });
    partner.chain([Scheme::Xor]).chain(rs).collect()
}

/// A job and the ranks that it loses: none, or some, or just more than its scheme tolerates.
fn job() -> impl Strategy<Value = (Job, Vec<usize>)> {
    let sizes = prop::collection::vec(prop::collection::vec(0usize..3000, 1..4), 2..13);
    let picks = prop::collection::vec(any::<prop::sample::Index>(), 0..13);
    let scheme = any::<prop::sample::Index>();
    (sizes, scheme, picks, any::<bool>()).prop_map(|(sizes, scheme, picks, apart)| {
        let ranks = sizes.len();
        let schemes = schemes(ranks);
        let scheme = schemes[scheme.index(schemes.len())];
        let picks = picks.iter().take(scheme.copies() + 1);
        let mut lost: Vec<_> = picks.map(|pick| pick.index(ranks)).collect();
        lost.sort_unstable();
        lost.dedup();
        (Job::new(scheme, ranks, sizes).apart(apart), lost)
    })
}

#[test]
fn a_file_that_is_given_twice_is_protected_once() {
    let job = Job::new(Scheme::Xor, 3, vec![vec![1000]; 3]);
    let applied = job.run(|comm| {
        let rank = comm.rank();
        let group = format!("node{rank}");
        let redset = create(&comm, job.scheme, Some(group.as_bytes()), job.min_size)?;
        let files = job.originals(rank);
        redset.apply(&[&files[..], &files].concat(), &job.name(rank))
    });
    all_ok(applied);
    let before = job.files();
    job.lose(|rank, path| rank == 1 && !is_redundancy(path));
    all_ok(job.recover());
    assert_eq!(job.files(), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(150)))]

    #[test]
    fn every_loss_within_tolerance_is_rebuilt_and_every_other_changes_nothing((job, lost) in job()) {
        all_ok(job.apply());
        let before = job.files();
        job.lose(|rank, _| lost.contains(&rank));
        let left = job.files();
        let verdicts = job.recover();
        if job.scheme.tolerates(job.ranks(), &lost) {
            all_ok(verdicts);
            prop_assert!(job.files() == before);
            all_ok(job.verify());
        } else {
            all_fail(&verdicts);
            prop_assert!(job.files() == left);
        }
    }
}

/// Files in memory get huge pages, at the seams of which ranks write side by side.
#[test]
fn files_of_several_huge_pages_are_rebuilt() {
    let huge = crate::pages::HUGE_PAGE;
    let sizes = vec![
        vec![3 * huge + 4321, 100],
        vec![2 * huge, huge + 1],
        vec![5 * huge - 1],
        vec![0, 4 * huge],
    ];
    let schemes = [
        Scheme::Copies { replicas: 2 },
        Scheme::Xor,
        Scheme::ReedSolomon { k: 2 },
    ];
    for (scheme, apart) in schemes.into_iter().flat_map(|s| [(s, false), (s, true)]) {
        let job = Job::new(scheme, 4, sizes.clone()).apart(apart);
        let originals = job.files();
        all_ok(job.apply());
        let before = job.files();
        assert!(originals.iter().all(|(path, bytes)| before[path] == *bytes));
        let tolerated = scheme.copies();
        for first in [0, 3] {
            job.lose(|rank, _| (0..tolerated).any(|next| rank == (first + next) % 4));
            all_ok(job.recover());
            assert!(job.files() == before);
        }
        all_ok(job.verify());
    }
}

/// Upstream rebuilds a header from the right neighbour's and leaves in it what it does not know.
#[test]
fn the_checksums_of_a_neighbour_do_not_count() {
    let redundancy = |job: &Job, rank: usize| {
        let mut paths = job.files_of(rank).into_keys();
        paths
            .find(|path| path.to_string_lossy().contains(".mem_"))
            .unwrap()
    };
    let read = |path: &Path| {
        let mut tree = kvtree::Tree::new();
        let fd = storage::file::open_read(path).unwrap();
        let length = kvtree::file::read_fd(path, fd, tree.edit()).unwrap();
        (tree, fs::read(path).unwrap().split_off(length as usize))
    };
    for scheme in [
        Scheme::Xor,
        Scheme::ReedSolomon { k: 1 },
        Scheme::Copies { replicas: 1 },
    ] {
        let job = Job::new(scheme, 4, vec![vec![1000, 20]; 4]);
        all_ok(job.apply());
        let before = job.files();
        let (mut header, payload) = read(&redundancy(&job, 0));
        let (neighbours, _) = read(&redundancy(&job, 1));
        let (own, other) = (header.view().get(c"CRC32"), neighbours.view().get(c"CRC32"));
        assert!(own.is_some() && other.is_some());
        let mut copy = kvtree::Tree::new();
        copy.edit().merge(other.unwrap()).unwrap();
        header.edit().set(c"CRC32", Some(copy));
        let mut bytes = kvtree::file::persisted(header.view()).unwrap();
        bytes.extend(payload);
        fs::write(redundancy(&job, 0), bytes).unwrap();
        all_ok(job.verify());
        job.lose(|rank, _| rank == 1);
        all_ok(job.recover());
        let originals = |files: &Files| {
            files
                .clone()
                .into_iter()
                .filter(|(path, _)| !is_redundancy(path))
                .collect::<Files>()
        };
        assert!(originals(&job.files()) == originals(&before));
    }
}

#[test]
fn a_damaged_file_beside_a_lost_one_is_mended_too() {
    for apart in [false, true] {
        for scheme in schemes(3) {
            let job = Job::new(scheme, 3, vec![vec![500, 600, 30]; 3]).apart(apart);
            all_ok(job.apply());
            let before = job.files();
            let files = job.originals(1);
            fs::remove_file(&files[0]).unwrap();
            fs::write(&files[1], [9; 600]).unwrap();
            all_fail(&job.verify());
            all_ok(job.recover());
            assert!(job.files() == before, "{scheme:?}");
        }
    }
}

/// Flips a bit of one file; all files of all ranks are one stream of bytes here.
fn flip(job: &Job, at: prop::sample::Index) -> PathBuf {
    let files = job.files();
    let total = files.values().map(Vec::len).sum();
    let mut at = at.index(total);
    for (path, mut bytes) in files {
        if at < bytes.len() {
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, bytes).unwrap();
            return path;
        }
        at -= bytes.len();
    }
    unreachable!("the index lies in one of the files")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(100)))]

    #[test]
    fn a_flipped_bit_is_mended_or_reported_and_never_believed(
        (job, lost) in job(),
        at in any::<prop::sample::Index>(),
    ) {
        all_ok(job.apply());
        let before = job.files();
        job.lose(|rank, _| lost.contains(&rank));
        if job.files().values().all(Vec::is_empty) {
            return Ok(());
        }
        let flipped = flip(&job, at);
        all_fail(&job.verify());
        let left = job.files();
        let verdicts = job.recover();
        if verdicts.iter().all(Result::is_ok) {
            let mut after = job.files();
            if after != before {
                // Redundancy that was not needed was not read.
                prop_assert!(!lost.is_empty() && is_redundancy(&flipped));
                all_fail(&job.verify());
                after.insert(flipped.clone(), before[&flipped].clone());
                prop_assert!(after == before);
            }
        } else {
            all_fail(&verdicts);
            prop_assert!(job.files() == left);
        }
    }
}

#[test]
fn with_nothing_lost_every_flipped_bit_is_mended() {
    let sizes = vec![vec![700, 0, 33], vec![900], vec![1]];
    for scheme in [
        Scheme::Xor,
        Scheme::Copies { replicas: 1 },
        Scheme::ReedSolomon { k: 1 },
    ] {
        let job = Job::new(scheme, 3, sizes.clone()).apart(scheme == Scheme::Xor);
        all_ok(job.apply());
        let before = job.files();
        for (path, bytes) in &before {
            for at in (0..bytes.len()).step_by(37) {
                let mut wrong = bytes.clone();
                wrong[at] ^= 0x10;
                fs::write(path, wrong).unwrap();
                all_ok(job.recover());
                assert!(job.files() == before, "{scheme:?} {path:?} {at}");
            }
        }
    }
}

#[test]
fn what_is_damaged_beyond_repair_is_named() {
    for apart in [false, true] {
        let job = Job::new(Scheme::Xor, 3, vec![vec![100], vec![100], vec![100]]).apart(apart);
        all_ok(job.apply());
        damage_beyond_repair(&job);
    }
}

fn damage_beyond_repair(job: &Job) {
    job.lose(|rank, path| rank == 0 && !is_redundancy(path));
    let damaged = &job.originals(2)[0];
    fs::write(damaged, [7; 100]).unwrap();
    for verdict in job.recover() {
        let text = verdict.unwrap_err().to_string();
        assert!(
            text.contains(&job.originals(0)[0].display().to_string()),
            "{text}"
        );
        let named = match job.apart {
            true => "rank 2 on node2: ",
            false => "rank 2: ",
        };
        assert!(text.contains(named), "{text}");
        assert!(text.contains(&damaged.display().to_string()), "{text}");
    }
}

#[test]
fn only_what_is_lost_is_written() {
    let sizes = vec![vec![500, 600], vec![700, 10], vec![300, 0]];
    for scheme in [
        Scheme::Xor,
        Scheme::Copies { replicas: 2 },
        Scheme::ReedSolomon { k: 2 },
    ] {
        let job = Job::new(scheme, 3, sizes.clone());
        all_ok(job.apply());
        let before = job.files();
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        let lost = &job.originals(1)[0];
        let inodes: BTreeMap<_, _> = before.keys().map(|path| (path, inode(path))).collect();
        let mut attributes = fs::metadata(lost).unwrap().permissions();
        attributes.set_mode(0o640);
        fs::set_permissions(lost, attributes).unwrap();
        all_ok(job.apply());
        let old = fs::metadata(lost).unwrap();
        fs::remove_file(lost).unwrap();
        all_ok(job.recover());
        let new = fs::metadata(lost).unwrap();
        assert_eq!(new.mode(), old.mode());
        assert_eq!(
            (new.mtime(), new.mtime_nsec()),
            (old.mtime(), old.mtime_nsec())
        );
        for (path, inode_before) in &inodes {
            let kept = is_redundancy(path) || *path == lost || inode(path) == *inode_before;
            assert!(kept, "{scheme:?} {path:?}");
        }
    }
}

#[test]
fn unapply_removes_what_apply_wrote_and_nothing_else() {
    let job = Job::new(Scheme::Xor, 2, vec![vec![100], vec![200, 3]]);
    let before = job.files();
    all_ok(job.apply());
    assert!(job.files() != before);
    all_ok(job.run(|comm| {
        let name = job.name(comm.rank());
        let (redset, recovered) = recover(&comm, &name)?;
        recovered?;
        assert_eq!(redset.original_files(&name)?, job.originals(comm.rank()));
        assert!(
            redset
                .redundancy_files(&name)?
                .iter()
                .all(|file| file.exists())
        );
        redset.unapply(&name)
    }));
    assert!(job.files() == before);
    all_fail(&job.recover());
}

#[test]
fn a_set_that_is_too_small_is_refused_on_all_ranks() {
    for (scheme, ranks) in [
        (Scheme::Xor, 1),
        (Scheme::Copies { replicas: 3 }, 3),
        (Scheme::Copies { replicas: 0 }, 3),
        (Scheme::ReedSolomon { k: 4 }, 4),
        (Scheme::ReedSolomon { k: 0 }, 4),
    ] {
        all_fail(&Job::new(scheme, ranks, vec![vec![1]; ranks]).apply());
    }
}

#[test]
fn ranks_of_one_failure_group_are_in_different_sets() {
    let places = run(12, |comm| {
        let group = format!("node{}", comm.rank() / 3);
        let redset = create(&comm, Scheme::Xor, Some(group.as_bytes()), 2).unwrap();
        let set = redset.set().unwrap();
        let own = redset.descriptor().unwrap();
        assert_eq!(set.map[own.rank], comm.rank());
        assert_eq!(set.left.world_rank, set.map[own.left(1)]);
        assert_eq!(set.right.world_rank, set.map[own.right(1)]);
        (own.group, own.groups, own.ranks, set.map.clone())
    });
    for (group, groups, ranks, map) in places {
        assert_eq!((groups, ranks), (6, 2));
        assert!(group < 6);
        assert_ne!(map[0] / 3, map[1] / 3);
    }
}

/// Other libraries rebuild a file with more in its header than they had written there at first, and with
/// the checksums of a neighbour.
#[test]
fn a_header_of_another_length_does_not_move_the_redundancy() {
    let job = Job::new(Scheme::Xor, 3, vec![vec![300], vec![200], vec![100]]);
    all_ok(job.apply());
    let before = job.files();
    let paths: Vec<_> = before
        .keys()
        .filter(|p| p.to_string_lossy().contains(".xor."))
        .collect();
    let (mut header, length) = header::Header::read(paths[0]).unwrap().unwrap();
    let (neighbour, _) = header::Header::read(paths[1]).unwrap().unwrap();
    header.infos.extend(neighbour.infos);
    header.checksums = neighbour.checksums;
    let mut bytes = header.to_bytes().unwrap();
    bytes.extend(&before[paths[0]][length as usize..]);
    fs::write(paths[0], bytes).unwrap();
    all_ok(job.recover());
    assert!(job.files() == before);
}

/// The checksum of a header is right, but what it says would be endless.
#[test]
fn a_header_that_names_absurd_chunks_is_refused_on_all_ranks() {
    let job = Job::new(Scheme::Xor, 3, vec![vec![300], vec![200], vec![100]]);
    all_ok(job.apply());
    for (path, bytes) in job.files() {
        if !path.to_string_lossy().contains(".xor.") {
            continue;
        }
        let (mut header, length) = header::Header::read(&path).unwrap().unwrap();
        header.stripes.as_mut().unwrap().chunk = u64::MAX - 1;
        let mut changed = header.to_bytes().unwrap();
        changed.extend(&bytes[length as usize..]);
        fs::write(path, changed).unwrap();
    }
    let before = job.files();
    all_fail(&job.recover());
    assert!(job.files() == before);
}

/// Ranks that lost their files but not their redundancy, more than the scheme promises to survive.
#[test]
fn more_than_the_scheme_promises_is_rebuilt_only_on_demand() {
    let scheme = Scheme::Copies { replicas: 1 };
    let job = Job::new(scheme, 3, vec![vec![300], vec![200], vec![100]]);
    all_ok(job.apply());
    let before = job.files();
    job.lose(|rank, path| rank < 2 && !is_redundancy(path));
    let left = job.files();
    for verdict in job.recover() {
        assert!(verdict.unwrap_err().to_string().contains("SALVAGE"));
    }
    assert!(job.files() == left);
    all_ok(job.run(|comm| {
        let name = job.name(comm.rank());
        let (redset, formed) = recover::find_sets(grouping::duplicate(&comm)?, &name, Ok(()))?;
        formed?;
        let (descriptor, set) = redset.formed()?;
        let location = repair::Location::usual(&name, descriptor);
        let members = repair::SurveyedSet::survey(set, descriptor, &location)?;
        members.repair(Config::current().limits(1), true)?.commit()
    }));
    assert!(job.files() == before);
}

#[test]
fn a_worker_that_neither_gives_nor_gets_anything_is_counted() {
    let job = Job::new(Scheme::ReedSolomon { k: 3 }, 5, vec![vec![400]; 5]);
    all_ok(job.apply());
    let before = job.files();
    job.lose(|rank, path| (1..3).contains(&rank) && !is_redundancy(path));
    all_ok(job.recover());
    assert!(job.files() == before);
}

/// What the ranks of one node do with each other's files, in many blocks: the same as with messages.
#[test]
fn ranks_of_one_node_write_the_same_files_as_ranks_apart() {
    let sizes = vec![
        vec![1_500_000, 7],
        vec![900_001],
        vec![0, 1_200_000, 3],
        vec![5],
    ];
    for scheme in schemes(4) {
        let jobs = [false, true].map(|apart| {
            let job = Job::new(scheme, 4, sizes.clone()).apart(apart);
            all_ok(job.apply());
            let before = job.files();
            job.lose(|rank, _| rank == 2);
            all_ok(job.recover());
            assert!(job.files() == before, "{scheme:?} {apart}");
            job
        });
        let payloads = jobs.map(|job| payloads(&job));
        assert!(payloads[0] == payloads[1], "{scheme:?}");
    }
}

/// What lies behind the headers, which name directories and times.
fn payloads(job: &Job) -> Vec<Vec<u8>> {
    let files = job.files().into_iter();
    let redundancy = files.filter(|(path, _)| path.to_string_lossy().contains(".mem_"));
    let payload = |(path, bytes): (PathBuf, Vec<u8>)| {
        let (_, length) = header::Header::read(&path).unwrap().unwrap();
        bytes[length as usize..].to_vec()
    };
    redundancy.map(payload).collect()
}
