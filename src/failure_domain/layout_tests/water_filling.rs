//! Water-filling: layouts over domains too uneven for a symmetric tree.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn filled_layouts_leave_no_holes(tree in any_tree(), share: (u32, u32, u32), motr: bool, start in 0_u64..1 << 40) {
        let symmetric = SymmetricTree::within(&tree, &(0..tree.depth()).collect::<Vec<_>>()).unwrap();
        let mut units = any_units((tree.leaf_count() as u64 - symmetric.targets()).clamp(1, 30), share);
        units.data += symmetric.targets() as u32;
        let settings = LayoutSettings {
            mode: if motr { PermutationMode::Motr } else { PermutationMode::Declustered },
            water_filling: true,
            ..LayoutSettings::new(units)
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
                let source = UnitAddress { group, unit };
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
                // In the first level no split is more even.
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
}

#[test]
fn a_small_domain_is_filled() {
    for (sizes, group, shares, tolerance) in [
        (vec![4, 4, 4, 4, 1], units(6, 2, 0), vec![2, 2, 2, 1, 1], 1),
        (vec![1, 8, 8], units(4, 2, 0), vec![3, 2, 1], 0),
        (vec![10, 10, 10, 2], units(8, 2, 2), vec![4, 3, 3, 2], 0),
    ] {
        let tree = racks(&sizes);
        let mut settings = LayoutSettings::new(group);
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
    // A symmetric tree that is large enough is still used.
    let settings = LayoutSettings {
        water_filling: true,
        ..LayoutSettings::new(units(6, 2, 0))
    };
    let layout = Layout::new(racks(&[3, 3, 3, 2]), &settings).unwrap();
    assert_eq!(layout.plan().symmetric().unwrap().degrees(), [4, 2]);
    assert_eq!(layout.tolerance().unwrap().exact, [1, 2]);
}
