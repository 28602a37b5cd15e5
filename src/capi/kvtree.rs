//! `kvtree.h`, first part: trees, elements, packing.
//!
//! `kvtree_setf` and `kvtree_getf` are variadic and live in `src/shim/kvtree_format.c`.

use super::{alloc, error, guard, guard_alone, ptr};
use crate::kvtree::value::{parse_int, signed_text};
use crate::kvtree::{ElemRef, Error, Result, Tree, TreeMut, TreeRef, pack};
use crate::kvtree::{RawElem as kvtree_elem, RawTree as kvtree};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::ptr::null_mut;

pub(super) const KVTREE_SUCCESS: c_int = 0;
/// kvtree knows one failure code for every [`Error`].
pub(super) const KVTREE_FAILURE: c_int = 1;

const KVTREE_SORT_DESCENDING: c_int = 1;

/// Runs `body` and turns its verdict into a return code and a text.
pub(super) fn status(body: impl FnOnce() -> Result<()>) -> c_int {
    guard(KVTREE_FAILURE, || code(body()))
}

pub(super) fn code(verdict: Result<()>) -> c_int {
    match verdict {
        Ok(()) => KVTREE_SUCCESS,
        Err(cause) => {
            error::keep(cause);
            KVTREE_FAILURE
        }
    }
}

pub(super) fn needed<T>(value: Option<T>, what: &'static str) -> Result<T> {
    value.ok_or(Error::Null(what))
}

pub(super) unsafe fn view<'a>(hash: *const kvtree) -> Result<TreeRef<'a>> {
    // SAFETY: a tree of the caller, or NULL.
    needed(unsafe { TreeRef::from_raw(hash) }, "hash")
}

pub(super) unsafe fn edit<'a>(hash: *mut kvtree) -> Result<TreeMut<'a>> {
    // SAFETY: a tree of the caller, or NULL.
    needed(unsafe { TreeMut::from_raw(hash) }, "hash")
}

pub(super) unsafe fn path<'a>(file: *const c_char) -> Result<&'a Path> {
    // SAFETY: a string of the caller, or NULL.
    needed(unsafe { ptr::path(file) }, "file name")
}

fn raw(tree: Option<TreeRef>) -> *mut kvtree {
    tree.map_or(null_mut(), TreeRef::as_raw)
}

// ---- allocate and delete ----

/// Makes an empty tree, to be given back to kvtree_delete.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_new() -> *mut kvtree {
    guard_alone(null_mut(), null_mut(), || Tree::new().into_raw())
}

/// Deletes a tree with all that is in it and sets the pointer to NULL; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_delete(ptr_hash: *mut *mut kvtree) -> c_int {
    guard(KVTREE_FAILURE, || {
        if !ptr_hash.is_null() {
            // SAFETY: the caller gives the tree up.
            drop(unsafe { Tree::from_raw(ptr_hash.replace(null_mut())) });
        }
        KVTREE_SUCCESS
    })
}

// ---- size, get, set, unset, merge ----

/// The number of keys; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_size(hash: *const kvtree) -> c_int {
    guard(0, || {
        // SAFETY: arguments of the caller.
        unsafe { TreeRef::from_raw(hash) }.map_or(0, |t| t.len() as c_int)
    })
}

/// The tree below `key`; NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_get(hash: *const kvtree, key: *const c_char) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || raw(unsafe { get(hash, key) }))
}

unsafe fn get<'a>(hash: *const kvtree, key: *const c_char) -> Option<TreeRef<'a>> {
    // SAFETY: arguments of the caller.
    unsafe { TreeRef::from_raw(hash)?.elem_named(key)?.tree() }
}

/// Sets the tree below `key` to `hash_value`, which now belongs to `hash` and may be NULL; what stood
/// there is deleted.
///
/// # Returns
/// `hash_value`; NULL if `hash` or `key` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_set(
    hash: *mut kvtree,
    key: *const c_char,
    hash_value: *mut kvtree,
) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    guard_alone(null_mut(), null_mut(), || unsafe {
        match (TreeMut::from_raw(hash), ptr::text(key)) {
            (Some(mut tree), Some(key)) => {
                tree.set(key, Tree::from_raw(hash_value));
                hash_value
            }
            _ => null_mut(),
        }
    })
}

/// Removes `key` and returns the tree below it, which now belongs to the caller; NULL if none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_extract(hash: *mut kvtree, key: *const c_char) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        let tree = TreeMut::from_raw(hash).zip(ptr::text(key));
        let below = tree.and_then(|(mut tree, key)| tree.extract(key));
        below.map_or(null_mut(), Tree::into_raw)
    })
}

/// Removes `key` with all below it, if it is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_unset(hash: *mut kvtree, key: *const c_char) -> c_int {
    // SAFETY: arguments of the caller.
    guard(KVTREE_FAILURE, || unsafe {
        if let (Some(mut tree), Some(key)) = (TreeMut::from_raw(hash), ptr::text(key)) {
            tree.unset(key);
        }
        KVTREE_SUCCESS
    })
}

/// Removes all keys; the tree itself stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_unset_all(hash: *mut kvtree) -> c_int {
    // SAFETY: arguments of the caller.
    guard(KVTREE_FAILURE, || unsafe {
        if let Some(mut tree) = TreeMut::from_raw(hash) {
            tree.clear();
        }
        KVTREE_SUCCESS
    })
}

/// Copies all of `hash2` into `hash1`; what stands below equal keys is merged. `hash2` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_merge(hash1: *mut kvtree, hash2: *const kvtree) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let mut into = needed(TreeMut::from_raw(hash1), "hash1")?;
        TreeRef::from_raw(hash2).map_or(Ok(()), |from| into.merge(from))
    })
}

/// Orders the elements by key, byte by byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_sort(hash: *mut kvtree, direction: c_int) -> c_int {
    // SAFETY: arguments of the caller.
    guard(KVTREE_FAILURE, || unsafe {
        if let Some(mut tree) = TreeMut::from_raw(hash) {
            tree.sort(direction == KVTREE_SORT_DESCENDING);
        }
        KVTREE_SUCCESS
    })
}

/// Orders the elements by key, read as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_sort_int(hash: *mut kvtree, direction: c_int) -> c_int {
    // SAFETY: arguments of the caller.
    guard(KVTREE_FAILURE, || unsafe {
        if let Some(mut tree) = TreeMut::from_raw(hash) {
            tree.sort_int(direction == KVTREE_SORT_DESCENDING);
        }
        KVTREE_SUCCESS
    })
}

/// All keys as integers, ascending, in a list that the caller frees; NULL if there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_list_int(
    hash: *const kvtree,
    num: *mut c_int,
    list: *mut *mut c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let keys = TreeRef::from_raw(hash).map_or(Vec::new(), TreeRef::list_int);
        if num.is_null() || list.is_null() {
            return Err(Error::Null("num and list"));
        }
        let copy = match keys.is_empty() {
            true => null_mut(),
            false => alloc::copy(&keys).ok_or(Error::NoMemory(size_of_val(&keys[..])))?,
        };
        ptr::store(num, keys.len() as c_int);
        ptr::store(list, copy);
        Ok(())
    })
}

// ---- key/value pairs ----

/// Makes sure that `val` stands below `key` and returns the tree below it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_set_kv(
    hash: *mut kvtree,
    key: *const c_char,
    val: *const c_char,
) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    guard_alone(null_mut(), null_mut(), || unsafe {
        set_kv(hash, key, ptr::text(val))
    })
}

/// As kvtree_set_kv with an integer as value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_set_kv_int(
    hash: *mut kvtree,
    key: *const c_char,
    val: c_int,
) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    guard_alone(null_mut(), null_mut(), || unsafe {
        set_kv(hash, key, Some(&signed_text(val.into())))
    })
}

unsafe fn set_kv(hash: *mut kvtree, key: *const c_char, val: Option<&CStr>) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    let place = unsafe { TreeMut::from_raw(hash).zip(ptr::text(key)) };
    let Some((tree, key)) = place else {
        return null_mut();
    };
    let values = tree.into_child(key);
    val.map_or(null_mut(), |val| values.into_child(val).into_raw())
}

/// The tree below `val` below `key`; NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_get_kv(
    hash: *const kvtree,
    key: *const c_char,
    val: *const c_char,
) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        let values = get(hash, key).zip(ptr::text(val));
        raw(values.and_then(|(values, val)| values.get(val)))
    })
}

/// As kvtree_get_kv with an integer as value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_get_kv_int(
    hash: *const kvtree,
    key: *const c_char,
    val: c_int,
) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        raw(get(hash, key).and_then(|values| values.get(&signed_text(val.into()))))
    })
}

/// Removes `val` below `key`, and `key` too when nothing is left below it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_unset_kv(
    hash: *mut kvtree,
    key: *const c_char,
    val: *const c_char,
) -> c_int {
    // SAFETY: arguments of the caller.
    guard(KVTREE_FAILURE, || unsafe {
        unset_kv(hash, key, ptr::text(val))
    })
}

/// As kvtree_unset_kv with an integer as value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_unset_kv_int(
    hash: *mut kvtree,
    key: *const c_char,
    val: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    guard(KVTREE_FAILURE, || unsafe {
        unset_kv(hash, key, Some(&signed_text(val.into())))
    })
}

unsafe fn unset_kv(hash: *mut kvtree, key: *const c_char, val: Option<&CStr>) -> c_int {
    // SAFETY: arguments of the caller.
    let place = unsafe { TreeMut::from_raw(hash).zip(ptr::text(key)) };
    if let Some((mut tree, key)) = place {
        tree.unset_kv(key, val);
    }
    KVTREE_SUCCESS
}

// ---- elements ----

// The plain accessors run without a guard: they cannot panic, and it would cost more than they do.

fn handed_out(elem: Option<ElemRef>) -> *mut kvtree_elem {
    elem.map_or(null_mut(), ElemRef::hand_out)
}

/// The first element; NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_first(hash: *const kvtree) -> *mut kvtree_elem {
    // SAFETY: arguments of the caller.
    handed_out(unsafe { TreeRef::from_raw(hash) }.and_then(TreeRef::first))
}

/// The element after `elem`; NULL if it is the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_next(elem: *const kvtree_elem) -> *mut kvtree_elem {
    // SAFETY: arguments of the caller.
    handed_out(unsafe { ElemRef::from_raw(elem) }.and_then(ElemRef::next))
}

/// The key of the element, which stays with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_key(elem: *const kvtree_elem) -> *mut c_char {
    // SAFETY: arguments of the caller.
    unsafe { ElemRef::from_raw(elem) }.map_or(null_mut(), ElemRef::raw_key)
}

/// The key of the element as an integer; 0 if it is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_key_int(elem: *const kvtree_elem) -> c_int {
    guard(0, || {
        // SAFETY: arguments of the caller.
        unsafe { ElemRef::from_raw(elem) }.map_or(0, |e| parse_int(e.key_bytes()))
    })
}

/// The tree below the element, which stays with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_hash(elem: *const kvtree_elem) -> *mut kvtree {
    // SAFETY: arguments of the caller.
    raw(unsafe { ElemRef::from_raw(elem) }.and_then(ElemRef::tree))
}

/// The first element with this key; NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_get(
    hash: *const kvtree,
    key: *const c_char,
) -> *mut kvtree_elem {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        let place = TreeRef::from_raw(hash).zip(ptr::text(key));
        handed_out(place.and_then(|(tree, key)| tree.elem(key)))
    })
}

/// The first value below `key`; NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_get_first_val(
    hash: *const kvtree,
    key: *const c_char,
) -> *mut c_char {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        let first = get(hash, key).and_then(TreeRef::first);
        first.map_or(null_mut(), ElemRef::raw_key)
    })
}

/// Takes the first element with this key out of the tree; it now belongs to the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_extract(
    hash: *mut kvtree,
    key: *const c_char,
) -> *mut kvtree_elem {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe { take_elem(hash, ptr::text(key)) })
}

/// As kvtree_elem_extract with an integer as key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_extract_int(
    hash: *mut kvtree,
    key: c_int,
) -> *mut kvtree_elem {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        take_elem(hash, Some(&signed_text(key.into())))
    })
}

unsafe fn take_elem(hash: *mut kvtree, key: Option<&CStr>) -> *mut kvtree_elem {
    // SAFETY: arguments of the caller.
    let place = unsafe { TreeMut::from_raw(hash) }.zip(key);
    let taken = place.and_then(|(mut tree, key)| tree.take_elem(key));
    taken.unwrap_or(null_mut())
}

/// Takes this element, which must be in the tree, out of it and returns it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_elem_extract_by_addr(
    hash: *mut kvtree,
    elem: *mut kvtree_elem,
) -> *mut kvtree_elem {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        match TreeMut::from_raw(hash) {
            Some(mut tree) if !elem.is_null() => tree.take_elem_at(elem),
            _ => return null_mut(),
        }
        elem
    })
}

/// The one value below `key`; NULL if there is none or more than one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_get_val(hash: *const kvtree, key: *const c_char) -> *mut c_char {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        let place = TreeRef::from_raw(hash).zip(ptr::text(key));
        match place.map(|(tree, key)| tree.value(key)) {
            Some(Ok(value)) => value.as_ptr().cast_mut(),
            Some(Err(cause @ Error::NotSingle { .. })) => {
                error::keep(cause);
                null_mut()
            }
            _ => null_mut(),
        }
    })
}

// ---- pack and unpack ----

/// The number of bytes that kvtree_pack will write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_pack_size(hash: *const kvtree) -> usize {
    // SAFETY: arguments of the caller.
    guard(0, || pack::packed_size(unsafe { TreeRef::from_raw(hash) }))
}

/// Packs the tree into `buf`, which has room for kvtree_pack_size bytes, and returns their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_pack(buf: *mut c_char, hash: *const kvtree) -> usize {
    // SAFETY: arguments of the caller.
    let tree = unsafe { TreeRef::from_raw(hash) };
    guard(0, || {
        let mut buffer = Roomy { at: buf };
        if !buf.is_null() {
            pack::pack(tree, &mut buffer);
        }
        buffer.at.addr() - buf.addr()
    })
}

/// A buffer that the caller says has room for the whole packed tree.
struct Roomy {
    at: *mut c_char,
}

impl pack::Sink for Roomy {
    fn count(&mut self, count: u32) {
        // SAFETY: there is room (caller).
        unsafe {
            self.at.cast::<u32>().write_unaligned(count.to_be());
            self.at = self.at.add(size_of::<u32>());
        }
    }

    fn key(&mut self, key: &CStr) {
        let bytes = key.to_bytes_with_nul();
        // SAFETY: as above.
        unsafe {
            self.at
                .copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len());
            self.at = self.at.add(bytes.len());
        }
    }
}

/// Adds the packed elements to `hash` and returns the number of bytes read. The buffer must hold a
/// packed tree; its length is not known here, so it cannot be checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_unpack(buf: *const c_char, hash: *mut kvtree) -> usize {
    // SAFETY: arguments of the caller.
    let tree = unsafe { TreeMut::from_raw(hash) };
    guard_alone(0, 0, || match tree.filter(|_| !buf.is_null()) {
        Some(tree) => {
            let mut source = Trusted { start: buf, at: 0 };
            let unpacked = pack::unpack_from(&mut source, tree, pack::Order::Reversed);
            unpacked.map_or(0, |()| source.at)
        }
        None => 0,
    })
}

/// A buffer that the caller says holds a whole packed tree.
struct Trusted {
    start: *const c_char,
    at: usize,
}

impl<'a> pack::Source<'a> for Trusted {
    fn count(&mut self) -> std::result::Result<u32, pack::FormatError> {
        // SAFETY: the buffer holds a whole packed tree (caller), so each step stays inside.
        let count = unsafe { self.start.add(self.at).cast::<u32>().read_unaligned() };
        self.at += size_of::<u32>();
        Ok(u32::from_be(count))
    }

    fn key(&mut self) -> std::result::Result<&'a CStr, pack::FormatError> {
        // SAFETY: as above.
        let key = unsafe { CStr::from_ptr(self.start.add(self.at)) };
        self.at += key.count_bytes() + 1;
        Ok(key)
    }
}
