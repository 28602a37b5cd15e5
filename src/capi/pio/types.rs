//! The types of `pio.h` as C lays them out.
#![allow(non_camel_case_types)]

use crate::pio::Kind;
use std::ffi::{c_int, c_long};

/// MPI_Offset: 64 bits in every MPI.
pub type PIO_Offset = i64;

pub type nc_type = c_int;

/// C's `bool`; Fortran may pass other values than 0 and 1.
pub type c_bool = u8;

/// The kind of a `long` in memory.
pub(in crate::capi) const LONG: Kind = match size_of::<c_long>() {
    8 => Kind::Int64,
    _ => Kind::Int,
};

/// Flow control in one direction.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct rearr_comm_fc_opt_t {
    pub(in crate::capi) hs: c_bool,
    pub(in crate::capi) isend: c_bool,
    pub(in crate::capi) max_pend_req: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rearr_opt_t {
    pub(in crate::capi) comm_type: c_int,
    pub(in crate::capi) fcd: c_int,
    pub(in crate::capi) comp2io: rearr_comm_fc_opt_t,
    pub(in crate::capi) io2comp: rearr_comm_fc_opt_t,
}

impl rearr_opt_t {
    /// Handshake, isend and pending requests of each direction.
    pub(in crate::capi) fn new(
        comm_type: c_int,
        fcd: c_int,
        comp2io: (c_bool, c_bool, c_int),
        io2comp: (c_bool, c_bool, c_int),
    ) -> Self {
        let control = |(hs, isend, max_pend_req)| rearr_comm_fc_opt_t {
            hs,
            isend,
            max_pend_req,
        };
        Self {
            comm_type,
            fcd,
            comp2io: control(comp2io),
            io2comp: control(io2comp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_structs_are_laid_out_as_in_c() {
        assert_eq!(size_of::<rearr_comm_fc_opt_t>(), 8);
        assert_eq!(offset_of!(rearr_comm_fc_opt_t, max_pend_req), 4);
        assert_eq!(offset_of!(rearr_opt_t, io2comp), 16);
        assert_eq!(size_of::<rearr_opt_t>(), 24);
    }
}
