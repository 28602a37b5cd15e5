//! Checksums of streams that are not read from front to back.
//!
//! The engine walks along all chunks of a stream at the same time. So each stretch of the stream (a
//! chunk, cut where files begin) has a checksum of its own, and those of a file are joined at the end.

use std::ops::Range;

use crc32fast::Hasher;

/// CRC-32 of each stretch of a stream.
pub(super) struct Sums {
    stretches: Vec<Stretch>,
}

struct Stretch {
    range: Range<u64>,
    /// What is summed up so far.
    done: u64,
    hasher: Hasher,
}

impl Sums {
    /// For a stream of `length` bytes, cut at `bounds` (in any order) and at every multiple of `chunk`.
    pub(super) fn new(length: u64, bounds: impl IntoIterator<Item = u64>, chunk: u64) -> Sums {
        let chunks = (0..length).step_by(usize::try_from(chunk.max(1)).unwrap_or(usize::MAX));
        let mut starts: Vec<u64> = bounds.into_iter().chain(chunks).collect();
        starts.retain(|&start| start < length);
        starts.push(length);
        starts.sort_unstable();
        starts.dedup();
        let ranges = starts.windows(2).map(|pair| pair[0]..pair[1]);
        let stretch = |range: Range<u64>| Stretch {
            done: range.start,
            range,
            hasher: Hasher::new(),
        };
        Sums {
            stretches: ranges.map(stretch).collect(),
        }
    }

    /// Takes in bytes of the stream; within a stretch they come in order. What lies behind the end is
    /// ignored.
    pub(super) fn add(&mut self, mut offset: u64, mut bytes: &[u8]) {
        let first = self.stretches.partition_point(|s| s.range.end <= offset);
        for stretch in &mut self.stretches[first..] {
            if bytes.is_empty() {
                return;
            }
            let length = (stretch.range.end - offset).min(bytes.len() as u64);
            let (here, rest) = bytes.split_at(length as usize);
            if stretch.done == offset {
                stretch.hasher.update(here);
                stretch.done += length;
            }
            bytes = rest;
            offset += length;
        }
    }

    /// What has not been taken in yet.
    pub(super) fn missing(&self) -> Vec<Range<u64>> {
        let open = self.stretches.iter().filter(|s| s.done < s.range.end);
        open.map(|s| s.done..s.range.end).collect()
    }

    pub(super) fn is_untouched(&self) -> bool {
        self.stretches.iter().all(|s| s.done == s.range.start)
    }

    /// The checksum of a range that begins and ends at bounds.
    pub(super) fn of(&self, range: Range<u64>) -> u32 {
        let within = |s: &&Stretch| range.start <= s.range.start && s.range.end <= range.end;
        let mut sum = Hasher::new();
        for stretch in self.stretches.iter().filter(within) {
            sum.combine(&stretch.hasher);
        }
        sum.finalize()
    }
}

/// The checksum of stretches that follow each other, from the checksum and length of each.
pub(super) fn joined(stretches: impl Iterator<Item = (u32, u64)>) -> u32 {
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
            let mut sums = Sums::new(length, ends.clone(), chunk);
            prop_assert!(length == 0 || sums.is_untouched());
            for start in (0..chunk).step_by(block as usize) {
                for first in (0..length).step_by(chunk as usize) {
                    let from = (first + start).min(length);
                    let to = (first + (start + block).min(chunk)).min(length);
                    sums.add(from, &bytes[from as usize..to as usize]);
                }
            }
            prop_assert!(sums.missing().is_empty());
            let (mut start, mut files) = (0, Vec::new());
            for end in ends {
                let file = &bytes[start as usize..end as usize];
                prop_assert_eq!(sums.of(start..end), crc32fast::hash(file));
                files.push((crc32fast::hash(file), end - start));
                start = end;
            }
            prop_assert_eq!(joined(files.into_iter()), crc32fast::hash(&bytes));
        }
    }
}
