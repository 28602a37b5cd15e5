//! # Subsets
//!
//! A subset names elements of a member. Offsets count elements; a block goes from its start to its end, both included.

use super::errors::status;
use crate::capi::boundary::{InOut, Out, OutArray};
use crate::capi::fenix_data_subset::{Fenix_Data_subset, release};
use crate::fenix::{Error, Result, Subset};
use std::ffi::c_int;

#[unsafe(no_mangle)]
pub static FENIX_DATA_SUBSET_FULL: Fenix_Data_subset = Fenix_Data_subset::FULL;

#[unsafe(no_mangle)]
pub static FENIX_DATA_SUBSET_EMPTY: Fenix_Data_subset = Fenix_Data_subset::EMPTY;

/// Makes a subset of `num_blocks` blocks: the first from `start_offset` to `end_offset`, each further one `stride`
/// elements on. Free it with Fenix_Data_subset_delete.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_subset_create(
    num_blocks: c_int,
    start_offset: c_int,
    end_offset: c_int,
    stride: c_int,
    subset_specifier: Out<Fenix_Data_subset>,
) -> c_int {
    status(|| {
        let [blocks, start, end, stride] =
            [num_blocks, start_offset, end_offset, stride].map(i64::from);
        hand_out(
            &Subset::strided(blocks, start, end, stride)?,
            subset_specifier,
        )
    })
}

/// Makes a subset of `num_blocks` blocks, each with a start and an end. Free it with Fenix_Data_subset_delete.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_subset_createv(
    num_blocks: c_int,
    array_start_offsets: OutArray<c_int>,
    array_end_offsets: OutArray<c_int>,
    subset_specifier: Out<Fenix_Data_subset>,
) -> c_int {
    status(|| {
        let none = Error::SubsetBlocks(num_blocks.into());
        let count = usize::try_from(num_blocks).map_err(|_| none)?;
        if array_start_offsets.is_null() {
            return Err(Error::SubsetStart(-1));
        }
        if array_end_offsets.is_null() {
            return Err(Error::SubsetEnd { start: 0, end: -1 });
        }
        let offsets = |array: OutArray<c_int>| {
            // SAFETY: the header says that both arrays have `num_blocks` numbers.
            let offsets = unsafe { array.as_array().slice(count) };
            let offsets = offsets.ok_or(Error::SubsetBlocks(num_blocks.into()))?;
            Ok::<Vec<_>, Error>(offsets.iter().map(|offset| i64::from(*offset)).collect())
        };
        let (starts, ends) = (offsets(array_start_offsets)?, offsets(array_end_offsets)?);
        let bounds: Vec<_> = starts.into_iter().zip(ends).collect();
        hand_out(&Subset::blocks(&bounds)?, subset_specifier)
    })
}

/// Gives a subset to C.
pub(super) fn hand_out(subset: &Subset, place: Out<Fenix_Data_subset>) -> Result<()> {
    if place.is_null() {
        return Err(Error::Null("subset_specifier"));
    }
    place.set(Fenix_Data_subset::write(subset).ok_or(Error::Memory(0))?);
    Ok(())
}

/// Frees what a subset holds. Freeing it again does no harm.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_subset_delete(subset_specifier: InOut<Fenix_Data_subset>) -> c_int {
    status(|| release(subset_specifier))
}
