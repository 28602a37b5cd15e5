//! # Placements
//!
//! Sets of ranks placed by failure domains. Functions return 0 or above for success, or a negative
//! errno.

use crate::capi::handle::{self, Opaque};
use crate::capi::redset::rebuild::{
    REDSET_COPY_PARTNER, REDSET_COPY_RS, REDSET_COPY_SINGLE, REDSET_COPY_XOR,
};
use crate::capi::{error, guard, guard_alone, ptr};
use crate::comm;
#[cfg(feature = "mpi")]
use crate::comm::mpi::{MPI_Comm, MpiComm};
#[cfg(feature = "mpi")]
use crate::failure_domain::placement;
use crate::failure_domain::placement::{Error, Placement, Request, Result, Scheme};
use crate::failure_domain::{self, check_memory};
use libc::{EINVAL, EIO, ENOENT, ENOMEM, ENOTSUP, ERANGE};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// What C knows by its address only.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct fdp_t {
    _private: [u8; 0],
}

/// As `stanchion.h` declares it.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct fdp_scheme {
    r#type: c_int,
    count: c_int,
    set_size: c_int,
    required: *const u32,
    levels: usize,
}

/// As `stanchion.h` declares it.
#[allow(non_camel_case_types)]
pub type fdp_scenario_cb = Option<
    unsafe extern "C" fn(
        domains: *const *const c_char,
        count: usize,
        lost_set: c_int,
        user: *mut c_void,
    ) -> c_int,
>;

impl Opaque for Placement {
    const MAGIC: u64 = 0x6664_7050_4c41_4345;
}

// ---- errors and arguments ----

/// Negative; the same on all ranks of a collective.
fn code(error: &Error) -> c_int {
    -match error {
        Error::Tree(failure_domain::Error::Memory) => ENOMEM,
        Error::Null(_)
        | Error::NotAPlacement
        | Error::NotText(_)
        | Error::Number { .. }
        | Error::EmptyPart { .. }
        | Error::Depth { .. }
        | Error::Tree(_)
        | Error::Scheme(_)
        | Error::SetSize { .. }
        | Error::TooFewRanks { .. }
        | Error::Required { .. }
        | Error::Topology(_)
        | Error::Mismatch
        | Error::Peer { .. } => EINVAL,
        Error::NoDomain(_) => ENOENT,
        Error::Room { .. } => ERANGE,
        Error::Unreachable { .. } => ENOTSUP,
        Error::Comm(comm::Error::NoMemory(_)) => ENOMEM,
        Error::Rankstr(_) | Error::Comm(_) => EIO,
    }
}

fn status(body: impl FnOnce() -> Result<c_int>) -> c_int {
    guard_alone(-EIO, -ENOMEM, || answer(body()))
}

#[cfg(feature = "mpi")]
fn collective(body: impl FnOnce() -> Result<c_int>) -> c_int {
    guard(-EIO, || answer(body()))
}

fn answer(result: Result<c_int>) -> c_int {
    result.unwrap_or_else(|cause| {
        let code = code(&cause);
        error::remember(cause);
        code
    })
}

pub(in crate::capi) unsafe fn placement_of<'a>(placement: *const fdp_t) -> Result<&'a Placement> {
    // SAFETY: a placement of the caller, or NULL.
    unsafe { handle::get(placement.cast()) }.ok_or(Error::NotAPlacement)
}

fn needed<T>(value: Option<T>, what: &'static str) -> Result<T> {
    value.ok_or(Error::Null(what))
}

/// A number that names one of `0..count`.
fn one_of(what: &'static str, value: i64, count: usize) -> Result<usize> {
    let number = usize::try_from(value).ok().filter(|number| *number < count);
    number.ok_or(Error::Number { what, value })
}

unsafe fn text<'a>(text: *const c_char, what: &'static str) -> Result<&'a str> {
    // SAFETY: arguments of the caller.
    let text = needed(unsafe { ptr::text(text) }, what)?;
    text.to_str().map_err(|_| Error::NotText(what))
}

unsafe fn texts<'a>(
    given: *const *const c_char,
    count: usize,
    what: &'static str,
) -> Result<Vec<&'a str>> {
    if given.is_null() && count > 0 {
        return Err(Error::Null(what));
    }
    check_memory(count)?;
    // SAFETY: the caller promised so many strings.
    (0..count)
        .map(|one| unsafe { text(*given.add(one), what) })
        .collect()
}

unsafe fn request_of(scheme: *const fdp_scheme) -> Result<Request> {
    // SAFETY: arguments of the caller.
    let given = needed(unsafe { scheme.as_ref() }, "scheme")?;
    let natural = |what, value: c_int| {
        usize::try_from(value).map_err(|_| Error::Number {
            what,
            value: value.into(),
        })
    };
    let scheme = match given.r#type {
        REDSET_COPY_SINGLE => Scheme::Single,
        REDSET_COPY_PARTNER => Scheme::Partner {
            replicas: natural("count", given.count)?,
        },
        REDSET_COPY_XOR => Scheme::Xor,
        REDSET_COPY_RS => Scheme::ReedSolomon {
            k: natural("count", given.count)?,
        },
        other => {
            return Err(Error::Number {
                what: "the type of the scheme",
                value: other.into(),
            });
        }
    };
    let set_size = match scheme {
        Scheme::Single => 1,
        _ => natural("set_size", given.set_size)?,
    };
    let mut request = Request::new(scheme, set_size);
    if !given.required.is_null() {
        // SAFETY: the caller promised so many numbers.
        let required = (0..given.levels).map(|level| unsafe { given.required.add(level).read() });
        request.required = required.collect();
    }
    Ok(request)
}

/// Copies `items` to where the caller has `*room` places, and says how many it takes.
unsafe fn fill<T: Copy>(items: &[T], into: *mut T, room: *mut usize) -> Result<c_int> {
    if room.is_null() {
        return Err(Error::Null("the length"));
    }
    // SAFETY: checked above.
    let had = unsafe { room.replace(items.len()) };
    if into.is_null() {
        return Ok(0);
    }
    if had < items.len() {
        return Err(Error::Room {
            had,
            needed: items.len(),
        });
    }
    // SAFETY: the caller has room for `had` items.
    unsafe { into.copy_from_nonoverlapping(items.as_ptr(), items.len()) };
    Ok(0)
}

unsafe fn fill_text(text: String, into: *mut c_char, room: *mut usize) -> Result<c_int> {
    let text = CString::new(text).unwrap_or_default();
    let bytes: Vec<_> = text
        .to_bytes_with_nul()
        .iter()
        .map(|byte| *byte as c_char)
        .collect();
    // SAFETY: arguments of the caller.
    unsafe { fill(&bytes, into, room) }
}

fn hand_out(placement: Placement) -> *mut fdp_t {
    handle::new(placement).cast()
}

// ---- create and destroy ----

/// Divides the ranks of a communicator into sets, so that as many failures of domains are survived as can be. Each
/// rank gives its own `path`, such as "rack3/chassis1/node17": all the same number of parts, the outermost first. A
/// rank that gives NULL takes its path from the environment variable STANCHION_TOPOLOGY, or from its host's name.
///
/// # Returns
/// 0, and the placement in `placement`, the same on all ranks, to be given to fdp_destroy; -EINVAL; -ENOTSUP if what
/// is required cannot be had (stanchion_last_error tells the level, and what could be had); -EIO.
///
/// # Collective
/// Called by all ranks of `comm` with the same scheme; all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_create(
    comm: MPI_Comm,
    path: *const c_char,
    scheme: *const fdp_scheme,
    placement: *mut *mut fdp_t,
) -> c_int {
    // SAFETY: arguments of the caller.
    collective(|| unsafe {
        let has_place = ptr::store(placement, null_mut());
        let comm = MpiComm::private(comm)?;
        let place = has_place.then_some(()).ok_or(Error::Null("placement"));
        let path = match path.is_null() {
            true => Ok(None),
            false => text(path, "path").map(Some),
        };
        let given = place.and_then(|()| Ok((path?, request_of(scheme)?)));
        let (path, request) = placement::agree(&comm, given)?;
        placement.write(hand_out(placement::create(&comm, path, &request)?));
        Ok(0)
    })
}

/// As fdp_create for the paths of all `count` ranks, without MPI: for planning.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_create_local(
    paths: *const *const c_char,
    count: usize,
    scheme: *const fdp_scheme,
    placement: *mut *mut fdp_t,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        if !ptr::store(placement, null_mut()) {
            return Err(Error::Null("placement"));
        }
        let (paths, request) = (texts(paths, count, "paths")?, request_of(scheme)?);
        placement.write(hand_out(Placement::of_paths(&paths, &request)?));
        Ok(0)
    })
}

/// Frees a placement; NULL is nothing. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_destroy(placement: *mut fdp_t) {
    guard((), || {
        // SAFETY: the caller gives the placement up.
        let placement = unsafe { handle::take::<Placement>(placement.cast()) };
        drop(placement);
    });
}

// ---- the sets ----

/// How many ranks, sets and levels there are. The ranks are the last level. Each pointer may be NULL.
///
/// # Returns
/// 0; -EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_size(
    placement: *const fdp_t,
    ranks: *mut c_int,
    sets: *mut c_int,
    levels: *mut c_uint,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let placement = placement_of(placement)?;
        ptr::store(ranks, placement.rank_count() as c_int);
        ptr::store(sets, placement.sets().count() as c_int);
        ptr::store(levels, placement.tree().depth() as c_uint);
        Ok(0)
    })
}

/// The set of a rank, the rank's place in it, and the size of the set. Each pointer may be NULL.
///
/// # Returns
/// 0; -EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_get(
    placement: *const fdp_t,
    rank: c_int,
    set_id: *mut c_int,
    rank_in_set: *mut c_int,
    set_size: *mut c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let placement = placement_of(placement)?;
        let rank = one_of("rank", rank.into(), placement.rank_count())?;
        let (set, place) = placement.set_of(rank);
        ptr::store(set_id, set as c_int);
        ptr::store(rank_in_set, place as c_int);
        ptr::store(set_size, placement.members(set).len() as c_int);
        Ok(0)
    })
}

/// The ranks of a set in their order. `*count` says how many `ranks` has room for, and gets how many there are;
/// `ranks` may be NULL to ask for that only.
///
/// # Returns
/// 0; -EINVAL; -ERANGE if there is not enough room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_members(
    placement: *const fdp_t,
    set_id: c_int,
    ranks: *mut c_int,
    count: *mut usize,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let placement = placement_of(placement)?;
        let set = one_of("set_id", set_id.into(), placement.sets().count())?;
        let members = placement.members(set).iter().map(|rank| *rank as c_int);
        fill(&members.collect::<Vec<_>>(), ranks, count)
    })
}

// ---- what they survive ----

/// How many domains of a level may fail, whichever they are, without data being lost: `any_k`. Level 0 is the
/// outermost. `weakest_set` gets a set that does not survive more. Both pointers may be NULL.
///
/// # Returns
/// 0; -EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_tolerance(
    placement: *const fdp_t,
    level: c_uint,
    any_k: *mut u32,
    weakest_set: *mut u32,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let tolerance = placement_of(placement)?.tolerance();
        let level = one_of("level", level.into(), tolerance.len())?;
        ptr::store(any_k, tolerance[level].any);
        ptr::store(weakest_set, tolerance[level].weakest_set);
        Ok(0)
    })
}

/// Calls `callback` with all narrowest combinations of at most `max_failed` domains whose failure loses data, those of
/// the fewest domains first: none of the domains can be left out, nor be replaced by a domain inside of it, without
/// everything being survived. There may be many of them. `callback` gets the paths of the domains and a set that is
/// lost; it returns 0 to go on and another number to end, and must not jump away.
///
/// # Returns
/// 0; what the callback returned if that was not 0; -EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_scenarios(
    placement: *const fdp_t,
    max_failed: u32,
    callback: fdp_scenario_cb,
    user: *mut c_void,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let placement = placement_of(placement)?;
        let callback = needed(callback, "callback")?;
        let mut answer = 0;
        placement.scenarios(max_failed as usize, |scenario| {
            let paths = scenario
                .domains
                .iter()
                .map(|domain| placement.tree().path(*domain));
            let paths: Vec<_> = paths
                .map(|path| CString::new(path).unwrap_or_default())
                .collect();
            let pointers: Vec<_> = paths.iter().map(|path| path.as_ptr()).collect();
            let lost = scenario.lost_set as c_int;
            answer = callback(pointers.as_ptr(), pointers.len(), lost, user);
            answer == 0
        });
        Ok(answer)
    })
}

/// Whether everything is survived when all these domains fail: "rack3", "rack3/chassis1" and so on, or a rank as
/// "rack3/chassis1/node17/42". Domains may be inside of each other. `lost_set` gets the first set that is lost, or -1;
/// it may be NULL.
///
/// # Returns
/// 1 if everything is survived, 0 if not; -EINVAL; -ENOENT if there is no such domain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_survives(
    placement: *const fdp_t,
    failed_domains: *const *const c_char,
    count: usize,
    lost_set: *mut c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe {
        let placement = placement_of(placement)?;
        let paths = texts(failed_domains, count, "failed_domains")?;
        let failed: Result<Vec<_>> = paths.iter().map(|path| placement.domain(path)).collect();
        let lost = placement.lost_set(&failed?);
        ptr::store(lost_set, lost.map_or(-1, |set| set as c_int));
        Ok(lost.is_none().into())
    })
}

/// Everything about a placement as JSON: tolerance at each level, the smallest combinations of domains that lose
/// data, what the scheme costs, how a rebuild loads the survivors. `*length` says how many bytes `json` has room for,
/// and gets how many it takes with the closing NUL; `json` may be NULL to ask for that only.
///
/// # Returns
/// 0; -EINVAL; -ERANGE if there is not enough room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_report(
    placement: *const fdp_t,
    json: *mut c_char,
    length: *mut usize,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { fill_text(placement_of(placement)?.report(), json, length) })
}

/// A picture as SVG: domains inside of each other, ranks in the colours of their sets, and the tolerance at each
/// level. Buffers as for fdp_report.
///
/// # Returns
/// 0; -EINVAL; -ERANGE if there is not enough room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_picture(
    placement: *const fdp_t,
    svg: *mut c_char,
    length: *mut usize,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { fill_text(placement_of(placement)?.picture(), svg, length) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_struct_is_laid_out_as_in_c() {
        assert_eq!(offset_of!(fdp_scheme, set_size), 8);
        assert_eq!(offset_of!(fdp_scheme, required), 16);
        assert_eq!(size_of::<fdp_scheme>(), 32);
    }
}
