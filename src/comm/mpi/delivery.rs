//! Messages to ranks that do not know who will write to them.
//!
//! Every rank sends synchronously, takes in whatever comes, and enters a non-blocking barrier once its own
//! messages have been taken. When the barrier is over, all messages of all ranks have been. So the cost
//! grows with the number of messages, and only with the logarithm of the number of ranks. The tag changes
//! from one delivery to the next: a rank that is still in this one may hear from one that is in the next.

use std::ffi::c_int;
use std::sync::atomic::Ordering;
use std::thread;

use mpi_sys::{self as ffi, MPI_Request};

use super::flight::{Flight, null_request};
use super::{MpiComm, no_status};
use crate::comm::{Error, Result, Tag};

/// A message in pieces, the last of which is shorter than a piece can be.
struct Parcel {
    from: usize,
    bytes: Vec<u8>,
    complete: bool,
}

impl MpiComm {
    /// As [`crate::comm::Comm::deliver`].
    pub(super) fn deliver_sparsely(
        &self,
        tag: Tag,
        messages: Vec<(usize, Vec<u8>)>,
    ) -> Result<Vec<(usize, Vec<u8>)>> {
        let tag = tag + self.deliveries.fetch_xor(1, Ordering::Relaxed);
        let (own, others): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|(to, _)| *to == self.rank);
        let mut flight = Flight::new(others.len());
        for (to, bytes) in &others {
            let started = flight.start_synchronous_send(self, tag, *to, bytes);
            flight.note(started);
            if !bytes.is_empty() && bytes.len() % self.piece == 0 {
                let started = flight.start_synchronous_send(self, tag, *to, &[]);
                flight.note(started);
            }
        }
        let taken = self.take_parcels(tag, &mut flight);
        flight.finish()?;
        let mut taken: Vec<_> = taken?.into_iter().map(|p| (p.from, p.bytes)).collect();
        taken.extend(own);
        taken.sort_by_key(|(from, _)| *from);
        Ok(taken)
    }

    /// Takes messages until all of all ranks have been taken, although there may be no memory for one: the others wait
    /// for that.
    fn take_parcels(&self, tag: Tag, flight: &mut Flight) -> Result<Vec<Parcel>> {
        let mut parcels: Vec<Parcel> = Vec::new();
        let mut barrier: Option<MPI_Request> = None;
        let mut lacking = None;
        loop {
            let found = match self.take_piece(tag, &mut parcels) {
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
                return lacking.map_or(Ok(parcels), Err);
            }
            if barrier.is_none() && flight.has_landed() {
                barrier = Some(self.start_barrier()?);
            } else if !found {
                thread::yield_now();
            }
        }
    }

    /// Takes one piece if there is one.
    fn take_piece(&self, tag: Tag, parcels: &mut Vec<Parcel>) -> Result<bool> {
        let Some(message) = self.look_for(None, tag)? else {
            return Ok(false);
        };
        let (from, length) = (message.from(), message.length());
        let open = parcels.iter().rposition(|p| p.from == from && !p.complete);
        let at = open.unwrap_or(parcels.len());
        if open.is_none() {
            parcels.push(Parcel {
                from,
                bytes: Vec::new(),
                complete: false,
            });
        }
        let parcel = &mut parcels[at];
        let start = parcel.bytes.len();
        parcel.complete = length < self.piece;
        let space = parcel.bytes.try_reserve(length);
        space.map_err(|_| Error::NoMemory(length as u64))?;
        parcel.bytes.resize(start + length, 0);
        message.receive(&mut parcel.bytes[start..])?;
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
