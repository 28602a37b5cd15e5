use super::kernels::{Usable, usable};
use super::*;
use proptest::prelude::*;

/// Bytes without a pattern that a mistake could hide in.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Multiplication as in the textbook: shift, add, reduce.
fn slow_mul(mut a: u8, b: u8) -> u8 {
    let mut product = 0;
    for bit in 0..8 {
        if (b >> bit) & 1 == 1 {
            product ^= a;
        }
        let carry = a >> 7 == 1;
        a <<= 1;
        if carry {
            a ^= 0x1D;
        }
    }
    product
}

/// What every kernel must give.
fn expected(before: &[u8], row: &[u8], sources: &[&[u8]], accumulate: bool) -> Vec<u8> {
    let mut sum = match accumulate {
        true => before.to_vec(),
        false => vec![0; before.len()],
    };
    for (&coefficient, source) in row.iter().zip(sources) {
        for (value, &byte) in sum.iter_mut().zip(*source) {
            *value ^= gf::mul(coefficient, byte);
        }
    }
    sum
}

#[test]
fn multiplication_is_that_of_the_polynomial() {
    for a in 0..=255 {
        for b in 0..=255 {
            assert_eq!(gf::mul(a, b), slow_mul(a, b), "{a} * {b}");
        }
    }
}

#[test]
fn everything_but_zero_has_an_inverse() {
    assert_eq!(gf::inv(0), None);
    for a in 1..=255 {
        assert_eq!(gf::mul(a, gf::inv(a).unwrap()), 1);
    }
}

/// `gf2p8affineqb` on one byte, as Intel's manual defines it.
fn affine(matrix: u64, byte: u8) -> u8 {
    let rows = matrix.to_le_bytes();
    (0..8).fold(0, |product, bit| {
        let parity = (rows[7 - bit] & byte).count_ones() & 1;
        product | ((parity as u8) << bit)
    })
}

#[test]
fn bit_matrices_multiply() {
    for c in 0..=255 {
        for byte in 0..=255 {
            let matrix = kernels::bit_matrix::BIT_MATRICES[usize::from(c)];
            assert_eq!(affine(matrix, byte), gf::mul(c, byte), "{c} * {byte}");
        }
    }
}

#[test]
fn the_fastest_usable_kernel_is_chosen() {
    let names: Vec<_> = usable().map(Usable::name).collect();
    println!("kernels on this CPU: {}", names.join(", "));
    assert_eq!(names[0], kernel_name());
    assert_eq!(names.last(), Some(&"portable"));
}

/// All kernels multiply misaligned noise into another misaligned place; what lies around it must stay.
fn check_product(noises: [&[u8]; 2], coefficient: u8, length: usize, accumulate: bool) {
    let (skip, skip_target) = (length % 33, usize::from(coefficient) % 17);
    let target = skip_target..skip_target + length;
    let source = &noises[0][skip..skip + length];
    let before = &noises[1][..skip_target + length + 64];
    let mut expected_place = before.to_vec();
    let product = expected(
        &before[target.clone()],
        &[coefficient],
        &[source],
        accumulate,
    );
    expected_place[target.clone()].copy_from_slice(&product);
    for kernel in usable() {
        let mut place = before.to_vec();
        kernel.combine(
            &mut [&mut place[target.clone()]],
            &[&[coefficient]],
            &[source],
            accumulate,
        );
        let name = kernel.name();
        assert!(
            place == expected_place,
            "{name}: {coefficient} * {length} bytes"
        );
    }
}

/// Every coefficient meets every fifth length, and every length every fifth coefficient.
#[test]
fn kernels_know_every_coefficient_and_length() {
    let noises = [noise(400, 1), noise(400, 2)];
    let noises = [&noises[0][..], &noises[1][..]];
    for coefficient in 0..=255 {
        for length in (usize::from(coefficient % 5)..300).step_by(5) {
            check_product(noises, coefficient, length, false);
            check_product(noises, coefficient, length, true);
        }
    }
}

#[test]
fn kernels_agree_on_long_slices() {
    for length in [4095, 16 << 10, (16 << 10) + 1, 70_001] {
        let data: Vec<_> = (0..19).map(|seed| noise(length, seed)).collect();
        let sources: Vec<_> = data.iter().map(Vec::as_slice).collect();
        let rows = [noise(19, 77), noise(19, 78), noise(19, 79)];
        let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
        for accumulate in [false, true] {
            let before = noise(length, 99);
            let expected: Vec<_> = rows
                .iter()
                .map(|row| expected(&before, row, &sources, accumulate))
                .collect();
            for kernel in usable() {
                let mut places = vec![before.clone(); rows.len()];
                let mut targets: Vec<_> = places.iter_mut().map(Vec::as_mut_slice).collect();
                kernel.combine(&mut targets, &rows, &sources, accumulate);
                assert!(places == expected, "{}: {length} bytes", kernel.name());
            }
        }
    }
}

/// Long enough to be streamed, on targets that are aligned for it and on others.
#[test]
fn kernels_stream_to_any_place() {
    let length = 40_000;
    for (sources, skip) in [(2, 0), (2, 16), (2, 32), (3, 5), (16, 0), (17, 0), (40, 64)] {
        let data: Vec<_> = (0..sources).map(|seed| noise(length, seed)).collect();
        let data: Vec<_> = data.iter().map(Vec::as_slice).collect();
        let rows: Vec<_> = (0..5).map(|seed| noise(sources as usize, seed)).collect();
        let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
        let expected: Vec<_> = rows
            .iter()
            .map(|row| expected(data[0], row, &data, false))
            .collect();
        for kernel in usable() {
            let mut places = vec![noise(length + 192, 9); rows.len()];
            let align = |place: &mut Vec<u8>| {
                let start = place.as_ptr().align_offset(64) + skip;
                start..start + length
            };
            let ranges: Vec<_> = places.iter_mut().map(align).collect();
            let targets = places.iter_mut().zip(&ranges);
            let mut targets: Vec<_> = targets
                .map(|(place, range)| &mut place[range.clone()])
                .collect();
            kernel.combine(&mut targets, &rows, &data, false);
            assert!(targets == expected, "{}: {skip}", kernel.name());
            let mut before = noise(length + 192, 9);
            before[ranges[0].clone()].copy_from_slice(&expected[0]);
            assert!(places[0] == before, "{}: around {skip}", kernel.name());
        }
    }
}

proptest! {
    #[test]
    fn kernels_agree(
        shape in (0..10usize, 0..40usize, 0..700usize),
        skips in (0..70usize, 0..70usize),
        accumulate: bool,
        seed: u64,
    ) {
        let ((targets, sources, length), (skip, skip_target)) = (shape, skips);
        let data: Vec<_> = (0..sources).map(|i| noise(length + skip, seed ^ i as u64)).collect();
        let sources: Vec<_> = data.iter().map(|bytes| &bytes[skip..]).collect();
        let rows: Vec<_> = (0..targets).map(|i| noise(sources.len(), !seed ^ i as u64)).collect();
        let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
        let before = noise(length + skip_target, seed ^ 0xABCD);
        let expected = rows.iter().map(|row| expected(&before[skip_target..], row, &sources, accumulate));
        let expected: Vec<_> = expected.collect();
        for kernel in usable() {
            let mut places = vec![before.clone(); targets];
            let mut parts: Vec<_> = places.iter_mut().map(|p| &mut p[skip_target..]).collect();
            kernel.combine(&mut parts, &rows, &sources, accumulate);
            for (place, expected) in places.iter().zip(&expected) {
                prop_assert_eq!(&place[skip_target..], expected, "{}", kernel.name());
                prop_assert_eq!(&place[..skip_target], &before[..skip_target]);
            }
        }
    }

    #[test]
    fn kernels_agree_on_xor(
        sources in 0..40usize,
        length in 0..700usize,
        skips in (0..70usize, 0..70usize),
        accumulate: bool,
        seed: u64,
    ) {
        let (skip, skip_target) = skips;
        let data: Vec<_> = (0..sources).map(|i| noise(length + skip, seed ^ i as u64)).collect();
        let sources: Vec<_> = data.iter().map(|bytes| &bytes[skip..]).collect();
        let before = noise(length + skip_target, seed ^ 0xABCD);
        let ones = vec![1; sources.len()];
        let expected = expected(&before[skip_target..], &ones, &sources, accumulate);
        for kernel in usable() {
            let mut place = before.clone();
            kernel.xor(&mut place[skip_target..], &sources, accumulate);
            prop_assert_eq!(&place[skip_target..], &expected, "{}", kernel.name());
            prop_assert_eq!(&place[..skip_target], &before[..skip_target]);
        }
    }
}

#[test]
fn the_simple_functions_do_what_they_say() {
    let (a, b) = (noise(1000, 1), noise(1000, 2));
    let sum: Vec<u8> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
    let mut target = a.clone();
    xor_into(&mut target, &b);
    assert_eq!(target, sum);
    let mut target = noise(1000, 3);
    xor_all(&mut target, &[&a, &b]);
    assert_eq!(target, sum);
    xor_all(&mut target, &[&b]);
    assert_eq!(target, b);
    xor_all(&mut target, &[]);
    assert_eq!(target, [0; 1000]);
}

#[test]
fn slices_that_do_not_fit_panic() {
    let panics = |f: fn()| std::panic::catch_unwind(f).is_err();
    assert!(panics(|| xor_into(&mut [0; 3], &[0; 4])));
    assert!(panics(|| xor_all(&mut [0; 3], &[&[0; 3], &[0; 2]])));
    assert!(panics(|| combine(&mut [&mut [0; 3]], &[], &[], false)));
    assert!(panics(|| combine(
        &mut [&mut [0; 3]],
        &[&[1]],
        &[&[0; 3], &[0; 3]],
        false
    )));
    assert!(panics(|| combine(
        &mut [&mut [0; 3], &mut [0; 2]],
        &[&[], &[]],
        &[],
        false
    )));
}
