//! The I/O systems, decompositions and files behind the ids of PIO, for all threads.
//!
//! The lock is held for a lookup, never while ranks communicate or a file library works. An open file belongs to the thread
//! that is in a call with it; calls of other threads are refused meanwhile.

use super::errors::{self, Handler, conclude};
use crate::capi::guard;
use crate::comm;
use crate::comm::mpi::{self, MpiComm};
use crate::pio::error::EIO;
use crate::pio::file::Shared;
use crate::pio::format::Format;
use crate::pio::{Decomp, Error, File, IoSystem, Result, agree, agree_same};
use std::collections::BTreeMap;
use std::ffi::{CString, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An I/O system, with what only the C layer knows of it.
pub(in crate::capi) struct System {
    pub(in crate::capi) id: c_int,
    pub(in crate::capi) io: Arc<IoSystem<MpiComm>>,
    handler: Mutex<Handler>,
    /// Of MPI-IO, in the order they were set.
    hints: Mutex<Vec<(CString, CString)>>,
}

impl System {
    /// One rank's failure becomes every rank's.
    pub(in crate::capi) fn agree<T>(&self, local: Result<T>) -> Result<T> {
        agree(&self.io.comm, local)
    }

    /// As [`System::agree`] for what all ranks must ask for alike; `what` names it in the plural.
    pub(in crate::capi) fn agree_same<T: Hash>(&self, what: &str, given: Result<T>) -> Result<T> {
        same(&self.io.comm, what, given)
    }

    pub(in crate::capi) fn conclude(&self, outcome: Result<()>) -> c_int {
        // A statement of its own: it ends the lock before an error is told.
        let handler = *locked(&self.handler);
        conclude(handler, Some(&self.io.comm), outcome)
    }

    /// Returns the previous one.
    pub(in crate::capi) fn set_handler(&self, handler: Handler) -> Handler {
        std::mem::replace(&mut locked(&self.handler), handler)
    }

    pub(in crate::capi) fn hints(&self) -> Vec<(CString, CString)> {
        locked(&self.hints).clone()
    }

    /// Replaces an earlier value of the hint.
    pub(in crate::capi) fn set_hint(&self, hint: CString, value: CString) {
        let mut hints = locked(&self.hints);
        hints.retain(|(known, _)| *known != hint);
        hints.push((hint, value));
    }
}

/// All ranks of `comm` give the same, or each of them gets an error.
pub(in crate::capi) fn same<T: Hash>(comm: &MpiComm, what: &str, given: Result<T>) -> Result<T> {
    let given = given.map(|given| {
        let digest = digest(&given);
        (given, digest)
    });
    agree_same(comm, what, given)
}

/// A decomposition and the I/O system it was made for.
#[derive(Clone)]
pub(in crate::capi) struct HeldDecomp {
    pub(in crate::capi) system: c_int,
    pub(in crate::capi) decomp: Arc<Decomp>,
}

/// An open file.
pub(in crate::capi) struct OpenFile {
    pub(in crate::capi) system: Arc<System>,
    pub(in crate::capi) file: File<MpiComm>,
    /// The number of its variables, so that a wrong id is found without a message.
    pub(in crate::capi) vars: c_int,
}

/// A file under its id.
struct KnownFile {
    system: Arc<System>,
    /// Absent while a call is under way.
    open: Option<OpenFile>,
}

/// Ids as upstream gives them out: ascending and never used again.
struct Registry {
    systems: BTreeMap<c_int, Arc<System>>,
    decomps: BTreeMap<c_int, HeldDecomp>,
    files: BTreeMap<c_int, KnownFile>,
    next_system: c_int,
    next_decomp: c_int,
    next_file: c_int,
}

/// The ids of two I/O systems are this far apart.
const SYSTEM_STEP: c_int = 1 << 16;
const FIRST_DECOMP: c_int = 512;
const FIRST_FILE: c_int = 128;

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    systems: BTreeMap::new(),
    decomps: BTreeMap::new(),
    files: BTreeMap::new(),
    next_system: SYSTEM_STEP,
    next_decomp: FIRST_DECOMP,
    next_file: FIRST_FILE,
});

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `work` must not communicate, call back, or drop what it removes: that would wait for the lock.
fn with<T>(work: impl FnOnce(&mut Registry) -> T) -> T {
    work(&mut locked(&REGISTRY))
}

/// The next id, or an error once all are used up.
fn take_id(next: &mut c_int, step: c_int) -> Result<c_int> {
    let id = *next;
    let following = id.checked_add(step);
    *next = following.ok_or_else(|| Error::Invalid("there are no more ids".into()))?;
    Ok(id)
}

fn no_such(what: &'static str, id: c_int) -> Error {
    let id = id.into();
    Error::NoSuch { what, id }
}

/// Hash of arguments, by which ranks compare them.
pub(in crate::capi) fn digest(wanted: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    wanted.hash(&mut hasher);
    hasher.finish()
}

/// Every call on an id passes here: without MPI the file libraries would abort.
fn check_running() -> Result<()> {
    match mpi::is_running() {
        true => Ok(()),
        false => Err(comm::Error::NotRunning.into()),
    }
}

// ---- I/O systems ----

pub(in crate::capi) fn add_system(io: IoSystem<MpiComm>) -> Result<c_int> {
    with(|known| {
        let id = take_id(&mut known.next_system, SYSTEM_STEP)?;
        let system = System {
            id,
            io: Arc::new(io),
            handler: Mutex::new(errors::default_handler()),
            hints: Mutex::default(),
        };
        known.systems.insert(id, Arc::new(system));
        Ok(id)
    })
}

pub(in crate::capi) fn system(id: c_int) -> Result<Arc<System>> {
    let found = with(|known| known.systems.get(&id).cloned());
    found.ok_or_else(|| no_such("I/O system", id))
}

/// Files of an I/O system that are still open.
pub(in crate::capi) fn files_of(system: c_int) -> Vec<c_int> {
    with(|known| {
        let files = known.files.iter();
        let of_system = files.filter(|(_, file)| file.system.id == system);
        of_system.map(|(id, _)| *id).collect()
    })
}

/// Forgets an I/O system and its decompositions.
pub(in crate::capi) fn remove_system(id: c_int) {
    let gone = with(|known| {
        let decomps = known.decomps.iter().filter(|(_, held)| held.system == id);
        let decomps: Vec<c_int> = decomps.map(|(id, _)| *id).collect();
        let freed: Vec<_> = decomps.iter().map(|id| known.decomps.remove(id)).collect();
        (known.systems.remove(&id), freed)
    });
    drop(gone);
}

/// Runs a call on an I/O system.
pub(in crate::capi) fn on_system(
    id: c_int,
    body: impl FnOnce(&Arc<System>) -> Result<()>,
) -> c_int {
    guard(EIO, || run_on(system(id), body))
}

/// A rank that names no I/O system gets its error at once: it has no communicator to agree on.
fn run_on(system: Result<Arc<System>>, body: impl FnOnce(&Arc<System>) -> Result<()>) -> c_int {
    match system {
        Ok(system) => system.conclude(check_running().and_then(|()| body(&system))),
        Err(error) => conclude(errors::default_handler(), None, Err(error)),
    }
}

// ---- decompositions ----

pub(in crate::capi) fn add_decomp(system: c_int, decomp: Decomp) -> Result<c_int> {
    let decomp = Arc::new(decomp);
    with(|known| {
        let id = take_id(&mut known.next_decomp, 1)?;
        known.decomps.insert(id, HeldDecomp { system, decomp });
        Ok(id)
    })
}

pub(in crate::capi) fn decomp(id: c_int) -> Result<HeldDecomp> {
    let found = with(|known| known.decomps.get(&id).cloned());
    found.ok_or_else(|| no_such("decomposition", id))
}

/// A decomposition of that I/O system.
pub(in crate::capi) fn decomp_of(system: &System, id: c_int) -> Result<Arc<Decomp>> {
    let held = decomp(id)?;
    match held.system == system.id {
        true => Ok(held.decomp),
        false => Err(Error::Invalid(format!(
            "decomposition {id} belongs to another I/O system"
        ))),
    }
}

pub(in crate::capi) fn remove_decomp(id: c_int) -> Result<()> {
    let found = with(|known| known.decomps.remove(&id));
    found.map(drop).ok_or_else(|| no_such("decomposition", id))
}

// ---- files ----

pub(in crate::capi) fn add_file(
    system: Arc<System>,
    file: File<MpiComm>,
    vars: c_int,
) -> Result<c_int> {
    with(|known| {
        let id = take_id(&mut known.next_file, 1)?;
        let open = OpenFile {
            system: system.clone(),
            file,
            vars,
        };
        let open = Some(open);
        known.files.insert(id, KnownFile { system, open });
        Ok(id)
    })
}

pub(in crate::capi) fn is_open(id: c_int) -> bool {
    with(|known| known.files.contains_key(&id))
}

/// Takes a file out for good.
pub(in crate::capi) fn take_file(id: c_int) -> Result<OpenFile> {
    let open = lend(id)?;
    let gone = with(|known| known.files.remove(&id));
    drop(gone);
    Ok(open)
}

/// Takes the file out for a call; the id stays.
fn lend(id: c_int) -> Result<OpenFile> {
    let found = with(|known| known.files.get_mut(&id).map(|file| file.open.take()));
    let found = found.ok_or_else(|| no_such("file", id))?;
    let in_use = || Error::Invalid(format!("file {id} is in use by another thread"));
    found.ok_or_else(in_use)
}

/// The I/O system of a file.
pub(in crate::capi) fn system_of(file: c_int) -> Result<Arc<System>> {
    let found = with(|known| known.files.get(&file).map(|file| file.system.clone()));
    found.ok_or_else(|| no_such("file", file))
}

/// Runs a call on a file.
pub(in crate::capi) fn on_file(id: c_int, body: impl FnOnce(&mut OpenFile) -> Result<()>) -> c_int {
    on_system_of(id, |_| with_file(id, body))
}

/// Runs a call on the I/O system of a file.
pub(in crate::capi) fn on_system_of(
    file: c_int,
    body: impl FnOnce(&Arc<System>) -> Result<()>,
) -> c_int {
    guard(EIO, || run_on(system_of(file), body))
}

/// A file that a call has taken out. A panic closes it and forgets its id.
struct Lent {
    id: c_int,
    open: Option<OpenFile>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        let open = self.open.take();
        let gone = with(|known| match (open, std::thread::panicking()) {
            (Some(open), false) => {
                let known = known.files.get_mut(&self.id);
                known.and_then(|file| file.open.replace(open))
            }
            (open, _) => {
                known.files.remove(&self.id);
                open
            }
        });
        drop(gone);
    }
}

pub(in crate::capi) fn with_file<T>(
    id: c_int,
    body: impl FnOnce(&mut OpenFile) -> Result<T>,
) -> Result<T> {
    let open = Some(lend(id)?);
    let mut lent = Lent { id, open };
    let open = lent.open.as_mut().ok_or_else(|| no_such("file", id))?;
    body(open)
}

impl OpenFile {
    /// Changes the file on the I/O tasks, after all ranks have agreed that their arguments are right and the same; all
    /// ranks get the answer of the first I/O task. Only `given` is compared.
    pub(in crate::capi) fn change<A: Hash, T: Shared>(
        &mut self,
        given: Result<A>,
        call: impl FnOnce(&mut dyn Format, A) -> Result<T>,
    ) -> Result<T> {
        let given = self.system.agree_same(ARGUMENTS, given)?;
        self.file.ask(|format| call(format, given))
    }

    /// As [`OpenFile::change`] for an inquiry: arguments are compared in the same message as the answer.
    pub(in crate::capi) fn ask<A: Hash, T: Shared>(
        &mut self,
        given: Result<A>,
        call: impl FnOnce(&mut dyn Format, A) -> Result<T>,
    ) -> Result<T> {
        let digest = given.as_ref().map_or(0, digest);
        self.file
            .ask_same(ARGUMENTS, given.map(|given| (given, digest)), call)
    }

    /// Whether there is such a variable. Local.
    pub(in crate::capi) fn check_var(&self, var: c_int) -> Result<()> {
        const ENOTVAR: c_int = -49;
        /// SCORPIO reports ids beyond this as invalid arguments.
        const MAX_VARS: c_int = 8192;
        let text = format!("the file has no variable {var}");
        match var {
            _ if (0..self.vars).contains(&var) => Ok(()),
            0..MAX_VARS => Err(not_found(ENOTVAR, text)),
            _ if cfg!(feature = "pio_ncar") => Err(not_found(ENOTVAR, text)),
            _ => Err(Error::Invalid(text)),
        }
    }
}

/// What differs, in the text of the error.
const ARGUMENTS: &str = "things of a file";

fn not_found(code: c_int, text: String) -> Error {
    let call = "PIO";
    Error::Format { call, code, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_and_end() {
        let mut next = FIRST_DECOMP;
        assert_eq!(take_id(&mut next, 1).unwrap(), 512);
        assert_eq!(take_id(&mut next, 1).unwrap(), 513);
        next = c_int::MAX;
        assert!(take_id(&mut next, 1).is_err());
        assert_eq!(next, c_int::MAX);
    }

    #[test]
    fn what_was_never_made_is_not_there() {
        assert_eq!(system(SYSTEM_STEP).err().map(|e| e.code()), Some(-33));
        assert_eq!(decomp(FIRST_DECOMP).err().map(|e| e.code()), Some(-33));
        assert_eq!(remove_decomp(1).unwrap_err().code(), -33);
        assert!(!is_open(FIRST_FILE) && take_file(FIRST_FILE).is_err());
        assert_eq!(on_file(FIRST_FILE, |_| Ok(())), -33);
        assert_eq!(on_system(0, |_| Ok(())), -33);
    }
}
