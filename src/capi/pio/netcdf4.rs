//! # netCDF-4
//!
//! Settings of netCDF-4 files. There are none of these yet, so that each function says PIO_ENOTNC4 of a
//! file and PIO_EBADIOTYPE of an I/O type of netCDF-4.
#![allow(unused_variables)] // the names are for the header

use crate::capi::pio::registry::{on_file, on_system};
use crate::capi::pio::types::PIO_Offset;
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

/// The settings of new files.
fn of_iotype(iosysid: c_int, iotype: c_int, call: &'static str) -> c_int {
    on_system(iosysid, |_| match iotype {
        NETCDF4C | NETCDF4P => Err(Error::IoType(iotype)),
        _ => not_netcdf4(call),
    })
}

/// Sets the cache of chunks for variables of new files. netCDF-4 only, as all functions from here on.
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

/// The cache of chunks for variables of new files. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_chunk_cache(
    iosysid: c_int,
    iotype: c_int,
    sizep: *mut PIO_Offset,
    nelemsp: *mut PIO_Offset,
    preemptionp: *mut c_float,
) -> c_int {
    of_iotype(iosysid, iotype, "PIOc_get_chunk_cache")
}

/// Sets the cache of chunks of a variable. netCDF-4 only.
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

/// The cache of chunks of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_var_chunk_cache(
    ncid: c_int,
    varid: c_int,
    sizep: *mut PIO_Offset,
    nelemsp: *mut PIO_Offset,
    preemptionp: *mut c_float,
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

/// How a variable is compressed. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_deflate(
    ncid: c_int,
    varid: c_int,
    shufflep: *mut c_int,
    deflatep: *mut c_int,
    deflate_levelp: *mut c_int,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_deflate"))
}

/// Cuts a variable into chunks. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_chunking(
    ncid: c_int,
    varid: c_int,
    storage: c_int,
    chunksizesp: *const PIO_Offset,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_chunking"))
}

/// The chunks of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_chunking(
    ncid: c_int,
    varid: c_int,
    storagep: *mut c_int,
    chunksizesp: *mut PIO_Offset,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_chunking"))
}

/// The order of bytes of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_endian(ncid: c_int, varid: c_int, endian: c_int) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_endian"))
}

/// The order of bytes of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_endian(ncid: c_int, varid: c_int, endianp: *mut c_int) -> c_int {
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

/// Whether a variable is compressed with Zstandard. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_zstandard(
    ncid: c_int,
    varid: c_int,
    hasfilterp: *mut c_int,
    levelp: *mut c_int,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_zstandard"))
}

/// Rounds the data of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_quantize(
    ncid: c_int,
    varid: c_int,
    quantize_mode: c_int,
    nsd: c_int,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_quantize"))
}

/// How the data of a variable are rounded. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_quantize(
    ncid: c_int,
    varid: c_int,
    quantize_mode: *mut c_int,
    nsdp: *mut c_int,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_quantize"))
}

/// Gives a variable a filter. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_def_var_filter(
    ncid: c_int,
    varid: c_int,
    id: c_uint,
    nparams: usize,
    params: *mut c_uint,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_def_var_filter"))
}

/// The filters of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_filter_ids(
    ncid: c_int,
    varid: c_int,
    nfiltersp: *mut usize,
    ids: *mut c_uint,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_filter_ids"))
}

/// The parameters of a filter of a variable. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_var_filter_info(
    ncid: c_int,
    varid: c_int,
    id: c_uint,
    nparamsp: *mut usize,
    params: *mut c_uint,
) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_var_filter_info"))
}

/// Whether there is such a filter. netCDF-4 only.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_inq_filter_avail(ncid: c_int, id: c_uint) -> c_int {
    on_file(ncid, |_| not_netcdf4("PIOc_inq_filter_avail"))
}
