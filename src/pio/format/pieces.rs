//! Cuts regions into pieces, and groups them into rounds, for one call of a file library each.

use std::borrow::Cow;

use crate::pio::Hyperslabs;

/// Determines how a region of a variable lies in the file.
#[derive(Clone, Debug, Default)]
pub(super) struct VarLayout {
    pub(super) lengths: Vec<u64>,
    /// Whether the first dimension is unlimited: records of several variables alternate in the file.
    pub(super) record: bool,
}

impl VarLayout {
    /// The number of elements of a region with these counts that are contiguous in the file.
    pub(super) fn run(&self, counts: &[u64]) -> u64 {
        let mut run = 1;
        for dim in (usize::from(self.record)..counts.len()).rev() {
            run *= counts[dim];
            if counts[dim] != self.lengths[dim] {
                break;
            }
        }
        run
    }

    /// The number of such runs in all regions.
    pub(super) fn runs(&self, regions: &Hyperslabs) -> u64 {
        let of_one = |counts: &[u64]| elements(counts) / self.run(counts).max(1);
        regions.iter().map(|(_, counts)| of_one(counts)).sum()
    }

    /// Elements of one record of a region, or of all of it if the variable has no records.
    pub(super) fn of_record(&self, counts: &[u64]) -> u64 {
        elements(&counts[usize::from(self.record)..])
    }
}

pub(super) fn elements(counts: &[u64]) -> u64 {
    counts.iter().product()
}

/// The same elements in the same order, in regions of at most `limit` elements, which may depend on the counts of the
/// region to be cut.
pub(super) fn cut(regions: &Hyperslabs, limit: impl Fn(&[u64]) -> u64) -> Cow<'_, Hyperslabs> {
    let limit = |counts: &[u64]| limit(counts).max(1);
    if regions
        .iter()
        .all(|(_, counts)| elements(counts) <= limit(counts))
    {
        return Cow::Borrowed(regions);
    }
    let mut pieces = Hyperslabs::new(regions.dimensions());
    for (start, counts) in regions.iter() {
        cut_one(start, counts, limit(counts), &mut pieces);
    }
    Cow::Owned(pieces)
}

fn cut_one(start: &[u64], counts: &[u64], limit: u64, pieces: &mut Hyperslabs) {
    if elements(counts) <= limit {
        return pieces.push(start, counts);
    }
    // Cut along `dim`, the outermost dimension of which one step still fits into `limit`.
    let (mut inner, mut dim) = (1, counts.len() - 1);
    while inner * counts[dim] <= limit {
        inner *= counts[dim];
        dim -= 1;
    }
    let step = limit / inner;
    let mut count = counts.to_vec();
    count[..dim].fill(1);
    let mut at = start.to_vec();
    while at[0] < start[0] + counts[0] {
        count[dim] = step.min(start[dim] + counts[dim] - at[dim]);
        pieces.push(&at, &count);
        at[dim] += step;
        carry(&mut at[..=dim], start, counts);
    }
}

/// Carries as an odometer does: an index past its end restarts, and the one before it advances.
fn carry(at: &mut [u64], start: &[u64], counts: &[u64]) {
    for dim in (1..at.len()).rev() {
        if at[dim] >= start[dim] + counts[dim] {
            at[dim] = start[dim];
            at[dim - 1] += 1;
        }
    }
}

/// Consecutive regions of one list, and the number of elements that precede them in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RegionBatch {
    pub(super) list: usize,
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) offset: u64,
}

/// All regions of all lists in order, grouped into rounds of at most `most` elements; a larger region is alone.
pub(super) fn rounds(lists: &[Cow<'_, Hyperslabs>], most: u64) -> Vec<Vec<RegionBatch>> {
    let mut rounds = Vec::new();
    let (mut round, mut filled) = (Vec::new(), 0);
    for (list, regions) in lists.iter().enumerate() {
        let mut offset = 0;
        for (at, (_, counts)) in regions.iter().enumerate() {
            let size = elements(counts);
            if filled + size > most && !round.is_empty() {
                rounds.push(std::mem::take(&mut round));
                filled = 0;
            }
            extend(&mut round, list, at, offset);
            filled += size;
            offset += size;
        }
    }
    if !round.is_empty() {
        rounds.push(round);
    }
    rounds
}

fn extend(round: &mut Vec<RegionBatch>, list: usize, at: usize, offset: u64) {
    match round.last_mut() {
        Some(last) if last.list == list => last.count += 1,
        _ => round.push(RegionBatch {
            list,
            first: at,
            count: 1,
            offset,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn region(start: &[u64], count: &[u64]) -> Hyperslabs {
        let mut regions = Hyperslabs::new(start.len());
        regions.push(start, count);
        regions
    }

    fn shape(lengths: &[u64], record: bool) -> VarLayout {
        let lengths = lengths.to_vec();
        VarLayout { lengths, record }
    }

    /// Places in an array with these lengths, in the order of the regions.
    fn places(regions: &Hyperslabs, lengths: &[u64]) -> Vec<u64> {
        let mut places = Vec::new();
        for (start, counts) in regions.iter() {
            for element in 0..elements(counts) {
                let (mut rest, mut place, mut stride) = (element, 0, 1);
                for dim in (0..lengths.len()).rev() {
                    place += stride * (start[dim] + rest % counts[dim]);
                    rest /= counts[dim];
                    stride *= lengths[dim];
                }
                places.push(place);
            }
        }
        places
    }

    #[test]
    fn a_run_ends_at_the_first_gap() {
        assert_eq!(shape(&[4, 5, 6], false).run(&[2, 5, 6]), 60);
        assert_eq!(shape(&[4, 5, 6], false).run(&[2, 3, 6]), 18);
        assert_eq!(shape(&[4, 5, 6], false).run(&[2, 5, 4]), 4);
        assert_eq!(shape(&[4, 5, 6], true).run(&[2, 5, 6]), 30);
        assert_eq!(shape(&[0], true).run(&[7]), 1);
        assert_eq!(shape(&[], false).run(&[]), 1);
        assert_eq!(
            shape(&[4, 5, 6], false).runs(&region(&[0, 0, 0], &[2, 5, 4])),
            10
        );
        assert_eq!(shape(&[4, 5], false).runs(&region(&[0, 0], &[0, 5])), 0);
    }

    #[test]
    fn what_fits_is_not_copied() {
        let regions = region(&[1, 2], &[3, 4]);
        assert!(matches!(cut(&regions, |_| 12), Cow::Borrowed(_)));
        assert!(matches!(cut(&Hyperslabs::new(3), |_| 0), Cow::Borrowed(_)));
        assert!(matches!(cut(&region(&[], &[]), |_| 1), Cow::Borrowed(_)));
        assert_eq!(cut(&regions, |_| 11).len(), 2);
    }

    #[test]
    fn records_can_be_taken_one_by_one() {
        let shape = shape(&[0, 3, 4], true);
        let regions = region(&[5, 0, 1], &[2, 3, 2]);
        let pieces = cut(&regions, |counts| shape.of_record(counts));
        assert_eq!(pieces.len(), 2);
        assert_eq!(pieces.at(1), (&[6, 0, 1][..], &[1, 3, 2][..]));
    }

    fn list(sizes: &[u64]) -> Cow<'static, Hyperslabs> {
        let mut regions = Hyperslabs::new(1);
        sizes.iter().for_each(|size| regions.push(&[0], &[*size]));
        Cow::Owned(regions)
    }

    #[test]
    fn rounds_are_filled_in_order() {
        let lists = [list(&[2, 3, 9]), list(&[]), list(&[1, 1, 4])];
        let request = |list, first, count, offset| RegionBatch {
            list,
            first,
            count,
            offset,
        };
        let expected = [
            vec![request(0, 0, 2, 0)],
            vec![request(0, 2, 1, 5)],
            vec![request(2, 0, 2, 0)],
            vec![request(2, 2, 1, 2)],
        ];
        assert_eq!(rounds(&lists, 5), expected);
        let whole = [vec![request(0, 0, 3, 0), request(2, 0, 3, 0)]];
        assert_eq!(rounds(&lists, 20), whole);
        assert!(rounds(&[list(&[])], 5).is_empty());
    }

    proptest! {
        #[test]
        fn pieces_are_small_and_keep_the_order(
            dims in prop::collection::vec((0..3u64, 0..5u64, 0..3u64), 0..5),
            limit in 0..40u64,
        ) {
            let start: Vec<_> = dims.iter().map(|dim| dim.0).collect();
            let count: Vec<_> = dims.iter().map(|dim| dim.1).collect();
            let lengths: Vec<_> = dims.iter().map(|dim| dim.0 + dim.1 + dim.2).collect();
            let whole = region(&start, &count);
            let pieces = cut(&whole, |_| limit);
            prop_assert_eq!(places(&pieces, &lengths), places(&whole, &lengths));
            prop_assert!(pieces.iter().all(|(_, count)| elements(count) <= limit.max(1)));
        }

        #[test]
        fn a_piece_within_a_run_has_no_gap(
            dims in prop::collection::vec((0..3u64, 1..5u64, 0..2u64), 1..5),
            most in 1..20u64,
        ) {
            let start: Vec<_> = dims.iter().map(|dim| dim.0 * dim.2).collect();
            let count: Vec<_> = dims.iter().map(|dim| dim.1).collect();
            let lengths: Vec<_> = dims.iter().map(|dim| dim.1 + 2 * dim.2).collect();
            let whole = region(&start, &count);
            let shape = shape(&lengths, false);
            for piece in cut(&whole, |count| most.min(shape.run(count))).iter() {
                let places = places(&region(piece.0, piece.1), &lengths);
                prop_assert!(places.windows(2).all(|pair| pair[0] + 1 == pair[1]));
            }
        }
    }
}
