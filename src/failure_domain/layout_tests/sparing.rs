//! Distributed sparing.

use std::collections::HashSet;

use super::super::sparing::UNPLACED;
use super::*;

#[test]
fn spares_take_lost_units_and_the_group_is_whole_again() {
    let tree = regular(&[8, 7, 2, 4]);
    let layout = layout(&tree, units(8, 2, 2));
    for group in 0..112 {
        let mut slots: Vec<u32> = (0..10).collect();
        let targets = targets_of(&layout, FILE, group);
        let rack = tree.ancestor(targets[3], 0);
        let left = layout.repair(FILE, group, &[rack], &mut slots);
        // A rack holds at most two units, and either may be a spare.
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
        // Repeating the repair changes nothing.
        let before = slots.clone();
        assert_eq!(layout.repair(FILE, group, &[rack], &mut slots), left);
        assert_eq!(slots, before);
        // The group again survives the loss of any rack.
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
