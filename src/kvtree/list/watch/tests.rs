use super::*;

fn element(number: usize) -> *mut RawElem {
    std::ptr::without_provenance_mut(16 * number)
}

fn give(watch: &Watch, number: usize) {
    watch.hand_out(element(number));
}

fn watch(count: usize) -> Watch {
    let mut watch = Watch::default();
    watch.fit(count);
    watch
}

/// What a reader looks at.
fn suspects(watch: &Watch) -> Vec<*mut RawElem> {
    let mut seen = Vec::new();
    let mut look = |elem| {
        seen.push(elem);
        true
    };
    assert!(watch.check(&mut look, || true));
    seen
}

/// Slots of earlier rounds are where the next reader writes, and where another one may look before it has.
#[test]
fn what_left_the_tree_stands_nowhere_in_the_ring() {
    for removed in 1..=100 {
        let watch = watch(256);
        for number in 1..=100 {
            give(&watch, number);
        }
        suspects(&watch);
        watch.forget(element(removed));
        let ring = watch.ring.iter().map(|slot| slot.load(Relaxed));
        assert!(ring.clone().all(|elem| elem != element(removed)));
        let latest: Vec<_> = (97..=100).filter(|&n| n != removed).collect();
        let kept: Vec<_> = ring.filter(|elem| !elem.is_null()).collect();
        assert_eq!(kept, latest.iter().map(|&n| element(n)).collect::<Vec<_>>());
    }
}

#[test]
fn an_index_that_is_built_anew_keeps_what_clients_hold_and_no_more() {
    let mut watch = watch(256);
    (1..=200).for_each(|n| give(&watch, n));
    let held = watch.held();
    assert_eq!(held, [197, 198, 199, 200].map(element));
    watch.renew(256, &held[1..]);
    let ring = watch.ring.iter().map(|slot| slot.load(Relaxed));
    assert_eq!(ring.filter(|elem| !elem.is_null()).count(), 3);
    assert_eq!(suspects(&watch), [200, 199, 198].map(element));
}

#[test]
fn the_latest_stay_under_suspicion() {
    let watch = watch(256);
    (1..=10).for_each(|n| give(&watch, n));
    assert_eq!(suspects(&watch).len(), 10);
    assert_eq!(suspects(&watch), [10, 9, 8, 7].map(element));
}

#[test]
fn more_than_the_ring_remembers_means_the_whole_list() {
    let watch = watch(256);
    let length = watch.ring.len();
    (0..=length).for_each(|n| give(&watch, n + 1));
    let mut asked = false;
    let mut ask = || {
        asked = true;
        false
    };
    assert!(!watch.check(|_| true, &mut ask));
    assert!(!watch.check(|_| true, || false), "nothing was settled");
    assert!(asked && watch.check(|_| true, || true));
    assert!(watch.check(|_| true, || false));
}
