//! Properties that all layouts have, and published values.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::repair::UNPLACED;
use super::*;

const FILE: File = File {
    container: 7,
    key: 9,
};

pub(super) fn units(data: u32, parity: u32, spare: u32) -> Units {
    Units {
        data,
        parity,
        spare,
    }
}

/// Every domain of a level has as many children.
pub(super) fn regular(degrees: &[u32]) -> Arc<Tree> {
    let mut width = 1;
    let levels = degrees.iter().map(|&degree| {
        let level = vec![degree; width];
        width *= degree as usize;
        level
    });
    Arc::new(Tree::from_degrees(&levels.collect::<Vec<_>>()).unwrap())
}

/// Racks with so many targets.
fn racks(sizes: &[u32]) -> Arc<Tree> {
    let degrees = [vec![sizes.len() as u32], sizes.to_vec()];
    Arc::new(Tree::from_degrees(&degrees).unwrap())
}

pub(super) fn layout(tree: &Arc<Tree>, units: Units) -> Layout {
    Layout::new(tree.clone(), &Settings::new(units)).unwrap()
}

pub(super) fn targets_of(layout: &Layout, file: File, group: u64) -> Vec<usize> {
    let place = |unit| layout.place(file, Source { group, unit }).unwrap();
    let all = 0..layout.group_size() as u32;
    all.map(|unit| place(unit).target as usize).collect()
}

fn units_below(tree: &Tree, domain: Domain, targets: &[usize]) -> u64 {
    let leaves = tree.leaves_below(domain);
    targets.iter().filter(|leaf| leaves.contains(leaf)).count() as u64
}

#[test]
fn motr_compatible_maps_equal_those_of_motr() {
    let numbers = |text: &str| -> Vec<u64> {
        let digits = text.split(|c: char| !c.is_ascii_digit());
        digits.filter_map(|part| part.parse().ok()).collect()
    };
    let golden = include_str!("../../c_tests/golden/fd_golden.txt");
    let mut current = None;
    let mut checked = 0;
    for line in golden.lines().filter(|line| !line.starts_with('#')) {
        if line.contains(';') {
            let fields: Vec<&str> = line.split(';').collect();
            let level = |text: &str| numbers(text).iter().map(|&n| n as u32).collect();
            let degrees: Vec<Vec<u32>> = fields[1].split("],").map(level).collect();
            let (group, seed, file) = (numbers(fields[2]), numbers(fields[3]), numbers(fields[4]));
            let settings = Settings {
                mode: Mode::Motr,
                seed: [seed[0], seed[1]],
                ..Settings::new(units(group[0] as u32, group[1] as u32, group[2] as u32))
            };
            let tree = Arc::new(Tree::from_degrees(&degrees).unwrap());
            let layout = Layout::new(tree, &settings).unwrap();
            let shape = numbers(fields[6]);
            assert_eq!(layout.tile(), (shape[0], shape[2]), "{line}");
            let (container, key) = (file[0], file[1]);
            current = Some((layout, File { container, key }));
            continue;
        }
        let (layout, file) = current.as_ref().unwrap();
        let [group, unit, target, frame] = numbers(line)[..] else {
            panic!("{line}");
        };
        let unit = unit as u32;
        let (source, place) = (Source { group, unit }, Place { target, frame });
        assert_eq!(layout.place(*file, source), Ok(place), "{line}");
        assert_eq!(layout.source(*file, place), Ok(Some(source)), "{line}");
        checked += 1;
    }
    assert_eq!(checked, 162);
}

/// Degrees of a tree, level by level.
fn degrees(depth: usize, seed: &[u32]) -> Vec<Vec<u32>> {
    let mut seed = seed.iter().cycle();
    let mut width = 1;
    let levels = (0..depth).map(|_| {
        let level: Vec<u32> = seed.by_ref().take(width).copied().collect();
        width = level.iter().sum::<u32>() as usize;
        level
    });
    levels.collect()
}

prop_compose! {
    fn any_tree()(depth in 1_usize..5, seed in prop::collection::vec(1_u32..5, 1..9)) -> Arc<Tree> {
        Arc::new(Tree::from_degrees(&degrees(depth, &seed)).unwrap())
    }
}

/// Group sizes from 1 to `most`.
fn any_units(most: u64, share: (u32, u32, u32)) -> Units {
    let group = 1 + u64::from(share.0) % most;
    let parity = u64::from(share.1) % group;
    let spare = u64::from(share.2) % (group - parity);
    units((group - parity - spare) as u32, parity as u32, spare as u32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn maps_are_inverse_and_spread_every_group_evenly(
        tree in any_tree(), share: (u32, u32, u32), motr: bool, first_tile in 0_u64..1 << 40, first in 0_usize..2,
    ) {
        let levels: Vec<usize> = (first.min(tree.depth() - 1)..tree.depth()).collect();
        let symmetric = Symmetric::within(&tree, &levels).unwrap();
        let settings = Settings {
            mode: if motr { Mode::Motr } else { Mode::Declustered },
            seed: [3, 4],
            first_level: levels[0],
            ..Settings::new(any_units(symmetric.targets().min(30), share))
        };
        let layout = Layout::new(tree.clone(), &settings).unwrap();
        let (rows, groups) = layout.tile();
        prop_assert_eq!(rows * symmetric.targets(), groups * layout.group_size());
        let mut seen = HashSet::new();
        for group in first_tile * groups..(first_tile + 1) * groups {
            for unit in 0..layout.group_size() as u32 {
                let source = Source { group, unit };
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
        // Whatever is not the place of a unit has none.
        for frame in first_tile * rows..(first_tile + 1) * rows {
            for target in 0..tree.leaf_count() as u64 {
                let place = Place { target, frame };
                prop_assert_eq!(layout.source(FILE, place).unwrap().is_some(), seen.contains(&place));
            }
        }
    }

    #[test]
    fn filled_layouts_leave_no_holes(tree in any_tree(), share: (u32, u32, u32), motr: bool, start in 0_u64..1 << 40) {
        let symmetric = Symmetric::within(&tree, &(0..tree.depth()).collect::<Vec<_>>()).unwrap();
        let mut units = any_units((tree.leaf_count() as u64 - symmetric.targets()).clamp(1, 30), share);
        units.data += symmetric.targets() as u32;
        let settings = Settings {
            mode: if motr { Mode::Motr } else { Mode::Declustered },
            water_filling: true,
            ..Settings::new(units)
        };
        if tree.leaf_count() as u64 <= symmetric.targets() {
            prop_assert!(Layout::new(tree.clone(), &settings).is_err());
            return Ok(());
        }
        let layout = Layout::new(tree.clone(), &settings).unwrap();
        prop_assert!(layout.plan().symmetric().is_none());
        let tolerance = layout.tolerance().unwrap();
        let mut next = HashMap::new();
        for group in start..start + 20 {
            for unit in 0..layout.group_size() as u32 {
                let source = Source { group, unit };
                let place = layout.place(FILE, source).unwrap();
                prop_assert_eq!(layout.source(FILE, place).unwrap(), Some(source));
                let next = next.entry(place.target).or_insert(place.frame);
                prop_assert_eq!(place.frame, *next, "group {} unit {}", group, unit);
                *next += 1;
            }
            let targets = targets_of(&layout, FILE, group);
            prop_assert_eq!(targets.iter().collect::<HashSet<_>>().len(), targets.len());
            for level in 0..tree.depth() {
                let mut counts: Vec<u64> = tree.domains(level).map(|domain| units_below(&tree, domain, &targets)).collect();
                counts.sort_unstable_by(|one, other| other.cmp(one));
                let tolerated = tolerance.exact[level] as usize;
                prop_assert!(counts[..tolerated].iter().sum::<u64>() <= u64::from(units.parity));
                // At the top no other split is more even.
                if level == 0 {
                    let next: u64 = counts.iter().take(tolerated + 1).sum();
                    prop_assert!(tolerated == counts.len() || next > u64::from(units.parity));
                    for (place, domain) in tree.domains(0).enumerate() {
                        let held = units_below(&tree, domain, &targets);
                        let size = tree.leaves_below(domain).len() as u64;
                        prop_assert!(held == size || held + 1 >= counts[0], "{place}: {held} of {size}");
                    }
                }
            }
        }
    }

    #[test]
    fn named_failures_lose_no_more_than_said(tree in any_tree(), share: (u32, u32, u32), picks in prop::collection::vec((0_usize..4, 0_usize..99), 1..4), water: bool) {
        let symmetric = Symmetric::within(&tree, &(0..tree.depth()).collect::<Vec<_>>()).unwrap();
        let most = if water { tree.leaf_count() as u64 } else { symmetric.targets() };
        let settings = Settings { water_filling: water, ..Settings::new(any_units(most, share)) };
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
        // Counted, they may lie elsewhere, but not do more harm.
        let mut counts = vec![0; tree.depth()];
        failed.iter().collect::<HashSet<_>>().iter().for_each(|domain| counts[domain.level] += 1);
        let tests = [Test::Exact, Test::Sum, Test::Polytope].map(|test| layout.tolerates(&counts, test).unwrap());
        prop_assert!(verdict.loss <= tests[0].loss, "{:?} {:?}", verdict, tests);
        prop_assert!(tests[0].loss <= tests[1].loss && tests[1].loss <= tests[2].loss, "{:?}", tests);
        prop_assert!(tests[1].tolerable || !tests[2].tolerable);
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

#[test]
fn a_small_domain_is_filled() {
    for (sizes, group, shares, tolerance) in [
        (vec![4, 4, 4, 4, 1], units(6, 2, 0), vec![2, 2, 2, 1, 1], 1),
        (vec![1, 8, 8], units(4, 2, 0), vec![3, 2, 1], 0),
        (vec![10, 10, 10, 2], units(8, 2, 2), vec![4, 3, 3, 2], 0),
    ] {
        let tree = racks(&sizes);
        let mut settings = Settings::new(group);
        assert!(matches!(
            Layout::new(tree.clone(), &settings),
            Err(Error::TooFewTargets { .. })
        ));
        settings.water_filling = true;
        let layout = Layout::new(tree.clone(), &settings).unwrap();
        assert_eq!(layout.tolerance().unwrap().exact, [tolerance, 2]);
        for group in 0..20 {
            let targets = targets_of(&layout, FILE, group);
            let held = tree
                .domains(0)
                .map(|rack| units_below(&tree, rack, &targets));
            let mut held: Vec<u64> = held.collect();
            held.sort_unstable_by(|one, other| other.cmp(one));
            assert_eq!(held, shares);
        }
    }
    // Where the symmetric tree is large enough it is used all the same.
    let settings = Settings {
        water_filling: true,
        ..Settings::new(units(6, 2, 0))
    };
    let layout = Layout::new(racks(&[3, 3, 3, 2]), &settings).unwrap();
    assert_eq!(layout.plan().symmetric().unwrap().degrees(), [4, 2]);
    assert_eq!(layout.tolerance().unwrap().exact, [1, 2]);
}

#[test]
fn levels_that_cannot_be_met_are_left_out() {
    use State::{Dropped, Kept, Unmet};
    let plan = |tree: &Arc<Tree>, group, wanted: &[u32], water_filling| {
        let settings = Settings {
            tolerance: Some(wanted),
            water_filling,
            ..Settings::new(group)
        };
        Plan::new(tree, &settings)
    };
    let tree = regular(&[4, 3, 2, 6]);
    let found = plan(&tree, units(8, 2, 2), &[1, 2, 2, 2], false).unwrap();
    assert_eq!(found.states(), [Unmet, Kept, Kept, Kept]);
    assert_eq!(found.symmetric().unwrap().degrees(), [12, 2, 6]);
    let found = plan(&tree, units(8, 2, 2), &[0, 0, 1, 0], false).unwrap();
    assert_eq!(found.states(), [Dropped, Dropped, Kept, Kept]);
    assert_eq!(found.symmetric().unwrap().degrees(), [24, 6]);
    let found = plan(&tree, units(8, 2, 2), &[0, 0, 0, 0], false).unwrap();
    assert_eq!(found.levels(), [3]);
    // A level in the middle; the racks above it stay.
    let tree = regular(&[6, 1, 2, 8]);
    let found = plan(&tree, units(8, 2, 2), &[1, 2, 2, 2], false).unwrap();
    assert_eq!(found.states(), [Kept, Unmet, Kept, Kept]);
    assert_eq!(found.symmetric().unwrap().degrees(), [6, 2, 8]);
    // Without the racks, or by filling them.
    let tree = racks(&[4, 4, 4, 4, 1]);
    let found = plan(&tree, units(6, 2, 0), &[1, 2], false).unwrap();
    assert_eq!(found.states(), [Unmet, Kept]);
    let found = plan(&tree, units(6, 2, 0), &[1, 2], true).unwrap();
    assert_eq!(
        (found.states(), found.symmetric()),
        (&[Kept, Kept][..], None)
    );
    let wanted = plan(&tree, units(6, 2, 0), &[1, 3], true).unwrap_err();
    let (level, wanted_, possible) = (1, 3, 2);
    assert_eq!(
        wanted,
        Error::Unmet {
            level,
            wanted: wanted_,
            possible
        }
    );
}

#[test]
fn a_level_that_is_left_out_counts_as_what_is_below_it() {
    let tree = regular(&[4, 3, 2, 6]);
    let settings = Settings {
        tolerance: Some(&[1, 2, 2, 2]),
        ..Settings::new(units(8, 2, 2))
    };
    let layout = Layout::new(tree, &settings).unwrap();
    let exact = |failed: &[u32]| layout.tolerates(failed, Test::Exact).unwrap();
    assert_eq!(exact(&[1, 0, 0, 0]), exact(&[0, 3, 0, 0]));
    assert!(!exact(&[1, 0, 0, 0]).tolerable);
    assert!(
        !layout
            .tolerates(&[1, 0, 0, 0], Test::Polytope)
            .unwrap()
            .tolerable
    );
    let rack = Domain { level: 0, index: 2 };
    assert_eq!(layout.survives(&[rack]).unwrap().loss, 3);
}

/// Of every target that fails: the load of its rebuild on the targets outside of its rack, the highest by the mean.
fn rebuild_loads(layout: &Layout, file: File, tiles: u64) -> Vec<f64> {
    let targets = layout.tree().leaf_count();
    let mut shared = vec![vec![0_u32; targets]; targets];
    for group in 0..tiles * layout.tile().1 {
        let of_group = targets_of(layout, file, group);
        for &one in &of_group {
            of_group.iter().for_each(|&other| shared[one][other] += 1);
        }
    }
    let load = |failed: usize| {
        let tree = layout.tree();
        let rack = tree.leaves_below(tree.ancestor(failed, 0));
        let outside = (0..targets).filter(|target| !rack.contains(target));
        let loads: Vec<f64> = outside
            .map(|target| shared[failed][target].into())
            .collect();
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        loads.iter().copied().fold(0.0, f64::max) / mean
    };
    (0..targets).map(load).collect()
}

#[test]
fn a_rebuild_loads_all_survivors_alike() {
    // Motr's permutations give 4 to 31.
    for (degrees, group, files, most) in [
        (vec![4, 3, 4], units(6, 2, 0), 10, 1.5),
        (vec![6, 4, 4], units(6, 2, 0), 10, 1.5),
        (vec![8, 2, 4], units(8, 2, 2), 5, 1.5),
        (vec![4, 4, 4], units(4, 1, 0), 5, 1.5),
        (vec![8, 7, 2, 4], units(8, 2, 2), 1, 2.0),
    ] {
        let layout = layout(&regular(&degrees), group);
        for key in 0..files {
            let loads = rebuild_loads(&layout, File { container: 1, key }, 400);
            let highest = loads.into_iter().fold(0.0, f64::max);
            assert!(highest <= most, "{degrees:?}: {highest}");
        }
    }
}

/// Maps of some tiles there and back, in both modes, and no target twice in a group.
fn check_maps(tree: &Arc<Tree>, group: Units, file: File) {
    for mode in [Mode::Declustered, Mode::Motr] {
        let settings = Settings {
            mode,
            water_filling: true,
            ..Settings::new(group)
        };
        let layout = Layout::new(tree.clone(), &settings).unwrap();
        for group in (0..2 * layout.tile().1).chain([1 << 40]) {
            let targets = targets_of(&layout, file, group);
            assert_eq!(targets.iter().collect::<HashSet<_>>().len(), targets.len());
            for unit in 0..targets.len() as u32 {
                let source = Source { group, unit };
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
        (vec![7], units(4, 2, 1)),      // G = P
        (vec![3, 4], units(8, 2, 2)),   // the same, over two levels
        (vec![7, 3], units(4, 1, 0)),   // no common factor: as many rows as units
        (vec![16, 17], units(3, 0, 0)), // fewer units than racks; small and large permutations
    ] {
        check_maps(&regular(&degrees), group, FILE);
    }
    check_maps(&racks(&[4, 4, 4, 4, 1]), units(6, 2, 0), FILE);
}

/// Motr takes the permutations of file (0, 0) in tile 0 for known, whatever the seed is.
#[test]
fn file_zero_is_as_any_other() {
    let tree = regular(&[6, 4, 4]);
    check_maps(&tree, units(6, 2, 0), File::default());
    for mode in [Mode::Declustered, Mode::Motr] {
        let of = |seed| {
            let settings = Settings {
                mode,
                seed,
                ..Settings::new(units(6, 2, 0))
            };
            let layout = Layout::new(tree.clone(), &settings).unwrap();
            (0..12)
                .flat_map(|group| targets_of(&layout, File::default(), group))
                .collect::<Vec<_>>()
        };
        assert_ne!(of([0, 0]), of([3, 4]));
        assert_eq!(of([3, 4]), of([3, 4]));
    }
}

#[test]
fn levels_for_which_nothing_is_wanted_stay_in_the_middle() {
    let tree = regular(&[8, 7, 2, 4]);
    let settings = Settings {
        tolerance: Some(&[1, 0, 0, 2]),
        ..Settings::new(units(8, 2, 2))
    };
    let layout = Layout::new(tree, &settings).unwrap();
    assert_eq!(layout.plan().states(), [State::Kept; 4]);
    assert_eq!(layout.tolerance().unwrap().exact, [1, 2, 2, 2]);
    // Where a level tolerates nothing, no failure in it is inside the polytope, nor with others elsewhere.
    let layout = self::layout(&regular(&[2, 3, 2, 4]), units(8, 2, 2));
    assert_eq!(layout.tolerance().unwrap().bound, [0, 1, 2, 2]);
    for failed in [[1, 0, 0, 0], [1, 0, 0, 1], [2, 0, 0, 0]] {
        for test in [Test::Polytope, Test::Sum, Test::Exact] {
            assert!(!layout.tolerates(&failed, test).unwrap().tolerable);
        }
    }
}

/// The document's way to fill a tile, by vacancies, depends on which of the most vacant comes first.
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
fn spares_take_lost_units_and_the_group_is_whole_again() {
    let tree = regular(&[8, 7, 2, 4]);
    let layout = layout(&tree, units(8, 2, 2));
    for group in 0..112 {
        let mut slots: Vec<u32> = (0..10).collect();
        let targets = targets_of(&layout, FILE, group);
        let rack = tree.ancestor(targets[3], 0);
        let left = layout.repair(FILE, group, &[rack], &mut slots);
        // A rack holds two units at most, of which each may be a spare.
        let lost_spares = units_below(&tree, rack, &targets[10..]) as u32;
        let lost = units_below(&tree, rack, &targets[..10]) as u32;
        assert_eq!(left, Ok(lost.saturating_sub(2 - lost_spares)));
        for (unit, &slot) in slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| **slot != UNPLACED)
        {
            assert!(slot as usize == unit || slot >= 10);
            assert_ne!(tree.ancestor(targets[slot as usize], 0), rack);
        }
        // The same failure again changes nothing.
        let before = slots.clone();
        assert_eq!(layout.repair(FILE, group, &[rack], &mut slots), left);
        assert_eq!(slots, before);
        // The units that are left again survive any rack.
        let held = |domain| {
            let used = slots.iter().filter(|slot| **slot != UNPLACED);
            let used: Vec<usize> = used.map(|&slot| targets[slot as usize]).collect();
            units_below(&tree, domain, &used)
        };
        assert!(tree.domains(0).all(|rack| held(rack) <= 2));
    }
}

#[test]
fn the_emptiest_spare_is_taken_first() {
    // Four racks of three, 2 + 1 units and 3 spares: racks hold 2, 2, 1, 1 units with the spares.
    let tree = regular(&[4, 3]);
    let layout = layout(&tree, units(2, 1, 3));
    for group in 0..100 {
        let targets = targets_of(&layout, FILE, group);
        let rack = |unit: usize| tree.ancestor(targets[unit], 0);
        let mut slots = vec![0, 1, 2];
        let lost = Domain {
            level: 1,
            index: targets[0],
        };
        assert_eq!(layout.repair(FILE, group, &[lost], &mut slots), Ok(0));
        let racks: HashSet<Domain> = slots.iter().map(|&slot| rack(slot as usize)).collect();
        assert_eq!(racks.len(), 3, "{group}: {slots:?}");
    }
}

#[test]
fn what_cannot_be_repaired_is_an_error() {
    let tree = regular(&[6, 2]);
    let layout = layout(&tree, units(3, 1, 1));
    let targets = targets_of(&layout, FILE, 5);
    let leaf = |unit: usize| Domain {
        level: 1,
        index: targets[unit],
    };
    let (group, lost, parity) = (5, 2, 1);
    let mut slots = vec![0, 1, 2, 3];
    let error = layout.repair(FILE, 5, &[leaf(0), leaf(1)], &mut slots);
    assert_eq!(
        error,
        Err(Error::Lost {
            group,
            lost,
            parity
        })
    );
    let mut slots = vec![0, 1, 2, 3];
    assert_eq!(layout.repair(FILE, 5, &[leaf(0)], &mut slots), Ok(0));
    assert_eq!(slots, [4, 1, 2, 3]);
    assert_eq!(
        layout.repair(FILE, 5, &[leaf(0), leaf(4)], &mut slots),
        Ok(1)
    );
    assert_eq!(slots, [UNPLACED, 1, 2, 3]);
    let of = |slots: &[u32]| layout.repair(FILE, 5, &[], &mut slots.to_vec());
    assert!(matches!(of(&[0, 1]), Err(Error::Slots { .. })));
    assert!(matches!(of(&[0, 1, 2, 9]), Err(Error::NoUnit { .. })));
    assert_eq!(of(&[0, 1, 2, 2]), Err(Error::SlotTwice));
}

#[test]
fn what_is_out_of_range_is_an_error() {
    let tree = regular(&[3, 2]);
    let layout = layout(&tree, units(3, 1, 0));
    let (rows, groups) = layout.tile();
    assert_eq!((rows, groups), (2, 3));
    let place = |group, unit| layout.place(FILE, Source { group, unit });
    assert!(matches!(place(0, 4), Err(Error::NoUnit { unit: 4, .. })));
    let last_tile = u64::MAX / rows;
    assert_eq!(
        place(u64::MAX, 0).map(|place| place.frame / rows),
        Ok(u64::MAX / groups)
    );
    let source = |target, frame| layout.source(FILE, Place { target, frame });
    assert!(matches!(source(6, 0), Err(Error::NoTarget { .. })));
    assert_eq!(source(0, last_tile * rows), Err(Error::TooLarge));
    // A tile never has more rows than groups: frames always fit.
    let tall = Layout::new(regular(&[7]), &Settings::new(units(6, 0, 0))).unwrap();
    assert_eq!(tall.tile(), (6, 7));
    let tall = Layout::new(regular(&[3, 3]), &Settings::new(units(9, 0, 0))).unwrap();
    assert_eq!(tall.tile(), (1, 1));
    assert_eq!(
        tall.place(
            FILE,
            Source {
                group: u64::MAX,
                unit: 8
            }
        )
        .map(|place| place.frame),
        Ok(u64::MAX)
    );
    let failed = |failed: &[u32]| layout.tolerates(failed, Test::Exact);
    assert!(matches!(failed(&[1]), Err(Error::Levels { .. })));
    assert!(matches!(
        failed(&[4, 0]),
        Err(Error::TooManyFailures { .. })
    ));
    assert_eq!(failed(&[3, 6]).unwrap().loss, 4);
    let nowhere = Domain { level: 2, index: 0 };
    assert!(matches!(
        layout.survives(&[nowhere]),
        Err(Error::NoDomain { .. })
    ));
    assert!(matches!(
        layout.repair(FILE, 0, &[nowhere], &mut [0, 1, 2, 3]),
        Err(Error::NoDomain { .. })
    ));
    let mut settings = Settings::new(units(3, 1, 0));
    settings.first_level = 2;
    assert!(matches!(
        Plan::new(&tree, &settings),
        Err(Error::NoLevel { .. })
    ));
    settings.first_level = 0;
    settings.tolerance = Some(&[1]);
    assert!(matches!(
        Plan::new(&tree, &settings),
        Err(Error::Levels { .. })
    ));
    settings = Settings::new(units(6, 1, 0));
    for water_filling in [false, true] {
        settings.water_filling = water_filling;
        assert!(matches!(
            Plan::new(&tree, &settings),
            Err(Error::TooFewTargets { .. })
        ));
    }
}

#[test]
fn motr_has_a_largest_number_of_children() {
    let flat = regular(&[65536]);
    let mut settings = Settings {
        mode: Mode::Motr,
        ..Settings::new(units(8, 2, 1))
    };
    let error = Layout::new(flat.clone(), &settings).unwrap_err();
    assert!(matches!(
        error,
        Error::FanOut {
            level: 0,
            children: 65536
        }
    ));
    settings.mode = Mode::Declustered;
    let layout = Layout::new(flat, &settings).unwrap();
    let source = Source {
        group: 12345,
        unit: 7,
    };
    let place = layout.place(FILE, source).unwrap();
    assert_eq!(layout.source(FILE, place), Ok(Some(source)));
}
