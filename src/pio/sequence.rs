//! Numbers in an order, such as the places of a rank's elements, kept as runs where they have a pattern.
//!
//! A run is a block of consecutive numbers, repeated at a stride: rows of a tile, every fourth element, a
//! whole block are one run each. Numbers without a pattern are kept one by one, in half the room if they are
//! small. [`Builder`] finds the runs as numbers come in, and gives up on them when they do not pay.

use std::ops::Range;

use super::{Error, Result, memory};
pub use builder::Builder;

mod builder;

/// `repeat` blocks of `length` consecutive numbers, whose starts are `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub start: u64,
    pub length: u64,
    pub stride: i64,
    pub repeat: u64,
}

impl Run {
    fn block(start: u64, length: u64) -> Self {
        Self {
            start,
            length,
            stride: 0,
            repeat: 1,
        }
    }

    pub(super) fn block_at(&self, index: u64) -> u64 {
        self.start.wrapping_add_signed(self.stride * index as i64)
    }

    pub(super) fn count(&self) -> u64 {
        self.length * self.repeat
    }

    /// One more than the greatest number.
    fn end(&self) -> u64 {
        self.start.max(self.block_at(self.repeat - 1)) + self.length
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    Runs(Vec<Run>),
    Short(Vec<u32>),
    Long(Vec<u64>),
}

/// Memory for one may run out: what makes one fails then.
#[derive(Debug, PartialEq, Eq)]
pub struct Sequence {
    pub(super) form: Form,
    length: u64,
    end: u64,
}

impl Default for Sequence {
    fn default() -> Self {
        Self {
            form: Form::Runs(Vec::new()),
            length: 0,
            end: 0,
        }
    }
}

impl Sequence {
    /// The numbers of a range.
    pub fn block(start: u64, length: u64) -> Self {
        match length {
            0 => Self::default(),
            length => Self::of(Form::Runs(vec![Run::block(start, length)])),
        }
    }

    /// The same again.
    pub(super) fn copied(&self) -> Result<Self> {
        let form = match &self.form {
            Form::Runs(runs) => Form::Runs(memory::copy(runs)?),
            Form::Short(list) => Form::Short(memory::copy(list)?),
            Form::Long(list) => Form::Long(memory::copy(list)?),
        };
        Ok(Self { form, ..*self })
    }

    /// Numbers without a pattern.
    pub(super) fn short(list: Vec<u32>) -> Self {
        Self::of(Form::Short(list))
    }

    pub(super) fn long(list: Vec<u64>) -> Self {
        Self::of(Form::Long(list))
    }

    pub(super) fn is_runs(&self) -> bool {
        matches!(self.form, Form::Runs(_))
    }

    /// How many numbers there are.
    pub fn len(&self) -> u64 {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// One more than the greatest number.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The start, if the numbers are consecutive.
    pub fn as_block(&self) -> Option<u64> {
        match &self.form {
            Form::Runs(runs) => match runs.as_slice() {
                [run] if run.repeat == 1 => Some(run.start),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the numbers are known to ascend: of a list it is not known.
    pub(super) fn ascends(&self) -> bool {
        let Form::Runs(runs) = &self.form else {
            return false;
        };
        let mut end = 0;
        runs.iter().all(|run| {
            let inside = run.repeat == 1 || run.stride >= run.length as i64;
            let after = run.start >= std::mem::replace(&mut end, run.end());
            inside && after
        })
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::Runs(runs) => runs.capacity() * size_of::<Run>(),
            Form::Short(list) => list.capacity() * 4,
            Form::Long(list) => list.capacity() * 8,
        }
    }

    /// How many blocks of consecutive numbers there are, about.
    pub(super) fn stretches(&self) -> u64 {
        fn breaks<T: Copy + PartialEq + std::ops::Add<Output = T> + From<u8>>(list: &[T]) -> u64 {
            let pairs = list
                .windows(2)
                .filter(|pair| pair[0] + T::from(1) != pair[1]);
            pairs.count() as u64 + u64::from(!list.is_empty())
        }
        match &self.form {
            Form::Runs(runs) => runs.iter().map(|run| run.repeat).sum(),
            Form::Short(list) => breaks(list),
            Form::Long(list) => breaks(list),
        }
    }

    /// As blocks of consecutive numbers, in order.
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks {
            form: &self.form,
            at: 0,
            repeated: 0,
        }
    }

    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.blocks()
            .flat_map(|(start, length)| start..start + length)
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let mut cursor = self.cursor();
        std::iter::from_fn(move || cursor.take(u64::MAX))
    }

    pub(super) fn cursor(&self) -> Cursor<'_> {
        Cursor {
            form: &self.form,
            at: 0,
            block: 0,
            offset: 0,
        }
    }

    /// Parts of the given lengths, which together are as long as this.
    pub fn split(self, lengths: &[u64]) -> Result<Vec<Self>> {
        debug_assert_eq!(lengths.iter().sum::<u64>(), self.length);
        if lengths.len() == 1 {
            return Ok(vec![self]);
        }
        match self.form {
            Form::Short(list) => return split_list(list, lengths, Self::short),
            Form::Long(list) => return split_list(list, lengths, Self::long),
            Form::Runs(_) => {}
        }
        let mut cursor = self.cursor();
        let part = |&length: &u64| {
            let mut part = Builder::default();
            let mut missing = length;
            while missing > 0 {
                let Some(run) = cursor.take(missing) else {
                    break;
                };
                missing -= run.count();
                part.push_run(run);
            }
            part.finish()
        };
        lengths.iter().map(part).collect()
    }

    /// Part of a list, with its numbers counted from `base`.
    fn list_part(&self, range: Range<usize>, base: u64) -> Result<Self> {
        let form = match &self.form {
            Form::Short(list) => {
                let mut part = memory::list(range.len())?;
                part.extend(list[range].iter().map(|&n| n - base as u32));
                Form::Short(part)
            }
            Form::Long(list) => {
                let mut part = memory::list(range.len())?;
                part.extend(list[range].iter().map(|n| n - base));
                Form::Long(part)
            }
            Form::Runs(_) => Form::Runs(Vec::new()),
        };
        Ok(Self::of(form))
    }

    /// Cuts an ascending sequence where `part_of` says: for the lowest number of a part it gives the start
    /// and the end of the numbers that belong to it. Returns what it says of each part as well, and counts
    /// numbers from the start.
    pub(super) fn cut<T>(
        &self,
        part_of: impl Fn(u64) -> (T, Range<u64>),
    ) -> Result<Vec<(T, Self)>> {
        let mut parts = Vec::new();
        let (mut cursor, mut at) = (self.cursor(), 0);
        loop {
            let next = match &self.form {
                Form::Runs(_) => cursor.peek(),
                Form::Short(list) => list.get(at).map(|&n| n.into()),
                Form::Long(list) => list.get(at).copied(),
            };
            let Some(first) = next else {
                return Ok(parts);
            };
            let (what, range) = part_of(first);
            let length = match &self.form {
                Form::Runs(_) => {
                    let mut part = Builder::default();
                    while let Some(run) = cursor.take_below(range.end) {
                        let start = run.start - range.start;
                        part.push_run(Run { start, ..run });
                    }
                    parts.push((what, part.finish()?));
                    continue;
                }
                Form::Short(list) => list[at..].partition_point(|&n| u64::from(n) < range.end),
                Form::Long(list) => list[at..].partition_point(|n| *n < range.end),
            };
            parts.push((what, self.list_part(at..at + length, range.start)?));
            at += length;
        }
    }

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

    fn of(form: Form) -> Self {
        let (length, end) = match &form {
            Form::Runs(runs) => (
                runs.iter().map(Run::count).sum(),
                runs.iter().map(Run::end).max(),
            ),
            Form::Short(list) => (
                list.len() as u64,
                list.iter().max().map(|&n| u64::from(n) + 1),
            ),
            Form::Long(list) => (list.len() as u64, list.iter().max().map(|n| n + 1)),
        };
        Self {
            form,
            length,
            end: end.unwrap_or(0),
        }
    }
}

const RUNS: u8 = 0;
const SHORT: u8 = 1;
const LONG: u8 = 2;

/// The parts of a list; what it has of memory goes with them.
fn split_list<T: Copy>(
    mut list: Vec<T>,
    lengths: &[u64],
    sequence: impl Fn(Vec<T>) -> Sequence,
) -> Result<Vec<Sequence>> {
    let mut parts: Vec<Sequence> = Vec::with_capacity(lengths.len());
    for &length in lengths.iter().skip(1).rev() {
        let end = list.len() - length as usize;
        parts.push(sequence(memory::copy(&list[end..])?));
        list.truncate(end);
        list.shrink_to_fit();
    }
    parts.push(sequence(list));
    parts.reverse();
    Ok(parts)
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

/// Iterates over blocks of consecutive numbers.
pub struct Blocks<'a> {
    form: &'a Form,
    at: usize,
    repeated: u64,
}

impl Iterator for Blocks<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let at = self.at;
        match self.form {
            Form::Runs(runs) => {
                let run = runs.get(at)?;
                let start = run.block_at(self.repeated);
                self.repeated += 1;
                if self.repeated == run.repeat {
                    (self.at, self.repeated) = (at + 1, 0);
                }
                Some((start, run.length))
            }
            Form::Short(list) => {
                self.at += 1;
                list.get(at).map(|&number| (number.into(), 1))
            }
            Form::Long(list) => {
                self.at += 1;
                list.get(at).map(|&number| (number, 1))
            }
        }
    }
}

/// Numbers that are kept one by one.
pub(super) enum List<'a> {
    Short(&'a [u32]),
    Long(&'a [u64]),
}

/// A place in a sequence, from which runs are taken as long as possible.
pub(super) struct Cursor<'a> {
    form: &'a Form,
    at: usize,
    /// Of the run: blocks that are gone, and numbers of the next one.
    block: u64,
    offset: u64,
}

impl Cursor<'_> {
    fn current(&self) -> Option<Run> {
        match self.form {
            Form::Runs(runs) => runs.get(self.at).copied(),
            Form::Short(list) => list.get(self.at).map(|&n| Run::block(n.into(), 1)),
            Form::Long(list) => list.get(self.at).map(|&n| Run::block(n, 1)),
        }
    }

    /// The next number.
    pub(super) fn peek(&self) -> Option<u64> {
        let run = self.current()?;
        Some(run.block_at(self.block) + self.offset)
    }

    /// How many numbers follow each other from the next on, as far as it is known without a look at the next run.
    pub(super) fn ahead(&self) -> u64 {
        self.current().map_or(0, |run| run.length - self.offset)
    }

    /// Goes on by so many numbers.
    pub(super) fn skip(&mut self, mut count: u64) {
        if self.list(count).is_some() {
            return;
        }
        while let Some(run) = self.take(count) {
            count -= run.count();
        }
    }

    /// The next numbers, of which there are so many, if they are kept one by one.
    pub(super) fn list(&mut self, most: u64) -> Option<List<'_>> {
        let range = self.at..self.at + most as usize;
        let list = match self.form {
            Form::Runs(_) => return None,
            Form::Short(list) => List::Short(&list[range.clone()]),
            Form::Long(list) => List::Long(&list[range.clone()]),
        };
        self.at = range.end;
        Some(list)
    }

    /// At most so many numbers.
    pub(super) fn take(&mut self, most: u64) -> Option<Run> {
        let run = self.current().filter(|_| most > 0)?;
        let whole = (most / run.length).min(run.repeat - self.block);
        Some(self.take_of(run, whole, most))
    }

    /// Numbers below `limit`, of a sequence that ascends.
    pub(super) fn take_below(&mut self, limit: u64) -> Option<Run> {
        let run = self.current()?;
        let start = run.block_at(self.block);
        let most = limit.saturating_sub(start + self.offset);
        let room = limit.saturating_sub(start);
        let whole = match run.stride {
            _ if room < run.length => 0,
            1.. => (room - run.length) / run.stride as u64 + 1,
            _ => u64::MAX,
        };
        (most > 0).then(|| self.take_of(run, whole.min(run.repeat - self.block), most))
    }

    /// Whole blocks, or else what may be had of one.
    fn take_of(&mut self, run: Run, whole: u64, most: u64) -> Run {
        let start = run.block_at(self.block);
        if self.offset == 0 && whole > 0 {
            self.block += whole;
            self.step(&run);
            let repeat = whole;
            return Run {
                start,
                repeat,
                ..run
            };
        }
        let length = most.min(run.length - self.offset);
        let piece = Run::block(start + self.offset, length);
        self.offset += length;
        if self.offset == run.length {
            (self.block, self.offset) = (self.block + 1, 0);
        }
        self.step(&run);
        piece
    }

    fn step(&mut self, run: &Run) {
        if self.block == run.repeat {
            (self.at, self.block) = (self.at + 1, 0);
        }
    }
}

#[cfg(test)]
mod tests;
