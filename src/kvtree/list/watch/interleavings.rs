//! Readers at once, in every order of their steps: `RUSTFLAGS="--cfg loom" cargo test` in tests/interleavings.

use super::*;
use loom::sync::Arc;
use loom::thread;

fn element(number: usize) -> *mut RawElem {
    std::ptr::without_provenance_mut(16 * number)
}

fn give(watch: &Watch, number: usize) {
    watch.hand_out(element(number));
}

/// Elements 1 to 4 fill the ring; 1 to 3 have then left the tree.
fn after_removals() -> Arc<Watch> {
    let mut watch = Watch::default();
    watch.fit(0);
    assert_eq!(watch.ring.len(), 4);
    (1..=4).for_each(|n| give(&watch, n));
    assert!(watch.check(|_| true, || true));
    (1..=3).for_each(|n| watch.forget(element(n)));
    Arc::new(watch)
}

/// Looks at the suspects; all of them stand in the tree.
fn look(watch: &Watch, seen: &mut Vec<usize>) {
    let mut everything = false;
    let is_unchanged = |elem: *mut RawElem| {
        let number = elem.addr() / 16;
        assert!(number >= 4, "{number} has left the tree");
        seen.push(number);
        true
    };
    assert!(watch.check(is_unchanged, || {
        everything = true;
        true
    }));
    if everything {
        seen.extend(4..10);
    }
}

/// One reader asks for elements while the others look something up.
fn readers(handing: &'static [&'static [usize]], looks: usize) {
    let mut model = loom::model::Builder::new();
    // Whoever spins could be tried for ever.
    model.preemption_bound = Some(3);
    model.check(move || {
        let watch = after_removals();
        let hands = handing.iter().map(|numbers| {
            let watch = watch.clone();
            thread::spawn(move || numbers.iter().for_each(|&n| give(&watch, n)))
        });
        let hands: Vec<_> = hands.collect();
        let mut seen = Vec::new();
        (0..looks).for_each(|_| look(&watch, &mut seen));
        hands.into_iter().for_each(|hand| hand.join().unwrap());
        // From here on a client may change what it was given: whoever was not looked at must be now.
        look(&watch, &mut seen);
        let given = handing.iter().flat_map(|numbers| numbers.iter());
        given.for_each(|n| assert!(seen.contains(n), "{n} was missed"));
        // And the latest one always.
        let mut latest = Vec::new();
        look(&watch, &mut latest);
        let last = |numbers: &&[usize]| latest.contains(numbers.last().unwrap());
        assert!(handing.iter().any(last));
    });
}

#[test]
fn a_reader_never_sees_what_left_the_tree() {
    readers(&[&[5]], 1);
    readers(&[&[5, 6]], 1);
}

#[test]
fn two_lookups_and_a_walk() {
    readers(&[&[5, 6]], 2);
}

#[test]
fn two_walks_lose_no_element() {
    loom::model(|| {
        let watch = after_removals();
        let other = watch.clone();
        let walk = thread::spawn(move || give(&other, 5));
        give(&watch, 6);
        walk.join().unwrap();
        let mut seen = Vec::new();
        look(&watch, &mut seen);
        assert!(seen.contains(&5) && seen.contains(&6));
    });
}

#[test]
fn a_walk_that_laps_the_ring_is_noticed() {
    readers(&[&[5, 6, 7, 8, 9]], 1);
}
