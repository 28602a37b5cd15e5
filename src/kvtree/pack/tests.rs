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
fn what_came_before_the_damage_stays() {
    let mut tree = Tree::new();
    let cut = &SMALL[..SMALL.len() - 6];
    unpack_into(cut, tree.edit(), Order::AsPacked).unwrap_err();
    assert_eq!(Model::of(tree.view()).0.len(), 1);
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

    #[test]
    fn every_truncation_is_an_error(model in model::model()) {
        let bytes = model.packed();
        for length in 0..bytes.len() {
            for order in [Order::AsPacked, Order::Reversed] {
                prop_assert!(unpack(&bytes[..length], order).is_err());
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
