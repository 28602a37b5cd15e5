//! Gathered files of 1 to 16 ranks: written by threads, read back, damaged, and written under faults.

use super::super::model::hops::hops_one_way;
use super::super::model::{self, Model, number};
use super::*;

mod crashes;
mod generations;
mod hostile;

use crate::comm::PeerFailure;
use crate::comm::local::run;
use crate::storage::{Operation, faults, memory_dir};
use proptest::prelude::*;
use rustix::io::Errno;
use std::fs;

/// Three entries of a map fit: maps of more ranks need maps of their own.
const SMALL: u64 = 128;

struct Place {
    dir: tempfile::TempDir,
    prefix: PathBuf,
}

impl Place {
    fn new() -> Place {
        let dir = memory_dir();
        let prefix = dir.path().join("gather");
        Place { dir, prefix }
    }

    /// Writes the trees of as many ranks as are given.
    fn write(&self, data: &[Model], segment: u64) {
        run(data.len(), |comm| {
            let tree = data[comm.rank()].to_tree();
            write_segments(&comm, Some(&self.prefix), Some(tree.view()), segment).unwrap();
        });
    }

    fn read(&self, ranks: usize) -> Vec<Result<Model>> {
        run(ranks, |comm| {
            let mut tree = Tree::new();
            let outcome = read_scatter(&comm, Some(&self.prefix), Some(tree.edit()));
            assert!(outcome.is_ok() || tree.view().is_empty());
            outcome.map(|()| Model::of(tree.view()).sorted())
        })
    }

    /// Every rank gets its own tree, and one process gets all.
    fn assert_holds(&self, data: &[Model]) {
        let expected: Vec<Model> = data.iter().map(Model::sorted).collect();
        for (rank, found) in self.read(data.len()).into_iter().enumerate() {
            assert_eq!(found.unwrap(), expected[rank], "rank {rank}");
        }
        let all = self.read_single().unwrap();
        assert_eq!(all.0.len(), data.len());
        for (rank, expected) in expected.iter().enumerate() {
            assert_eq!(&all.get(&number(rank)).unwrap().sorted(), expected);
        }
    }

    fn read_single(&self) -> Result<Model> {
        let mut tree = Tree::new();
        read_scatter_single(&self.prefix, tree.edit())?;
        Ok(Model::of(tree.view()))
    }

    fn assert_unreadable(&self, ranks: usize) {
        assert!(self.read(ranks).iter().all(Result::is_err));
        assert!(self.read_single().is_err());
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn level(&self) -> i32 {
        let mut top = Tree::new();
        file::read_file(&self.prefix, top.edit()).unwrap();
        top.view().value_int(LEVEL).unwrap()
    }
}

/// Data of one rank, more than a small segment of it.
fn sample(rank: usize, version: &CStr) -> Model {
    let mut model = Model::default();
    model.child(c"version").child(version);
    for value in 0..20 {
        model.child(c"values").child(&number(100 * rank + value));
    }
    model
}

fn samples(ranks: usize, version: &CStr) -> Vec<Model> {
    (0..ranks).map(|rank| sample(rank, version)).collect()
}

#[test]
fn a_few_ranks_share_one_file() {
    for ranks in 1..=8 {
        let place = Place::new();
        let data = samples(ranks, c"1");
        place.write(&data, SEGMENT);
        assert_eq!(place.names(), ["gather", "gather.0.0"]);
        assert_eq!(place.level(), 1);
        place.assert_holds(&data);
    }
}

#[test]
fn many_small_segments_need_maps_of_maps() {
    for (ranks, levels) in [(1, 1), (3, 1), (4, 2), (8, 2), (9, 2), (16, 3)] {
        let place = Place::new();
        let data = samples(ranks, c"1");
        place.write(&data, SMALL);
        assert_eq!(place.level(), levels, "{ranks} ranks");
        let data_files = (0..ranks).map(|writer| format!("gather.0.{writer}"));
        assert!(
            data_files
                .into_iter()
                .all(|name| place.names().contains(&name))
        );
        place.assert_holds(&data);
    }
}

/// Data of exactly so many packed bytes.
fn sized(bytes: usize) -> Model {
    let key = CString::new(vec![b'x'; bytes - 9]).unwrap();
    let mut model = Model::default();
    model.child(&key);
    assert_eq!(model.packed().len(), bytes);
    model
}

#[test]
fn a_rank_whose_last_byte_is_the_last_of_a_segment_starts_none() {
    for (sizes, files) in [
        ([64, 64, 64], &["gather.0.0"][..]),
        ([64, 65, 63], &["gather.0.0", "gather.0.1"]),
        ([127, 65, 64], &["gather.0.0", "gather.0.1"]),
        ([128, 128, 129], &["gather.0.0", "gather.0.2"]),
        ([300, 10, 74], &["gather.0.0"]),
    ] {
        let place = Place::new();
        let data = sizes.map(sized);
        place.write(&data, SMALL);
        assert_eq!(place.names()[1..], *files, "{sizes:?}");
        place.assert_holds(&data);
    }
}

/// The public call, with data that really fills segments of 1 MiB.
#[test]
fn a_rank_that_crosses_a_segment_writes_for_those_behind_it() {
    let value = CString::new(vec![b'x'; SEGMENT as usize / 2]).unwrap();
    let data: Vec<Model> = (0..4)
        .map(|rank| {
            let mut model = sample(rank, c"1");
            model.child(c"large").child(&value);
            model
        })
        .collect();
    let place = Place::new();
    run(4, |comm| {
        let tree = data[comm.rank()].to_tree();
        write_gather(&comm, Some(&place.prefix), Some(tree.view())).unwrap();
    });
    assert_eq!(
        place.names(),
        ["gather", "gather.0.0", "gather.0.1", "gather.0.3"]
    );
    place.assert_holds(&data);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_was_written_is_read(
        data in proptest::collection::vec(model::model(), 1..9),
        segment in prop_oneof![SMALL..1000, Just(SEGMENT)],
    ) {
        let place = Place::new();
        place.write(&data, segment);
        place.assert_holds(&data);
    }

    #[test]
    fn one_process_writes_for_all(data in proptest::collection::vec(model::model(), 1..9)) {
        let place = Place::new();
        let mut all = Tree::new();
        for (rank, model) in data.iter().enumerate() {
            all.edit().set(&number(rank), Some(model.to_tree()));
        }
        write_to_gather(&place.prefix, &mut all.edit(), data.len() as i32).unwrap();
        place.assert_holds(&data);
    }
}

#[test]
fn reading_merges_into_what_is_there() {
    let place = Place::new();
    place.write(&samples(3, c"1"), SEGMENT);
    run(3, |comm| {
        let mut tree = Tree::new();
        tree.edit().child(c"version").child(c"0");
        read_scatter(&comm, Some(&place.prefix), Some(tree.edit())).unwrap();
        assert_eq!(tree.view().get(c"version").unwrap().list_int(), [0, 1]);
    });
}

#[test]
fn a_rank_may_have_nothing_to_write() {
    let place = Place::new();
    run(3, |comm| {
        write_gather(&comm, Some(&place.prefix), None).unwrap();
    });
    place.assert_holds(&vec![Model::default(); 3]);
}

/// Order ends up in files, and is that of the original library: each rank queues a copy, the queues
/// travel left in hops.
#[test]
fn files_have_the_order_of_the_hops() {
    for ranks in 1..=9 {
        let data = samples(ranks, c"1");
        let place = Place::new();
        place.write(&data, 3 * SMALL);
        let written = place.names().into_iter();
        let writers: Vec<usize> = written
            .filter_map(|name| name.strip_prefix("gather.0.")?.parse().ok())
            .collect();
        let queue = |(rank, message): (usize, &Model)| {
            let writer = writers.iter().filter(|&&writer| writer <= rank).max();
            let mut queue = Model::default();
            queue.child(&number(*writer.unwrap())).merge(message);
            queue
        };
        let queues: Vec<Model> = data.iter().enumerate().map(queue).collect();
        let mut received = vec![Model::default(); ranks];
        hops_one_way(Direction::Left, &queues, &mut received);
        for &writer in &writers {
            let mut expected = Model::default();
            expected.set(RANK, Some(received[writer].clone()));
            expected.child(LEVEL).child(c"0");
            expected.child(RANKS).child(&number(ranks));
            let mut found = Tree::new();
            let path = with_suffix(&place.prefix, &suffix(0, writer, 0));
            file::read_file(&path, found.edit()).unwrap();
            found.edit().unset(GENERATION);
            assert_eq!(Model::of(found.view()), expected, "{writer} of {ranks}");
        }
    }
}

// ---- failures -------------------------------------------------------------------------------

/// The outcomes of a write in which the calls of one rank fail as planned.
fn write_with_fault(
    place: &Place,
    data: &[Model],
    bad: usize,
    rule: faults::Rule,
) -> Vec<Result<()>> {
    run(data.len(), |comm| {
        let tree = data[comm.rank()].to_tree();
        let _plan = (comm.rank() == bad).then(|| faults::plan([rule]));
        write_segments(&comm, Some(&place.prefix), Some(tree.view()), SMALL)
    })
}

#[test]
fn a_full_disk_on_one_rank_fails_on_all_and_the_earlier_files_stay() {
    let old = samples(9, c"1");
    for operation in [Operation::Create, Operation::Write, Operation::Fsync] {
        for bad in [0, 4, 8] {
            let place = Place::new();
            place.write(&old, SMALL);
            let names = place.names();
            let rule = faults::fail(Errno::NOSPC).of(operation);
            let ended = write_with_fault(&place, &samples(9, c"2"), bad, rule);
            for (rank, outcome) in ended.into_iter().enumerate() {
                match outcome.unwrap_err() {
                    Error::Peer(PeerFailure { who, .. }) => assert!(who.rank == bad && rank != bad),
                    error => assert!(matches!(error, Error::Storage(_)) && rank == bad),
                }
            }
            place.assert_holds(&old);
            assert_eq!(place.names(), names);
        }
    }
}

#[test]
fn a_failed_rename_on_one_rank_is_known_to_all() {
    for bad in [0, 4, 8] {
        let place = Place::new();
        let rule = faults::fail(Errno::IO).of(Operation::Rename);
        let ended = write_with_fault(&place, &samples(9, c"1"), bad, rule);
        assert!(ended.iter().all(Result::is_err));
        // The top map comes last: without it nothing is found.
        assert!(!place.prefix.exists());
    }
}

#[test]
fn a_rank_without_a_prefix_or_a_tree_fails_on_all() {
    let place = Place::new();
    let data = samples(3, c"1");
    let ended = run(3, |comm| {
        let tree = data[comm.rank()].to_tree();
        let prefix = Some(&*place.prefix).filter(|_| comm.rank() != 1);
        write_gather(&comm, prefix, Some(tree.view()))
    });
    assert!(ended.iter().all(Result::is_err));
    assert!(place.names().is_empty());

    place.write(&data, SEGMENT);
    let ended = run(3, |comm| {
        let mut tree = Tree::new();
        let into = (comm.rank() != 1).then(|| tree.edit());
        read_scatter(&comm, Some(&place.prefix), into)
    });
    assert!(ended.iter().all(Result::is_err));
}

#[test]
fn other_numbers_of_ranks_cannot_read() {
    let place = Place::new();
    place.write(&samples(4, c"1"), SEGMENT);
    for ranks in [1, 3, 5, 8] {
        assert!(place.read(ranks).iter().all(Result::is_err), "{ranks}");
    }
}

#[test]
fn a_damaged_part_fails_on_all() {
    let damages: [fn(&Path); 4] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, &fs::read(path).unwrap()[..30]).unwrap(),
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[25] ^= 1;
            fs::write(path, bytes).unwrap();
        },
        |path| fs::write(path, b"").unwrap(),
    ];
    let place = Place::new();
    place.write(&samples(9, c"1"), SMALL);
    assert_eq!(place.level(), 2);
    for name in place.names() {
        let path = place.dir.path().join(&name);
        let good = fs::read(&path).unwrap();
        for damage in damages {
            damage(&path);
            place.assert_unreadable(9);
            fs::write(&path, &good).unwrap();
        }
    }
    place.assert_holds(&samples(9, c"1"));
}

/// Rewrites a file of the set with its checksum right and its content wrong.
fn tamper(place: &Place, suffix: &CStr, change: impl FnOnce(&mut TreeMut)) {
    let path = with_suffix(&place.prefix, suffix);
    let mut tree = Tree::new();
    file::read_file(&path, tree.edit()).unwrap();
    change(&mut tree.edit());
    file::write_file(&path, tree.view()).unwrap();
}

#[test]
fn maps_that_make_no_sense_are_errors() {
    let changes: [fn(&mut TreeMut); 6] = [
        |map| map.unset(LEVEL),
        |map| map.set_int(LEVEL, 0),
        |map| map.set_int(LEVEL, -1),
        // Leads to itself.
        |map| {
            let mut entry = map.child(RANK).into_child(c"0");
            entry.set_str(FILE, c"");
        },
        |map| map.child(RANK).child(c"0").unset(FILE),
        |map| {
            map.child(RANK).child(c"99");
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let place = Place::new();
        place.write(&samples(4, c"1"), SMALL);
        tamper(&place, c"", change);
        let ended = place.read(4);
        assert!(ended.iter().all(Result::is_err), "change {number}");
    }
}

#[test]
fn a_data_file_of_other_ranks_is_an_error() {
    let place = Place::new();
    place.write(&samples(4, c"1"), SMALL);
    tamper(&place, c".0.2", |content| content.set_int(RANKS, 5));
    assert!(place.read(4).iter().all(Result::is_err));
}
