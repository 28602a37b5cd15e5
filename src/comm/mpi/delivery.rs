//! Messages to ranks that do not know their senders: the NBX algorithm (Hoefler, Siebert, Lumsdaine 2010).
//!
//! Every rank sends synchronously, receives whatever arrives, and enters a non-blocking barrier once its own
//! messages have been received. When the barrier completes, all messages of all ranks have been. So the cost
//! grows with the number of messages, and only with the logarithm of the number of ranks. The tag alternates
//! between deliveries: a rank that is still in this one may receive from one that is in the next.

use std::ffi::c_int;
use std::sync::atomic::Ordering;
use std::thread;

use mpi_sys::{self as ffi, MPI_Request};

use super::requests::{Requests, null_request};
use super::{MpiComm, no_status};
use crate::comm::{Error, Result, Tag};

/// A message in chunks, the last of which is not full.
struct Arrival {
    from: usize,
    bytes: Vec<u8>,
    complete: bool,
}

impl MpiComm {
    /// As [`crate::comm::Sparse::deliver`].
    pub(super) fn deliver_sparsely(
        &self,
        tag: Tag,
        messages: Vec<(usize, Vec<u8>)>,
    ) -> Result<Vec<(usize, Vec<u8>)>> {
        let tag = tag + self.deliveries.fetch_xor(1, Ordering::Relaxed);
        let (own, others): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|(to, _)| *to == self.rank);
        let mut sends = Requests::new(others.len());
        for (to, bytes) in &others {
            sends.send_synchronously(self, tag, *to, bytes);
            if !bytes.is_empty() && bytes.len() % self.chunk == 0 {
                sends.send_synchronously(self, tag, *to, &[]);
            }
        }
        let arrived = self.receive_all(tag, &mut sends);
        sends.finish()?;
        let mut all: Vec<_> = arrived?.into_iter().map(|a| (a.from, a.bytes)).collect();
        all.extend(own);
        all.sort_by_key(|(from, _)| *from);
        Ok(all)
    }

    /// Receives until all messages of all ranks have been received, also after memory has run out for one: the senders of
    /// the others wait.
    fn receive_all(&self, tag: Tag, sends: &mut Requests) -> Result<Vec<Arrival>> {
        let mut arrivals: Vec<Arrival> = Vec::new();
        let mut barrier: Option<MPI_Request> = None;
        let mut lacking = None;
        loop {
            let found = match self.receive_chunk(tag, &mut arrivals) {
                Err(error @ Error::NoMemory(_)) => {
                    lacking = Some(error);
                    true
                }
                taken => taken?,
            };
            let ended = match &mut barrier {
                Some(barrier) => self.has_ended(barrier)?,
                None => false,
            };
            if ended {
                return lacking.map_or(Ok(arrivals), Err);
            }
            if barrier.is_none() && sends.is_done() {
                barrier = Some(self.start_barrier()?);
            } else if !found {
                thread::yield_now();
            }
        }
    }

    /// Receives one chunk if there is one.
    fn receive_chunk(&self, tag: Tag, arrivals: &mut Vec<Arrival>) -> Result<bool> {
        let Some(message) = self.look_for(None, tag)? else {
            return Ok(false);
        };
        let (from, length) = (message.from(), message.length());
        let open = arrivals.iter().rposition(|a| a.from == from && !a.complete);
        let at = open.unwrap_or(arrivals.len());
        if open.is_none() {
            arrivals.push(Arrival {
                from,
                bytes: Vec::new(),
                complete: false,
            });
        }
        let arrival = &mut arrivals[at];
        let start = arrival.bytes.len();
        arrival.complete = length < self.chunk;
        let space = arrival.bytes.try_reserve(length);
        space.map_err(|_| Error::NoMemory(length as u64))?;
        arrival.bytes.resize(start + length, 0);
        message.receive(&mut arrival.bytes[start..])?;
        Ok(true)
    }

    fn start_barrier(&self) -> Result<MPI_Request> {
        let mut request = null_request();
        let comm = self.live()?;
        // SAFETY: `comm` is valid for the life of `self`; `request` is ours to write.
        self.check("MPI_Ibarrier", unsafe {
            ffi::MPI_Ibarrier(comm, &mut request)
        })?;
        Ok(request)
    }

    fn has_ended(&self, request: &mut MPI_Request) -> Result<bool> {
        let (mut ended, mut status): (c_int, _) = (0, no_status());
        // SAFETY: the request is active; `ended` and `status` are ours to write.
        self.check("MPI_Test", unsafe {
            ffi::MPI_Test(request, &mut ended, &mut status)
        })?;
        Ok(ended != 0)
    }
}
