//! Fenix's return codes, and how errors become them, on one rank or on all ranks of a collective.

use crate::capi::boundary::Out;
use crate::capi::{error, guard};
pub(in crate::capi) use crate::comm::agree;
use crate::comm::{self, Comm, Op};
use crate::fenix::{Error, Result};
use std::ffi::c_int;

pub(in crate::capi) const FENIX_SUCCESS: c_int = 0;
pub(in crate::capi) const FENIX_ERROR_UNINITIALIZED: c_int = -9;
pub(in crate::capi) const FENIX_ERROR_NOCATEGORY: c_int = -10;
pub(in crate::capi) const FENIX_ERROR_CALLBACK_NOT_REGISTERED: c_int = -11;
pub(in crate::capi) const FENIX_ERROR_GROUP_CREATE: c_int = -12;
pub(in crate::capi) const FENIX_ERROR_MEMBER_CREATE: c_int = -13;
pub(in crate::capi) const FENIX_ERROR_COMMIT_BARRIER: c_int = -133;
pub(in crate::capi) const FENIX_ERROR_INVALID_GROUPID: c_int = -14;
pub(in crate::capi) const FENIX_ERROR_INVALID_MEMBERID: c_int = -15;
pub(in crate::capi) const FENIX_ERROR_INVALID_LOGIC_CALL: c_int = -155;
pub(in crate::capi) const FENIX_ERROR_INVALID_TIMESTAMP: c_int = -16;
pub(in crate::capi) const FENIX_ERROR_INVALID_DEPTH: c_int = -17;
pub(in crate::capi) const FENIX_ERROR_INVALID_ATTRIBUTE_NAME: c_int = -18;
pub(in crate::capi) const FENIX_ERROR_INVALID_ATTRIBUTE_VALUE: c_int = -19;
pub(in crate::capi) const FENIX_ERROR_INVALID_POSITION: c_int = -20;
pub(in crate::capi) const FENIX_ERROR_DATA_WAIT: c_int = -21;
pub(in crate::capi) const FENIX_ERROR_SUBSET_NUM_BLOCKS: c_int = -22;
pub(in crate::capi) const FENIX_ERROR_SUBSET_START_OFFSET: c_int = -23;
pub(in crate::capi) const FENIX_ERROR_SUBSET_END_OFFSET: c_int = -24;
pub(in crate::capi) const FENIX_ERROR_SUBSET_STRIDE: c_int = -25;
pub(in crate::capi) const FENIX_ERROR_NODATA_FOUND: c_int = -30;
pub(in crate::capi) const FENIX_ERROR_INTERN: c_int = -40;
pub(in crate::capi) const FENIX_ERROR_CANCELLED: c_int = -50;
pub(in crate::capi) const FENIX_WARNING_PARTIAL_RESTORE: c_int = 101;

/// The code of an error; `call` is that of the function, for errors that have no code of their own.
pub(in crate::capi) fn code(error: &Error, call: c_int) -> c_int {
    match error {
        Error::Uninitialized => FENIX_ERROR_UNINITIALIZED,
        Error::NoCallback => FENIX_ERROR_CALLBACK_NOT_REGISTERED,
        Error::NoSuchGroup(_) => FENIX_ERROR_INVALID_GROUPID,
        Error::NoSuchMember { .. } | Error::MemberExists { .. } => FENIX_ERROR_INVALID_MEMBERID,
        Error::Members(_) => FENIX_ERROR_INVALID_MEMBERID,
        Error::NoSuchStamp { .. } | Error::FirstStamp(_) => FENIX_ERROR_INVALID_TIMESTAMP,
        Error::Depth(_) => FENIX_ERROR_INVALID_DEPTH,
        Error::Detached(_) | Error::InUse(_) => FENIX_ERROR_INVALID_LOGIC_CALL,
        Error::SubsetBlocks(_) => FENIX_ERROR_SUBSET_NUM_BLOCKS,
        Error::SubsetStart(_) => FENIX_ERROR_SUBSET_START_OFFSET,
        Error::SubsetEnd { .. } => FENIX_ERROR_SUBSET_END_OFFSET,
        Error::SubsetStride(_) => FENIX_ERROR_SUBSET_STRIDE,
        Error::Position { .. } => FENIX_ERROR_INVALID_POSITION,
        Error::UnknownAttribute(_) => FENIX_ERROR_INVALID_ATTRIBUTE_NAME,
        Error::AttributeValue(_) => FENIX_ERROR_INVALID_ATTRIBUTE_VALUE,
        Error::NoSuchRequest => FENIX_ERROR_DATA_WAIT,
        Error::NoData(_) => FENIX_ERROR_NODATA_FOUND,
        Error::Null(_) | Error::Number { .. } => call,
        Error::UnknownPolicy(_) | Error::Policy(_) | Error::Mismatch { .. } => call,
        Error::Memory(_) | Error::NoRepair | Error::Unrepairable(_) => FENIX_ERROR_INTERN,
        Error::Minority { .. } => FENIX_ERROR_INTERN,
        Error::NotStored { .. } => FENIX_ERROR_COMMIT_BARRIER,
        Error::Invariant(_) => FENIX_ERROR_INTERN,
        Error::Spares { .. } => FENIX_ERROR_INTERN,
        Error::Comm(comm::Error::ProcessFailed { .. } | comm::Error::Revoked { .. }) => {
            FENIX_ERROR_CANCELLED
        }
        Error::Comm(_) | Error::Peer(_) => FENIX_ERROR_INTERN,
    }
}

/// Runs `body` and turns its result into a return code and a text.
pub(in crate::capi) fn status(body: impl FnOnce() -> Result<()>) -> c_int {
    status_of(FENIX_ERROR_NOCATEGORY, || body().map(|()| FENIX_SUCCESS))
}

/// As [`status`] for a function that has an error code of its own, and maybe a warning.
pub(in crate::capi) fn status_of(call: c_int, body: impl FnOnce() -> Result<c_int>) -> c_int {
    guard(FENIX_ERROR_INTERN, || code_of(call, body()))
}

pub(in crate::capi) fn code_of(call: c_int, result: Result<c_int>) -> c_int {
    result.unwrap_or_else(|cause| {
        let code = code(&cause, call);
        error::remember(cause);
        code
    })
}

/// As [`status_of`] for a collective: one rank's code becomes every rank's, as far as `comm` still works.
/// The worst wins, and a rank's own trouble over what it heard of another.
pub(in crate::capi) fn common_status(
    call: c_int,
    comm: &impl Comm,
    result: Result<c_int>,
) -> c_int {
    let heard = matches!(result, Err(Error::Peer(_)));
    let broken = matches!(result, Err(Error::Comm(_)));
    let own = code_of(call, result);
    let mut worst = [match own {
        _ if broken => return own,
        FENIX_SUCCESS => 0,
        FENIX_WARNING_PARTIAL_RESTORE => 1,
        _ if heard => 2,
        error => 2 + u64::from(error.unsigned_abs()),
    }];
    if let Err(cause) = comm.allreduce(Op::Max, &mut worst) {
        return code_of(call, Err(cause.into()));
    }
    match worst[0] {
        0 => FENIX_SUCCESS,
        1 => FENIX_WARNING_PARTIAL_RESTORE,
        2 => FENIX_ERROR_INTERN,
        error => -((error - 2) as c_int),
    }
}

/// A number that C counts with an `int`.
pub(in crate::capi) fn natural(what: &'static str, value: c_int) -> Result<u64> {
    let value = i64::from(value);
    u64::try_from(value).map_err(|_| Error::Number { what, value })
}

/// Stores a result that the caller must take.
pub(in crate::capi) fn put<T>(name: &'static str, place: Out<T>, value: T) -> Result<()> {
    place.set(value).then_some(()).ok_or(Error::Null(name))
}
