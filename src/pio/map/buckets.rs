//! Sorts an unordered map as far as needed, with a bucket sort.
//!
//! The array is cut into buckets of equal length, and one pass over the entries puts each into its bucket. That is order
//! enough for a message: its receiver finds all of a bucket in the processor's cache. Buckets are sorted only if the
//! caller needs it, or if a sample shows that the sorted entries are regular.

use std::ops::Range;

use crate::pio::alloc;
use crate::pio::sequence::{Builder, Sequence};

/// At most 2^10 buckets: all of them are written to in turn, and their ends should stay in the cache.
const CELLS_BITS: u32 = if cfg!(test) { 3 } else { 10 };

/// Entries that are sorted to see whether they are regular.
const SAMPLE: usize = 4096;

/// An offset in an array, in 4 bytes if that is enough.
pub(super) trait Offset: Copy + Ord + Default + Into<u64> {
    fn of(place: u64) -> Self;
    fn list(places: Vec<Self>) -> Sequence;
}

impl Offset for u32 {
    fn of(place: u64) -> Self {
        place as u32
    }

    fn list(places: Vec<Self>) -> Sequence {
        Sequence::short(places)
    }
}

impl Offset for u64 {
    fn of(place: u64) -> Self {
        place
    }

    fn list(places: Vec<Self>) -> Sequence {
        Sequence::long(places)
    }
}

/// Why entries cannot be sorted.
#[derive(Debug)]
pub(super) enum SortError {
    /// The position of an entry that is not in the array.
    Bounds(usize),
    Memory,
}

/// Entries without holes, bucket by bucket: offsets in the global array, and in the map.
struct Buckets<G, L> {
    globals: Vec<G>,
    locals: Vec<L>,
    /// Where each bucket ends.
    ends: Vec<usize>,
    /// A bucket covers 2^shift elements of the array.
    shift: u32,
}

/// Offsets in an array of `total` elements and the positions of their entries, without holes, sorted at least within the
/// parts of the array for which `sorted` holds.
pub(super) fn arrange(
    entries: &[i64],
    total: u64,
    sorted: impl Fn(Range<u64>) -> bool,
) -> Result<(Sequence, Sequence), SortError> {
    let short = |last: u64| last <= u64::from(u32::MAX);
    match (short(total - 1), short(entries.len() as u64)) {
        (true, true) => Buckets::<u32, u32>::of(entries, total)?.into_sequences(sorted),
        (false, true) => Buckets::<u64, u32>::of(entries, total)?.into_sequences(sorted),
        _ => Buckets::<u64, u64>::of(entries, total)?.into_sequences(sorted),
    }
}

impl<G: Offset, L: Offset> Buckets<G, L> {
    fn of(entries: &[i64], total: u64) -> Result<Self, SortError> {
        let shift = (u64::BITS - (total - 1).leading_zeros()).saturating_sub(CELLS_BITS);
        let buckets = ((total - 1) >> shift) as usize + 1;
        let mut ends = vec![0; buckets];
        for (position, &entry) in entries.iter().enumerate() {
            if entry != 0 {
                let place = (entry as u64).wrapping_sub(1);
                if place >= total {
                    return Err(SortError::Bounds(position));
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
    ) -> Result<(Sequence, Sequence), SortError> {
        let mut scratch = Vec::new();
        let mut bucket = 0;
        while bucket < self.ends.len() && (bucket == 0 || self.ends[bucket - 1] < SAMPLE) {
            self.sort(bucket, &mut scratch)?;
            bucket += 1;
        }
        let regular = self.is_regular(bucket)?;
        for bucket in bucket..self.ends.len() {
            if regular || sorted(self.range(bucket)) {
                self.sort(bucket, &mut scratch)?;
            }
        }
        match regular {
            true => Ok((compress(&self.globals)?, compress(&self.locals)?)),
            false => Ok((G::list(self.globals), L::list(self.locals))),
        }
    }

    /// The elements of the array that belong to a bucket.
    fn range(&self, bucket: usize) -> Range<u64> {
        (bucket as u64) << self.shift..(bucket as u64 + 1) << self.shift
    }

    /// By offset in the array, then by position in the map.
    fn sort(&mut self, bucket: usize, scratch: &mut Vec<(G, L)>) -> Result<(), SortError> {
        let start = bucket.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range = start..self.ends[bucket];
        let (globals, locals) = (&mut self.globals[range.clone()], &mut self.locals[range]);
        scratch.clear();
        alloc::grow(scratch, globals.len()).map_err(|_| SortError::Memory)?;
        scratch.extend(globals.iter().copied().zip(locals.iter().copied()));
        scratch.sort_unstable();
        let places = globals.iter_mut().zip(locals);
        for ((global, local), pair) in places.zip(&*scratch) {
            (*global, *local) = *pair;
        }
        Ok(())
    }

    /// Whether runs would take less memory than a list, judged by the first buckets.
    fn is_regular(&self, buckets: usize) -> Result<bool, SortError> {
        let known = buckets.checked_sub(1).map_or(0, |last| self.ends[last]);
        Ok(compress(&self.globals[..known])?.is_runs())
    }
}

/// As runs, if that pays.
fn compress<P: Offset>(places: &[P]) -> Result<Sequence, SortError> {
    let mut builder = Builder::expecting(places.len());
    places.iter().for_each(|&place| builder.push(place.into()));
    builder.finish().map_err(|_| SortError::Memory)
}

fn zeros<P: Offset>(length: usize) -> Result<Vec<P>, SortError> {
    let mut zeros = alloc::list(length).map_err(|_| SortError::Memory)?;
    zeros.resize(length, P::default());
    Ok(zeros)
}
