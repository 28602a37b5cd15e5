//! Non-blocking messages: all chunks are started, then all are completed, whatever fails.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

use mpi_sys::{self as ffi, MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status};

use super::failure::CallSite;
use super::patience::Patience;
use super::{MpiComm, SUCCESS, UserRanks, bytes_type, class_of, count_of, is_running, no_status};
use crate::comm::{Buffer, Error, Result, Tag, Underway};

/// One chunk of an expected message.
struct Incoming {
    message: usize,
    from: usize,
    users: Option<Arc<UserRanks>>,
    /// Bytes of the whole message, of which this chunk is `range`.
    expected: usize,
    range: Range<usize>,
}

impl Incoming {
    /// Checks a completed receive: that it succeeded and brought what was expected.
    fn judge(&self, site: CallSite, code: c_int, status: &MPI_Status) -> Result<()> {
        let too_long = class_of(code) == ffi::MPI_ERR_TRUNCATE as c_int;
        if code != SUCCESS && !too_long {
            return site.check("MPI_Wait", code);
        }
        let got = self.range.start + count_of(status)?;
        if too_long && got <= self.range.end {
            // This MPI does not tell how long the message was.
            return site.check("MPI_Wait", code);
        }
        if got == self.range.end {
            return Ok(());
        }
        let user = self
            .users
            .as_deref()
            .and_then(|users| users.find(self.from));
        Err(Error::Length {
            from: user.unwrap_or(self.from),
            expected: self.expected,
            got,
        })
    }
}

struct Request {
    handle: MPI_Request,
    site: CallSite,
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
pub(in crate::comm) struct Requests {
    open: Vec<Request>,
    outcome: Result<()>,
    /// A message of which a chunk failed: the rest of it may never come.
    failed: Option<usize>,
}

impl Requests {
    pub(super) fn new(messages: usize) -> Self {
        Self {
            open: Vec::with_capacity(messages),
            outcome: Ok(()),
            failed: None,
        }
    }

    /// Starts a receive; `message` tells the messages of one transfer apart.
    pub(super) fn receive(
        &mut self,
        on: &MpiComm,
        tag: Tag,
        message: usize,
        from: usize,
        bytes: &mut [u8],
    ) {
        let started = self.start_recv(on, tag, message, from, bytes);
        self.note(started);
    }

    pub(super) fn send(&mut self, on: &MpiComm, tag: Tag, to: usize, bytes: &[u8]) {
        let started = self.start_send(("MPI_Isend", ffi::MPI_Isend), on, tag, to, bytes);
        self.note(started);
    }

    /// Starts a send that completes only when its receive has begun.
    pub(super) fn send_synchronously(&mut self, on: &MpiComm, tag: Tag, to: usize, bytes: &[u8]) {
        let started = self.start_send(("MPI_Issend", ffi::MPI_Issend), on, tag, to, bytes);
        self.note(started);
    }

    fn start_recv(
        &mut self,
        on: &MpiComm,
        tag: Tag,
        message: usize,
        from: usize,
        bytes: &mut [u8],
    ) -> Result<()> {
        let (expected, comm) = (bytes.len(), on.live()?);
        for range in on.chunks(expected) {
            let chunk = &mut bytes[range.clone()];
            let (data, count) = (chunk.as_mut_ptr().cast(), chunk.len() as c_int);
            let mut handle = null_request();
            // SAFETY: `chunk` is lent to a transfer, or owned by `OwnedRequests`, until the request is complete.
            on.check("MPI_Irecv", unsafe {
                let (bytes, from) = (bytes_type(), from as c_int);
                ffi::MPI_Irecv(data, count, bytes, from, tag, comm, &mut handle)
            })?;
            let incoming = Incoming {
                message,
                from,
                users: on.users.clone(),
                expected,
                range,
            };
            self.open.push(Request::new(on, handle, Some(incoming)));
        }
        Ok(())
    }

    fn start_send(
        &mut self,
        (call, send): (&'static str, Send),
        on: &MpiComm,
        tag: Tag,
        to: usize,
        bytes: &[u8],
    ) -> Result<()> {
        let comm = on.live()?;
        for range in on.chunks(bytes.len()) {
            let chunk = &bytes[range];
            let (data, count) = (chunk.as_ptr().cast(), chunk.len() as c_int);
            let mut handle = null_request();
            // SAFETY: as in `start_recv`.
            on.check(call, unsafe {
                let (bytes, to) = (bytes_type(), to as c_int);
                send(data, count, bytes, to, tag, comm, &mut handle)
            })?;
            self.open.push(Request::new(on, handle, None));
        }
        Ok(())
    }

    fn note(&mut self, result: Result<()>) {
        if self.outcome.is_ok() {
            self.outcome = result;
        }
    }

    /// Completes all requests, one by one: MPI makes progress on the others while it waits for one.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.abandon_after_mpi();
        for mut request in std::mem::take(&mut self.open) {
            let message = request.message();
            if message.is_some() && message == self.failed {
                request.cancel();
                continue;
            }
            let ended = request.wait();
            self.end(message, ended);
        }
        std::mem::replace(&mut self.outcome, Ok(()))
    }

    /// Drives progress; true when all requests are complete, or one has failed.
    pub(super) fn is_done(&mut self) -> bool {
        self.abandon_after_mpi();
        for mut request in std::mem::take(&mut self.open) {
            match request.test() {
                Some(ended) => self.end(request.message(), ended),
                None => self.open.push(request),
            }
        }
        self.open.is_empty() || self.outcome.is_err()
    }

    /// Requests that MPI_Finalize has left open can be neither waited for nor freed.
    fn abandon_after_mpi(&mut self) {
        if !self.open.is_empty() && !is_running() {
            self.open.clear();
            self.note(Err(Error::NotRunning));
        }
    }

    fn end(&mut self, message: Option<usize>, ended: Result<()>) {
        if ended.is_err() {
            self.failed = message;
        }
        self.note(ended);
    }
}

/// MPI must be done with a buffer before its owner gets it back.
impl Drop for Requests {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

/// Requests with their buffers, which are neither touched before all are complete nor freed if this is forgotten.
pub struct OwnedRequests<B> {
    /// Dropped first, which waits.
    requests: Requests,
    sent: Vec<Arc<B>>,
    received: Vec<B>,
}

impl<B: Buffer> OwnedRequests<B> {
    pub(super) fn new(messages: usize) -> Self {
        Self {
            requests: Requests::new(messages),
            sent: Vec::new(),
            received: Vec::new(),
        }
    }

    pub(super) fn receive(&mut self, on: &MpiComm, tag: Tag, from: usize, mut bytes: B) {
        let message = self.received.len();
        self.requests
            .receive(on, tag, message, from, bytes.as_mut());
        self.received.push(bytes);
    }

    pub(super) fn send(&mut self, on: &MpiComm, tag: Tag, to: usize, bytes: Arc<B>) {
        self.requests.send(on, tag, to, (*bytes).as_ref());
        self.sent.push(bytes);
    }
}

impl<B: Buffer> Underway<B> for OwnedRequests<B> {
    fn is_done(&mut self) -> bool {
        self.requests.is_done()
    }

    fn finish(mut self) -> Result<Vec<B>> {
        let ended = self.requests.finish();
        ended.map(|()| std::mem::take(&mut self.received))
    }
}

impl Request {
    fn new(on: &MpiComm, handle: MPI_Request, incoming: Option<Incoming>) -> Self {
        let site = CallSite::of(on);
        Self {
            handle,
            site,
            incoming,
        }
    }

    fn message(&self) -> Option<usize> {
        self.incoming.as_ref().map(|incoming| incoming.message)
    }

    fn wait(&mut self) -> Result<()> {
        let mut patience = Patience::new();
        loop {
            match self.test() {
                Some(ended) => return ended,
                None => patience.pause(),
            }
        }
    }

    /// `None` while it is under way.
    fn test(&mut self) -> Option<Result<()>> {
        let (mut status, mut ended) = (no_status(), 0);
        // SAFETY: the request is active and its buffer still lent or owned.
        let code = unsafe { ffi::MPI_Test(&mut self.handle, &mut ended, &mut status) };
        (ended != 0 || code != SUCCESS).then(|| self.judge(code, &status))
    }

    fn judge(&self, code: c_int, status: &MPI_Status) -> Result<()> {
        match &self.incoming {
            Some(incoming) => incoming.judge(self.site, code, status),
            None => self.site.check("MPI_Wait", code),
        }
    }

    /// Ends a receive whose message is already known to be wrong.
    fn cancel(&mut self) {
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

/// Tests a request of the user and returns its code once it is complete; an error also goes to the handler of its
/// communicator.
///
/// # Safety
/// As for MPI_Test.
pub unsafe fn test(request: *mut MPI_Request, status: *mut MPI_Status) -> Option<c_int> {
    if !is_running() {
        return Some(ffi::MPI_ERR_OTHER as c_int);
    }
    let mut done = 0;
    // SAFETY: promised by the caller; `done` is ours to write.
    let code = unsafe { ffi::MPI_Test(request, &mut done, status) };
    (done != 0 || code != SUCCESS).then_some(code)
}
