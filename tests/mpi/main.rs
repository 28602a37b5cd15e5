//! `comm::mpi` on the real MPI, with as many ranks as it is started with: alone by `cargo test --test mpi`, or under
//! mpiexec. All ranks run all cases in order; a rank that fails one aborts the job, and an alarm ends one that hangs.

mod communicators;
mod finalized;
mod messages;
mod objects;
mod sparse;

use std::process::ExitCode;

use mpi_sys as ffi;
use stanchion::comm::Comm;
use stanchion::comm::mpi::{MPI_Comm, MpiComm, is_running};

const PATIENCE_SECONDS: u32 = 120;

/// Long enough for the rendezvous protocol: the sender waits until the message is received.
const LONG: usize = 1 << 20;

fn world() -> MPI_Comm {
    // SAFETY: a constant of the MPI shim, never written.
    unsafe { ffi::RSMPI_COMM_WORLD }
}

/// A communicator of the user, which the caller frees.
fn duplicate(comm: MPI_Comm) -> MPI_Comm {
    let mut copy = comm;
    // SAFETY: `comm` is valid; `copy` is ours to write.
    assert_eq!(unsafe { ffi::MPI_Comm_dup(comm, &mut copy) }, 0);
    copy
}

fn free(mut comm: MPI_Comm) {
    // SAFETY: valid, and not used again.
    assert_eq!(unsafe { ffi::MPI_Comm_free(&mut comm) }, 0);
}

/// The private duplicate of the world, which splits messages into chunks of a few bytes.
fn private() -> MpiComm {
    MpiComm::private(world()).unwrap().with_chunk(7)
}

fn bytes(rank: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 31 + rank * 7 + 1) as u8)
        .collect()
}

/// The ranks before and after this one.
fn neighbours(comm: &MpiComm) -> (usize, usize) {
    let (rank, size) = (comm.rank(), comm.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

fn main() -> ExitCode {
    // SAFETY: without a handler the alarm ends the process.
    unsafe { libc::alarm(PATIENCE_SECONDS) };
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        if is_running() {
            // SAFETY: MPI is running.
            unsafe { ffi::MPI_Abort(world(), 1) };
        }
    }));
    assert!(!is_running());
    // SAFETY: called once, with no arguments, before any other call of MPI.
    unsafe { ffi::MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()) };
    messages::run();
    sparse::run();
    communicators::run();
    objects::run();
    let survivors = finalized::Survivors::new();
    // SAFETY: called once, after everything else.
    unsafe { ffi::MPI_Finalize() };
    survivors.check();
    ExitCode::SUCCESS
}
