//! Memory for data: that it runs out is an error like any other.

use super::{Error, Result};
use crate::pages;

/// So many zeros.
pub(super) fn zeros(length: u64) -> Result<Vec<u8>> {
    #[cfg(test)]
    fuse::burn(length as usize)?;
    let zeros = usize::try_from(length).ok().and_then(pages::zeroed);
    zeros.ok_or(Error::Memory(length))
}

pub(super) fn copy(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copied = with_room(bytes.len())?;
    copied.extend_from_slice(bytes);
    Ok(copied)
}

/// Nothing yet, with room for so many bytes.
pub(super) fn with_room(length: usize) -> Result<Vec<u8>> {
    #[cfg(test)]
    fuse::burn(length)?;
    let mut bytes = Vec::new();
    let room = bytes.try_reserve_exact(length);
    room.map_err(|_| Error::Memory(length as u64))?;
    Ok(bytes)
}

/// Lets memory run out in tests.
#[cfg(test)]
pub(super) mod fuse {
    use std::cell::Cell;

    use super::{Error, Result};

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// After so many times this thread gets nothing, once.
    pub(crate) fn light(left: Option<u32>) {
        LEFT.set(left);
    }

    pub(crate) fn is_lit() -> bool {
        LEFT.get().is_some()
    }

    pub(super) fn burn(length: usize) -> Result<()> {
        match LEFT.get() {
            Some(0) => {
                LEFT.set(None);
                Err(Error::Memory(length as u64))
            }
            left => {
                LEFT.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }
}
