//! Messages whose parts are as long as their senders like.

use std::thread;

use super::MpiComm;
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
        let Some(part) = self.look_for(Some(from), tag)? else {
            return Ok(0);
        };
        let length = part.length();
        check_part(from, bytes.len(), got, length)?;
        part.receive(&mut bytes[got..got + length])?;
        Ok(length)
    }
}
