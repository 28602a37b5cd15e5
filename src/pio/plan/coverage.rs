//! Which places of a block are held by some rank.
//!
//! A bitmap finds out, unless few places are held, as by a sparse map of a large array: then the places are sorted, so
//! that memory grows with the maps, not with the block.

use crate::pio::sequence::{Form, Sequence};
use crate::pio::{Result, alloc};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Coverage {
    /// Places that are held.
    pub(super) held: u64,
    /// A place that is held more than once.
    pub(super) duplicate: Option<u64>,
}

/// Below one held place in this many, a bitmap takes more memory than sorting: half a word for each held place.
const SPARSE: u64 = 256;

/// Blocks up to this length always get a bitmap.
const SHORT: u64 = if cfg!(test) { 64 } else { 1 << 20 };

/// All numbers of `lists` are below `length`.
pub(super) fn cover<'a>(
    length: u64,
    lists: impl Iterator<Item = &'a Sequence> + Clone,
) -> Result<Coverage> {
    let numbers = lists.clone().map(Sequence::len);
    let numbers = numbers.fold(0_u64, u64::saturating_add);
    match length <= SHORT || length <= numbers.saturating_mul(SPARSE) {
        true => {
            let mut bits = Bits::of(length)?;
            lists.for_each(|places| bits.mark(places));
            Ok(bits.found)
        }
        false => sorted(lists),
    }
}

/// Sorts all blocks and compares neighbours.
fn sorted<'a>(lists: impl Iterator<Item = &'a Sequence> + Clone) -> Result<Coverage> {
    let number = lists.clone().map(|list| list.blocks().count());
    let number = number.fold(0_usize, usize::saturating_add);
    let mut blocks: Vec<(u64, u64)> = alloc::list(number)?;
    blocks.extend(lists.flat_map(Sequence::blocks));
    blocks.sort_unstable();
    let (mut found, mut end) = (Coverage::default(), 0);
    for (start, length) in blocks {
        if start < end && found.duplicate.is_none() {
            found.duplicate = Some(start);
        }
        found.held += (start + length).saturating_sub(end.max(start));
        end = end.max(start + length);
    }
    Ok(found)
}

/// One bit for each place.
struct Bits {
    words: Vec<u64>,
    found: Coverage,
}

impl Bits {
    fn of(length: u64) -> Result<Self> {
        let count = length.div_ceil(64) as usize;
        let mut words = alloc::list(count)?;
        words.resize(count, 0);
        let found = Coverage::default();
        Ok(Self { words, found })
    }

    fn mark(&mut self, places: &Sequence) {
        match &places.form {
            Form::Runs(_) => places
                .blocks()
                .for_each(|(start, length)| self.mark_block(start, start + length)),
            Form::Short(list) => list.iter().for_each(|&place| self.mark_one(place.into())),
            Form::Long(list) => list.iter().for_each(|&place| self.mark_one(place)),
        }
    }

    fn mark_one(&mut self, place: u64) {
        let word = &mut self.words[(place / 64) as usize];
        let bit = 1 << (place % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.found.held += 1;
        } else if self.found.duplicate.is_none() {
            self.found.duplicate = Some(place);
        }
    }

    fn mark_block(&mut self, mut start: u64, end: u64) {
        while start < end {
            let (word, bit) = ((start / 64) as usize, start % 64);
            let count = (64 - bit).min(end - start);
            let mask = (u64::MAX >> (64 - count)) << bit;
            let before = self.words[word];
            let twice = before & mask;
            if twice != 0 && self.found.duplicate.is_none() {
                let place = start - bit + u64::from(twice.trailing_zeros());
                self.found.duplicate = Some(place);
            }
            self.words[word] = before | mask;
            self.found.held += count - u64::from(twice.count_ones());
            start += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pio::sequence::Builder;
    use proptest::prelude::*;

    fn list(blocks: &[(u64, u64)]) -> Sequence {
        let mut places = Builder::default();
        let each = blocks.iter();
        each.for_each(|(start, length)| places.push_block(*start, *length));
        places.finish().unwrap()
    }

    proptest! {
        #[test]
        fn what_is_held_is_counted(blocks in prop::collection::vec((0..300u64, 1..100u64), 0..9)) {
            let mut model = vec![0; 400];
            for (start, length) in &blocks {
                (*start..start + length).for_each(|place| model[place as usize] += 1);
            }
            let lists: Vec<Sequence> = blocks.iter().map(|block| list(&[*block])).collect();
            // The bitmap and sorting find the same.
            for found in [cover(400, lists.iter()), sorted(lists.iter())] {
                let found = found.unwrap();
                prop_assert_eq!(found.held, model.iter().filter(|n| **n > 0).count() as u64);
                match found.duplicate {
                    Some(place) => prop_assert!(model[place as usize] > 1),
                    None => prop_assert!(model.iter().all(|n| *n < 2)),
                }
            }
        }
    }

    #[test]
    fn a_few_places_of_a_very_long_block_take_little_memory() {
        let lists = [list(&[(0, 7), (1 << 61, 3)]), list(&[(1 << 40, 1)])];
        let found = cover(1 << 62, lists.iter()).unwrap();
        assert_eq!((found.held, found.duplicate), (11, None));
        let twice = [list(&[(5, 2)]), list(&[(1 << 61, 4), (6, 1)])];
        let found = cover(1 << 62, twice.iter()).unwrap();
        assert_eq!((found.held, found.duplicate), (6, Some(6)));
    }
}
