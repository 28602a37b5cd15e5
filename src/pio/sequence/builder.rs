//! Finds runs in numbers as they are pushed.

use super::super::{Result, alloc};
use super::{Form, Run, Sequence};

/// With fewer numbers in the average run, they are listed one by one.
const WORTHWHILE: u64 = 8;

/// Give up after this many short runs.
const PATIENCE: usize = 64;

/// Numbers at equal distances that are not part of a run yet.
#[derive(Clone, Copy, Debug)]
struct Line {
    start: u64,
    step: i64,
    count: u64,
}

impl Line {
    fn last(&self) -> u64 {
        self.start
            .wrapping_add_signed(self.step * (self.count as i64 - 1))
    }
}

/// Builds a sequence. If memory runs out, [`Builder::finish`] returns the error.
#[derive(Debug)]
pub(in crate::pio) struct Builder {
    line: Option<Line>,
    done: Sequence,
    expected: usize,
    verdict: Result<()>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::expecting(0)
    }
}

impl Builder {
    /// For about `length` numbers: a list of them is allocated once.
    pub(in crate::pio) fn expecting(length: usize) -> Self {
        Self {
            line: None,
            done: Sequence::default(),
            expected: length,
            verdict: Ok(()),
        }
    }

    /// After a failure, frees what was built.
    fn note(&mut self, added: Result<()>) {
        if added.is_err() {
            self.done = Sequence::default();
            self.verdict = added;
        }
    }

    pub(in crate::pio) fn push(&mut self, number: u64) {
        if let Some(line) = &mut self.line {
            let next = line.last().wrapping_add_signed(line.step);
            if number == next && line.count > 1 {
                line.count += 1;
                return;
            }
        }
        self.push_other(number);
    }

    /// A number that does not continue the line.
    fn push_other(&mut self, number: u64) {
        if !matches!(self.done.form, Form::Runs(_)) {
            self.end_line();
            let listed = self.done.list(number, 1);
            return self.note(listed);
        }
        let single = |start| Line {
            start,
            step: 1,
            count: 1,
        };
        self.line = Some(match self.line.take() {
            None => single(number),
            Some(line) if line.count == 1 => Line {
                step: number.wrapping_sub(line.start) as i64,
                count: 2,
                ..line
            },
            // The second number forms a block with this one, which is better than a line with the first.
            Some(line) if line.count == 2 && line.step != 1 && number == line.last() + 1 => {
                self.close(single(line.start));
                Line {
                    start: line.last(),
                    step: 1,
                    count: 2,
                }
            }
            Some(line) => {
                self.close(line);
                single(number)
            }
        });
    }

    /// Consecutive numbers.
    pub(in crate::pio) fn push_block(&mut self, start: u64, length: u64) {
        match length {
            0 => return,
            1 => return self.push(start),
            _ => {}
        }
        if !matches!(self.done.form, Form::Runs(_)) {
            self.end_line();
            let listed = self.done.list(start, length);
            return self.note(listed);
        }
        match &mut self.line {
            Some(line) if (line.step == 1 || line.count == 1) && line.last() + 1 == start => {
                line.step = 1;
                line.count += length;
            }
            _ => {
                self.end_line();
                self.line = Some(Line {
                    start,
                    step: 1,
                    count: length,
                });
            }
        }
    }

    pub(in crate::pio) fn push_run(&mut self, run: Run) {
        if run.repeat == 1 {
            return self.push_block(run.start, run.length);
        }
        self.end_line();
        let added = self.done.add(run, self.expected);
        self.note(added);
    }

    fn end_line(&mut self) {
        if let Some(line) = self.line.take() {
            self.close(line);
        }
    }

    fn close(&mut self, line: Line) {
        let run = match line.step {
            1 => Run::block(line.start, line.count),
            stride => Run {
                start: line.start,
                length: 1,
                stride,
                repeat: line.count,
            },
        };
        let added = self.done.add(run, self.expected);
        self.note(added);
    }

    pub(in crate::pio) fn finish(mut self) -> Result<Sequence> {
        self.end_line();
        self.verdict?;
        match &mut self.done.form {
            Form::Runs(runs) => runs.shrink_to_fit(),
            Form::Short(list) => list.shrink_to_fit(),
            Form::Long(list) => list.shrink_to_fit(),
        }
        Ok(self.done)
    }
}

impl Sequence {
    fn add(&mut self, run: Run, expected: usize) -> Result<()> {
        let Form::Runs(runs) = &mut self.form else {
            let mut starts = (0..run.repeat).map(|index| run.block_at(index));
            return starts.try_for_each(|start| self.list(start, run.length));
        };
        self.length += run.count();
        self.end = self.end.max(run.end());
        match runs.last_mut() {
            Some(last) if last.is_continued_by(&run) => last.extend(&run),
            _ => {
                alloc::grow(runs, 1)?;
                runs.push(run);
            }
        }
        match runs.len() > PATIENCE && (runs.len() as u64) * WORTHWHILE > self.length {
            true => self.give_up_on_runs(expected),
            false => Ok(()),
        }
    }

    fn give_up_on_runs(&mut self, expected: usize) -> Result<()> {
        let runs = std::mem::take(self);
        self.form = match runs.end <= 1 << 32 {
            true => Form::Short(alloc::list(expected)?),
            false => Form::Long(alloc::list(expected)?),
        };
        runs.blocks()
            .try_for_each(|(start, length)| self.list(start, length))
    }

    fn list(&mut self, start: u64, length: u64) -> Result<()> {
        self.length += length;
        self.end = self.end.max(start + length);
        if let Form::Short(list) = &mut self.form {
            if start + length <= 1 << 32 {
                alloc::grow(list, length as usize)?;
                match length {
                    1 => list.push(start as u32),
                    _ => list.extend((start..start + length).map(|number| number as u32)),
                }
                return Ok(());
            }
            let mut long = alloc::list(list.len() + length as usize)?;
            long.extend(list.iter().map(|&number| u64::from(number)));
            self.form = Form::Long(long);
        }
        if let Form::Long(list) = &mut self.form {
            alloc::grow(list, length as usize)?;
            list.extend(start..start + length);
        }
        Ok(())
    }
}

impl Run {
    /// Whether another run continues this one.
    fn is_continued_by(&self, next: &Run) -> bool {
        if self.length != next.length {
            return false;
        }
        let stride = next.start.wrapping_sub(self.start) as i64;
        match (self.repeat, next.repeat) {
            (1, 1) => true,
            (1, _) => stride == next.stride,
            (_, 1) => next.start == self.block_at(self.repeat),
            _ => next.stride == self.stride && next.start == self.block_at(self.repeat),
        }
    }

    fn extend(&mut self, next: &Run) {
        if self.repeat == 1 {
            self.stride = next.start.wrapping_sub(self.start) as i64;
        }
        self.repeat += next.repeat;
    }
}
