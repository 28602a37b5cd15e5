//! The tree as C sees it: a public, malloc-owned element list, and the safe types over it.
//!
//! `RawTree` and `RawElem` begin with the fields that `kvtree.h` publishes; ours follow behind them
//! and fit into the space that malloc hands out anyway. [`Tree`] owns, [`TreeRef`] reads, [`TreeMut`]
//! changes, [`Filler`] and [`Cursor`] fill. All rooms use these; nothing else in the library touches a raw element.
//! Walks use no recursion, so no depth of nesting overflows a stack.
#![allow(unsafe_code)]

mod index;
mod raw;
mod watch;

use raw::*;
pub use raw::{RawElem, RawTree};
use smallvec::{SmallVec, smallvec};
use std::ffi::{CStr, c_char};
use std::marker::PhantomData;
use std::ptr::{self, NonNull, addr_of_mut};

// ---- safe types -----------------------------------------------------------------------------

/// Walks of this depth need no memory of their own.
pub(super) const USUAL_DEPTH: usize = 12;

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
        // SAFETY: key is a C string.
        unsafe { self.elem_named(key.as_ptr()) }
    }

    /// As [`TreeRef::elem`] for a key whose length nobody has counted yet.
    ///
    /// # Safety
    /// `key` is NULL or a C string.
    pub unsafe fn elem_named(self, key: *const c_char) -> Option<ElemRef<'a>> {
        if key.is_null() {
            return None;
        }
        // SAFETY: the tree is alive for 'a.
        unsafe { ElemRef::from_raw(find(self.0.as_ptr(), key)) }
    }

    pub fn get(self, key: &CStr) -> Option<TreeRef<'a>> {
        self.elem(key)?.tree()
    }

    /// All elements below this tree, parents before children, with their depth from 0.
    pub fn preorder(self) -> Preorder<'a> {
        Preorder {
            next: self.first(),
            below: None,
            stack: SmallVec::new(),
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
            match index.is_null() {
                true => elem,
                false => (*index).watch.hand_out(elem),
            }
        }
    }
}

pub struct Preorder<'a> {
    next: Option<ElemRef<'a>>,
    below: Option<TreeRef<'a>>,
    stack: SmallVec<[Option<ElemRef<'a>>; USUAL_DEPTH]>,
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

    /// Sets what stands below `key` and moves the element to the head; what stood there is deleted.
    pub fn set(&mut self, key: &CStr, value: Option<Tree>) -> Option<TreeMut<'_>> {
        let value = value.map_or(ptr::null_mut(), Tree::into_raw);
        let tree = self.0.as_ptr();
        // SAFETY: the tree is ours for 'a; a new value replaces the old one in its element.
        unsafe {
            let found = find_to_change(tree, key.as_ptr());
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
            let found = find_to_change(self.0.as_ptr(), key.as_ptr());
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

/// One list that is being filled.
pub struct Filler<'a> {
    tree: NonNull<RawTree>,
    /// The element added last.
    last: *mut RawElem,
    lifetime: PhantomData<&'a mut RawTree>,
}

impl<'a> Filler<'a> {
    pub fn new(tree: TreeMut<'a>) -> Self {
        Filler {
            tree: tree.0,
            last: ptr::null_mut(),
            lifetime: PhantomData,
        }
    }

    /// Adds an element at the head without looking for its key; returns the empty tree below it.
    #[inline]
    pub fn push_front(&mut self, key: &CStr) -> TreeMut<'a> {
        // SAFETY: the tree is ours for 'a, its head is a place in its list.
        let head = unsafe { addr_of_mut!((*self.tree.as_ptr()).first) };
        self.push_at(key, head)
    }

    /// The same behind the element added last.
    #[inline]
    pub fn push_back(&mut self, key: &CStr) -> TreeMut<'a> {
        // SAFETY: `last` was added here and nothing was removed since.
        let place = unsafe {
            match NonNull::new(self.last) {
                Some(last) => addr_of_mut!((*last.as_ptr()).next),
                None => addr_of_mut!((*self.tree.as_ptr()).first),
            }
        };
        self.push_at(key, place)
    }

    #[inline]
    fn push_at(&mut self, key: &CStr, place: *mut *mut RawElem) -> TreeMut<'a> {
        let child = new_tree();
        self.last = new_elem(copy_key(key), child.as_ptr());
        // SAFETY: place is in the list of our tree; the child lives in it.
        unsafe { insert_unindexed(self.tree.as_ptr(), place, self.last) };
        TreeMut(child, PhantomData)
    }

    /// As [`Filler::push_back`] if the key is new; otherwise nothing changes.
    fn add_back(&mut self, key: &CStr) -> Option<TreeMut<'a>> {
        let tree = self.tree.as_ptr();
        // SAFETY: the tree is ours for 'a.
        unsafe {
            if !find_to_change(tree, key.as_ptr()).is_null() {
                return None;
            }
            let child = self.push_back(key);
            index_if_large(tree);
            Some(child)
        }
    }

    /// A tree that was pushed into gets its index when it is full, not while it grows.
    #[inline]
    pub fn finish(self) {
        // SAFETY: the tree is ours for 'a.
        unsafe { index_if_large(self.tree.as_ptr()) };
    }
}

/// A place in a tree that is being filled: descends and climbs without recursion.
pub struct Cursor<'a> {
    /// The trees from the root to here; each is changed only while it is the last.
    path: SmallVec<[Filler<'a>; USUAL_DEPTH]>,
}

impl<'a> Cursor<'a> {
    pub fn new(root: TreeMut<'a>) -> Self {
        Cursor {
            path: smallvec![Filler::new(root)],
        }
    }

    pub fn depth(&self) -> usize {
        self.path.len() - 1
    }

    /// Goes down to the tree below `key`, made empty if there is none.
    pub fn enter(&mut self, key: &CStr) {
        let tree = self.here().tree.as_ptr();
        // SAFETY: trees on the path are alive and changed only through this cursor.
        let child = unsafe { child_of(tree, key) };
        self.go_down(TreeMut(child, PhantomData));
    }

    /// Adds an element behind the one added last and goes down to its tree; false if the key is there
    /// already, and then nothing has changed.
    pub fn add_back(&mut self, key: &CStr) -> bool {
        let added = self.here().add_back(key);
        let is_new = added.is_some();
        added.into_iter().for_each(|child| self.go_down(child));
        is_new
    }

    /// Adds an element at the head without looking for its key, and goes down to its tree.
    pub fn push_front(&mut self, key: &CStr) {
        let child = self.here().push_front(key);
        self.go_down(child);
    }

    /// Adds an element behind the one added last, without looking for its key, and goes down.
    pub fn push_back(&mut self, key: &CStr) {
        let child = self.here().push_back(key);
        self.go_down(child);
    }

    fn go_down(&mut self, child: TreeMut<'a>) {
        self.path.push(Filler::new(child));
    }

    /// Climbs until `depth` trees lie above this place.
    pub fn climb_to(&mut self, depth: usize) {
        while self.path.len() > depth + 1 {
            self.leave();
        }
    }

    /// Climbs out of the root: nothing more is added.
    pub fn finish(mut self) {
        self.climb_to(0);
        self.leave();
    }

    #[inline]
    fn leave(&mut self) {
        if let Some(left) = self.path.pop() {
            left.finish();
        }
    }

    fn here(&mut self) -> &mut Filler<'a> {
        self.path.last_mut().expect("the root stays on the path")
    }
}

#[cfg(test)]
mod tests;
