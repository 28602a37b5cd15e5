//! `redset.h`, the half with MPI: descriptors, apply, recover.
//!
//! A call that fails on one rank because of its arguments must not leave the others waiting, so what a
//! rank finds wrong goes through [`Held::agree`] first, as soon as there is a communicator to tell it on.
//!
//! The functions that take an MPI_Comm carry the `cfg` of this whole file once more: it becomes the
//! `#if` around them in the header.

use super::handle::{self, Opaque};
use super::redset::{
    REDSET_COPY_PARTNER, REDSET_COPY_RS, REDSET_COPY_SINGLE, REDSET_COPY_XOR, REDSET_FAILURE,
    REDSET_SUCCESS, hand_out, natural, needed, paths, redset_filelist, remembered, status,
};
use super::{error, guard, ptr, redset_internal};
pub(super) use crate::comm::agree;
use crate::comm::mpi::{MPI_Comm, MpiComm};
use crate::comm::{self, Comm};
use crate::kvtree::{RawTree as kvtree, TreeRef};
use crate::log;
use crate::redset::{self as room, Config, Error, Redset, Result, Scheme};
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::ptr::null_mut;

pub(super) const REDSET_COPY_NULL: c_int = 0;

#[allow(non_camel_case_types)]
pub type redset = *mut c_void;

/// What a `redset` points to.
pub(super) struct Held {
    /// Absent when recover was not given what it needs: there is something to delete all the same.
    redset: Option<Redset<MpiComm>>,
    /// Ours alone, since the user may free his before he is done with the descriptor.
    comm: MpiComm,
    pub(super) shown: Option<Shown>,
}

/// What `stanchion_redset_describe` lends out.
pub(super) struct Shown {
    pub(super) left_host: CString,
    pub(super) right_host: CString,
    pub(super) map: Vec<c_int>,
}

impl Opaque for Held {
    const MAGIC: u64 = 0x7265_6473_6574_4445;
}

impl Held {
    pub(super) fn hand_out(comm: MpiComm, redset: Option<Redset<MpiComm>>) -> redset {
        let shown = redset.as_ref().and_then(Shown::of);
        handle::new(Held {
            redset,
            comm,
            shown,
        })
    }

    pub(super) unsafe fn from_raw<'a>(d: redset) -> Result<&'a Held> {
        // SAFETY: a descriptor of the caller, or NULL.
        unsafe { handle::get(d) }.ok_or(Error::NotADescriptor("d"))
    }

    pub(super) fn redset(&self) -> Result<&Redset<MpiComm>> {
        self.redset.as_ref().ok_or(Error::NotADescriptor("d"))
    }

    fn agree<T>(&self, local: Result<T>) -> Result<T> {
        agree(&self.comm, local)
    }
}

impl Shown {
    fn of(redset: &Redset<MpiComm>) -> Option<Shown> {
        let set = redset.set()?;
        let text = |name: &str| CString::new(name).unwrap_or_default();
        Some(Shown {
            left_host: text(&set.left.hostname),
            right_host: text(&set.right.hostname),
            map: set.map.iter().map(|&rank| rank as c_int).collect(),
        })
    }
}

/// A communicator with the ranks of the user's, which belongs to us.
pub(super) fn own_comm(user: MPI_Comm) -> Result<MpiComm> {
    let private = MpiComm::private(user)?;
    let own = private.split(Some(0), private.rank() as c_int)?;
    own.ok_or_else(|| comm::Error::NullCommunicator.into())
}

pub(super) unsafe fn name<'a>(name: *const c_char) -> Result<&'a OsStr> {
    // SAFETY: arguments of the caller.
    let path = unsafe { ptr::path(name) };
    Ok(needed(path, "name")?.as_os_str())
}

// ---- library ----

/// Prepares the library; descriptors need no more than that. Fails if the environment variable
/// REDSET_ENCODE is set to something else than CPU, OPENMP, PTHREADS or CUDA. The library itself chooses
/// how it computes.
#[unsafe(no_mangle)]
pub extern "C" fn redset_init() -> c_int {
    guard(REDSET_FAILURE, || {
        let method = std::env::var_os("REDSET_ENCODE").unwrap_or("CPU".into());
        if let Some("CPU" | "OPENMP" | "PTHREADS" | "CUDA") = method.to_str() {
            return REDSET_SUCCESS;
        }
        error::remember(format!("REDSET_ENCODE is {method:?}, which is not known"));
        REDSET_FAILURE
    })
}

/// Ends the use of the library; descriptors are still to be deleted.
#[unsafe(no_mangle)]
pub extern "C" fn redset_finalize() -> c_int {
    REDSET_SUCCESS
}

/// Changes the settings of the process, or shows them.
///
/// DEBUG (int): above 0, errors are logged unless a log level was chosen. SETSIZE (int): least size of
/// the sets that redset_create makes. MPI_BUF_SIZE (byte count): largest message. CHECKSUM (int): 0
/// leaves checksums out of new redundancy files. SALVAGE (int): 1 lets recover rebuild all it can although
/// more ranks have lost something than the scheme promises to survive. DIRECT (int): 0 lets ranks of one
/// node send each other messages instead of reading and writing each other's files. The last three are
/// shown only once they were set.
///
/// # Returns
/// `config`; NULL if a key or a value is not known, and then nothing is changed. Called with NULL: a new
/// tree with all settings, to be given to kvtree_delete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_config(config: *const kvtree) -> *mut kvtree {
    guard(null_mut(), || {
        // SAFETY: arguments of the caller.
        let Some(tree) = (unsafe { TreeRef::from_raw(config) }) else {
            return Config::current().to_tree().into_raw();
        };
        match remembered(configure(tree)) {
            Some(()) => config.cast_mut(),
            None => null_mut(),
        }
    })
}

fn configure(tree: TreeRef) -> Result<()> {
    let changed = Config::current().changed_by(tree)?;
    changed.set();
    redset_internal::settings::show(&changed);
    if changed.debug > 0 && tree.get(c"DEBUG").is_some() {
        log::set_default_level(log::Level::Error);
    }
    Ok(())
}

// ---- create and delete ----

/// As one of the functions below, for `type` one of the REDSET_COPY values; sets have at least SETSIZE
/// ranks, PARTNER keeps one copy, RS survives the loss of two ranks.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_create(
    r#type: c_int,
    comm: MPI_Comm,
    group: *const c_char,
    d: *mut redset,
) -> c_int {
    let scheme = match r#type {
        REDSET_COPY_SINGLE => Ok(Scheme::Single),
        REDSET_COPY_PARTNER => Ok(Scheme::Partner { replicas: 1 }),
        REDSET_COPY_XOR => Ok(Scheme::Xor),
        REDSET_COPY_RS => Ok(Scheme::ReedSolomon { k: 2 }),
        other => Err(Error::Type(other)),
    };
    let size = Config::current().set_size;
    // SAFETY: arguments of the caller.
    status(|| unsafe { create(comm, scheme, group, size, d) })
}

/// Makes a descriptor that notes files down without protecting them.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_create_single(
    comm: MPI_Comm,
    group: *const c_char,
    d: *mut redset,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { create(comm, Ok(Scheme::Single), group, 1, d) })
}

/// Makes a descriptor of sets in which `replicas` ranks hold a copy of the files of each.
///
/// Ranks that give the same `group` are expected to fail together, so they come into different sets.
/// Sets have at least `size` ranks if there are enough groups, and must have more than `replicas`.
///
/// If the environment variable STANCHION_TOPOLOGY is set, the sets are those of fdp_create for it and this `size`;
/// `group` is then the innermost domain, put behind the path unless the path ends with it.
///
/// # Returns
/// 0, and the descriptor in `d`, to be given to redset_delete.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_create_partner(
    comm: MPI_Comm,
    group: *const c_char,
    size: c_int,
    replicas: c_int,
    d: *mut redset,
) -> c_int {
    let replicas = natural("replicas", replicas);
    let scheme = replicas.map(|replicas| Scheme::Partner { replicas });
    // SAFETY: arguments of the caller.
    status(|| unsafe { create(comm, scheme, group, size, d) })
}

/// Makes a descriptor of sets that survive the loss of one rank, as redset_create_partner does. Sets
/// must have at least two ranks.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_create_xor(
    comm: MPI_Comm,
    group: *const c_char,
    size: c_int,
    d: *mut redset,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { create(comm, Ok(Scheme::Xor), group, size, d) })
}

/// Makes a descriptor of sets that survive the loss of `k` ranks, as redset_create_partner does. Sets
/// must have more than `k` ranks, and at most 256 - `k`.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_create_rs(
    comm: MPI_Comm,
    group: *const c_char,
    size: c_int,
    k: c_int,
    d: *mut redset,
) -> c_int {
    let scheme = natural("k", k).map(|k| Scheme::ReedSolomon { k });
    // SAFETY: arguments of the caller.
    status(|| unsafe { create(comm, scheme, group, size, d) })
}

unsafe fn create(
    comm: MPI_Comm,
    scheme: Result<Scheme>,
    group: *const c_char,
    size: c_int,
    d: *mut redset,
) -> Result<()> {
    // SAFETY: arguments of the caller.
    let has_place = unsafe { ptr::store(d, null_mut()) };
    let comm = own_comm(comm)?;
    // SAFETY: arguments of the caller.
    let group = unsafe { ptr::text(group) };
    let given = has_place.then_some(()).ok_or(Error::Null("d"));
    let given = given.and_then(|()| Ok((scheme?, needed(group, "group")?, set_size(size)?)));
    let (scheme, group, size) = agree(&comm, given)?;
    let kind = scheme.name().to_bytes()[0].into();
    check_same(&comm, "sets", [kind, scheme.copies() as u64, size as u64])?;
    let redset = room::create(&comm, scheme, Some(group.to_bytes()), size)?;
    // SAFETY: not NULL, or the ranks had not agreed.
    unsafe { d.write(Held::hand_out(comm, Some(redset))) };
    Ok(())
}

fn set_size(size: c_int) -> Result<usize> {
    match natural("the size of a set", size)? {
        0 => Err(Error::Number {
            what: "the size of a set",
            value: 0,
        }),
        size => Ok(size),
    }
}

/// Ranks that want different things would wait for each other.
fn check_same<const N: usize>(comm: &impl Comm, what: &str, wanted: [u64; N]) -> Result<()> {
    match comm::is_same(comm, &wanted)? {
        true => Ok(()),
        false => Err(Error::Mismatch(format!("they ask for different {what}"))),
    }
}

/// As [`check_same`] for the settings that decide who sends what to whom.
fn check_settings(comm: &impl Comm) -> Result<()> {
    let config = Config::current();
    let buf_size = config.buf_size.map_or(0, |bytes| bytes as u64);
    let switches = [config.checksums(), config.salvages(), config.is_direct()];
    let [checksums, salvages, direct] = switches.map(u64::from);
    check_same(comm, "settings", [buf_size, checksums, salvages, direct])
}

/// Deletes a descriptor and sets the pointer to NULL.
///
/// # Collective
/// Called by all ranks of the communicator it was made from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_delete(d: *mut redset) -> c_int {
    status(|| {
        if d.is_null() {
            return Err(Error::Null("d"));
        }
        // SAFETY: the caller gives the descriptor up.
        let held = unsafe { handle::take::<Held>(*d) };
        // SAFETY: checked above.
        unsafe { d.write(null_mut()) };
        held.map(drop).ok_or(Error::NotADescriptor("d"))
    })
}

// ---- apply and recover ----

/// Protects `files`: writes redundancy to new files whose names begin with `name`.
///
/// # Collective
/// Called by all ranks of the communicator the descriptor was made from, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_apply(
    numfiles: c_int,
    files: *mut *const c_char,
    name: *const c_char,
    d: redset,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let held = Held::from_raw(d)?;
        let given = paths(numfiles, files).and_then(|files| Ok((files, self::name(name)?)));
        let given = given.and_then(|given| Ok((given, held.redset()?)));
        let ((files, name), redset) = held.agree(given)?;
        check_settings(&held.comm)?;
        redset.apply(&files, name)
    })
}

/// Rebuilds what is missing or damaged of the files that redset_apply protected under `name`.
///
/// # Returns
/// 0 if all files of all ranks are there again. `d` gets a descriptor in any case, as complete as can
/// be known, to be given to redset_delete; NULL only if the communicator can not be used.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_recover(
    comm: MPI_Comm,
    name: *const c_char,
    d: *mut redset,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let has_place = ptr::store(d, null_mut());
        let comm = own_comm(comm)?;
        let given = has_place.then_some(()).ok_or(Error::Null("d"));
        let given = given.and_then(|()| self::name(name));
        let given = agree(&comm, given).and_then(|name| check_settings(&comm).map(|()| name));
        let (redset, verdict) = match given {
            Ok(name) => room::recover(&comm, name).map(|(d, verdict)| (Some(d), verdict))?,
            Err(cause) => (None, Err(cause)),
        };
        if has_place {
            d.write(Held::hand_out(comm, redset));
        }
        verdict
    })
}

/// Removes the files that redset_apply wrote under `name`.
///
/// # Collective
/// Called by all ranks of the communicator the descriptor was made from, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_unapply(name: *const c_char, d: redset) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let held = Held::from_raw(d)?;
        let given = self::name(name).and_then(|name| Ok((name, held.redset()?)));
        let (name, redset) = held.agree(given)?;
        redset.unapply(name)
    })
}

/// The files that redset_apply writes on this rank, to be given to redset_filelist_release.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_filelist_enc_get(
    name: *const c_char,
    d: redset,
) -> redset_filelist {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        let redset = Held::from_raw(d).and_then(Held::redset);
        hand_out(redset.and_then(|redset| redset.redundancy_files(self::name(name)?)))
    })
}

/// The files that this rank gave to redset_apply, to be given to redset_filelist_release; NULL if that
/// is not known any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn redset_filelist_orig_get(
    name: *const c_char,
    d: redset,
) -> redset_filelist {
    // SAFETY: arguments of the caller.
    guard(null_mut(), || unsafe {
        let redset = Held::from_raw(d).and_then(Held::redset);
        hand_out(redset.and_then(|redset| redset.original_files(self::name(name)?)))
    })
}
