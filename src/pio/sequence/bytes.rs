//! Sequences between ranks: one byte says the form, then come its numbers.

use super::super::{Error, Result, memory};
use super::{Form, Run, Sequence};

pub(super) const RUNS: u8 = 0;
pub(super) const SHORT: u8 = 1;
pub(super) const LONG: u8 = 2;

impl Sequence {
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
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
        let mut bytes = memory::zeros(1 + length as u64)?;
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

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let broken = || Error::Comm("a list of places came broken".into());
        let (form, bytes) = bytes.split_first().ok_or_else(broken)?;
        let form = match *form {
            RUNS if bytes.len() % 32 == 0 => {
                Form::Runs(collected(bytes.chunks_exact(32).map(run_of))?)
            }
            SHORT if bytes.len() % 4 == 0 => {
                let number = |n: &[u8]| u32::from_le_bytes([n[0], n[1], n[2], n[3]]);
                Form::Short(collected(bytes.chunks_exact(4).map(number))?)
            }
            LONG if bytes.len() % 8 == 0 => {
                let number = |n: &[u8]| n.first_chunk().map_or(0, |n| u64::from_le_bytes(*n));
                Form::Long(collected(bytes.chunks_exact(8).map(number))?)
            }
            _ => return Err(broken()),
        };
        Ok(Self::of(form))
    }
}

/// As many as the iterator says.
fn collected<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut list = memory::list(items.len())?;
    list.extend(items);
    Ok(list)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let words = bytes.chunks(8).filter_map(|word| word.first_chunk());
    words.map(|word| u64::from_le_bytes(*word))
}

fn run_of(bytes: &[u8]) -> Run {
    let mut words = words(bytes);
    let mut next = || words.next().unwrap_or(0);
    Run {
        start: next(),
        length: next(),
        stride: next() as i64,
        repeat: next(),
    }
}
