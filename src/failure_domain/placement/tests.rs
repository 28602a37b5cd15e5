//! Placements against everything that could be placed instead.

use std::collections::BTreeSet;

use super::*;
use crate::comm::Comm;
use crate::comm::local::run;

// ---- small trees, told by the domain of each leaf at each level ----

/// Levels from the outermost to the ranks; leaves of a domain stand together.
pub(in super::super) type Table = Vec<Vec<u32>>;

/// All trees of so many leaves in `depth` levels (the last are the leaves), but for the order.
pub(in super::super) fn shapes(leaves: usize, depth: usize) -> Vec<Table> {
    let mut all = Vec::new();
    if depth == 1 {
        all.push(vec![(0..leaves as u32).collect()]);
        return all;
    }
    forests(
        leaves,
        leaves,
        depth - 1,
        usize::MAX,
        &mut Vec::new(),
        &mut all,
    );
    all
}

/// Puts domains next to each other, none larger than the one before, nor later among those of its size.
fn forests(
    leaves: usize,
    most: usize,
    depth: usize,
    last: usize,
    domains: &mut Vec<Table>,
    all: &mut Vec<Table>,
) {
    if leaves == 0 {
        all.push(beside(domains, depth));
        return;
    }
    for size in (1..=most.min(leaves)).rev() {
        let same = size == most && !domains.is_empty();
        for (number, shape) in shapes(size, depth).into_iter().enumerate() {
            if same && number > last {
                break;
            }
            domains.push(shape);
            forests(leaves - size, size, depth, number, domains, all);
            domains.pop();
        }
    }
}

fn beside(domains: &[Table], depth: usize) -> Table {
    let mut table = vec![Vec::new(); depth + 1];
    let mut before = vec![0; depth + 1];
    for domain in domains {
        let size = domain[0].len();
        table[0].extend(std::iter::repeat_n(before[0], size));
        before[0] += 1;
        for (level, numbers) in domain.iter().enumerate() {
            let first = before[level + 1];
            table[level + 1].extend(numbers.iter().map(|number| first + number));
            before[level + 1] = first + 1 + numbers.iter().max().unwrap();
        }
    }
    table
}

pub(in super::super) fn paths(table: &Table) -> Vec<String> {
    let above = &table[..table.len() - 1];
    let path = |leaf: usize| above.iter().map(move |level| level[leaf].to_string());
    let ranks = 0..table[0].len();
    ranks
        .map(|leaf| path(leaf).collect::<Vec<_>>().join("/"))
        .collect()
}

// ---- tolerance, told anew ----

/// The failures of any domains that a group survives of which `most_lost` may be lost.
fn survived(domains: &[u32], group: &[usize], most_lost: usize) -> u32 {
    let mut held = [0u8; 32];
    group
        .iter()
        .for_each(|leaf| held[domains[*leaf] as usize] += 1);
    held.sort_unstable_by(|a, b| b.cmp(a));
    let mut lost = 0;
    let lost = held.iter().map(|held| {
        lost += *held as usize;
        lost
    });
    lost.take_while(|lost| *lost <= most_lost).count() as u32
}

fn tolerance_of(table: &Table, sets: &[Vec<usize>], scheme: Scheme) -> Vec<u32> {
    let at_level = |domains: &Vec<u32>| {
        let of_set = |set: &Vec<usize>| match scheme {
            Scheme::Partner { replicas } => (0..set.len())
                .map(|first| {
                    let circle = (first..=first + replicas).map(|place| set[place % set.len()]);
                    survived(domains, &circle.collect::<Vec<_>>(), replicas)
                })
                .min()
                .unwrap(),
            _ => survived(domains, set, scheme.most_lost()),
        };
        sets.iter().map(of_set).min().unwrap()
    };
    table.iter().map(at_level).collect()
}

/// Calls `each` with all ways to divide leaves into sets of these sizes, with all orders in the sets if asked for.
fn divide(
    leaf: usize,
    ordered: bool,
    sizes: &[usize],
    sets: &mut Vec<Vec<usize>>,
    each: &mut impl FnMut(&[Vec<usize>]),
) {
    if leaf == sizes.iter().sum() {
        each(sets);
        return;
    }
    for set in 0..sizes.len() {
        let has_twin = |twin: &usize| sets[*twin].is_empty() && sizes[*twin] == sizes[set];
        if sets[set].len() == sizes[set]
            || sets[set].is_empty() && (0..set).any(|twin| has_twin(&twin))
        {
            continue;
        }
        // A ring may begin anywhere: with its first leaf.
        let last = sets[set].len();
        let first = if ordered { last.min(1) } else { last };
        for place in first..=last {
            sets[set].insert(place, leaf);
            divide(leaf + 1, ordered, sizes, sets, each);
            sets[set].remove(place);
        }
    }
}

fn sizes_of(ranks: usize, count: usize) -> Vec<usize> {
    let sets = Sets::new(ranks, count);
    (0..count).map(|set| sets.range(set).len()).collect()
}

fn usual_counts(ranks: usize, set_size: usize, scheme: Scheme) -> BTreeSet<usize> {
    let most = ranks / (scheme.most_lost() + 1);
    let mut counts =
        BTreeSet::from([ranks / set_size, ranks.div_ceil(set_size)].map(|c| c.clamp(1, most)));
    if let Scheme::Partner { .. } = scheme {
        counts.insert(most);
    }
    counts
}

/// The best tolerance of each scheme in `count` sets.
fn best_of(table: &Table, count: usize, schemes: &[Scheme]) -> Vec<Vec<u32>> {
    let ranks = table[0].len();
    let ordered = matches!(schemes[0], Scheme::Partner { .. });
    let mut best = vec![Vec::new(); schemes.len()];
    divide(
        0,
        ordered,
        &sizes_of(ranks, count),
        &mut vec![Vec::new(); count],
        &mut |sets| {
            for (best, scheme) in best.iter_mut().zip(schemes) {
                let tolerance = tolerance_of(table, sets, *scheme);
                if tolerance > *best {
                    *best = tolerance;
                }
            }
        },
    );
    best
}

fn fits(scheme: Scheme, ranks: usize, count: usize) -> bool {
    ranks / count > scheme.most_lost()
}

/// Compares the placement of every scheme and set size with all there are; returns how many were compared.
fn compare_with_all(table: &Table, schemes: &[Scheme]) -> usize {
    let ranks = table[0].len();
    let best: Vec<_> = (1..=ranks / 2)
        .map(|count| {
            let fitting: Vec<_> = schemes
                .iter()
                .copied()
                .filter(|s| fits(*s, ranks, count))
                .collect();
            let best = if fitting.is_empty() {
                Vec::new()
            } else {
                best_of(table, count, &fitting)
            };
            fitting.into_iter().zip(best).collect::<Vec<_>>()
        })
        .collect();
    let mut compared = 0;
    for &scheme in schemes {
        for set_size in scheme.most_lost() + 1..=ranks {
            let placement =
                Placement::of_paths(&paths(table), &Request::new(scheme, set_size)).unwrap();
            let counts = usual_counts(ranks, set_size, scheme).into_iter();
            let of_count = |count: usize| {
                best[count - 1]
                    .iter()
                    .find(|b| b.0 == scheme)
                    .unwrap()
                    .1
                    .clone()
            };
            let had: Vec<_> = placement
                .tolerance()
                .iter()
                .map(|level| level.any)
                .collect();
            assert_eq!(
                Some(had),
                counts.map(of_count).max(),
                "{scheme:?} {set_size} {table:?}"
            );
            check_sets(&placement, table);
            compared += 1;
        }
    }
    compared
}

/// Every rank is in one set, and the sets have the tolerance that the placement says.
fn check_sets(placement: &Placement, table: &Table) {
    let sets: Vec<Vec<_>> = (0..placement.sets().count())
        .map(|set| {
            placement
                .members(set)
                .iter()
                .map(|rank| *rank as usize)
                .collect()
        })
        .collect();
    for rank in 0..placement.rank_count() {
        let (set, place) = placement.set_of(rank);
        assert_eq!(sets[set][place], rank);
    }
    let told = tolerance_of(table, &sets, placement.scheme());
    for (level, told) in told.into_iter().enumerate() {
        let Tolerance { any, weakest_set } = placement.tolerance()[level];
        assert_eq!(any, told);
        let weakest = &sets[weakest_set as usize];
        assert_eq!(
            tolerance_of(table, &[weakest.clone()], placement.scheme())[level],
            any
        );
    }
}

fn codes(most: usize) -> Vec<Scheme> {
    (1..=most).map(|k| Scheme::ReedSolomon { k }).collect()
}

fn copies(most: usize) -> Vec<Scheme> {
    (1..=most)
        .map(|replicas| Scheme::Partner { replicas })
        .collect()
}

#[test]
fn the_number_of_small_trees_is_known() {
    assert_eq!(
        (1..=6).map(|n| shapes(n, 3).len()).collect::<Vec<_>>(),
        [1, 3, 6, 14, 27, 58]
    );
    assert_eq!(
        (1..=5).map(|n| shapes(n, 4).len()).collect::<Vec<_>>(),
        [1, 4, 10, 30, 75]
    );
}

#[test]
fn no_placement_of_a_small_job_survives_more() {
    for ranks in 2..=7 {
        shapes(ranks, 3).iter().for_each(|table| {
            compare_with_all(table, &codes(ranks - 1));
        });
    }
    let (eight, nine) = (shapes(8, 4), shapes(9, 3));
    eight
        .iter()
        .step_by(53)
        .chain(nine.iter().step_by(61))
        .for_each(|table| {
            compare_with_all(table, &codes(4));
        });
}

#[test]
fn no_rings_of_a_small_job_survive_more() {
    for ranks in 2..=5 {
        shapes(ranks, 3).iter().for_each(|table| {
            compare_with_all(table, &copies(ranks - 1));
        });
    }
    shapes(7, 3).iter().step_by(19).for_each(|table| {
        compare_with_all(table, &copies(3));
    });
}

/// All trees of up to 10 ranks with three levels above them: takes minutes in a release build.
#[test]
#[ignore = "slow"]
fn no_placement_of_any_job_of_ten_survives_more() {
    let mut compared = 0;
    for ranks in 2..=10 {
        for table in shapes(ranks, 4) {
            compared += compare_with_all(&table, &codes(ranks - 1));
        }
        println!("codes, up to {ranks} ranks: {compared} placements compared");
    }
    for ranks in 2..=8 {
        for table in shapes(ranks, 3) {
            compared += compare_with_all(&table, &copies(3.min(ranks - 1)));
        }
        println!("copies, up to {ranks} ranks: {compared} placements compared");
    }
}

// ---- chosen jobs ----

/// One path a rank of a balanced tree; the last degree is the number of ranks of a node.
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

fn had(paths: &[String], scheme: Scheme, set_size: usize) -> Vec<u32> {
    tolerance(&Placement::of_paths(paths, &Request::new(scheme, set_size)).unwrap())
}

#[test]
fn balanced_jobs_survive_what_counting_allows() {
    let rs = |k| Scheme::ReedSolomon { k };
    let racks = balanced(&[4, 4, 4, 4]);
    assert_eq!(had(&racks, Scheme::Xor, 8), [0, 1, 1, 1]);
    assert_eq!(had(&racks, rs(2), 8), [1, 2, 2, 2]);
    assert_eq!(
        had(&racks, Scheme::Partner { replicas: 1 }, 2),
        [1, 1, 1, 1]
    );
    assert_eq!(
        had(&racks, Scheme::Partner { replicas: 3 }, 8),
        [3, 3, 3, 3]
    );
    assert_eq!(had(&racks, Scheme::Single, 8), [0, 0, 0, 0]);
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
    let request = Request::new(Scheme::Xor, 4);
    let placement = Placement::of_paths(&fat_node(), &request).unwrap();
    assert_eq!(placement.sets().count(), 3);
    assert_eq!(tolerance(&placement), [1, 1]);
}

#[test]
fn required_tolerance_is_met_by_smaller_sets_or_refused() {
    let racks = balanced(&[4, 4, 4, 4]);
    let mut request = Request::new(Scheme::Xor, 8);
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

/// Two nodes at once need one rank of a set on each; a rack that fails does not.
#[test]
fn what_is_required_inside_comes_before_what_could_be_had_outside() {
    for ranks in 4..=8 {
        for table in shapes(ranks, 3) {
            let scheme = Scheme::ReedSolomon { k: 2 };
            let mut request = Request::new(scheme, 3);
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
    let place =
        |paths: &[&str], request: &Request| Placement::of_paths(paths, request).err().unwrap();
    let xor = Request::new(Scheme::Xor, 2);
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
    let of = |scheme, set_size| place(&["a", "b", "c"], &Request::new(scheme, set_size));
    assert!(matches!(
        of(Scheme::Xor, 1),
        Error::SetSize { set_size: 1, .. }
    ));
    assert!(matches!(
        of(Scheme::ReedSolomon { k: 0 }, 2),
        Error::Scheme(_)
    ));
    assert!(matches!(
        of(Scheme::ReedSolomon { k: 2 }, 2),
        Error::SetSize { .. }
    ));
    assert!(matches!(
        of(Scheme::ReedSolomon { k: 3 }, 4),
        Error::TooFewRanks { .. }
    ));
    assert!(matches!(
        of(Scheme::ReedSolomon { k: 6 }, 251),
        Error::SetSize { .. }
    ));
    assert!(matches!(
        of(Scheme::ReedSolomon { k: usize::MAX }, 2),
        Error::Scheme(_)
    ));
    assert!(matches!(
        of(Scheme::Partner { replicas: 0 }, 2),
        Error::Scheme(_)
    ));
    let required = Request {
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
    let placement =
        Placement::of_paths(&paths, &Request::new(Scheme::ReedSolomon { k: 4 }, 252)).unwrap();
    assert_eq!(
        (placement.sets().count(), placement.sets().largest()),
        (3, 200)
    );
}

// ---- collective ----

#[test]
fn all_ranks_get_the_same_sets() {
    let paths = fat_node();
    let request = Request::new(Scheme::Xor, 4);
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
    let request = Request::new(Scheme::Xor, 2);
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
        let request = Request::new(Scheme::Xor, 2 + comm.rank() / 3);
        create(&comm, Some("a"), &request).err().unwrap()
    });
    assert!(schemes.iter().all(|error| matches!(error, Error::Mismatch)));
}
