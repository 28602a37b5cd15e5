//! Hyperslabs: the elements of a variable that a call puts or gets.
//!
//! Start, count and stride are checked against the dimensions of the variable before they are expanded into regions, so
//! that a wrong count cannot make a huge list.

use super::registry::OpenFile;
use crate::pio::{Error, Hyperslabs, Kind, Result};
use std::ffi::c_int;
use std::hash::{Hash, Hasher};

const EINVALCOORDS: c_int = -40;
const EEDGE: c_int = -57;
const ESTRIDE: c_int = -58;

/// Kind and lengths of a variable.
pub(in crate::capi) struct VarShape {
    pub(in crate::capi) kind: Kind,
    /// Lengths of its dimensions, the slowest first.
    pub(in crate::capi) lengths: Vec<u64>,
    /// Whether the first dimension is unlimited and the call puts: it grows.
    pub(in crate::capi) grows: bool,
}

impl VarShape {
    /// Asks the file. `memory`, the kind of the caller's data, must be the same on all ranks. Collective.
    pub(in crate::capi) fn of(
        open: &mut OpenFile,
        varid: c_int,
        putting: bool,
        memory: Result<Option<Kind>>,
    ) -> Result<Self> {
        let given = memory.map(|memory| (varid, putting, memory));
        let (kind, lengths, has_records) = open.ask(given, |format, (varid, ..)| {
            let variable = format.var(varid)?;
            let lengths = variable.dims.iter().map(|dim| Ok(format.dim(*dim)?.1));
            let lengths = lengths.collect::<Result<Vec<u64>>>()?;
            let unlimited = format.counts()?.unlimited;
            let has_records = unlimited >= 0 && variable.dims.first() == Some(&unlimited);
            Ok((variable.kind, lengths, has_records))
        })?;
        Ok(Self {
            kind,
            lengths,
            grows: has_records && putting,
        })
    }

    /// One more than the last place in a dimension.
    fn limit(&self, dim: usize) -> u64 {
        match self.grows && dim == 0 {
            true => i64::MAX as u64,
            false => self.lengths[dim],
        }
    }
}

/// Elements of a variable: `count` from `start`, `stride` apart, in each dimension.
pub(in crate::capi) struct Hyperslab {
    start: Vec<u64>,
    count: Vec<u64>,
    stride: Vec<u64>,
    /// The elements as regions, in the order of a dense array.
    pub(in crate::capi) regions: Hyperslabs,
}

/// Without the regions, which follow from the rest.
impl Hash for Hyperslab {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.start, &self.count, &self.stride).hash(state);
    }
}

impl Hyperslab {
    /// One number per dimension; `None` stands for the begin, the whole length, and every element.
    pub(in crate::capi) fn new(
        shape: &VarShape,
        start: Option<&[i64]>,
        count: Option<&[i64]>,
        stride: Option<&[i64]>,
    ) -> Result<Self> {
        let ndims = shape.lengths.len();
        let start = naturals(start, &vec![0; ndims], EINVALCOORDS)?;
        let count = naturals(count, &shape.lengths, EEDGE)?;
        let mut stride = naturals(stride, &vec![1; ndims], ESTRIDE)?;
        if stride.contains(&0) {
            return Err(wrong(ESTRIDE, "a stride is 0".into()));
        }
        for dim in 0..ndims {
            check_dim(shape.limit(dim), start[dim], count[dim], stride[dim], dim)?;
            // Where there is one element the stride means nothing, and may differ from rank to rank.
            if count[dim] <= 1 {
                stride[dim] = 1;
            }
        }
        let regions = strided_regions(&start, &count, &stride)?;
        Ok(Self {
            start,
            count,
            stride,
            regions,
        })
    }

    pub(in crate::capi) fn elements(&self) -> Result<u64> {
        let mut lengths = self.count.iter();
        let product = lengths.try_fold(1_u64, |product, length| product.checked_mul(*length));
        match self.count.contains(&0) {
            true => Ok(0),
            false => product.ok_or(Error::Memory(u64::MAX)),
        }
    }

    /// The length of the caller's data.
    pub(in crate::capi) fn bytes(&self, kind: Kind) -> Result<i64> {
        let bytes = self.elements()?.checked_mul(kind.size() as u64);
        let bytes = bytes.and_then(|bytes| i64::try_from(bytes).ok());
        bytes.ok_or(Error::Memory(u64::MAX))
    }

    /// The count in the fastest dimension; 1 for a scalar.
    pub(in crate::capi) fn row(&self) -> u64 {
        self.count.last().copied().unwrap_or(1)
    }
}

/// The checks of netCDF, in its order.
fn check_dim(limit: u64, start: u64, count: u64, stride: u64, dim: usize) -> Result<()> {
    if start > limit || (start == limit && count > 0) {
        let text = format!("{start} is not in dimension {dim} of length {limit}");
        return Err(wrong(EINVALCOORDS, text));
    }
    let Some(last) = count.checked_sub(1) else {
        return Ok(());
    };
    let last = last.checked_mul(stride).and_then(|l| l.checked_add(start));
    match last.is_some_and(|last| last < limit) {
        true => Ok(()),
        false => {
            let text = format!(
                "{count} elements from {start}, {stride} apart, leave dimension {dim} of length {limit}"
            );
            Err(wrong(EEDGE, text))
        }
    }
}

fn wrong(code: c_int, text: String) -> Error {
    let call = "PIO";
    Error::Format { call, code, text }
}

fn naturals(given: Option<&[i64]>, otherwise: &[u64], code: c_int) -> Result<Vec<u64>> {
    let Some(given) = given else {
        return Ok(otherwise.to_vec());
    };
    let negative = |value: &i64| wrong(code, format!("{value} is negative"));
    let natural = |value: &i64| u64::try_from(*value).map_err(|_| negative(value));
    given.iter().map(natural).collect()
}

/// Hyperslabs in the order of a dense array. All elements are known to be in the variable.
fn strided_regions(start: &[u64], count: &[u64], stride: &[u64]) -> Result<Hyperslabs> {
    if count.contains(&0) {
        return Ok(Hyperslabs::new(start.len()));
    }
    // Dimensions up to the last one with a stride become single elements, the others stay whole.
    let apart = (0..start.len()).rev().find(|at| stride[*at] > 1);
    let apart = apart.map_or(0, |at| at + 1);
    let mut outer = count[..apart].iter();
    let number = outer.try_fold(1_usize, |all, n| all.checked_mul(usize::try_from(*n).ok()?));
    let number = number.ok_or(Error::Memory(u64::MAX))?;
    let mut regions = Hyperslabs::with_room(start.len(), number)?;
    let size: Vec<u64> = (0..start.len())
        .map(|at| if at < apart { 1 } else { count[at] })
        .collect();
    let (mut index, mut from) = (vec![0; apart], start.to_vec());
    for _ in 0..number {
        for at in 0..apart {
            from[at] = start[at] + index[at] * stride[at];
        }
        regions.push(&from, &size);
        // The next index, the last dimension fastest.
        if let Some(at) = (0..apart).rev().find(|at| index[*at] + 1 < count[*at]) {
            index[at] += 1;
            index[at + 1..].fill(0);
        }
    }
    Ok(regions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capi::pio::registry::digest;

    fn shape(lengths: &[u64], grows: bool) -> VarShape {
        VarShape {
            kind: Kind::Int,
            lengths: lengths.to_vec(),
            grows,
        }
    }

    fn regions(start: &[u64], count: &[u64], stride: &[u64]) -> Vec<(Vec<u64>, Vec<u64>)> {
        let regions = strided_regions(start, count, stride).unwrap();
        regions
            .iter()
            .map(|(s, c)| (s.to_vec(), c.to_vec()))
            .collect()
    }

    #[test]
    fn without_a_stride_there_is_one_region() {
        assert_eq!(
            regions(&[1, 2], &[3, 4], &[1, 1]),
            [(vec![1, 2], vec![3, 4])]
        );
        assert_eq!(regions(&[], &[], &[]), [(vec![], vec![])]);
        assert!(regions(&[0, 0], &[3, 0], &[1, 1]).is_empty());
        let one = Hyperslab::new(
            &shape(&[9, 9], false),
            Some(&[1, 2]),
            Some(&[1, 4]),
            Some(&[9, 1]),
        );
        assert_eq!(one.unwrap().regions.len(), 1);
    }

    #[test]
    fn with_a_stride_the_elements_come_in_order() {
        let found = regions(&[1, 0, 5], &[2, 2, 3], &[1, 4, 1]);
        let starts = [[1, 0, 5], [1, 4, 5], [2, 0, 5], [2, 4, 5]];
        assert_eq!(found.len(), 4);
        for ((start, count), wanted) in found.iter().zip(starts) {
            assert_eq!((&start[..], &count[..]), (&wanted[..], &[1, 1, 3][..]));
        }
        let found = regions(&[0], &[3], &[2]);
        assert_eq!(found, [0, 2, 4].map(|at| (vec![at], vec![1])));
    }

    #[test]
    fn what_leaves_the_variable_is_refused_before_it_is_expanded() {
        let refused = |grows: bool, start: i64, count: i64, stride: i64| {
            let shape = shape(&[4], grows);
            let request = Hyperslab::new(&shape, Some(&[start]), Some(&[count]), Some(&[stride]));
            request.err().map(|e| e.code())
        };
        assert_eq!(refused(false, 0, 1, 1), None);
        assert_eq!(refused(false, 1, 2, 2), None);
        assert_eq!(refused(false, 4, 0, 1), None);
        assert_eq!(refused(false, -1, 1, 1), Some(EINVALCOORDS));
        assert_eq!(refused(false, 4, 1, 1), Some(EINVALCOORDS));
        assert_eq!(refused(false, 5, 0, 1), Some(EINVALCOORDS));
        assert_eq!(refused(false, 0, -1, 1), Some(EEDGE));
        assert_eq!(refused(false, 0, 5, 1), Some(EEDGE));
        assert_eq!(refused(false, 0, 3, 2), Some(EEDGE));
        assert_eq!(refused(false, 0, 1 << 40, 2), Some(EEDGE));
        assert_eq!(refused(false, 0, i64::MAX, i64::MAX), Some(EEDGE));
        assert_eq!(refused(false, 0, 1, 0), Some(ESTRIDE));
        assert_eq!(refused(false, 0, 1, -1), Some(ESTRIDE));
        assert_eq!(refused(true, 7, 2, 3), None);
        assert_eq!(refused(true, 1, 2, i64::MAX), Some(EEDGE));
        assert_eq!(
            refused(true, 0, 1 << 60, 2),
            Some(crate::pio::error::ENOMEM)
        );
    }

    #[test]
    fn all_of_a_request_is_compared() {
        let of = |start: i64, count: i64, stride: i64| {
            let request = Hyperslab::new(
                &shape(&[30], false),
                Some(&[start]),
                Some(&[count]),
                Some(&[stride]),
            );
            digest(request.unwrap())
        };
        let one = of(1, 5, 2);
        assert_eq!(one, of(1, 5, 2));
        assert!(![of(2, 5, 2), of(1, 4, 2), of(1, 5, 3)].contains(&one));
        assert_eq!(of(3, 1, 2), of(3, 1, 7));
    }
}
