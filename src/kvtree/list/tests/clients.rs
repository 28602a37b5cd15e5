//! What C code does to the public fields of elements that it was given, and several readers at once.

use super::super::super::model::Node;
use super::*;
use proptest::collection::vec;
use std::thread;

/// `struct kvtree_struct` of `kvtree.h`.
#[repr(C)]
struct Head {
    first: *mut Elem,
}

/// `struct kvtree_elem_struct` of `kvtree.h`.
#[repr(C)]
pub(super) struct Elem {
    pub(super) key: *mut c_char,
    pub(super) hash: *mut RawTree,
    pub(super) next: *mut Elem,
    pub(super) prev: *mut *mut Elem,
}

/// Takes an unlinked element apart, as a client has to.
pub(super) fn dismantle(elem: *mut RawElem) -> Node {
    let elem = elem.cast::<Elem>();
    // SAFETY: the caller owns the element; key and element came from malloc.
    unsafe {
        let key = CStr::from_ptr((*elem).key).to_owned();
        let below = Tree::from_raw((*elem).hash).map(|t| Model::of(t.view()));
        libc::free((*elem).key.cast());
        libc::free(elem.cast());
        Node { key, below }
    }
}

/// A client walks over the tree.
pub(super) fn hand_out_all(tree: TreeRef) {
    for elem in tree.iter() {
        assert!(!elem.hand_out().is_null());
    }
}

/// A tree and what a client holds of it.
struct Client {
    tree: Tree,
}

impl Client {
    fn numbers(count: usize) -> Client {
        let (tree, _) = numbers(count);
        Client { tree }
    }

    fn head(&mut self) -> *mut Head {
        self.tree.edit().into_raw().cast()
    }

    fn give(&self, key: &CStr) -> *mut Elem {
        self.tree.view().elem(key).unwrap().hand_out().cast()
    }

    fn give_nth(&self, n: usize) -> Option<*mut Elem> {
        let elem = self.tree.view().iter().nth(n)?;
        Some(elem.hand_out().cast())
    }

    /// All lookups, hits and misses, are those of a walk over the list.
    fn assert_list_is_right(&self) {
        assert_same(self.tree.view(), &Model::of(self.tree.view()));
    }
}

fn rename(elem: *mut Elem, key: &CStr) {
    // SAFETY: a client may free and replace the key of an element it was given.
    unsafe {
        libc::free((*elem).key.cast());
        (*elem).key = libc::strdup(key.as_ptr());
    }
}

fn unlink(elem: *mut Elem) {
    // SAFETY: LIST_REMOVE of sys/queue.h on a linked element.
    unsafe {
        if !(*elem).next.is_null() {
            (*(*elem).next).prev = (*elem).prev;
        }
        *(*elem).prev = (*elem).next;
    }
}

fn link_first(head: *mut Head, elem: *mut Elem) {
    // SAFETY: LIST_INSERT_HEAD of sys/queue.h into a live list.
    unsafe {
        (*elem).next = (*head).first;
        if !(*elem).next.is_null() {
            (*(*elem).next).prev = addr_of_mut!((*elem).next);
        }
        (*head).first = elem;
        (*elem).prev = addr_of_mut!((*head).first);
    }
}

const SIZES: [usize; 4] = [3, 33, 100, 1000];

#[test]
fn a_renamed_element_is_found_under_its_new_name_only() {
    for size in SIZES {
        let client = Client::numbers(size);
        for n in [0, size / 2, size - 1] {
            let key = number(n);
            rename(client.give(&key), c"new name");
            client.assert_list_is_right();
            rename(client.give(c"new name"), &key);
            client.assert_list_is_right();
        }
    }
}

#[test]
fn two_elements_may_swap_their_names() {
    for size in SIZES {
        let client = Client::numbers(size);
        let (a, b) = (client.give(c"0"), client.give(c"2"));
        // SAFETY: both keys are malloc-owned and stay owned by one element each.
        unsafe { ptr::swap(addr_of_mut!((*a).key), addr_of_mut!((*b).key)) };
        client.assert_list_is_right();
    }
}

#[test]
fn a_renamed_element_can_be_changed_and_removed() {
    for size in SIZES {
        let mut client = Client::numbers(size);
        rename(client.give(c"1"), c"new name");
        client.tree.edit().set(c"1", Some(Tree::new()));
        client.assert_list_is_right();
        assert_eq!(client.tree.view().len(), size + 1);
        client.tree.edit().unset(c"new name");
        client.assert_list_is_right();
        assert_eq!(client.tree.view().len(), size);
    }
}

#[test]
fn all_elements_may_be_renamed_in_one_walk() {
    for size in SIZES {
        let client = Client::numbers(size);
        for n in 0..size {
            let elem = client.give_nth(n).unwrap();
            rename(elem, &number(2000 + n));
        }
        client.assert_list_is_right();
        assert!(client.tree.view().elem(c"0").is_none());
        assert!(client.tree.view().elem(c"2000").is_some());
    }
}

#[test]
fn an_element_moved_to_the_head_by_hand_is_found() {
    for size in SIZES {
        let mut client = Client::numbers(size);
        let elem = client.give(c"1");
        unlink(elem);
        link_first(client.head(), elem);
        client.assert_list_is_right();
        client.tree.edit().unset(c"1");
        client.assert_list_is_right();
    }
}

#[test]
fn an_unlinked_element_is_not_found_and_can_come_back() {
    for size in SIZES {
        for n in [0, 1, size - 1] {
            let mut client = Client::numbers(size);
            let elem = client.give(&number(n));
            unlink(elem);
            client.assert_list_is_right();
            assert_eq!(client.tree.view().len(), size - 1);
            client.tree.edit().child(c"one more");
            client.assert_list_is_right();
            link_first(client.head(), elem);
            client.assert_list_is_right();
        }
    }
}

#[test]
fn an_element_moved_to_another_tree_belongs_to_that() {
    for (size, other) in [(3, 3), (3, 100), (100, 3), (100, 100)] {
        let (mut client, mut target) = (Client::numbers(size), Client::numbers(other));
        let elem = client.give(c"1");
        unlink(elem);
        rename(elem, c"guest");
        link_first(target.head(), elem);
        client.assert_list_is_right();
        target.assert_list_is_right();
        assert_eq!(target.tree.view().len(), other + 1);
        client.tree.edit().child(c"1");
        drop(client);
        rename(target.give(c"guest"), c"other name");
        target.assert_list_is_right();
        target.tree.edit().unset(c"other name");
        target.assert_list_is_right();
        assert_eq!(target.tree.view().len(), other);
    }
}

#[derive(Clone, Debug)]
enum Act {
    Rename(usize, CString),
    MoveToHead(usize),
    /// Under a new name.
    MoveToOther(usize),
    Look(CString),
    Unset(CString),
    Child(CString),
}

fn act() -> impl Strategy<Value = Act> {
    let position = || 0..80usize;
    prop_oneof![
        3 => (position(), model::key()).prop_map(|(n, k)| Act::Rename(n, k)),
        2 => position().prop_map(Act::MoveToHead),
        2 => position().prop_map(Act::MoveToOther),
        2 => model::key().prop_map(Act::Look),
        2 => model::key().prop_map(Act::Unset),
        2 => model::key().prop_map(Act::Child),
    ]
}

fn perform(step: usize, act: &Act, client: &mut Client, other: &mut Client) {
    match act {
        Act::Rename(n, key) => {
            let elem = client.give_nth(*n);
            elem.into_iter().for_each(|elem| rename(elem, key));
        }
        &Act::MoveToHead(n) => {
            if let Some(elem) = client.give_nth(n) {
                unlink(elem);
                link_first(client.head(), elem);
            }
        }
        &Act::MoveToOther(n) => {
            if let Some(elem) = client.give_nth(n) {
                unlink(elem);
                rename(elem, &number(1000 + step));
                link_first(other.head(), elem);
            }
        }
        Act::Look(key) => {
            let model = Model::of(client.tree.view());
            assert_lookup(client.tree.view(), &model, key);
        }
        Act::Unset(key) => client.tree.edit().unset(key),
        Act::Child(key) => {
            client.tree.edit().child(key);
        }
    }
}

fn on_two_trees(acts: &[(Act, bool)], sizes: [usize; 2]) {
    let [mut one, mut two] = sizes.map(Client::numbers);
    for (step, (act, first)) in acts.iter().enumerate() {
        let (client, other) = match first {
            true => (&mut one, &mut two),
            false => (&mut two, &mut one),
        };
        perform(step, act, client, other);
    }
    one.assert_list_is_right();
    two.assert_list_is_right();
}

const TREE_SIZES: [std::ops::Range<usize>; 2] = [0..80, 0..80];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn lookups_follow_whatever_clients_do_to_two_trees(
        acts in vec((act(), any::<bool>()), 1..60),
        sizes in TREE_SIZES,
    ) {
        on_two_trees(&acts, sizes);
    }
}

/// The hit is linked, but in another tree.
#[test]
fn an_element_moved_to_another_tree_is_no_longer_found_in_the_old_one() {
    for (size, other) in [(3, 3), (3, 100), (100, 3), (100, 100)] {
        let (client, mut target) = (Client::numbers(size), Client::numbers(other));
        let elem = client.give(c"1");
        unlink(elem);
        link_first(target.head(), elem);
        target.assert_list_is_right();
        client.assert_list_is_right();
    }
}

#[test]
fn several_threads_may_read_one_tree() {
    const KEYS: usize = 10_000;
    let client = Client::numbers(KEYS);
    let shared = client.tree.view().as_raw().expose_provenance();
    let read = |seed: usize| {
        let raw = ptr::with_exposed_provenance(shared);
        // SAFETY: the tree lives until all threads have ended, and nobody changes it.
        let tree = unsafe { TreeRef::from_raw(raw) }.unwrap();
        for step in 0..2 * KEYS {
            let n = (seed + 7 * step) % (2 * KEYS);
            let found = tree.elem(&number(n));
            assert_eq!(found.is_some(), n < KEYS);
            assert!(found.is_none_or(|e| e.key() == Some(&number(n))));
            if step % 1000 == 0 {
                hand_out_all(tree);
            }
        }
    };
    thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || read(seed));
        }
    });
    client.assert_list_is_right();
}
