//! Who gets which place, for any losses.

use super::places::{Claim, Places};
use proptest::prelude::*;

/// A world and which of its places live: at least one does.
fn losses() -> impl Strategy<Value = (usize, usize, Vec<usize>)> {
    (1usize..20).prop_flat_map(|size| {
        let active = 1..=size;
        let alive = proptest::sample::subsequence((0..size).collect::<Vec<_>>(), 1..=size);
        (Just(size), active, alive.prop_shuffle())
    })
}

/// The new place of the process that had the place `old`.
fn new_place(places: &Places, alive: &[usize], old: usize) -> usize {
    let rank = alive.iter().position(|&place| place == old);
    places.place_of(rank.expect("it lives")).unwrap()
}

proptest! {
    #[test]
    fn every_living_process_has_one_place((size, active, alive) in losses()) {
        let places = Places::assign(size, active, &alive);
        let mut taken: Vec<_> = alive.iter().map(|&old| new_place(&places, &alive, old)).collect();
        taken.sort();
        prop_assert_eq!(taken, (0..alive.len()).collect::<Vec<_>>());
        let failed: Vec<_> = (0..size).filter(|old| !alive.contains(old)).collect();
        prop_assert_eq!(places.failed, failed);
    }

    #[test]
    fn survivors_keep_their_ranks_and_spares_fill_the_rest((size, active, alive) in losses()) {
        let places = Places::assign(size, active, &alive);
        let lost = (0..active).filter(|rank| !alive.contains(rank)).count();
        let spares = alive.iter().filter(|&&old| old >= active).count();
        prop_assert_eq!(places.depleted, spares < lost);
        prop_assert_eq!(places.recovered.len(), active - lost.saturating_sub(spares));
        prop_assert_eq!(places.recovered.iter().filter(|r| **r).count(), lost.min(spares));
        if !places.depleted {
            for rank in (0..active).filter(|rank| alive.contains(rank)) {
                prop_assert_eq!(new_place(&places, &alive, rank), rank);
                prop_assert!(!places.recovered[rank]);
            }
        }
    }

    #[test]
    fn order_is_kept_when_the_world_shrinks((size, active, alive) in losses()) {
        let places = Places::assign(size, active, &alive);
        let ranks = (0..active).filter(|rank| alive.contains(rank));
        let moved: Vec<_> = ranks.map(|rank| new_place(&places, &alive, rank)).collect();
        prop_assert!(moved.is_sorted());
        let spares = (active..size).filter(|old| alive.contains(old));
        let left: Vec<_> = spares.map(|old| new_place(&places, &alive, old)).collect();
        let waiting: Vec<_> = left.into_iter().filter(|&p| p >= places.recovered.len()).collect();
        prop_assert!(waiting.is_sorted());
    }
}

#[test]
fn the_last_spare_takes_the_first_lost_rank() {
    let alive = [0, 2, 4, 5, 6, 7];
    let places = Places::assign(8, 5, &alive);
    let now = |old| new_place(&places, &alive, old);
    assert_eq!((now(7), now(6), now(5)), (1, 3, 5));
    assert_eq!(places.failed, [1, 3]);
    assert!(!places.depleted);
}

#[test]
fn claims_that_contradict_each_other_are_an_error() {
    let claims = |places: [usize; 2]| places.map(|place| Claim::again(place, 3, 2));
    assert!(Places::from_claims(&claims([0, 2])).is_ok());
    assert!(Places::from_claims(&claims([1, 1])).is_err());
    assert!(Places::from_claims(&claims([0, 3])).is_err());
}

#[test]
fn a_dead_spare_takes_no_rank() {
    let alive = [5, 0, 2];
    let places = Places::assign(6, 3, &alive);
    assert_eq!(new_place(&places, &alive, 5), 1);
    assert_eq!(places.ranks, [1, 0, 2]);
    assert_eq!(places.failed, [1, 3, 4]);
    assert!(!places.depleted);
}
