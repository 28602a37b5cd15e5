//! What upstream's own tests take from inside of its library; not in `pio.h`.

use crate::capi::pio::data::Part;
use crate::capi::pio::errors::status;
use crate::capi::pio::types::{PIO_Offset, nc_type};
use crate::capi::ptr;
use crate::comm::mpi::{MPI_Datatype, Number};
use crate::pio::Kind;
use std::ffi::{c_int, c_void};

/// MPI's type for one of PIO, and its size. Both may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn find_mpi_type(
    pio_type: c_int,
    mpi_type: *mut MPI_Datatype,
    type_size: *mut c_int,
) -> c_int {
    status(|| {
        let kind = Kind::from_number(pio_type)?;
        // SAFETY: arguments of the caller.
        unsafe {
            ptr::store(mpi_type, number(kind).datatype());
            ptr::store(type_size, kind.size() as c_int);
        }
        Ok(())
    })
}

fn number(kind: Kind) -> Number {
    let size = kind.size();
    match kind {
        Kind::Float | Kind::Double => Number::Real(size),
        Kind::Byte | Kind::Char | Kind::Short | Kind::Int | Kind::Int64 => Number::Signed(size),
        Kind::UnsignedByte | Kind::UnsignedShort | Kind::UnsignedInt | Kind::UnsignedInt64 => {
            Number::Unsigned(size)
        }
    }
}

/// PIOc_put_vars with data of type `xtype`, or of the variable's if that is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_put_vars_tc(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    stride: *const PIO_Offset,
    xtype: nc_type,
    buf: *const c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::of_vars(start, count, stride, xtype).put(ncid, varid, buf) }
}

/// PIOc_get_vars with data of type `xtype`, or of the variable's if that is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_get_vars_tc(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    stride: *const PIO_Offset,
    xtype: nc_type,
    buf: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Part::of_vars(start, count, stride, xtype).get(ncid, varid, buf) }
}

/// SCORPIO's name for [`PIOc_put_vars_tc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spio_put_vars_tc(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    stride: *const PIO_Offset,
    xtype: nc_type,
    buf: *const c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { PIOc_put_vars_tc(ncid, varid, start, count, stride, xtype, buf) }
}

/// SCORPIO's name for [`PIOc_get_vars_tc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spio_get_vars_tc(
    ncid: c_int,
    varid: c_int,
    start: *const PIO_Offset,
    count: *const PIO_Offset,
    stride: *const PIO_Offset,
    xtype: nc_type,
    buf: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { PIOc_get_vars_tc(ncid, varid, start, count, stride, xtype, buf) }
}
