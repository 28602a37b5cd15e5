//! The byte form of a tree: what files and messages carry.
//!
//! A tree is a big-endian 32-bit count, then for each element its key with the closing NUL and the tree
//! below it; nothing below is a count of 0. Reading trusts no count and no length: every step is checked
//! against the bytes that are there, and the tree grows only as fast as bytes are used up.

use super::list::USUAL_DEPTH;
use super::{Cursor, Error, Filler, Result, Tree, TreeMut, TreeRef};
use smallvec::{SmallVec, smallvec};
use std::ffi::CStr;

const COUNT: usize = 4;
/// An empty key and an empty tree below it.
const SMALLEST_ELEMENT: usize = 1 + COUNT;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("not a kvtree file")]
    Magic,
    #[error("unknown file type {kind} or version {version}")]
    Version { kind: u16, version: u16 },
    #[error("the file says it has {0} bytes, which cannot be")]
    Size(u64),
    #[error("the file ends after {got} of {expected} bytes")]
    Short { got: u64, expected: u64 },
    #[error("the checksum is {found:#010x}, the content gives {computed:#010x}")]
    Checksum { found: u32, computed: u32 },
    #[error("{count} elements are announced at byte {at}, but only {left} bytes follow")]
    Count { count: u32, at: usize, left: usize },
    #[error("the key at byte {at} does not end")]
    Key { at: usize },
    #[error("the tree ends at byte {at}, in the middle of a count")]
    Truncated { at: usize },
}

/// How the elements of an unpacked tree follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    AsPacked,
    Reversed,
}

pub fn packed_size(tree: Option<TreeRef>) -> usize {
    let element = |(_, e): (_, super::ElemRef)| e.key_bytes().len() + SMALLEST_ELEMENT;
    COUNT + tree.map_or(0, |t| t.preorder().map(element).sum())
}

/// Where the parts of a packed tree go.
pub(crate) trait PackSink {
    fn count(&mut self, count: u32);
    fn key(&mut self, key: &CStr);
}

impl PackSink for Vec<u8> {
    fn count(&mut self, count: u32) {
        self.extend_from_slice(&count.to_be_bytes());
    }

    fn key(&mut self, key: &CStr) {
        self.extend_from_slice(key.to_bytes_with_nul());
    }
}

/// Hands the parts of the packed tree to `sink`: [`packed_size`] bytes in all.
pub(crate) fn pack(tree: Option<TreeRef>, sink: &mut impl PackSink) {
    pack_levels(tree, sink, USUAL_DEPTH);
}

/// Recursion is fastest, but only so many levels of it; what lies deeper is walked.
fn pack_levels(tree: Option<TreeRef>, sink: &mut impl PackSink, levels: usize) {
    let count = |tree: Option<TreeRef>| tree.map_or(0, TreeRef::len) as u32;
    sink.count(count(tree));
    let Some(tree) = tree else {
        return;
    };
    if levels > 0 {
        for elem in tree.iter() {
            sink.key(elem.key().unwrap_or_default());
            pack_levels(elem.tree(), sink, levels - 1);
        }
        return;
    }
    for (_, elem) in tree.preorder() {
        sink.key(elem.key().unwrap_or_default());
        sink.count(count(elem.tree()));
    }
}

pub fn packed(tree: Option<TreeRef>) -> Result<Vec<u8>> {
    let mut bytes = room_for(packed_size(tree))?;
    pack(tree, &mut bytes);
    Ok(bytes)
}

/// An empty buffer that can take `size` bytes.
pub(super) fn room_for(size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(size)
        .map_err(|_| Error::NoMemory(size))?;
    Ok(bytes)
}

/// Finds the end of the packed tree at the start of `bytes`, checking every step on the way.
pub fn packed_length(bytes: &[u8]) -> std::result::Result<usize, FormatError> {
    let mut reader = PackReader::new(bytes);
    let mut elements = u64::from(reader.count()?);
    while elements > 0 {
        reader.key()?;
        elements += u64::from(reader.count()?);
        elements -= 1;
    }
    Ok(reader.at)
}

/// Unpacks the tree at the start of `bytes` and says how many bytes it took.
pub fn unpack(bytes: &[u8], order: Order) -> std::result::Result<(Tree, usize), FormatError> {
    let mut tree = Tree::new();
    let used = unpack_into(bytes, tree.edit(), order)?;
    Ok((tree, used))
}

/// Adds the packed elements to `tree` in front of its own, without looking for equal keys.
///
/// On an error the tree is as it was.
pub fn unpack_into(
    bytes: &[u8],
    tree: TreeMut,
    order: Order,
) -> std::result::Result<usize, FormatError> {
    let packed = PackedTree::new(bytes)?;
    packed.unpack_into(tree, order)?;
    Ok(packed.0.len())
}

/// Merges the packed tree into `tree`, as if it had been unpacked and then merged: elements with new
/// keys come first and in this order.
///
/// On an error the tree is as it was.
pub fn merge_into(
    bytes: &[u8],
    mut tree: TreeMut,
    order: Order,
) -> std::result::Result<usize, FormatError> {
    let length = packed_length(bytes)?;
    let bytes = &bytes[..length];
    if order == Order::Reversed {
        walk(
            &mut PackReader::new(bytes),
            Cursor::new(tree),
            |cursor, key| {
                cursor.enter(key);
                true
            },
        )?;
        return Ok(length);
    }
    if tree.view().is_empty() {
        let cursor = Cursor::new(tree.edit());
        if walk(&mut PackReader::new(bytes), cursor, |c, key| {
            c.add_back(key)
        })? {
            return Ok(length);
        }
        tree.clear();
    }
    // Keys that stand twice, or in both: take the long way.
    let (unpacked, _) = unpack(bytes, Order::Reversed)?;
    tree.merge(unpacked.view())
        .expect("unpacked elements have keys");
    Ok(length)
}

/// Adds the packed elements to `tree` in front of its own, without looking for equal keys.
pub(crate) fn unpack_from<'a>(
    source: &mut impl PackSource<'a>,
    tree: TreeMut,
    order: Order,
) -> std::result::Result<(), FormatError> {
    unpack_levels(source, tree, order, USUAL_DEPTH)
}

/// As [`pack_levels`]: what lies deeper than `levels` is walked.
fn unpack_levels<'a>(
    source: &mut impl PackSource<'a>,
    tree: TreeMut,
    order: Order,
    levels: usize,
) -> std::result::Result<(), FormatError> {
    if levels == 0 {
        return unpack_deep(source, tree, order);
    }
    let count = source.count()?;
    let mut filler = Filler::new(tree);
    for _ in 0..count {
        let key = source.key()?;
        let below = match order {
            Order::AsPacked => filler.push_back(key),
            Order::Reversed => filler.push_front(key),
        };
        unpack_levels(source, below, order, levels - 1)?;
    }
    filler.finish();
    Ok(())
}

fn unpack_deep<'a>(
    source: &mut impl PackSource<'a>,
    tree: TreeMut,
    order: Order,
) -> std::result::Result<(), FormatError> {
    walk(source, Cursor::new(tree), |cursor, key| {
        match order {
            Order::AsPacked => cursor.push_back(key),
            Order::Reversed => cursor.push_front(key),
        }
        true
    })?;
    Ok(())
}

/// Where the parts of a packed tree come from.
pub(crate) trait PackSource<'a> {
    fn count(&mut self) -> std::result::Result<u32, FormatError>;
    fn key(&mut self) -> std::result::Result<&'a CStr, FormatError>;
}

/// Leads the cursor through a packed tree: `add` enters each element, or returns false to end it all.
fn walk<'s, 'a>(
    source: &mut impl PackSource<'s>,
    mut cursor: Cursor<'a>,
    mut add: impl FnMut(&mut Cursor<'a>, &CStr) -> bool,
) -> std::result::Result<bool, FormatError> {
    // How many elements are still to come in each tree from the root to here.
    let mut open: SmallVec<[u32; USUAL_DEPTH]> = smallvec![source.count()?];
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            cursor.climb_to(open.len().saturating_sub(1));
            continue;
        }
        *left -= 1;
        let key = source.key()?;
        if !add(&mut cursor, key) {
            return Ok(false);
        }
        match source.count()? {
            0 => cursor.climb_to(open.len() - 1),
            below => open.push(below),
        }
    }
    cursor.finish();
    Ok(true)
}

/// A packed tree, seen without unpacking it.
#[derive(Clone, Copy)]
pub struct PackedTree<'a>(&'a [u8]);

impl<'a> PackedTree<'a> {
    /// The tree that fills `bytes`.
    pub fn new(bytes: &'a [u8]) -> std::result::Result<Self, FormatError> {
        let length = packed_length(bytes)?;
        Ok(PackedTree(&bytes[..length]))
    }

    /// The same, when the bytes are known to be right.
    pub(crate) fn checked(bytes: &'a [u8]) -> Self {
        PackedTree(bytes)
    }

    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// As the function of this name, without checking again.
    pub fn unpack_into(self, tree: TreeMut, order: Order) -> std::result::Result<(), FormatError> {
        unpack_from(&mut PackReader::new(self.0), tree, order)
    }

    pub fn children(self) -> impl Iterator<Item = (&'a CStr, PackedTree<'a>)> {
        let mut reader = PackReader::new(self.0);
        let count = reader.count().unwrap_or(0);
        (0..count).map_while(move |_| {
            let key = reader.key().ok()?;
            let below = PackedTree::new(&self.0[reader.at..]).ok()?;
            reader.at += below.0.len();
            Some((key, below))
        })
    }

    pub fn get(self, key: &CStr) -> Option<PackedTree<'a>> {
        self.children()
            .find(|(k, _)| *k == key)
            .map(|(_, below)| below)
    }

    /// The first value of `key`.
    pub fn value(self, key: &CStr) -> Option<&'a CStr> {
        self.get(key)?.children().next().map(|(value, _)| value)
    }
}

struct PackReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> PackReader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        PackReader { bytes, at: 0 }
    }
}

impl<'a> PackSource<'a> for PackReader<'a> {
    fn count(&mut self) -> std::result::Result<u32, FormatError> {
        let rest = &self.bytes[self.at..];
        let (count, rest) = rest
            .split_first_chunk::<COUNT>()
            .ok_or(FormatError::Truncated { at: self.at })?;
        let count = u32::from_be_bytes(*count);
        if count as usize > rest.len() / SMALLEST_ELEMENT {
            return Err(FormatError::Count {
                count,
                at: self.at,
                left: rest.len(),
            });
        }
        self.at += COUNT;
        Ok(count)
    }

    fn key(&mut self) -> std::result::Result<&'a CStr, FormatError> {
        let key = CStr::from_bytes_until_nul(&self.bytes[self.at..])
            .map_err(|_| FormatError::Key { at: self.at })?;
        self.at += key.count_bytes() + 1;
        Ok(key)
    }
}

#[cfg(test)]
mod tests;
