//! Names of PIO that no public header declares. Upstream's own test programs use them; nothing else should.

use super::data::Selection;
use super::errors::status;
use super::types::{PIO_Offset, nc_type};
use crate::capi::boundary::{Array, Out, OutArray};
use crate::comm::mpi::{MPI_Datatype, NumberType};
use crate::pio::Kind;
use std::ffi::{c_int, c_void};

/// Gets MPI's type for one of PIO, and its size. Both may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn find_mpi_type(
    pio_type: c_int,
    mpi_type: Out<MPI_Datatype>,
    type_size: Out<c_int>,
) -> c_int {
    status(|| {
        let kind = Kind::from_number(pio_type)?;
        mpi_type.set(number(kind).datatype());
        type_size.set(kind.size() as c_int);
        Ok(())
    })
}

fn number(kind: Kind) -> NumberType {
    let size = kind.size();
    match kind {
        Kind::Float | Kind::Double => NumberType::Real(size),
        Kind::Byte | Kind::Char | Kind::Short | Kind::Int | Kind::Int64 => NumberType::Signed(size),
        Kind::UnsignedByte | Kind::UnsignedShort | Kind::UnsignedInt | Kind::UnsignedInt64 => {
            NumberType::Unsigned(size)
        }
    }
}

/// PIOc_put_vars with data of type `xtype`, or of the variable's if that is 0.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_put_vars_tc(
    ncid: c_int,
    varid: c_int,
    start: Array<PIO_Offset>,
    count: Array<PIO_Offset>,
    stride: Array<PIO_Offset>,
    xtype: nc_type,
    buf: Array<c_void>,
) -> c_int {
    Selection::strided(start, count, stride, xtype).put(ncid, varid, buf)
}

/// PIOc_get_vars with data of type `xtype`, or of the variable's if that is 0.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_vars_tc(
    ncid: c_int,
    varid: c_int,
    start: Array<PIO_Offset>,
    count: Array<PIO_Offset>,
    stride: Array<PIO_Offset>,
    xtype: nc_type,
    buf: OutArray<c_void>,
) -> c_int {
    Selection::strided(start, count, stride, xtype).get(ncid, varid, buf)
}

/// SCORPIO's name for [`PIOc_put_vars_tc`].
#[unsafe(no_mangle)]
pub extern "C" fn spio_put_vars_tc(
    ncid: c_int,
    varid: c_int,
    start: Array<PIO_Offset>,
    count: Array<PIO_Offset>,
    stride: Array<PIO_Offset>,
    xtype: nc_type,
    buf: Array<c_void>,
) -> c_int {
    Selection::strided(start, count, stride, xtype).put(ncid, varid, buf)
}

/// SCORPIO's name for [`PIOc_get_vars_tc`].
#[unsafe(no_mangle)]
pub extern "C" fn spio_get_vars_tc(
    ncid: c_int,
    varid: c_int,
    start: Array<PIO_Offset>,
    count: Array<PIO_Offset>,
    stride: Array<PIO_Offset>,
    xtype: nc_type,
    buf: OutArray<c_void>,
) -> c_int {
    Selection::strided(start, count, stride, xtype).get(ncid, varid, buf)
}
