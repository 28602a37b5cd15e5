use super::*;
use crate::erasure::combine;
use proptest::prelude::*;
use proptest::sample::subsequence;

fn product(a: &[Vec<u8>], b: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let row = |row: &Vec<u8>| {
        let mut sum = vec![0; b[0].len()];
        for (&factor, other) in row.iter().zip(b) {
            add_multiple(&mut sum, factor, other);
        }
        sum
    };
    a.iter().map(row).collect()
}

fn identity(size: usize) -> Vec<Vec<u8>> {
    let row = |i| (0..size).map(|j| u8::from(i == j)).collect();
    (0..size).map(row).collect()
}

fn power(base: u8, exponent: usize) -> u8 {
    (0..exponent).fold(1, |power, _| gf::mul(power, base))
}

/// Rows of `V[i][j] = i^j`.
fn vandermonde(rows: std::ops::Range<usize>, columns: usize) -> Vec<Vec<u8>> {
    rows.map(|i| (0..columns).map(|j| power(i as u8, j)).collect())
        .collect()
}

#[test]
fn the_rows_are_those_of_redset() {
    let rows = parity_rows(4, 2).unwrap();
    assert_eq!(rows, [[27, 28, 18, 20], [28, 27, 20, 18]]);
}

#[test]
fn the_rows_are_the_normalised_vandermonde_matrix() {
    for (ranks, k) in [(1, 1), (2, 3), (5, 2), (16, 6), (31, 9), (250, 6)] {
        let top = vandermonde(0..ranks, ranks);
        let bottom = vandermonde(ranks..ranks + k, ranks);
        assert_eq!(product(&parity_rows(ranks, k).unwrap(), &top), bottom);
    }
}

#[test]
fn only_256_rows_exist() {
    assert!(parity_rows(255, 1).is_some());
    assert!(parity_rows(1, 255).is_some());
    for (ranks, k) in [(0, 1), (1, 0), (0, 0), (255, 2), (usize::MAX, 1)] {
        assert_eq!(parity_rows(ranks, k), None);
    }
}

#[test]
fn what_cannot_be_inverted() {
    assert_eq!(invert(&[]), None);
    assert_eq!(invert(&[vec![0]]), None);
    assert_eq!(invert(&[vec![1, 2]]), None);
    assert_eq!(invert(&[vec![1, 2], vec![1]]), None);
    assert_eq!(invert(&[vec![3, 5], vec![6, 10]]), None);
    let swap = [vec![0, 1], vec![1, 0]];
    assert_eq!(invert(&swap).unwrap(), swap);
}

#[test]
fn what_cannot_be_rebuilt() {
    let rows = parity_rows(4, 2).unwrap();
    let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
    assert!(rebuild_rows(&rows, &[1, 3]).is_some());
    for lost in [&[][..], &[1], &[1, 1], &[1, 4], &[0, 1, 2]] {
        assert_eq!(rebuild_rows(&rows, lost), None, "{lost:?}");
    }
}

/// Ranks, and as many of the parity rows as there are lost columns.
fn losses() -> impl Strategy<Value = (usize, usize, Vec<usize>, Vec<usize>)> {
    (1..=16usize, 1..=6usize).prop_flat_map(|(ranks, k)| {
        (1..=ranks.min(k)).prop_flat_map(move |lost| {
            let columns: Vec<usize> = (0..ranks).collect();
            let rows: Vec<usize> = (0..k).collect();
            (
                Just(ranks),
                Just(k),
                subsequence(rows, lost).prop_shuffle(),
                subsequence(columns, lost).prop_shuffle(),
            )
        })
    })
}

proptest! {
    #[test]
    fn an_inverse_inverts(size in 1..12usize, bytes in prop::collection::vec(any::<u8>(), 144)) {
        let matrix: Vec<_> = bytes.chunks(size).take(size).map(<[u8]>::to_vec).collect();
        if let Some(inverse) = invert(&matrix) {
            prop_assert_eq!(product(&matrix, &inverse), identity(size));
            prop_assert_eq!(product(&inverse, &matrix), identity(size));
        }
    }

    #[test]
    fn every_minor_is_invertible((ranks, k, rows, columns) in losses()) {
        let all = parity_rows(ranks, k).unwrap();
        let minor: Option<Vec<_>> = rows.iter().map(|&r| pick(&all[r], &columns)).collect();
        let minor = minor.unwrap();
        let inverse = invert(&minor).unwrap();
        prop_assert_eq!(product(&minor, &inverse), identity(columns.len()));
    }

    #[test]
    fn lost_data_comes_back(
        (ranks, k, rows, lost) in losses(),
        data in prop::collection::vec(prop::collection::vec(any::<u8>(), 50), 16),
    ) {
        let all = parity_rows(ranks, k).unwrap();
        let parity: Vec<_> = rows.iter().map(|&r| all[r].as_slice()).collect();
        let data: Vec<_> = data[..ranks].iter().map(Vec::as_slice).collect();
        let encoded = combined(&parity, &data);
        let mut left = data.clone();
        for (&column, parity) in lost.iter().zip(&encoded) {
            left[column] = parity;
        }
        let rebuild = rebuild_rows(&parity, &lost).unwrap();
        let rebuild: Vec<_> = rebuild.iter().map(Vec::as_slice).collect();
        for (&column, rebuilt) in lost.iter().zip(combined(&rebuild, &left)) {
            prop_assert_eq!(data[column], rebuilt);
        }
    }
}

fn combined(rows: &[&[u8]], sources: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut places = vec![vec![0; sources[0].len()]; rows.len()];
    let mut targets: Vec<_> = places.iter_mut().map(Vec::as_mut_slice).collect();
    combine(&mut targets, rows, sources, false);
    places
}
