//! Subsets as users write them: blocks that repeat with a stride. `Fenix_Data_subset` in C.
//!
//! A subset knows nothing of the member it is used for; [`Subset::regions`] gives the elements it has of a
//! member. Blocks may overlap: an element that is named twice is in the subset once.

use super::{Error, Regions, Result};
use std::ops::Range;

/// One block of elements, both ends included, and how often it comes again `stride` further on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub start: u64,
    pub end: u64,
    pub repeats: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subset {
    Empty,
    Full,
    /// `Fenix_Data_subset_create`: blocks that all repeat with one stride.
    Strided {
        blocks: Vec<Block>,
        stride: u64,
    },
    /// `Fenix_Data_subset_createv`: blocks one by one.
    Blocks(Vec<Block>),
}

const EVERYTHING: Block = Block {
    start: 0,
    end: u64::MAX,
    repeats: 0,
};

impl Subset {
    /// `number` blocks, the first from `start` to `end`, each `stride` further on.
    pub fn strided(number: i64, start: i64, end: i64, stride: i64) -> Result<Subset> {
        if number <= 0 {
            return Err(Error::SubsetBlocks(number));
        }
        let block = Block::new(start, end)?;
        if stride <= 0 {
            return Err(Error::SubsetStride(stride));
        }
        let repeats = number as u64 - 1;
        Ok(Subset::Strided {
            blocks: vec![Block { repeats, ..block }],
            stride: stride as u64,
        })
    }

    pub fn blocks(bounds: &[(i64, i64)]) -> Result<Subset> {
        if bounds.is_empty() {
            return Err(Error::SubsetBlocks(0));
        }
        let blocks: Result<Vec<_>> = bounds.iter().map(|&(s, e)| Block::new(s, e)).collect();
        Ok(Subset::Blocks(blocks?))
    }

    /// The elements of a member of `count` elements that belong to the subset.
    pub fn regions(&self, count: u64) -> Regions {
        Regions::from_ranges(self.pieces(count))
    }

    /// The simplest subset that has just these elements.
    pub fn of(regions: &Regions) -> Subset {
        let ranges = regions.ranges();
        let Some(first) = ranges.first() else {
            return Subset::Empty;
        };
        let length = first.end - first.start;
        let stride = ranges
            .get(1)
            .map_or(length, |next| next.start - first.start);
        let alike = ranges.iter().all(|range| range.end - range.start == length);
        let spaced = |two: &[Range<u64>]| two[1].start - two[0].start == stride;
        if alike && ranges.windows(2).all(spaced) {
            let repeats = ranges.len() as u64 - 1;
            return Subset::Strided {
                blocks: vec![Block::of(first, repeats)],
                stride,
            };
        }
        Subset::Blocks(ranges.iter().map(|range| Block::of(range, 0)).collect())
    }

    /// Has the elements of both. Blocks with the same stride stay as they are unless two of them make one
    /// block; otherwise all repeats are written out and those that touch are joined. A joined block stands
    /// where the first of its parts stood, the blocks of `self` before those of `other`.
    pub fn merge(&self, other: &Subset) -> Subset {
        match (self, other) {
            (Subset::Full, _) | (_, Subset::Full) => Subset::Full,
            (Subset::Empty, subset) | (subset, Subset::Empty) => subset.clone(),
            (
                Subset::Strided { blocks, stride },
                Subset::Strided {
                    blocks: others,
                    stride: same,
                },
            ) if stride == same && *stride > 0 => {
                let mut merged = Vec::new();
                for block in blocks.iter().chain(others) {
                    insert(&mut merged, *block, *stride);
                }
                Subset::Strided {
                    blocks: merged,
                    stride: *stride,
                }
            }
            _ => Subset::Blocks(joined(
                self.pieces(u64::MAX)
                    .chain(other.pieces(u64::MAX))
                    .collect(),
            )),
        }
    }

    /// Every repeat of every block, cut off at `count`; possibly empty ones.
    fn pieces(&self, count: u64) -> impl Iterator<Item = Range<u64>> {
        let (blocks, stride): (&[Block], u64) = match self {
            Subset::Empty => (&[], 0),
            Subset::Full => (&[EVERYTHING], 0),
            Subset::Strided { blocks, stride } => (blocks, *stride),
            Subset::Blocks(blocks) => (blocks, 0),
        };
        let blocks = blocks.iter().filter(|block| block.start <= block.end);
        blocks.flat_map(move |block| block.pieces(stride, count))
    }
}

impl Block {
    fn new(start: i64, end: i64) -> Result<Block> {
        if start < 0 {
            return Err(Error::SubsetStart(start));
        }
        if end < start {
            return Err(Error::SubsetEnd { start, end });
        }
        Ok(Block {
            start: start as u64,
            end: end as u64,
            repeats: 0,
        })
    }

    fn of(range: &Range<u64>, repeats: u64) -> Block {
        Block {
            start: range.start,
            end: range.end - 1,
            repeats,
        }
    }

    /// Repeats that touch are one piece, so that their number does not matter.
    fn pieces(self, stride: u64, count: u64) -> impl Iterator<Item = Range<u64>> {
        let room = count.saturating_sub(self.start).saturating_sub(1);
        let repeats = room
            .checked_div(stride)
            .map_or(0, |fit| fit.min(self.repeats));
        let length = (self.end - self.start).saturating_add(1);
        let (repeats, length) = match stride <= length {
            true => (0, length.saturating_add(repeats * stride)),
            false => (repeats, length),
        };
        (0..=repeats).map(move |repeat| {
            let start = self.start + repeat * stride;
            start..start.saturating_add(length).min(count)
        })
    }

    /// One block that has just the elements of both, if there is one with this stride.
    fn join(self, other: Block, stride: u64) -> Option<Block> {
        let other_first = (other.start, self.end) < (self.start, other.end);
        let (first, second) = if other_first {
            (other, self)
        } else {
            (self, other)
        };
        let shift = (second.start - first.start) / stride;
        let moved = shift * stride;
        let last = shift.saturating_add(second.repeats);
        let same =
            (second.start - moved, second.end.checked_sub(moved)?) == (first.start, first.end);
        if same && shift <= first.repeats.saturating_add(1) {
            let repeats = first.repeats.max(last);
            return Some(Block { repeats, ..first });
        }
        if second.end - moved <= first.end && last <= first.repeats {
            return Some(first);
        }
        let touch = second.start <= first.end.saturating_add(1);
        (touch && first.repeats == second.repeats).then(|| Block {
            end: first.end.max(second.end),
            ..first
        })
    }
}

fn insert(blocks: &mut Vec<Block>, mut block: Block, stride: u64) {
    let mut place = blocks.len();
    while let Some((at, joined)) =
        (blocks.iter().enumerate()).find_map(|(at, other)| Some((at, other.join(block, stride)?)))
    {
        blocks.remove(at);
        place = place.min(at);
        block = joined;
    }
    blocks.insert(place, block);
}

/// Joins the pieces that touch, in the order in which they are listed.
fn joined(pieces: Vec<Range<u64>>) -> Vec<Block> {
    let regions = Regions::from_ranges(pieces.iter().cloned());
    let ranges = regions.ranges();
    let mut seen = vec![false; ranges.len()];
    let mut blocks = Vec::with_capacity(ranges.len());
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        let at = ranges.partition_point(|range| range.end <= piece.start);
        if !std::mem::replace(&mut seen[at], true) {
            blocks.push(Block::of(&ranges[at], 0));
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COUNT: u64 = 128;

    fn strided(number: i64, start: i64, end: i64, stride: i64) -> Subset {
        Subset::strided(number, start, end, stride).unwrap()
    }

    fn blocks(bounds: &[(i64, i64)]) -> Subset {
        Subset::blocks(bounds).unwrap()
    }

    fn shape(blocks: &[(u64, u64, u64)]) -> Vec<Block> {
        let block = |&(start, end, repeats)| Block {
            start,
            end,
            repeats,
        };
        blocks.iter().map(block).collect()
    }

    /// The elements below `count`, found one by one.
    fn elements(subset: &Subset, count: u64) -> u128 {
        let has = |element: u64| match subset {
            Subset::Empty => false,
            Subset::Full => true,
            Subset::Strided { blocks, stride } => blocks.iter().any(|block| {
                (0..=block.repeats.min(COUNT))
                    .map(|repeat| repeat * stride)
                    .any(|by| (block.start + by..=block.end + by).contains(&element))
            }),
            Subset::Blocks(blocks) => (blocks.iter()).any(|b| (b.start..=b.end).contains(&element)),
        };
        (0..count)
            .filter(|&e| has(e))
            .fold(0, |bits, e| bits | 1 << e)
    }

    fn bits(regions: &Regions) -> u128 {
        let elements = regions.ranges().iter().flat_map(Clone::clone);
        elements.fold(0, |bits, element| bits | 1 << element)
    }

    fn subsets() -> impl Strategy<Value = Subset> {
        let block = (0i64..100, 0i64..12).prop_map(|(start, more)| (start, start + more));
        let lists = prop::collection::vec(block.clone(), 1..6).prop_map(|list| blocks(&list));
        let stride = prop_oneof![Just(5i64), Just(7), 1i64..20];
        let strided = (1i64..8, block, stride.clone())
            .prop_map(|(number, (start, end), stride)| strided(number, start, end, stride));
        let several = (
            prop::collection::vec((0u64..80, 0u64..9, 0u64..6), 1..5),
            stride,
        );
        let several = several.prop_map(|(list, stride)| Subset::Strided {
            blocks: shape(
                &list
                    .iter()
                    .map(|&(s, m, r)| (s, s + m, r))
                    .collect::<Vec<_>>(),
            ),
            stride: stride as u64,
        });
        prop_oneof![
            1 => Just(Subset::Empty), 1 => Just(Subset::Full), 5 => lists, 8 => strided, 5 => several
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn regions_are_the_elements(subset in subsets(), count in 0..=COUNT) {
            prop_assert_eq!(bits(&subset.regions(count)), elements(&subset, count));
        }

        #[test]
        fn merging_gives_the_elements_of_both(a in subsets(), b in subsets()) {
            let merged = a.merge(&b);
            prop_assert_eq!(elements(&merged, COUNT), elements(&a, COUNT) | elements(&b, COUNT));
            prop_assert_eq!(bits(&merged.regions(COUNT)), elements(&merged, COUNT));
            if let Subset::Strided { blocks, stride } = &merged {
                for (at, block) in blocks.iter().enumerate() {
                    prop_assert!(blocks[at + 1..].iter().all(|b| b.join(*block, *stride).is_none())
                        || [&a, &b].contains(&&merged));
                }
            }
        }

        #[test]
        fn a_subset_of_regions_has_their_elements(subset in subsets(), count in 0..=COUNT) {
            let regions = subset.regions(count);
            let simple = Subset::of(&regions);
            prop_assert_eq!(simple.regions(COUNT), regions.clone());
            prop_assert_eq!(simple == Subset::Empty, regions.is_empty());
            if let Subset::Blocks(blocks) = simple {
                prop_assert!(blocks.len() > 2 || blocks[0].end - blocks[0].start != blocks[1].end - blocks[1].start);
                prop_assert!(blocks.iter().all(|block| block.repeats == 0));
                prop_assert!(blocks.windows(2).all(|two| two[0].end + 1 < two[1].start));
            }
        }

        #[test]
        fn regular_regions_are_strided(number in 1i64..6, start in 0i64..20, len in 1i64..8, gap in 1i64..8) {
            let subset = strided(number, start, start + len - 1, len + gap);
            let stride = if number == 1 { len } else { len + gap };
            let expected = strided(number, start, start + len - 1, stride);
            prop_assert_eq!(Subset::of(&subset.regions(COUNT)), expected);
        }
    }

    #[test]
    fn merging_equal_strides_keeps_the_stride() {
        let cases = [
            ((3, 2, 5), (3, 2, 5), shape(&[(2, 5, 2)])),
            ((1, 17, 20), (3, 12, 15), shape(&[(12, 15, 2)])),
            ((1, 22, 25), (2, 12, 15), shape(&[(12, 15, 2)])),
            ((1, 22, 25), (1, 12, 15), shape(&[(22, 25, 0), (12, 15, 0)])),
            ((1, 13, 15), (1, 12, 15), shape(&[(12, 15, 0)])),
            ((1, 17, 19), (1, 12, 15), shape(&[(17, 19, 0), (12, 15, 0)])),
            ((1, 17, 19), (2, 12, 15), shape(&[(12, 15, 1)])),
            ((3, 0, 1), (3, 1, 3), shape(&[(0, 3, 2)])),
            ((2, 0, 1), (4, 0, 2), shape(&[(0, 2, 3)])),
        ];
        for ((n, s, e), (m, t, f), expected) in cases {
            let merged = strided(n, s, e, 5).merge(&strided(m, t, f, 5));
            let expected = Subset::Strided {
                blocks: expected,
                stride: 5,
            };
            assert_eq!(merged, expected);
        }
    }

    #[test]
    fn a_block_between_two_joins_them_at_the_place_of_the_first() {
        let apart = strided(1, 40, 42, 10).merge(&strided(1, 20, 22, 10));
        let apart = apart.merge(&strided(1, 5, 6, 10));
        let merged = apart.merge(&strided(1, 30, 32, 10));
        let expected = Subset::Strided {
            blocks: shape(&[(20, 22, 2), (5, 6, 0)]),
            stride: 10,
        };
        assert_eq!(merged, expected);
    }

    #[test]
    fn merging_anything_else_lists_blocks_in_the_order_of_their_parts() {
        let merged = strided(1, 17, 19, 6).merge(&strided(1, 12, 15, 5));
        assert_eq!(merged, blocks(&[(17, 19), (12, 15)]));
        let merged = strided(1, 13, 16, 6).merge(&strided(1, 12, 15, 5));
        assert_eq!(merged, blocks(&[(12, 16)]));
        let merged = blocks(&[(1, 2), (4, 17), (21, 25), (23, 26)]).merge(&blocks(&[
            (0, 1),
            (18, 19),
            (30, 30),
        ]));
        assert_eq!(merged, blocks(&[(0, 2), (4, 19), (21, 26), (30, 30)]));
        let merged = strided(4, 11, 13, 10).merge(&blocks(&[(0, 1), (12, 20), (31, 31)]));
        assert_eq!(merged, blocks(&[(11, 23), (31, 33), (41, 43), (0, 1)]));
    }

    #[test]
    fn huge_subsets_are_not_written_out() {
        let many = strided(i64::MAX, 0, 3, 10);
        let merged = many.merge(&strided(i64::MAX, 4, 5, 10));
        assert_eq!(merged, strided(i64::MAX, 0, 5, 10));
        assert_eq!(many.regions(25).ranges(), [0..4, 10..14, 20..24]);
        let solid = strided(i64::MAX, 7, 20, 3);
        assert_eq!(
            solid.regions(u64::MAX).ranges().first(),
            Some(&(7..u64::MAX))
        );
        assert_eq!(solid.merge(&blocks(&[(0, 2)])).regions(10).count(), 6);
        assert_eq!(
            strided(9, i64::MAX, i64::MAX, i64::MAX)
                .regions(u64::MAX)
                .count(),
            2
        );
    }

    #[test]
    fn what_is_no_subset_is_refused() {
        use Error::*;
        assert!(matches!(Subset::strided(0, 0, 1, 2), Err(SubsetBlocks(0))));
        assert!(matches!(Subset::strided(1, -1, 1, 2), Err(SubsetStart(-1))));
        let backwards = Subset::strided(1, 3, 2, 2);
        assert!(matches!(backwards, Err(SubsetEnd { start: 3, end: 2 })));
        assert!(matches!(
            Subset::strided(1, 0, -1, 2),
            Err(SubsetEnd { .. })
        ));
        assert!(matches!(Subset::strided(1, 0, 1, 0), Err(SubsetStride(0))));
        assert!(matches!(Subset::blocks(&[]), Err(SubsetBlocks(0))));
        assert!(matches!(
            Subset::blocks(&[(0, 1), (-2, 1)]),
            Err(SubsetStart(-2))
        ));
        assert!(matches!(
            Subset::blocks(&[(0, 1), (5, 4)]),
            Err(SubsetEnd { .. })
        ));
    }
}
