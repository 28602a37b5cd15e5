//! The tree as C sees it: a public, malloc-owned element list, and the safe types over it.
//!
//! `RawTree` and `RawElem` begin with the fields that `kvtree.h` publishes; ours follow behind them
//! and fit into the space that malloc hands out anyway. Trees of up to `LINEAR` keys are searched by
//! walking the list, exactly as clients expect; larger ones get an [`Index`], which is only believed as
//! far as clients cannot have changed the list behind it (see `index.rs`).
//!
//! [`Tree`] owns, [`TreeRef`] reads, [`TreeMut`] changes. All rooms use these three; nothing else in
//! the library touches a raw element. Walks use no recursion, so no depth of nesting overflows a stack.
#![allow(unsafe_code)]

use super::index::{self, Index, Suspects};
use std::ffi::{CStr, c_char};
use std::marker::PhantomData;
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
    key: *mut c_char,
    tree: *mut RawTree,
    next: *mut RawElem,
    prev: *mut *mut RawElem,
    owner: *mut Index,
}

/// Tells our trees from structs that a client made or copied itself: those have no index.
fn seal_of(tree: *const RawTree) -> u32 {
    (tree.addr() >> 4) as u32 ^ 0x5354_4e43
}

// ---- memory ---------------------------------------------------------------------------------

/// Memory that C may `free`. Running out is a panic, which the C layer turns into an error code.
fn allocate<T>(value: T) -> NonNull<T> {
    // SAFETY: malloc has no preconditions.
    let place = unsafe { libc::malloc(size_of::<T>()) }.cast::<T>();
    let place = NonNull::new(place).expect("out of memory");
    // SAFETY: malloc gave room for a T, aligned for any type.
    unsafe { place.write(value) };
    place
}

fn copy_key(key: &CStr) -> *mut c_char {
    // SAFETY: key is a C string.
    let copy = unsafe { libc::strdup(key.as_ptr()) };
    assert!(!copy.is_null(), "out of memory");
    copy
}

fn new_tree() -> NonNull<RawTree> {
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
unsafe fn free_elem(elem: *mut RawElem) {
    // SAFETY: key and element are malloc-owned and no longer linked (caller).
    unsafe {
        libc::free((*elem).key.cast());
        libc::free(elem.cast());
    }
}

/// Deletes all elements. Subtrees are spliced into the same list instead of recursing into them.
unsafe fn clear(tree: *mut RawTree) {
    // SAFETY: the list is well linked (caller); each element is visited once and then freed.
    unsafe {
        drop_index(tree);
        let mut elem = (*tree).first;
        (*tree).first = ptr::null_mut();
        while !elem.is_null() {
            let mut next = (*elem).next;
            let subtree = (*elem).tree;
            if !subtree.is_null() {
                drop_index(subtree);
                next = chain((*subtree).first, next);
                libc::free(subtree.cast());
            }
            free_elem(elem);
            elem = next;
        }
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

unsafe fn free_tree(tree: *mut RawTree) {
    // SAFETY: the tree is malloc-owned and nobody uses it afterwards (caller).
    unsafe {
        clear(tree);
        libc::free(tree.cast());
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

unsafe fn drop_index(tree: *mut RawTree) {
    // SAFETY: an index found in a tree is live and serves only it.
    unsafe {
        let index = index_of(tree);
        if index.is_null() {
            return;
        }
        (*tree).index = ptr::null_mut();
        *index = Index::default();
        let mut parked = PARKED.lock().unwrap_or_else(|e| e.into_inner());
        parked.push(Parked(index));
    }
}

/// Makes the index say what the list says.
unsafe fn build_index(tree: *mut RawTree) {
    // SAFETY: walks the list of a live, sealed tree (caller).
    unsafe {
        drop_index(tree);
        let index = take_index();
        let table = &mut *addr_of_mut!((*index).table);
        table.reserve((*tree).count as usize);
        let mut elem = (*tree).first;
        let mut count = 0;
        while !elem.is_null() {
            table.insert(hash_of(elem), elem);
            (*elem).owner = index;
            elem = (*elem).next;
            count += 1;
        }
        table.first = (*tree).first;
        (*tree).count = count;
        (*tree).index = index;
    }
}

unsafe fn key_bytes<'a>(elem: *const RawElem) -> &'a CStr {
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
    // SAFETY: the index belongs to the live tree; suspects are elements that were never removed.
    unsafe {
        let (table, watch) = (&(*index).table, &(*index).watch);
        let unchanged = |elem| table.contains(hash_of(elem), elem);
        let right = match watch.suspects() {
            Suspects::Some(elems) => elems.into_iter().all(unchanged),
            Suspects::All => matches_list(tree, index),
        };
        if right {
            watch.settle();
        }
        right
    }
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

unsafe fn is_key(elem: *const RawElem, key: &CStr) -> bool {
    // SAFETY: a non-NULL key is a C string.
    unsafe { !(*elem).key.is_null() && libc::strcmp((*elem).key, key.as_ptr()) == 0 }
}

unsafe fn find(tree: *const RawTree, key: &CStr) -> *mut RawElem {
    // SAFETY: tree is live (caller).
    unsafe {
        let index = index_of(tree);
        if !index.is_null() {
            match find_indexed(tree, index, key) {
                Lookup::Found(elem) => return elem,
                Lookup::Absent => return ptr::null_mut(),
                Lookup::Unsure => {}
            }
        }
        let mut elem = (*tree).first;
        while !elem.is_null() && !is_key(elem, key) {
            elem = (*elem).next;
        }
        elem
    }
}

unsafe fn find_indexed(tree: *const RawTree, index: *mut Index, key: &CStr) -> Lookup {
    // SAFETY: the index belongs to the live tree, its candidates are elements of it.
    unsafe {
        let (table, watch) = (&(*index).table, &(*index).watch);
        if watch.is_stale() || table.first != (*tree).first {
            watch.mark_stale();
            return Lookup::Unsure;
        }
        let mut found = ptr::null_mut();
        for elem in table.candidates(index::hash(key.to_bytes())) {
            if !is_key(elem, key) || *(*elem).prev != elem {
                watch.mark_stale();
                return Lookup::Unsure;
            }
            if !found.is_null() {
                return Lookup::Unsure; // a key that stands twice: the first in the list counts
            }
            found = elem;
        }
        if !found.is_null() {
            return Lookup::Found(found);
        }
        if believable(tree, index) {
            return Lookup::Absent;
        }
        watch.mark_stale();
        Lookup::Unsure
    }
}

/// As [`find`], for callers that are about to change the tree: repairs the index first.
unsafe fn find_to_change(tree: *mut RawTree, key: &CStr) -> *mut RawElem {
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
unsafe fn insert(tree: *mut RawTree, place: *mut *mut RawElem, elem: *mut RawElem) {
    // SAFETY: place belongs to the list of the live tree (caller).
    unsafe {
        let index = index_of(tree);
        let known_head = !index.is_null() && (*index).table.first == (*tree).first;
        link(place, elem);
        if (*tree).seal != seal_of(tree) {
            return;
        }
        (*tree).count = (*tree).count.saturating_add(1);
        if index.is_null() {
            if (*tree).count > LINEAR {
                build_index(tree);
            }
            return;
        }
        let table = &mut *addr_of_mut!((*index).table);
        table.insert(hash_of(elem), elem);
        (*elem).owner = index;
        if known_head {
            table.first = (*tree).first;
        }
    }
}

/// Takes an element out of the list and out of the index that knows it.
unsafe fn remove(tree: *mut RawTree, elem: *mut RawElem) {
    // SAFETY: elem is linked; its owner is NULL or an index that was never freed.
    unsafe {
        let index = (*elem).owner;
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
        if !table.remove(hash_of(elem), elem) || index != index_of(tree) {
            (*index).watch.mark_stale();
            forget_stale_index(tree);
            return;
        }
        if known_head {
            table.first = (*tree).first;
        }
        if (table.len() as u32) < LINEAR / 4 {
            forget_small_index(tree);
        }
    }
}

/// The entry of a renamed element cannot be found by its hash, and must not outlive the element.
unsafe fn forget_stale_index(tree: *mut RawTree) {
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
        drop_index(tree);
    }
}

unsafe fn move_to_head(tree: *mut RawTree, elem: *mut RawElem) {
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

unsafe fn child_of(tree: *mut RawTree, key: &CStr) -> NonNull<RawTree> {
    // SAFETY: tree is live and exclusively ours (caller).
    unsafe {
        let found = find_to_change(tree, key);
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

// ---- safe types -----------------------------------------------------------------------------

/// An owned tree.
pub struct Tree(NonNull<RawTree>);

// SAFETY: a tree is plain memory without thread affinity.
unsafe impl Send for Tree {}

/// A tree that may be read for `'a`.
#[derive(Clone, Copy)]
pub struct TreeRef<'a>(NonNull<RawTree>, PhantomData<&'a RawTree>);

/// A tree that may be changed for `'a`.
pub struct TreeMut<'a>(NonNull<RawTree>, PhantomData<&'a mut RawTree>);

/// An element that may be read for `'a`.
#[derive(Clone, Copy)]
pub struct ElemRef<'a>(NonNull<RawElem>, PhantomData<&'a RawElem>);

impl Default for Tree {
    fn default() -> Self {
        Tree(new_tree())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // SAFETY: we own the tree.
        unsafe { free_tree(self.0.as_ptr()) }
    }
}

impl Tree {
    pub fn new() -> Self {
        Self::default()
    }

    /// # Safety
    /// `raw` came from [`Tree::into_raw`] or `kvtree_new` and is given up by the caller.
    pub unsafe fn from_raw(raw: *mut RawTree) -> Option<Self> {
        NonNull::new(raw).map(Tree)
    }

    pub fn into_raw(self) -> *mut RawTree {
        let raw = self.0.as_ptr();
        std::mem::forget(self);
        raw
    }

    pub fn view(&self) -> TreeRef<'_> {
        TreeRef(self.0, PhantomData)
    }

    pub fn edit(&mut self) -> TreeMut<'_> {
        TreeMut(self.0, PhantomData)
    }
}

impl<'a> TreeRef<'a> {
    /// # Safety
    /// `raw` is NULL or a tree that stays alive and unchanged by others for `'a`.
    pub unsafe fn from_raw(raw: *const RawTree) -> Option<Self> {
        NonNull::new(raw.cast_mut()).map(|p| TreeRef(p, PhantomData))
    }

    pub fn as_raw(self) -> *mut RawTree {
        self.0.as_ptr()
    }

    pub fn first(self) -> Option<ElemRef<'a>> {
        // SAFETY: the tree is alive for 'a.
        let first = unsafe { (*self.0.as_ptr()).first };
        NonNull::new(first).map(|e| ElemRef(e, PhantomData))
    }

    pub fn is_empty(self) -> bool {
        self.first().is_none()
    }

    pub fn len(self) -> usize {
        self.iter().count()
    }

    pub fn iter(self) -> impl Iterator<Item = ElemRef<'a>> {
        std::iter::successors(self.first(), |e| e.next())
    }

    pub fn elem(self, key: &CStr) -> Option<ElemRef<'a>> {
        // SAFETY: the tree is alive for 'a.
        let found = unsafe { find(self.0.as_ptr(), key) };
        NonNull::new(found).map(|e| ElemRef(e, PhantomData))
    }

    pub fn get(self, key: &CStr) -> Option<TreeRef<'a>> {
        self.elem(key)?.tree()
    }

    /// All elements below this tree, parents before children, with their depth from 0.
    pub fn preorder(self) -> Preorder<'a> {
        Preorder {
            next: self.first(),
            below: None,
            stack: Vec::new(),
        }
    }

}

impl<'a> ElemRef<'a> {
    /// # Safety
    /// `raw` is NULL or an element that stays alive for `'a`.
    pub unsafe fn from_raw(raw: *const RawElem) -> Option<Self> {
        NonNull::new(raw.cast_mut()).map(|p| ElemRef(p, PhantomData))
    }

    /// `None` for the NULL key that only a client can have set.
    pub fn key(self) -> Option<&'a CStr> {
        // SAFETY: the element is alive for 'a, and so is its key.
        unsafe { (!(*self.0.as_ptr()).key.is_null()).then(|| key_bytes(self.0.as_ptr())) }
    }

    pub fn key_bytes(self) -> &'a [u8] {
        self.key().unwrap_or(c"").to_bytes()
    }

    pub fn raw_key(self) -> *mut c_char {
        // SAFETY: the element is alive for 'a.
        unsafe { (*self.0.as_ptr()).key }
    }

    pub fn tree(self) -> Option<TreeRef<'a>> {
        // SAFETY: the element is alive for 'a, and so is its subtree.
        unsafe { TreeRef::from_raw((*self.0.as_ptr()).tree) }
    }

    pub fn next(self) -> Option<ElemRef<'a>> {
        // SAFETY: the element is alive for 'a.
        unsafe { ElemRef::from_raw((*self.0.as_ptr()).next) }
    }

    /// The pointer for a client, after taking note that the client now can change the element.
    pub fn hand_out(self) -> *mut RawElem {
        let elem = self.0.as_ptr();
        // SAFETY: owner is NULL or an index, and indexes are never freed.
        unsafe {
            let index = (*elem).owner;
            if !index.is_null() {
                (*index).watch.hand_out(elem);
            }
        }
        elem
    }
}

pub struct Preorder<'a> {
    next: Option<ElemRef<'a>>,
    below: Option<TreeRef<'a>>,
    stack: Vec<Option<ElemRef<'a>>>,
}

impl Preorder<'_> {
    /// Does not go below the element that was returned last.
    pub fn skip_children(&mut self) {
        self.below = None;
    }
}

impl<'a> Iterator for Preorder<'a> {
    type Item = (usize, ElemRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(child) = self.below.take().and_then(TreeRef::first) {
            self.stack.push(self.next);
            self.next = Some(child);
        }
        while self.next.is_none() {
            self.next = self.stack.pop()?;
        }
        let elem = self.next?;
        self.next = elem.next();
        self.below = elem.tree();
        Some((self.stack.len(), elem))
    }
}

impl<'a> TreeMut<'a> {
    /// # Safety
    /// `raw` is NULL or a tree that nobody else uses for `'a`.
    pub unsafe fn from_raw(raw: *mut RawTree) -> Option<Self> {
        NonNull::new(raw).map(|p| TreeMut(p, PhantomData))
    }

    pub fn into_raw(self) -> *mut RawTree {
        self.0.as_ptr()
    }

    pub fn edit(&mut self) -> TreeMut<'_> {
        TreeMut(self.0, PhantomData)
    }

    pub fn view(&self) -> TreeRef<'_> {
        TreeRef(self.0, PhantomData)
    }

    pub fn into_view(self) -> TreeRef<'a> {
        TreeRef(self.0, PhantomData)
    }

    /// Sets what stands below `key` and moves the element to the head; what stood there is deleted.
    pub fn set(&mut self, key: &CStr, value: Option<Tree>) -> Option<TreeMut<'_>> {
        let value = value.map_or(ptr::null_mut(), Tree::into_raw);
        let tree = self.0.as_ptr();
        // SAFETY: the tree is ours for 'a; a new value replaces the old one in its element.
        unsafe {
            let found = find_to_change(tree, key);
            if found.is_null() {
                let head = addr_of_mut!((*tree).first);
                insert(tree, head, new_elem(copy_key(key), value));
            } else {
                let old = std::mem::replace(&mut (*found).tree, value);
                if !old.is_null() && old != value {
                    free_tree(old);
                }
                move_to_head(tree, found);
            }
            TreeMut::from_raw(value)
        }
    }

    /// The tree below `key`, made empty if there is none.
    pub fn child(&mut self, key: &CStr) -> TreeMut<'_> {
        // SAFETY: the tree is ours; the child lives in it.
        TreeMut(unsafe { child_of(self.0.as_ptr(), key) }, PhantomData)
    }

    /// As [`TreeMut::child`], for a way down.
    pub fn into_child(self, key: &CStr) -> TreeMut<'a> {
        // SAFETY: the tree is ours for 'a; the child lives in it.
        TreeMut(unsafe { child_of(self.0.as_ptr(), key) }, PhantomData)
    }

    /// Takes the first element with this key out of the tree; the caller owns it.
    pub fn take_elem(&mut self, key: &CStr) -> Option<*mut RawElem> {
        // SAFETY: the tree is ours.
        unsafe {
            let found = find_to_change(self.0.as_ptr(), key);
            if found.is_null() {
                return None;
            }
            remove(self.0.as_ptr(), found);
            Some(found)
        }
    }

    /// Takes this element out of the tree.
    ///
    /// # Safety
    /// `elem` is linked in a live tree.
    pub unsafe fn take_elem_at(&mut self, elem: *mut RawElem) {
        // SAFETY: promised by the caller.
        unsafe { remove(self.0.as_ptr(), elem) }
    }

    /// Removes the element with this key and returns what stood below it.
    pub fn extract(&mut self, key: &CStr) -> Option<Tree> {
        let elem = self.take_elem(key)?;
        // SAFETY: the element is ours now.
        unsafe {
            let subtree = (*elem).tree;
            free_elem(elem);
            Tree::from_raw(subtree)
        }
    }

    pub fn unset(&mut self, key: &CStr) {
        drop(self.extract(key));
    }

    pub fn clear(&mut self) {
        // SAFETY: the tree is ours.
        unsafe { clear(self.0.as_ptr()) }
    }

    /// Orders the elements; equal ones keep their order.
    pub fn sort_by_key<K: Ord>(&mut self, rank: impl FnMut(&ElemRef<'_>) -> K) {
        let mut elems: Vec<_> = self.view().iter().collect();
        elems.sort_by_cached_key(rank);
        let order: Vec<_> = elems.iter().map(|e| e.0.as_ptr()).collect();
        let tree = self.0.as_ptr();
        for elem in order.into_iter().rev() {
            // SAFETY: each is linked in our tree.
            unsafe { move_to_head(tree, elem) };
        }
    }
}

/// A place in a tree that is being filled: descends and climbs without recursion.
pub struct Cursor<'a> {
    /// The trees from the root to here, each with the element added last.
    path: Vec<(*mut RawTree, *mut RawElem)>,
    root: PhantomData<&'a mut RawTree>,
}

impl<'a> Cursor<'a> {
    pub fn new(root: TreeMut<'a>) -> Self {
        Cursor {
            path: vec![(root.0.as_ptr(), ptr::null_mut())],
            root: PhantomData,
        }
    }

    pub fn depth(&self) -> usize {
        self.path.len() - 1
    }

    /// Goes down to the tree below `key`, made empty if there is none.
    pub fn enter(&mut self, key: &CStr) {
        let (tree, _) = self.here();
        // SAFETY: trees on the path are alive and changed only through this cursor.
        let child = unsafe { child_of(*tree, key) };
        self.path.push((child.as_ptr(), ptr::null_mut()));
    }

    /// Adds an element at the head without looking for its key, and goes down to its tree.
    pub fn push_front(&mut self, key: &CStr) {
        let tree = self.here().0;
        // SAFETY: the tree is alive, its head is a place in its list.
        self.push_at(key, unsafe { addr_of_mut!((*tree).first) });
    }

    /// Adds an element behind the one added last, without looking for its key, and goes down.
    pub fn push_back(&mut self, key: &CStr) {
        let (tree, last) = *self.here();
        // SAFETY: `last` was added by this cursor and nothing was removed since.
        let place = unsafe {
            if last.is_null() {
                addr_of_mut!((*tree).first)
            } else {
                addr_of_mut!((*last).next)
            }
        };
        self.push_at(key, place);
    }

    fn push_at(&mut self, key: &CStr, place: *mut *mut RawElem) {
        let child = new_tree();
        let elem = new_elem(copy_key(key), child.as_ptr());
        let here = self.here();
        here.1 = elem;
        // SAFETY: place is in the list of the tree at the end of the path.
        unsafe { insert(here.0, place, elem) };
        self.path.push((child.as_ptr(), ptr::null_mut()));
    }

    /// Climbs until `depth` trees lie above this place.
    pub fn climb_to(&mut self, depth: usize) {
        self.path.truncate(depth + 1);
    }

    fn here(&mut self) -> &mut (*mut RawTree, *mut RawElem) {
        self.path.last_mut().expect("the root stays on the path")
    }
}

fn new_elem(key: *mut c_char, tree: *mut RawTree) -> *mut RawElem {
    let elem = RawElem {
        key,
        tree,
        next: ptr::null_mut(),
        prev: ptr::null_mut(),
        owner: ptr::null_mut(),
    };
    allocate(elem).as_ptr()
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
