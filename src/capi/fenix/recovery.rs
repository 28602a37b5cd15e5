//! Process recovery between MPI's error handler and the user's program.
//!
//! The macro Fenix_Init, the error handler, the jump and the callbacks are C (`src/shim/fenix_mpi.c`), which calls the
//! functions here. A recovery runs to its end in Rust; then C resumes the user's program with no Rust frame on the stack.
//! All threads share the state, one at a time uses it. Only the thread that called Fenix_Init recovers, since only it may
//! jump there: other threads get an error code.

use super::errors::{FENIX_ERROR_INTERN, FENIX_ERROR_NOCATEGORY, FENIX_SUCCESS, code};
use super::lease::{Lease, Leases, Unavailable};
use super::registry::{detach_groups, drop_groups};
use crate::capi::boundary::{In, Out};
use crate::capi::{error, guard};
use crate::comm::mpi::{self, MPI_Comm, MPI_Errhandler, MpiComm};
use crate::comm::ulfm;
use crate::comm::{Comm, Op};
use crate::fenix::process::{Process, ProcessRole, SyncOutcome, SyncPoint, Wake};
use crate::fenix::{Error, Result};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

const FENIX_WARNING_SPARE_RANKS_DEPLETED: c_int = 100;

/// What C does after `inner_fenix_preinit`, if it is not a role: known to the shim.
const SPARE_ENDS: c_int = -1;
const SPARE_ABANDONED: c_int = -2;
/// What C does after `inner_fenix_on_error`.
const NOTHING: c_int = 0;
const RETURN: c_int = 1;
const JUMP: c_int = 2;
const PRINT: c_int = 3;

#[allow(non_camel_case_types)]
pub(in crate::capi) type callback =
    Option<unsafe extern "C" fn(comm: MPI_Comm, error: c_int, data: *mut c_void)>;

/// What Fenix_Init was given, as the shim passes it on.
#[repr(C)]
pub struct FenixStart {
    role: Out<'static, c_int>,
    comm: MPI_Comm,
    newcomm: Out<'static, MPI_Comm>,
    spares: c_int,
    spawn: c_int,
    error: Out<'static, c_int>,
    handler: MPI_Errhandler,
    no_jump: c_int,
    prints: c_int,
    /// Where C jumps to.
    resume: *mut c_void,
}

/// A callback that the shim runs.
#[repr(C)]
pub struct FenixCallback {
    function: callback,
    comm: MPI_Comm,
    error: c_int,
    data: *mut c_void,
}

pub(in crate::capi) struct Recovery {
    pub(in crate::capi) process: Process<MpiComm>,
    /// The number of the thread that called Fenix_Init.
    owner: u64,
    /// The user's variables, which live on: every recovery writes them.
    role: Out<'static, c_int>,
    newcomm: Out<'static, MPI_Comm>,
    error: Out<'static, c_int>,
    no_jump: bool,
    prints: bool,
    resume: *mut c_void,
    pub(in crate::capi) callbacks: Vec<(callback, *mut c_void)>,
    /// How many callbacks are still to run after the last recovery.
    due: usize,
    /// Whether Fenix_Init is through, so that there is a place to jump to.
    running: bool,
    /// A recovery was given up, and none is tried again.
    pub(in crate::capi) broken: bool,
    result: c_int,
    /// Error code for a repeated Fenix_Init.
    refused: Option<c_int>,
    pub(in crate::capi) failed: Vec<c_int>,
}

static STATE: Leases<(), Recovery> = Leases::new();
static INITS: AtomicU64 = AtomicU64::new(0);

// None of them has a destructor, so that they can be used until the process has ended.
thread_local! {
    pub(in crate::capi) static MUTED: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread is using the state.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The last call of Fenix_Init that this thread has made.
    static INIT: Cell<u64> = const { Cell::new(0) };
}

/// How long to wait before looking again at a state that another thread is using.
const POLL: Duration = Duration::from_micros(50);

/// Waits for other threads to be done with the state.
fn lease() -> Result<Lease<(), Recovery>> {
    loop {
        match STATE.lease(()) {
            Ok(lease) => return Ok(lease),
            Err(Unavailable::Absent) => return Err(Error::Uninitialized),
            Err(Unavailable::InUse) if INSIDE.get() => return Err(Error::InUse("Fenix")),
            Err(Unavailable::InUse) => sleep(POLL),
        }
    }
}

pub(in crate::capi) fn with<T>(body: impl FnOnce(&mut Recovery) -> Result<T>) -> Result<T> {
    let mut lease = lease()?;
    let state = lease.value.as_mut().ok_or(Error::Uninitialized)?;
    mpi::check_running()?;
    INSIDE.set(true);
    let inside = Inside;
    let done = body(state);
    drop(inside);
    done
}

/// This thread uses the state until this is dropped.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

pub(in crate::capi) fn status(body: impl FnOnce() -> Result<c_int>) -> c_int {
    guard(FENIX_ERROR_INTERN, || body().unwrap_or_else(remembered))
}

fn remembered(cause: Error) -> c_int {
    let code = code(&cause, FENIX_ERROR_NOCATEGORY);
    error::remember(cause);
    code
}

impl From<ProcessRole> for c_int {
    fn from(role: ProcessRole) -> c_int {
        match role {
            ProcessRole::Initial => 0,
            ProcessRole::Recovered => 1,
            ProcessRole::Survivor => 2,
        }
    }
}

impl Recovery {
    fn own_role(&self) -> c_int {
        self.process
            .own_role()
            .unwrap_or(ProcessRole::Initial)
            .into()
    }

    pub(in crate::capi) fn user(&self) -> Result<MPI_Comm> {
        let user = self.process.user().ok_or(Error::Uninitialized)?;
        Ok(user.handle())
    }

    /// Tells the user what the last repair has changed.
    fn publish(&mut self) {
        if self.process.depleted() {
            self.result = FENIX_WARNING_SPARE_RANKS_DEPLETED;
        }
        self.failed = self.process.failed().iter().map(|&f| f as c_int).collect();
        let user = self.user().unwrap_or(mpi::null_comm());
        self.newcomm.set(user);
        self.role.set(self.own_role());
        self.error.set(self.result);
    }

    fn recover(&mut self, comm: MPI_Comm, constructs: bool) {
        mpi::take_failure();
        mpi::revoke_for_user(comm);
        if let Ok(user) = self.user() {
            mpi::revoke_for_user(user);
        }
        ulfm::revoke_all(constructs.then_some(comm));
        detach_groups();
        self.result = FENIX_SUCCESS;
        match self.process.recover() {
            Ok(()) => {
                self.due = self.callbacks.len();
                self.publish();
                if let Ok(user) = self.user() {
                    ulfm::mark_stale(user);
                }
            }
            Err(cause) => {
                self.broken = true;
                self.result = remembered(cause);
            }
        }
    }
}

// ---- for the shim ----

/// Sets spares aside and makes the resilient communicator. Returns on a spare only when it has become active, or
/// is not needed any more.
///
/// # Returns
/// The role, or what a spare does instead.
#[unsafe(no_mangle)]
pub extern "C" fn inner_fenix_preinit(start: In<FenixStart>) -> c_int {
    guard(FENIX_SUCCESS, || {
        let Some(start) = start.get() else {
            return FENIX_SUCCESS;
        };
        start.error.set(FENIX_SUCCESS);
        let begun = match is_initialized() {
            true => Err(Error::Number {
                what: "the number of calls of Fenix_Init",
                value: 2,
            }),
            false => begin(start),
        };
        begun.unwrap_or_else(|cause| {
            let failed = remembered(cause);
            start.error.set(failed);
            let refuse = |state: &mut Recovery| {
                state.refused = Some(failed);
                Ok(state.own_role())
            };
            with(refuse).unwrap_or(FENIX_SUCCESS)
        })
    })
}

fn begin(start: &FenixStart) -> Result<c_int> {
    mpi::set_resilient_handler(start.handler);
    ulfm::ignore_sigpipe();
    start.newcomm.set(mpi::null_comm());
    let (mut process, mut result) = first_world(start)?;
    if start.spawn != 0 {
        error::remember("Fenix_Init: spawning new processes is not possible, only spares are used");
    }
    if start.spares > 0 && !ulfm::available() && result == FENIX_SUCCESS {
        result = remembered(Error::NoRepair);
    }
    if process.is_spare() {
        match process.wait_as_spare() {
            Ok(Wake::Active) => result = FENIX_SUCCESS,
            Ok(Wake::Finalized) => return Ok(dismissed(process, SPARE_ENDS)),
            Ok(Wake::Abandoned) => return Ok(dismissed(process, SPARE_ABANDONED)),
            Err(cause) => {
                remembered(cause);
                return Ok(dismissed(process, SPARE_ABANDONED));
            }
        }
    }
    let mut state = Recovery {
        process,
        owner: INITS.fetch_add(1, Ordering::Relaxed) + 1,
        role: start.role,
        newcomm: start.newcomm,
        error: start.error,
        no_jump: start.no_jump != 0,
        prints: start.prints != 0,
        resume: start.resume,
        callbacks: Vec::new(),
        due: 0,
        running: false,
        broken: false,
        result,
        refused: None,
        failed: Vec::new(),
    };
    state.publish();
    let role = state.own_role();
    INIT.set(state.owner);
    let lease = STATE.lease_or_reserve(());
    let mut lease = lease.map_err(|_| Error::InUse("Fenix_Init"))?;
    lease.value = Some(Box::new(state));
    Ok(role)
}

fn dismissed(process: Process<MpiComm>, ending: c_int) -> c_int {
    process.end(!ulfm::available());
    ending
}

/// Where the number of spares is impossible, all ranks are active.
fn first_world(start: &FenixStart) -> Result<(Process<MpiComm>, c_int)> {
    let given = MpiComm::borrowed(start.comm)?;
    let quorum = std::env::var_os("STANCHION_FENIX_QUORUM").is_some_and(|given| given == "1");
    match Process::start(&*given, start.spares.into(), quorum) {
        Err(cause @ Error::Spares { .. }) => {
            let failed = remembered(cause);
            Ok((Process::start(&*given, 0, quorum)?, failed))
        }
        started => Ok((started?, FENIX_SUCCESS)),
    }
}

/// Ends Fenix_Init, or a recovery: from here on errors may jump.
#[unsafe(no_mangle)]
pub extern "C" fn inner_fenix_postinit(error: Out<c_int>) {
    guard((), || {
        let _ = with(|state| {
            state.running = true;
            error.set(state.refused.take().unwrap_or(state.result));
            Ok(())
        });
    })
}

/// Takes the next callback to run after a recovery.
///
/// # Returns
/// 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inner_fenix_next_callback(next: Out<FenixCallback>) -> c_int {
    let taken = |state: &mut Recovery| {
        state.due = state.due.min(state.callbacks.len());
        let last = state.due.checked_sub(1).ok_or(Error::NoCallback)?;
        state.due = last;
        let (function, data) = state.callbacks[last];
        let comm = state.user()?;
        let error = state.result;
        next.set(FenixCallback {
            function,
            comm,
            error,
            data,
        });
        Ok(())
    };
    guard(0, || with(taken).is_ok().into())
}

/// Where Fenix_Init said to jump to.
#[unsafe(no_mangle)]
pub extern "C" fn inner_fenix_resume() -> *mut c_void {
    guard(null_mut(), || {
        with(|state| Ok(state.resume)).unwrap_or(null_mut())
    })
}

/// Handles an error on a resilient communicator: recovers if a process has failed. `constructs` if the call that met it
/// makes a communicator.
///
/// # Returns
/// What C does next.
#[unsafe(no_mangle)]
pub extern "C" fn inner_fenix_on_error(comm: MPI_Comm, code: c_int, constructs: c_int) -> c_int {
    guard(NOTHING, || {
        if MUTED.get() {
            return NOTHING;
        }
        with(|state| Ok(handled(state, comm, code, constructs != 0))).unwrap_or(NOTHING)
    })
}

fn handled(state: &mut Recovery, comm: MPI_Comm, code: c_int, constructs: bool) -> c_int {
    // A communicator of before the last repair: that failure is repaired already.
    let stale = ulfm::is_stale(comm);
    if !state.running || state.broken || stale || state.owner != INIT.get() {
        return NOTHING;
    }
    if !ulfm::is_failure(code) {
        return if state.prints { PRINT } else { NOTHING };
    }
    state.recover(comm, constructs);
    match state.no_jump {
        true => RETURN,
        false => JUMP,
    }
}

// ---- for the other files ----

/// How the commit of a data group goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// All ranks are here.
    Commits,
    /// A rank could not store all that it should: nobody commits.
    Refused,
    /// All living ranks are here: the snapshot is committed, then C raises the failure of the others.
    CommitsAndRecovers,
    /// Ranks are in recovery; this one follows as soon as C raises it.
    Recovers,
}

/// Meets all ranks of a group before a commit. A failure that is seen is noted for `stanchion_raised`.
///
/// A group of all active ranks meets where recovery does, so that even in a failure all of them commit or none. In a
/// smaller group some ranks may have committed when a failure is seen: the next group_create goes back to the last
/// snapshot that all have.
///
/// # Collective
/// Called by all ranks of the group; `ready` says whether this one could commit.
pub fn agree_commit(group: &MpiComm, ready: bool) -> Result<Commit> {
    with(|state| {
        if group.size() < state.process.active() {
            let mut all_ready = [u64::from(ready)];
            group.allreduce(Op::Min, &mut all_ready)?;
            return Ok(match all_ready {
                [0] => Commit::Refused,
                _ => Commit::Commits,
            });
        }
        let (commit, raised) = match state.process.meet(SyncPoint::Commit, ready)? {
            SyncOutcome::AllHere {
                someone_failed: false,
                willing,
            } => return Ok([Commit::Refused, Commit::Commits][usize::from(willing)]),
            SyncOutcome::AllHere { willing: true, .. } => {
                (Commit::CommitsAndRecovers, ulfm::PROC_FAILED)
            }
            SyncOutcome::AllHere { .. } => (Commit::Recovers, ulfm::PROC_FAILED),
            SyncOutcome::Elsewhere => (Commit::Recovers, ulfm::REVOKED),
        };
        mpi::note_failure(state.user()?, raised);
        Ok(commit)
    })
}

/// Whether Fenix_Init has been called and Fenix_Finalize has not.
pub fn is_initialized() -> bool {
    STATE.contains(&())
}

/// Ends Fenix, in Fenix_Finalize.
pub(in crate::capi) fn end() {
    drop_groups();
    let state = lease().ok().and_then(|mut lease| lease.value.take());
    if let Some(state) = state {
        state.process.end(!ulfm::available());
    }
}
