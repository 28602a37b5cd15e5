//! Sets of elements as sorted, disjoint, non-adjacent ranges.
//!
//! Every operation is one sweep over the ranges, in ascending order.

use std::ops::Range;

use crate::wire::{put, take};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions(Vec<Range<u64>>);

impl Regions {
    pub fn all(count: u64) -> Regions {
        Regions::from_ranges(std::iter::once(0..count))
    }

    /// The union of ranges in any order, overlapping or empty ones too.
    pub fn from_ranges(ranges: impl IntoIterator<Item = Range<u64>>) -> Regions {
        let mut ranges: Vec<_> = ranges.into_iter().filter(|r| !r.is_empty()).collect();
        // A stable sort takes linear time for a few ascending runs, which is what comes here.
        ranges.sort_by_key(|range| range.start);
        ranges.dedup_by(|next, last| {
            let touch = next.start <= last.end;
            if touch {
                last.end = last.end.max(next.end);
            }
            touch
        });
        Regions(ranges)
    }

    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// How many elements it has.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has all elements of `other`.
    pub fn covers(&self, other: &Regions) -> bool {
        let mut own = self.0.iter().peekable();
        other.0.iter().all(|range| {
            while own.next_if(|own| own.end < range.end).is_some() {}
            own.peek().is_some_and(|own| own.start <= range.start)
        })
    }

    pub fn union(&self, other: &Regions) -> Regions {
        Regions::from_ranges(self.0.iter().chain(&other.0).cloned())
    }

    pub fn without(&self, other: &Regions) -> Regions {
        let mut left = Vec::with_capacity(self.0.len());
        let mut cuts = other.0.iter().peekable();
        for range in &self.0 {
            let mut start = range.start;
            // A cut that reaches the end of the range may go on into the next.
            while let Some(cut) = cuts.next_if(|cut| cut.end < range.end) {
                push(&mut left, start..cut.start);
                start = start.max(cut.end);
            }
            let end = cuts.peek().map_or(range.end, |cut| cut.start);
            push(&mut left, start..end.min(range.end));
        }
        Regions(left)
    }

    pub fn common(&self, other: &Regions) -> Regions {
        let mut common = Vec::new();
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
            let (start, end) = (our.start.max(their.start), our.end.min(their.end));
            push(&mut common, start..end);
            match our.end <= their.end {
                true => ours.next(),
                false => theirs.next(),
            };
        }
        Regions(common)
    }

    /// The elements below `count`.
    pub fn below(&self, count: u64) -> Regions {
        let starts = self.0.partition_point(|range| range.start < count);
        let mut ranges = self.0[..starts].to_vec();
        if let Some(last) = ranges.last_mut() {
            last.end = last.end.min(count);
        }
        Regions(ranges)
    }

    /// For a message to another rank.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16 * self.0.len());
        for range in &self.0 {
            put(&mut bytes, &[range.start, range.end]);
        }
        bytes
    }

    /// `None` for bytes that are no regions.
    pub fn decode(mut bytes: &[u8]) -> Option<Regions> {
        let mut ranges = Vec::with_capacity(bytes.len() / 16);
        while !bytes.is_empty() {
            let [start, end] = take(&mut bytes)?;
            ranges.push(start..end);
        }
        let apart = ranges.windows(2).all(|two| two[0].end < two[1].start);
        (apart && ranges.iter().all(|range| !range.is_empty())).then_some(Regions(ranges))
    }
}

fn push(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    if !range.is_empty() {
        ranges.push(range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPACE: u64 = 64;

    fn bits(regions: &Regions) -> u64 {
        regions.ranges().iter().fold(0, |bits, range| {
            range
                .clone()
                .fold(bits, |bits, element| bits | 1 << element)
        })
    }

    fn in_order(regions: &Regions) -> bool {
        let ranges = regions.ranges();
        ranges.iter().all(|range| range.start < range.end)
            && ranges.windows(2).all(|two| two[0].end < two[1].start)
    }

    fn ranges() -> impl Strategy<Value = Vec<Range<u64>>> {
        let range = (0..SPACE, 0..=SPACE).prop_map(|(start, end)| start..end);
        let short = (0..SPACE, 0u64..6).prop_map(|(start, len)| start..(start + len).min(SPACE));
        prop::collection::vec(prop_oneof![1 => range, 4 => short], 0..12)
    }

    fn regions() -> impl Strategy<Value = Regions> {
        ranges().prop_map(Regions::from_ranges)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn ranges_in_any_order_become_their_union(ranges in ranges()) {
            let expected = ranges.iter().flat_map(Clone::clone).fold(0u64, |bits, e| bits | 1 << e);
            let regions = Regions::from_ranges(ranges);
            prop_assert!(in_order(&regions));
            prop_assert_eq!(bits(&regions), expected);
            prop_assert_eq!(regions.count(), u64::from(expected.count_ones()));
            prop_assert_eq!(regions.is_empty(), expected == 0);
        }

        #[test]
        fn operations_do_what_they_do_on_bits(a in regions(), b in regions(), count in 0..=SPACE) {
            let (x, y) = (bits(&a), bits(&b));
            let below = if count == SPACE { u64::MAX } else { (1 << count) - 1 };
            let results = [
                (a.union(&b), x | y),
                (a.without(&b), x & !y),
                (a.common(&b), x & y),
                (a.below(count), x & below),
                (Regions::all(count), below),
            ];
            for (result, expected) in results {
                prop_assert!(in_order(&result));
                prop_assert_eq!(bits(&result), expected);
            }
            prop_assert_eq!(a.covers(&b), y & !x == 0);
            prop_assert!(a.union(&b).covers(&b) && a.covers(&a.common(&b)));
        }

        #[test]
        fn encoding_goes_both_ways(a in regions()) {
            let bytes = a.encode();
            prop_assert_eq!(bytes.len(), 16 * a.ranges().len());
            prop_assert_eq!(Regions::decode(&bytes), Some(a));
        }

        #[test]
        fn only_regions_are_decoded(numbers in prop::collection::vec(0u64..12, 0..8), cut in 0usize..16) {
            let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
            let whole = numbers.len() % 2 == 0 && numbers.windows(2).all(|two| two[0] < two[1]);
            prop_assert_eq!(Regions::decode(&bytes).is_some(), whole);
            if let Some(regions) = Regions::decode(&bytes) {
                prop_assert_eq!(regions.encode(), bytes.clone());
            }
            let torn = &bytes[..bytes.len().saturating_sub(cut)];
            prop_assert!(torn.len() % 16 == 0 || Regions::decode(torn).is_none());
        }

        #[test]
        fn garbage_is_no_trouble(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(regions) = Regions::decode(&bytes) {
                prop_assert!(in_order(&regions));
            }
        }
    }

    #[test]
    fn the_last_elements_of_all_are_no_special_case() {
        let top = Regions::from_ranges(std::iter::once(u64::MAX - 3..u64::MAX));
        assert_eq!(top.count(), 3);
        assert_eq!(Regions::decode(&top.encode()), Some(top.clone()));
        assert_eq!(Regions::all(u64::MAX).without(&top).count(), u64::MAX - 3);
        assert!(Regions::all(u64::MAX).covers(&top));
    }
}
