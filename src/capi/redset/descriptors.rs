//! # Descriptors
//!
//! A descriptor knows the set of this rank and how the set protects its files.

// Functions that take an MPI_Comm repeat the `cfg` of the whole file: it becomes the `#if` around them in the header.

use super::{
    REDSET_COPY_PARTNER, REDSET_COPY_RS, REDSET_COPY_SINGLE, REDSET_COPY_XOR, natural, redset,
    status,
};
use crate::capi::boundary::{Handle, InOut, Opaque, Out, Text};
pub(in crate::capi) use crate::comm::agree;
use crate::comm::mpi::{MPI_Comm, MpiComm};
use crate::comm::{self, Comm};
use crate::redset::{self as room, Config, Error, Redset, Result, Scheme};
use std::ffi::{CString, OsStr, c_int};

/// What a `redset` of C points to.
pub struct HeldRedset {
    /// Absent if recover failed before it knew the set: there is still a descriptor to delete.
    redset: Option<Redset<MpiComm>>,
    /// A duplicate: users may free their communicator before they delete the descriptor.
    pub(super) comm: MpiComm,
    pub(in crate::capi) shown: Option<ShownSet>,
}

/// What `stanchion_redset_describe` lends to its caller.
pub(in crate::capi) struct ShownSet {
    pub(in crate::capi) left_host: CString,
    pub(in crate::capi) right_host: CString,
    pub(in crate::capi) map: Vec<c_int>,
}

impl Opaque for HeldRedset {
    const MAGIC: u64 = 0x7265_6473_6574_4445;
}

impl HeldRedset {
    pub(in crate::capi) fn hand_out(
        comm: MpiComm,
        redset: Option<Redset<MpiComm>>,
    ) -> redset<'static> {
        let shown = redset.as_ref().and_then(ShownSet::of);
        Handle::hand_out(HeldRedset {
            redset,
            comm,
            shown,
        })
    }

    pub(in crate::capi) fn redset(&self) -> Result<&Redset<MpiComm>> {
        self.redset.as_ref().ok_or(Error::NotADescriptor("d"))
    }
}

/// The descriptor behind a handle.
pub(in crate::capi) fn held(d: redset<'_>) -> Result<&HeldRedset> {
    d.value().ok_or(Error::NotADescriptor("d"))
}

impl ShownSet {
    fn of(redset: &Redset<MpiComm>) -> Option<Self> {
        let set = redset.set()?;
        let text = |name: &str| CString::new(name).unwrap_or_default();
        Some(Self {
            left_host: text(&set.left.hostname),
            right_host: text(&set.right.hostname),
            map: set.map.iter().map(|&rank| rank as c_int).collect(),
        })
    }
}

/// A duplicate of the user's communicator that belongs to the descriptor.
pub(in crate::capi) fn own_comm(user: MPI_Comm) -> Result<MpiComm> {
    let private = MpiComm::private(user)?;
    let own = private.split(Some(0), private.rank() as c_int)?;
    own.ok_or_else(|| comm::Error::NullCommunicator.into())
}

pub(in crate::capi) fn name(name: Text<'_>) -> Result<&OsStr> {
    Ok(name.path().ok_or(Error::Null("name"))?.as_os_str())
}

/// Sets `*d` to NULL until there is a descriptor; an error if `d` itself is NULL.
pub(in crate::capi) fn clear(d: Out<redset>) -> Result<()> {
    d.set(InOut::NULL).then_some(()).ok_or(Error::Null("d"))
}

/// As one of the functions below, for `type` one of the REDSET_COPY values. Sets have at least SETSIZE ranks; PARTNER
/// keeps one copy, RS survives the loss of two ranks.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn redset_create(
    r#type: c_int,
    comm: MPI_Comm,
    group: Text,
    d: Out<redset>,
) -> c_int {
    let scheme = match r#type {
        REDSET_COPY_SINGLE => Ok(Scheme::Single),
        REDSET_COPY_PARTNER => Ok(Scheme::Copies { replicas: 1 }),
        REDSET_COPY_XOR => Ok(Scheme::Xor),
        REDSET_COPY_RS => Ok(Scheme::ReedSolomon { k: 2 }),
        other => Err(Error::Type(other)),
    };
    status(|| create(comm, scheme, group, Config::current().set_size, d))
}

/// Makes a descriptor that records files without protecting them.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn redset_create_single(comm: MPI_Comm, group: Text, d: Out<redset>) -> c_int {
    status(|| create(comm, Ok(Scheme::Single), group, 1, d))
}

/// Makes a descriptor of sets in which `replicas` other ranks hold a copy of each rank's files.
///
/// Ranks with the same `group` are expected to fail together, so they go to different sets. Sets have at least `size`
/// ranks if there are enough groups, and must have more than `replicas`.
///
/// If the environment variable STANCHION_TOPOLOGY is set, the sets are those of fdp_create for it and this `size`;
/// `group` is then appended to the path as the innermost domain, unless the path ends with it.
///
/// # Returns
/// 0, and the descriptor in `d`, to be freed with redset_delete.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn redset_create_partner(
    comm: MPI_Comm,
    group: Text,
    size: c_int,
    replicas: c_int,
    d: Out<redset>,
) -> c_int {
    let replicas = natural("replicas", replicas);
    let scheme = replicas.map(|replicas| Scheme::Copies { replicas });
    status(|| create(comm, scheme, group, size, d))
}

/// Makes a descriptor of sets that survive the loss of one rank, as redset_create_partner does. Sets must have at least
/// two ranks.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn redset_create_xor(
    comm: MPI_Comm,
    group: Text,
    size: c_int,
    d: Out<redset>,
) -> c_int {
    status(|| create(comm, Ok(Scheme::Xor), group, size, d))
}

/// Makes a descriptor of sets that survive the loss of `k` ranks, as redset_create_partner does. Sets must have more than
/// `k` ranks, and at most 256 - `k`.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn redset_create_rs(
    comm: MPI_Comm,
    group: Text,
    size: c_int,
    k: c_int,
    d: Out<redset>,
) -> c_int {
    let scheme = natural("k", k).map(|k| Scheme::ReedSolomon { k });
    status(|| create(comm, scheme, group, size, d))
}

fn create(
    comm: MPI_Comm,
    scheme: Result<Scheme>,
    group: Text,
    size: c_int,
    d: Out<redset>,
) -> Result<()> {
    let cleared = clear(d);
    let comm = own_comm(comm)?;
    let given = cleared.and_then(|()| {
        let group = group.get().ok_or(Error::Null("group"));
        Ok((scheme?, group?, set_size(size)?))
    });
    let (scheme, group, size) = agree(&comm, given)?;
    let [kind, _] = scheme.numbers();
    check_same(&comm, "sets", [kind, scheme.copies() as u64, size as u64])?;
    let redset = room::create(&comm, scheme, Some(group.to_bytes()), size)?;
    d.set(HeldRedset::hand_out(comm, Some(redset)));
    Ok(())
}

fn set_size(size: c_int) -> Result<usize> {
    let what = "the size of a set";
    match natural(what, size)? {
        0 => Err(Error::Number { what, value: 0 }),
        size => Ok(size),
    }
}

/// Fails on all ranks if they gave different numbers: with those, ranks would wait for each other.
pub(super) fn check_same<const N: usize>(
    comm: &impl Comm,
    what: &str,
    wanted: [u64; N],
) -> Result<()> {
    match comm::is_same(comm, &wanted)? {
        true => Ok(()),
        false => Err(Error::Mismatch(format!("they ask for different {what}"))),
    }
}

/// Deletes a descriptor and sets the pointer to NULL.
///
/// # Collective
/// Called by all ranks of the communicator that it was made from.
#[unsafe(no_mangle)]
pub extern "C" fn redset_delete(d: InOut<redset>) -> c_int {
    status(|| {
        let given = d.replace(InOut::NULL).ok_or(Error::Null("d"))?;
        // SAFETY: the caller gives the descriptor up.
        let held = unsafe { given.take() };
        held.map(drop).ok_or(Error::NotADescriptor("d"))
    })
}
