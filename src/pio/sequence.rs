//! Sequences of numbers, such as the places of a rank's elements, compressed to runs if they are regular.
//!
//! A run is a block of consecutive numbers, repeated at a stride: the rows of a tile, every fourth element, or a whole
//! block are one run each. Irregular numbers are listed one by one, in 4 bytes each if they are small. [`Builder`] finds
//! the runs as numbers are pushed, and falls back to a list if runs do not pay.

use std::ops::Range;

use super::{Result, alloc};
pub(super) use builder::Builder;

mod builder;
mod bytes;

/// `repeat` blocks of `length` consecutive numbers, whose starts are `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) stride: i64,
    pub(super) repeat: u64,
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

    /// The start of a block. Does not check for overflow: the numbers of a run are below 2^63.
    pub(super) fn block_at(&self, index: u64) -> u64 {
        let offset = self.stride.wrapping_mul(index as i64);
        self.start.wrapping_add_signed(offset)
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

/// Functions that allocate one may fail.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sequence {
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
    pub(super) fn block(start: u64, length: u64) -> Self {
        match length {
            0 => Self::default(),
            length => Self::of(Form::Runs(vec![Run::block(start, length)])),
        }
    }

    pub(super) fn copied(&self) -> Result<Self> {
        let form = match &self.form {
            Form::Runs(runs) => Form::Runs(alloc::copy(runs)?),
            Form::Short(list) => Form::Short(alloc::copy(list)?),
            Form::Long(list) => Form::Long(alloc::copy(list)?),
        };
        Ok(Self { form, ..*self })
    }

    /// A list of irregular numbers.
    pub(super) fn short(list: Vec<u32>) -> Self {
        Self::of(Form::Short(list))
    }

    pub(super) fn long(list: Vec<u64>) -> Self {
        Self::of(Form::Long(list))
    }

    pub(super) fn is_runs(&self) -> bool {
        matches!(self.form, Form::Runs(_))
    }

    /// The number of numbers.
    pub(super) fn len(&self) -> u64 {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// One more than the greatest number.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The start, if the numbers are consecutive.
    pub(super) fn as_block(&self) -> Option<u64> {
        match &self.form {
            Form::Runs(runs) => match runs.as_slice() {
                [run] if run.repeat == 1 => Some(run.start),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the numbers are known to ascend; `false` for lists.
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
    pub(super) fn bytes(&self) -> usize {
        match &self.form {
            Form::Runs(runs) => runs.capacity() * size_of::<Run>(),
            Form::Short(list) => list.capacity() * 4,
            Form::Long(list) => list.capacity() * 8,
        }
    }

    /// The number of blocks of consecutive numbers, approximately.
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
    pub(super) fn blocks(&self) -> BlockIter<'_> {
        BlockIter {
            form: &self.form,
            at: 0,
            repeated: 0,
        }
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.blocks()
            .flat_map(|(start, length)| start..start + length)
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let mut cursor = self.cursor();
        std::iter::from_fn(move || cursor.take(u64::MAX))
    }

    pub(super) fn cursor(&self) -> RunCursor<'_> {
        RunCursor {
            form: &self.form,
            at: 0,
            block: 0,
            offset: 0,
        }
    }

    /// Splits into parts of the given lengths, which add up to that of this.
    pub(super) fn split(self, lengths: &[u64]) -> Result<Vec<Self>> {
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

    /// A part of a list, less `base`.
    fn list_part(&self, range: Range<usize>, base: u64) -> Result<Self> {
        let form = match &self.form {
            Form::Short(list) => {
                let mut part = alloc::list(range.len())?;
                part.extend(list[range].iter().map(|&n| n - base as u32));
                Form::Short(part)
            }
            Form::Long(list) => {
                let mut part = alloc::list(range.len())?;
                part.extend(list[range].iter().map(|n| n - base));
                Form::Long(part)
            }
            Form::Runs(_) => Form::Runs(Vec::new()),
        };
        Ok(Self::of(form))
    }

    /// Splits an ascending sequence into parts: for the lowest number of a part, `part_of` gives the range of numbers
    /// that belong to it, and a label. Numbers of a part are relative to the start of its range.
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

/// The parts of a list; shrinks it on the way, so that parts and list do not exist twice.
fn split_list<T: Copy>(
    mut list: Vec<T>,
    lengths: &[u64],
    sequence: impl Fn(Vec<T>) -> Sequence,
) -> Result<Vec<Sequence>> {
    let mut parts: Vec<Sequence> = Vec::with_capacity(lengths.len());
    for &length in lengths.iter().skip(1).rev() {
        let end = list.len() - length as usize;
        parts.push(sequence(alloc::copy(&list[end..])?));
        list.truncate(end);
        list.shrink_to_fit();
    }
    parts.push(sequence(list));
    parts.reverse();
    Ok(parts)
}

/// Iterates over blocks of consecutive numbers.
pub(super) struct BlockIter<'a> {
    form: &'a Form,
    at: usize,
    repeated: u64,
}

impl BlockIter<'_> {
    /// Passes over blocks of the current run, at most to its end.
    pub(super) fn skip_blocks(&mut self, blocks: u64) {
        let Form::Runs(runs) = self.form else {
            return;
        };
        self.repeated += blocks;
        if runs
            .get(self.at)
            .is_none_or(|run| self.repeated >= run.repeat)
        {
            (self.at, self.repeated) = (self.at + 1, 0);
        }
    }
}

impl Iterator for BlockIter<'_> {
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

/// A part of a list.
pub(super) enum Numbers<'a> {
    Short(&'a [u32]),
    Long(&'a [u64]),
}

/// A position in a sequence; takes runs from there, as long as possible.
pub(super) struct RunCursor<'a> {
    form: &'a Form,
    at: usize,
    /// Within the current run: blocks taken, and numbers taken of the next block.
    block: u64,
    offset: u64,
}

impl RunCursor<'_> {
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

    /// The number of consecutive numbers from the next on, within its block.
    pub(super) fn ahead(&self) -> u64 {
        self.current().map_or(0, |run| run.length - self.offset)
    }

    /// Skips `count` numbers.
    pub(super) fn skip(&mut self, mut count: u64) {
        if self.list(count).is_some() {
            return;
        }
        while let Some(run) = self.take(count) {
            count -= run.count();
        }
    }

    /// Takes the next `count` numbers, if they are listed one by one; there are as many.
    pub(super) fn list(&mut self, count: u64) -> Option<Numbers<'_>> {
        let range = self.at..self.at + count as usize;
        let list = match self.form {
            Form::Runs(_) => return None,
            Form::Short(list) => Numbers::Short(&list[range.clone()]),
            Form::Long(list) => Numbers::Long(&list[range.clone()]),
        };
        self.at = range.end;
        Some(list)
    }

    /// Takes at most `most` numbers.
    pub(super) fn take(&mut self, most: u64) -> Option<Run> {
        let run = self.current().filter(|_| most > 0)?;
        let left = run.repeat - self.block;
        // Usually all of the run, which needs no division.
        let whole = match most >= run.count() {
            true => left,
            false => (most / run.length).min(left),
        };
        Some(self.take_of(run, whole, most))
    }

    /// Takes numbers below `limit`, of a sequence that ascends.
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

    /// Takes `whole` blocks, or up to `most` numbers of one.
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
