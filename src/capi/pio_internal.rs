//! What upstream's own tests take from inside of its library; not in `pio.h`.

use super::pio_errors::status;
use super::ptr;
use crate::comm::mpi::{MPI_Datatype, Number};
use crate::pio::Kind;
use std::ffi::c_int;

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
