//! Random stores, commits and losses against plain arrays.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const MEMBERS: i32 = 3;

#[derive(Clone, Debug)]
enum Call {
    Store { member: i32, seed: u64 },
    StartStore { member: i32, seed: u64 },
    Test,
    Commit,
}

/// What the ranks do between two failures, and which rank fails then.
#[derive(Clone, Debug)]
struct Phase {
    calls: Vec<Call>,
    lost: prop::sample::Index,
    max_count: u64,
}

fn phase() -> impl Strategy<Value = Phase> {
    let store = (0..MEMBERS, any::<u64>());
    let call = prop_oneof![
        3 => store.clone().prop_map(|(member, seed)| Call::Store { member, seed }),
        2 => store.prop_map(|(member, seed)| Call::StartStore { member, seed }),
        1 => Just(Call::Test),
        2 => Just(Call::Commit),
    ];
    let calls = prop::collection::vec(call, 0..9);
    let max_count = prop_oneof![Just(u64::MAX), 0..100u64];
    (calls, any::<prop::sample::Index>(), max_count).prop_map(|(calls, lost, max_count)| Phase {
        calls,
        lost,
        max_count,
    })
}

fn settings() -> impl Strategy<Value = (usize, Settings)> {
    let depth = prop_oneof![Just(None), (0..4u32).prop_map(Some)];
    let sizes = (2..9usize, 1..9u32, 3..9u32);
    (sizes, (0..4u32, any::<bool>()), depth, 0..50i32).prop_map(
        |((ranks, separation, set_size), (k, checksums), depth, first_stamp)| {
            let policy = match k {
                1 if ranks > 2 => Policy::Parity {
                    separation,
                    set_size,
                },
                2.. if ranks as u32 > k => Policy::ReedSolomon {
                    separation,
                    set_size: set_size.max(k + 1),
                    k: k - 1,
                },
                _ => Policy::Copy { separation },
            };
            let settings = Settings {
                id: 1,
                first_stamp,
                depth,
                policy,
                path: None,
                checksums,
            };
            (ranks, settings)
        },
    )
}

/// Different on every rank.
fn subset(seed: u64, rank: usize) -> Subset {
    let seed = seed
        .wrapping_add(rank as u64)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        >> 20;
    let small = |shift: u32| (seed >> shift) as i64 % 16;
    match seed % 5 {
        0 | 1 => Subset::Full,
        2 => Subset::Empty,
        3 => Subset::strided(
            1 + small(8),
            small(12),
            small(12) + small(16),
            1 + small(20),
        )
        .unwrap(),
        _ => {
            let blocks =
                [0, 4, 8, 12].map(|shift| (3 * small(shift), 3 * small(shift) + small(20)));
            Subset::blocks(&blocks).unwrap()
        }
    }
}

/// For each member the version of each element.
type Writes = BTreeMap<i32, BTreeMap<u64, usize>>;

/// One rank as it should be.
#[derive(Default)]
struct Model {
    staged: Writes,
    /// Newest first.
    kept: Vec<(i32, Writes)>,
}

impl Model {
    fn store(&mut self, rank: usize, member: i32, seed: u64, version: usize) {
        let regions = subset(seed, rank).regions(attributes(rank, member).count);
        let elements = regions.ranges().iter().cloned().flatten();
        let writes = self.staged.entry(member).or_default();
        writes.extend(elements.map(|element| (element, version)));
    }

    fn commit(&mut self, stamp: i32, depth: Option<u32>) {
        self.kept
            .insert(0, (stamp, std::mem::take(&mut self.staged)));
        let depth = depth.map_or(usize::MAX, |depth| depth as usize + 1);
        self.kept.truncate(depth);
    }

    /// The versions of the elements at some time; `None` if the member was never stored.
    fn at(&self, stamp: i32, member: i32, max_count: u64) -> Option<BTreeMap<u64, usize>> {
        let snapshots = self.kept.iter().filter(|(at, _)| *at <= stamp).rev();
        let mut all: Option<BTreeMap<u64, usize>> = None;
        for (_, writes) in snapshots {
            if let Some(writes) = writes.get(&member) {
                let wanted = writes.iter().filter(|(element, _)| **element < max_count);
                all.get_or_insert_default().extend(wanted);
            }
        }
        all
    }
}

fn play(group: &mut Group<LocalComm>, model: &mut Model, calls: &[Call], first_version: usize) {
    let rank = rank_of(group);
    for member in 0..MEMBERS {
        if !group.members().contains(&member) {
            create_member(group, member);
        }
    }
    let mut tickets = Vec::new();
    for (version, call) in calls.iter().enumerate() {
        let version = first_version + version;
        if let Call::Store { member, seed } | Call::StartStore { member, seed } = *call {
            let bytes = content(rank, member, version, length(rank, member));
            let subset = subset(seed, rank);
            match call {
                Call::Store { .. } => group.store(member, &bytes[..], &subset).unwrap(),
                _ => tickets.push(group.start_store(member, &bytes[..], &subset).unwrap()),
            }
            model.store(rank, member, seed, version);
        }
        match call {
            Call::Test => tickets.retain(|ticket| !group.test(*ticket).unwrap()),
            Call::Commit => model.commit(group.commit().unwrap(), group.settings().depth),
            _ => {}
        }
    }
    tickets
        .iter()
        .for_each(|ticket| group.wait(*ticket).unwrap());
    model.staged.clear();
}

/// Restores everything and compares it.
fn compare(group: &mut Group<LocalComm>, model: &Model, max_count: u64) {
    let rank = rank_of(group);
    let stamps: Vec<_> = model.kept.iter().map(|(stamp, _)| *stamp).collect();
    assert_eq!(group.snapshots(), stamps);
    for (member, stamp) in (0..MEMBERS).flat_map(|m| stamps.iter().map(move |s| (m, *s))) {
        let mut bytes = vec![0xEE; length(rank, member) as usize];
        let restored = group.restore(member, Stamp::At(stamp), max_count, Some(&mut bytes[..]));
        let Some(versions) = model.at(stamp, member, max_count) else {
            assert!(matches!(
                restored,
                Err(Error::NoData(_) | Error::NoSuchMember { .. })
            ));
            continue;
        };
        let restored = restored.unwrap();
        let elements = versions.keys().map(|element| *element..*element + 1);
        assert_eq!(restored.found, Regions::from_ranges(elements));
        let Attributes { count, element } = attributes(rank, member);
        assert_eq!(restored.complete, versions.len() as u64 == count);
        let mut expected = vec![0xEE; bytes.len()];
        for (index, version) in versions {
            let range = (index * element) as usize..((index + 1) * element) as usize;
            let stored = content(rank, member, version, count * element);
            expected[range.clone()].copy_from_slice(&stored[range]);
        }
        assert_eq!(bytes, expected);
        let mut own = vec![0xEE; bytes.len()];
        let found = group.restore_locally(member, Stamp::At(stamp), max_count, &mut own[..]);
        assert_eq!((own, found.unwrap()), (expected, restored));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(60)))]
    #[test]
    fn restores_what_plain_arrays_hold(
        (ranks, settings) in settings(),
        phases in prop::collection::vec(phase(), 1..5),
    ) {
        let mut job = Job::with(ranks, settings);
        let models: Vec<_> = (0..ranks).map(|_| Mutex::new(Model::default())).collect();
        for (number, phase) in phases.iter().enumerate() {
            job.run(|group| {
                let mut model = models[rank_of(group)].lock().unwrap();
                play(group, &mut model, &phase.calls, 100 * number);
            });
            job.lose(&[phase.lost.index(ranks)]);
            job.run(|group| {
                let model = models[rank_of(group)].lock().unwrap();
                compare(group, &model, phase.max_count);
            });
        }
    }
}
