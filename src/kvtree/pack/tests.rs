use super::super::model::{self, Model};
use super::*;
use proptest::prelude::*;

/// `a` holds `x` and `y`; `b` holds nothing.
const SMALL: &[u8] = b"\0\0\0\x02a\0\0\0\0\x02x\0\0\0\0\0y\0\0\0\0\0b\0\0\0\0\0";

#[test]
fn bytes_are_those_of_the_files_in_the_field() {
    let mut tree = Tree::new();
    assert_eq!(packed(Some(tree.view())).unwrap(), b"\0\0\0\0");
    assert_eq!(packed(None).unwrap(), b"\0\0\0\0");
    let mut edit = tree.edit();
    edit.child(c"b");
    edit.child(c"a").child(c"y");
    edit.child(c"a").set(c"x", None);
    assert_eq!(packed(Some(tree.view())).unwrap(), SMALL);
}

#[test]
fn a_key_may_be_empty_or_any_bytes() {
    let mut tree = Tree::new();
    tree.edit().child(c"");
    tree.edit().child(c"\xff\x01 ");
    let bytes = packed(Some(tree.view())).unwrap();
    assert_eq!(bytes, b"\0\0\0\x02\xff\x01 \0\0\0\0\0\0\0\0\0\0");
    let (read, _) = unpack(&bytes, Order::AsPacked).unwrap();
    assert!(read.view().elem(c"").is_some());
}

#[test]
fn unpacking_stops_behind_the_tree() {
    let mut bytes = SMALL.to_vec();
    bytes.extend(b"something else");
    let (tree, used) = unpack(&bytes, Order::AsPacked).unwrap();
    assert_eq!(used, SMALL.len());
    assert_eq!(packed(Some(tree.view())).unwrap(), SMALL);
}

#[test]
fn counts_that_do_not_fit_are_errors() {
    for count in [1, 2, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        // Room for one element less than announced.
        let room = (count as usize - 1).min(100) * SMALLEST_ELEMENT;
        let mut bytes = count.to_be_bytes().to_vec();
        bytes.resize(COUNT + room, 0);
        let error = unpack(&bytes, Order::AsPacked).err().unwrap();
        let (at, left) = (0, room);
        assert_eq!(error, FormatError::Count { count, at, left });
    }
    let nested = b"\0\0\0\x01a\0\0\0\0\x01";
    assert_eq!(
        unpack(nested, Order::AsPacked).err().unwrap(),
        FormatError::Count {
            count: 1,
            at: 6,
            left: 0
        }
    );
}

#[test]
fn a_key_without_end_is_an_error() {
    let error = unpack(b"\0\0\0\x01abcdefgh", Order::AsPacked).err();
    assert_eq!(error, Some(FormatError::Key { at: 4 }));
}

#[test]
fn damage_leaves_the_tree_as_it_was() {
    for length in 0..SMALL.len() {
        let mut tree = Tree::new();
        tree.edit().child(c"a");
        for order in [Order::AsPacked, Order::Reversed] {
            unpack_into(&SMALL[..length], tree.edit(), order).unwrap_err();
            merge_into(&SMALL[..length], tree.edit(), order).unwrap_err();
        }
        assert_eq!(keys(tree.view()), [c"a"]);
        assert!(tree.view().get(c"a").unwrap().is_empty());
    }
}

fn keys(tree: TreeRef<'_>) -> Vec<&CStr> {
    tree.iter().filter_map(|e| e.key()).collect()
}

#[test]
fn a_packed_tree_is_searched_where_it_lies() {
    let packed = PackedTree::new(SMALL).unwrap();
    let names: Vec<_> = packed.children().map(|(key, _)| key).collect();
    assert_eq!(names, [c"a", c"b"]);
    assert_eq!(packed.value(c"a"), Some(c"x"));
    assert_eq!(packed.value(c"b"), None);
    assert!(packed.get(c"c").is_none());
    assert_eq!(packed.get(c"a").unwrap().bytes(), &SMALL[10 - 4..22]);
    assert!(PackedTree::new(&SMALL[..SMALL.len() - 1]).is_err());
}

proptest! {
    #[test]
    fn the_real_packing_is_that_of_the_model(model in model::model()) {
        let tree = model.to_tree();
        let bytes = packed(Some(tree.view())).unwrap();
        prop_assert_eq!(bytes.len(), packed_size(Some(tree.view())));
        prop_assert_eq!(bytes, model.packed());
    }

    #[test]
    fn unpacking_keeps_or_reverses_every_level(model in model::model()) {
        let bytes = model.packed();
        for order in [Order::AsPacked, Order::Reversed] {
            let mut expected = Model::default();
            expected.unpack_in_front(&model, order);
            let (tree, used) = unpack(&bytes, order).unwrap();
            prop_assert_eq!(used, bytes.len());
            prop_assert_eq!(Model::of(tree.view()), expected);
        }
    }

    /// Where recursion ends and walking begins makes no difference.
    #[test]
    fn unpacking_is_the_same_at_every_depth(
        model in model::model(),
        levels in USUAL_DEPTH - 3..USUAL_DEPTH + 2,
    ) {
        let mut bytes = b"\0\0\0\x01k\0".repeat(levels);
        bytes.extend(model.packed());
        for order in [Order::AsPacked, Order::Reversed] {
            let mut expected = Model::default();
            expected.unpack_in_front(&model, order);
            let (tree, used) = unpack(&bytes, order).unwrap();
            prop_assert_eq!(used, bytes.len());
            let below = (0..levels).try_fold(tree.view(), |tree, _| tree.get(c"k"));
            prop_assert_eq!(Model::of(below.unwrap()), expected);
        }
    }

    /// As if unpacked and then merged, equal keys on either side or not.
    #[test]
    fn packed_trees_are_merged(
        held in prop_oneof![Just(Model::default()), model::model()],
        packed in model::model(),
        twice in proptest::option::of(model::model()),
    ) {
        let mut packed = packed;
        twice.iter().for_each(|twice| packed.unpack_in_front(twice, Order::AsPacked));
        for (order, unpack_order) in [
            (Order::Reversed, Order::AsPacked),
            (Order::AsPacked, Order::Reversed),
        ] {
            let mut unpacked = Model::default();
            unpacked.unpack_in_front(&packed, unpack_order);
            let mut expected = held.clone();
            expected.merge(&unpacked);
            let mut tree = held.to_tree();
            let bytes = packed.packed();
            prop_assert_eq!(merge_into(&bytes, tree.edit(), order), Ok(bytes.len()));
            prop_assert_eq!(Model::of(tree.view()), expected);
        }
    }

    #[test]
    fn every_truncation_is_an_error(model in model::model()) {
        let bytes = model.packed();
        for length in 0..bytes.len() {
            for order in [Order::AsPacked, Order::Reversed] {
                prop_assert!(unpack(&bytes[..length], order).is_err());
                prop_assert!(merge_into(&bytes[..length], Tree::new().edit(), order).is_err());
            }
        }
    }

    /// Whatever the bytes say: each element used up at least five of them.
    #[test]
    fn any_bytes_give_a_tree_or_an_error(bytes in proptest::collection::vec(0..3u8, 0..200)) {
        let mut tree = Tree::new();
        let outcome = unpack_into(&bytes, tree.edit(), Order::Reversed);
        prop_assert!(tree.view().preorder().count() <= bytes.len() / SMALLEST_ELEMENT);
        if let Ok(used) = outcome {
            let packed = packed(Some(unpack(&bytes, Order::AsPacked).unwrap().0.view())).unwrap();
            prop_assert_eq!(&bytes[..used], packed);
        }
    }
}
