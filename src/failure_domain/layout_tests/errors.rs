//! Arguments out of range.

use super::*;

#[test]
fn what_is_out_of_range_is_an_error() {
    let tree = regular(&[3, 2]);
    let layout = layout(&tree, units(3, 1, 0));
    let (rows, groups) = layout.tile();
    assert_eq!((rows, groups), (2, 3));
    let place = |group, unit| layout.place(FILE, UnitAddress { group, unit });
    assert!(matches!(place(0, 4), Err(Error::NoUnit { unit: 4, .. })));
    let last_tile = u64::MAX / rows;
    assert_eq!(
        place(u64::MAX, 0).map(|place| place.frame / rows),
        Ok(u64::MAX / groups)
    );
    let source = |target, frame| layout.source(FILE, TargetAddress { target, frame });
    assert!(matches!(source(6, 0), Err(Error::NoTarget { .. })));
    assert_eq!(source(0, last_tile * rows), Err(Error::TooLarge));
    // A tile never has more rows than groups, so the frame fits into 64 bits.
    let tall = Layout::new(regular(&[7]), &LayoutSettings::new(units(6, 0, 0))).unwrap();
    assert_eq!(tall.tile(), (6, 7));
    let tall = Layout::new(regular(&[3, 3]), &LayoutSettings::new(units(9, 0, 0))).unwrap();
    assert_eq!(tall.tile(), (1, 1));
    assert_eq!(
        tall.place(
            FILE,
            UnitAddress {
                group: u64::MAX,
                unit: 8
            }
        )
        .map(|place| place.frame),
        Ok(u64::MAX)
    );
    let failed = |failed: &[u32]| layout.tolerates(failed, FailureTest::Exact);
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
    let mut settings = LayoutSettings::new(units(3, 1, 0));
    settings.first_level = 2;
    assert!(matches!(
        LevelPlan::new(&tree, &settings),
        Err(Error::NoLevel { .. })
    ));
    settings.first_level = 0;
    settings.tolerance = Some(&[1]);
    assert!(matches!(
        LevelPlan::new(&tree, &settings),
        Err(Error::Levels { .. })
    ));
    settings = LayoutSettings::new(units(6, 1, 0));
    for water_filling in [false, true] {
        settings.water_filling = water_filling;
        assert!(matches!(
            LevelPlan::new(&tree, &settings),
            Err(Error::TooFewTargets { .. })
        ));
    }
}
