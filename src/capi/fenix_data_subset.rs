//! `fenix_data_subset.h`: the struct by which C names elements, and what users call on it by an inner name.

use crate::capi::fenix::groups::{FENIX_DATA_SUBSET_EMPTY, FENIX_DATA_SUBSET_FULL};
use crate::capi::{alloc, error, guard};
use crate::fenix::{Block, Error, Result, Subset};
use std::ffi::c_int;
use std::ptr::{null_mut, replace};

const EMPTY: c_int = 1;
const FULL: c_int = 2;
const CREATE: c_int = 3;
const CREATEV: c_int = 4;
const UNDEFINED: c_int = -1;

/// As `fenix_data_subset.h` declares it; the arrays have `num_blocks` numbers and are freed by `free`.
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

    /// What the user's struct says.
    ///
    /// # Safety
    /// The arrays have `num_blocks` numbers.
    pub(in crate::capi) unsafe fn read(&self) -> Result<Subset> {
        match self.specifier {
            EMPTY => Ok(Subset::Empty),
            FULL => Ok(Subset::Full),
            CREATE => Ok(Subset::Strided {
                // SAFETY: promised by the caller.
                blocks: unsafe { self.blocks() }?,
                stride: u64::try_from(self.stride)
                    .map_err(|_| Error::SubsetStride(self.stride.into()))?,
            }),
            // SAFETY: promised by the caller.
            CREATEV => Ok(Subset::Blocks(unsafe { self.blocks() }?)),
            other => Err(Error::Number {
                what: "the specifier of the subset",
                value: other.into(),
            }),
        }
    }

    unsafe fn blocks(&self) -> Result<Vec<Block>> {
        let none = Error::SubsetBlocks(self.num_blocks.into());
        let count = usize::try_from(self.num_blocks).map_err(|_| none)?;
        let arrays = [self.start_offsets, self.end_offsets, self.num_repeats];
        if count > 0 && arrays.iter().any(|array| array.is_null()) {
            return Err(Error::Null("an array of the subset"));
        }
        // SAFETY: promised by the caller.
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
            alloc::copy(&numbers).unwrap_or(null_mut())
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

    /// Frees the arrays; what is left is no subset any more.
    pub(in crate::capi) fn free(&mut self) {
        for array in [
            &mut self.start_offsets,
            &mut self.end_offsets,
            &mut self.num_repeats,
        ] {
            // SAFETY: the array is NULL or came from malloc, and nobody finds it here again.
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

/// Numbers of elements came from an `int` of C.
fn number(value: u64) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// Frees the arrays of a subset, unless it is one of the two constants.
pub(in crate::capi) unsafe fn release(subset: *mut Fenix_Data_subset) -> Result<()> {
    let constants = [
        &raw const FENIX_DATA_SUBSET_FULL,
        &raw const FENIX_DATA_SUBSET_EMPTY,
    ];
    if subset.is_null() {
        return Err(Error::Null("subset_specifier"));
    }
    if !constants.contains(&subset.cast_const()) {
        // SAFETY: a subset of the caller.
        unsafe { (*subset).free() };
    }
    Ok(())
}

/// Makes `output` a new subset with the elements of both, to be given to Fenix_Data_subset_delete. If one
/// of them is no subset, neither is `output`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __fenix_data_subset_merge(
    first_subset: *mut Fenix_Data_subset,
    second_subset: *mut Fenix_Data_subset,
    output: *mut Fenix_Data_subset,
) {
    guard((), || {
        if first_subset.is_null() || second_subset.is_null() || output.is_null() {
            return error::remember(Error::Null("a subset"));
        }
        // SAFETY: subsets of the caller.
        let merged = unsafe { (*first_subset).read() }.and_then(|first| {
            // SAFETY: subsets of the caller.
            let second = unsafe { (*second_subset).read() }?;
            Ok(first.merge(&second))
        });
        let merged = merged.map_err(error::remember).ok();
        let merged = merged.and_then(|subset| Fenix_Data_subset::write(&subset));
        let undefined = Fenix_Data_subset::without_blocks(UNDEFINED);
        // SAFETY: checked above.
        unsafe { output.write(merged.unwrap_or(undefined)) };
    })
}

/// As Fenix_Data_subset_delete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __fenix_data_subset_free(
    subset_specifier: *mut Fenix_Data_subset,
) -> c_int {
    // SAFETY: arguments of the caller.
    crate::capi::fenix::errors::status(|| unsafe { release(subset_specifier) })
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
            // SAFETY: just made.
            assert_eq!(unsafe { given.read() }.unwrap(), subset);
            given.free();
            // SAFETY: it has no arrays any more.
            assert!(unsafe { given.read() }.is_err());
            given.free();
        }
    }
}
