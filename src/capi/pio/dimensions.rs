//! # Dimensions

use super::args::{NAME_ROOM, name};
use super::registry::on_file;
use super::types::PIO_Offset;
use crate::capi::boundary::{Out, OutArray, Text};
use crate::pio::Error;
use std::ffi::{c_char, c_int};

const EDIMSIZE: c_int = -63;

/// Defines a dimension; PIO_UNLIMITED as `len` lets it grow. `idp` gets its id.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_dim(ncid: c_int, name: Text, len: PIO_Offset, idp: Out<c_int>) -> c_int {
    on_file(ncid, |open| {
        let length = u64::try_from(len).map_err(|_| Error::Format {
            call: "PIOc_def_dim",
            code: EDIMSIZE,
            text: format!("a dimension cannot have the length {len}"),
        });
        let given = self::name("name", name).and_then(|name| Ok((name, length?)));
        idp.set(open.change(given, |format, (name, length)| {
            format.def_dim(name, (length > 0).then_some(length))
        })?);
        Ok(())
    })
}

/// Gets name and length of a dimension. `name` has room for PIO_MAX_NAME characters and a NUL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_dim(
    ncid: c_int,
    dimid: c_int,
    name: OutArray<c_char>,
    lenp: Out<PIO_Offset>,
) -> c_int {
    on_file(ncid, |open| {
        let (known, length) = open.ask(Ok(dimid), |format, dimid| format.dim(dimid))?;
        // SAFETY: the header says that there is so much room.
        unsafe { name.put(NAME_ROOM, &known) };
        lenp.set(length as PIO_Offset);
        Ok(())
    })
}

/// Gets the id of the dimension of that name.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_dimid(ncid: c_int, name: Text, idp: Out<c_int>) -> c_int {
    on_file(ncid, |open| {
        let given = self::name("name", name);
        idp.set(open.ask(given, |format, name| format.dim_named(name))?);
        Ok(())
    })
}

/// Gets the name of a dimension. `name` has room for PIO_MAX_NAME characters and a NUL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_dimname(ncid: c_int, dimid: c_int, name: OutArray<c_char>) -> c_int {
    PIOc_inq_dim(ncid, dimid, name, Out::NULL)
}

/// Gets the length of a dimension; of the unlimited one, the number of records.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_dimlen(ncid: c_int, dimid: c_int, lenp: Out<PIO_Offset>) -> c_int {
    PIOc_inq_dim(ncid, dimid, OutArray::NULL, lenp)
}

/// Renames a dimension.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_rename_dim(ncid: c_int, dimid: c_int, name: Text) -> c_int {
    on_file(ncid, |open| {
        let given = self::name("name", name).map(|name| (dimid, name));
        open.change(given, |format, (dimid, name)| {
            format.rename_dim(dimid, name)
        })
    })
}
