//! Fits the array of a decomposition into a variable: all of it, one record, or several.

use super::super::file::VarInfo;
use super::super::{Error, Hyperslabs, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Records {
    /// The variable has the dimensions of the decomposition, none of them unlimited.
    None,
    /// It has one more dimension, in which the array takes this index.
    One(u64),
    /// It has as many dimensions, and the array begins at this record.
    From(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fit {
    record: Records,
    /// Leading dimensions of length 1 that only the decomposition has.
    dropped: usize,
    /// Dimensions of the variable.
    dimensions: usize,
}

impl Fit {
    /// A negative frame means that none was set.
    pub(super) fn new(var: i32, variable: &VarInfo, dims: &[u64], frame: i32) -> Result<Self> {
        let file = &variable.dims;
        let records = usize::from(variable.records);
        let first = u64::try_from(frame).unwrap_or(0);
        let record = match innermost(dims, file.len()) {
            Some(own) if own[records..] == file[records..] => match variable.records {
                true => Records::From(first),
                false => Records::None,
            },
            _ => {
                let one_record = innermost(dims, file.len().wrapping_sub(1));
                if file.is_empty() || one_record != Some(&file[1..]) {
                    return Err(mismatch(var, file, dims));
                }
                if frame < 0 || (!variable.records && first >= file[0]) {
                    let frame = frame.into();
                    return Err(Error::Frame { var, frame });
                }
                Records::One(first)
            }
        };
        let used = file.len() - usize::from(matches!(record, Records::One(_)));
        Ok(Self {
            record,
            dropped: dims.len() - used,
            dimensions: file.len(),
        })
    }

    /// Whether arrays of one decomposition overlap only if they have the same fit.
    pub(super) fn is_one_record(&self) -> bool {
        matches!(self.record, Records::One(_))
    }

    /// The regions of the decomposition as regions of the variable; `None` if they are the same.
    pub(super) fn place(&self, regions: &Hyperslabs) -> Result<Option<Hyperslabs>> {
        if regions.is_empty() {
            return Ok(Some(Hyperslabs::new(self.dimensions)));
        }
        let (prefix, shift) = match self.record {
            Records::None | Records::From(0) if self.dropped == 0 => return Ok(None),
            Records::None => (None, 0),
            Records::From(records) => (None, records),
            Records::One(record) => (Some((record, 1)), 0),
        };
        let mut placed = Hyperslabs::with_room(self.dimensions, regions.len())?;
        let (mut start, mut count) = (Vec::new(), Vec::new());
        for (from, number) in regions.iter() {
            start.clear();
            count.clear();
            start.extend(prefix.map(|prefix| prefix.0));
            count.extend(prefix.map(|prefix| prefix.1));
            start.extend_from_slice(&from[self.dropped..]);
            count.extend_from_slice(&number[self.dropped..]);
            start.iter_mut().take(1).for_each(|first| *first += shift);
            placed.push(&start, &count);
        }
        Ok(Some(placed))
    }
}

/// The last dimensions, if those before have length 1.
fn innermost(dims: &[u64], number: usize) -> Option<&[u64]> {
    let (outer, inner) = dims.split_at(dims.len().checked_sub(number)?);
    outer.iter().all(|length| *length == 1).then_some(inner)
}

fn mismatch(var: i32, file: &[u64], decomp: &[u64]) -> Error {
    Error::Shape {
        var,
        file: file.to_vec(),
        decomp: decomp.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Kind;
    use super::*;

    /// Where the region at `start` goes; an unlimited dimension is 0.
    fn placed(file: &[u64], decomp: &[u64], frame: i32, start: &[u64]) -> Result<Vec<u64>> {
        let variable = VarInfo {
            kind: Kind::Int,
            dims: file.to_vec(),
            records: file.first() == Some(&0),
            filled: false,
            fill: vec![0; 4],
        };
        let fit = Fit::new(3, &variable, decomp, frame)?;
        let mut regions = Hyperslabs::new(start.len());
        regions.push(start, &vec![1; start.len()]);
        let none = fit.place(&Hyperslabs::default())?.unwrap();
        assert_eq!((none.len(), none.dimensions()), (0, file.len()));
        let placed = fit.place(&regions)?.unwrap_or(regions);
        assert_eq!(placed.dimensions(), file.len());
        let (start, count) = placed.at(0);
        assert_eq!(count, vec![1; file.len()]);
        Ok(start.to_vec())
    }

    #[test]
    fn an_array_is_the_variable() {
        assert_eq!(placed(&[4, 5], &[4, 5], -1, &[2, 3]).unwrap(), [2, 3]);
        assert_eq!(placed(&[4, 5], &[4, 5], 7, &[2, 3]).unwrap(), [2, 3]);
    }

    #[test]
    fn an_array_is_a_record() {
        assert_eq!(placed(&[0, 5], &[5], 7, &[3]).unwrap(), [7, 3]);
        assert_eq!(placed(&[9, 5], &[5], 8, &[3]).unwrap(), [8, 3]);
        assert_eq!(placed(&[9, 5], &[1, 5], 8, &[0, 3]).unwrap(), [8, 3]);
    }

    #[test]
    fn an_array_is_many_records() {
        assert_eq!(placed(&[0, 5], &[4, 5], -1, &[2, 3]).unwrap(), [2, 3]);
        assert_eq!(placed(&[0, 5], &[4, 5], 6, &[2, 3]).unwrap(), [8, 3]);
        assert_eq!(placed(&[0], &[4], 1, &[3]).unwrap(), [4]);
    }

    #[test]
    fn outer_dimensions_of_one_do_not_matter() {
        assert_eq!(placed(&[5], &[1, 1, 5], 0, &[0, 0, 3]).unwrap(), [3]);
        assert_eq!(placed(&[0, 5], &[1, 1, 5], 2, &[0, 0, 3]).unwrap(), [2, 3]);
        assert!(placed(&[], &[1], 0, &[0]).unwrap().is_empty());
    }

    #[test]
    fn other_dimensions_do_not_fit() {
        let all: [(&[u64], &[u64]); 6] = [
            (&[5], &[4]),
            (&[4, 5], &[20]),
            (&[5], &[2, 5]),
            (&[2, 0, 5], &[5]),
            (&[0, 5], &[4]),
            (&[], &[5]),
        ];
        for (file, decomp) in all {
            let refused = placed(file, decomp, 0, &vec![0; decomp.len()]);
            assert!(matches!(refused, Err(Error::Shape { var: 3, .. })));
        }
    }

    #[test]
    fn a_record_must_be_chosen_and_be_there() {
        let none = placed(&[0, 5], &[5], -1, &[0]);
        assert!(matches!(none, Err(Error::Frame { frame: -1, .. })));
        let beyond = placed(&[4, 5], &[5], 4, &[0]);
        assert!(matches!(beyond, Err(Error::Frame { frame: 4, .. })));
    }
}
