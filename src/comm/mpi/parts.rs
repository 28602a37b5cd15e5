//! Messages whose parts are as long as their senders like.

use std::ffi::c_int;
use std::thread;

use mpi_sys::{self as ffi, MPI_Message};

use super::{MpiComm, count_of, no_status};
use crate::comm::{Result, Tag, check_part};

impl MpiComm {
    /// As [`crate::comm::Comm::recv_in_parts`], from whoever has a part.
    pub(super) fn receive_parts(&self, tag: Tag, recvs: &mut [(usize, &mut [u8])]) -> Result<()> {
        let mut open: Vec<_> = recvs
            .iter_mut()
            .map(|(from, bytes)| (*from, bytes, 0))
            .collect();
        open.retain(|(_, bytes, _)| !bytes.is_empty());
        let mut verdict = Ok(());
        while !open.is_empty() {
            let mut idle = true;
            for (from, bytes, got) in &mut open {
                match self.next_part(*from, tag, bytes, *got) {
                    Ok(0) => continue,
                    Ok(length) => *got += length,
                    // Other senders wait until their parts are taken.
                    Err(error) => {
                        *got = bytes.len();
                        verdict = verdict.and(Err(error));
                    }
                }
                idle = false;
            }
            open.retain(|(_, bytes, got)| *got < bytes.len());
            if idle {
                thread::yield_now();
            }
        }
        verdict
    }

    /// Puts a part that has come behind what is there, and returns its length; 0 if none has.
    fn next_part(&self, from: usize, tag: Tag, bytes: &mut [u8], got: usize) -> Result<usize> {
        let Some((message, length)) = self.look_for(from, tag)? else {
            return Ok(0);
        };
        check_part(from, bytes.len(), got, length)?;
        self.take(message, &mut bytes[got..got + length])?;
        Ok(length)
    }

    /// A message that has come, and its length.
    fn look_for(&self, from: usize, tag: Tag) -> Result<Option<(MPI_Message, usize)>> {
        // SAFETY: a constant of the MPI shim, never written.
        let mut message = unsafe { ffi::RSMPI_MESSAGE_NULL };
        let (mut status, mut there) = (no_status(), 0);
        // SAFETY: all that is written to is ours.
        self.check("MPI_Improbe", unsafe {
            let from = from as c_int;
            ffi::MPI_Improbe(from, tag, self.comm, &mut there, &mut message, &mut status)
        })?;
        Ok(match there {
            0 => None,
            _ => Some((message, count_of(&status)?)),
        })
    }
}
