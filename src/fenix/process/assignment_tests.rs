//! Slots after any losses.

use super::assignment::{MembershipClaim, RankAssignment};
use proptest::prelude::*;

/// A world and its living slots, at least one.
fn losses() -> impl Strategy<Value = (usize, usize, Vec<usize>)> {
    (1usize..20).prop_flat_map(|size| {
        let active = 1..=size;
        let alive = proptest::sample::subsequence((0..size).collect::<Vec<_>>(), 1..=size);
        (Just(size), active, alive.prop_shuffle())
    })
}

/// The new slot of the process that had the slot `old`.
fn new_slot(assignment: &RankAssignment, alive: &[usize], old: usize) -> usize {
    let rank = alive.iter().position(|&slot| slot == old);
    assignment.slot_of(rank.expect("it lives")).unwrap()
}

proptest! {
    #[test]
    fn every_living_process_has_one_place((size, active, alive) in losses()) {
        let assignment = RankAssignment::assign(size, active, &alive);
        let mut taken: Vec<_> = alive.iter().map(|&old| new_slot(&assignment, &alive, old)).collect();
        taken.sort();
        prop_assert_eq!(taken, (0..alive.len()).collect::<Vec<_>>());
        let failed: Vec<_> = (0..size).filter(|old| !alive.contains(old)).collect();
        prop_assert_eq!(assignment.failed, failed);
    }

    #[test]
    fn survivors_keep_their_ranks_and_spares_fill_the_rest((size, active, alive) in losses()) {
        let assignment = RankAssignment::assign(size, active, &alive);
        let lost = (0..active).filter(|rank| !alive.contains(rank)).count();
        let spares = alive.iter().filter(|&&old| old >= active).count();
        prop_assert_eq!(assignment.depleted, spares < lost);
        prop_assert_eq!(assignment.recovered.len(), active - lost.saturating_sub(spares));
        prop_assert_eq!(assignment.recovered.iter().filter(|r| **r).count(), lost.min(spares));
        if !assignment.depleted {
            for rank in (0..active).filter(|rank| alive.contains(rank)) {
                prop_assert_eq!(new_slot(&assignment, &alive, rank), rank);
                prop_assert!(!assignment.recovered[rank]);
            }
        }
    }

    #[test]
    fn order_is_kept_when_the_world_shrinks((size, active, alive) in losses()) {
        let assignment = RankAssignment::assign(size, active, &alive);
        let ranks = (0..active).filter(|rank| alive.contains(rank));
        let moved: Vec<_> = ranks.map(|rank| new_slot(&assignment, &alive, rank)).collect();
        prop_assert!(moved.is_sorted());
        let spares = (active..size).filter(|old| alive.contains(old));
        let left: Vec<_> = spares.map(|old| new_slot(&assignment, &alive, old)).collect();
        let waiting: Vec<_> = left.into_iter().filter(|&p| p >= assignment.recovered.len()).collect();
        prop_assert!(waiting.is_sorted());
    }
}

#[test]
fn the_last_spare_takes_the_first_lost_rank() {
    let alive = [0, 2, 4, 5, 6, 7];
    let assignment = RankAssignment::assign(8, 5, &alive);
    let now = |old| new_slot(&assignment, &alive, old);
    assert_eq!((now(7), now(6), now(5)), (1, 3, 5));
    assert_eq!(assignment.failed, [1, 3]);
    assert!(!assignment.depleted);
}

#[test]
fn claims_that_contradict_each_other_are_an_error() {
    let claims = |slots: [usize; 2]| slots.map(|slot| MembershipClaim::again(slot, 3, 2));
    assert!(RankAssignment::from_claims(&claims([0, 2])).is_ok());
    assert!(RankAssignment::from_claims(&claims([1, 1])).is_err());
    assert!(RankAssignment::from_claims(&claims([0, 3])).is_err());
}

#[test]
fn only_most_of_a_world_is_a_quorum() {
    let repaired = |size, alive: &[usize]| {
        let mut claims: Vec<_> = alive
            .iter()
            .map(|&slot| MembershipClaim::again(slot, size, 1))
            .collect();
        assert!(
            RankAssignment::from_claims(&claims).is_ok(),
            "no quorum is demanded"
        );
        // One that demands it suffices.
        claims[0] = claims[0].with_quorum(true);
        RankAssignment::from_claims(&claims).is_ok()
    };
    assert!(repaired(5, &[4, 1, 2]) && !repaired(5, &[0, 3]));
    assert!(repaired(4, &[3, 0]) && !repaired(4, &[1, 2]));
    assert!(repaired(1, &[0]));
}

#[test]
fn a_dead_spare_takes_no_rank() {
    let alive = [5, 0, 2];
    let assignment = RankAssignment::assign(6, 3, &alive);
    assert_eq!(new_slot(&assignment, &alive, 5), 1);
    assert_eq!(assignment.ranks, [1, 0, 2]);
    assert_eq!(assignment.failed, [1, 3, 4]);
    assert!(!assignment.depleted);
}
