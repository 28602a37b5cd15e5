//! Sets of a placement: what it says of failures is what happens to the files.

use super::*;
use crate::failure_domain::placement::PlacementRequest;
use crate::failure_domain::topology;
use crate::protect::set::placed;

/// Where each rank of a small job is, and domains of it that fail.
#[derive(Debug)]
struct Topology {
    paths: Vec<String>,
    failed: Vec<String>,
}

/// The leading parts of a rank's path; the whole path is followed by the rank itself.
fn domain_of(path: &str, rank: usize, parts: usize) -> String {
    let whole = format!("{path}/{rank}");
    let parts = parts.clamp(1, whole.split('/').count());
    whole.split('/').take(parts).collect::<Vec<_>>().join("/")
}

fn topology() -> impl Strategy<Value = Topology> {
    let place = prop::collection::vec(0u8..3, 3);
    let places = prop::collection::vec(place, 2..13);
    let failed = prop::collection::vec((any::<prop::sample::Index>(), 1usize..5), 1..4);
    (places, 1usize..4, failed).prop_map(|(places, depth, failed)| {
        let path = |place: &Vec<u8>| {
            let parts = place.iter().take(depth).map(|part| format!("d{part}"));
            parts.collect::<Vec<_>>().join("/")
        };
        let paths: Vec<_> = places.iter().map(path).collect();
        let failed = failed.iter().map(|(rank, parts)| {
            let rank = rank.index(paths.len());
            domain_of(&paths[rank], rank, *parts)
        });
        Topology {
            failed: failed.collect(),
            paths,
        }
    })
}

impl Topology {
    fn fails(&self, rank: usize) -> bool {
        let parts = 1..=self.paths[rank].split('/').count() + 1;
        let mut domains = parts.map(|parts| domain_of(&self.paths[rank], rank, parts));
        domains.any(|domain| self.failed.contains(&domain))
    }
}

fn apply_placed(job: &Job, placement: &Placement) -> Vec<Result<()>> {
    run(job.ranks(), |comm| {
        let rank = comm.rank();
        let redset = create_placed(&comm, placement)?;
        let descriptor = redset.descriptor().unwrap();
        assert_eq!((descriptor.group, descriptor.rank), placement.set_of(rank));
        let members = placement.members(descriptor.group).iter();
        let members: Vec<_> = members.map(|member| *member as usize).collect();
        assert_eq!(redset.set().unwrap().map, members);
        redset.apply(&job.originals(rank), &job.name(rank))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(150)))]

    #[test]
    fn what_a_placement_survives_is_rebuilt_and_nothing_else(
        topology in topology(),
        scheme in any::<prop::sample::Index>(),
        set_size in 2usize..8,
    ) {
        let ranks = topology.paths.len();
        let schemes = schemes(ranks.min(set_size));
        let scheme = schemes[scheme.index(schemes.len())];
        let request = PlacementRequest::new(scheme.into(), set_size);
        let placement = Placement::of_paths(&topology.paths, &request).unwrap();
        let failed = topology.failed.iter().map(|path| placement.domain(path).unwrap());
        let survives = placement.lost_set(&failed.collect::<Vec<_>>()).is_none();

        let sizes = (0..ranks).map(|rank| vec![rank * 37 % 200, 100]).collect();
        let job = Job::new(scheme, set_size, sizes);
        all_ok(apply_placed(&job, &placement));
        let before = job.files();
        job.lose(|rank, _| topology.fails(rank));
        let left = job.files();
        let verdicts = job.recover();
        if survives {
            all_ok(verdicts);
            prop_assert!(job.files() == before);
            all_ok(job.verify());
        } else {
            all_fail(&verdicts);
            prop_assert!(job.files() == left);
        }
    }
}

fn declared(
    path: impl Fn(usize) -> Option<&'static str> + Sync,
    scheme: Scheme,
) -> Vec<Result<Option<Placement>>> {
    run(4, |comm| {
        let path = path(comm.rank()).map(str::to_owned);
        let group = format!("node{}", comm.rank());
        let placement = placed::declared(&comm, Ok(path), scheme, Some(group.as_bytes()), 2);
        Ok(placement?)
    })
}

#[test]
fn a_declared_path_is_above_the_failure_group() {
    let racks = ["rack0", "rack0", "rack1", "rack1"];
    for placement in declared(|rank| Some(racks[rank]), Scheme::Xor) {
        let placement = placement.unwrap().unwrap();
        let tolerance = placement.tolerance().iter().map(|level| level.any);
        assert_eq!(tolerance.collect::<Vec<_>>(), [1, 1, 1]);
        assert!(placement.domain("rack1/node2/2").is_ok());
    }
    let none = declared(|_| None, Scheme::Xor);
    assert!(none.iter().all(|placement| matches!(placement, Ok(None))));
}

#[test]
fn what_one_rank_declares_wrongly_fails_on_all() {
    let some = declared(|rank| (rank != 2).then_some("rack0"), Scheme::Xor);
    assert!(
        some.iter()
            .all(|placement| matches!(placement, Err(Error::Undeclared)))
    );
    let deeper = declared(
        |rank| Some(if rank == 2 { "rack0/a" } else { "rack0" }),
        Scheme::Xor,
    );
    let too_large = declared(|_| Some("rack0"), Scheme::ReedSolomon { k: 2 });
    for placement in deeper.into_iter().chain(too_large) {
        assert!(matches!(placement, Err(Error::Placement(_))));
    }
    let unreadable = run(4, |comm| {
        let path = match comm.rank() {
            1 => Err(topology::Error::NotText("STANCHION_TOPOLOGY")),
            _ => Ok(Some("rack0".to_owned())),
        };
        placed::declared(&comm, path, Scheme::Xor, Some(b"node"), 2)
            .map(drop)
            .map_err(Error::from)
    });
    all_fail(&unreadable);
}

#[test]
fn a_placement_must_be_one_of_these_ranks_and_the_same_everywhere() {
    let placement = |ranks, scheme| {
        let paths: Vec<_> = (0..ranks).map(|rank| format!("node{rank}")).collect();
        Placement::of_paths(&paths, &PlacementRequest::new(Scheme::into(scheme), 2)).unwrap()
    };
    let of_six = placement(6, Scheme::Xor);
    let verdicts = run(4, |comm| create_placed(&comm, &of_six).map(drop));
    for verdict in verdicts {
        assert!(matches!(
            verdict,
            Err(Error::Misplaced {
                placed: 6,
                ranks: 4
            })
        ));
    }
    let (xor, partner) = (
        placement(4, Scheme::Xor),
        placement(4, Scheme::Copies { replicas: 1 }),
    );
    let verdicts = run(4, |comm| {
        let given = if comm.rank() == 3 { &partner } else { &xor };
        create_placed(&comm, given).map(drop)
    });
    for verdict in verdicts {
        assert!(matches!(verdict, Err(Error::Mismatch(_))));
    }
}
