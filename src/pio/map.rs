//! The map of one rank: the offset in the global array of each of its elements.
//!
//! Elements are sent in the order of the global array, whatever the order of the map. So a map is kept as two sequences
//! of the same length, without holes: ascending offsets in the global array, and the offsets in the rank's own array
//! that belong to them. An ascending map is used as it is; any other is sorted, as far as the rearranger needs it.

use std::ops::Range;

use super::sequence::{Builder, Run, Sequence};
use super::{Error, Result};
use buckets::{SortError, arrange};

mod buckets;

#[derive(Debug, Default)]
pub(super) struct Map {
    /// Entries, holes included.
    pub(super) length: usize,
    /// Offsets in the global array, counted from 0, in order.
    pub(super) globals: Sequence,
    pub(super) locals: Sequence,
}

impl Map {
    #[cfg(test)]
    pub(super) fn new(entries: &[i64], total: u64, rank: usize) -> Result<Self> {
        Self::sorted_within(entries, total, rank, |_| true)
    }

    /// `entries` are offsets into an array of `total` elements, counted from 1; 0 is a hole. The map is sorted, but not
    /// necessarily within parts of the array for which `sorted` does not hold.
    pub(super) fn sorted_within(
        entries: &[i64],
        total: u64,
        rank: usize,
        sorted: impl Fn(Range<u64>) -> bool,
    ) -> Result<Self> {
        let found = match Self::ascending(entries, total, usize::MAX) {
            Ok(Some(map)) => return Ok(map),
            Ok(None) => arrange(entries, total, sorted),
            Err(refused) => Err(refused),
        };
        match found {
            Ok((globals, locals)) => Ok(Self {
                length: entries.len(),
                globals,
                locals,
            }),
            Err(SortError::Bounds(position)) => Err(Error::Bounds {
                rank,
                position: position as u64,
                value: entries[position],
                total,
            }),
            Err(SortError::Memory) => Err(Error::Memory(16 * entries.len() as u64)),
        }
    }

    /// The map, if it ascends and is regular; gives up early on any other.
    pub(super) fn regular(entries: &[i64], total: u64) -> Option<Self> {
        const FEW: usize = 64;
        Self::ascending(entries, total, FEW).ok().flatten()
    }

    /// `None` if the entries do not ascend, or begin with more than `few` short progressions.
    fn ascending(
        entries: &[i64],
        total: u64,
        few: usize,
    ) -> std::result::Result<Option<Self>, SortError> {
        const SHORT: usize = 16;
        let (mut globals, mut locals) = (Builder::default(), Builder::default());
        let (mut position, mut last, mut progressions) = (0, 0, 0);
        while position < entries.len() {
            let first = entries[position];
            if first == 0 {
                position += 1;
                continue;
            }
            let (step, length) = progression(&entries[position..]);
            check(first, step, length, total)
                .map_err(|offset| SortError::Bounds(position + offset))?;
            progressions += 1;
            if first < last || progressions > few.saturating_add(position / SHORT) {
                return Ok(None);
            }
            globals.push_run(Run {
                start: first as u64 - 1,
                length: if step == 1 { length as u64 } else { 1 },
                stride: step,
                repeat: if step == 1 { 1 } else { length as u64 },
            });
            locals.push_block(position as u64, length as u64);
            last = first + step * (length as i64 - 1);
            position += length;
        }
        Ok(Some(Self {
            length: entries.len(),
            globals: globals.finish().map_err(|_| SortError::Memory)?,
            locals: locals.finish().map_err(|_| SortError::Memory)?,
        }))
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> Vec<i64> {
        let mut entries = vec![0; self.length];
        for (local, global) in self.locals.numbers().zip(self.globals.numbers()) {
            entries[local as usize] = global as i64 + 1;
        }
        entries
    }
}

/// The longest ascending arithmetic progression at the beginning: its step and length. A short one with gaps does not
/// pay: its second entry may begin a better one.
fn progression(entries: &[i64]) -> (i64, usize) {
    const WORTHWHILE: usize = 8;
    let step = match entries {
        [first, second, ..] if second > first => second.wrapping_sub(*first),
        _ => return (1, 1),
    };
    match stretch(entries, step) {
        length if step == 1 || length >= WORTHWHILE => (step, length),
        _ => (1, 1),
    }
}

/// How many entries from the first on are `step` apart.
fn stretch(entries: &[i64], step: i64) -> usize {
    const AT_ONCE: usize = 16;
    let first = entries[0];
    let goes_on = |at: usize, entry: i64| entry.wrapping_sub(first) == step.wrapping_mul(at as i64);
    let mut length = 1;
    // Without a branch in the middle, the compiler vectorizes the comparison of a group.
    for group in entries[1..].chunks_exact(AT_ONCE) {
        let all = group.iter().enumerate();
        if !all.fold(true, |all, (at, entry)| all & goes_on(length + at, *entry)) {
            break;
        }
        length += AT_ONCE;
    }
    let rest = entries[length..].iter().enumerate();
    length
        + rest
            .take_while(|(at, entry)| goes_on(length + at, **entry))
            .count()
}

/// Fails with the index of the first entry out of bounds.
fn check(first: i64, step: i64, length: usize, total: u64) -> std::result::Result<(), usize> {
    if first < 1 || first as u64 > total {
        return Err(0);
    }
    let inside = (total - first as u64) / step as u64 + 1;
    if (length as u64) > inside {
        return Err(inside as usize);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_map_is_kept_whole(entries in prop::collection::vec(0..200i64, 0..300), sorted in any::<bool>()) {
            let mut entries = entries;
            if sorted {
                entries.sort_unstable();
            }
            let map = Map::new(&entries, 199, 0).unwrap();
            prop_assert_eq!(map.entries(), entries.clone());
            prop_assert!(map.globals.numbers().is_sorted());
            prop_assert_eq!(map.globals.len(), entries.iter().filter(|e| **e != 0).count() as u64);
        }

        #[test]
        fn what_is_out_of_bounds_is_found(mut entries in prop::collection::vec(0..100i64, 1..200), at in any::<prop::sample::Index>(), wrong in prop_oneof![Just(-1), Just(100), Just(i64::MAX), Just(i64::MIN)]) {
            let at = at.index(entries.len());
            entries[at] = wrong;
            let error = Map::new(&entries, 99, 3).unwrap_err();
            prop_assert!(matches!(error, Error::Bounds { rank: 3, position, value, total: 99 } if position == at as u64 && value == wrong), "{error:?}");
        }
    }

    #[test]
    fn a_block_that_leaves_the_array_is_found() {
        let entries: Vec<i64> = (91..120).collect();
        let error = Map::new(&entries, 100, 0).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Bounds {
                    position: 10,
                    value: 101,
                    ..
                }
            ),
            "{error:?}"
        );
    }

    #[test]
    fn very_large_arrays_are_sorted_too() {
        let entries = [1 << 62, 3, 0, 1 << 61];
        let map = Map::new(&entries, 1 << 62, 0).unwrap();
        assert_eq!(map.entries(), entries);
    }
}
