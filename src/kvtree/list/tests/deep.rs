//! Nesting that no stack could hold, on a stack that holds next to nothing.

use super::*;
use crate::kvtree::print;

const LEVELS: usize = 1_000_000;
const SMALL_STACK: usize = 64 << 10;

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(SMALL_STACK);
    thread.spawn(test).unwrap().join().unwrap();
}

fn chain(levels: usize) -> Tree {
    let mut tree = Tree::new();
    let mut cursor = Cursor::new(tree.edit());
    for _ in 0..levels {
        cursor.enter(c"k");
    }
    assert_eq!(cursor.depth(), levels);
    cursor.finish();
    tree
}

#[test]
fn a_million_levels_are_built_packed_copied_read_and_dropped() {
    on_a_small_stack(|| {
        let tree = chain(LEVELS);
        let bytes = pack::packed(Some(tree.view())).unwrap();
        assert_eq!(bytes.len(), 4 + 6 * LEVELS);
        for order in [Order::AsPacked, Order::Reversed] {
            let (read, used) = pack::unpack(&bytes, order).unwrap();
            assert_eq!(used, bytes.len());
            assert_eq!(read.view().preorder().count(), LEVELS);
        }
        let mut copy = Tree::new();
        copy.edit().merge(tree.view()).unwrap();
        drop(tree);
        assert!(pack::packed(Some(copy.view())).unwrap() == bytes);
        copy.edit().clear();
        assert!(copy.view().is_empty());
    });
}

/// Text grows with the square of the depth: fewer levels, still far too many for this stack.
#[test]
fn thousands_of_levels_are_printed() {
    const PRINTED: usize = 3000;
    on_a_small_stack(|| {
        let tree = chain(PRINTED);
        let mut longest = 0;
        let mut count = 0;
        print::lines(Some(tree.view()), 0, print::PrintMode::Tree, |line| {
            longest = line.len();
            count += 1;
        });
        assert_eq!((count, longest), (PRINTED, 2 * PRINTED + 1));
        print::lines(Some(tree.view()), 0, print::PrintMode::KeyValue, |line| {
            longest = line.len();
        });
        assert_eq!(longest, 2 * (PRINTED - 1) + "k = k".len());
    });
}

#[test]
fn a_wide_tree_below_every_level_is_dropped_in_linear_time() {
    on_a_small_stack(|| {
        let mut tree = Tree::new();
        let mut cursor = Cursor::new(tree.edit());
        for _ in 0..2000 {
            let depth = cursor.depth();
            for key in (0..40).map(number) {
                cursor.push_front(&key);
                cursor.climb_to(depth);
            }
            cursor.enter(c"39");
        }
        cursor.finish();
        assert_eq!(tree.view().preorder().count(), 80_000);
    });
}
