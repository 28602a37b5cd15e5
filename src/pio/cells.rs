//! Entries of a map without order, put into order as far as it is needed.
//!
//! The array is cut into cells of equal length, and one pass over the entries puts each into its cell. That is order
//! enough for a message: whoever gets it finds all of a cell in his processor's cache. Only cells of which the caller
//! needs it are sorted, or all of them if a sample shows that what is sorted has a pattern.

use std::ops::Range;

use super::memory;
use super::sequence::{Builder, Sequence};

/// At most so many cells: each is written to at its own place, and these places should stay in the cache.
const CELLS_BITS: u32 = if cfg!(test) { 3 } else { 10 };

/// So many entries tell whether there is a pattern.
const SAMPLE: usize = 4096;

/// A place in an array, in as few bytes as will do.
pub(super) trait Place: Copy + Ord + Default + Into<u64> {
    fn of(place: u64) -> Self;
    fn list(places: Vec<Self>) -> Sequence;
}

impl Place for u32 {
    fn of(place: u64) -> Self {
        place as u32
    }

    fn list(places: Vec<Self>) -> Sequence {
        Sequence::short(places)
    }
}

impl Place for u64 {
    fn of(place: u64) -> Self {
        place
    }

    fn list(places: Vec<Self>) -> Sequence {
        Sequence::long(places)
    }
}

/// Why entries cannot be put into order.
#[derive(Debug)]
pub(super) enum Refused {
    /// The position of an entry that is not in the array.
    Bounds(usize),
    Memory,
}

/// Entries that are no holes, cell by cell: places in the array, and places of the entries.
struct Cells<G, L> {
    globals: Vec<G>,
    locals: Vec<L>,
    /// Where each cell ends.
    ends: Vec<usize>,
    /// A cell has so many elements of the array, as a power of two.
    shift: u32,
}

/// Places in an array of `total` elements and the places of their entries, without holes. Whoever looks at parts of
/// the array with the order that he has asked for with `sorted` finds each part in one piece.
pub(super) fn arrange(
    entries: &[i64],
    total: u64,
    sorted: impl Fn(Range<u64>) -> bool,
) -> Result<(Sequence, Sequence), Refused> {
    let short = |last: u64| last <= u64::from(u32::MAX);
    match (short(total - 1), short(entries.len() as u64)) {
        (true, true) => Cells::<u32, u32>::of(entries, total)?.into_sequences(sorted),
        (false, true) => Cells::<u64, u32>::of(entries, total)?.into_sequences(sorted),
        _ => Cells::<u64, u64>::of(entries, total)?.into_sequences(sorted),
    }
}

impl<G: Place, L: Place> Cells<G, L> {
    fn of(entries: &[i64], total: u64) -> Result<Self, Refused> {
        let shift = (u64::BITS - (total - 1).leading_zeros()).saturating_sub(CELLS_BITS);
        let cells = ((total - 1) >> shift) as usize + 1;
        let mut ends = vec![0; cells];
        for (position, &entry) in entries.iter().enumerate() {
            if entry != 0 {
                let place = (entry as u64).wrapping_sub(1);
                if place >= total {
                    return Err(Refused::Bounds(position));
                }
                ends[(place >> shift) as usize] += 1;
            }
        }
        let mut start = 0;
        for end in &mut ends {
            (*end, start) = (start, start + *end);
        }
        let (mut globals, mut locals) = (zeros::<G>(start)?, zeros::<L>(start)?);
        for (position, &entry) in entries.iter().enumerate() {
            if entry != 0 {
                let place = (entry as u64).wrapping_sub(1);
                let next = &mut ends[(place >> shift) as usize];
                globals[*next] = G::of(place);
                locals[*next] = L::of(position as u64);
                *next += 1;
            }
        }
        Ok(Self {
            globals,
            locals,
            ends,
            shift,
        })
    }

    fn into_sequences(
        mut self,
        sorted: impl Fn(Range<u64>) -> bool,
    ) -> Result<(Sequence, Sequence), Refused> {
        let mut scratch = Vec::new();
        let mut cell = 0;
        while cell < self.ends.len() && (cell == 0 || self.ends[cell - 1] < SAMPLE) {
            self.sort(cell, &mut scratch)?;
            cell += 1;
        }
        let patterned = self.has_pattern(cell)?;
        for cell in cell..self.ends.len() {
            if patterned || sorted(self.range(cell)) {
                self.sort(cell, &mut scratch)?;
            }
        }
        match patterned {
            true => Ok((found(&self.globals)?, found(&self.locals)?)),
            false => Ok((G::list(self.globals), L::list(self.locals))),
        }
    }

    /// The elements of the array that belong to a cell.
    fn range(&self, cell: usize) -> Range<u64> {
        (cell as u64) << self.shift..(cell as u64 + 1) << self.shift
    }

    /// By places in the array, and entries of the same place by theirs.
    fn sort(&mut self, cell: usize, scratch: &mut Vec<(G, L)>) -> Result<(), Refused> {
        let start = cell.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range = start..self.ends[cell];
        let (globals, locals) = (&mut self.globals[range.clone()], &mut self.locals[range]);
        scratch.clear();
        memory::grow(scratch, globals.len()).map_err(|_| Refused::Memory)?;
        scratch.extend(globals.iter().copied().zip(locals.iter().copied()));
        scratch.sort_unstable();
        let places = globals.iter_mut().zip(locals);
        for ((global, local), pair) in places.zip(&*scratch) {
            (*global, *local) = *pair;
        }
        Ok(())
    }

    /// Whether runs would take less room than a list, as far as the first cells tell.
    fn has_pattern(&self, cells: usize) -> Result<bool, Refused> {
        let known = cells.checked_sub(1).map_or(0, |last| self.ends[last]);
        Ok(found(&self.globals[..known])?.is_runs())
    }
}

/// As runs, where that pays.
fn found<P: Place>(places: &[P]) -> Result<Sequence, Refused> {
    let mut builder = Builder::expecting(places.len());
    places.iter().for_each(|&place| builder.push(place.into()));
    builder.finish().map_err(|_| Refused::Memory)
}

fn zeros<P: Place>(length: usize) -> Result<Vec<P>, Refused> {
    let mut zeros = memory::list(length).map_err(|_| Refused::Memory)?;
    zeros.resize(length, P::default());
    Ok(zeros)
}
