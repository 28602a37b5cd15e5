//! `kvtree_mpi.h`: trees between the ranks of a communicator.
//!
//! Point-to-point calls run on the caller's communicator, since they have no collective moment in
//! which a private one could be made; collective calls run on its private duplicate.

use super::kvtree::{edit, status};
use super::ptr;
use crate::comm::mpi::{MPI_Comm, MpiComm, is_proc_null};
use crate::comm::{Comm, Error as CommError};
use crate::kvtree::exchange::{self, Direction};
use crate::kvtree::{RawTree as kvtree, Result, TreeMut, TreeRef, gather};
use std::ffi::{c_char, c_int};

#[allow(non_camel_case_types)]
pub type kvtree_exchange_enum = std::ffi::c_uint;
const KVTREE_EXCHANGE_LEFT: kvtree_exchange_enum = 1;

fn peer(comm: &impl Comm, rank: c_int) -> Result<usize> {
    let in_range = usize::try_from(rank).ok().filter(|&r| r < comm.size());
    Ok(in_range.ok_or(CommError::NoSuchRank {
        rank: rank.into(),
        size: comm.size(),
    })?)
}

/// Sends the tree to `rank`, which calls kvtree_recv. Nothing is sent to MPI_PROC_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_send(hash: *const kvtree, rank: c_int, comm: MPI_Comm) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let comm = MpiComm::borrowed(comm)?;
        if is_proc_null(rank) {
            return Ok(());
        }
        exchange::send(&*comm, peer(&*comm, rank)?, TreeRef::from_raw(hash))
    })
}

/// Receives the tree that `rank` sends; what `hash` held is deleted. From MPI_PROC_NULL comes an empty
/// tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_recv(hash: *mut kvtree, rank: c_int, comm: MPI_Comm) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let comm = MpiComm::borrowed(comm)?;
        let mut into = edit(hash)?;
        if is_proc_null(rank) {
            into.clear();
            return Ok(());
        }
        exchange::recv(&*comm, peer(&*comm, rank)?, into)
    })
}

/// Sends one tree and receives another at the same time; either rank may be MPI_PROC_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_sendrecv(
    hash_send: *const kvtree,
    rank_send: c_int,
    hash_recv: *mut kvtree,
    rank_recv: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let comm = MpiComm::borrowed(comm)?;
        let outgoing = match is_proc_null(rank_send) {
            true => None,
            false => Some((peer(&*comm, rank_send)?, TreeRef::from_raw(hash_send))),
        };
        let incoming = match is_proc_null(rank_recv) {
            true => None,
            false => Some((peer(&*comm, rank_recv)?, edit(hash_recv)?)),
        };
        exchange::sendrecv(&*comm, outgoing, incoming)
    })
}

/// Gives the tree of `root` to all other ranks; what `hash` held there is deleted.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code. They must name the same root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_bcast(hash: *mut kvtree, root: c_int, comm: MPI_Comm) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let comm = MpiComm::private(comm)?;
        exchange::bcast(&comm, root.into(), TreeMut::from_raw(hash))
    })
}

/// Adds `msg` to what `send_hash` holds for `rank`, for a later kvtree_exchange.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_exchange_sendq(
    send_hash: *mut kvtree,
    rank: c_int,
    msg: *const kvtree,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let message = TreeRef::from_raw(msg);
        exchange::enqueue(&mut edit(send_hash)?, rank, message)
    })
}

/// Sends what stands below each rank's number in `hash_send` to that rank; what a rank sent to this one
/// is merged into `hash_recv` below that rank's number.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_exchange(
    hash_send: *const kvtree,
    hash_recv: *mut kvtree,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let comm = MpiComm::private(comm)?;
        exchange::exchange(
            &comm,
            TreeRef::from_raw(hash_send),
            TreeMut::from_raw(hash_recv),
        )
    })
}

/// As kvtree_exchange; `direction` only decides in which order received trees stand.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_exchange_direction(
    hash_send: *const kvtree,
    hash_recv: *mut kvtree,
    comm: MPI_Comm,
    direction: kvtree_exchange_enum,
) -> c_int {
    let direction = match direction {
        KVTREE_EXCHANGE_LEFT => Direction::Left,
        _ => Direction::Right,
    };
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let comm = MpiComm::private(comm)?;
        let outgoing = TreeRef::from_raw(hash_send);
        exchange::exchange_direction(&comm, outgoing, TreeMut::from_raw(hash_recv), direction)
    })
}

/// Writes the trees of all ranks to a few files whose names begin with `prefix`.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code. Files that an earlier call wrote
/// under the same prefix are replaced only after all ranks have written theirs to the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_write_gather(
    prefix: *const c_char,
    data: *mut kvtree,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let comm = MpiComm::private(comm)?;
        gather::write_gather(&comm, ptr::path(prefix), TreeRef::from_raw(data))
    })
}

/// Reads what kvtree_write_gather wrote on as many ranks; each rank's own is merged into its `data`.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvtree_read_scatter(
    prefix: *const c_char,
    data: *mut kvtree,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let comm = MpiComm::private(comm)?;
        gather::read_scatter(&comm, ptr::path(prefix), TreeMut::from_raw(data))
    })
}
