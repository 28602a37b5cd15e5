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
        while !open.is_empty() {
            let mut idle = true;
            for (from, bytes, got) in &mut open {
                if let Some((message, length)) = self.look_for(*from, tag)? {
                    check_part(*from, bytes.len(), *got, length)?;
                    self.take(message, &mut bytes[*got..*got + length])?;
                    *got += length;
                    idle = false;
                }
            }
            open.retain(|(_, bytes, got)| *got < bytes.len());
            if idle {
                thread::yield_now();
            }
        }
        Ok(())
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
