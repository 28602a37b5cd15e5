//! What a tree is, written as plainly as possible: tests compare the real one with it.

pub(super) mod hops;

use super::pack::Order;
use super::{Cursor, Tree, TreeRef};
use proptest::prelude::*;
use std::ffi::{CStr, CString};
use std::os::raw::c_int;

/// A list of elements, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model(pub(super) Vec<Node>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) key: CString,
    /// `None` where a NULL stands in the element.
    pub(super) below: Option<Model>,
}

impl Model {
    pub(super) fn of(tree: TreeRef) -> Model {
        let node = |elem: super::ElemRef| Node {
            key: elem
                .key()
                .expect("tests give every element a key")
                .to_owned(),
            below: elem.tree().map(Model::of),
        };
        Model(tree.iter().map(node).collect())
    }

    /// The real tree: elements in the same order, equal keys included, empty trees for NULL.
    pub(super) fn to_tree(&self) -> Tree {
        fn fill(cursor: &mut Cursor, model: &Model) {
            let depth = cursor.depth();
            for node in &model.0 {
                cursor.push_back(&node.key);
                node.below.iter().for_each(|below| fill(cursor, below));
                cursor.climb_to(depth);
            }
        }
        let mut tree = Tree::new();
        fill(&mut Cursor::new(tree.edit()), self);
        tree
    }

    pub(super) fn packed(&self) -> Vec<u8> {
        let mut bytes = (self.0.len() as u32).to_be_bytes().to_vec();
        for node in &self.0 {
            bytes.extend(node.key.to_bytes_with_nul());
            let empty = Model::default();
            bytes.extend(node.below.as_ref().unwrap_or(&empty).packed());
        }
        bytes
    }

    pub(super) fn position(&self, key: &CStr) -> Option<usize> {
        self.0.iter().position(|node| *node.key == *key)
    }

    pub(super) fn get(&self, key: &CStr) -> Option<&Model> {
        self.0[self.position(key)?].below.as_ref()
    }

    pub(super) fn push_front(&mut self, key: &CStr, below: Option<Model>) {
        let key = key.to_owned();
        self.0.insert(0, Node { key, below });
    }

    pub(super) fn set(&mut self, key: &CStr, below: Option<Model>) {
        self.extract(key);
        self.push_front(key, below);
    }

    pub(super) fn child(&mut self, key: &CStr) -> &mut Model {
        if self.get(key).is_none() {
            self.set(key, Some(Model::default()));
        }
        let at = self.position(key).expect("it is there now");
        self.0[at].below.as_mut().expect("it is not NULL")
    }

    pub(super) fn extract(&mut self, key: &CStr) -> Option<Node> {
        self.position(key).map(|at| self.0.remove(at))
    }

    pub(super) fn merge(&mut self, from: &Model) {
        for node in &from.0 {
            let into = self.child(&node.key);
            node.below.iter().for_each(|below| into.merge(below));
        }
    }

    /// What unpacking adds in front: always trees, never NULL.
    pub(super) fn unpack_in_front(&mut self, packed: &Model, order: Order) {
        let mut new = packed.clone();
        new.unpacked(order);
        self.0.splice(0..0, new.0);
    }

    fn unpacked(&mut self, order: Order) {
        if order == Order::Reversed {
            self.0.reverse();
        }
        for node in &mut self.0 {
            node.below.get_or_insert_default().unpacked(order);
        }
    }

    /// Equal keys keep their order, whatever the direction.
    pub(super) fn sort_by<K: Ord>(&mut self, descending: bool, rank: impl Fn(&CStr) -> K) {
        self.0.sort_by(|a, b| {
            let (a, b) = (rank(&a.key), rank(&b.key));
            if descending { b.cmp(&a) } else { a.cmp(&b) }
        });
    }

    /// The same content whatever its order; empty trees for NULL.
    pub(super) fn sorted(&self) -> Model {
        let mut sorted = self.clone();
        sorted.sort_by(false, CStr::to_owned);
        for node in &mut sorted.0 {
            node.below = Some(node.below.take().unwrap_or_default().sorted());
        }
        sorted
    }
}

/// Calls the C library, as `kvtree_sort_int` is defined by it.
#[allow(unsafe_code)]
pub(super) fn atoi(text: &CStr) -> c_int {
    // SAFETY: text is a C string.
    unsafe { libc::atoi(text.as_ptr()) }
}

pub(super) fn number(number: usize) -> CString {
    CString::new(number.to_string()).expect("digits contain no NUL")
}

/// Keys of which random trees often have equal ones, as strings and as numbers.
pub(super) fn key() -> impl Strategy<Value = CString> {
    let text = prop_oneof![
        (0..60usize).prop_map(|n| n.to_string().into_bytes()),
        (0..9usize).prop_map(|n| format!("0{n}").into_bytes()),
        proptest::collection::vec(1..=255u8, 0..4),
    ];
    text.prop_map(|text| CString::new(text).expect("no NUL is generated"))
}

/// Trees without equal keys, a few levels deep.
pub(super) fn model() -> impl Strategy<Value = Model> {
    let leaf = Just(Model::default());
    leaf.prop_recursive(3, 40, 6, |below| {
        let node = (key(), below);
        proptest::collection::vec(node, 0..6).prop_map(|nodes| {
            let mut model = Model::default();
            for (key, below) in nodes {
                model.set(&key, Some(below));
            }
            model
        })
    })
}
