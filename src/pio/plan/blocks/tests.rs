use super::*;
use crate::pio::{Kind, Rearranger};
use proptest::prelude::*;

/// Blocks of an array whose elements have 4 bytes.
fn even(dims: &[u64], tasks: usize, block_size: u64) -> EvenBlocks {
    let mut spec = DecompSpec::new(Kind::Int, dims.to_vec(), Rearranger::Box);
    spec.block_size = block_size;
    EvenBlocks::new(&spec, tasks)
}

fn map_of(entries: &[i64], total: u64) -> Map {
    Map::new(entries, total, 0).unwrap()
}

/// Every element of a map must be at its place of its task, and come from its own place.
fn check_shares(blocks: &Blocks, map: Map) {
    let entries = map.entries();
    let (shares, order) = blocks.shares(map).unwrap();
    let mut order = order.numbers();
    assert!(shares.windows(2).all(|pair| pair[0].task < pair[1].task));
    let mut count = 0;
    for share in &shares {
        assert_eq!(share.locals.len(), share.places.len());
        assert!(share.places.end() <= blocks.length(share.task));
        for (local, place) in share.locals.numbers().zip(share.places.numbers()) {
            let global = blocks.global(share.task, place);
            assert_eq!(entries[local as usize], global as i64 + 1);
            assert_eq!(order.next(), Some(global));
            count += 1;
        }
    }
    assert_eq!(count, entries.iter().filter(|e| **e != 0).count());
}

proptest! {
    #[test]
    fn even_blocks_tile_the_array(dims in prop::collection::vec(1..300u64, 1..4), tasks in 1..40usize, block_size in 0..10_000u64) {
        let even = even(&dims, tasks, block_size);
        let total = dims.iter().product::<u64>();
        prop_assert_eq!(even.start(0), 0);
        prop_assert_eq!(even.start(tasks), total);
        let lengths: Vec<u64> = (0..even.tasks).map(|task| even.start(task + 1) - even.start(task)).collect();
        let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
        prop_assert!(most - least <= even.unit);
        prop_assert!(even.unit == 1 || 64 * even.unit <= *most);
        prop_assert!(even.tasks == 1 || *most * 4 >= block_size);
        for element in (0..total).step_by(1 + total as usize / 50) {
            let task = even.task_of(element);
            prop_assert!((even.start(task)..even.start(task + 1)).contains(&element));
        }
    }

    #[test]
    fn elements_go_to_their_even_block(dims in prop::collection::vec(1..12u64, 1..4), tasks in 1..9usize, seed in any::<u64>(), sorted in any::<bool>()) {
        let total = dims.iter().product::<u64>();
        let mut entries: Vec<i64> = (0..total).map(|e| if seed >> (e % 61) & 1 == 1 { e as i64 + 1 } else { 0 }).collect();
        if !sorted {
            entries.sort_by_key(|e| (*e as u64 + 1).wrapping_mul(seed | 1).rotate_left(13));
        }
        check_shares(&Blocks::Even(even(&dims, tasks, 1)), map_of(&entries, total));
    }

    #[test]
    fn elements_go_to_their_given_region(rows in 1..12u64, columns in 1..12u64, down in 1..4u64, across in 1..4u64, seed in any::<u64>()) {
        let mut regions = Hyperslabs::new(2);
        for tile in 0..down * across {
            let cut = |length: u64, parts: u64, part: u64| (length * part / parts, length * (part + 1) / parts);
            let (top, bottom) = cut(rows, down, tile / across);
            let (left, right) = cut(columns, across, tile % across);
            regions.push(&[top, left], &[bottom - top, right - left]);
        }
        let total = rows * columns;
        let mut entries: Vec<i64> = (1..=total as i64).collect();
        entries.sort_by_key(|e| (*e as u64 + 1).wrapping_mul(seed | 1).rotate_left(13));
        let given = UserBlocks::new(&[rows, columns], regions).unwrap();
        check_shares(&Blocks::User(given), map_of(&entries, total));
    }
}

#[test]
fn the_example_of_the_documentation() {
    let blocks = even(&[4, 5], 2, 8);
    assert_eq!(
        (blocks.start(0), blocks.start(1), blocks.start(2)),
        (0, 10, 20)
    );
}

#[test]
fn regions_that_overlap_or_leave_elements_out_are_errors() {
    let regions = |second: u64| {
        let mut regions = Hyperslabs::new(2);
        regions.push(&[0, 0], &[4, 3]);
        regions.push(&[0, second], &[4, 2]);
        regions
    };
    assert!(matches!(
        UserBlocks::new(&[4, 5], regions(2)),
        Err(Error::Overlap(0, 1))
    ));
    assert!(matches!(
        UserBlocks::new(&[4, 5], regions(4)),
        Err(Error::Invalid(_))
    ));
    let mut partial = Hyperslabs::new(2);
    partial.push(&[0, 0], &[4, 3]);
    let given = UserBlocks::new(&[4, 5], partial).unwrap();
    assert!(matches!(
        given.shares(map_of(&[1, 4], 20)),
        Err(Error::Homeless(3))
    ));
}
