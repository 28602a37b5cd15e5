//! Compares placements with all possible ones.

use std::collections::BTreeSet;

use super::*;

mod jobs;
mod rings;

// ---- small trees, as tables: the domain of each leaf at each level ----

/// One row per level from the outermost to the ranks. Leaves of a domain are consecutive.
pub(in super::super) type Table = Vec<Vec<u32>>;

/// All trees with `leaves` leaves and `depth` levels (the last are the leaves), up to isomorphism.
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

/// Combines domains in a canonical order: sizes descend, and equal sizes keep the order of their shapes.
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

// ---- tolerance, implemented a second time ----

/// How many failures a codeword survives of which `most_lost` ranks may be lost.
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

fn tolerance_of(table: &Table, sets: &[Vec<usize>], scheme: PlacementScheme) -> Vec<u32> {
    let at_level = |domains: &Vec<u32>| {
        let of_set = |set: &Vec<usize>| match scheme {
            PlacementScheme::Partner { replicas } => (0..set.len())
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

/// Calls `each` with all partitions of the leaves into sets of these sizes, with all orders within the sets if `ordered`.
fn divide(
    leaf: usize,
    ordered: bool,
    sizes: &[usize],
    sets: &mut Vec<Vec<usize>>,
    each: &mut impl FnMut(&[Vec<usize>]),
) {
    if leaf == sizes.iter().sum::<usize>() {
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
        // A ring may begin anywhere, so let it begin with its first leaf.
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
    let sets = SetSizes::new(ranks, count);
    (0..count).map(|set| sets.range(set).len()).collect()
}

fn usual_counts(ranks: usize, set_size: usize, scheme: PlacementScheme) -> BTreeSet<usize> {
    let most = ranks / (scheme.most_lost() + 1);
    let mut counts =
        BTreeSet::from([ranks / set_size, ranks.div_ceil(set_size)].map(|c| c.clamp(1, most)));
    if let PlacementScheme::Partner { .. } = scheme {
        counts.insert(most);
    }
    counts
}

/// The best tolerance of each scheme in `count` sets.
fn best_of(table: &Table, count: usize, schemes: &[PlacementScheme]) -> Vec<Vec<u32>> {
    let ranks = table[0].len();
    let ordered = matches!(schemes[0], PlacementScheme::Partner { .. });
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

fn fits(scheme: PlacementScheme, ranks: usize, count: usize) -> bool {
    ranks / count > scheme.most_lost()
}

/// Compares the placement for every scheme and set size with all possible ones; returns how many were compared.
fn compare_with_all(table: &Table, schemes: &[PlacementScheme]) -> usize {
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
                Placement::of_paths(&paths(table), &PlacementRequest::new(scheme, set_size))
                    .unwrap();
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

/// Checks that every rank is in exactly one set and that the reported tolerance is right.
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
        let weakest = std::slice::from_ref(&sets[weakest_set as usize]);
        let of_weakest = tolerance_of(table, weakest, placement.scheme());
        assert_eq!(of_weakest[level], any);
    }
}

/// The same for PARTNER with every number of copies. Set sizes that give the same numbers of sets are compared once.
fn compare_with_all_rings(known: &mut rings::Known, table: &Table, most: usize) -> usize {
    let ranks = table[0].len();
    let mut compared = 0;
    for replicas in 1..=most {
        let scheme = PlacementScheme::Partner { replicas };
        let mut placed = BTreeSet::new();
        for set_size in replicas + 1..=ranks {
            let counts = usual_counts(ranks, set_size, scheme);
            if !placed.insert(counts.clone()) {
                continue;
            }
            let request = PlacementRequest::new(scheme, set_size);
            let placement = Placement::of_paths(&paths(table), &request).unwrap();
            let had: Vec<_> = placement.tolerance().iter().map(|t| t.any).collect();
            for count in counts {
                let is_better = known.are_better(table, count, replicas, &had);
                assert!(
                    !is_better,
                    "{scheme:?} {set_size} {count} {had:?} {table:?}"
                );
            }
            check_sets(&placement, table);
            compared += 1;
        }
    }
    compared
}

fn codes(most: usize) -> Vec<PlacementScheme> {
    (1..=most)
        .map(|k| PlacementScheme::ReedSolomon { k })
        .collect()
}

fn copies(most: usize) -> Vec<PlacementScheme> {
    (1..=most)
        .map(|replicas| PlacementScheme::Partner { replicas })
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
    let mut known = rings::Known::default();
    for (ranks, step) in [(6, 1), (7, 7), (8, 353), (9, 1259), (10, 2531)] {
        shapes(ranks, 4).iter().step_by(step).for_each(|table| {
            compare_with_all_rings(&mut known, table, ranks - 1);
        });
    }
}

/// All trees of up to 10 ranks with three levels above them: some six minutes of two cores in a release build.
#[test]
#[ignore = "slow"]
fn no_rings_of_any_job_of_ten_survive_more() {
    for ranks in 2..=10 {
        let all = shapes(ranks, 4);
        let every_other = |first: usize| {
            let mut known = rings::Known::default();
            let tables = all.iter().skip(first).step_by(2);
            tables
                .map(|table| compare_with_all_rings(&mut known, table, ranks - 1))
                .sum::<usize>()
        };
        let compared = std::thread::scope(|scope| {
            let odd = scope.spawn(|| every_other(1));
            every_other(0) + odd.join().unwrap()
        });
        println!(
            "{ranks} ranks: {} trees, {compared} placements compared",
            all.len()
        );
    }
}

/// All trees of up to 10 ranks with three levels above them: some four minutes in a release build.
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
}
