//! The element list and its index, on raw pointers.
//!
//! Trees of up to `LINEAR` keys are searched by walking the list, exactly as clients expect. Larger ones
//! get an [`Index`], which is believed only as far as clients cannot have changed the list behind it:
//! every hit is compared with the element itself, the head of the list must be the one we left, and
//! before a key is called absent all elements that clients were given since are compared too. Where
//! the two disagree the list is right; the next change builds the index anew.

use super::index::{self, Index};
use crate::reserve;
use std::ffi::{CStr, c_char};
use std::ptr::{self, NonNull, addr_of_mut};
use std::sync::Mutex;

/// Keys up to which a plain walk is at least as good as an index.
const LINEAR: u32 = 32;

/// `struct kvtree_struct`, followed by what only we know.
#[repr(C)]
pub struct RawTree {
    pub(super) first: *mut RawElem,
    index: *mut Index,
    count: u32,
    seal: u32,
}

/// `struct kvtree_elem_struct`, followed by what only we know.
#[repr(C)]
pub struct RawElem {
    pub(super) key: *mut c_char,
    pub(super) tree: *mut RawTree,
    pub(super) next: *mut RawElem,
    prev: *mut *mut RawElem,
    pub(super) owner: *mut Index,
}

/// Tells our trees from structs that a client made or copied itself: those have no index.
fn seal_of(tree: *const RawTree) -> u32 {
    (tree.addr() >> 4) as u32 ^ 0x5354_4e43
}

// ---- memory ---------------------------------------------------------------------------------

/// Memory that C may `free`. Running out is a panic, which the C layer turns into an error code.
fn allocate<T>(value: T) -> NonNull<T> {
    let place = reserve::malloc(size_of::<T>()).cast::<T>();
    let place = NonNull::new(place).expect("out of memory");
    // SAFETY: malloc gave room for a T, aligned for any type.
    unsafe { place.write(value) };
    place
}

pub(super) fn copy_key(key: &CStr) -> *mut c_char {
    let bytes = key.to_bytes_with_nul();
    let copy = reserve::malloc(bytes.len());
    assert!(!copy.is_null(), "out of memory");
    // SAFETY: malloc gave room for all bytes.
    unsafe { copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    copy.cast()
}

pub(super) fn new_tree() -> NonNull<RawTree> {
    let tree = allocate(RawTree {
        first: ptr::null_mut(),
        index: ptr::null_mut(),
        count: 0,
        seal: 0,
    });
    // SAFETY: just allocated.
    unsafe { (*tree.as_ptr()).seal = seal_of(tree.as_ptr()) };
    tree
}

/// Frees the key and the element, not its subtree.
pub(super) unsafe fn free_elem(elem: *mut RawElem) {
    // SAFETY: key and element are malloc-owned and no longer linked (caller).
    unsafe {
        reserve::free((*elem).key.cast());
        reserve::free(elem.cast());
    }
}

/// Deletes all elements. Subtrees are spliced into the same list instead of recursing into them.
pub(super) unsafe fn clear(tree: *mut RawTree) {
    // SAFETY: the list is well linked (caller); each element is visited once and then freed.
    unsafe {
        let mut retired = Vec::new();
        retired.extend(retire_index(tree));
        let mut elem = (*tree).first;
        (*tree).first = ptr::null_mut();
        while !elem.is_null() {
            let mut next = (*elem).next;
            let subtree = (*elem).tree;
            warn_former_owner(elem, ptr::null());
            if !subtree.is_null() {
                retired.extend(retire_index(subtree));
                next = chain((*subtree).first, next);
                reserve::free(subtree.cast());
            }
            free_elem(elem);
            elem = next;
        }
        // Not earlier: as long as elements name them, they must serve no other tree.
        retired.into_iter().for_each(|index| park_index(index));
        if (*tree).seal == seal_of(tree) {
            (*tree).count = 0;
        }
    }
}

/// Puts `rest` behind the list that starts at `first`, following `next` only.
unsafe fn chain(first: *mut RawElem, rest: *mut RawElem) -> *mut RawElem {
    if first.is_null() || rest.is_null() {
        return if first.is_null() { rest } else { first };
    }
    // SAFETY: walks a well linked list (caller).
    unsafe {
        let mut last = first;
        while !(*last).next.is_null() {
            last = (*last).next;
        }
        (*last).next = rest;
    }
    first
}

pub(super) unsafe fn free_tree(tree: *mut RawTree) {
    // SAFETY: the tree is malloc-owned and nobody uses it afterwards (caller).
    unsafe {
        clear(tree);
        reserve::free(tree.cast());
    }
}

// ---- index ----------------------------------------------------------------------------------

/// Indexes are never returned to malloc: an element that a client moved elsewhere by hand may still
/// name the index of its former tree, and must find an `Index` there, whichever tree it serves now.
struct Parked(*mut Index);
// SAFETY: a parked index belongs to no tree and is only reached through the mutex.
unsafe impl Send for Parked {}
static PARKED: Mutex<Vec<Parked>> = Mutex::new(Vec::new());

fn take_index() -> *mut Index {
    let parked = PARKED.lock().unwrap_or_else(|e| e.into_inner()).pop();
    parked.map_or_else(|| Box::into_raw(Box::default()), |p| p.0)
}

unsafe fn index_of(tree: *const RawTree) -> *mut Index {
    // SAFETY: tree points to a tree (caller).
    unsafe {
        if (*tree).seal == seal_of(tree) {
            (*tree).index
        } else {
            ptr::null_mut()
        }
    }
}

/// Takes its index from a tree.
unsafe fn retire_index(tree: *mut RawTree) -> Option<*mut Index> {
    // SAFETY: an index found in a tree is live and serves only it.
    unsafe {
        let index = index_of(tree);
        if index.is_null() {
            return None;
        }
        (*tree).index = ptr::null_mut();
        (*index).watch.retire();
        Some(index)
    }
}

unsafe fn park_index(index: *mut Index) {
    // SAFETY: no tree has this index (caller).
    unsafe { *index = Index::default() };
    let mut parked = PARKED.lock().unwrap_or_else(|e| e.into_inner());
    parked.push(Parked(index));
}

/// Makes the index say what the list says.
unsafe fn build_index(tree: *mut RawTree) {
    // SAFETY: walks the list of a live, sealed tree (caller).
    unsafe {
        if (*tree).index.is_null() {
            (*tree).index = take_index();
        }
        let index = (*tree).index;
        let (table, watch) = (addr_of_mut!((*index).table), addr_of_mut!((*index).watch));
        let (table, watch) = (&mut *table, &mut *watch);
        let mut held = watch.held();
        let mut linked = Vec::with_capacity(held.len());
        table.restart((*tree).count as usize);
        let mut elem = (*tree).first;
        while !elem.is_null() {
            table.insert(hash_of(elem), elem);
            warn_former_owner(elem, index);
            (*elem).owner = index;
            if held.contains(&elem) {
                linked.push(elem);
            }
            elem = (*elem).next;
        }
        table.first = (*tree).first;
        (*tree).count = table.len() as u32;
        // What is no longer linked may be freed, and must not be looked at again.
        held.retain(|elem| linked.contains(elem));
        watch.renew(table.len(), &held);
    }
}

/// An element that a client moved here by hand is still in the index of the tree where it was.
unsafe fn warn_former_owner(elem: *const RawElem, expected: *const Index) {
    // SAFETY: owner is NULL or an index, and indexes are never freed.
    unsafe {
        let owner = (*elem).owner;
        let is_expected = owner.is_null() || ptr::eq(owner, expected);
        if !is_expected && !(*owner).watch.is_retired() {
            (*owner).watch.mark_stale();
        }
    }
}

pub(super) unsafe fn key_bytes<'a>(elem: *const RawElem) -> &'a CStr {
    // SAFETY: an element's key is NULL or a C string (contract of kvtree.h).
    unsafe {
        if (*elem).key.is_null() {
            c""
        } else {
            CStr::from_ptr((*elem).key)
        }
    }
}

unsafe fn hash_of(elem: *const RawElem) -> u64 {
    // SAFETY: as for key_bytes.
    index::hash(unsafe { key_bytes(elem) }.to_bytes())
}

/// True while the index holds exactly the list, as far as clients were able to change it.
unsafe fn believable(tree: *const RawTree, index: *mut Index) -> bool {
    // SAFETY: the index belongs to the live tree, and what it watches stands in the tree.
    unsafe {
        let (table, watch) = (&(*index).table, &(*index).watch);
        watch.check(
            |elem| table.contains(hash_of(elem), elem),
            || matches_list(tree, index),
        )
    }
}

/// As [`believable`], for an index that may be stale already or serve another tree.
unsafe fn may_be_believed(tree: *const RawTree, index: *mut Index) -> bool {
    // SAFETY: the suspects of a stale index are not looked at.
    unsafe { index == index_of(tree) && !(*index).watch.is_stale() && believable(tree, index) }
}

unsafe fn matches_list(tree: *const RawTree, index: *mut Index) -> bool {
    // SAFETY: walks the list of a live tree.
    unsafe {
        let table = &(*index).table;
        let mut elem = (*tree).first;
        let mut count = 0;
        while !elem.is_null() {
            if !table.contains(hash_of(elem), elem) {
                return false;
            }
            elem = (*elem).next;
            count += 1;
        }
        count == table.len()
    }
}

// ---- lookup ---------------------------------------------------------------------------------

enum Lookup {
    Found(*mut RawElem),
    Absent,
    /// Only the list can tell.
    Unsure,
}

unsafe fn is_key(elem: *const RawElem, key: *const c_char) -> bool {
    // SAFETY: a non-NULL key is a C string. Most keys differ in their first character: no call for these.
    unsafe {
        let own = (*elem).key;
        !own.is_null() && *own == *key && libc::strcmp(own, key) == 0
    }
}

pub(super) unsafe fn find(tree: *const RawTree, key: *const c_char) -> *mut RawElem {
    // SAFETY: tree is live (caller).
    unsafe {
        let index = index_of(tree);
        match index.is_null() {
            true => walk_to(tree, key),
            false => find_in_large(tree, index, key),
        }
    }
}

/// Apart, so that small trees do not save registers for it.
#[inline(never)]
unsafe fn find_in_large(
    tree: *const RawTree,
    index: *mut Index,
    key: *const c_char,
) -> *mut RawElem {
    // SAFETY: the index belongs to the live tree (caller).
    unsafe {
        match find_indexed(tree, index, key) {
            Lookup::Found(elem) => elem,
            Lookup::Absent => ptr::null_mut(),
            Lookup::Unsure => walk_to(tree, key),
        }
    }
}

#[inline]
unsafe fn walk_to(tree: *const RawTree, key: *const c_char) -> *mut RawElem {
    // SAFETY: tree is live and well linked (caller).
    unsafe {
        let mut elem = (*tree).first;
        while !elem.is_null() && !is_key(elem, key) {
            elem = (*elem).next;
        }
        elem
    }
}

unsafe fn find_indexed(tree: *const RawTree, index: *mut Index, key: *const c_char) -> Lookup {
    // SAFETY: the index belongs to the live tree, its candidates are elements of it.
    unsafe {
        let (table, watch) = (&(*index).table, &(*index).watch);
        if watch.is_stale() {
            return Lookup::Unsure;
        }
        if table.first != (*tree).first || !believable(tree, index) {
            watch.mark_stale();
            return Lookup::Unsure;
        }
        let hash = index::hash(CStr::from_ptr(key).to_bytes());
        let Some((elem, is_one_of_many)) = table.candidate(hash) else {
            return Lookup::Absent;
        };
        if is_one_of_many {
            return Lookup::Unsure; // a key that stands twice: the first in the list counts
        }
        if !is_key(elem, key) || !is_linked(elem, index) {
            watch.mark_stale();
            return Lookup::Unsure;
        }
        Lookup::Found(elem)
    }
}

/// False for an element that a client took out, or put in front of one of another tree.
unsafe fn is_linked(elem: *const RawElem, index: *const Index) -> bool {
    // SAFETY: elem was linked by us or by a client that kept its links right.
    unsafe {
        let next = (*elem).next;
        let follows = || next.is_null() || ptr::eq((*next).owner, index);
        ptr::eq(*(*elem).prev, elem) && ((*index).watch.is_quiet() || follows())
    }
}

/// As [`find`], for callers that are about to change the tree: repairs the index first.
pub(super) unsafe fn find_to_change(tree: *mut RawTree, key: *const c_char) -> *mut RawElem {
    // SAFETY: tree is live and exclusively ours (caller).
    unsafe {
        let found = find(tree, key);
        let index = index_of(tree);
        if !index.is_null() && (*index).watch.is_stale() {
            build_index(tree);
        }
        found
    }
}

// ---- links ----------------------------------------------------------------------------------

unsafe fn link(place: *mut *mut RawElem, elem: *mut RawElem) {
    // SAFETY: place is the head or a next field of a well linked list (caller).
    unsafe {
        let next = *place;
        (*elem).next = next;
        (*elem).prev = place;
        if !next.is_null() {
            (*next).prev = addr_of_mut!((*elem).next);
        }
        *place = elem;
    }
}

unsafe fn unlink(elem: *mut RawElem) {
    // SAFETY: elem is linked (caller).
    unsafe {
        let next = (*elem).next;
        if !next.is_null() {
            (*next).prev = (*elem).prev;
        }
        *(*elem).prev = next;
    }
}

/// Inserts a new element at `place` and takes note of it.
pub(super) unsafe fn insert(tree: *mut RawTree, place: *mut *mut RawElem, elem: *mut RawElem) {
    // SAFETY: place belongs to the list of the live tree (caller).
    unsafe {
        insert_unindexed(tree, place, elem);
        index_if_large(tree);
    }
}

/// As [`insert`], but does not give the tree an index if it has none.
pub(super) unsafe fn insert_unindexed(
    tree: *mut RawTree,
    place: *mut *mut RawElem,
    elem: *mut RawElem,
) {
    // SAFETY: place belongs to the list of the live tree (caller).
    unsafe {
        if (*tree).seal != seal_of(tree) {
            return link(place, elem);
        }
        let index = (*tree).index;
        (*tree).count = (*tree).count.saturating_add(1);
        if index.is_null() {
            return link(place, elem);
        }
        let known_head = (*index).table.first == (*tree).first;
        link(place, elem);
        let table = &mut *addr_of_mut!((*index).table);
        table.insert(hash_of(elem), elem);
        (*elem).owner = index;
        (*addr_of_mut!((*index).watch)).fit(table.len());
        if known_head {
            table.first = (*tree).first;
        }
    }
}

pub(super) unsafe fn index_if_large(tree: *mut RawTree) {
    // SAFETY: tree is live (caller).
    unsafe {
        let is_large = (*tree).count > LINEAR && (*tree).seal == seal_of(tree);
        if is_large && (*tree).index.is_null() {
            build_index(tree);
        }
    }
}

/// Takes an element out of the list and out of the index that knows it.
pub(super) unsafe fn remove(tree: *mut RawTree, elem: *mut RawElem) {
    // SAFETY: elem is linked; its owner is NULL or an index that was never freed.
    unsafe {
        let index = (*elem).owner;
        if !index.is_null() && !may_be_believed(tree, index) {
            (*index).watch.mark_stale();
        }
        let known_head = !index.is_null() && (*index).table.first == (*tree).first;
        unlink(elem);
        if (*tree).seal == seal_of(tree) {
            (*tree).count = (*tree).count.saturating_sub(1);
        }
        if index.is_null() {
            return;
        }
        (*elem).owner = ptr::null_mut();
        (*index).watch.forget(elem);
        let table = &mut *addr_of_mut!((*index).table);
        if !table.remove(hash_of(elem), elem) {
            (*index).watch.mark_stale();
        }
        if (*index).watch.is_stale() {
            // An entry that cannot be found by its key must not outlive its element.
            return rebuild_if_indexed(tree);
        }
        if known_head {
            table.first = (*tree).first;
        }
        if (table.len() as u32) < LINEAR / 4 {
            forget_small_index(tree);
        }
    }
}

unsafe fn rebuild_if_indexed(tree: *mut RawTree) {
    // SAFETY: tree is live (caller).
    unsafe {
        if !index_of(tree).is_null() {
            build_index(tree);
        }
    }
}

unsafe fn forget_small_index(tree: *mut RawTree) {
    // SAFETY: tree is live (caller).
    unsafe {
        let mut elem = (*tree).first;
        while !elem.is_null() {
            (*elem).owner = ptr::null_mut();
            elem = (*elem).next;
        }
        retire_index(tree).into_iter().for_each(|i| park_index(i));
    }
}

pub(super) unsafe fn move_to_head(tree: *mut RawTree, elem: *mut RawElem) {
    // SAFETY: elem is linked in the live tree (caller).
    unsafe {
        let index = index_of(tree);
        let known_head = !index.is_null() && (*index).table.first == (*tree).first;
        unlink(elem);
        link(addr_of_mut!((*tree).first), elem);
        if known_head {
            let table = &mut *addr_of_mut!((*index).table);
            table.first = elem;
        }
    }
}

pub(super) unsafe fn child_of(tree: *mut RawTree, key: &CStr) -> NonNull<RawTree> {
    // SAFETY: tree is live and exclusively ours (caller).
    unsafe {
        let found = find_to_change(tree, key.as_ptr());
        if found.is_null() {
            let child = new_tree();
            let head = addr_of_mut!((*tree).first);
            insert(tree, head, new_elem(copy_key(key), child.as_ptr()));
            return child;
        }
        if let Some(child) = NonNull::new((*found).tree) {
            return child;
        }
        let child = new_tree();
        (*found).tree = child.as_ptr();
        move_to_head(tree, found);
        child
    }
}

pub(super) fn new_elem(key: *mut c_char, tree: *mut RawTree) -> *mut RawElem {
    let elem = RawElem {
        key,
        tree,
        next: ptr::null_mut(),
        prev: ptr::null_mut(),
        owner: ptr::null_mut(),
    };
    allocate(elem).as_ptr()
}
