//! Writing and reading of distributed arrays.

use std::rc::Rc;

use super::{Decomp, File, Result};
use crate::comm::Comm;

/// Takes over this rank's part of one array; it is written when the buffer is full, at the next sync or
/// close. `fill` is one element for places that no rank holds. Collective.
pub fn write<C: Comm>(
    _file: &mut File<C>,
    _var: i32,
    _decomp: &Rc<Decomp>,
    _array: &[u8],
    _fill: Option<&[u8]>,
) -> Result<()> {
    todo!()
}

/// As [`write`] for several variables of one decomposition, whose parts follow each other in `arrays`.
/// `flush`: have them in the file on return. Collective.
pub fn write_multi<C: Comm>(
    _file: &mut File<C>,
    _vars: &[i32],
    _decomp: &Rc<Decomp>,
    _arrays: &[u8],
    _frames: Option<&[i32]>,
    _fills: Option<&[Option<&[u8]>]>,
    _flush: bool,
) -> Result<()> {
    todo!()
}

/// Reads this rank's part; holes keep what they had. Collective.
pub fn read<C: Comm>(
    _file: &mut File<C>,
    _var: i32,
    _decomp: &Decomp,
    _array: &mut [u8],
) -> Result<()> {
    todo!()
}
