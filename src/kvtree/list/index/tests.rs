use super::*;
use std::collections::HashSet;

fn hash_of(number: u32) -> u64 {
    hash(number.to_string().as_bytes())
}

fn element(number: usize) -> *mut RawElem {
    std::ptr::without_provenance_mut(16 * number)
}

#[test]
fn numbers_that_differ_in_the_last_digit_are_neighbours() {
    for tens in [0, 70, 123_450] {
        let places: Vec<_> = (0..10).map(|i| hash_of(tens + i) as u32).collect();
        let steps = places.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
        assert!(steps.eq([1; 9]));
        let tags: HashSet<_> = (0..10).map(|i| hash_of(tens + i) >> 57).collect();
        assert_eq!(tags.len(), 10);
    }
}

#[test]
fn keys_have_hashes_of_their_own() {
    let numbers = (0..200_000).map(hash_of);
    let short = (1..=255u8).flat_map(|a| (1..=255).map(move |b| hash(&[a, 0x80, b])));
    let hashes: HashSet<_> = numbers.chain(short).chain([hash(b"")]).collect();
    assert_eq!(hashes.len(), 200_000 + 255 * 255 + 1);
}

#[test]
fn of_several_elements_with_one_hash_none_is_the_only_one() {
    let mut table = Table::default();
    (1..=100).for_each(|n| table.insert(hash_of(n as u32), element(n)));
    assert_eq!(table.candidate(hash_of(7)), Some((element(7), false)));
    table.insert(hash_of(7), element(101));
    assert!(matches!(table.candidate(hash_of(7)), Some((_, true))));
    assert_eq!(table.candidate(hash_of(8)), Some((element(8), false)));
    assert!(table.remove(hash_of(7), element(7)));
    assert_eq!(table.candidate(hash_of(7)), Some((element(101), false)));
    assert_eq!(table.candidate(hash_of(0)), None);
    assert_eq!(table.len(), 100);
}
