//! Sequences as messages: one byte for the form, then its numbers. What other ranks send is checked.

use super::super::{Error, Result, alloc};
use super::{Form, Run, Sequence};
use crate::wire;

pub(super) const RUNS: u8 = 0;
pub(super) const SHORT: u8 = 1;
pub(super) const LONG: u8 = 2;

impl Sequence {
    pub(in crate::pio) fn to_bytes(&self) -> Result<Vec<u8>> {
        let form = match &self.form {
            Form::Runs(_) => RUNS,
            Form::Short(_) => SHORT,
            Form::Long(_) => LONG,
        };
        let length = match &self.form {
            Form::Runs(runs) => runs.len() * size_of::<Run>(),
            Form::Short(list) => list.len() * 4,
            Form::Long(list) => list.len() * 8,
        };
        let mut bytes = alloc::zeros(1 + length as u64)?;
        bytes[0] = form;
        match &self.form {
            Form::Runs(runs) => {
                let words = runs
                    .iter()
                    .flat_map(|run| [run.start, run.length, run.stride as u64, run.repeat]);
                let places = bytes[1..].chunks_exact_mut(8);
                places
                    .zip(words)
                    .for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
            }
            Form::Short(list) => {
                let places = bytes[1..].chunks_exact_mut(4);
                places
                    .zip(list)
                    .for_each(|(to, n)| to.copy_from_slice(&n.to_le_bytes()));
            }
            Form::Long(list) => {
                let places = bytes[1..].chunks_exact_mut(8);
                places
                    .zip(list)
                    .for_each(|(to, n)| to.copy_from_slice(&n.to_le_bytes()));
            }
        }
        Ok(bytes)
    }

    pub(in crate::pio) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let broken = || Error::Comm("a list of places from another rank is malformed".into());
        let (form, bytes) = bytes.split_first().ok_or_else(broken)?;
        let form = match *form {
            RUNS if bytes.len() % 32 == 0 => {
                let runs = collected(bytes.chunks_exact(32).map(run_of))?;
                let lengths = runs.iter().map(|run| run.is_valid().then(|| run.count()));
                let length = lengths.reduce(|sum, more| sum?.checked_add(more?));
                length.unwrap_or(Some(0)).ok_or_else(broken)?;
                Form::Runs(runs)
            }
            SHORT if bytes.len() % 4 == 0 => {
                let number = |n: &[u8]| u32::from_le_bytes([n[0], n[1], n[2], n[3]]);
                Form::Short(collected(bytes.chunks_exact(4).map(number))?)
            }
            LONG if bytes.len() % 8 == 0 => {
                let number = |n: &[u8]| n.first_chunk().map_or(0, |n| u64::from_le_bytes(*n));
                let list: Vec<u64> = collected(bytes.chunks_exact(8).map(number))?;
                let valid = list.iter().all(|number| *number < i64::MAX as u64);
                Form::Long(valid.then_some(list).ok_or_else(broken)?)
            }
            _ => return Err(broken()),
        };
        Ok(Self::of(form))
    }
}

fn collected<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut list = alloc::list(items.len())?;
    list.extend(items);
    Ok(list)
}

impl Run {
    /// Whether it has numbers, and all of them are below 2^63.
    fn is_valid(&self) -> bool {
        let steps = self.repeat.checked_sub(1).map(i64::try_from);
        let offset = steps.and_then(|steps| steps.ok()?.checked_mul(self.stride));
        let last = offset.and_then(|offset| self.start.checked_add_signed(offset));
        let end = last.and_then(|last| last.max(self.start).checked_add(self.length));
        let counted = self.length > 0 && self.length.checked_mul(self.repeat).is_some();
        counted && end.is_some_and(|end| end <= i64::MAX as u64)
    }
}

fn run_of(bytes: &[u8]) -> Run {
    let mut words = wire::numbers(bytes);
    let mut next = || words.next().unwrap_or(0);
    Run {
        start: next(),
        length: next(),
        stride: next() as i64,
        repeat: next(),
    }
}
