//! Random decompositions on threads, compared with a model that gathers everything in one place.

mod reads;

use super::*;
use crate::comm::local::{LocalComm, run};
use crate::pio::{Decomp, DecompSpec, IoPlacement, Kind, Outside, Rearranger};
use proptest::prelude::*;
use reads::{Collected, Reads};

/// A decomposition of all ranks.
#[derive(Clone, Debug)]
struct Case {
    ranks: usize,
    placement: IoPlacement,
    dims: Vec<u64>,
    maps: Vec<Vec<i64>>,
    rearranger: Rearranger,
    kind: Kind,
    block_size: u64,
    read_only: bool,
}

/// How elements are dealt out to ranks.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    Blocks,
    Stripes,
    Random,
}

fn deal(
    total: u64,
    ranks: usize,
    pattern: Pattern,
    seed: u64,
    holes: bool,
    disorder: bool,
) -> Vec<Vec<i64>> {
    let mix = |n: u64| {
        (n + 1)
            .wrapping_mul(seed | 1)
            .rotate_left(23)
            .wrapping_mul(0x9e37_79b9)
    };
    let mut maps = vec![Vec::new(); ranks];
    for element in 0..total {
        let rank = match pattern {
            Pattern::Blocks => (element * ranks as u64 / total) as usize,
            Pattern::Stripes => element as usize % ranks,
            Pattern::Random => (mix(element) >> 40) as usize % ranks,
        };
        let hole = holes && mix(element) % 5 == 0;
        if hole && mix(element) % 2 == 0 {
            continue;
        }
        maps[rank].push(if hole { 0 } else { element as i64 + 1 });
    }
    if disorder {
        for map in &mut maps {
            map.sort_by_key(|entry| mix(*entry as u64));
        }
    }
    maps
}

fn cases() -> impl Strategy<Value = Case> {
    let shape = (1..7usize, prop::collection::vec(1..6u64, 1..8));
    let pattern = prop_oneof![
        Just(Pattern::Blocks),
        Just(Pattern::Stripes),
        Just(Pattern::Random)
    ];
    let choice = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        0..64u64,
    );
    let kind = prop::sample::select(vec![Kind::Byte, Kind::Short, Kind::Int, Kind::Double]);
    let place = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
    );
    (shape, pattern, choice, kind, place, any::<u64>()).prop_map(
        |(
            (ranks, dims),
            pattern,
            (holes, disorder, read_only, subset, block_size),
            kind,
            place,
            seed,
        )| {
            let tasks = 1 + place.0.index(ranks);
            let total = dims.iter().product();
            let mut maps = deal(total, ranks, pattern, seed, holes, disorder);
            if read_only {
                let shared = maps[0].clone();
                maps.iter_mut().for_each(|map| map.extend(&shared));
            }
            Case {
                ranks,
                placement: IoPlacement {
                    tasks: tasks as i64,
                    stride: 1 + place.1.index(ranks / tasks) as i64,
                    base: place.2.index(ranks) as i64,
                },
                dims,
                maps,
                rearranger: if subset {
                    Rearranger::Subset
                } else {
                    Rearranger::Box
                },
                kind,
                block_size,
                read_only,
            }
        },
    )
}

impl Case {
    fn system(&self, comm: &LocalComm) -> IoSystem<LocalComm> {
        IoSystem::new(comm, self.placement, self.rearranger).unwrap()
    }

    fn spec(&self) -> DecompSpec {
        DecompSpec {
            read_only: self.read_only,
            block_size: self.block_size,
            ..DecompSpec::new(self.kind, self.dims.clone(), self.rearranger)
        }
    }

    fn total(&self) -> u64 {
        self.dims.iter().product()
    }

    /// What an element of the global array is.
    fn value(&self, element: u64) -> Vec<u8> {
        let value = (element + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        value.to_le_bytes()[8 - self.kind.size()..].to_vec()
    }

    fn array(&self, rank: usize, hole: u8) -> Vec<u8> {
        let size = self.kind.size();
        let value = |entry: &i64| match *entry {
            0 => vec![hole; size],
            entry => self.value(entry as u64 - 1),
        };
        self.maps[rank].iter().flat_map(value).collect()
    }

    fn holds(&self, element: u64) -> bool {
        self.maps
            .iter()
            .flatten()
            .any(|entry| *entry == element as i64 + 1)
    }

    /// Elements of regions in their order.
    fn elements(&self, regions: &crate::pio::Hyperslabs) -> Vec<u64> {
        let mut found = Vec::new();
        for (start, count) in regions.iter() {
            for place in 0..count.iter().product::<u64>() {
                let (mut rest, mut at) = (place, vec![0; count.len()]);
                for (at, (start, count)) in at.iter_mut().zip(start.iter().zip(count)).rev() {
                    (*at, rest) = (start + rest % count, rest / count);
                }
                found.push(
                    self.dims
                        .iter()
                        .zip(at)
                        .fold(0, |e, (length, at)| e * length + at),
                );
            }
        }
        found
    }
}

/// What a rank saw: elements held, written and read by its I/O task, and the buffers.
struct Seen {
    held: Vec<u64>,
    written: Vec<u64>,
    buffer: Vec<u8>,
    held_buffer: Vec<u8>,
    back: [Vec<u8>; 2],
    map: Vec<i64>,
    group: Vec<usize>,
}

const FILL: u8 = 0xf1;
const UNTOUCHED: u8 = 0x33;

fn move_about(case: &Case, comm: LocalComm) -> Seen {
    let system = case.system(&comm);
    let (rank, size) = (comm.rank(), case.kind.size());
    let decomp = Decomp::new(&system, &case.spec(), &case.maps[rank]).unwrap();
    let plan = &decomp.plan;
    let fill = vec![FILL; size];
    let packed = pack(&system, plan, size, &case.array(rank, 9)).unwrap();
    // Buffers are used again: what is left in them must not be seen.
    let collect = |fill: &[u8]| collect(&system, plan, size, &packed, fill).unwrap();
    drop(collect(&vec![0xee; size]));
    let buffer = collect(&fill);
    for piece in [1, 3, 8, u64::MAX] {
        let mut collected = Collected::new((buffer.len() / size) as u64, piece);
        collect_pieces(&system, plan, size, &packed, &fill, &mut collected).unwrap();
        assert_eq!(collected.bytes, *buffer);
    }
    let held_buffer = to_io(&system, plan, size, &packed, &fill).unwrap();
    let read = case
        .elements(plan.read())
        .into_iter()
        .flat_map(|e| case.value(e));
    let read: Vec<u8> = read.collect();
    let mut back = [(); 2].map(|()| vec![UNTOUCHED; case.maps[rank].len() * size]);
    let reads = Reads::new(&system, plan, size);
    reads.as_a_whole(&read, &mut back[0]).unwrap();
    to_compute(&system, plan, size, &held_buffer, &mut back[1]).unwrap();
    let mut again = vec![UNTOUCHED; back[0].len()];
    reads.in_pieces(&read, &mut again).unwrap();
    assert_eq!(again, back[0]);
    let task = system.groups.task_of(rank);
    Seen {
        held: case.elements(&plan.held().unwrap()),
        written: case.elements(plan.written()),
        buffer: buffer.to_vec(),
        held_buffer: held_buffer.to_vec(),
        back,
        map: decomp.map().unwrap(),
        group: system.groups.members(task),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(150)))]

    #[test]
    fn data_come_to_the_file_and_back(case in cases()) {
        let seen = run(case.ranks, |comm| move_about(&case, comm));
        let size = case.kind.size();
        let mut times_written = vec![0; case.total() as usize];
        for (rank, seen) in seen.iter().enumerate() {
            prop_assert_eq!(&seen.map, &case.maps[rank]);
            for back in &seen.back {
                prop_assert_eq!(back, &case.array(rank, UNTOUCHED));
            }
            let expected = |element: &u64| match case.holds(*element) {
                true => case.value(*element),
                false => vec![FILL; size],
            };
            let written: Vec<u8> = seen.written.iter().flat_map(expected).collect();
            prop_assert_eq!(&seen.buffer, &written);
            let held: Vec<u8> = seen.held.iter().flat_map(expected).collect();
            prop_assert_eq!(&seen.held_buffer, &held);
            for element in &seen.written {
                times_written[*element as usize] += 1;
            }
            if case.rearranger == Rearranger::Subset && !seen.held.is_empty() {
                let group = seen.group.iter().flat_map(|member| &case.maps[*member]);
                let group: std::collections::HashSet<i64> = group.copied().collect();
                prop_assert!(seen.held.iter().all(|e| group.contains(&(*e as i64 + 1))));
                prop_assert!(seen.held.is_sorted());
            }
        }
        // Everything is written once; what only is read need not be.
        if !case.read_only {
            prop_assert!(times_written.iter().all(|times| *times == 1), "{:?}", times_written);
        }
    }

    #[test]
    fn given_regions_are_honoured(rows in 1..9u64, columns in 1..9u64, tasks in 1..5usize, seed in any::<u64>()) {
        let ranks = tasks + 2;
        let dims = vec![rows, columns];
        let maps = deal(rows * columns, ranks, Pattern::Random, seed, false, true);
        let case = Case {
            ranks, dims, maps,
            placement: IoPlacement { tasks: tasks as i64, stride: 1, base: 1 },
            rearranger: Rearranger::Box,
            kind: Kind::Int,
            block_size: 1,
            read_only: false,
        };
        let region = |task: usize| {
            let cut = |task: usize| columns * task as u64 / tasks as u64;
            ([0, cut(task)], [rows, cut(task + 1) - cut(task)])
        };
        let ended = run(ranks, |comm| {
            let system = case.system(&comm);
            let mut spec = case.spec();
            let (start, count) = region(system.io_rank().unwrap_or(0));
            spec.io_region = Some((start.to_vec(), count.to_vec()));
            let plan = Decomp::new(&system, &spec, &case.maps[comm.rank()]).unwrap().plan;
            let packed = pack(&system, &plan, 4, &case.array(comm.rank(), 0)).unwrap();
            let held = collect(&system, &plan, 4, &packed, &[0; 4]).unwrap();
            let mut back = vec![0; case.maps[comm.rank()].len() * 4];
            Reads::new(&system, &plan, 4).as_a_whole(&held, &mut back).unwrap();
            (case.elements(&plan.held().unwrap()), held.to_vec(), back, system.io_rank())
        });
        for (rank, (elements, held, back, task)) in ended.into_iter().enumerate() {
            prop_assert_eq!(back, case.array(rank, 0));
            let values: Vec<u8> = elements.iter().flat_map(|e| case.value(*e)).collect();
            prop_assert_eq!(held, values);
            let length = task.map_or(0, |task| region(task).1.iter().product::<u64>());
            prop_assert_eq!(elements.len() as u64, length);
        }
    }
}

fn example(rearranger: Rearranger) -> Vec<Vec<u64>> {
    let maps = [
        [0, 4, 8, 12],
        [16, 1, 5, 9],
        [13, 17, 2, 6],
        [10, 14, 18, 3],
        [7, 11, 15, 19],
    ];
    let case = Case {
        ranks: 5,
        placement: IoPlacement {
            tasks: 2,
            stride: 2,
            base: 0,
        },
        dims: vec![4, 5],
        maps: maps.map(|map| map.map(|e| e + 1).to_vec()).to_vec(),
        rearranger,
        kind: Kind::Int,
        block_size: 8,
        read_only: false,
    };
    let seen = run(5, |comm| move_about(&case, comm));
    [0, 2].map(|rank| seen[rank].held.clone()).to_vec()
}

#[test]
fn the_example_of_the_documentation() {
    let blocks: [Vec<u64>; 2] = [(0..10).collect(), (10..20).collect()];
    assert_eq!(example(Rearranger::Box), blocks);
    let subsets = [
        vec![0, 1, 4, 5, 8, 9, 12, 16],
        vec![2, 3, 6, 7, 10, 11, 13, 14, 15, 17, 18, 19],
    ];
    assert_eq!(example(Rearranger::Subset), subsets);
}

fn verdicts(maps: Vec<Vec<i64>>, rearranger: Rearranger, strict: bool) -> Vec<Result<()>> {
    let case = Case {
        ranks: maps.len(),
        placement: IoPlacement {
            tasks: 2,
            stride: 1,
            base: 0,
        },
        dims: vec![10],
        maps,
        rearranger,
        kind: Kind::Int,
        block_size: 1,
        read_only: false,
    };
    run(case.ranks, |comm| {
        let system = case.system(&comm);
        let spec = DecompSpec {
            strict,
            ..case.spec()
        };
        Decomp::new(&system, &spec, &case.maps[comm.rank()]).map(drop)
    })
}

#[test]
fn wrong_maps_are_errors_on_all_ranks() {
    let outside = vec![vec![1, 2], vec![3], vec![570]];
    let twice = vec![vec![1, 2], vec![3], vec![2]];
    for (maps, rearranger, strict) in [
        (outside.clone(), Rearranger::Box, false),
        (outside, Rearranger::Subset, false),
        (twice.clone(), Rearranger::Box, false),
        (twice.clone(), Rearranger::Subset, true),
    ] {
        for verdict in verdicts(maps, rearranger, strict) {
            assert_eq!(verdict.unwrap_err().code(), -36);
        }
    }
    assert!(
        verdicts(twice, Rearranger::Subset, false)
            .iter()
            .all(Result::is_ok)
    );
}

/// The maps that become of these, of an array of 10 elements.
fn kept(maps: &[Vec<i64>], rearranger: Rearranger, outside: Outside) -> Vec<Vec<i64>> {
    run(maps.len(), |comm| {
        let placement = IoPlacement {
            tasks: 2,
            stride: 1,
            base: 0,
        };
        let system = IoSystem::new(&comm, placement, rearranger).unwrap();
        let spec = |outside| DecompSpec {
            strict: true,
            outside,
            ..DecompSpec::new(Kind::Int, vec![10], rearranger)
        };
        let map = &maps[comm.rank()];
        let kept = Decomp::new(&system, &spec(outside), map).unwrap();
        // The cached plan is not used for a stricter decomposition.
        let refused = Decomp::new(&system, &spec(Outside::Refused), map).map(drop);
        assert_eq!(refused.unwrap_err().code(), -36);
        kept.map().unwrap()
    })
}

#[test]
fn entries_outside_are_what_was_asked_for() {
    let asked = [vec![1, 570, 2], vec![-3, 0, 4], vec![11, i64::MIN, 10]];
    let holes: [Vec<i64>; 3] = [vec![1, 0, 2], vec![0, 0, 4], vec![0, 0, 10]];
    let beyond = [vec![1, 573, 2], vec![0, 0, 4], vec![15, 10]];
    let wrapped: [Vec<i64>; 3] = [vec![1, 3, 2], vec![0, 0, 4], vec![5, 10]];
    for rearranger in [Rearranger::Box, Rearranger::Subset] {
        assert_eq!(kept(&asked, rearranger, Outside::Hole), holes);
        assert_eq!(kept(&beyond, rearranger, Outside::Wrapped), wrapped);
    }
}

#[test]
fn the_same_decomposition_shares_its_plan() {
    let maps = deal(60, 4, Pattern::Random, 5, true, true);
    let other = deal(60, 4, Pattern::Random, 6, true, true);
    let mut case = Case {
        ranks: 4,
        placement: IoPlacement {
            tasks: 2,
            stride: 2,
            base: 0,
        },
        dims: vec![60],
        maps,
        rearranger: Rearranger::Box,
        kind: Kind::Int,
        block_size: 1,
        read_only: false,
    };
    case.rearranger = Rearranger::Subset;
    run(4, |comm| {
        let system = case.system(&comm);
        let rank = comm.rank();
        let first = Decomp::new(&system, &case.spec(), &case.maps[rank]).unwrap();
        let again = Decomp::new(&system, &case.spec(), &case.maps[rank]).unwrap();
        assert!(Arc::ptr_eq(&first.plan, &again.plan));
        // One rank differs: all make a new plan.
        let map = if rank == 2 {
            &other[2]
        } else {
            &case.maps[rank]
        };
        let changed = Decomp::new(&system, &case.spec(), map).unwrap();
        assert!(!Arc::ptr_eq(&first.plan, &changed.plan));
        assert_eq!(changed.map().unwrap(), *map);
    });
}

#[test]
fn a_large_plan_goes_with_its_last_decomposition() {
    let case = Case {
        ranks: 2,
        placement: IoPlacement {
            tasks: 1,
            stride: 1,
            base: 0,
        },
        dims: vec![4000],
        maps: deal(4000, 2, Pattern::Random, 5, false, true),
        rearranger: Rearranger::Box,
        kind: Kind::Int,
        block_size: 1,
        read_only: false,
    };
    run(2, |comm| {
        let system = case.system(&comm);
        let first = Decomp::new(&system, &case.spec(), &case.maps[comm.rank()]).unwrap();
        let plan = Arc::downgrade(&first.plan);
        system.forget_plans();
        assert!(plan.upgrade().is_some());
        drop(first);
        assert!(plan.upgrade().is_some());
        system.forget_plans();
        assert!(plan.upgrade().is_none());
    });
}
