use super::bytes::{LONG, RUNS, SHORT};
use super::*;
use proptest::prelude::*;

fn of(numbers: impl IntoIterator<Item = u64>) -> Sequence {
    let mut builder = Builder::default();
    numbers.into_iter().for_each(|number| builder.push(number));
    builder.finish().unwrap()
}

/// Numbers with and without patterns.
fn numbers() -> impl Strategy<Value = Vec<u64>> {
    let block = (0..1000u64, 1..20u64).prop_map(|(s, l)| (s..s + l).collect::<Vec<_>>());
    let line = (0..1000u64, 0..50u64, 1..30u64)
        .prop_map(|(s, step, n)| (0..n).map(|i| s + i * step).collect());
    let back = (0..40u64, 1..20u64).prop_map(|(s, n)| (0..n).map(|i| 900 + s - i).collect());
    let rows = (0..99u64, 1..9u64, 0..60u64, 1..9u64).prop_map(|(s, l, stride, n)| {
        let row = move |r| (0..l).map(move |i| s + r * stride + i);
        (0..n).flat_map(row).collect()
    });
    let noise = prop::collection::vec(0..(1u64 << 40), 0..200);
    let part = prop_oneof![block, line, back, rows, noise];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_sequence_keeps_its_numbers(numbers in numbers()) {
        let sequence = of(numbers.iter().copied());
        prop_assert_eq!(sequence.len(), numbers.len() as u64);
        prop_assert_eq!(sequence.end(), numbers.iter().max().map_or(0, |n| n + 1));
        prop_assert_eq!(sequence.numbers().collect::<Vec<_>>(), numbers);
        prop_assert_eq!(Sequence::from_bytes(&sequence.to_bytes().unwrap()).unwrap(), sequence);
    }

    #[test]
    fn parts_follow_each_other(numbers in numbers(), cuts in prop::collection::vec(0.0..1.0f64, 0..5)) {
        let length = numbers.len() as u64;
        let mut places: Vec<u64> = cuts.iter().map(|c| (c * length as f64) as u64).collect();
        places.extend([0, length]);
        places.sort_unstable();
        let lengths: Vec<u64> = places.windows(2).map(|w| w[1] - w[0]).collect();
        let parts = of(numbers.iter().copied()).split(&lengths).unwrap();
        for (part, length) in parts.iter().zip(&lengths) {
            prop_assert_eq!(part.len(), *length);
        }
        let joined: Vec<u64> = parts.iter().flat_map(|part| part.numbers()).collect();
        prop_assert_eq!(joined, numbers);
    }

    #[test]
    fn what_is_below_a_limit_comes_first(mut numbers in numbers(), limit in 0..3000u64) {
        numbers.sort_unstable();
        let sequence = of(numbers.iter().copied());
        let (mut cursor, mut below) = (sequence.cursor(), Builder::default());
        while let Some(run) = cursor.take_below(limit) {
            below.push_run(run);
        }
        let next = cursor.peek();
        let expected: Vec<u64> = numbers.iter().copied().filter(|n| *n < limit).collect();
        prop_assert_eq!(next, numbers.get(expected.len()).copied());
        prop_assert_eq!(below.finish().unwrap().numbers().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn patterns_are_one_run() {
    let one =
        |sequence: Sequence| assert!(matches!(sequence.form, Form::Runs(runs) if runs.len() == 1));
    one(of(7..100_000));
    one(of((0..10_000).map(|i| 3 + 4 * i)));
    one(of((0..10_000).rev()));
    one(of(
        (0..64).flat_map(|row| (0..32).map(move |i| row * 100 + i))
    ));
    one(of((0..1000).flat_map(|pair| [4 * pair, 4 * pair + 1])));
}

#[test]
fn numbers_without_a_pattern_take_four_bytes() {
    let sequence = of((0..100_000u64).map(|i| i * 48_271 % 100_003));
    assert!(sequence.bytes() <= 400_000);
}

#[test]
fn broken_bytes_are_an_error() {
    for bytes in [
        &[][..],
        &[9],
        &[RUNS, 1],
        &[SHORT, 1, 2],
        &[LONG, 1, 2, 3, 4],
    ] {
        assert!(Sequence::from_bytes(bytes).is_err());
    }
}

#[test]
fn runs_that_no_rank_makes_are_an_error() {
    let bytes = |runs: &[[u64; 4]]| {
        let words = runs.iter().flatten().flat_map(|word| word.to_le_bytes());
        [RUNS].into_iter().chain(words).collect::<Vec<u8>>()
    };
    let (far, back) = (i64::MAX as u64, -5_i64 as u64);
    for run in [
        [0, 0, 1, 1],
        [0, 1, 1, 0],
        [far, 2, 0, 1],
        [u64::MAX, 1, 0, 1],
        [0, 1, far, 3],
        [0, 1, 1, u64::MAX],
        [0, far, 0, 3],
        [9, 1, back, 3],
    ] {
        assert!(Sequence::from_bytes(&bytes(&[run])).is_err(), "{run:?}");
    }
    let half = [0, far - 1, 0, 1];
    assert!(Sequence::from_bytes(&bytes(&[half, half, half])).is_err());
    assert!(Sequence::from_bytes(&bytes(&[half, [9, 1, back, 2]])).is_ok());
    let long = [&[LONG][..], &u64::MAX.to_le_bytes()].concat();
    assert!(Sequence::from_bytes(&long).is_err());
}
