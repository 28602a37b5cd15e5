//! The box rearranger: which I/O task holds which element.
//!
//! Unless the user gives each task a region, the array is cut into contiguous blocks of the same size, to
//! within one element, or one row where rows are short against a block and so cost no balance. So the task of
//! an element follows by division. UserBlocks regions are searched dimension by dimension.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::pio::map::Map;
use crate::pio::sequence::{Builder, Run, Sequence};
use crate::pio::{DecompSpec, Error, Hyperslabs, Result};

/// The elements that go from one rank to one task.
#[derive(Debug)]
pub(super) struct TaskShare {
    pub(super) task: usize,
    /// Their places in the rank's array.
    pub(super) locals: Sequence,
    /// Their places in the task's buffer.
    pub(super) places: Sequence,
}

pub(super) enum Blocks {
    Even(EvenBlocks),
    User(UserBlocks),
}

impl Blocks {
    /// Elements of a task.
    pub(super) fn length(&self, task: usize) -> u64 {
        match self {
            Blocks::Even(even) => even.start(task + 1) - even.start(task),
            Blocks::User(given) => given.regions.elements_at(task),
        }
    }

    pub(super) fn regions(&self, task: usize) -> Hyperslabs {
        match self {
            Blocks::Even(even) => even.regions(task),
            Blocks::User(given) => given.region(task),
        }
    }

    /// Whether [`Blocks::shares`] needs the elements of this part of the array in ascending order.
    pub(super) fn divide(&self, part: Range<u64>) -> bool {
        match self {
            Blocks::Even(even) => {
                let last = part.end.min(even.total) - 1;
                even.task_of(part.start) != even.task_of(last)
            }
            Blocks::User(_) => true,
        }
    }

    /// The place in the global array of an element of a task.
    pub(super) fn global(&self, task: usize, place: u64) -> u64 {
        match self {
            Blocks::Even(even) => even.start(task) + place,
            Blocks::User(given) => given.global(task, place),
        }
    }

    /// The share of each task in a rank's elements, in ascending order of tasks; and the elements in the order in which
    /// they are sent. The map ascends, except within parts of the array that the tasks do not divide.
    pub(super) fn shares(&self, map: Map) -> Result<(Vec<TaskShare>, Sequence)> {
        match self {
            Blocks::Even(even) => even.shares(map),
            Blocks::User(given) => given.shares(map),
        }
    }
}

/// Contiguous blocks of equally many units, to within one; a unit is an element or a row.
pub(super) struct EvenBlocks {
    dims: Vec<u64>,
    total: u64,
    unit: u64,
    tasks: usize,
}

/// Blocks of at least this many rows are cut between rows.
const MANY_ROWS: u64 = 64;

impl EvenBlocks {
    /// Uses as many of `tasks` as get at least `block_size` bytes each. The dimensions have been checked.
    pub(super) fn new(spec: &DecompSpec, tasks: usize) -> Self {
        let total: u64 = spec.dims.iter().product();
        let bytes = total.saturating_mul(spec.kind.size() as u64);
        let used = (bytes / spec.block_size.max(1)).clamp(1, tasks as u64);
        let rows_pay = spec.dims[0] / used >= MANY_ROWS;
        Self {
            dims: spec.dims.clone(),
            total,
            unit: match rows_pay {
                true => spec.dims[1..].iter().product(),
                false => 1,
            },
            tasks: used as usize,
        }
    }

    fn units(&self) -> (u64, u64) {
        let (units, tasks) = (self.total / self.unit, self.tasks as u64);
        (units / tasks, units % tasks)
    }

    fn start(&self, task: usize) -> u64 {
        let (each, more) = self.units();
        let task = task.min(self.tasks) as u64;
        (task * each + task.min(more)) * self.unit
    }

    fn task_of(&self, element: u64) -> usize {
        let (each, more) = self.units();
        let unit = element / self.unit;
        let longer = more * (each + 1);
        let task = if unit < longer {
            unit / (each + 1)
        } else {
            more + (unit - longer) / each
        };
        task as usize
    }

    fn regions(&self, task: usize) -> Hyperslabs {
        let mut regions = Hyperslabs::new(self.dims.len());
        regions.push_range(&self.dims, self.start(task), self.start(task + 1));
        regions
    }

    fn shares(&self, map: Map) -> Result<(Vec<TaskShare>, Sequence)> {
        let found = map.globals.cut(|first| {
            let task = self.task_of(first);
            (task, self.start(task)..self.start(task + 1))
        })?;
        let lengths: Vec<u64> = found.iter().map(|(_, places)| places.len()).collect();
        let locals = map.locals.split(&lengths)?;
        let shares = found.into_iter().zip(locals);
        let share = |((task, places), locals)| TaskShare {
            task,
            locals,
            places,
        };
        Ok((shares.map(share).collect(), map.globals))
    }
}

/// A region for each task, given by the user.
pub(super) struct UserBlocks {
    dims: Vec<u64>,
    /// One for each task; a task without elements has an empty one.
    regions: Hyperslabs,
    index: RegionIndex,
}

impl UserBlocks {
    pub(super) fn new(dims: &[u64], regions: Hyperslabs) -> Result<Self> {
        for (start, count) in regions.iter() {
            let ends = start
                .iter()
                .zip(count)
                .map(|(start, count)| start.checked_add(*count));
            if !ends
                .zip(dims)
                .all(|(end, length)| end.is_some_and(|end| end <= *length))
            {
                return Err(Error::Invalid(format!(
                    "the region from {start:?} of {count:?} elements leaves the array of {dims:?}"
                )));
            }
        }
        let with_elements = (0..regions.len()).filter(|task| regions.elements_at(*task) > 0);
        let index = RegionIndex::new(&regions, with_elements.collect(), 0)?;
        Ok(Self {
            dims: dims.to_vec(),
            regions,
            index,
        })
    }

    fn region(&self, task: usize) -> Hyperslabs {
        match self.regions.elements_at(task) {
            0 => Hyperslabs::new(self.dims.len()),
            _ => self.regions.one(task),
        }
    }

    fn global(&self, task: usize, place: u64) -> u64 {
        let (start, count) = self.regions.at(task);
        let inside = coordinates(count, place);
        let whole: Vec<u64> = start.iter().zip(&inside).map(|(s, i)| s + i).collect();
        place_in(&self.dims, &whole)
    }

    /// The task of an element, its place there, and how many elements of its row follow.
    fn home(&self, element: u64) -> Result<(usize, u64, u64)> {
        let at = coordinates(&self.dims, element);
        let task = self.index.find(&self.regions, &at);
        let task = task.ok_or(Error::Homeless(element))?;
        let (start, count) = self.regions.at(task);
        let inside: Vec<u64> = at.iter().zip(start).map(|(at, start)| at - start).collect();
        let row = inside.last().zip(count.last());
        let left = row.map_or(1, |(inside, count)| count - inside);
        Ok((task, place_in(count, &inside), left))
    }

    fn shares(&self, map: Map) -> Result<(Vec<TaskShare>, Sequence)> {
        let mut parts = BTreeMap::<usize, ShareBuilder>::new();
        let (mut globals, mut locals) = (map.globals.cursor(), map.locals.cursor());
        while let Some(global) = globals.peek() {
            let (task, place, left) = self.home(global)?;
            // A run of ascending numbers below the end of a row lies in that row.
            let Some(run) = globals.take_below(global + left) else {
                break;
            };
            let part = parts.entry(task).or_default();
            part.globals.push_run(run);
            let start = place + (run.start - global);
            part.places.push_run(Run { start, ..run });
            let mut missing = run.count();
            while let Some(run) = locals.take(missing) {
                missing -= run.count();
                part.locals.push_run(run);
            }
        }
        let mut order = Builder::default();
        let share = |(task, part): (usize, ShareBuilder)| {
            let globals = part.globals.finish()?;
            globals.runs().for_each(|run| order.push_run(run));
            Ok(TaskShare {
                task,
                locals: part.locals.finish()?,
                places: part.places.finish()?,
            })
        };
        let shares = parts.into_iter().map(share).collect::<Result<_>>()?;
        Ok((shares, order.finish()?))
    }
}

/// A share, as its elements are found.
#[derive(Default)]
struct ShareBuilder {
    globals: Builder,
    locals: Builder,
    places: Builder,
}

fn coordinates(dims: &[u64], mut place: u64) -> Vec<u64> {
    let mut at = vec![0; dims.len()];
    for (at, length) in at.iter_mut().zip(dims).rev() {
        (*at, place) = (place % length, place / length);
    }
    at
}

fn place_in(dims: &[u64], at: &[u64]) -> u64 {
    dims.iter()
        .zip(at)
        .fold(0, |place, (length, at)| place * length + at)
}

/// Finds the region of an element. Hyperslabs with the same extent in a dimension are told apart by the next dimension;
/// those that overlap only in part are tried one by one.
struct RegionIndex {
    dimension: usize,
    /// First coordinate, end, and the regions there; ascending and disjoint.
    stretches: Vec<(u64, u64, Candidates)>,
}

enum Candidates {
    Deeper(RegionIndex),
    OneOf(Vec<usize>),
}

impl RegionIndex {
    fn new(regions: &Hyperslabs, mut tasks: Vec<usize>, dimension: usize) -> Result<Self> {
        let extent = |task: usize| {
            let (start, count) = regions.at(task);
            (start[dimension], start[dimension] + count[dimension])
        };
        tasks.sort_by_key(|task| extent(*task));
        let mut stretches: Vec<(u64, u64, Vec<usize>)> = Vec::new();
        for task in tasks {
            let (start, end) = extent(task);
            match stretches.last_mut() {
                Some((_, last, tasks)) if start < *last => {
                    *last = end.max(*last);
                    tasks.push(task);
                }
                _ => stretches.push((start, end, vec![task])),
            }
        }
        let found = |(start, end, tasks): (u64, u64, Vec<usize>)| {
            let alike = tasks.iter().all(|task| extent(*task) == (start, end));
            let deeper = dimension + 1 < regions.dimensions();
            let found = if alike && deeper && tasks.len() > 1 {
                Candidates::Deeper(RegionIndex::new(regions, tasks, dimension + 1)?)
            } else {
                check_disjoint(regions, &tasks)?;
                Candidates::OneOf(tasks)
            };
            Ok((start, end, found))
        };
        Ok(Self {
            dimension,
            stretches: stretches.into_iter().map(found).collect::<Result<_>>()?,
        })
    }

    fn find(&self, regions: &Hyperslabs, at: &[u64]) -> Option<usize> {
        let coordinate = at[self.dimension];
        let next = self
            .stretches
            .partition_point(|(start, ..)| *start <= coordinate);
        let (_, end, found) = self.stretches.get(next.checked_sub(1)?)?;
        match found {
            _ if coordinate >= *end => None,
            Candidates::Deeper(index) => index.find(regions, at),
            Candidates::OneOf(tasks) => tasks.iter().copied().find(|task| {
                let (start, count) = regions.at(*task);
                let extents = start.iter().zip(count);
                extents
                    .zip(at)
                    .all(|((start, count), at)| (*start..start + count).contains(at))
            }),
        }
    }
}

fn check_disjoint(regions: &Hyperslabs, tasks: &[usize]) -> Result<()> {
    let overlap = |a: usize, b: usize| {
        let ((a, na), (b, nb)) = (regions.at(a), regions.at(b));
        let extents = a.iter().zip(na).zip(b.iter().zip(nb));
        extents
            .into_iter()
            .all(|((a, na), (b, nb))| *a < b + nb && *b < a + na)
    };
    for (at, &a) in tasks.iter().enumerate() {
        if let Some(&b) = tasks[at + 1..].iter().find(|b| overlap(a, **b)) {
            return Err(Error::Overlap(a, b));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
