//! Verdicts: published values, and comparison with exhaustive search.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::failure_counts::{maximal_vectors, worst};
use super::layout_tests::{FILE, any_tree, any_units, layout, regular, targets_of, units};
use super::*;

#[test]
fn the_documents_example() {
    let layout = layout(&regular(&[9, 2, 2, 4]), units(8, 5, 5));
    for (failed, inside, tolerable) in [
        ([2, 0, 0, 1], false, true),
        ([2, 0, 0, 2], false, false),
        ([1, 1, 0, 0], true, true),
        ([1, 2, 0, 0], true, true),
    ] {
        let says = |test| layout.tolerates(&failed, test).unwrap().tolerable;
        assert_eq!(
            (says(FailureTest::Polytope), says(FailureTest::Exact)),
            (inside, tolerable)
        );
    }
    let polytope = layout.polytope().unwrap();
    assert_eq!(
        (polytope.rows, polytope.bounds),
        (vec![vec![5, 2, 2, 2]], vec![10])
    );
}

#[test]
fn what_is_tolerable_is_not_convex() {
    let layout = layout(&regular(&[5, 2]), units(1, 6, 0));
    let exact = |failed: &[u32]| layout.tolerates(failed, FailureTest::Exact).unwrap();
    assert!(exact(&[0, 6]).tolerable && exact(&[4, 0]).tolerable);
    assert_eq!((exact(&[2, 3]).tolerable, exact(&[2, 3]).loss), (false, 7));
    // A polytope made from the exact tolerances would accept it; that of bound B does not.
    let tolerance = layout.tolerance().unwrap();
    assert_eq!((tolerance.exact, tolerance.bound), (vec![4, 6], vec![3, 6]));
    assert!(
        !layout
            .tolerates(&[2, 3], FailureTest::Polytope)
            .unwrap()
            .tolerable
    );
}

#[test]
fn nothing_is_tolerated_without_parity() {
    let layout = layout(&regular(&[3, 2]), units(4, 0, 1));
    for test in [FailureTest::Polytope, FailureTest::Sum, FailureTest::Exact] {
        assert!(layout.tolerates(&[0, 0], test).unwrap().tolerable);
        assert!(!layout.tolerates(&[0, 1], test).unwrap().tolerable);
        assert!(!layout.tolerates(&[1, 0], test).unwrap().tolerable);
    }
    assert_eq!(layout.polytope().unwrap().bounds, [0, 0]);
}

/// All sets of up to three domains.
fn failure_sets(tree: &DomainTree) -> Vec<Vec<Domain>> {
    let all: Vec<Domain> = (0..tree.depth())
        .flat_map(|level| tree.domains(level))
        .collect();
    let mut sets = vec![Vec::new()];
    for (place, &one) in all.iter().enumerate() {
        sets.push(vec![one]);
        for (next, &other) in all.iter().enumerate().skip(place + 1) {
            sets.push(vec![one, other]);
            sets.extend(all[next + 1..].iter().map(|&third| vec![one, other, third]));
        }
    }
    sets
}

/// A canonical form: the same for sets that differ only in the order of children.
fn shape(tree: &DomainTree, domain: Option<Domain>, failed: &[Domain]) -> String {
    if domain.is_some_and(|domain| failed.contains(&domain)) {
        return "x".to_owned();
    }
    let level = domain.map_or(0, |domain| domain.level + 1);
    if level == tree.depth() {
        return String::new();
    }
    let children = tree.below(domain, level);
    let mut parts: Vec<String> = children
        .map(|index| shape(tree, Some(Domain { level, index }), failed))
        .collect();
    parts.sort_unstable();
    format!("({})", parts.join(","))
}

/// What each group of a tile loses without any permutation.
fn worst_of_tile(layout: &Layout, degrees: &[u32], failed: &[Domain]) -> u64 {
    let tree = layout.tree();
    let mut gone = vec![false; tree.leaf_count()];
    for &domain in failed {
        gone[tree.leaves_below(domain)].fill(true);
    }
    let (rows, groups) = layout.tile();
    let target = |number: u64| {
        let mut rest = number as usize;
        degrees.iter().fold(0, |node, &degree| {
            let digit = rest % degree as usize;
            rest /= degree as usize;
            node * degree as usize + digit
        })
    };
    assert_eq!(rows * gone.len() as u64, groups * layout.group_size());
    let losses = (0..groups).map(|group| {
        let numbers = group * layout.group_size()..(group + 1) * layout.group_size();
        numbers.filter(|&number| gone[target(number)]).count() as u64
    });
    losses.max().unwrap_or(0)
}

#[test]
fn verdicts_equal_exhaustive_search() {
    for (degrees, group) in [
        (vec![7], units(3, 2, 0)),
        (vec![3, 2], units(3, 1, 0)),
        (vec![3, 2], units(3, 2, 1)),
        (vec![5, 2], units(4, 3, 0)),
        (vec![2, 3], units(2, 1, 1)),
        (vec![2, 2, 2], units(3, 2, 0)),
        (vec![2, 2, 2], units(4, 2, 1)),
        (vec![3, 1, 2], units(2, 1, 1)),
        (vec![2, 3, 2], units(4, 3, 1)),
    ] {
        let tree = regular(&degrees);
        let layout = layout(&tree, group);
        let symmetric = layout.plan().symmetric().unwrap();
        // The worst loss for each canonical form, and for each vector of failure counts.
        let (mut named, mut counted) = (HashMap::new(), BTreeMap::new());
        let sets = failure_sets(&tree);
        for failed in &sets {
            let loss = worst_of_tile(&layout, &degrees, failed);
            let mut counts = vec![0_u32; degrees.len()];
            failed.iter().for_each(|domain| counts[domain.level] += 1);
            let worst = named.entry(shape(&tree, None, failed)).or_insert(loss);
            *worst = loss.max(*worst);
            let worst = counted.entry(counts).or_insert(loss);
            *worst = loss.max(*worst);
        }
        for failed in &sets {
            let verdict = layout.survives(failed).unwrap();
            let wanted = named[&shape(&tree, None, failed)];
            assert_eq!(verdict.loss, wanted, "{degrees:?} {group:?} {failed:?}");
            assert_eq!(verdict.tolerable, wanted <= u64::from(group.parity));
        }
        for (counts, wanted) in &counted {
            let verdict = layout.tolerates(counts, FailureTest::Exact).unwrap();
            assert_eq!(verdict.loss, *wanted, "{degrees:?} {group:?} {counts:?}");
            let polytope = layout.tolerates(counts, FailureTest::Polytope).unwrap();
            assert!(!polytope.tolerable || verdict.tolerable);
        }
        for vector in maximal_vectors(symmetric, group).unwrap() {
            let failed: Vec<u64> = vector.iter().map(|&failed| failed.into()).collect();
            let lost = worst(symmetric, layout.group_size(), &failed);
            assert!(lost <= u64::from(group.parity));
        }
    }
}

#[test]
fn on_unlike_domains_the_worst_case_is_met() {
    for (degrees, group, water_filling) in [
        (vec![vec![3], vec![2, 3, 4]], units(3, 2, 0), false),
        (vec![vec![4], vec![3, 3, 3, 2]], units(4, 2, 1), false),
        (
            vec![vec![2], vec![2, 1], vec![2, 2, 3]],
            units(2, 1, 0),
            false,
        ),
        (vec![vec![4], vec![3, 3, 3, 1]], units(4, 2, 0), true),
    ] {
        let tree = Arc::new(DomainTree::from_degrees(&degrees).unwrap());
        let settings = LayoutSettings {
            water_filling,
            ..LayoutSettings::new(group)
        };
        let layout = Layout::new(tree.clone(), &settings).unwrap();
        let groups: Vec<Vec<usize>> = (0..40)
            .flat_map(|key| (0..40).map(move |group| (key, group)))
            .map(|(key, group)| targets_of(&layout, FileId { container: 1, key }, group))
            .collect();
        for failed in failure_sets(&tree) {
            let mut gone = vec![false; tree.leaf_count()];
            for &domain in &failed {
                gone[tree.leaves_below(domain)].fill(true);
            }
            let losses = groups
                .iter()
                .map(|group| group.iter().filter(|leaf| gone[**leaf]).count());
            let worst = losses.max().unwrap() as u64;
            assert_eq!(
                layout.survives(&failed).unwrap().loss,
                worst,
                "{degrees:?} {failed:?}"
            );
        }
    }
}

#[test]
fn maximal_vectors_are_the_edge_of_what_is_tolerable() {
    let symmetric = SymmetricTree::new(&[9, 2, 2, 4]).unwrap();
    let vectors = maximal_vectors(&symmetric, units(8, 5, 5)).unwrap();
    assert!(vectors.contains(&vec![2, 0, 0, 1]) && vectors.contains(&vec![0, 0, 0, 5]));
    assert!(!vectors.contains(&vec![1, 1, 0, 0]));
    let wide = SymmetricTree::new(&[1000, 10, 10, 10]).unwrap();
    let error = maximal_vectors(&wide, units(500, 400, 0));
    assert_eq!(error, Err(Error::TooManyVectors));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn named_failures_lose_no_more_than_said(tree in any_tree(), share: (u32, u32, u32), picks in prop::collection::vec((0_usize..4, 0_usize..99), 1..4), water: bool) {
        let symmetric = SymmetricTree::within(&tree, &(0..tree.depth()).collect::<Vec<_>>()).unwrap();
        let most = if water { tree.leaf_count() as u64 } else { symmetric.targets() };
        let settings = LayoutSettings { water_filling: water, ..LayoutSettings::new(any_units(most, share)) };
        let layout = Layout::new(tree.clone(), &settings).unwrap();
        let failed: Vec<Domain> = picks.iter().map(|&(level, index)| {
            let level = level % tree.depth();
            Domain { level, index: index % tree.width(level) }
        }).collect();
        let verdict = layout.survives(&failed).unwrap();
        let gone: HashSet<usize> = failed.iter().flat_map(|&domain| tree.leaves_below(domain)).collect();
        for group in 0..60 {
            let targets = targets_of(&layout, FILE, group);
            let loss = targets.iter().filter(|target| gone.contains(target)).count() as u64;
            prop_assert!(loss <= verdict.loss);
        }
        // The test by counts assumes the worst positions, so it must not be more optimistic.
        let mut counts = vec![0; tree.depth()];
        failed.iter().collect::<HashSet<_>>().iter().for_each(|domain| counts[domain.level] += 1);
        let tests = [FailureTest::Exact, FailureTest::Sum, FailureTest::Polytope].map(|test| layout.tolerates(&counts, test).unwrap());
        prop_assert!(verdict.loss <= tests[0].loss, "{:?} {:?}", verdict, tests);
        prop_assert!(tests[0].loss <= tests[1].loss && tests[1].loss <= tests[2].loss, "{:?}", tests);
        prop_assert!(tests[1].tolerable || !tests[2].tolerable);
    }
}
