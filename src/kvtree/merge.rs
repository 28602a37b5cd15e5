//! Copying trees into trees, and ordering them.

use super::value::parse_int;
use super::{Cursor, Error, Result, Tree, TreeMut, TreeRef};
use std::cmp::Reverse;

impl TreeMut<'_> {
    /// Copies all elements of `from` into this tree; what stands below equal keys is merged.
    ///
    /// New keys go to the head one after the other, so a copy has the reverse order of its source.
    pub fn merge(&mut self, from: TreeRef) -> Result<()> {
        let target = self.view().as_raw();
        let mut cursor = Cursor::new(self.edit());
        let mut complete = Ok(());
        let mut source = from.preorder();
        while let Some((depth, elem)) = source.next() {
            if elem.tree().is_some_and(|below| below.as_raw() == target) {
                drop(cursor);
                return self.merge_from_above(from);
            }
            cursor.climb_to(depth);
            match elem.key() {
                Some(key) => cursor.enter(key),
                None => {
                    source.skip_children();
                    complete = Err(Error::NullKey);
                }
            }
        }
        complete
    }

    /// This tree is part of `from`, and would grow while it is being copied: copy that first.
    fn merge_from_above(&mut self, from: TreeRef) -> Result<()> {
        let mut copy = Tree::new();
        copy.edit().merge(from)?;
        self.merge(copy.view())
    }

    pub fn sort(&mut self, descending: bool) {
        if descending {
            self.sort_by_key(|e| Reverse(e.key_bytes().to_vec()));
        } else {
            self.sort_by_key(|e| e.key_bytes().to_vec());
        }
    }

    pub fn sort_int(&mut self, descending: bool) {
        if descending {
            self.sort_by_key(|e| Reverse(parse_int(e.key_bytes())));
        } else {
            self.sort_by_key(|e| parse_int(e.key_bytes()));
        }
    }
}

impl TreeRef<'_> {
    /// All keys as integers, ascending.
    pub fn list_int(self) -> Vec<i32> {
        let mut keys: Vec<i32> = self.iter().map(|e| parse_int(e.key_bytes())).collect();
        keys.sort_unstable();
        keys
    }
}
