//! Random changes and lookups against the plain model, below and above the size that gets an index.

mod clients;
mod deep;

use super::super::model::{self, Model, atoi, number};
use super::super::pack::{self, Order};
use super::*;
use proptest::prelude::*;
use std::ffi::CString;

#[derive(Clone, Debug)]
enum Step {
    Set(CString, Option<Model>),
    Child(CString),
    Unset(CString),
    Extract(CString),
    TakeElem(CString),
    Merge(Model),
    /// The same bytes twice: every key stands there twice.
    UnpackTwice(Model, Order),
    Sort {
        descending: bool,
    },
    SortInt {
        descending: bool,
    },
    Clear,
    HandOutAll,
    /// Makes these keys, or removes them: moves the size across the threshold.
    Fill(usize, usize),
    Drain(usize, usize),
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::AsPacked), Just(Order::Reversed)]
}

fn step() -> impl Strategy<Value = Step> {
    let below = proptest::option::of(model::model());
    prop_oneof![
        4 => (model::key(), below).prop_map(|(k, b)| Step::Set(k, b)),
        4 => model::key().prop_map(Step::Child),
        4 => model::key().prop_map(Step::Unset),
        2 => model::key().prop_map(Step::Extract),
        2 => model::key().prop_map(Step::TakeElem),
        2 => model::model().prop_map(Step::Merge),
        1 => (model::model(), order()).prop_map(|(m, o)| Step::UnpackTwice(m, o)),
        1 => any::<bool>().prop_map(|descending| Step::Sort { descending }),
        1 => any::<bool>().prop_map(|descending| Step::SortInt { descending }),
        1 => Just(Step::Clear),
        1 => Just(Step::HandOutAll),
        2 => (0..60usize, 1..60usize).prop_map(|(from, n)| Step::Fill(from, n)),
        2 => (0..60usize, 1..60usize).prop_map(|(from, n)| Step::Drain(from, n)),
    ]
}

impl Step {
    fn apply(&self, tree: &mut TreeMut, model: &mut Model) {
        match self {
            Step::Set(key, below) => {
                let value = below.as_ref().map(Model::to_tree);
                assert_eq!(tree.set(key, value).is_some(), below.is_some());
                model.set(key, below.clone());
            }
            Step::Child(key) => {
                let child = tree.child(key);
                assert_eq!(&Model::of(child.view()), model.child(key));
            }
            Step::Unset(key) => {
                tree.unset(key);
                model.extract(key);
            }
            Step::Extract(key) => {
                let found = tree.extract(key).map(|t| Model::of(t.view()));
                assert_eq!(found, model.extract(key).and_then(|node| node.below));
            }
            Step::TakeElem(key) => {
                let found = tree.take_elem(key).map(clients::dismantle);
                assert_eq!(found, model.extract(key));
            }
            Step::Merge(from) => {
                tree.merge(from.to_tree().view()).unwrap();
                model.merge(from);
            }
            Step::UnpackTwice(from, order) => {
                for _ in 0..2 {
                    pack::unpack_into(&from.packed(), tree.edit(), *order).unwrap();
                    model.unpack_in_front(from, *order);
                }
            }
            &Step::Sort { descending } => {
                tree.sort(descending);
                model.sort_by(descending, |key| key.to_bytes().to_vec());
            }
            &Step::SortInt { descending } => {
                tree.sort_int(descending);
                model.sort_by(descending, atoi);
            }
            Step::Clear => {
                tree.clear();
                model.0.clear();
            }
            Step::HandOutAll => clients::hand_out_all(tree.view()),
            &Step::Fill(from, n) => {
                for key in (from..from + n).map(number) {
                    tree.child(&key);
                    model.child(&key);
                }
            }
            &Step::Drain(from, n) => {
                for key in (from..from + n).map(number) {
                    tree.unset(&key);
                    model.extract(&key);
                }
            }
        }
    }
}

/// Every key that is there, and many that are not, are found as in the list.
fn assert_lookups(tree: TreeRef, model: &Model) {
    let present = model.0.iter().map(|node| node.key.clone());
    let others = (0..130)
        .map(number)
        .chain([c"".to_owned(), c"nowhere".to_owned()]);
    for key in present.chain(others) {
        assert_lookup(tree, model, &key);
    }
}

fn assert_lookup(tree: TreeRef, model: &Model, key: &CStr) {
    let expected = model.position(key).map(|at| tree.iter().nth(at).unwrap().0);
    assert_eq!(tree.elem(key).map(|e| e.0), expected, "{key:?}");
    assert_eq!(tree.get(key).is_some(), model.get(key).is_some(), "{key:?}");
}

fn assert_same(tree: TreeRef, model: &Model) {
    assert_eq!(&Model::of(tree), model);
    assert_eq!(tree.len(), model.0.len());
    assert_eq!(tree.is_empty(), model.0.is_empty());
    assert_lookups(tree, model);
    let mut numbers: Vec<i32> = model.0.iter().map(|node| atoi(&node.key)).collect();
    numbers.sort_unstable();
    assert_eq!(tree.list_int(), numbers);
}

/// `0..count` in a tree, as keys made one after the other.
fn numbers(count: usize) -> (Tree, Model) {
    let (mut tree, mut model) = (Tree::new(), Model::default());
    for key in (0..count).map(number) {
        tree.edit().child(&key);
        model.push_front(&key, Some(Model::default()));
    }
    (tree, model)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_change_is_that_of_a_plain_list(steps in proptest::collection::vec(step(), 1..60)) {
        let (mut tree, mut model) = (Tree::new(), Model::default());
        for step in &steps {
            step.apply(&mut tree.edit(), &mut model);
            assert_same(tree.view(), &model);
        }
    }

    /// Without lookups in between, which might repair what a change left wrong.
    #[test]
    fn changes_need_no_lookups_between_them(steps in proptest::collection::vec(step(), 1..60)) {
        let (mut tree, mut model) = (Tree::new(), Model::default());
        for step in &steps {
            step.apply(&mut tree.edit(), &mut model);
        }
        assert_same(tree.view(), &model);
    }
}

#[test]
fn every_size_across_the_threshold_in_both_directions() {
    let (mut tree, mut model) = numbers(0);
    for key in (0..100).map(number) {
        tree.edit().child(&key);
        model.push_front(&key, Some(Model::default()));
        assert_same(tree.view(), &model);
    }
    // From the head, from the tail and from the middle in turn.
    while !model.0.is_empty() {
        let at = [0, model.0.len() - 1, model.0.len() / 2][model.0.len() % 3];
        let key = model.0[at].key.clone();
        tree.edit().unset(&key);
        model.extract(&key);
        assert_same(tree.view(), &model);
    }
}

#[test]
fn of_equal_keys_the_first_counts() {
    let (source, model) = numbers(50);
    let bytes = pack::packed(Some(source.view())).unwrap();
    let mut tree = Tree::new();
    let mut twice = Model::default();
    for _ in 0..2 {
        pack::unpack_into(&bytes, tree.edit(), Order::AsPacked).unwrap();
        twice.unpack_in_front(&model, Order::AsPacked);
    }
    tree.edit().child(c"7").child(c"first");
    twice.child(c"7").child(c"first");
    assert_same(tree.view(), &twice);
    tree.edit().unset(c"7");
    twice.extract(c"7");
    assert!(tree.view().get(c"7").unwrap().is_empty());
    assert_same(tree.view(), &twice);
}

#[test]
fn setting_moves_to_the_head_and_a_child_stays_where_it_is() {
    let (mut tree, _) = numbers(3);
    tree.edit().set(c"1", None);
    assert_eq!(keys(tree.view()), [c"1", c"2", c"0"]);
    tree.edit().child(c"0");
    assert_eq!(keys(tree.view()), [c"1", c"2", c"0"]);
    // Where a NULL stood a tree is set, and that moves.
    tree.edit().set(c"2", None);
    tree.edit().child(c"1");
    assert_eq!(keys(tree.view()), [c"1", c"2", c"0"]);
}

fn keys(tree: TreeRef<'_>) -> Vec<&CStr> {
    tree.iter().filter_map(|e| e.key()).collect()
}

#[test]
fn merging_a_tree_into_a_part_of_itself_ends() {
    for size in [3, 50] {
        let (mut tree, _) = numbers(size);
        let raw = tree.view().as_raw();
        // SAFETY: merge copies its source first when the target is part of it.
        let whole = unsafe { TreeRef::from_raw(raw) }.unwrap();
        tree.edit().child(c"1").merge(whole).unwrap();
        let part = tree.view().get(c"1").unwrap();
        assert_eq!(part.list_int(), tree.view().list_int());
    }
}

#[test]
fn structs_begin_as_the_header_says_and_cost_no_more_than_malloc_gives() {
    use std::mem::offset_of;
    assert_eq!(offset_of!(RawTree, first), 0);
    assert_eq!(offset_of!(RawElem, key), offset_of!(clients::Elem, key));
    assert_eq!(offset_of!(RawElem, tree), offset_of!(clients::Elem, hash));
    assert_eq!(offset_of!(RawElem, next), offset_of!(clients::Elem, next));
    assert_eq!(offset_of!(clients::Elem, prev), 3 * size_of::<usize>());
    assert!(size_of::<RawTree>() <= 24);
    assert!(size_of::<RawElem>() <= 40);
}

#[test]
fn a_tree_cleared_and_filled_again_is_as_new() {
    let (mut tree, model) = numbers(500);
    tree.edit().clear();
    assert_same(tree.view(), &Model::default());
    for key in (0..500).map(number) {
        tree.edit().child(&key);
    }
    assert_same(tree.view(), &model);
}
