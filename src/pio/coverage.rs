//! Which places of a block are held by some rank, one bit each.

use super::sequence::{Form, Sequence};
use super::{Error, Result};

pub(super) struct Coverage {
    words: Vec<u64>,
    held: u64,
    duplicate: Option<u64>,
}

impl Coverage {
    pub(super) fn of(length: u64) -> Result<Self> {
        let count = length.div_ceil(64) as usize;
        let mut words = Vec::new();
        let room = words.try_reserve_exact(count);
        room.map_err(|_| Error::Memory(8 * count as u64))?;
        words.resize(count, 0);
        Ok(Self {
            words,
            held: 0,
            duplicate: None,
        })
    }

    pub(super) fn mark(&mut self, places: &Sequence) {
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
            self.held += 1;
        } else if self.duplicate.is_none() {
            self.duplicate = Some(place);
        }
    }

    fn mark_block(&mut self, mut start: u64, end: u64) {
        while start < end {
            let (word, bit) = ((start / 64) as usize, start % 64);
            let count = (64 - bit).min(end - start);
            let mask = (u64::MAX >> (64 - count)) << bit;
            let before = self.words[word];
            let twice = before & mask;
            if twice != 0 && self.duplicate.is_none() {
                self.duplicate = Some(start - bit + u64::from(twice.trailing_zeros()));
            }
            self.words[word] = before | mask;
            self.held += count - u64::from(twice.count_ones());
            start += count;
        }
    }

    /// How many places are held.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// A place that was marked twice.
    pub(super) fn duplicate(&self) -> Option<u64> {
        self.duplicate
    }
}

#[cfg(test)]
mod tests {
    use super::super::sequence::Builder;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn marks_are_counted(blocks in prop::collection::vec((0..300u64, 1..100u64), 0..9)) {
            let mut coverage = Coverage::of(400).unwrap();
            let mut model = vec![0; 400];
            for (start, length) in &blocks {
                let mut places = Builder::default();
                places.push_block(*start, *length);
                coverage.mark(&places.finish());
                (*start..start + length).for_each(|place| model[place as usize] += 1);
            }
            prop_assert_eq!(coverage.held(), model.iter().filter(|n| **n > 0).count() as u64);
            match coverage.duplicate() {
                Some(place) => prop_assert!(model[place as usize] > 1),
                None => prop_assert!(model.iter().all(|n| *n < 2)),
            }
        }
    }
}
