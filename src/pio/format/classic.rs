//! The calls that PnetCDF and netCDF have in common, for files of the classic formats: all of [`Format`] but for what
//! each library does in its own way ([`DataAccess`]).
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null_mut;

use super::calls::{Calls, of_kind};
use super::{Attribute, Counts, Format, Transfer, Variable};
use crate::pio::{Error, Hyperslabs, Kind, Result, alloc};

/// Room for a name of NC_MAX_NAME bytes and its NUL.
const NAME: usize = 1025;
const FILL: c_int = 0;
const NOFILL: c_int = 0x100;
pub(super) const FILL_VALUE: &CStr = c"_FillValue";
/// As NC_ECHAR: text and numbers are not converted into each other.
const ECHAR: i32 = -56;

/// An open file and the functions of its library.
pub(super) struct NcFile {
    pub(super) id: c_int,
    pub(super) calls: &'static Calls,
}

/// The part of [`Format`] that differs between the libraries: fill values, writing and reading.
pub(super) trait DataAccess: Send {
    fn def_var_fill(
        &mut self,
        file: &NcFile,
        var: i32,
        fill: bool,
        value: Option<&[u8]>,
    ) -> Result<()>;
    fn inq_var_fill(&mut self, file: &NcFile, var: i32) -> Result<(bool, Vec<u8>)>;
    fn write(&mut self, file: &NcFile, writes: &mut [Transfer]) -> Result<()>;
    fn read(&mut self, file: &NcFile, read: &mut Transfer) -> Result<()>;
    fn begin_pieces(
        &mut self,
        _file: &NcFile,
        _vars: &[(i32, Kind, &Hyperslabs)],
    ) -> Result<Option<Vec<Hyperslabs>>> {
        Ok(None)
    }
    fn put_piece(&mut self, file: &NcFile, piece: &mut Transfer) -> Result<()> {
        self.write(file, std::slice::from_mut(piece))
    }
    fn get_piece(&mut self, file: &NcFile, piece: &mut Transfer) -> Result<()> {
        self.read(file, piece)
    }
    fn end_pieces(&mut self, _file: &NcFile) -> Result<()> {
        Ok(())
    }
}

pub(super) struct Classic<L> {
    pub(super) handle: NcFile,
    pub(super) library: L,
}

/// Calls a function of the table for an open file.
macro_rules! ask {
    ($file:expr, $call:ident $(, $argument:expr)*) => {{
        let (id, calls) = ($file.id, $file.calls);
        // SAFETY: the file is open. Every pointer among the arguments is to a text that ends with NUL, or to as much
        // room as the library fills or reads; or it is NULL where the library has nothing to tell then.
        calls.check(calls.$call.name, unsafe { (calls.$call.run)(id $(, $argument)*) })
    }};
}

impl NcFile {
    /// Returns whether the file was filled before.
    pub(super) fn set_fill(&self, fill: bool) -> Result<bool> {
        let mut old = 0;
        ask!(self, set_fill, if fill { FILL } else { NOFILL }, &mut old)?;
        Ok(old == FILL)
    }

    pub(super) fn kind_of(&self, var: i32) -> Result<Kind> {
        let mut kind = 0;
        let (none, name) = (null_mut(), null_mut());
        ask!(self, inq_var, var, name, &mut kind, none, none, none)?;
        Kind::from_number(kind)
    }

    pub(super) fn var(&self, var: i32) -> Result<Variable> {
        let (mut kind, mut count, mut attributes) = (0, 0, 0);
        let into = (&mut kind, &mut count, &mut attributes);
        let name = name(|text| ask!(self, inq_var, var, text, into.0, into.1, null_mut(), into.2))?;
        let mut dims = vec![0; count as usize];
        let (none, text, into) = (null_mut(), null_mut(), dims.as_mut_ptr());
        ask!(self, inq_var, var, text, none, none, into, none)?;
        Ok(Variable {
            name,
            kind: Kind::from_number(kind)?,
            dims,
            attributes,
        })
    }

    pub(super) fn dim(&self, dim: i32) -> Result<(CString, u64)> {
        let mut length = 0;
        let name = name(|text| ask!(self, inq_dim, dim, text, &mut length))?;
        Ok((name, length))
    }

    pub(super) fn counts(&self) -> Result<Counts> {
        let (mut dims, mut vars, mut attributes, mut unlimited) = (0, 0, 0, -1);
        let into = (&mut dims, &mut vars, &mut attributes, &mut unlimited);
        ask!(self, inq, into.0, into.1, into.2, into.3)?;
        Ok(Counts {
            dims,
            vars,
            attributes,
            unlimited,
        })
    }

    pub(super) fn attribute(&self, var: i32, name: &CStr) -> Result<Attribute> {
        let (mut kind, mut length) = (0, 0);
        ask!(self, inq_att, var, name.as_ptr(), &mut kind, &mut length)?;
        let kind = Kind::from_number(kind)?;
        Ok(Attribute { kind, length })
    }

    pub(super) fn put_attribute(
        &self,
        var: i32,
        name: &CStr,
        stored: Kind,
        memory: Kind,
        values: &[u8],
    ) -> Result<()> {
        let call = of_kind(&self.calls.put_att, memory);
        if memory == Kind::Char && stored != Kind::Char {
            return self.calls.check(call.name, ECHAR);
        }
        let count = (values.len() / memory.size()) as u64;
        let (kind, data) = (stored as c_int, values.as_ptr().cast_mut().cast());
        // SAFETY: the file is open, the name ends with NUL, the values hold `count` of their kind.
        self.calls.check(call.name, unsafe {
            (call.run)(self.id, var, name.as_ptr(), kind, count, data)
        })
    }

    pub(super) fn get_attribute(&self, var: i32, name: &CStr, memory: Kind) -> Result<Vec<u8>> {
        let length = self.attribute(var, name)?.length;
        let mut values = alloc::zeros(length.saturating_mul(memory.size() as u64))?;
        let call = of_kind(&self.calls.get_att, memory);
        // SAFETY: the file is open, the name ends with NUL, there is room for every value.
        self.calls.check(call.name, unsafe {
            (call.run)(self.id, var, name.as_ptr(), values.as_mut_ptr().cast())
        })?;
        Ok(values)
    }
}

/// Turns filling off in a new file, as PIO does.
pub(super) fn unfilled(mut file: Box<dyn Format>) -> Result<Box<dyn Format>> {
    match file.set_fill(false) {
        Ok(_) => Ok(file),
        Err(error) => file.close().and(Err(error)),
    }
}

/// The libraries do not know the length of a buffer.
pub(super) fn check_buffer(transfer: &Transfer) -> Result<()> {
    let Transfer { kind, regions, .. } = transfer;
    let (data, elements) = (&transfer.data, regions.elements());
    let needed = elements.checked_mul(kind.size() as u64);
    if needed.is_none_or(|bytes| bytes > data.len() as u64) {
        return Err(Error::Invalid(format!(
            "a buffer of {} bytes is too short for {elements} elements",
            data.len(),
        )));
    }
    if data.as_ptr().align_offset(kind.size()) != 0 && !regions.is_empty() {
        return Err(Error::Invalid(
            "a buffer is not aligned for its kind of data".into(),
        ));
    }
    Ok(())
}

/// The name that a call writes, up to its NUL.
fn name(write: impl FnOnce(*mut c_char) -> Result<()>) -> Result<CString> {
    let mut bytes = vec![0u8; NAME];
    write(bytes.as_mut_ptr().cast())?;
    Ok(CStr::from_bytes_until_nul(&bytes)
        .unwrap_or_default()
        .into())
}

impl<L: DataAccess> Format for Classic<L> {
    fn def_dim(&mut self, name: &CStr, length: Option<u64>) -> Result<i32> {
        let mut dim = 0;
        const UNLIMITED: u64 = 0; // as NC_UNLIMITED
        let length = length.unwrap_or(UNLIMITED);
        ask!(self.handle, def_dim, name.as_ptr(), length, &mut dim)?;
        Ok(dim)
    }

    fn def_var(&mut self, name: &CStr, kind: Kind, dims: &[i32]) -> Result<i32> {
        let mut var = 0;
        let (name, kind, count) = (name.as_ptr(), kind as c_int, dims.len() as c_int);
        ask!(
            self.handle,
            def_var,
            name,
            kind,
            count,
            dims.as_ptr(),
            &mut var
        )?;
        Ok(var)
    }

    fn def_var_fill(&mut self, var: i32, fill: bool, value: Option<&[u8]>) -> Result<()> {
        let size = self.handle.kind_of(var)?.size();
        if value.is_some_and(|value| value.len() != size) {
            return Err(Error::Invalid(format!("a fill value has {size} bytes")));
        }
        self.library.def_var_fill(&self.handle, var, fill, value)
    }

    fn inq_var_fill(&mut self, var: i32) -> Result<(bool, Vec<u8>)> {
        self.library.inq_var_fill(&self.handle, var)
    }

    fn set_fill(&mut self, fill: bool) -> Result<bool> {
        self.handle.set_fill(fill)
    }

    fn redef(&mut self) -> Result<()> {
        ask!(self.handle, redef)
    }

    fn enddef(&mut self) -> Result<()> {
        ask!(self.handle, enddef)
    }

    fn sync(&mut self) -> Result<()> {
        ask!(self.handle, sync)
    }

    fn close(self: Box<Self>) -> Result<()> {
        ask!(self.handle, close)
    }

    fn counts(&mut self) -> Result<Counts> {
        self.handle.counts()
    }

    fn file_format(&mut self) -> Result<i32> {
        let mut format = 0;
        ask!(self.handle, inq_format, &mut format)?;
        Ok(format)
    }

    fn dim(&mut self, dim: i32) -> Result<(CString, u64)> {
        self.handle.dim(dim)
    }

    fn dim_named(&mut self, name: &CStr) -> Result<i32> {
        let mut dim = 0;
        ask!(self.handle, inq_dimid, name.as_ptr(), &mut dim)?;
        Ok(dim)
    }

    fn var(&mut self, var: i32) -> Result<Variable> {
        self.handle.var(var)
    }

    fn var_named(&mut self, name: &CStr) -> Result<i32> {
        let mut var = 0;
        ask!(self.handle, inq_varid, name.as_ptr(), &mut var)?;
        Ok(var)
    }

    fn rename_dim(&mut self, dim: i32, name: &CStr) -> Result<()> {
        ask!(self.handle, rename_dim, dim, name.as_ptr())
    }

    fn rename_var(&mut self, var: i32, name: &CStr) -> Result<()> {
        ask!(self.handle, rename_var, var, name.as_ptr())
    }

    fn attribute(&mut self, var: i32, name: &CStr) -> Result<Attribute> {
        self.handle.attribute(var, name)
    }

    fn attribute_at(&mut self, var: i32, index: i32) -> Result<CString> {
        name(|text| ask!(self.handle, inq_attname, var, index, text))
    }

    fn attribute_named(&mut self, var: i32, name: &CStr) -> Result<i32> {
        let mut index = 0;
        ask!(self.handle, inq_attid, var, name.as_ptr(), &mut index)?;
        Ok(index)
    }

    fn put_attribute(
        &mut self,
        var: i32,
        name: &CStr,
        stored: Kind,
        memory: Kind,
        values: &[u8],
    ) -> Result<()> {
        self.handle.put_attribute(var, name, stored, memory, values)
    }

    fn get_attribute(&mut self, var: i32, name: &CStr, memory: Kind) -> Result<Vec<u8>> {
        self.handle.get_attribute(var, name, memory)
    }

    fn rename_attribute(&mut self, var: i32, name: &CStr, new: &CStr) -> Result<()> {
        ask!(self.handle, rename_att, var, name.as_ptr(), new.as_ptr())
    }

    fn delete_attribute(&mut self, var: i32, name: &CStr) -> Result<()> {
        ask!(self.handle, del_att, var, name.as_ptr())
    }

    fn write(&mut self, writes: &mut [Transfer]) -> Result<()> {
        self.library.write(&self.handle, writes)
    }

    fn read(&mut self, read: &mut Transfer) -> Result<()> {
        self.library.read(&self.handle, read)
    }

    fn begin_pieces(
        &mut self,
        vars: &[(i32, Kind, &Hyperslabs)],
    ) -> Result<Option<Vec<Hyperslabs>>> {
        self.library.begin_pieces(&self.handle, vars)
    }

    fn put_piece(&mut self, piece: &mut Transfer) -> Result<()> {
        self.library.put_piece(&self.handle, piece)
    }

    fn get_piece(&mut self, piece: &mut Transfer) -> Result<()> {
        self.library.get_piece(&self.handle, piece)
    }

    fn end_pieces(&mut self) -> Result<()> {
        self.library.end_pieces(&self.handle)
    }
}
