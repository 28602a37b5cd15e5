//! Matched probes: the length of a message is known before it is received, since one that is longer than its buffer makes
//! some MPIs write past the end.
//!
//! No other receive can take a matched message, and its sender may wait: an unwanted one is received and discarded when
//! it is dropped, even if there is no memory for it.

use std::ffi::c_int;

use mpi_sys::{self as ffi, MPI_Datatype, MPI_Message, MPI_Status};

use super::{MpiComm, bytes_type, check, count_of, no_status};
use crate::comm::{Result, Tag};
use crate::pages;

/// Bytes of the buffer into which an unwanted message is folded.
const FOLD: usize = 4096;

pub(super) struct Matched<'a> {
    on: &'a MpiComm,
    message: MPI_Message,
    from: usize,
    length: usize,
}

impl MpiComm {
    /// Waits for a message.
    pub(super) fn wait_for(&self, from: usize, tag: Tag) -> Result<Matched<'_>> {
        let (mut message, mut status) = (no_message(), no_status());
        let comm = self.live()?;
        // SAFETY: `message` and `status` are ours to write.
        self.check("MPI_Mprobe", unsafe {
            ffi::MPI_Mprobe(from as c_int, tag, comm, &mut message, &mut status)
        })?;
        Matched::new(self, message, &status)
    }

    /// A message that has arrived, from `from` or from any rank.
    pub(super) fn look_for(&self, from: Option<usize>, tag: Tag) -> Result<Option<Matched<'_>>> {
        // SAFETY: a constant of the MPI shim, never written.
        let from = from.map_or(unsafe { ffi::RSMPI_ANY_SOURCE }, |from| from as c_int);
        let (mut message, mut status, mut there) = (no_message(), no_status(), 0);
        let comm = self.live()?;
        // SAFETY: all that is written to is ours.
        self.check("MPI_Improbe", unsafe {
            ffi::MPI_Improbe(from, tag, comm, &mut there, &mut message, &mut status)
        })?;
        match there {
            0 => Ok(None),
            _ => Matched::new(self, message, &status).map(Some),
        }
    }
}

impl<'a> Matched<'a> {
    /// A message of unknown length is not received: no buffer would be known to be long enough.
    fn new(on: &'a MpiComm, message: MPI_Message, status: &MPI_Status) -> Result<Self> {
        Ok(Self {
            on,
            message,
            from: status.MPI_SOURCE as usize,
            length: count_of(status)?,
        })
    }

    pub(super) fn from(&self) -> usize {
        self.from
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Receives it into a buffer of its length.
    pub(super) fn receive(mut self, into: &mut [u8]) -> Result<()> {
        self.take(into)
    }

    fn take(&mut self, into: &mut [u8]) -> Result<()> {
        debug_assert_eq!(into.len(), self.length);
        // SAFETY: so many bytes.
        unsafe { self.receive_as(into.as_mut_ptr(), into.len() as c_int, bytes_type()) }
    }

    /// # Safety
    /// `into` is valid for that, for at least as many bytes as the message has.
    unsafe fn receive_as(&mut self, into: *mut u8, count: c_int, kind: MPI_Datatype) -> Result<()> {
        let mut status = no_status();
        let mut message = std::mem::replace(&mut self.message, no_message());
        // SAFETY: promised by the caller; `message` is used once.
        self.on.check("MPI_Mrecv", unsafe {
            ffi::MPI_Mrecv(into.cast(), count, kind, &mut message, &mut status)
        })
    }

    /// Receives it into one block, over and over, by a datatype whose blocks overlap: into a buffer that is too short some
    /// MPIs write past the end. The result is unspecified, and not read.
    fn fold(&mut self) -> Result<()> {
        let mut block = [0; FOLD];
        let folded = Folded::new(self.length.div_ceil(FOLD))?;
        // SAFETY: all blocks of the type are this one, and they have room for the message.
        unsafe { self.receive_as(block.as_mut_ptr(), 1, folded.0) }
    }
}

/// A datatype of blocks at the same address.
struct Folded(MPI_Datatype);

impl Folded {
    fn new(blocks: usize) -> Result<Folded> {
        let mut kind = bytes_type();
        // SAFETY: `kind` is ours to write.
        check("MPI_Type_create_hvector", unsafe {
            ffi::MPI_Type_create_hvector(blocks as c_int, FOLD as c_int, 0, bytes_type(), &mut kind)
        })?;
        let mut folded = Folded(kind);
        // SAFETY: made above.
        check("MPI_Type_commit", unsafe {
            ffi::MPI_Type_commit(&mut folded.0)
        })?;
        Ok(folded)
    }
}

impl Drop for Folded {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        unsafe { ffi::MPI_Type_free(&mut self.0) };
    }
}

impl Drop for Matched<'_> {
    fn drop(&mut self) {
        if self.message == no_message() || !super::is_running() {
            return;
        }
        let _ = match pages::zeroed(self.length) {
            Some(mut unwanted) => self.take(&mut unwanted),
            None => self.fold(),
        };
    }
}

fn no_message() -> MPI_Message {
    // SAFETY: a constant of the MPI shim, never written.
    unsafe { ffi::RSMPI_MESSAGE_NULL }
}
