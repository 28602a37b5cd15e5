//! Copying of elements between an array and the order of a sequence of its places.

use super::sequence::{Cursor, Form, List, Run, Sequence};

/// Takes the elements at `places` of an array, one after the other.
pub(super) fn pack(places: &Sequence, element: usize, array: &[u8], packed: &mut [u8]) {
    match element {
        1 => pack_sized::<1>(places, array, packed),
        2 => pack_sized::<2>(places, array, packed),
        4 => pack_sized::<4>(places, array, packed),
        _ => pack_sized::<8>(places, array, packed),
    }
}

/// Puts elements that follow each other to `places` of an array.
pub(super) fn unpack(places: &Sequence, element: usize, packed: &[u8], array: &mut [u8]) {
    match element {
        1 => unpack_sized::<1>(places, packed, array),
        2 => unpack_sized::<2>(places, packed, array),
        4 => unpack_sized::<4>(places, packed, array),
        _ => unpack_sized::<8>(places, packed, array),
    }
}

/// As [`unpack`] to the next `count` places of an array, of which `piece` is what lies from `start` on.
pub(super) fn unpack_next(
    places: &mut Cursor,
    count: u64,
    element: usize,
    packed: &[u8],
    start: u64,
    piece: &mut [u8],
) {
    match element {
        1 => unpack_next_sized::<1>(places, count, packed, start, piece),
        2 => unpack_next_sized::<2>(places, count, packed, start, piece),
        4 => unpack_next_sized::<4>(places, count, packed, start, piece),
        _ => unpack_next_sized::<8>(places, count, packed, start, piece),
    }
}

/// Takes the elements at the next places below `end` of an array, of which `piece` is what lies from `start` on. Returns
/// how many bytes they are.
pub(super) fn pack_below(
    places: &mut Cursor,
    (start, end): (u64, u64),
    element: usize,
    piece: &[u8],
    packed: &mut [u8],
) -> usize {
    match element {
        1 => pack_below_sized::<1>(places, (start, end), piece, packed),
        2 => pack_below_sized::<2>(places, (start, end), piece, packed),
        4 => pack_below_sized::<4>(places, (start, end), piece, packed),
        _ => pack_below_sized::<8>(places, (start, end), piece, packed),
    }
}

fn pack_below_sized<const N: usize>(
    places: &mut Cursor,
    (start, end): (u64, u64),
    piece: &[u8],
    packed: &mut [u8],
) -> usize {
    let mut done = 0;
    while let Some(run) = places.take_below(end) {
        let length = run.count() as usize * N;
        let start = run.start - start;
        pack_run::<N>(
            &Run { start, ..run },
            piece,
            &mut packed[done..done + length],
        );
        done += length;
    }
    done
}

fn unpack_next_sized<const N: usize>(
    places: &mut Cursor,
    mut count: u64,
    packed: &[u8],
    start: u64,
    piece: &mut [u8],
) {
    let place = |place: u64| (place - start) as usize;
    match places.list(count) {
        Some(List::Short(list)) => {
            return scatter::<N>(list.iter().map(|&at| place(at.into())), packed, piece);
        }
        Some(List::Long(list)) => {
            return scatter::<N>(list.iter().map(|&at| place(at)), packed, piece);
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

/// Where `count` strided elements lie: the bytes from the first on, and the bytes from one to the next.
fn strided<const N: usize>(run: &Run) -> Option<(usize, usize)> {
    let regular = run.length == 1 && run.stride > 0;
    regular.then(|| (run.start as usize * N, run.stride as usize * N))
}

fn pack_sized<const N: usize>(places: &Sequence, array: &[u8], packed: &mut [u8]) {
    match &places.form {
        Form::Runs(runs) => {
            let mut rest = packed;
            for run in runs {
                let (now, later) = rest.split_at_mut((run.length * run.repeat) as usize * N);
                pack_run::<N>(run, array, now);
                rest = later;
            }
        }
        Form::Short(list) => {
            let list = list.iter().map(|&place| place as usize);
            gather::<N>(list, array, packed);
        }
        Form::Long(list) => gather::<N>(list.iter().map(|&place| place as usize), array, packed),
    }
}

fn pack_run<const N: usize>(run: &Run, array: &[u8], packed: &mut [u8]) {
    if let Some((start, stride)) = strided::<N>(run) {
        let from = array[start..].chunks(stride);
        for (to, from) in packed.chunks_exact_mut(N).zip(from) {
            to.copy_from_slice(&from[..N]);
        }
        return;
    }
    let length = run.length as usize * N;
    for (index, to) in packed.chunks_exact_mut(length).enumerate() {
        let start = run.block_at(index as u64) as usize * N;
        to.copy_from_slice(&array[start..start + length]);
    }
}

fn gather<const N: usize>(places: impl Iterator<Item = usize>, array: &[u8], packed: &mut [u8]) {
    for (to, place) in packed.chunks_exact_mut(N).zip(places) {
        to.copy_from_slice(&array[place * N..place * N + N]);
    }
}

fn unpack_sized<const N: usize>(places: &Sequence, packed: &[u8], array: &mut [u8]) {
    match &places.form {
        Form::Runs(runs) => {
            let mut rest = packed;
            for run in runs {
                let (now, later) = rest.split_at((run.length * run.repeat) as usize * N);
                unpack_run::<N>(run, now, array);
                rest = later;
            }
        }
        Form::Short(list) => {
            let list = list.iter().map(|&place| place as usize);
            scatter::<N>(list, packed, array);
        }
        Form::Long(list) => scatter::<N>(list.iter().map(|&place| place as usize), packed, array),
    }
}

fn unpack_run<const N: usize>(run: &Run, packed: &[u8], array: &mut [u8]) {
    if let Some((start, stride)) = strided::<N>(run) {
        let to = array[start..].chunks_mut(stride);
        for (from, to) in packed.chunks_exact(N).zip(to) {
            to[..N].copy_from_slice(from);
        }
        return;
    }
    let length = run.length as usize * N;
    for (index, from) in packed.chunks_exact(length).enumerate() {
        let start = run.block_at(index as u64) as usize * N;
        array[start..start + length].copy_from_slice(from);
    }
}

fn scatter<const N: usize>(places: impl Iterator<Item = usize>, packed: &[u8], array: &mut [u8]) {
    for (from, place) in packed.chunks_exact(N).zip(places) {
        array[place * N..place * N + N].copy_from_slice(from);
    }
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
