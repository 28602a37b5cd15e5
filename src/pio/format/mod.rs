//! What the file libraries can do, one file each. Which of them may be used is decided when Stanchion is built; they are
//! loaded when they are first used.

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
use super::{Error, Kind, Regions, Result};

/// Numbers of PIO for the ways to a file.
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

/// Whether files of an I/O type can be opened by this process: loads the library if nobody has. Local.
pub fn available(iotype: i32) -> bool {
    match iotype {
        #[cfg(feature = "pnetcdf")]
        PNETCDF => pnetcdf::calls().is_ok(),
        #[cfg(feature = "netcdf")]
        NETCDF => netcdf::calls().is_ok(),
        _ => false,
    }
}

/// What the libraries say to one of their error codes, or words of our own where none can be asked.
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
pub(crate) mod memory;

/// What a variable is called and made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: CString,
    pub kind: Kind,
    /// Numbers of its dimensions, the slowest first.
    pub dims: Vec<i32>,
    pub attributes: i32,
}

/// What an attribute is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    pub kind: Kind,
    pub length: u64,
}

/// What a file is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub dims: i32,
    pub vars: i32,
    pub attributes: i32,
    /// The number of the unlimited dimension, or -1.
    pub unlimited: i32,
}

/// The number that stands for the file itself where a variable is asked for.
pub const GLOBAL: i32 = -1;

/// An open file as one I/O task sees it. With a parallel library every I/O task has one, and all of them make
/// each call; with a serial one only the first I/O task has it.
///
/// It may be used by any thread, one at a time.
pub trait Format: Send {
    fn def_dim(&mut self, name: &CStr, length: Option<u64>) -> Result<i32>;
    fn def_var(&mut self, name: &CStr, kind: Kind, dims: &[i32]) -> Result<i32>;
    /// `value` is one element of the variable's kind; `None` leaves the default. `fill` false: do not fill.
    fn def_var_fill(&mut self, var: i32, fill: bool, value: Option<&[u8]>) -> Result<()>;
    /// Whether unwritten places are filled and with what.
    fn inq_var_fill(&mut self, var: i32) -> Result<(bool, Vec<u8>)>;
    /// For the whole file; returns what it was.
    fn set_fill(&mut self, fill: bool) -> Result<bool>;
    fn redef(&mut self) -> Result<()>;
    fn enddef(&mut self) -> Result<()>;
    fn sync(&mut self) -> Result<()>;
    fn close(self: Box<Self>) -> Result<()>;

    fn counts(&mut self) -> Result<Counts>;
    /// Number of the file's kind (NC_FORMAT_...).
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

    /// Writes one buffer per variable, converting from `kind`. Regions have the variable's dimensions
    /// and follow each other in the buffer, whose contents may be lost. With a parallel library all I/O tasks
    /// take part with equally many variables in the same order, some perhaps without any region; data of all
    /// of them are in the file, or handed to it, on return.
    fn write(&mut self, writes: &mut [Write]) -> Result<()>;

    /// Whether regions of these variables are better written piece by piece, as soon as there are data for one, or read
    /// so; and then which pieces, in the order of the buffer. With a parallel library all I/O tasks ask, and are told
    /// the same. `end_pieces` must follow, and nothing but pieces may be written or read until then.
    fn begin_pieces(&mut self, _parts: &[(i32, Kind, &Regions)]) -> Result<Option<Vec<Regions>>> {
        Ok(None)
    }

    /// Writes one of the pieces; each task on its own. The contents of `data` may be lost.
    fn put_piece(&mut self, write: &mut Write) -> Result<()> {
        self.write(std::slice::from_mut(write))
    }

    /// Reads one of the pieces; each task on its own.
    fn get_piece(&mut self, read: &mut Write) -> Result<()> {
        self.read(read.var, read.kind, read.regions, read.data)
    }

    fn end_pieces(&mut self) -> Result<()> {
        Ok(())
    }

    /// Reads into a buffer, converting to `kind`; otherwise as `write`.
    fn read(&mut self, var: i32, kind: Kind, regions: &Regions, data: &mut [u8]) -> Result<()>;
}

/// What goes into one variable, or comes from it.
pub struct Write<'a> {
    pub var: i32,
    pub kind: Kind,
    pub regions: &'a Regions,
    pub data: &'a mut [u8],
}
