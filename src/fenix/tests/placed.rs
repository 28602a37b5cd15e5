//! Groups whose sets were placed by failure domains.

use proptest::prelude::*;

use super::*;
use crate::failure_domain::Placement;
use crate::failure_domain::placement::{PlacementRequest, PlacementScheme};

/// A job whose ranks sit at `paths`; the settings have no path until a rank takes them.
struct Placed {
    job: Job,
    paths: Vec<String>,
}

impl Placed {
    fn new(paths: Vec<String>, policy: Policy) -> Placed {
        let job = Job::new(paths.len(), policy);
        Placed { job, paths }
    }

    /// As [`Job::run`], with the verdict of creating the group where that fails.
    fn run<T: Send>(&mut self, f: impl Fn(&mut Group<LocalComm>) -> T + Sync) -> Vec<Result<T>> {
        let groups = Mutex::new(std::mem::take(&mut self.job.groups));
        let (settings, paths) = (&self.job.settings, &self.paths);
        let size = groups.lock().unwrap().len();
        let results = run(size, |comm| {
            let rank = comm.rank();
            let survived = groups.lock().unwrap()[rank].take();
            let path = Some(paths[rank].clone()).filter(|path| !path.is_empty());
            let settings = Settings {
                path,
                ..settings.clone()
            };
            let mut group = Group::create(survived, comm, settings)?;
            let result = f(&mut group);
            group.detach();
            groups.lock().unwrap()[rank] = Some(group);
            Ok(result)
        });
        self.job.groups = groups.into_inner().unwrap();
        results
    }

    fn store(&mut self, version: usize) {
        let stored = self.run(|group| {
            if group.members().is_empty() {
                create_member(group, 3);
            }
            store(group, 3, version);
            group.commit().unwrap()
        });
        assert!(stored.iter().all(Result::is_ok), "{stored:?}");
    }

    /// Ranks are lost, and others take their places somewhere else.
    fn replace(&mut self, lost: &[usize]) {
        self.job.lose(lost);
        for rank in lost {
            self.paths[*rank] = self.elsewhere();
        }
    }

    fn elsewhere(&self) -> String {
        let parts = self.paths[0].split('/').map(|_| "spare");
        parts.collect::<Vec<_>>().join("/")
    }

    fn restores(&mut self, version: usize) -> bool {
        let restored = self.run(|group| {
            let rank = rank_of(group);
            let mut bytes = vec![0; length(rank, 3) as usize];
            let restored = group.restore(3, Stamp::Latest, u64::MAX, Some(&mut bytes[..]));
            let wanted = content(rank, 3, version, bytes.len() as u64);
            restored.map(|restored| assert!(restored.complete && bytes == wanted))
        });
        let restored: Vec<_> = restored.into_iter().map(Result::unwrap).collect();
        let found = restored.iter().filter(|restored| restored.is_ok()).count();
        for failed in restored
            .iter()
            .filter_map(|restored| restored.as_ref().err())
        {
            // If all ranks are new, nobody knows the member.
            let lost = matches!(failed, Error::NoData(_) | Error::NoSuchMember { .. });
            assert!(lost, "{failed}");
        }
        assert!(found == 0 || found == restored.len());
        found > 0
    }
}

fn request(policy: Policy) -> PlacementRequest {
    match policy {
        Policy::Copy { .. } => PlacementRequest::new(PlacementScheme::Partner { replicas: 1 }, 2),
        Policy::Parity { set_size, .. } => {
            PlacementRequest::new(PlacementScheme::Xor, set_size as usize)
        }
        Policy::ReedSolomon { set_size, k, .. } => PlacementRequest::new(
            PlacementScheme::ReedSolomon { k: k as usize },
            set_size as usize,
        ),
    }
}

fn parity(set_size: u32) -> Policy {
    Policy::Parity {
        separation: 1,
        set_size,
    }
}

/// Paths of a small job, and a domain of it by a rank in it and its level.
fn topology() -> impl Strategy<Value = (Vec<String>, Vec<(usize, usize)>)> {
    let place = prop::collection::vec(0u8..3, 3);
    let places = prop::collection::vec(place, 3..11);
    let failed = prop::collection::vec((any::<prop::sample::Index>(), 0usize..4), 1..4);
    (places, 1usize..4, failed).prop_map(|(places, depth, failed)| {
        let path = |place: &Vec<u8>| {
            let parts = place.iter().take(depth).map(|part| format!("d{part}"));
            parts.collect::<Vec<_>>().join("/")
        };
        let paths: Vec<_> = places.iter().map(path).collect();
        let failed = failed.iter();
        let failed = failed.map(|(rank, level)| (rank.index(paths.len()), (*level).min(depth)));
        (paths.clone(), failed.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(200)))]

    #[test]
    fn what_a_placement_survives_is_restored_and_nothing_else(
        (paths, failed) in topology(),
        k in 0u32..4,
        set_size in 3u32..6,
    ) {
        let set_size = set_size.min(paths.len() as u32);
        let policy = match k {
            0 => COPY,
            1 => parity(set_size),
            // In place of copies where there are too few ranks.
            _ => Policy::ReedSolomon { separation: 1, set_size, k: (k - 1).min(set_size - 2) },
        };
        let placement = Placement::of_paths(&paths, &request(policy)).unwrap();
        let domains = failed.iter().map(|(rank, level)| {
            let path = format!("{}/{rank}", paths[*rank]);
            path.split('/').take(level + 1).collect::<Vec<_>>().join("/")
        });
        let domains: Vec<_> = domains.collect();
        let is_lost = |rank: &usize| {
            let path = format!("{}/{rank}/", paths[*rank]);
            domains.iter().any(|domain| path.starts_with(&format!("{domain}/")))
        };
        let lost: Vec<_> = (0..paths.len()).filter(is_lost).collect();
        let named = domains.iter().map(|domain| placement.domain(domain).unwrap());
        let survives = placement.lost_set(&named.collect::<Vec<_>>()).is_none();

        let mut job = Placed::new(paths.clone(), policy);
        job.store(1);
        job.replace(&lost);
        prop_assert_eq!(job.restores(1), survives);
        if survives {
            // The sets are still the same, whoever tells of them.
            let others: Vec<_> = (0..paths.len()).filter(|rank| !lost.contains(rank)).take(1).collect();
            job.store(2);
            job.replace(&others);
            prop_assert!(job.restores(2));
        }
    }
}

fn two_racks(ranks: usize) -> Vec<String> {
    let path = |rank| format!("rack{}/node{rank}", rank * 2 / ranks);
    (0..ranks).map(path).collect()
}

#[test]
fn a_rank_that_is_new_learns_the_sets_from_the_only_survivor() {
    let mut job = Placed::new(two_racks(4), COPY);
    job.store(1);
    let known = |job: &Placed, rank: usize| job.job.groups[rank].as_ref().unwrap().set.clone();
    let before: Vec<_> = (0..4).map(|rank| known(&job, rank)).collect();
    job.replace(&[0, 1, 3]);
    assert!(!job.restores(1));
    let after: Vec<_> = (0..4).map(|rank| known(&job, rank)).collect();
    assert_eq!(before, after);
}

#[test]
fn fewer_ranks_are_placed_anew() {
    let mut job = Placed::new(two_racks(6), COPY);
    job.store(1);
    job.job.groups.truncate(5);
    job.paths.truncate(5);
    assert!(!job.restores(1));
    job.run(|group| {
        group
            .set_attributes(3, attributes(rank_of(group), 3))
            .unwrap()
    });
    job.store(2);
    job.replace(&[1]);
    assert!(job.restores(2));
}

#[test]
fn what_was_stored_in_other_sets_is_not_looked_at() {
    let mut job = Placed::new(two_racks(6), COPY);
    job.store(1);
    job.job.groups.truncate(5);
    let sixth = job.paths.split_off(5);
    assert!(!job.restores(1));
    // As many as at first, but they are somewhere else now.
    job.job.groups.push(None);
    job.paths.extend(sixth);
    job.paths.rotate_right(1);
    assert!(!job.restores(1));
}

#[test]
fn what_one_rank_says_of_its_place_can_fail_on_all() {
    let created = |paths: Vec<String>, policy| {
        let results = Placed::new(paths, policy).run(|_| ());
        let failed = results
            .into_iter()
            .map(|result| result.unwrap_err().to_string());
        failed.collect::<Vec<_>>()
    };
    let mut paths = two_racks(4);
    paths[2] = "rack0".into();
    for text in created(paths.clone(), COPY) {
        assert!(text.contains("the path of rank 2"), "{text}");
    }
    paths[2].clear();
    for text in created(paths, COPY) {
        assert!(text.contains("placement by failure domains"), "{text}");
    }
    for text in created(two_racks(4), parity(2)) {
        assert!(text.contains("too small for parity"), "{text}");
    }
}

#[test]
fn a_group_is_placed_for_as_long_as_it_is_there() {
    let mut job = Placed::new(two_racks(4), COPY);
    job.store(1);
    for path in &mut job.paths {
        path.clear();
    }
    let results = job.run(|_| ());
    assert!(
        results
            .iter()
            .all(|result| matches!(result, Err(Error::Mismatch { .. })))
    );
}
