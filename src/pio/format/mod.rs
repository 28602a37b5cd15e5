//! The file libraries: PnetCDF and serial netCDF.
//!
//! [`Format`] is an open file, as the rest of PIO uses it. Both libraries implement it through `classic`, which makes
//! the calls that they have in common; `DataAccess` there holds what each does in its own way: fill values and data.
//! `calls` declares the libraries' functions, which `build.rs` generates from `calls.in` (`table`), and `load` finds
//! them in the shared libraries when PIO opens its first file.

#[cfg(any(feature = "pnetcdf", feature = "netcdf"))]
mod calls;
#[cfg(any(feature = "pnetcdf", feature = "netcdf"))]
mod classic;
#[cfg(any(feature = "pnetcdf", feature = "netcdf"))]
mod load;
#[cfg(feature = "netcdf")]
pub mod netcdf;
#[cfg(any(test, feature = "pnetcdf"))]
mod pieces;
#[cfg(feature = "pnetcdf")]
pub mod pnetcdf;

use std::ffi::{CStr, CString};
use std::ops::RangeInclusive;

use super::error::own_words;
use super::{Error, Hyperslabs, Kind, Result};

/// PIO's I/O types.
pub const PNETCDF: i32 = 1;
pub const NETCDF: i32 = 2;

/// Whether this build may use the library of an I/O type. The same on all ranks.
pub fn is_built(iotype: i32) -> bool {
    iotype == PNETCDF && cfg!(feature = "pnetcdf") || iotype == NETCDF && cfg!(feature = "netcdf")
}

/// An error for what is not [`is_built`].
pub fn check_built(iotype: i32) -> Result<()> {
    is_built(iotype).then_some(()).ok_or(Error::IoType(iotype))
}

/// Whether this process can open files of an I/O type: loads the library if it is not loaded yet. Local.
pub fn available(iotype: i32) -> bool {
    match iotype {
        #[cfg(feature = "pnetcdf")]
        PNETCDF => pnetcdf::calls().is_ok(),
        #[cfg(feature = "netcdf")]
        NETCDF => netcdf::calls().is_ok(),
        _ => false,
    }
}

/// The libraries' text for one of their error codes, or our own if no library is loaded.
pub fn text_of(code: i32) -> Option<String> {
    /// PnetCDF's own codes begin here; PIO's begin below them.
    const OF_PNETCDF: RangeInclusive<i32> = -499..=-201;
    const OF_BOTH: RangeInclusive<i32> = -142..=-1;
    #[cfg(feature = "netcdf")]
    if let (true, Ok(calls)) = (OF_BOTH.contains(&code), netcdf::calls()) {
        return Some(calls.both.text_of(code));
    }
    let known = OF_BOTH.contains(&code) || OF_PNETCDF.contains(&code);
    #[cfg(feature = "pnetcdf")]
    if let (true, Ok(calls)) = (known, pnetcdf::calls()) {
        return Some(calls.both.text_of(code));
    }
    let unknown = || format!("error {code} of a file library that is not there to tell more");
    known.then(|| own_words(code).map_or_else(unknown, String::from))
}

#[cfg(test)]
pub(crate) mod tests;

/// A variable's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: CString,
    pub kind: Kind,
    /// Numbers of its dimensions, the slowest first.
    pub dims: Vec<i32>,
    pub attributes: i32,
}

/// An attribute's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    pub kind: Kind,
    pub length: u64,
}

/// How many dimensions, variables and global attributes a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub dims: i32,
    pub vars: i32,
    pub attributes: i32,
    /// The number of the unlimited dimension, or -1.
    pub unlimited: i32,
}

/// As NC_GLOBAL: stands for the file itself where a variable is asked for.
pub const GLOBAL: i32 = -1;

/// An open file on one I/O task. With a parallel library every I/O task has one, and all of them make each call
/// together; with a serial one only the first I/O task has it. Any thread may use it, one at a time.
pub trait Format: Send {
    fn def_dim(&mut self, name: &CStr, length: Option<u64>) -> Result<i32>;
    fn def_var(&mut self, name: &CStr, kind: Kind, dims: &[i32]) -> Result<i32>;
    /// `fill`: whether unwritten elements are filled. `value` is one element of the variable's kind; `None`: the default.
    fn def_var_fill(&mut self, var: i32, fill: bool, value: Option<&[u8]>) -> Result<()>;
    /// Whether unwritten elements are filled, and with what.
    fn inq_var_fill(&mut self, var: i32) -> Result<(bool, Vec<u8>)>;
    /// Sets the fill mode of the whole file; returns the old one.
    fn set_fill(&mut self, fill: bool) -> Result<bool>;
    fn redef(&mut self) -> Result<()>;
    fn enddef(&mut self) -> Result<()>;
    fn sync(&mut self) -> Result<()>;
    fn close(self: Box<Self>) -> Result<()>;

    fn counts(&mut self) -> Result<Counts>;
    /// As NC_FORMAT_...
    fn file_format(&mut self) -> Result<i32>;
    fn dim(&mut self, dim: i32) -> Result<(CString, u64)>;
    fn dim_named(&mut self, name: &CStr) -> Result<i32>;
    fn var(&mut self, var: i32) -> Result<Variable>;
    fn var_named(&mut self, name: &CStr) -> Result<i32>;
    fn rename_dim(&mut self, dim: i32, name: &CStr) -> Result<()>;
    fn rename_var(&mut self, var: i32, name: &CStr) -> Result<()>;

    fn attribute(&mut self, var: i32, name: &CStr) -> Result<Attribute>;
    fn attribute_at(&mut self, var: i32, index: i32) -> Result<CString>;
    fn attribute_named(&mut self, var: i32, name: &CStr) -> Result<i32>;
    /// `stored` is the kind in the file, `memory` that of `values`.
    fn put_attribute(
        &mut self,
        var: i32,
        name: &CStr,
        stored: Kind,
        memory: Kind,
        values: &[u8],
    ) -> Result<()>;
    /// Converted to `memory`.
    fn get_attribute(&mut self, var: i32, name: &CStr, memory: Kind) -> Result<Vec<u8>>;
    fn rename_attribute(&mut self, var: i32, name: &CStr, new: &CStr) -> Result<()>;
    fn delete_attribute(&mut self, var: i32, name: &CStr) -> Result<()>;

    /// Writes the data of several variables, converting from `kind`; may overwrite the buffers. With a parallel library
    /// all I/O tasks give equally many variables in the same order, some perhaps without any region. On return the
    /// data of all tasks are in the file, or handed to it.
    fn write(&mut self, writes: &mut [Transfer]) -> Result<()>;

    /// Reads the data of one variable, converting to `kind`; otherwise as `write`.
    fn read(&mut self, read: &mut Transfer) -> Result<()>;

    /// Whether regions of these variables are better written or read piece by piece; if so, the pieces, in the order of
    /// the buffer. With a parallel library all I/O tasks ask, and get the same answer. Until `end_pieces`, nothing but
    /// pieces may be written or read.
    fn begin_pieces(
        &mut self,
        _vars: &[(i32, Kind, &Hyperslabs)],
    ) -> Result<Option<Vec<Hyperslabs>>> {
        Ok(None)
    }

    /// Writes one of the pieces; each task on its own. May overwrite the buffer.
    fn put_piece(&mut self, piece: &mut Transfer) -> Result<()> {
        self.write(std::slice::from_mut(piece))
    }

    /// Reads one of the pieces; each task on its own.
    fn get_piece(&mut self, piece: &mut Transfer) -> Result<()> {
        self.read(piece)
    }

    fn end_pieces(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Data that go into one variable, or come from it.
pub struct Transfer<'a> {
    pub var: i32,
    /// The type of `data`.
    pub kind: Kind,
    /// With the variable's dimensions.
    pub regions: &'a Hyperslabs,
    /// The elements of all regions, one after the other.
    pub data: &'a mut [u8],
}

impl<'a> Transfer<'a> {
    pub fn new(var: i32, kind: Kind, regions: &'a Hyperslabs, data: &'a mut [u8]) -> Self {
        Self {
            var,
            kind,
            regions,
            data,
        }
    }
}
