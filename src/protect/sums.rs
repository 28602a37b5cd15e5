//! Checksums of streams that are not read from front to back.
//!
//! Blocks come from several places of a stream in turn, and other ranks compute checksums of some of them. So each stretch
//! of consecutive blocks has a checksum of its own, and those of a file are combined at the end. No stretch crosses a
//! file boundary.

use std::collections::BTreeMap;
use std::ops::Range;

use crc32fast::Hasher;

/// CRC-32 of each stretch of a stream.
pub(crate) struct Sums {
    length: u64,
    /// Where files begin and end, in order.
    bounds: Vec<u64>,
    /// By their start. None reaches into the next.
    stretches: BTreeMap<u64, SummedStretch>,
}

struct SummedStretch {
    end: u64,
    hasher: Hasher,
}

/// The checksum of a stretch, computed by another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) checksum: u32,
}

impl Sums {
    /// For a stream of `length` bytes, cut at `bounds` (in any order).
    pub(crate) fn new(length: u64, bounds: impl IntoIterator<Item = u64>) -> Sums {
        let mut bounds: Vec<u64> = bounds.into_iter().filter(|&at| at < length).collect();
        bounds.push(length);
        bounds.sort_unstable();
        bounds.dedup();
        Sums {
            length,
            bounds,
            stretches: BTreeMap::new(),
        }
    }

    /// Adds bytes of the stream. Bytes that were added before, and those behind the end, are ignored.
    pub(crate) fn add(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() && offset < self.length {
            let free_until = self.next_after(offset);
            let before = self.stretches.range_mut(..=offset).next_back();
            let (_, before) = before.unzip();
            let until = match &before {
                Some(stretch) if stretch.end > offset => stretch.end,
                _ => free_until,
            };
            let length = (until - offset).min(bytes.len() as u64);
            let (here, rest) = bytes.split_at(length as usize);
            let at_bound = self.bounds.binary_search(&offset).is_ok();
            match before {
                Some(stretch) if stretch.end > offset => (),
                Some(stretch) if stretch.end == offset && !at_bound => {
                    stretch.hasher.update(here);
                    stretch.end += length;
                }
                _ => {
                    let mut hasher = Hasher::new();
                    hasher.update(here);
                    let end = offset + length;
                    self.stretches.insert(offset, SummedStretch { end, hasher });
                }
            }
            bytes = rest;
            offset += length;
        }
    }

    /// The next bound or stretch behind `offset`.
    fn next_after(&self, offset: u64) -> u64 {
        let bound = self.bounds.partition_point(|&bound| bound <= offset);
        let bound = self.bounds.get(bound).copied().unwrap_or(self.length);
        let stretch = self.stretches.range(offset + 1..).next();
        stretch.map_or(bound, |(&start, _)| start.min(bound))
    }

    /// Adds a stretch whose checksum another rank has computed.
    pub(crate) fn insert(&mut self, sum: Sum) {
        let hasher = Hasher::new_with_initial_len(sum.checksum, sum.end - sum.start);
        let end = sum.end;
        self.stretches
            .insert(sum.start, SummedStretch { end, hasher });
    }

    /// All stretches.
    pub(crate) fn sums(&self) -> impl Iterator<Item = Sum> {
        self.stretches.iter().map(|(&start, stretch)| Sum {
            start,
            end: stretch.end,
            checksum: stretch.hasher.clone().finalize(),
        })
    }

    /// The ranges that were not added yet.
    pub(crate) fn missing(&self) -> Vec<Range<u64>> {
        let ends = self.stretches.values().map(|stretch| stretch.end);
        let starts = self.stretches.keys().copied().chain([self.length]);
        let gaps = std::iter::once(0).chain(ends).zip(starts);
        gaps.filter(|(end, start)| end < start)
            .map(|(end, start)| end..start)
            .collect()
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.stretches.is_empty()
    }

    /// The checksum of a range that begins and ends at bounds.
    pub(crate) fn of(&self, range: Range<u64>) -> u32 {
        let mut sum = Hasher::new();
        for stretch in self.stretches.range(range).map(|(_, stretch)| stretch) {
            sum.combine(&stretch.hasher);
        }
        sum.finalize()
    }
}

/// The checksum of stretches that follow each other, from the checksum and length of each.
pub(crate) fn joined(stretches: impl Iterator<Item = (u32, u64)>) -> u32 {
    let mut sum = Hasher::new();
    for (checksum, length) in stretches {
        sum.combine(&Hasher::new_with_initial_len(checksum, length));
    }
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_of_files_do_not_depend_on_chunks_or_order(
            sizes in prop::collection::vec(0u64..50, 1..6),
            chunk in 1u64..60,
            block in 1u64..20,
        ) {
            let length: u64 = sizes.iter().sum();
            let bytes: Vec<u8> = (0..length).map(|i| (i * 7 + i / 11) as u8).collect();
            let ends: Vec<u64> = sizes.iter().scan(0, |end, size| { *end += size; Some(*end) }).collect();
            let mut sums = Sums::new(length, ends.clone());
            prop_assert!(length == 0 || sums.is_untouched());
            for start in (0..chunk).step_by(block as usize) {
                for first in (0..length).step_by(chunk as usize) {
                    let from = (first + start).min(length);
                    let to = (first + (start + block).min(chunk)).min(length);
                    sums.add(from, &bytes[from as usize..to as usize]);
                }
            }
            prop_assert!(sums.missing().is_empty());
            let mut elsewhere = Sums::new(length, ends.clone());
            sums.sums().for_each(|sum| elsewhere.insert(sum));
            prop_assert!(elsewhere.missing().is_empty());
            let (mut start, mut files) = (0, Vec::new());
            for end in ends {
                let file = &bytes[start as usize..end as usize];
                prop_assert_eq!(sums.of(start..end), crc32fast::hash(file));
                prop_assert_eq!(elsewhere.of(start..end), crc32fast::hash(file));
                files.push((crc32fast::hash(file), end - start));
                start = end;
            }
            prop_assert_eq!(joined(files.into_iter()), crc32fast::hash(&bytes));
        }
    }

    #[test]
    fn bytes_that_come_again_are_not_summed_twice_and_gaps_are_known() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut sums = Sums::new(100, [40]);
        sums.add(50, &bytes[50..60]);
        sums.add(30, &bytes[30..55]);
        assert_eq!(sums.missing(), [0..30, 60..100]);
        sums.add(0, &bytes);
        assert!(sums.missing().is_empty());
        assert_eq!(sums.of(0..40), crc32fast::hash(&bytes[..40]));
        assert_eq!(sums.of(40..100), crc32fast::hash(&bytes[40..]));
    }
}
