//! What the ids of PIO stand for. They belong to the thread that made them, as its communicators do.

use super::guard;
use super::pio_errors::{self, Handler, conclude};
use crate::comm::mpi::MpiComm;
use crate::pio::error::EIO;
use crate::pio::file::Shared;
use crate::pio::format::Format;
use crate::pio::{Decomp, Error, File, IoSystem, Result, agree};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CString, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// An I/O system, with what only the C layer knows of it.
pub(super) struct System {
    pub(super) id: c_int,
    pub(super) io: Rc<IoSystem<MpiComm>>,
    pub(super) handler: Cell<Handler>,
    /// For MPI-IO, in the order they were given.
    pub(super) hints: RefCell<Vec<(CString, CString)>>,
}

impl System {
    /// One rank's failure becomes every rank's.
    pub(super) fn agree<T>(&self, local: Result<T>) -> Result<T> {
        agree(&self.io.comm, local)
    }

    pub(super) fn conclude(&self, outcome: Result<()>) -> c_int {
        conclude(self.handler.get(), Some(&self.io.comm), outcome)
    }
}

/// A decomposition and the I/O system it was made for.
#[derive(Clone)]
pub(super) struct HeldDecomp {
    pub(super) system: c_int,
    pub(super) decomp: Rc<Decomp>,
}

/// An open file.
pub(super) struct OpenFile {
    pub(super) system: Rc<System>,
    pub(super) file: File<MpiComm>,
    /// The number of its variables, so that a rank can tell a wrong one without asking.
    pub(super) vars: c_int,
}

/// Ids as upstream gives them out: ascending and never used again.
struct Registry {
    systems: BTreeMap<c_int, Rc<System>>,
    decomps: BTreeMap<c_int, HeldDecomp>,
    files: BTreeMap<c_int, OpenFile>,
    next_system: c_int,
    next_decomp: c_int,
    next_file: c_int,
}

/// The ids of two I/O systems are this far apart.
const SYSTEM_STEP: c_int = 1 << 16;
const FIRST_DECOMP: c_int = 512;
const FIRST_FILE: c_int = 128;

thread_local! {
    static REGISTRY: RefCell<Registry> = const { RefCell::new(Registry {
        systems: BTreeMap::new(),
        decomps: BTreeMap::new(),
        files: BTreeMap::new(),
        next_system: SYSTEM_STEP,
        next_decomp: FIRST_DECOMP,
        next_file: FIRST_FILE,
    }) };
}

/// Nothing that talks to others or calls back runs in `work`: it may want the registry itself.
fn with<T>(work: impl FnOnce(&mut Registry) -> T) -> T {
    REGISTRY.with_borrow_mut(work)
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

/// A number that differs, as good as always, where `wanted` does: for [`crate::pio::agree_same`].
pub(super) fn digest(wanted: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    wanted.hash(&mut hasher);
    hasher.finish()
}

// ---- I/O systems ----

pub(super) fn add_system(io: IoSystem<MpiComm>) -> Result<c_int> {
    with(|known| {
        let id = take_id(&mut known.next_system, SYSTEM_STEP)?;
        let system = System {
            id,
            io: Rc::new(io),
            handler: Cell::new(pio_errors::default_handler()),
            hints: RefCell::default(),
        };
        known.systems.insert(id, Rc::new(system));
        Ok(id)
    })
}

pub(super) fn system(id: c_int) -> Result<Rc<System>> {
    let found = with(|known| known.systems.get(&id).cloned());
    found.ok_or_else(|| no_such("I/O system", id))
}

/// Those that are still open.
pub(super) fn files_of(system: c_int) -> Vec<c_int> {
    with(|known| {
        let of_system = known
            .files
            .iter()
            .filter(|(_, open)| open.system.id == system);
        of_system.map(|(id, _)| *id).collect()
    })
}

/// Forgets an I/O system and its decompositions.
pub(super) fn remove_system(id: c_int) {
    let gone = with(|known| {
        let decomps = known.decomps.iter().filter(|(_, held)| held.system == id);
        let decomps: Vec<c_int> = decomps.map(|(id, _)| *id).collect();
        let freed: Vec<_> = decomps.iter().map(|id| known.decomps.remove(id)).collect();
        (known.systems.remove(&id), freed)
    });
    drop(gone);
}

/// Runs a call on an I/O system.
pub(super) fn on_system(id: c_int, body: impl FnOnce(&Rc<System>) -> Result<()>) -> c_int {
    guard(EIO, || match system(id) {
        Ok(system) => system.conclude(body(&system)),
        Err(error) => conclude(pio_errors::default_handler(), None, Err(error)),
    })
}

// ---- decompositions ----

pub(super) fn add_decomp(system: c_int, decomp: Decomp) -> Result<c_int> {
    let decomp = Rc::new(decomp);
    with(|known| {
        let id = take_id(&mut known.next_decomp, 1)?;
        known.decomps.insert(id, HeldDecomp { system, decomp });
        Ok(id)
    })
}

pub(super) fn decomp(id: c_int) -> Result<HeldDecomp> {
    let found = with(|known| known.decomps.get(&id).cloned());
    found.ok_or_else(|| no_such("decomposition", id))
}

pub(super) fn remove_decomp(id: c_int) -> Result<()> {
    let found = with(|known| known.decomps.remove(&id));
    found.map(drop).ok_or_else(|| no_such("decomposition", id))
}

// ---- files ----

pub(super) fn add_file(system: Rc<System>, file: File<MpiComm>, vars: c_int) -> Result<c_int> {
    with(|known| {
        let id = take_id(&mut known.next_file, 1)?;
        let open = OpenFile { system, file, vars };
        known.files.insert(id, open);
        Ok(id)
    })
}

pub(super) fn is_open(id: c_int) -> bool {
    with(|known| known.files.contains_key(&id))
}

pub(super) fn take_file(id: c_int) -> Result<OpenFile> {
    let found = with(|known| known.files.remove(&id));
    found.ok_or_else(|| no_such("file", id))
}

/// The I/O system of a file.
pub(super) fn system_of(file: c_int) -> Result<Rc<System>> {
    let found = with(|known| known.files.get(&file).map(|open| open.system.clone()));
    found.ok_or_else(|| no_such("file", file))
}

/// Runs a call on a file.
pub(super) fn on_file(id: c_int, body: impl FnOnce(&mut OpenFile) -> Result<()>) -> c_int {
    on_system_of(id, || with_file(id, body))
}

/// Runs a call on the I/O system of a file.
pub(super) fn on_system_of(file: c_int, body: impl FnOnce() -> Result<()>) -> c_int {
    guard(EIO, || match system_of(file) {
        Ok(system) => system.conclude(body()),
        Err(error) => conclude(pio_errors::default_handler(), None, Err(error)),
    })
}

/// The file is out of the registry meanwhile: a panic leaves it closed.
pub(super) fn with_file<T>(id: c_int, body: impl FnOnce(&mut OpenFile) -> Result<T>) -> Result<T> {
    let mut open = take_file(id)?;
    let outcome = body(&mut open);
    with(|known| known.files.insert(id, open));
    outcome
}

impl OpenFile {
    pub(super) fn agree<T>(&self, local: Result<T>) -> Result<T> {
        self.system.agree(local)
    }

    /// As [`File::ask`] with arguments that each rank has checked for itself: nothing is asked unless all have
    /// found them right.
    pub(super) fn ask<A, T: Shared>(
        &mut self,
        given: Result<A>,
        call: impl FnOnce(&mut dyn Format, A) -> Result<T>,
    ) -> Result<T> {
        let given = self.agree(given)?;
        self.file.ask(|format| call(format, given))
    }

    /// Whether there is such a variable. Local.
    pub(super) fn check_var(&self, var: c_int) -> Result<()> {
        const ENOTVAR: c_int = -49;
        /// SCORPIO makes this difference.
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
