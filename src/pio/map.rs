//! The map of one rank: where in the global array each of its elements belongs.
//!
//! Whatever the order of the map, elements travel in the order of the global array. So a map is kept as two
//! sequences of the same length without the holes: the places in the global array in ascending order, and the
//! places in the rank's own array that they belong to. A map that ascends is taken as it comes; any other is
//! sorted.

use super::sequence::{Builder, Sequence};
use super::{Error, Result};

#[derive(Debug, Default)]
pub struct Map {
    /// Entries, holes included.
    pub length: usize,
    /// From 0, ascending.
    pub globals: Sequence,
    pub locals: Sequence,
}

impl Map {
    /// `entries` are offsets from 1 into an array of `total` elements; 0 is a hole.
    pub fn new(entries: &[i64], total: u64, rank: usize) -> Result<Self> {
        let found = match Self::ascending(entries, total) {
            Ok(Some(map)) => return Ok(map),
            Ok(None) => Self::sorted(entries, total),
            Err(position) => Err(position),
        };
        found.map_err(|position| match position {
            Some(position) => Error::Bounds {
                rank,
                position: position as u64,
                value: entries[position],
                total,
            },
            None => Error::Memory(16 * entries.len() as u64),
        })
    }

    /// `None` if the entries do not ascend; fails with the position of an entry that is out of bounds.
    fn ascending(entries: &[i64], total: u64) -> std::result::Result<Option<Self>, Option<usize>> {
        let (mut globals, mut locals) = (Builder::default(), Builder::default());
        let (mut position, mut last) = (0, 0);
        while position < entries.len() {
            let first = entries[position];
            if first == 0 {
                position += 1;
                continue;
            }
            let length = consecutive(&entries[position..]);
            check(first, length, total).map_err(|offset| Some(position + offset))?;
            if first < last {
                return Ok(None);
            }
            globals.push_block(first as u64 - 1, length as u64);
            locals.push_block(position as u64, length as u64);
            last = first + length as i64 - 1;
            position += length;
        }
        Ok(Some(Self {
            length: entries.len(),
            globals: globals.finish(),
            locals: locals.finish(),
        }))
    }

    fn sorted(entries: &[i64], total: u64) -> std::result::Result<Self, Option<usize>> {
        let bits = u64::BITS - (entries.len() as u64).leading_zeros();
        if total.leading_zeros() >= bits {
            Self::sorted_by(
                entries,
                total,
                |global, local| global << bits | local,
                |key| (key >> bits, key & ((1 << bits) - 1)),
            )
        } else {
            Self::sorted_by(entries, total, |global, local| (global, local), |key| key)
        }
    }

    /// Sorts keys that are made of both places, by the global one first.
    fn sorted_by<K: Ord + Copy>(
        entries: &[i64],
        total: u64,
        key: impl Fn(u64, u64) -> K,
        places: impl Fn(K) -> (u64, u64),
    ) -> std::result::Result<Self, Option<usize>> {
        let mut keys = Vec::new();
        let held = entries.iter().filter(|entry| **entry != 0).count();
        keys.try_reserve_exact(held).map_err(|_| None)?;
        for (position, &entry) in entries.iter().enumerate() {
            if entry != 0 {
                check(entry, 1, total).map_err(|_| Some(position))?;
                keys.push(key(entry as u64 - 1, position as u64));
            }
        }
        keys.sort_unstable();
        let (mut globals, mut locals) = (Builder::default(), Builder::default());
        for (global, local) in keys.into_iter().map(places) {
            globals.push(global);
            locals.push(local);
        }
        Ok(Self {
            length: entries.len(),
            globals: globals.finish(),
            locals: locals.finish(),
        })
    }

    /// As it was given.
    pub fn entries(&self) -> Vec<i64> {
        let mut entries = vec![0; self.length];
        for (local, global) in self.locals.numbers().zip(self.globals.numbers()) {
            entries[local as usize] = global as i64 + 1;
        }
        entries
    }
}

/// How many entries from the first on are consecutive.
fn consecutive(entries: &[i64]) -> usize {
    const AT_ONCE: usize = 16;
    let first = entries[0];
    let goes_on = |at: usize, entry: i64| entry.wrapping_sub(first) == at as i64;
    let mut length = 1;
    // Without a way out in the middle, a group of entries is compared in a few instructions.
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

/// Fails with how far the first entry out of bounds is.
fn check(first: i64, length: usize, total: u64) -> std::result::Result<(), usize> {
    if first < 1 || first as u64 > total {
        return Err(0);
    }
    let inside = total - first as u64 + 1;
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
