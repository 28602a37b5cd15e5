//! What writing and reading a variable needs to know of it; the same on all ranks.

use super::super::convert::convert;
use super::super::format::Format;
use super::super::{Kind, Result};
use super::shared::{Shared, shared_fields};

#[derive(Clone, Debug, PartialEq)]
pub(in crate::pio) struct Description {
    pub(in crate::pio) kind: Kind,
    /// Lengths of its dimensions, the slowest first; that of the unlimited one changes, so it says nothing.
    pub(in crate::pio) dims: Vec<u64>,
    /// Whether the first dimension is the unlimited one.
    pub(in crate::pio) records: bool,
    /// Whether the library fills what is not written.
    pub(in crate::pio) filled: bool,
    /// One element of the variable's kind.
    pub(in crate::pio) fill: Vec<u8>,
}

shared_fields! { Description { kind dims records filled fill } }

impl Description {
    /// Asks the file library. On I/O tasks.
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

    /// What places without data get in an array of that kind, which the library turns into the variable's.
    pub(in crate::pio) fn fill_as(&self, kind: Kind) -> Vec<u8> {
        let converted = convert(&self.fill, self.kind, kind);
        converted.unwrap_or_else(|| kind.default_fill())
    }
}
