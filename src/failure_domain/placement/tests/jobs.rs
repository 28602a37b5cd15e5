//! Placements of selected jobs, errors, and the collective call.

use super::*;
use crate::comm::Comm;
use crate::comm::local::run;

/// One path per rank of a balanced tree; the last degree is the number of ranks per node.
fn balanced(degrees: &[usize]) -> Vec<String> {
    let [above @ .., ranks] = degrees else {
        return Vec::new();
    };
    let mut paths = vec![String::new()];
    for &degree in above {
        let below = |path: &String| {
            let path = path.clone();
            (0..degree).map(move |child| format!("{path}/{child}"))
        };
        paths = paths.iter().flat_map(below).collect();
    }
    let ranks = |path: &String| std::iter::repeat_n(path[1..].to_owned(), *ranks);
    paths.iter().flat_map(ranks).collect()
}

fn tolerance(placement: &Placement) -> Vec<u32> {
    placement
        .tolerance()
        .iter()
        .map(|level| level.any)
        .collect()
}

fn had(paths: &[String], scheme: PlacementScheme, set_size: usize) -> Vec<u32> {
    tolerance(&Placement::of_paths(paths, &PlacementRequest::new(scheme, set_size)).unwrap())
}

#[test]
fn balanced_jobs_survive_what_counting_allows() {
    let rs = |k| PlacementScheme::ReedSolomon { k };
    let racks = balanced(&[4, 4, 4, 4]);
    assert_eq!(had(&racks, PlacementScheme::Xor, 8), [0, 1, 1, 1]);
    assert_eq!(had(&racks, rs(2), 8), [1, 2, 2, 2]);
    assert_eq!(
        had(&racks, PlacementScheme::Partner { replicas: 1 }, 2),
        [1, 1, 1, 1]
    );
    assert_eq!(
        had(&racks, PlacementScheme::Partner { replicas: 3 }, 8),
        [3, 3, 3, 3]
    );
    assert_eq!(had(&racks, PlacementScheme::Single, 8), [0, 0, 0, 0]);
    assert_eq!(had(&balanced(&[8, 4, 4, 1]), rs(3), 16), [1, 3, 3, 3]);
    assert_eq!(had(&balanced(&[16, 8, 4, 4]), rs(3), 16), [3, 3, 3, 3]);
}

/// Three ranks on one node, one on each of seven others.
fn fat_node() -> Vec<String> {
    let nodes = std::iter::repeat_n(0, 3).chain(1..8);
    nodes.map(|node| format!("node{node}")).collect()
}

#[test]
fn a_fat_node_gets_more_sets() {
    let request = PlacementRequest::new(PlacementScheme::Xor, 4);
    let placement = Placement::of_paths(&fat_node(), &request).unwrap();
    assert_eq!(placement.sets().count(), 3);
    assert_eq!(tolerance(&placement), [1, 1]);
}

#[test]
fn required_tolerance_is_met_by_smaller_sets_or_refused() {
    let racks = balanced(&[4, 4, 4, 4]);
    let mut request = PlacementRequest::new(PlacementScheme::Xor, 8);
    request.required = vec![1];
    let placement = Placement::of_paths(&racks, &request).unwrap();
    assert_eq!(
        (placement.sets().count(), tolerance(&placement)[0]),
        (64, 1)
    );
    request.required = vec![0, 1, 2];
    match Placement::of_paths(&racks, &request) {
        Err(Error::Unreachable {
            level,
            required,
            possible,
            ..
        }) => {
            assert_eq!((level, required, possible), (2, 2, vec![1, 1, 1, 1]))
        }
        _ => panic!("any two nodes hold two ranks of a set"),
    }
}

/// Surviving two nodes needs the ranks of a set on different nodes; surviving one rack does not.
#[test]
fn what_is_required_inside_comes_before_what_could_be_had_outside() {
    for ranks in 4..=8 {
        for table in shapes(ranks, 3) {
            let scheme = PlacementScheme::ReedSolomon { k: 2 };
            let mut request = PlacementRequest::new(scheme, 3);
            request.required = vec![0, 2];
            let met = Placement::of_paths(&paths(&table), &request);
            let possible = (1..=ranks / 3).any(|count| {
                let mut found = false;
                divide(
                    0,
                    false,
                    &sizes_of(ranks, count),
                    &mut vec![Vec::new(); count],
                    &mut |sets| {
                        found |= tolerance_of(&table, sets, scheme)[1] >= 2;
                    },
                );
                found
            });
            assert_eq!(met.is_ok(), possible, "{table:?}");
            if let Ok(placement) = met {
                assert!(tolerance(&placement)[1] >= 2);
            }
        }
    }
}

#[test]
fn what_cannot_be_placed_is_an_error() {
    let place = |paths: &[&str], request: &PlacementRequest| {
        Placement::of_paths(paths, request).err().unwrap()
    };
    let xor = PlacementRequest::new(PlacementScheme::Xor, 2);
    assert!(matches!(place(&[], &xor), Error::Tree(_)));
    assert!(matches!(
        place(&["a", ""], &xor),
        Error::EmptyPart { rank: 1, .. }
    ));
    assert!(matches!(
        place(&["a/b", "a"], &xor),
        Error::Depth {
            rank: 1,
            found: 1,
            wanted: 2,
            ..
        }
    ));
    assert!(matches!(
        place(&["a"], &xor),
        Error::TooFewRanks { ranks: 1, .. }
    ));
    let of = |scheme, set_size| place(&["a", "b", "c"], &PlacementRequest::new(scheme, set_size));
    assert!(matches!(
        of(PlacementScheme::Xor, 1),
        Error::SetSize { set_size: 1, .. }
    ));
    assert!(matches!(
        of(PlacementScheme::ReedSolomon { k: 0 }, 2),
        Error::Scheme(_)
    ));
    assert!(matches!(
        of(PlacementScheme::ReedSolomon { k: 2 }, 2),
        Error::SetSize { .. }
    ));
    assert!(matches!(
        of(PlacementScheme::ReedSolomon { k: 3 }, 4),
        Error::TooFewRanks { .. }
    ));
    assert!(matches!(
        of(PlacementScheme::ReedSolomon { k: 6 }, 251),
        Error::SetSize { .. }
    ));
    assert!(matches!(
        of(PlacementScheme::ReedSolomon { k: usize::MAX }, 2),
        Error::Scheme(_)
    ));
    assert!(matches!(
        of(PlacementScheme::Partner { replicas: 0 }, 2),
        Error::Scheme(_)
    ));
    let required = PlacementRequest {
        required: vec![0, 0, 0],
        ..xor
    };
    assert!(matches!(
        place(&["a", "b"], &required),
        Error::Required {
            given: 3,
            levels: 2
        }
    ));
}

#[test]
fn large_reed_solomon_sets_are_divided() {
    let paths: Vec<_> = (0..600).map(|node| format!("node{node}")).collect();
    let placement = Placement::of_paths(
        &paths,
        &PlacementRequest::new(PlacementScheme::ReedSolomon { k: 4 }, 252),
    )
    .unwrap();
    assert_eq!(
        (placement.sets().count(), placement.sets().largest()),
        (3, 200)
    );
}

// ---- collective ----

#[test]
fn all_ranks_get_the_same_sets() {
    let paths = fat_node();
    let request = PlacementRequest::new(PlacementScheme::Xor, 4);
    let alone = Placement::of_paths(&paths, &request).unwrap();
    for found in run(paths.len(), |comm| {
        create(&comm, Some(&paths[comm.rank()]), &request).unwrap()
    }) {
        assert_eq!(found.ranks, alone.ranks);
        assert_eq!(found.tolerance, alone.tolerance);
    }
}

#[test]
fn what_one_rank_gets_wrong_is_an_error_everywhere() {
    let request = PlacementRequest::new(PlacementScheme::Xor, 2);
    let depths = run(4, |comm| {
        let path = if comm.rank() == 2 { "a" } else { "a/b" };
        create(&comm, Some(path), &request).err().unwrap()
    });
    assert!(
        depths
            .iter()
            .all(|error| matches!(error, Error::Depth { rank: 2, .. }))
    );
    let schemes = run(4, |comm| {
        let request = PlacementRequest::new(PlacementScheme::Xor, 2 + comm.rank() / 3);
        create(&comm, Some("a"), &request).err().unwrap()
    });
    assert!(schemes.iter().all(|error| matches!(error, Error::Mismatch)));
}
