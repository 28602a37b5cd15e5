//! Verdicts against everything that can fail in small jobs.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::placement::tests::{Table, paths, shapes};
use super::placement::{Placement, PlacementRequest, PlacementScheme};
use super::{Domain, DomainTree};

const MOST_FAILED: usize = 3;

fn scheme(number: usize) -> PlacementScheme {
    match number {
        0 => PlacementScheme::Single,
        1 => PlacementScheme::Xor,
        2 => PlacementScheme::ReedSolomon { k: 2 },
        3 => PlacementScheme::Partner { replicas: 1 },
        _ => PlacementScheme::Partner { replicas: 2 },
    }
}

/// Whether data is lost, checked rank by rank.
fn is_lost(placement: &Placement, failed: &[bool]) -> bool {
    (0..placement.sets().count()).any(|set| {
        let has_failed: Vec<_> = placement
            .members(set)
            .iter()
            .map(|rank| failed[*rank as usize])
            .collect();
        let lost = has_failed.iter().filter(|failed| **failed).count();
        match placement.scheme() {
            PlacementScheme::Single => lost > 0,
            PlacementScheme::Xor => lost > 1,
            PlacementScheme::ReedSolomon { k } => lost > k,
            PlacementScheme::Partner { replicas } => (0..has_failed.len()).any(|rank| {
                (0..=replicas).all(|next| has_failed[(rank + next) % has_failed.len()])
            }),
        }
    })
}

fn failed_ranks(table: &Table, failed: &[Domain]) -> Vec<bool> {
    let is_in = |rank: usize| {
        failed
            .iter()
            .any(|domain| table[domain.level][rank] as usize == domain.index)
    };
    (0..table[0].len()).map(is_in).collect()
}

/// All combinations of at most three of the domains.
fn combinations(all: &[Domain]) -> Vec<Vec<Domain>> {
    let mut found = Vec::new();
    let mut shorter: Vec<(usize, Vec<Domain>)> = vec![(0, Vec::new())];
    for _ in 0..MOST_FAILED {
        let longer = shorter.iter().flat_map(|(from, chosen)| {
            (*from..all.len())
                .map(move |next| (next + 1, [&chosen[..], &all[next..=next]].concat()))
        });
        shorter = longer.collect();
        found.extend(shorter.iter().map(|(_, chosen)| chosen.clone()));
    }
    found
}

fn all_domains(tree: &DomainTree) -> Vec<Domain> {
    (0..tree.depth())
        .flat_map(|level| tree.domains(level))
        .collect()
}

fn is_narrowest(placement: &Placement, table: &Table, failed: &[Domain]) -> bool {
    let lost = |failed: &[Domain]| is_lost(placement, &failed_ranks(table, failed));
    let narrower = |one: usize| {
        let others = [&failed[..one], &failed[one + 1..]].concat();
        let children = placement.tree().children(failed[one]);
        let children = children.map(|index| Domain {
            level: failed[one].level + 1,
            index,
        });
        let replaced = children
            .map(|child| [&others[..], &[child]].concat())
            .collect::<Vec<_>>();
        lost(&others) || replaced.iter().any(|failed| lost(failed))
    };
    lost(failed) && !(0..failed.len()).any(narrower)
}

fn check(placement: &Placement, table: &Table) {
    let domains = all_domains(placement.tree());
    let mut survived = vec![usize::MAX; table.len()];
    let mut narrowest = BTreeSet::new();
    for failed in combinations(&domains) {
        let lost = is_lost(placement, &failed_ranks(table, &failed));
        assert_eq!(
            placement.lost_set(&failed).is_some(),
            lost,
            "{failed:?} {table:?}"
        );
        let level = failed[0].level;
        if lost && failed.iter().all(|domain| domain.level == level) {
            survived[level] = survived[level].min(failed.len() - 1);
        }
        if is_narrowest(placement, table, &failed) {
            narrowest.insert(failed.into_iter().collect::<BTreeSet<_>>());
        }
    }
    for (told, survived) in placement.tolerance().iter().zip(survived) {
        assert_eq!(
            (told.any as usize).min(MOST_FAILED),
            survived.min(MOST_FAILED)
        );
    }
    let mut told = Vec::new();
    placement.scenarios(MOST_FAILED, |scenario| {
        assert!(placement.lost_set(&scenario.domains).is_some());
        told.push(scenario.domains.into_iter().collect::<BTreeSet<_>>());
        true
    });
    assert!(told.is_sorted_by_key(BTreeSet::len));
    let smallest = placement.a_smallest_scenario().domains;
    assert_eq!(smallest.len(), placement.tolerance()[0].any as usize + 1);
    if smallest.len() <= MOST_FAILED {
        assert!(narrowest.contains(&smallest.into_iter().collect()));
    }
    assert_eq!(
        told.len(),
        narrowest.len(),
        "{told:?} {narrowest:?} {table:?}"
    );
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), narrowest);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn verdicts_are_those_of_brute_force(
        ranks in 1usize..9,
        shape in any::<prop::sample::Index>(),
        number in 0usize..5,
        larger in 0usize..5,
    ) {
        let shapes = shapes(ranks, 3);
        let table = &shapes[shape.index(shapes.len())];
        let scheme = scheme(number);
        let request = PlacementRequest::new(scheme, scheme.most_lost() + 1 + larger);
        if let Ok(placement) = Placement::of_paths(&paths(table), &request) {
            check(&placement, table);
        }
    }
}

#[test]
fn a_domain_inside_of_a_failed_one_counts_once() {
    let paths = ["a/0", "a/1", "b/0", "b/1"];
    let placement =
        Placement::of_paths(&paths, &PlacementRequest::new(PlacementScheme::Xor, 2)).unwrap();
    let domains = |names: &[&str]| -> Vec<_> {
        names
            .iter()
            .map(|name| placement.domain(name).unwrap())
            .collect()
    };
    assert_eq!(
        placement.lost_set(&domains(&["a", "a/1", "a/0/0", "a"])),
        None
    );
    assert!(placement.lost_set(&domains(&["a/0", "b/0"])).is_some());
    assert_eq!(placement.lost_set(&[]), None);
    assert!(placement.domain("a/0/2").is_err());
}

#[test]
fn scenarios_end_when_they_are_told_to() {
    let placement = Placement::of_paths(
        &["a", "b", "c", "d"],
        &PlacementRequest::new(PlacementScheme::Xor, 4),
    )
    .unwrap();
    let mut seen = 0;
    placement.scenarios(2, |_| {
        seen += 1;
        seen < 3
    });
    assert_eq!(seen, 3);
}
