//! Moving data along a plan, from the ranks to the I/O tasks and back.

use super::{IoSystem, Plan, Result};
use crate::comm::Comm;

/// The elements of a rank's array in the order in which they are sent, without holes. Local.
pub fn pack(_plan: &Plan, _element: usize, _array: &[u8]) -> Result<Vec<u8>> {
    todo!()
}

/// Brings packed elements to the I/O tasks; returns there what goes to the file ([`Plan::written`]), elsewhere
/// nothing. Elements that no rank holds get `fill` (one element). Collective over the I/O system.
pub fn collect<C: Comm>(
    _system: &IoSystem<C>,
    _plan: &Plan,
    _element: usize,
    _packed: &[u8],
    _fill: &[u8],
) -> Result<Vec<u8>> {
    todo!()
}

/// Brings what the I/O tasks read ([`Plan::read`]; empty elsewhere) into the arrays of all ranks. Holes keep
/// what they had. Collective over the I/O system.
pub fn distribute<C: Comm>(
    _system: &IoSystem<C>,
    _plan: &Plan,
    _element: usize,
    _held: &[u8],
    _array: &mut [u8],
) -> Result<()> {
    todo!()
}
