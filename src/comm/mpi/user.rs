//! What touches the user's communicator: its error handler, and the duplicate that it carries.
//!
//! A communicator passes the checks in [`ReturnErrors::on`] first; what follows runs while MPI returns
//! its errors, and the drop of that guard gives the user's handler back.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use mpi_sys::{self as ffi, MPI_Comm, MPI_Errhandler};

use super::failure::{forget_failure, note_failure};
use super::{Keyval, MpiComm, Ownership, SUCCESS, check, registry, text_of};
use crate::comm::{Error, Result, ulfm, version};

/// Makes MPI return the errors of a communicator as codes until this is dropped.
pub(super) struct ReturnErrors {
    user: MPI_Comm,
    saved: MPI_Errhandler,
}

impl ReturnErrors {
    pub(super) fn on(user: MPI_Comm) -> Result<Self> {
        check_library()?;
        check_running()?;
        if is_null(user) {
            return Err(Error::NullCommunicator);
        }
        let saved = handler_of(user)?;
        let swapped = Self { user, saved };
        return_errors(user)?;
        check_intra(user)?;
        Ok(swapped)
    }

    fn is_resilient(&self) -> bool {
        registry::resilient_handler() == Some(self.saved)
    }
}

impl Drop for ReturnErrors {
    fn drop(&mut self) {
        // A failure cannot be reported: the handler that it would go to is the one that could not be restored.
        let _ = set_handler(self.user, self.saved);
        let _ = free_handler(self.saved);
    }
}

fn handler_of(comm: MPI_Comm) -> Result<MPI_Errhandler> {
    // SAFETY: a constant of the MPI shim, never written.
    let mut handler = unsafe { ffi::RSMPI_ERRORS_RETURN };
    // SAFETY: `comm` is a valid communicator and `handler` is ours to write.
    check("MPI_Comm_get_errhandler", unsafe {
        ffi::MPI_Comm_get_errhandler(comm, &mut handler)
    })?;
    Ok(handler)
}

fn set_handler(comm: MPI_Comm, handler: MPI_Errhandler) -> Result<()> {
    // SAFETY: both handles are valid.
    check("MPI_Comm_set_errhandler", unsafe {
        ffi::MPI_Comm_set_errhandler(comm, handler)
    })
}

/// Gives back what `handler_of` took; the communicators that use the handler keep it alive.
fn free_handler(mut handler: MPI_Errhandler) -> Result<()> {
    // SAFETY: the handle came from MPI_Comm_get_errhandler and is not used again.
    check("MPI_Errhandler_free", unsafe {
        ffi::MPI_Errhandler_free(&mut handler)
    })
}

pub(super) fn return_errors(comm: MPI_Comm) -> Result<()> {
    // SAFETY: a constant of the MPI shim, never written.
    set_handler(comm, unsafe { ffi::RSMPI_ERRORS_RETURN })
}

/// Refuses calls of MPI before MPI_Init and after MPI_Finalize, which would end the process.
pub fn check_running() -> Result<()> {
    match is_running() {
        true => Ok(()),
        false => Err(Error::NotRunning),
    }
}

/// True between MPI_Init and MPI_Finalize. Destructors that find it false release only memory: MPI has freed or
/// abandoned its own objects.
pub fn is_running() -> bool {
    let (mut started, mut ended) = (0, 0);
    // SAFETY: allowed at any time; `started` is ours to write.
    unsafe { ffi::MPI_Initialized(&mut started) };
    // SAFETY: allowed at any time; `ended` is ours to write.
    unsafe { ffi::MPI_Finalized(&mut ended) };
    started != 0 && ended == 0
}

/// The rank in MPI_COMM_WORLD, for log messages. Known since the first call between MPI_Init and MPI_Finalize by a
/// thread that may call MPI.
pub fn rank_of_process() -> Option<c_int> {
    const UNKNOWN: c_int = -1;
    static RANK: AtomicI32 = AtomicI32::new(UNKNOWN);
    let may_ask = || check_library().is_ok() && is_running() && may_call();
    if RANK.load(Ordering::Relaxed) == UNKNOWN && may_ask() {
        let mut rank = UNKNOWN;
        // SAFETY: a constant of the MPI shim, and `rank` is ours to write. The call is local.
        unsafe { ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank) };
        RANK.store(rank, Ordering::Relaxed);
    }
    Some(RANK.load(Ordering::Relaxed)).filter(|rank| *rank != UNKNOWN)
}

/// Whether several threads may call MPI at once. Only while it is running.
pub fn is_concurrent() -> bool {
    let mut level = 0;
    // SAFETY: any thread may ask for it; `level` is ours to write.
    unsafe { ffi::MPI_Query_thread(&mut level) };
    // SAFETY: a constant of the MPI shim, never written.
    level == unsafe { ffi::RSMPI_THREAD_MULTIPLE }
}

/// Whether this thread may call MPI, as far as MPI itself can tell. Only while it is running.
fn may_call() -> bool {
    let mut is_main = 0;
    // SAFETY: any thread may ask for it; `is_main` is ours to write.
    unsafe { ffi::MPI_Is_thread_main(&mut is_main) };
    is_main != 0 || is_concurrent()
}

/// A handle of zero bits is no communicator in any MPI, but what an unset C variable holds.
pub fn is_null(comm: MPI_Comm) -> bool {
    // SAFETY: a handle is an integer or a raw pointer, for which zero is a value.
    let unset: MPI_Comm = unsafe { std::mem::zeroed() };
    comm == unset || comm == null_comm()
}

fn check_intra(comm: MPI_Comm) -> Result<()> {
    let mut inter = 0;
    // SAFETY: `comm` is a valid communicator and `inter` is ours to write.
    check("MPI_Comm_test_inter", unsafe {
        ffi::MPI_Comm_test_inter(comm, &mut inter)
    })?;
    match inter {
        0 => Ok(()),
        _ => Err(Error::Intercommunicator),
    }
}

/// The MPI that this build's handles belong to, as `build.rs` found it.
const BUILT: &str = env!("STANCHION_MPI");

/// Refuses an MPI whose handles differ from ours; an unknown one is trusted.
fn check_library() -> Result<()> {
    static LOADED: OnceLock<String> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        text_of(|text, length| {
            // SAFETY: allowed at any time; `text` is longer than any MPI's text.
            unsafe { ffi::MPI_Get_library_version(text, length) };
        })
    });
    match (Family::of(BUILT), Family::of(loaded)) {
        (Some(built), Some(found)) if built != found => Err(Error::WrongLibrary {
            built: BUILT,
            loaded: loaded.lines().next().unwrap_or_default().into(),
        }),
        _ => Ok(()),
    }
}

/// MPIs that share the layout of handles and statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    OpenMpi,
    Mpich,
}

impl Family {
    fn of(version: &str) -> Option<Self> {
        let names = |names: &[&str]| names.iter().any(|name| version.contains(name));
        if names(&["Open MPI", "Spectrum MPI"]) {
            Some(Self::OpenMpi)
        } else if names(&["MPICH", "Intel(R) MPI", "MVAPICH"]) {
            Some(Self::Mpich)
        } else {
            None
        }
    }
}

/// Finds the duplicate that `user` carries, or makes it.
pub(super) fn duplicate_of(user: MPI_Comm) -> Result<MPI_Comm> {
    let handler = ReturnErrors::on(user)?;
    match find_duplicate(user)? {
        Some(duplicate) => Ok(duplicate),
        None => {
            let duplicate = make_duplicate(user, handler.is_resilient())?;
            let checked = check_versions(duplicate);
            if checked.is_err() {
                let _ = DUPLICATE.remove(user);
            }
            checked.map(|()| duplicate)
        }
    }
}

/// Refuses ranks whose builds misread each other's messages. After a process failure the duplicate is kept, revoked, so
/// that all ranks find the same one again: others may meet the failure only after this call.
fn check_versions(duplicate: MPI_Comm) -> Result<()> {
    match version::check_same(&MpiComm::new(duplicate, Ownership::Carried)?) {
        Err(Error::ProcessFailed { .. } | Error::Revoked { .. }) => Ok(()),
        checked => checked,
    }
}

/// The duplicate that a communicator carries. A duplicate that the user makes does not inherit it.
static DUPLICATE: Keyval = Keyval::new(delete_duplicate);

fn find_duplicate(user: MPI_Comm) -> Result<Option<MPI_Comm>> {
    let value = DUPLICATE.value(user)?.map(|value| value.cast::<MPI_Comm>());
    let value = value.filter(|value| !value.is_null());
    // SAFETY: the attribute points to the box of `attach` until `delete_duplicate` takes it.
    Ok(value.map(|value| unsafe { *value }))
}

fn make_duplicate(user: MPI_Comm, resilient: bool) -> Result<MPI_Comm> {
    let mut duplicate = null_comm();
    // SAFETY: `user` is a valid intracommunicator and `duplicate` is ours to write.
    let code = unsafe { ffi::MPI_Comm_dup(user, &mut duplicate) };
    if ulfm::is_failure(code) {
        note_failure(user, code);
        ulfm::unlock_ids();
    }
    check("MPI_Comm_dup", code)?;
    let kept = return_errors(duplicate).and_then(|()| attach(user, duplicate));
    if kept.is_err() {
        free(duplicate);
    }
    kept?;
    registry::add(duplicate, user, resilient);
    Ok(duplicate)
}

fn attach(user: MPI_Comm, duplicate: MPI_Comm) -> Result<()> {
    let value = Box::into_raw(Box::new(duplicate));
    // SAFETY: `value` is valid until `delete_duplicate` takes it back.
    let kept = unsafe { DUPLICATE.set(user, value.cast()) };
    if kept.is_err() {
        // SAFETY: MPI did not take `value`, so it is still ours.
        drop(unsafe { Box::from_raw(value) });
    }
    kept
}

/// Called when the user frees the communicator, or by MPI_Finalize when nothing can be freed any more.
unsafe extern "C" fn delete_duplicate(
    user: MPI_Comm,
    _keyval: c_int,
    value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    // SAFETY: MPI hands over the box of `attach`, once.
    let duplicate = unsafe { Box::from_raw(value.cast::<MPI_Comm>()) };
    forget_failure(user);
    registry::remove(*duplicate);
    registry::orphan(user);
    if is_running() && !ulfm::keeps_id(*duplicate) {
        free(*duplicate);
    }
    SUCCESS
}

/// Frees a communicator of ours; a failure leaves it to MPI_Finalize.
pub(super) fn free(mut comm: MPI_Comm) {
    // SAFETY: `comm` is a valid communicator that nobody uses any more.
    unsafe { ffi::MPI_Comm_free(&mut comm) };
}

pub(super) fn split(comm: &MpiComm, color: Option<u32>, key: i32) -> Result<Option<MPI_Comm>> {
    let color = match color {
        Some(color) => c_int::try_from(color).map_err(|_| too_high(color))?,
        // SAFETY: a constant of the MPI shim, never written.
        None => unsafe { ffi::RSMPI_UNDEFINED },
    };
    let mut part = null_comm();
    let whole = comm.live()?;
    // SAFETY: `whole` is a valid communicator and `part` is ours to write.
    let code = unsafe { ffi::MPI_Comm_split(whole, color, key, &mut part) };
    if ulfm::is_failure(code) {
        ulfm::unlock_ids();
    }
    comm.check("MPI_Comm_split", code)?;
    Ok((!is_null(part)).then_some(part))
}

fn too_high(color: u32) -> Error {
    Error::Transport {
        call: "MPI_Comm_split",
        code: ffi::MPI_ERR_ARG as c_int,
        text: format!("color {color} is above {}", c_int::MAX),
    }
}

/// The handle of no communicator.
pub fn null_comm() -> MPI_Comm {
    // SAFETY: a constant of the MPI library.
    unsafe { ffi::RSMPI_COMM_NULL }
}

/// The communicator that Fortran knows by this number; none while MPI is not running.
pub fn comm_of_fortran(number: c_int) -> MPI_Comm {
    if !is_running() {
        return null_comm();
    }
    // SAFETY: only translates; a number of no communicator gives a null handle or an error at its first use.
    unsafe { ffi::RSMPI_Comm_f2c(number as _) }
}

/// Whether `rank` is MPI_PROC_NULL.
pub fn is_proc_null(rank: c_int) -> bool {
    // SAFETY: a constant of the MPI library.
    rank == unsafe { ffi::RSMPI_PROC_NULL }
}

/// Splits the user's communicator for the user, who owns the result: it has the error handler of `user`, and no
/// color gives `MPI_COMM_NULL`. The split itself runs on the private duplicate, whose errors come back to us while
/// the user's handler stays in place.
///
/// # Collective
/// Called by all ranks of `user`.
pub fn split_for_user(user: MPI_Comm, color: Option<u32>, key: i32) -> Result<MPI_Comm> {
    let Some(part) = split(&MpiComm::private(user)?, color, key)? else {
        return Ok(null_comm());
    };
    let inherited = inherit_handler(user, part);
    if inherited.is_err() {
        free(part);
    }
    inherited.map(|()| part)
}

/// Gives a new communicator of the user the resilient handler and `private` as its duplicate. The caller still owns it.
pub(in crate::comm) fn make_resilient(
    user: MpiComm,
    mut private: MpiComm,
) -> Result<(MpiComm, MpiComm)> {
    attach(user.comm, private.comm)?;
    private.ownership = Ownership::Carried;
    registry::add(private.comm, user.comm, true);
    if let Some(handler) = registry::resilient_handler() {
        set_handler(user.comm, handler)?;
    }
    Ok((user, private))
}

/// Whether errors on this communicator start process recovery.
pub fn is_resilient(user: MPI_Comm) -> bool {
    if !is_running() {
        return false;
    }
    match (registry::resilient_handler(), handler_of(user)) {
        (Some(known), Ok(handler)) => {
            let _ = free_handler(handler);
            known == handler
        }
        _ => false,
    }
}

/// Revokes a communicator of the user after a process failure, unless it is predefined.
pub fn revoke_for_user(comm: MPI_Comm) {
    // SAFETY: constants of the MPI shim, never written.
    let predefined = unsafe { [ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF] };
    if is_running() && !is_null(comm) && !predefined.contains(&comm) {
        ulfm::revoke(comm);
    }
}

fn inherit_handler(from: MPI_Comm, to: MPI_Comm) -> Result<()> {
    let handler = handler_of(from)?;
    let set = set_handler(to, handler);
    set.and(free_handler(handler))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_their_version_texts() {
        let open = ["Open MPI v4.1.4, package: Debian", "IBM Spectrum MPI v10.4"];
        let mpich = [
            "MPICH Version:\t4.0.2",
            "MPI VERSION    : CRAY MPICH version 8.1",
            "Intel(R) MPI Library 2021.9 for Linux* OS",
            "MVAPICH2 Version      :\t2.3.7",
        ];
        assert!(open.iter().all(|v| Family::of(v) == Some(Family::OpenMpi)));
        assert!(mpich.iter().all(|v| Family::of(v) == Some(Family::Mpich)));
        assert_eq!(Family::of("an unknown MPI"), None);
    }
}
