//! How PIO's errors are reported.
//!
//! Callers always get a code, the same on all ranks of a collective call. With PIO_INTERNAL_ERROR the rank that failed also
//! prints the reason on standard error, and aborts the job if the environment variable STANCHION_PIO_INTERNAL is `abort`.

use crate::capi::{error, guard};
use crate::comm::mpi::{self, MpiComm};
use crate::log;
use crate::pio::{Error, Result, error::EIO};
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

pub(in crate::capi) const PIO_NOERR: c_int = 0;
/// The code for a panic.
const PIO_EIO: c_int = EIO;

/// How errors of an I/O system are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::capi) struct Handler(c_int);

impl Handler {
    const INTERNAL: Handler = Handler(-51);

    /// PIO_RETURN_ERROR, the lowest number; the SCORPIO ABI has PIO_REDUCE_ERROR before it.
    const LAST: c_int = if cfg!(feature = "pio_ncar") { -53 } else { -54 };

    pub(in crate::capi) fn from_number(method: c_int) -> Result<Self> {
        match (Self::LAST..=Self::INTERNAL.0).contains(&method) {
            true => Ok(Self(method)),
            false => Err(Error::Invalid(format!(
                "{method} is not a way to handle errors"
            ))),
        }
    }

    pub(in crate::capi) fn number(self) -> c_int {
        self.0
    }
}

/// The number of a handler, for all threads.
static DEFAULT: AtomicI32 = AtomicI32::new(Handler::INTERNAL.0);

/// For new I/O systems, and for calls that name none.
pub(in crate::capi) fn default_handler() -> Handler {
    Handler(DEFAULT.load(Ordering::Relaxed))
}

/// Returns the previous one.
pub(in crate::capi) fn set_default_handler(handler: Handler) -> Handler {
    Handler(DEFAULT.swap(handler.0, Ordering::Relaxed))
}

/// Runs a call that belongs to no I/O system.
pub(in crate::capi) fn status(body: impl FnOnce() -> Result<()>) -> c_int {
    guard(PIO_EIO, || conclude(default_handler(), None, body()))
}

/// As [`status`] for a call that returns a number of its own if it succeeds.
pub(in crate::capi) fn number(body: impl FnOnce() -> Result<c_int>) -> c_int {
    guard(PIO_EIO, || match body() {
        Ok(number) => number,
        Err(error) => conclude(default_handler(), None, Err(error)),
    })
}

/// Reports an error as `handler` says, and returns its code.
pub(in crate::capi) fn conclude(
    handler: Handler,
    comm: Option<&MpiComm>,
    outcome: Result<()>,
) -> c_int {
    let Err(error) = outcome else {
        return PIO_NOERR;
    };
    let code = error.code();
    // The rank that failed has its own error, all others the news of it.
    let is_own = !matches!(error, Error::Peer { .. });
    // Logged errors are printed anyway.
    if handler == Handler::INTERNAL && is_own && !log::is_on(log::LogLevel::Error) {
        log::to_standard_error(format_args!("{error} (PIO error {code})"));
    }
    error::remember(error);
    if handler == Handler::INTERNAL && is_own {
        if let Some(comm) = comm.filter(|_| is_fatal() && mpi::is_running()) {
            comm.abort(code);
        }
    }
    code
}

fn is_fatal() -> bool {
    static FATAL: OnceLock<bool> = OnceLock::new();
    *FATAL.get_or_init(|| std::env::var_os("STANCHION_PIO_INTERNAL").is_some_and(|v| v == "abort"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_known_by_their_numbers() {
        let known = if cfg!(feature = "pio_ncar") { 3 } else { 4 };
        let found = (-60..=0).filter(|method| Handler::from_number(*method).is_ok());
        assert!(found.eq(-50 - known..=-51));
    }

    #[test]
    fn a_code_is_returned_and_the_text_kept() {
        let outcome = Err(Error::Null("name"));
        assert_eq!(conclude(Handler(Handler::LAST), None, outcome), -36);
        assert!(error::last().contains("name"));
        assert_eq!(conclude(Handler::INTERNAL, None, Ok(())), PIO_NOERR);
    }
}
