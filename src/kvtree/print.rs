//! Trees as text for people.

use super::{ElemRef, TreeRef};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintMode {
    /// One key a line.
    Tree,
    /// `key = value` where a key has one value and nothing is below that.
    KeyValue,
}

/// Calls `line` for every line, without the line end. Keys are bytes and need not be UTF-8.
pub fn lines(tree: Option<TreeRef>, indent: usize, mode: PrintMode, mut line: impl FnMut(&[u8])) {
    let mut text = Vec::new();
    let mut write = |indent: usize, parts: &[&[u8]]| {
        text.clear();
        text.resize(indent, b' ');
        text.extend(parts.iter().copied().flatten());
        line(&text);
    };
    let Some(tree) = tree else {
        return write(indent, &[b"NULL LIST"]);
    };
    let mut elems = tree.preorder();
    while let Some((depth, elem)) = elems.next() {
        let indent = indent + 2 * (depth + 1);
        let key = elem.key().map_or(&b"NULL KEY"[..], |k| k.to_bytes());
        match only_value(elem).filter(|_| mode == PrintMode::KeyValue) {
            Some(value) => {
                write(indent, &[key, b" = ", value]);
                elems.skip_children();
            }
            None => {
                write(indent, &[key]);
                if elem.tree().is_none() {
                    write(indent, &[b"NULL LIST"]);
                }
            }
        }
    }
}

/// The value of an element that is nothing but a key with one value.
fn only_value(elem: ElemRef<'_>) -> Option<&[u8]> {
    elem.key()?;
    let only = elem.tree()?.first()?;
    let is_only = only.next().is_none() && only.tree().is_none_or(TreeRef::is_empty);
    is_only.then(|| only.key().map_or(&b"(null)"[..], |k| k.to_bytes()))
}

#[cfg(test)]
mod tests;
