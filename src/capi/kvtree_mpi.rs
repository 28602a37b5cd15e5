//! `kvtree_mpi.h`: trees between the ranks of a communicator.
//!
//! Point-to-point calls run on the caller's communicator: duplicating it would be collective. Collective calls run on
//! its private duplicate.

use super::boundary::{In, InOut, Text};
use super::kvtree::{kvtree, status};
use crate::comm::mpi::{MPI_Comm, MpiComm, is_proc_null};
use crate::comm::{Comm, Error as CommError};
use crate::kvtree::exchange::{self, Direction};
use crate::kvtree::{Result, TreeMut, gather};
use std::ffi::c_int;

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

/// Sends the tree to `rank`, which calls kvtree_recv. To MPI_PROC_NULL it sends nothing.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_send(hash: In<kvtree>, rank: c_int, comm: MPI_Comm) -> c_int {
    status(|| {
        let comm = MpiComm::borrowed(comm)?;
        if is_proc_null(rank) {
            return Ok(());
        }
        exchange::send(&*comm, peer(&*comm, rank)?, hash.tree())
    })
}

/// Replaces `hash` by the tree that `rank` sends. From MPI_PROC_NULL comes an empty tree.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_recv(hash: InOut<kvtree>, rank: c_int, comm: MPI_Comm) -> c_int {
    status(|| {
        let comm = MpiComm::borrowed(comm)?;
        let mut into = hash.needed()?;
        if is_proc_null(rank) {
            into.clear();
            return Ok(());
        }
        exchange::recv(&*comm, peer(&*comm, rank)?, into)
    })
}

/// Sends one tree and receives another at the same time. Either rank may be MPI_PROC_NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_sendrecv(
    hash_send: In<kvtree>,
    rank_send: c_int,
    hash_recv: InOut<kvtree>,
    rank_recv: c_int,
    comm: MPI_Comm,
) -> c_int {
    status(|| {
        let comm = MpiComm::borrowed(comm)?;
        let outgoing = match is_proc_null(rank_send) {
            true => None,
            false => Some((peer(&*comm, rank_send)?, hash_send.tree())),
        };
        let incoming = match is_proc_null(rank_recv) {
            true => None,
            false => Some((peer(&*comm, rank_recv)?, hash_recv.needed()?)),
        };
        exchange::sendrecv(&*comm, outgoing, incoming)
    })
}

/// Broadcasts the tree of `root`: it replaces `hash` on all other ranks.
///
/// # Collective
/// Called by all ranks of `comm` with the same root; all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_bcast(hash: InOut<kvtree>, root: c_int, comm: MPI_Comm) -> c_int {
    status(|| {
        let comm = MpiComm::private(comm)?;
        exchange::bcast(&comm, root.into(), hash.tree())
    })
}

/// Adds `msg` to what `send_hash` holds for `rank`, for a later kvtree_exchange.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_exchange_sendq(
    send_hash: InOut<kvtree>,
    rank: c_int,
    msg: In<kvtree>,
) -> c_int {
    status(|| exchange::enqueue(&mut send_hash.needed()?, rank, msg.tree()))
}

/// Sends the tree below each rank's number in `hash_send` to that rank, and merges what other ranks sent to this one
/// into `hash_recv` below their numbers.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_exchange(
    hash_send: In<kvtree>,
    hash_recv: InOut<kvtree>,
    comm: MPI_Comm,
) -> c_int {
    status(|| {
        let comm = MpiComm::private(comm)?;
        exchange::exchange(&comm, hash_send.tree(), hash_recv.tree())
    })
}

/// As kvtree_exchange; `direction` only decides the order of the received trees.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_exchange_direction(
    hash_send: In<kvtree>,
    hash_recv: InOut<kvtree>,
    comm: MPI_Comm,
    direction: kvtree_exchange_enum,
) -> c_int {
    let direction = match direction {
        KVTREE_EXCHANGE_LEFT => Direction::Left,
        _ => Direction::Right,
    };
    status(|| {
        let comm = MpiComm::private(comm)?;
        exchange::exchange_direction(&comm, hash_send.tree(), hash_recv.tree(), direction)
    })
}

/// Writes the trees of all ranks to a few files whose names begin with `prefix`.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code. Files of an earlier call with the same prefix are
/// replaced only after all ranks have synced theirs.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_write_gather(prefix: Text, data: InOut<kvtree>, comm: MPI_Comm) -> c_int {
    status(|| {
        let comm = MpiComm::private(comm)?;
        let tree = data.tree();
        gather::write_gather(&comm, prefix.path(), tree.as_ref().map(TreeMut::view))
    })
}

/// Reads what kvtree_write_gather wrote on as many ranks, and merges each rank's tree into its `data`.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_read_scatter(prefix: Text, data: InOut<kvtree>, comm: MPI_Comm) -> c_int {
    status(|| {
        let comm = MpiComm::private(comm)?;
        gather::read_scatter(&comm, prefix.path(), data.tree())
    })
}
