//! What writing and reading need to know about a variable; the same on all ranks.

use super::super::convert::convert;
use super::super::format::Format;
use super::super::{Kind, Result};
use super::{Shared, shared_fields};

#[derive(Clone, Debug, PartialEq)]
pub(in crate::pio) struct VarInfo {
    pub(in crate::pio) kind: Kind,
    /// Lengths of its dimensions, the slowest first; that of the unlimited one may be out of date.
    pub(in crate::pio) dims: Vec<u64>,
    /// Whether the first dimension is the unlimited one.
    pub(in crate::pio) records: bool,
    /// Whether the library fills unwritten elements.
    pub(in crate::pio) filled: bool,
    /// One element of the variable's kind.
    pub(in crate::pio) fill: Vec<u8>,
}

shared_fields! { VarInfo { kind dims records filled fill } }

impl VarInfo {
    /// On I/O tasks.
    pub(super) fn look_up(format: &mut dyn Format, var: i32) -> Result<Self> {
        let variable = format.var(var)?;
        let unlimited = format.counts()?.unlimited;
        let mut dims = Vec::with_capacity(variable.dims.len());
        for dim in &variable.dims {
            dims.push(format.dim(*dim)?.1);
        }
        let (filled, fill) = format.inq_var_fill(var)?;
        Ok(Self {
            kind: variable.kind,
            dims,
            records: unlimited >= 0 && variable.dims.first() == Some(&unlimited),
            filled,
            fill,
        })
    }

    /// The fill value as an element of an array of `kind`, which the library converts back.
    pub(in crate::pio) fn fill_as(&self, kind: Kind) -> Vec<u8> {
        let converted = convert(&self.fill, self.kind, kind);
        converted.unwrap_or_else(|| kind.default_fill())
    }
}
