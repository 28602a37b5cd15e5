//! # netCDF-4
//!
//! Settings of netCDF-4 files, which the library does not write yet: each function returns PIO_ENOTNC4 for a file and
//! PIO_EBADIOTYPE for an I/O type of netCDF-4.
#![allow(unused_variables)] // the names are for the header

use super::registry::{on_file, on_system};
use super::types::PIO_Offset;
use crate::capi::boundary::{Array, Out, OutArray};
use crate::pio::{Error, Result};
use std::ffi::{c_float, c_int, c_uint};

const NETCDF4C: c_int = 3;
const NETCDF4P: c_int = 4;

fn not_netcdf4(call: &'static str) -> Result<()> {
    const ENOTNC4: c_int = -111;
    Err(Error::Format {
        call,
        code: ENOTNC4,
        text: "the file is not a netCDF-4 file".into(),
    })
}

/// For settings of new files.
fn of_iotype(iosysid: c_int, iotype: c_int, call: &'static str) -> c_int {
    on_system(iosysid, |_| match iotype {
        NETCDF4C | NETCDF4P => Err(Error::IoType(iotype)),
        _ => not_netcdf4(call),
    })
}

/// Sets the chunk cache of variables of new files. netCDF-4 only, as all functions of this chapter.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_chunk_cache(
    iosysid: c_int,
    iotype: c_int,
    size: PIO_Offset,
    nelems: PIO_Offset,
    preemption: c_float,
) -> c_int {
    of_iotype(iosysid, iotype, "PIOc_set_chunk_cache")
}

/// Gets the chunk cache of variables of new files. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_chunk_cache(
    iosysid: c_int,
    iotype: c_int,
    sizep: Out<PIO_Offset>,
    nelemsp: Out<PIO_Offset>,
    preemptionp: Out<c_float>,
) -> c_int {
    of_iotype(iosysid, iotype, "PIOc_get_chunk_cache")
}

/// Sets the chunk cache of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_var_chunk_cache(
    ncid: c_int,
    varid: c_int,
    size: PIO_Offset,
    nelems: PIO_Offset,
    preemption: c_float,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_set_var_chunk_cache"))
}

/// Gets the chunk cache of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_var_chunk_cache(
    ncid: c_int,
    varid: c_int,
    sizep: Out<PIO_Offset>,
    nelemsp: Out<PIO_Offset>,
    preemptionp: Out<c_float>,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_get_var_chunk_cache"))
}

/// Compresses a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_deflate(
    ncid: c_int,
    varid: c_int,
    shuffle: c_int,
    deflate: c_int,
    deflate_level: c_int,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_deflate"))
}

/// Gets how a variable is compressed. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_deflate(
    ncid: c_int,
    varid: c_int,
    shufflep: Out<c_int>,
    deflatep: Out<c_int>,
    deflate_levelp: Out<c_int>,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_deflate"))
}

/// Sets the chunk sizes of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_chunking(
    ncid: c_int,
    varid: c_int,
    storage: c_int,
    chunksizesp: Array<PIO_Offset>,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_chunking"))
}

/// Gets the chunk sizes of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_chunking(
    ncid: c_int,
    varid: c_int,
    storagep: Out<c_int>,
    chunksizesp: OutArray<PIO_Offset>,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_chunking"))
}

/// Sets the byte order of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_endian(ncid: c_int, varid: c_int, endian: c_int) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_endian"))
}

/// Gets the byte order of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_endian(ncid: c_int, varid: c_int, endianp: Out<c_int>) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_endian"))
}

/// Compresses a variable with szip. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_szip(
    ncid: c_int,
    varid: c_int,
    options_mask: c_int,
    pixels_per_block: c_int,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_szip"))
}

/// Compresses a variable with Zstandard. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_zstandard(ncid: c_int, varid: c_int, level: c_int) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_zstandard"))
}

/// Tells whether a variable is compressed with Zstandard. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_zstandard(
    ncid: c_int,
    varid: c_int,
    hasfilterp: Out<c_int>,
    levelp: Out<c_int>,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_zstandard"))
}

/// Quantizes the data of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_quantize(
    ncid: c_int,
    varid: c_int,
    quantize_mode: c_int,
    nsd: c_int,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_quantize"))
}

/// Gets how the data of a variable are quantized. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_quantize(
    ncid: c_int,
    varid: c_int,
    quantize_mode: Out<c_int>,
    nsdp: Out<c_int>,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_quantize"))
}

/// Adds a filter to a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_filter(
    ncid: c_int,
    varid: c_int,
    id: c_uint,
    nparams: usize,
    params: OutArray<c_uint>,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_filter"))
}

/// Gets the filters of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_filter_ids(
    ncid: c_int,
    varid: c_int,
    nfiltersp: Out<usize>,
    ids: OutArray<c_uint>,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_filter_ids"))
}

/// Gets the parameters of a filter of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_filter_info(
    ncid: c_int,
    varid: c_int,
    id: c_uint,
    nparamsp: Out<usize>,
    params: OutArray<c_uint>,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_filter_info"))
}

/// Tells whether there is such a filter. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_filter_avail(ncid: c_int, id: c_uint) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_filter_avail"))
}
