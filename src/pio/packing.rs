//! Copies elements between an array and the order of a sequence of places in it.
//!
//! These are PIO's inner loops: elements have a constant size, and nothing in a loop is checked for overflow. Places lie
//! within the array, since plans are checked when they are made; an index that did not would still panic.

use std::ops::Range;

use super::sequence::{Form, Numbers, Run, RunCursor, Sequence};

macro_rules! sized {
    ($element:expr, $function:ident($($argument:expr),*)) => {
        match $element {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            4 => $function::<4>($($argument),*),
            _ => $function::<8>($($argument),*),
        }
    };
}

/// Copies the elements at `places` of an array to `packed`, one after the other.
pub(super) fn pack(places: &Sequence, element: usize, array: &[u8], packed: &mut [u8]) {
    sized!(element, pack_sized(places, array, packed))
}

/// Copies the elements of `packed` to `places` of an array.
pub(super) fn unpack(places: &Sequence, element: usize, packed: &[u8], array: &mut [u8]) {
    let mut cursor = places.cursor();
    unpack_next(&mut cursor, places.len(), element, packed, 0, array)
}

/// As [`unpack`] for the next `count` places; `piece` is the part of the array that begins at element `start`.
pub(super) fn unpack_next(
    places: &mut RunCursor,
    count: u64,
    element: usize,
    packed: &[u8],
    start: u64,
    piece: &mut [u8],
) {
    sized!(element, unpack_sized(places, count, packed, start, piece))
}

/// As [`pack`] for the next places below `end`; `piece` is the part of the array from `start` to `end`. Returns the
/// number of bytes packed.
pub(super) fn pack_below(
    places: &mut RunCursor,
    (start, end): (u64, u64),
    element: usize,
    piece: &[u8],
    packed: &mut [u8],
) -> usize {
    sized!(
        element,
        pack_below_sized(places, (start, end), piece, packed)
    )
}

fn pack_sized<const N: usize>(places: &Sequence, array: &[u8], packed: &mut [u8]) {
    match &places.form {
        Form::Runs(runs) => {
            let mut rest = packed;
            for run in runs {
                let (now, later) = rest.split_at_mut(run.count() as usize * N);
                pack_run::<N>(run, array, now);
                rest = later;
            }
        }
        Form::Short(list) => gather::<N>(list.iter().map(|&at| at.into()), array, packed),
        Form::Long(list) => gather::<N>(list.iter().copied(), array, packed),
    }
}

fn pack_below_sized<const N: usize>(
    places: &mut RunCursor,
    (start, end): (u64, u64),
    piece: &[u8],
    packed: &mut [u8],
) -> usize {
    let mut done = 0;
    while let Some(run) = places.take_below(end) {
        let length = run.count() as usize * N;
        let start = run.start - start;
        let run = Run { start, ..run };
        pack_run::<N>(&run, piece, &mut packed[done..done + length]);
        done += length;
    }
    done
}

fn unpack_sized<const N: usize>(
    places: &mut RunCursor,
    mut count: u64,
    packed: &[u8],
    start: u64,
    piece: &mut [u8],
) {
    match places.list(count) {
        Some(Numbers::Short(list)) => {
            let places = list.iter().map(|&at| u64::from(at).wrapping_sub(start));
            return scatter::<N>(places, packed, piece);
        }
        Some(Numbers::Long(list)) => {
            let places = list.iter().map(|at| at.wrapping_sub(start));
            return scatter::<N>(places, packed, piece);
        }
        None => {}
    }
    let mut rest = packed;
    while let Some(run) = places.take(count) {
        let (now, later) = rest.split_at(run.count() as usize * N);
        let start = run.start - start;
        unpack_run::<N>(&Run { start, ..run }, now, piece);
        (rest, count) = (later, count - run.count());
    }
}

fn pack_run<const N: usize>(run: &Run, array: &[u8], packed: &mut [u8]) {
    if let Some((start, stride)) = strided::<N>(run) {
        // The last element stands alone: the array may end right behind it, within a stride.
        if let Some((others, last)) = packed.split_last_chunk_mut::<N>() {
            let array = &array[start..];
            let strides = array.chunks_exact(stride);
            for (to, from) in others.chunks_exact_mut(N).zip(strides) {
                to.copy_from_slice(&from[..N]);
            }
            last.copy_from_slice(&array[others.len() / N * stride..][..N]);
        }
        return;
    }
    if run.length == 1 {
        return gather::<N>(
            (0..run.repeat).map(|index| run.block_at(index)),
            array,
            packed,
        );
    }
    let (mut start, length) = (run.start, run.length as usize);
    for to in packed.chunks_exact_mut(length * N) {
        to.copy_from_slice(&array[bytes::<N>(start, length)]);
        start = start.wrapping_add_signed(run.stride);
    }
}

fn unpack_run<const N: usize>(run: &Run, packed: &[u8], array: &mut [u8]) {
    if let Some((start, stride)) = strided::<N>(run) {
        if let Some((others, last)) = packed.split_last_chunk::<N>() {
            let array = &mut array[start..];
            let strides = array.chunks_exact_mut(stride);
            for (from, to) in others.chunks_exact(N).zip(strides) {
                to[..N].copy_from_slice(from);
            }
            array[others.len() / N * stride..][..N].copy_from_slice(last);
        }
        return;
    }
    if run.length == 1 {
        return scatter::<N>(
            (0..run.repeat).map(|index| run.block_at(index)),
            packed,
            array,
        );
    }
    let (mut start, length) = (run.start, run.length as usize);
    for from in packed.chunks_exact(length * N) {
        array[bytes::<N>(start, length)].copy_from_slice(from);
        start = start.wrapping_add_signed(run.stride);
    }
}

fn gather<const N: usize>(places: impl Iterator<Item = u64>, array: &[u8], packed: &mut [u8]) {
    for (to, place) in packed.chunks_exact_mut(N).zip(places) {
        to.copy_from_slice(&array[bytes::<N>(place, 1)]);
    }
}

fn scatter<const N: usize>(places: impl Iterator<Item = u64>, packed: &[u8], array: &mut [u8]) {
    for (from, place) in packed.chunks_exact(N).zip(places) {
        array[bytes::<N>(place, 1)].copy_from_slice(from);
    }
}

/// The bytes of `count` elements from `place` on.
fn bytes<const N: usize>(place: u64, count: usize) -> Range<usize> {
    let start = (place as usize).wrapping_mul(N);
    start..start.wrapping_add(count.wrapping_mul(N))
}

/// Of a run of single elements that ascends: the bytes before the first, and from one to the next.
fn strided<const N: usize>(run: &Run) -> Option<(usize, usize)> {
    let regular = run.length == 1 && run.stride > 0;
    regular.then(|| (run.start as usize * N, run.stride as usize * N))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pio::sequence::Builder;
    use proptest::prelude::*;

    fn sequence(places: &[u64]) -> Sequence {
        let mut builder = Builder::default();
        places.iter().for_each(|place| builder.push(*place));
        builder.finish().unwrap()
    }

    proptest! {
        #[test]
        fn packed_elements_come_back(
            element in prop::sample::select(vec![1, 2, 4, 8]),
            start in 0..50u64, step in 1..5u64, count in 1..60u64, shuffled in any::<bool>(), seed in any::<u64>(),
        ) {
            let mut places: Vec<u64> = (0..count).map(|i| start + i * step).collect();
            if shuffled {
                places.sort_by_key(|place| (place + 1).wrapping_mul(seed | 1).rotate_left(17));
            }
            let array: Vec<u8> = (0..400 * element).map(|i| (i * 7 + i / 256) as u8).collect();
            let mut packed = vec![0; places.len() * element];
            pack(&sequence(&places), element, &array, &mut packed);
            for (place, bytes) in places.iter().zip(packed.chunks(element)) {
                prop_assert_eq!(bytes, &array[*place as usize * element..][..element]);
            }
            let mut back = vec![0xee; array.len()];
            unpack(&sequence(&places), element, &packed, &mut back);
            for place in 0..400 {
                let bytes = &back[place * element..][..element];
                if places.contains(&(place as u64)) {
                    prop_assert_eq!(bytes, &array[place * element..][..element]);
                } else {
                    prop_assert!(bytes.iter().all(|byte| *byte == 0xee));
                }
            }
        }
    }
}
