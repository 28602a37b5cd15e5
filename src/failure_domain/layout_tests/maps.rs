//! From units to targets and back.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

#[test]
fn motr_compatible_maps_equal_those_of_motr() {
    let numbers = |text: &str| -> Vec<u64> {
        let digits = text.split(|c: char| !c.is_ascii_digit());
        digits.filter_map(|part| part.parse().ok()).collect()
    };
    let golden = include_str!("../../../c_tests/golden/fd_golden.txt");
    let mut current = None;
    let mut checked = 0;
    for line in golden.lines().filter(|line| !line.starts_with('#')) {
        if line.contains(';') {
            let fields: Vec<&str> = line.split(';').collect();
            let level = |text: &str| numbers(text).iter().map(|&n| n as u32).collect();
            let degrees: Vec<Vec<u32>> = fields[1].split("],").map(level).collect();
            let (group, seed, file) = (numbers(fields[2]), numbers(fields[3]), numbers(fields[4]));
            let settings = LayoutSettings {
                mode: PermutationMode::Motr,
                seed: [seed[0], seed[1]],
                ..LayoutSettings::new(units(group[0] as u32, group[1] as u32, group[2] as u32))
            };
            let tree = Arc::new(DomainTree::from_degrees(&degrees).unwrap());
            let layout = Layout::new(tree, &settings).unwrap();
            let shape = numbers(fields[6]);
            assert_eq!(layout.tile(), (shape[0], shape[2]), "{line}");
            let (container, key) = (file[0], file[1]);
            current = Some((layout, FileId { container, key }));
            continue;
        }
        let (layout, file) = current.as_ref().unwrap();
        let [group, unit, target, frame] = numbers(line)[..] else {
            panic!("{line}");
        };
        let unit = unit as u32;
        let (source, place) = (UnitAddress { group, unit }, TargetAddress { target, frame });
        assert_eq!(layout.place(*file, source), Ok(place), "{line}");
        assert_eq!(layout.source(*file, place), Ok(Some(source)), "{line}");
        checked += 1;
    }
    assert_eq!(checked, 162);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn maps_are_inverse_and_spread_every_group_evenly(
        tree in any_tree(), share: (u32, u32, u32), motr: bool, first_tile in 0_u64..1 << 40, first in 0_usize..2,
    ) {
        let levels: Vec<usize> = (first.min(tree.depth() - 1)..tree.depth()).collect();
        let symmetric = SymmetricTree::within(&tree, &levels).unwrap();
        let settings = LayoutSettings {
            mode: if motr { PermutationMode::Motr } else { PermutationMode::Declustered },
            seed: [3, 4],
            first_level: levels[0],
            ..LayoutSettings::new(any_units(symmetric.targets().min(30), share))
        };
        let layout = Layout::new(tree.clone(), &settings).unwrap();
        let (rows, groups) = layout.tile();
        prop_assert_eq!(rows * symmetric.targets(), groups * layout.group_size());
        let mut seen = HashSet::new();
        for group in first_tile * groups..(first_tile + 1) * groups {
            for unit in 0..layout.group_size() as u32 {
                let source = UnitAddress { group, unit };
                let place = layout.place(FILE, source).unwrap();
                prop_assert!(seen.insert(place));
                prop_assert_eq!(place.frame / rows, first_tile);
                prop_assert_eq!(layout.source(FILE, place).unwrap(), Some(source));
            }
            let targets = targets_of(&layout, FILE, group);
            prop_assert_eq!(targets.iter().collect::<HashSet<_>>().len(), targets.len());
            for (step, &level) in levels.iter().enumerate() {
                let (least, heavy) = (layout.group_size() / symmetric.nodes(step), layout.group_size() % symmetric.nodes(step));
                let counts: Vec<u64> = tree.domains(level).map(|domain| units_below(&tree, domain, &targets)).collect();
                prop_assert!(counts.iter().all(|&count| count <= least + 1));
                prop_assert_eq!(counts.iter().filter(|&&count| count == least + 1).count() as u64, heavy);
            }
        }
        // All other frames hold no unit.
        for frame in first_tile * rows..(first_tile + 1) * rows {
            for target in 0..tree.leaf_count() as u64 {
                let place = TargetAddress { target, frame };
                prop_assert_eq!(layout.source(FILE, place).unwrap().is_some(), seen.contains(&place));
            }
        }
    }
}

#[test]
fn tiles_are_as_published() {
    for (degrees, rows, targets, groups) in [
        ([8, 7, 2, 4], 3, 448, 112),
        ([4, 3, 2, 6], 1, 144, 12),
        ([6, 2, 2, 8], 1, 192, 16),
        ([12, 1, 1, 4], 1, 48, 4),
        ([2, 3, 2, 4], 1, 48, 4),
    ] {
        let layout = layout(&regular(&degrees), units(8, 2, 2));
        assert_eq!(layout.tile(), (rows, groups));
        assert_eq!(layout.plan().symmetric().unwrap().targets(), targets);
    }
}

/// Maps some tiles forward and back in both modes; no group may use a target twice.
fn check_maps(tree: &Arc<DomainTree>, group: Units, file: FileId) {
    for mode in [PermutationMode::Declustered, PermutationMode::Motr] {
        let settings = LayoutSettings {
            mode,
            water_filling: true,
            ..LayoutSettings::new(group)
        };
        let layout = Layout::new(tree.clone(), &settings).unwrap();
        for group in (0..2 * layout.tile().1).chain([1 << 40]) {
            let targets = targets_of(&layout, file, group);
            assert_eq!(targets.iter().collect::<HashSet<_>>().len(), targets.len());
            for unit in 0..targets.len() as u32 {
                let source = UnitAddress { group, unit };
                let place = layout.place(file, source).unwrap();
                assert_eq!(layout.source(file, place), Ok(Some(source)));
            }
        }
    }
}

#[test]
fn trees_at_the_edge_are_mapped() {
    for (degrees, group) in [
        (vec![2, 2, 2, 2, 2, 2, 2], units(5, 2, 1)), // deeper than Motr's five levels
        (vec![3, 1, 2, 1, 2, 1, 1, 2], units(4, 1, 0)),
        (vec![1, 1, 1, 1], units(1, 0, 0)),
        (vec![1, 5], units(3, 1, 0)),
        (vec![7], units(4, 2, 1)),       // G = P
        (vec![3, 4], units(8, 2, 2)),    // the same, over two levels
        (vec![7, 3], units(4, 1, 0)),    // no common factor: as many rows as units
        (vec![6, 4, 4], units(6, 2, 0)), // one row per tile: `rotation`
        (vec![2, 2], units(2, 0, 0)),    // the same with two domains
        (vec![16, 17], units(3, 0, 0)),  // fewer units than racks; small and large permutations
    ] {
        check_maps(&regular(&degrees), group, FILE);
    }
    check_maps(&racks(&[4, 4, 4, 4, 1]), units(6, 2, 0), FILE);
    check_maps(&racks(&[5, 6, 9, 5]), units(4, 1, 0), FILE);
}

/// Motr ignores the seed for file (0, 0) in tile 0.
#[test]
fn file_zero_is_as_any_other() {
    let tree = regular(&[6, 4, 4]);
    check_maps(&tree, units(6, 2, 0), FileId::default());
    for mode in [PermutationMode::Declustered, PermutationMode::Motr] {
        let of = |seed| {
            let settings = LayoutSettings {
                mode,
                seed,
                ..LayoutSettings::new(units(6, 2, 0))
            };
            let layout = Layout::new(tree.clone(), &settings).unwrap();
            (0..12)
                .flat_map(|group| targets_of(&layout, FileId::default(), group))
                .collect::<Vec<_>>()
        };
        assert_ne!(of([0, 0]), of([3, 4]));
        assert_eq!(of([3, 4]), of([3, 4]));
    }
}

/// The greedy way of Motr's document to fill a tile gets stuck unless the most vacant domain goes first.
#[test]
fn a_greedy_choice_gets_stuck_where_digits_do_not() {
    let (targets, group) = (3, 2);
    let stuck = |first: fn(&[usize], &[usize]) -> Option<usize>| {
        let mut vacant = vec![group; targets];
        (0..targets).any(|_| {
            let mut used = Vec::new();
            for _ in 0..group {
                match first(&vacant, &used) {
                    Some(target) => used.push(target),
                    None => return true,
                }
            }
            used.iter().for_each(|&target| vacant[target] -= 1);
            false
        })
    };
    assert!(stuck(|vacant, used| (0..vacant.len())
        .find(|target| vacant[*target] > 0 && !used.contains(target))));
    assert!(!stuck(|vacant, used| (0..vacant.len())
        .filter(|target| vacant[*target] > 0 && !used.contains(target))
        .max_by_key(|&target| vacant[target])));
    let layout = layout(&regular(&[3]), units(1, 1, 0));
    assert_eq!(layout.tile(), (2, 3));
    check_maps(layout.tree(), units(1, 1, 0), FILE);
}

#[test]
fn motr_has_a_largest_number_of_children() {
    let flat = regular(&[65536]);
    let mut settings = LayoutSettings {
        mode: PermutationMode::Motr,
        ..LayoutSettings::new(units(8, 2, 1))
    };
    let error = Layout::new(flat.clone(), &settings).unwrap_err();
    assert!(matches!(
        error,
        Error::FanOut {
            level: 0,
            children: 65536
        }
    ));
    settings.mode = PermutationMode::Declustered;
    let layout = Layout::new(flat, &settings).unwrap();
    let source = UnitAddress {
        group: 12345,
        unit: 7,
    };
    let place = layout.place(FILE, source).unwrap();
    assert_eq!(layout.source(FILE, place), Ok(Some(source)));
}
