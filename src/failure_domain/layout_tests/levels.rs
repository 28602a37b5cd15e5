//! Which levels take part in a layout.

use std::sync::Arc;

use super::*;

#[test]
fn levels_that_cannot_be_met_are_left_out() {
    use LevelState::{Dropped, Kept, Unmet};
    let plan = |tree: &Arc<DomainTree>, group, wanted: &[u32], water_filling| {
        let settings = LayoutSettings {
            tolerance: Some(wanted),
            water_filling,
            ..LayoutSettings::new(group)
        };
        LevelPlan::new(tree, &settings)
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
    // Leaves out the racks, or fills them.
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
    let settings = LayoutSettings {
        tolerance: Some(&[1, 2, 2, 2]),
        ..LayoutSettings::new(units(8, 2, 2))
    };
    let layout = Layout::new(tree, &settings).unwrap();
    let exact = |failed: &[u32]| layout.tolerates(failed, FailureTest::Exact).unwrap();
    assert_eq!(exact(&[1, 0, 0, 0]), exact(&[0, 3, 0, 0]));
    assert!(!exact(&[1, 0, 0, 0]).tolerable);
    assert!(
        !layout
            .tolerates(&[1, 0, 0, 0], FailureTest::Polytope)
            .unwrap()
            .tolerable
    );
    let rack = Domain { level: 0, index: 2 };
    assert_eq!(layout.survives(&[rack]).unwrap().loss, 3);
}

#[test]
fn levels_for_which_nothing_is_wanted_stay_in_the_middle() {
    let tree = regular(&[8, 7, 2, 4]);
    let settings = LayoutSettings {
        tolerance: Some(&[1, 0, 0, 2]),
        ..LayoutSettings::new(units(8, 2, 2))
    };
    let layout = Layout::new(tree, &settings).unwrap();
    assert_eq!(layout.plan().states(), [LevelState::Kept; 4]);
    assert_eq!(layout.tolerance().unwrap().exact, [1, 2, 2, 2]);
    // The polytope contains no failure in a level that tolerates nothing.
    let layout = self::layout(&regular(&[2, 3, 2, 4]), units(8, 2, 2));
    assert_eq!(layout.tolerance().unwrap().bound, [0, 1, 2, 2]);
    for failed in [[1, 0, 0, 0], [1, 0, 0, 1], [2, 0, 0, 0]] {
        for test in [FailureTest::Polytope, FailureTest::Sum, FailureTest::Exact] {
            assert!(!layout.tolerates(&failed, test).unwrap().tolerable);
        }
    }
}
