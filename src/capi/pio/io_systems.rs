//! # I/O systems
//!
//! Their ranks, error handling and settings.

use super::args::any_text;
use super::errors::{self, Handler, PIO_NOERR, number, status};
use super::maps;
use super::registry::{self, System, on_system, same};
use super::types::{c_bool, rearr_comm_fc_opt_t, rearr_opt_t};
use crate::capi::boundary::{InOut, Out, Text};
use crate::capi::guard;
use crate::comm::mpi::{self, MPI_Comm, MpiComm};
use crate::log;
use crate::pio::iosystem::{FlowControl, FlowOptions};
use crate::pio::{Error, IoPlacement, IoSystem, Rearranger, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// The iosysid for I/O systems to come.
const PIO_DEFAULT: c_int = -1;

const PIO_REARR_BOX: c_int = 1;
pub(in crate::capi) const PIO_REARR_SUBSET: c_int = 2;
const PIO_REARR_ANY: c_int = 3;
const PIO_REARR_CONTIG: c_int = 4;

/// `any` is what PIO_REARR_ANY stands for. The NCAR ABI has box and subset only.
pub(in crate::capi) fn rearranger(number: c_int, any: Rearranger) -> Result<Rearranger> {
    match number {
        PIO_REARR_BOX => Ok(Rearranger::Box),
        PIO_REARR_SUBSET => Ok(Rearranger::Subset),
        PIO_REARR_ANY if cfg!(not(feature = "pio_ncar")) => Ok(any),
        PIO_REARR_CONTIG if cfg!(not(feature = "pio_ncar")) => Ok(Rearranger::Box),
        other => Err(Error::Rearranger(other)),
    }
}

// ---- init and finalize ----

/// Makes an I/O system of all ranks of `comp_comm`. Its I/O tasks are `num_iotasks` of them: rank `base` and every
/// `stride`-th after it. `rearr` is the rearranger of decompositions that ask for no other.
///
/// # Returns
/// PIO_NOERR, and the id in `iosysidp`; PIO_EINVAL if so many I/O tasks do not fit.
///
/// # Collective
/// Called by all ranks of `comp_comm`, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_Init_Intracomm(
    comp_comm: MPI_Comm,
    num_iotasks: c_int,
    stride: c_int,
    base: c_int,
    rearr: c_int,
    iosysidp: Out<c_int>,
) -> c_int {
    let tasks = [num_iotasks, stride, base];
    status(|| init(comp_comm, tasks, rearr, None, iosysidp))
}

/// As PIOc_Init_Intracomm with the communicator as Fortran has it, and the options of PIOc_set_rearr_opts unless
/// `rearr_opts` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_Init_Intracomm_from_F90(
    f90_comp_comm: c_int,
    num_iotasks: c_int,
    stride: c_int,
    base: c_int,
    rearr: c_int,
    rearr_opts: InOut<rearr_opt_t>,
    iosysidp: Out<c_int>,
) -> c_int {
    let tasks = [num_iotasks, stride, base];
    status(|| {
        maps::expect_fortran();
        let comm = mpi::comm_of_fortran(f90_comp_comm);
        init(comm, tasks, rearr, rearr_opts.get(), iosysidp)
    })
}

fn init(
    user: MPI_Comm,
    [tasks, stride, base]: [c_int; 3],
    rearr: c_int,
    options: Option<rearr_opt_t>,
    iosysidp: Out<c_int>,
) -> Result<()> {
    let comm = MpiComm::private(user)?;
    let given = rearranger(rearr, Rearranger::Subset).and_then(|rearranger| {
        let placement = IoPlacement {
            tasks: tasks.into(),
            stride: stride.into(),
            base: base.into(),
        };
        let flow = options.map(rearr_opt_t::to_flow).transpose()?;
        match iosysidp.is_null() {
            true => Err(Error::Null("iosysidp")),
            false => Ok((placement, rearranger, flow.unwrap_or_default())),
        }
    });
    let (placement, rearranger, flow) = same(&comm, "I/O systems", given)?;
    let io = IoSystem::new(&comm, placement, rearranger)?;
    io.set_flow(flow);
    iosysidp.set(registry::add_system(io)?);
    Ok(())
}

/// Ends an I/O system: frees its decompositions, and flushes and closes files that are still open.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_finalize(iosysid: c_int) -> c_int {
    on_system(iosysid, finalize)
}

/// As PIOc_finalize.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_free_iosystem(iosysid: c_int) -> c_int {
    PIOc_finalize(iosysid)
}

fn finalize(system: &Arc<System>) -> Result<()> {
    let mut outcome = Ok(());
    for id in registry::files_of(system.id) {
        log!(
            Warning,
            "file {id} of I/O system {} was left open",
            system.id
        );
        let closed = registry::take_file(id).and_then(|open| open.file.close());
        outcome = outcome.and(closed);
    }
    registry::remove_system(system.id);
    outcome
}

// ---- inquiries ----

/// Gets the number of I/O tasks.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_numiotasks(iosysid: c_int, numiotasks: Out<c_int>) -> c_int {
    on_system(iosysid, |system| {
        numiotasks.set(system.io.io_ranks.len() as c_int);
        Ok(())
    })
}

/// Tells whether this rank is an I/O task.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_iam_iotask(iosysid: c_int, ioproc: Out<c_bool>) -> c_int {
    on_system(iosysid, |system| {
        ioproc.set(system.io.io_rank().is_some().into());
        Ok(())
    })
}

/// Gets the number of this rank among the I/O tasks, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_iotask_rank(iosysid: c_int, iorank: Out<c_int>) -> c_int {
    on_system(iosysid, |system| {
        iorank.set(system.io.io_rank().map_or(-1, |rank| rank as c_int));
        Ok(())
    })
}

/// Tells whether there is such an I/O system. Always returns PIO_NOERR.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_iosystem_is_active(iosysid: c_int, active: Out<c_bool>) -> c_int {
    guard(PIO_NOERR, || {
        active.set(registry::system(iosysid).is_ok().into());
        PIO_NOERR
    })
}

/// Returns the id of the I/O system of an open file; PIO_EBADID if there is no such file.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_get_iosystem(ncid: c_int) -> c_int {
    number(|| registry::system_of(ncid).map(|system| system.id))
}

// ---- error handling ----

/// Sets what is done about errors: PIO_INTERNAL_ERROR (a message from the rank that failed), PIO_BCAST_ERROR or
/// PIO_RETURN_ERROR; the code is returned on all ranks in all cases. PIO_DEFAULT as `iosysid` is for I/O systems to come
/// and for calls that belong to none.
///
/// # Returns
/// The previous method; PIO_EBADID or PIO_EINVAL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_Set_IOSystem_Error_Handling(iosysid: c_int, method: c_int) -> c_int {
    number(|| set_handler(iosysid, method))
}

/// As PIOc_Set_IOSystem_Error_Handling, with the previous method in `old_method`, which may be NULL.
///
/// # Returns
/// PIO_NOERR, PIO_EBADID or PIO_EINVAL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_iosystem_error_handling(
    iosysid: c_int,
    method: c_int,
    old_method: Out<c_int>,
) -> c_int {
    let set = || {
        old_method.set(set_handler(iosysid, method)?);
        Ok(())
    };
    match iosysid {
        PIO_DEFAULT => status(set),
        iosysid => on_system(iosysid, |_| set()),
    }
}

fn set_handler(iosysid: c_int, method: c_int) -> Result<c_int> {
    if iosysid == PIO_DEFAULT {
        let handler = Handler::from_number(method)?;
        return Ok(errors::set_default_handler(handler).number());
    }
    let system = registry::system(iosysid)?;
    let handler = Handler::from_number(method)?;
    Ok(system.set_handler(handler).number())
}

/// As PIOc_Set_IOSystem_Error_Handling for the I/O system of an open file.
///
/// # Returns
/// The previous method; PIO_EBADID or PIO_EINVAL.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_Set_File_Error_Handling(ncid: c_int, method: c_int) -> c_int {
    number(|| set_handler(registry::system_of(ncid)?.id, method))
}

// ---- settings ----

/// Sets how data move between ranks and I/O tasks. With PIO_REARR_COMM_P2P, in the directions that `fcd` names, at most
/// `max_pend_req` messages are pending at once (PIO_REARR_COMM_UNLIMITED_PEND_REQ and 0: any number), a sender waits for a
/// handshake (`hs`), and sends do not block (`isend`). Otherwise all messages are pending at once.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_rearr_opts(
    iosysid: c_int,
    comm_type: c_int,
    fcd: c_int,
    enable_hs_c2i: c_bool,
    enable_isend_c2i: c_bool,
    max_pend_req_c2i: c_int,
    enable_hs_i2c: c_bool,
    enable_isend_i2c: c_bool,
    max_pend_req_i2c: c_int,
) -> c_int {
    let options = rearr_opt_t::new(
        comm_type,
        fcd,
        (enable_hs_c2i, enable_isend_c2i, max_pend_req_c2i),
        (enable_hs_i2c, enable_isend_i2c, max_pend_req_i2c),
    );
    match (options.to_flow(), registry::system(iosysid)) {
        // As upstream: wrong options are found before a wrong id.
        (Err(error), Err(_)) => status(|| Err(error)),
        (flow, _) => on_system(iosysid, |system| {
            system
                .io
                .set_flow(system.agree_same("flow controls", flow)?);
            Ok(())
        }),
    }
}

/// Sets a hint of MPI-IO for files that are created or opened from now on. Not collective.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_set_hint(iosysid: c_int, hint: Text, hintval: Text) -> c_int {
    on_system(iosysid, |system| {
        let hint = any_text("hint", hint)?;
        system.set_hint(hint.into(), any_text("hintval", hintval)?.into());
        Ok(())
    })
}

impl rearr_opt_t {
    pub(in crate::capi) fn to_flow(self) -> Result<FlowOptions> {
        const P2P: c_int = 0;
        const COLLECTIVE: c_int = 1;
        /// PIO_REARR_COMM_FC_2D_ENABLE, _1D_COMP2IO, _1D_IO2COMP and _2D_DISABLE.
        const DIRECTIONS: [(bool, bool); 4] =
            [(true, true), (true, false), (false, true), (false, false)];
        let directions = usize::try_from(self.fcd).ok();
        let directions = directions.and_then(|fcd| DIRECTIONS.get(fcd));
        let Some((to_io, to_compute)) = directions else {
            let text = format!("{} is not a direction of flow control", self.fcd);
            return Err(Error::Invalid(text));
        };
        let (comp2io, io2comp) = (self.comp2io.control()?, self.io2comp.control()?);
        match self.comm_type {
            COLLECTIVE => Ok(FlowOptions::default()),
            P2P => Ok(FlowOptions {
                to_io: to_io.then_some(comp2io).unwrap_or_default(),
                to_compute: to_compute.then_some(io2comp).unwrap_or_default(),
            }),
            other => Err(Error::Invalid(format!(
                "{other} is not a type of communication"
            ))),
        }
    }
}

impl rearr_comm_fc_opt_t {
    fn control(&self) -> Result<FlowControl> {
        const UNLIMITED: c_int = -1;
        let pending = match self.max_pend_req {
            UNLIMITED | 0 => None,
            limit => match usize::try_from(limit) {
                Ok(limit) => Some(limit),
                Err(_) => {
                    let text = format!("{limit} messages cannot be under way");
                    return Err(Error::Invalid(text));
                }
            },
        };
        Ok(FlowControl {
            handshake: self.hs != 0,
            nonblocking: self.isend != 0,
            pending,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(comm_type: c_int, fcd: c_int, pending: c_int) -> rearr_opt_t {
        rearr_opt_t::new(comm_type, fcd, (1, 0, pending), (0, 1, 0))
    }

    #[test]
    fn flow_control_is_for_the_directions_that_are_named() {
        let limited = FlowControl {
            handshake: true,
            nonblocking: false,
            pending: Some(64),
        };
        let free = FlowControl::default();
        for (fcd, to_io) in [(0, limited), (1, limited), (2, free), (3, free)] {
            let flow = options(0, fcd, 64).to_flow().unwrap();
            assert_eq!((flow.to_io, flow.to_compute), (to_io, free));
        }
        assert_eq!(options(1, 0, 64).to_flow().unwrap(), FlowOptions::default());
        assert_eq!(options(0, 0, -1).to_flow().unwrap().to_io.pending, None);
    }

    #[test]
    fn wrong_options_are_refused() {
        for (comm_type, fcd, pending) in [(2, 0, 1), (-1, 0, 1), (0, 4, 1), (0, -1, 1), (0, 0, -2)]
        {
            assert!(options(comm_type, fcd, pending).to_flow().is_err());
        }
    }

    #[test]
    fn rearrangers_are_known_by_their_numbers() {
        let known = |number| rearranger(number, Rearranger::Subset).ok();
        assert_eq!(known(1), Some(Rearranger::Box));
        assert_eq!(known(2), Some(Rearranger::Subset));
        assert_eq!(known(0), None);
        let (any, contiguous) = match cfg!(feature = "pio_ncar") {
            true => (None, None),
            false => (Some(Rearranger::Subset), Some(Rearranger::Box)),
        };
        assert_eq!((known(3), known(4)), (any, contiguous));
    }
}
