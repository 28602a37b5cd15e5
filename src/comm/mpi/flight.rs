//! Non-blocking messages: all pieces are started, then all are completed, whatever fails.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

use mpi_sys::{self as ffi, MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status};

use super::failure::Place;
use super::{MpiComm, SUCCESS, bytes_type, class_of, count_of, is_running, no_status};
use crate::comm::{Buffer, Error, Result, Tag, Underway};

/// One piece of an expected message.
struct Incoming {
    message: usize,
    from: usize,
    /// Bytes of the whole message, of which this piece is `range`.
    expected: usize,
    range: Range<usize>,
}

impl Incoming {
    /// Checks a completed receive: that it succeeded and brought what was expected.
    fn judge(&self, place: Place, code: c_int, status: &MPI_Status) -> Result<()> {
        let too_long = class_of(code) == ffi::MPI_ERR_TRUNCATE as c_int;
        if code != SUCCESS && !too_long {
            return place.check("MPI_Wait", code);
        }
        let got = self.range.start + count_of(status)?;
        if too_long && got <= self.range.end {
            // This MPI does not tell how long the message was.
            return place.check("MPI_Wait", code);
        }
        if got == self.range.end {
            return Ok(());
        }
        Err(Error::Length {
            from: self.from,
            expected: self.expected,
            got,
        })
    }
}

struct Request {
    handle: MPI_Request,
    place: Place,
    incoming: Option<Incoming>,
}

type Send = unsafe extern "C" fn(
    *const c_void,
    c_int,
    MPI_Datatype,
    c_int,
    c_int,
    MPI_Comm,
    *mut MPI_Request,
) -> c_int;

/// The requests of one transfer and its first failure.
pub(super) struct Flight {
    requests: Vec<Request>,
    outcome: Result<()>,
    /// A message of which a piece failed: the rest of it may never come.
    failed: Option<usize>,
}

impl Flight {
    pub(super) fn new(messages: usize) -> Self {
        Self {
            requests: Vec::with_capacity(messages),
            outcome: Ok(()),
            failed: None,
        }
    }

    pub(super) fn note(&mut self, result: Result<()>) {
        if self.outcome.is_ok() {
            self.outcome = result;
        }
    }

    pub(super) fn start_recv(
        &mut self,
        on: &MpiComm,
        tag: Tag,
        message: usize,
        from: usize,
        bytes: &mut [u8],
    ) -> Result<()> {
        let (expected, comm) = (bytes.len(), on.live()?);
        for range in on.pieces(expected) {
            let piece = &mut bytes[range.clone()];
            let (data, count) = (piece.as_mut_ptr().cast(), piece.len() as c_int);
            let mut handle = null_request();
            // SAFETY: `piece` is borrowed by a transfer, or owned by a journey, until the request has ended.
            on.check("MPI_Irecv", unsafe {
                let (bytes, from) = (bytes_type(), from as c_int);
                ffi::MPI_Irecv(data, count, bytes, from, tag, comm, &mut handle)
            })?;
            let incoming = Some(Incoming {
                message,
                from,
                expected,
                range,
            });
            self.requests.push(Request {
                handle,
                place: Place::of(on),
                incoming,
            });
        }
        Ok(())
    }

    pub(super) fn start_send(
        &mut self,
        on: &MpiComm,
        tag: Tag,
        to: usize,
        bytes: &[u8],
    ) -> Result<()> {
        self.start_send_by(("MPI_Isend", ffi::MPI_Isend), on, tag, to, bytes)
    }

    /// A send that is complete only when the message is being received.
    pub(super) fn start_synchronous_send(
        &mut self,
        on: &MpiComm,
        tag: Tag,
        to: usize,
        bytes: &[u8],
    ) -> Result<()> {
        self.start_send_by(("MPI_Issend", ffi::MPI_Issend), on, tag, to, bytes)
    }

    fn start_send_by(
        &mut self,
        (call, send): (&'static str, Send),
        on: &MpiComm,
        tag: Tag,
        to: usize,
        bytes: &[u8],
    ) -> Result<()> {
        let comm = on.live()?;
        for range in on.pieces(bytes.len()) {
            let piece = &bytes[range];
            let (data, count) = (piece.as_ptr().cast(), piece.len() as c_int);
            let mut handle = null_request();
            // SAFETY: `piece` is borrowed by a transfer, or owned by a journey, until the request has ended.
            on.check(call, unsafe {
                let (bytes, to) = (bytes_type(), to as c_int);
                send(data, count, bytes, to, tag, comm, &mut handle)
            })?;
            let incoming = None;
            self.requests.push(Request {
                handle,
                place: Place::of(on),
                incoming,
            });
        }
        Ok(())
    }

    pub(super) fn under_way(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.outcome.is_err()
    }

    /// Completes all requests, one by one: MPI moves the others on while it waits for one.
    pub(super) fn finish(mut self) -> Result<()> {
        self.land()
    }

    fn land(&mut self) -> Result<()> {
        self.abandon_after_mpi();
        for mut request in std::mem::take(&mut self.requests) {
            let message = request.message();
            if message.is_some() && message == self.failed {
                request.call_off();
                continue;
            }
            let ended = request.wait();
            self.end(message, ended);
        }
        std::mem::replace(&mut self.outcome, Ok(()))
    }

    /// What MPI_Finalize has left of requests that were under way can be neither waited for nor freed.
    fn abandon_after_mpi(&mut self) {
        if !self.requests.is_empty() && !is_running() {
            self.requests.clear();
            self.note(Err(Error::NotRunning));
        }
    }

    fn end(&mut self, message: Option<usize>, ended: Result<()>) {
        if ended.is_err() {
            self.failed = message;
        }
        self.note(ended);
    }

    /// Moves all requests on; true when none is left to wait for, or one has failed.
    pub(super) fn has_landed(&mut self) -> bool {
        self.abandon_after_mpi();
        for mut request in std::mem::take(&mut self.requests) {
            match request.test() {
                Some(ended) => self.end(request.message(), ended),
                None => self.requests.push(request),
            }
        }
        self.requests.is_empty() || self.outcome.is_err()
    }
}

/// A flight that owns its buffers. They are not touched before it has ended, and not freed either if it
/// is forgotten.
pub struct Journey<B> {
    /// The first to be dropped.
    flight: Flight,
    sent: Vec<Arc<B>>,
    received: Vec<B>,
}

impl<B: Buffer> Journey<B> {
    pub(super) fn with(messages: usize) -> Journey<B> {
        Journey {
            flight: Flight::new(messages),
            sent: Vec::new(),
            received: Vec::new(),
        }
    }

    pub(super) fn receive(&mut self, on: &MpiComm, tag: Tag, from: usize, mut bytes: B) {
        let message = self.received.len();
        let started = self
            .flight
            .start_recv(on, tag, message, from, bytes.as_mut());
        self.flight.note(started);
        self.received.push(bytes);
    }

    pub(super) fn send(&mut self, on: &MpiComm, tag: Tag, to: usize, bytes: Arc<B>) {
        let started = self.flight.start_send(on, tag, to, (*bytes).as_ref());
        self.flight.note(started);
        self.sent.push(bytes);
    }
}

impl<B: Buffer> Underway<B> for Journey<B> {
    fn is_done(&mut self) -> bool {
        self.flight.has_landed()
    }

    fn finish(mut self) -> Result<Vec<B>> {
        let ended = self.flight.land();
        ended.map(|()| std::mem::take(&mut self.received))
    }
}

/// A buffer must not be given up before its requests have ended.
impl Drop for Flight {
    fn drop(&mut self) {
        let _ = self.land();
    }
}

impl Request {
    fn message(&self) -> Option<usize> {
        self.incoming.as_ref().map(|incoming| incoming.message)
    }

    fn wait(&mut self) -> Result<()> {
        let mut status = no_status();
        // SAFETY: the request is active and its buffer still borrowed by the transfer.
        let code = unsafe { ffi::MPI_Wait(&mut self.handle, &mut status) };
        self.judge(code, &status)
    }

    /// `None` while it is under way.
    fn test(&mut self) -> Option<Result<()>> {
        let (mut status, mut ended) = (no_status(), 0);
        // SAFETY: the request is active and its buffer still owned by the journey.
        let code = unsafe { ffi::MPI_Test(&mut self.handle, &mut ended, &mut status) };
        (ended != 0 || code != SUCCESS).then(|| self.judge(code, &status))
    }

    fn judge(&self, code: c_int, status: &MPI_Status) -> Result<()> {
        match &self.incoming {
            Some(incoming) => incoming.judge(self.place, code, status),
            None => self.place.check("MPI_Wait", code),
        }
    }

    /// Ends a receive whose message is already known to be wrong; what comes of it is of no interest.
    fn call_off(&mut self) {
        // SAFETY: the request is active; the wait below completes it.
        let _ = unsafe { ffi::MPI_Cancel(&mut self.handle) };
        let mut status = no_status();
        // SAFETY: as in `wait`.
        let _ = unsafe { ffi::MPI_Wait(&mut self.handle, &mut status) };
    }
}

/// The handle of no request.
pub fn null_request() -> MPI_Request {
    // SAFETY: a constant of the MPI shim, never written.
    unsafe { ffi::RSMPI_REQUEST_NULL }
}
