//! The byte form of a tree: what files and messages carry.
//!
//! A tree is a big-endian 32-bit count, then for each element its key with the closing NUL and the tree
//! below it; nothing below is a count of 0. Reading trusts no count and no length: every step is checked
//! against the bytes that are there, and the tree grows only as fast as bytes are used up.

use super::{Cursor, Error, Result, Tree, TreeMut, TreeRef};
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

/// Hands the packed bytes to `put`, piece by piece: [`packed_size`] bytes in all.
pub fn pack(tree: Option<TreeRef>, mut put: impl FnMut(&[u8])) {
    put(&count_of(tree));
    for (_, elem) in tree.iter().flat_map(|t| t.preorder()) {
        put(elem.key().unwrap_or_default().to_bytes_with_nul());
        put(&count_of(elem.tree()));
    }
}

fn count_of(tree: Option<TreeRef>) -> [u8; COUNT] {
    let count = tree.map_or(0, TreeRef::len) as u32;
    count.to_be_bytes()
}

pub fn packed(tree: Option<TreeRef>) -> Result<Vec<u8>> {
    let mut bytes = room_for(packed_size(tree))?;
    pack(tree, |piece| bytes.extend_from_slice(piece));
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

/// Unpacks the tree at the start of `bytes` and says how many bytes it took.
pub fn unpack(bytes: &[u8], order: Order) -> std::result::Result<(Tree, usize), FormatError> {
    let mut tree = Tree::new();
    let used = unpack_into(bytes, tree.edit(), order)?;
    Ok((tree, used))
}

/// Adds the packed elements to `tree` in front of its own, without looking for equal keys.
///
/// On an error the tree holds the elements that came before the damage.
pub fn unpack_into(
    bytes: &[u8],
    tree: TreeMut,
    order: Order,
) -> std::result::Result<usize, FormatError> {
    let mut reader = Reader { bytes, at: 0 };
    let mut cursor = Cursor::new(tree);
    // How many elements are still to come in each tree from the root to here.
    let mut open = vec![reader.count()?];
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            cursor.climb_to(open.len().saturating_sub(1));
            continue;
        }
        *left -= 1;
        let key = reader.key()?;
        let below = reader.count()?;
        match order {
            Order::AsPacked => cursor.push_back(key),
            Order::Reversed => cursor.push_front(key),
        }
        open.push(below);
    }
    Ok(reader.at)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
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
