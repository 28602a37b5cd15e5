//! Allocation that may fail: running out of memory is an error like any other.

use super::{Error, Result};
use crate::pages;

/// An empty list with capacity for `items`.
pub(super) fn list<T>(items: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    reserve(&mut list, items, Vec::try_reserve_exact)?;
    Ok(list)
}

/// Makes room for `more` items; grows as pushing them one by one would.
pub(super) fn grow<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    match list.capacity() - list.len() >= more {
        true => Ok(()),
        false => reserve(list, more, Vec::try_reserve),
    }
}

fn reserve<T, E>(
    list: &mut Vec<T>,
    more: usize,
    reserve: impl FnOnce(&mut Vec<T>, usize) -> std::result::Result<(), E>,
) -> Result<()> {
    let items = list.len().saturating_add(more);
    let bytes = items.saturating_mul(size_of::<T>()) as u64;
    #[cfg(test)]
    fuse::burn(bytes)?;
    reserve(list, more).map_err(|_| Error::Memory(bytes))
}

pub(super) fn copy<T: Copy>(items: &[T]) -> Result<Vec<T>> {
    let mut copied = list(items.len())?;
    copied.extend_from_slice(items);
    Ok(copied)
}

pub(super) fn zeros(bytes: u64) -> Result<Vec<u8>> {
    #[cfg(test)]
    fuse::burn(bytes)?;
    fresh(bytes)
}

/// As [`zeros`], but never made to fail by a test.
pub(super) fn fresh(bytes: u64) -> Result<Vec<u8>> {
    let zeros = usize::try_from(bytes).ok().and_then(pages::zeroed);
    zeros.ok_or(Error::Memory(bytes))
}

/// Lets memory run out in tests.
#[cfg(test)]
pub(super) mod fuse {
    use std::cell::Cell;

    use super::{Error, Result};

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// After `left` allocations, one of this thread fails.
    pub(crate) fn light(left: Option<u32>) {
        LEFT.set(left);
    }

    pub(crate) fn is_lit() -> bool {
        LEFT.get().is_some()
    }

    pub(in crate::pio) fn burn(bytes: u64) -> Result<()> {
        match LEFT.get() {
            Some(0) => {
                LEFT.set(None);
                Err(Error::Memory(bytes))
            }
            left => {
                LEFT.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }
}
