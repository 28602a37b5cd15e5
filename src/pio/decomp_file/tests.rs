use std::sync::Arc;

use super::super::error::EINVAL;
use super::super::format::tests::fake::{self, Disk, FAULT, FakeFile};
use super::super::{IoPlacement, IoSystem, Rearranger};
use super::*;
use crate::comm::local::{LocalComm, run};
use proptest::prelude::*;

fn system(comm: &LocalComm, base: i64) -> Arc<IoSystem<LocalComm>> {
    let tasks = (comm.size() as i64).min(2);
    let placement = IoPlacement {
        tasks,
        stride: 1,
        base: base % comm.size() as i64,
    };
    Arc::new(IoSystem::new(comm, placement, Rearranger::Box).unwrap())
}

fn about(title: Option<&CStr>) -> About {
    About {
        version: c"2.0.1".into(),
        title: title.map(CString::from),
        history: None,
        fortran: title.is_some(),
    }
}

/// Writes on some ranks, reads on the same.
fn round_trip(disk: &Disk, dims: &[u64], maps: &[Vec<i64>], parallel: bool) {
    let title = parallel.then_some(c"of a test");
    run(maps.len(), |comm| {
        let map = &maps[comm.rank()];
        let system = system(&comm, 1);
        let mut file = fake::file(&system, parallel, |t| FakeFile::create(disk, t));
        write(&mut file, dims, map, &about(title)).unwrap();
        file.close().unwrap();
        let mut file = fake::file(&system, parallel, |t| FakeFile::open(disk, t));
        let stored = read(&mut file, None).unwrap();
        assert_eq!(&stored.dims, dims);
        assert_eq!(&stored.map, map);
        assert_eq!(stored.about, about(title));
    });
}

#[test]
fn rows_are_taken_in_batches() {
    let of = |lengths: &[u64], longest| batches(lengths, longest).collect::<Vec<_>>();
    let batch = |ranks, entries| Batch { ranks, entries };
    assert_eq!(of(&[3, 2, 1], 3), [batch(0..3, 0..3)]);
    let ten = [1; 10];
    assert_eq!(of(&ten, 3), [batch(0..5, 0..3), batch(5..10, 0..3)]);
    let long = of(&[40, 2], 40);
    let entries = [0..16, 16..32, 32..40];
    let both = [0..1, 1..2].into_iter().flat_map(|ranks| {
        let ranks = move |entries| batch(ranks.clone(), entries);
        entries.clone().map(ranks)
    });
    assert_eq!(long, both.collect::<Vec<_>>());
    assert!(of(&[0, 0], 0).is_empty());
}

#[test]
fn large_arrays_have_large_numbers() {
    assert!(is_small(&[46340, 46340]) && !is_small(&[46341, 46341]));
    assert!(!is_small(&[u64::MAX, 2]));
    let disk = Disk::default();
    let far = 1 << 40;
    round_trip(&disk, &[1 << 30, 1 << 20], &[vec![far, 0], vec![1]], true);
}

#[test]
fn ranks_without_a_map_are_fine() {
    let disk = Disk::default();
    round_trip(&disk, &[3], &[vec![], vec![]], false);
    round_trip(&disk, &[3], &[vec![], vec![3, 1], vec![]], true);
}

/// SCORPIO and NCAR have different names for the version.
#[test]
fn files_of_the_other_library_are_read() {
    let disk = Disk::default();
    run(2, |comm| {
        let system = system(&comm, 0);
        let mut file = fake::file(&system, true, |t| FakeFile::create(&disk, t));
        write(&mut file, &[2], &[comm.rank() as i64 + 1], &about(None)).unwrap();
        let other = VERSIONS.into_iter().find(|name| *name != VERSION).unwrap();
        file.redef().unwrap();
        let renamed = file.ask(|format| format.rename_attribute(GLOBAL, VERSION, other));
        renamed.and_then(|()| file.enddef()).unwrap();
        assert_eq!(read(&mut file, None).unwrap().about, about(None));
    });
}

#[test]
fn another_number_of_ranks_is_an_error_on_all() {
    let disk = Disk::default();
    round_trip(&disk, &[6], &[vec![1, 2, 3], vec![4, 5, 6]], true);
    let ended = run(3, |comm| {
        let mut file = fake::file(&system(&comm, 0), true, |t| FakeFile::open(&disk, t));
        read(&mut file, None).unwrap_err().code()
    });
    assert_eq!(ended, [EINVAL; 3]);
}

/// A decomposition file of two ranks with another length for one of its parts, and how long it is said to be.
fn refused(dims: u64, task: u64, element: u64, bytes: Option<u64>) -> Vec<Option<i32>> {
    let disk = Disk::default();
    run(2, |comm| {
        let system = system(&comm, 0);
        let mut file = fake::file(&system, true, |t| FakeFile::create(&disk, t));
        file.ask(|format| {
            for (name, text) in [(VERSION, c"2.0.1"), (ORDER, c"C")] {
                put_text(format, name, text)?;
            }
            let dims = format.def_dim(DIMS, Some(dims))?;
            let task = format.def_dim(TASK, Some(task))?;
            let element = format.def_dim(ELEMENT, Some(element))?;
            format.def_var(GLOBAL_SIZE, Kind::Int, &[dims])?;
            format.def_var(MAP_LENGTH, Kind::Int, &[task])?;
            format.def_var(MAP, Kind::Int, &[task, element]).map(drop)
        })
        .unwrap();
        file.enddef().unwrap();
        put_ints(&mut file, 0, &vec![3; dims.min(3) as usize]).unwrap();
        put_ints(&mut file, 1, &[1, 1]).unwrap();
        let maps = region(&[0, 0], &[2, 1]);
        let data = [0_i32.to_ne_bytes(), 1_i32.to_ne_bytes()].concat();
        file.put(2, Kind::Int, &maps, &data).unwrap();
        read(&mut file, bytes).err().map(|error| error.code())
    })
}

#[test]
fn lengths_are_compared_with_the_file_before_they_are_used() {
    assert_eq!(refused(1, 2, 1, None), [None; 2]);
    assert_eq!(refused(1, 2, 1, Some(8)), [None; 2]);
    assert_eq!(refused(1, 2, 1, Some(7)), [Some(EINVAL); 2]);
    let huge = i32::MAX as u64;
    assert_eq!(refused(huge, 2, 1, None), [Some(EINVAL); 2]);
    assert_eq!(refused(1, huge, 1, None), [Some(EINVAL); 2]);
    assert_eq!(refused(1, 2, huge, Some(1 << 20)), [Some(EINVAL); 2]);
    assert_eq!(refused(1, 2, u64::MAX / 4, None), [Some(EINVAL); 2]);
}

#[test]
fn a_file_that_fails_at_any_call_is_an_error_on_all_ranks() {
    let maps = [(1..=40).collect(), vec![41], vec![]];
    let mut failed = 0;
    for call in 1.. {
        let disk = Disk::default();
        let ended = run(3, |comm| {
            let system = system(&comm, 0);
            let mut file = fake::file(&system, true, |t| {
                let mut memory = FakeFile::create(&disk, t);
                memory.failing = Some(call);
                memory
            });
            write(&mut file, &[41], &maps[comm.rank()], &about(None))?;
            read(&mut file, None)
        });
        let codes: Vec<_> = ended
            .iter()
            .map(|e| e.as_ref().err().map(Error::code))
            .collect();
        assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
        if codes[0].is_none() {
            break;
        }
        assert_eq!(codes[0], Some(FAULT));
        failed += 1;
    }
    assert!(failed > 20, "{failed}");
}

fn maps() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<i64>>)> {
    let dims = prop::collection::vec(1..9_u64, 1..4);
    dims.prop_flat_map(|dims| {
        let total = dims.iter().product::<u64>() as i64;
        let map = prop::collection::vec(0..=total, 0..50);
        (Just(dims), prop::collection::vec(map, 1..7))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn what_was_written_is_read((dims, maps) in maps(), parallel in any::<bool>()) {
        round_trip(&Disk::default(), &dims, &maps, parallel);
    }
}
