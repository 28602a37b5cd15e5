//! Linear combinations of blocks that need not be of equal length.

use crate::erasure;

/// `targets[i]` = the sum over `j` of `rows[i][j] * sources[j]`. A source that is longer than a target is cut, one that
/// is shorter ends in zeros.
pub(super) fn combine(targets: &mut [&mut [u8]], rows: &[&[u8]], sources: &[&[u8]]) {
    let lengths = targets.iter().map(|target| target.len());
    let longest = lengths.clone().max().unwrap_or(0);
    let ends = sources.iter().map(|source| source.len().min(longest));
    let mut ends: Vec<_> = lengths.chain(ends).filter(|end| *end > 0).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut start = 0;
    for end in ends {
        let reaching: Vec<_> = (0..sources.len())
            .filter(|source| sources[*source].len() >= end)
            .collect();
        let inputs = reaching.iter().map(|source| &sources[*source][start..end]);
        let inputs: Vec<_> = inputs.collect();
        let (mut outputs, mut coefficients) = (Vec::new(), Vec::<Vec<u8>>::new());
        for (target, row) in targets.iter_mut().zip(rows) {
            if target.len() >= end {
                outputs.push(&mut target[start..end]);
                coefficients.push(reaching.iter().map(|source| row[*source]).collect());
            }
        }
        combine_equal(&mut outputs, &coefficients, &inputs);
        start = end;
    }
}

fn combine_equal(targets: &mut [&mut [u8]], rows: &[Vec<u8>], sources: &[&[u8]]) {
    match (targets, rows) {
        ([target], [row]) if row.iter().all(|coefficient| *coefficient == 1) => {
            erasure::xor_all(target, sources);
        }
        (targets, rows) => {
            let rows: Vec<_> = rows.iter().map(|row| &row[..]).collect();
            erasure::combine(targets, &rows, sources, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::erasure::gf;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn missing_bytes_count_as_zeros(
            sources in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
            lengths in prop::collection::vec(0usize..40, 1..4),
            seed in any::<u8>(),
        ) {
            let row = |i: usize| (0..sources.len()).map(|j| if seed == 0 { 1 } else { seed.wrapping_mul((3 * i + j) as u8) }).collect();
            let rows: Vec<Vec<u8>> = (0..lengths.len()).map(row).collect();
            let mut targets: Vec<_> = lengths.iter().map(|length| vec![7; *length]).collect();
            let mut outputs: Vec<_> = targets.iter_mut().map(|target| &mut target[..]).collect();
            let inputs: Vec<_> = sources.iter().map(|source| &source[..]).collect();
            let coefficients: Vec<_> = rows.iter().map(|row| &row[..]).collect();
            combine(&mut outputs, &coefficients, &inputs);
            for (target, row) in targets.iter().zip(&rows) {
                for (at, byte) in target.iter().enumerate() {
                    let products = row.iter().zip(&sources);
                    let products = products.map(|(c, source)| gf::mul(*c, source.get(at).copied().unwrap_or(0)));
                    prop_assert_eq!(*byte, products.fold(0, |sum, product| sum ^ product));
                }
            }
        }
    }
}
