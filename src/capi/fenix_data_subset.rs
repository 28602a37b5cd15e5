//! `fenix_data_subset.h`: the struct by which C names elements, and two functions that programs call by an inner name.

use super::boundary::{InOut, Out, malloc_copy};
use super::fenix::errors::status;
use super::fenix::subsets::{FENIX_DATA_SUBSET_EMPTY, FENIX_DATA_SUBSET_FULL};
use super::{error, guard};
use crate::fenix::{Block, Error, Result, Subset};
use std::ffi::c_int;
use std::ptr::{null_mut, replace};

const EMPTY: c_int = 1;
const FULL: c_int = 2;
const CREATE: c_int = 3;
const CREATEV: c_int = 4;
const UNDEFINED: c_int = -1;

/// As `fenix_data_subset.h` declares it. The arrays have `num_blocks` numbers, which C promises with every subset that it
/// gives, and come from malloc.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct Fenix_Data_subset {
    num_blocks: c_int,
    start_offsets: *mut c_int,
    end_offsets: *mut c_int,
    num_repeats: *mut c_int,
    stride: c_int,
    specifier: c_int,
}

// SAFETY: the two constants have no arrays.
unsafe impl Sync for Fenix_Data_subset {}

impl Fenix_Data_subset {
    const fn without_blocks(specifier: c_int) -> Self {
        Self {
            num_blocks: 0,
            start_offsets: null_mut(),
            end_offsets: null_mut(),
            num_repeats: null_mut(),
            stride: 0,
            specifier,
        }
    }

    pub(in crate::capi) const EMPTY: Self = Self::without_blocks(EMPTY);
    pub(in crate::capi) const FULL: Self = Self::without_blocks(FULL);

    /// The elements that the user's struct names.
    pub(in crate::capi) fn read(&self) -> Result<Subset> {
        match self.specifier {
            EMPTY => Ok(Subset::Empty),
            FULL => Ok(Subset::Full),
            CREATE => Ok(Subset::Strided {
                blocks: self.blocks()?,
                stride: u64::try_from(self.stride)
                    .map_err(|_| Error::SubsetStride(self.stride.into()))?,
            }),
            CREATEV => Ok(Subset::Blocks(self.blocks()?)),
            other => Err(Error::Number {
                what: "the specifier of the subset",
                value: other.into(),
            }),
        }
    }

    fn blocks(&self) -> Result<Vec<Block>> {
        let none = Error::SubsetBlocks(self.num_blocks.into());
        let count = usize::try_from(self.num_blocks).map_err(|_| none)?;
        let arrays = [self.start_offsets, self.end_offsets, self.num_repeats];
        if count > 0 && arrays.iter().any(|array| array.is_null()) {
            return Err(Error::Null("an array of the subset"));
        }
        // SAFETY: the promise of the struct.
        let number = |array: *mut c_int, i| i64::from(unsafe { *array.add(i) });
        let block = |i| checked_block(arrays.map(|array| number(array, i)));
        (0..count).map(block).collect()
    }

    /// A struct with arrays of its own; `None` when memory has run out.
    pub(in crate::capi) fn write(subset: &Subset) -> Option<Self> {
        match subset {
            Subset::Empty => Some(Self::without_blocks(EMPTY)),
            Subset::Full => Some(Self::without_blocks(FULL)),
            Subset::Strided { blocks, stride } => Self::with_blocks(CREATE, blocks, *stride),
            Subset::Blocks(blocks) => Self::with_blocks(CREATEV, blocks, 0),
        }
    }

    fn with_blocks(specifier: c_int, blocks: &[Block], stride: u64) -> Option<Self> {
        let array = |of: fn(&Block) -> u64| {
            let numbers: Vec<c_int> = blocks.iter().map(|block| number(of(block))).collect();
            malloc_copy(&numbers).unwrap_or(null_mut())
        };
        let mut made = Self {
            num_blocks: number(blocks.len() as u64),
            start_offsets: array(|block| block.start),
            end_offsets: array(|block| block.end),
            num_repeats: array(|block| block.repeats),
            stride: number(stride),
            specifier,
        };
        let arrays = [made.start_offsets, made.end_offsets, made.num_repeats];
        if arrays.iter().any(|array| array.is_null()) {
            made.free();
            return None;
        }
        Some(made)
    }

    /// Frees the arrays and leaves an undefined subset.
    pub(in crate::capi) fn free(&mut self) {
        for array in [
            &mut self.start_offsets,
            &mut self.end_offsets,
            &mut self.num_repeats,
        ] {
            // SAFETY: NULL, or from malloc and freed once: nothing else points to it.
            unsafe { libc::free(replace(array, null_mut()).cast()) };
        }
        *self = Self::without_blocks(UNDEFINED);
    }
}

fn checked_block([start, end, repeats]: [i64; 3]) -> Result<Block> {
    Ok(Block {
        start: u64::try_from(start).map_err(|_| Error::SubsetStart(start))?,
        end: u64::try_from(end)
            .ok()
            .filter(|_| end >= start)
            .ok_or(Error::SubsetEnd { start, end })?,
        repeats: u64::try_from(repeats).map_err(|_| Error::SubsetBlocks(repeats))?,
    })
}

/// Numbers of elements came from an `int` of C, so they fit.
fn number(value: u64) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// Frees the arrays of a subset, unless it is one of the two constants.
pub(super) fn release(subset: InOut<Fenix_Data_subset>) -> Result<()> {
    let constants = [
        &raw const FENIX_DATA_SUBSET_FULL,
        &raw const FENIX_DATA_SUBSET_EMPTY,
    ];
    if constants.contains(&subset.as_ptr().cast_const()) {
        return Ok(());
    }
    let mut given = subset.get().ok_or(Error::Null("subset_specifier"))?;
    given.free();
    subset.replace(given);
    Ok(())
}

/// Makes `output` a new subset with the elements of both, to be freed with Fenix_Data_subset_delete. If one of the two is
/// invalid, so is `output`.
#[unsafe(no_mangle)]
pub extern "C" fn __fenix_data_subset_merge(
    first_subset: InOut<Fenix_Data_subset>,
    second_subset: InOut<Fenix_Data_subset>,
    output: Out<Fenix_Data_subset>,
) {
    guard((), || {
        let (Some(first), Some(second), false) =
            (first_subset.get(), second_subset.get(), output.is_null())
        else {
            return error::remember(Error::Null("a subset"));
        };
        let merged = first
            .read()
            .and_then(|first| Ok(first.merge(&second.read()?)));
        let merged = merged.map_err(error::remember).ok();
        let merged = merged.and_then(|subset| Fenix_Data_subset::write(&subset));
        output.set(merged.unwrap_or(Fenix_Data_subset::without_blocks(UNDEFINED)));
    })
}

/// As Fenix_Data_subset_delete.
#[unsafe(no_mangle)]
pub extern "C" fn __fenix_data_subset_free(subset_specifier: InOut<Fenix_Data_subset>) -> c_int {
    status(|| release(subset_specifier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_struct_is_laid_out_as_in_c() {
        assert_eq!(offset_of!(Fenix_Data_subset, start_offsets), 8);
        assert_eq!(offset_of!(Fenix_Data_subset, num_repeats), 24);
        assert_eq!(offset_of!(Fenix_Data_subset, stride), 32);
        assert_eq!(offset_of!(Fenix_Data_subset, specifier), 36);
        assert_eq!(size_of::<Fenix_Data_subset>(), 40);
    }

    #[test]
    fn a_subset_goes_to_c_and_back() {
        let block = |start, end, repeats| Block {
            start,
            end,
            repeats,
        };
        let blocks = vec![block(3, 9, 2), block(0, 0, 0)];
        let subsets = [
            Subset::Empty,
            Subset::Full,
            Subset::Blocks(blocks.clone()),
            Subset::Strided { blocks, stride: 20 },
        ];
        for subset in subsets {
            let mut given = Fenix_Data_subset::write(&subset).unwrap();
            assert_eq!(given.read().unwrap(), subset);
            given.free();
            assert!(given.read().is_err());
            given.free();
        }
    }
}
