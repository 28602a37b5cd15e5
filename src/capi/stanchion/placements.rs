//! # Placements
//!
//! Sets of ranks, placed by failure domains so that as many failures as possible are survived. Functions return 0 or
//! above for success, or a negative errno.

use crate::capi::boundary::{Array, Handle, In, InOut, Opaque, Out, OutArray, Text};
use crate::capi::redset::{
    REDSET_COPY_PARTNER, REDSET_COPY_RS, REDSET_COPY_SINGLE, REDSET_COPY_XOR,
};
use crate::capi::{error, guard, guard_alone};
use crate::comm;
#[cfg(feature = "mpi")]
use crate::comm::mpi::{MPI_Comm, MpiComm};
#[cfg(feature = "mpi")]
use crate::failure_domain::placement;
use crate::failure_domain::placement::{
    Error, Placement, PlacementRequest, PlacementScheme, Result,
};
use crate::failure_domain::{self, check_memory};
use libc::{EINVAL, EIO, ENOENT, ENOMEM, ENOTSUP, ERANGE};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};

/// A placement, as C holds it.
#[allow(non_camel_case_types)]
pub type fdp_t = Handle<Placement>;

impl Opaque for Placement {
    const MAGIC: u64 = 0x6664_7050_4c41_4345;
}

/// As `stanchion.h` declares it.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct fdp_scheme<'a> {
    r#type: c_int,
    count: c_int,
    set_size: c_int,
    required: Array<'a, u32>,
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
        | Error::Peer(_) => EINVAL,
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

fn answer(result: Result<c_int>) -> c_int {
    result.unwrap_or_else(|cause| {
        let code = code(&cause);
        error::remember(cause);
        code
    })
}

pub(super) fn placement_of(placement: In<'_, fdp_t>) -> Result<&Placement> {
    placement.value().ok_or(Error::NotAPlacement)
}

/// A number that names one of `0..count`.
fn one_of(what: &'static str, value: i64, count: usize) -> Result<usize> {
    let number = usize::try_from(value).ok().filter(|number| *number < count);
    number.ok_or(Error::Number { what, value })
}

fn text<'a>(text: Text<'a>, what: &'static str) -> Result<&'a str> {
    let text = text.get().ok_or(Error::Null(what))?;
    text.to_str().map_err(|_| Error::NotText(what))
}

fn texts<'a>(given: Array<'a, Text<'a>>, count: usize, what: &'static str) -> Result<Vec<&'a str>> {
    check_memory(count)?;
    // SAFETY: the header says that there are `count` strings.
    let given = unsafe { given.slice(count) }.ok_or(Error::Null(what))?;
    given.iter().map(|one| text(*one, what)).collect()
}

fn request_of(scheme: In<fdp_scheme>) -> Result<PlacementRequest> {
    let given = scheme.get().ok_or(Error::Null("scheme"))?;
    let natural = |what, value: c_int| {
        usize::try_from(value).map_err(|_| Error::Number {
            what,
            value: value.into(),
        })
    };
    let scheme = match given.r#type {
        REDSET_COPY_SINGLE => PlacementScheme::Single,
        REDSET_COPY_PARTNER => PlacementScheme::Partner {
            replicas: natural("count", given.count)?,
        },
        REDSET_COPY_XOR => PlacementScheme::Xor,
        REDSET_COPY_RS => PlacementScheme::ReedSolomon {
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
        PlacementScheme::Single => 1,
        _ => natural("set_size", given.set_size)?,
    };
    let mut request = PlacementRequest::new(scheme, set_size);
    // SAFETY: the header says that `required` has as many numbers as `levels` says.
    let required = unsafe { given.required.slice(given.levels) };
    request.required = required.unwrap_or_default().to_vec();
    Ok(request)
}

/// Copies `items` to where the caller has `*room` places, and sets that to how many it takes.
fn fill<T: Copy>(items: &[T], into: OutArray<T>, room: InOut<usize>) -> Result<c_int> {
    let had = room.replace(items.len());
    let had = had.ok_or(Error::Null("the length"))?;
    if had < items.len() && !into.is_null() {
        return Err(Error::Room {
            had,
            needed: items.len(),
        });
    }
    // SAFETY: the caller has room for `had` items.
    unsafe { into.fill(items) };
    Ok(0)
}

fn fill_text(text: String, into: OutArray<c_char>, room: InOut<usize>) -> Result<c_int> {
    let bytes = text.into_bytes().into_iter().chain([0]);
    let bytes: Vec<_> = bytes.map(|byte| byte as c_char).collect();
    fill(&bytes, into, room)
}

// ---- create and destroy ----

/// Divides the ranks of a communicator into sets that survive as many failures of domains as possible. Each rank gives
/// its own `path`, such as "rack3/chassis1/node17": the outermost domain first, and as many parts on all ranks. A rank
/// that gives NULL takes its path from the environment variable STANCHION_TOPOLOGY, or from its host's name.
///
/// # Returns
/// 0, and the placement in `placement`, the same on all ranks, to be freed with fdp_destroy; -EINVAL; -ENOTSUP if what is
/// required cannot be had (stanchion_last_error names the level, and what could be had); -EIO.
///
/// # Collective
/// Called by all ranks of `comm` with the same scheme; all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn fdp_create(
    comm: MPI_Comm,
    path: Text,
    scheme: In<fdp_scheme>,
    placement: Out<InOut<fdp_t>>,
) -> c_int {
    let create = || {
        let place = cleared(placement);
        let comm = MpiComm::private(comm)?;
        let path = (!path.is_null()).then(|| text(path, "path")).transpose();
        let given = place.and_then(|()| Ok((path?, request_of(scheme)?)));
        let (path, request) = placement::agree(&comm, given)?;
        let made = placement::create(&comm, path, &request)?;
        placement.set(Handle::hand_out(made));
        Ok(0)
    };
    guard(-EIO, || answer(create()))
}

fn cleared(placement: Out<InOut<fdp_t>>) -> Result<()> {
    let has_place = placement.set(InOut::NULL);
    has_place.then_some(()).ok_or(Error::Null("placement"))
}

/// As fdp_create for the paths of all `count` ranks, without MPI: for planning.
#[unsafe(no_mangle)]
pub extern "C" fn fdp_create_local(
    paths: Array<Text>,
    count: usize,
    scheme: In<fdp_scheme>,
    placement: Out<InOut<fdp_t>>,
) -> c_int {
    status(|| {
        cleared(placement)?;
        let (paths, request) = (texts(paths, count, "paths")?, request_of(scheme)?);
        placement.set(Handle::hand_out(Placement::of_paths(&paths, &request)?));
        Ok(0)
    })
}

/// Frees a placement. NULL is ignored. Not collective.
#[unsafe(no_mangle)]
pub extern "C" fn fdp_destroy(placement: InOut<fdp_t>) {
    // SAFETY: the caller gives the placement up.
    guard((), || drop(unsafe { placement.take() }));
}

// ---- the sets ----

/// Counts ranks, sets and levels. The ranks are the last level. Each pointer may be NULL.
///
/// # Returns
/// 0; -EINVAL.
#[unsafe(no_mangle)]
pub extern "C" fn fdp_size(
    placement: In<fdp_t>,
    ranks: Out<c_int>,
    sets: Out<c_int>,
    levels: Out<c_uint>,
) -> c_int {
    status(|| {
        let placement = placement_of(placement)?;
        ranks.set(placement.rank_count() as c_int);
        sets.set(placement.sets().count() as c_int);
        levels.set(placement.tree().depth() as c_uint);
        Ok(0)
    })
}

/// Gets the set of a rank, the rank's place in it, and the size of the set. Each pointer may be NULL.
///
/// # Returns
/// 0; -EINVAL.
#[unsafe(no_mangle)]
pub extern "C" fn fdp_get(
    placement: In<fdp_t>,
    rank: c_int,
    set_id: Out<c_int>,
    rank_in_set: Out<c_int>,
    set_size: Out<c_int>,
) -> c_int {
    status(|| {
        let placement = placement_of(placement)?;
        let rank = one_of("rank", rank.into(), placement.rank_count())?;
        let (set, place) = placement.set_of(rank);
        set_id.set(set as c_int);
        rank_in_set.set(place as c_int);
        set_size.set(placement.members(set).len() as c_int);
        Ok(0)
    })
}

/// Lists the ranks of a set in their order. `*count` says how many `ranks` has room for, and gets how many there are;
/// `ranks` may be NULL to ask for that only.
///
/// # Returns
/// 0; -EINVAL; -ERANGE if there is not enough room.
#[unsafe(no_mangle)]
pub extern "C" fn fdp_members(
    placement: In<fdp_t>,
    set_id: c_int,
    ranks: OutArray<c_int>,
    count: InOut<usize>,
) -> c_int {
    status(|| {
        let placement = placement_of(placement)?;
        let set = one_of("set_id", set_id.into(), placement.sets().count())?;
        let members = placement.members(set).iter().map(|rank| *rank as c_int);
        fill(&members.collect::<Vec<_>>(), ranks, count)
    })
}

// ---- what they survive ----

/// Tells how many domains of a level may fail, any k of them, without loss of data: `any_k`. Level 0 is the outermost.
/// `weakest_set` gets a set that does not survive more. Both pointers may be NULL.
///
/// # Returns
/// 0; -EINVAL.
#[unsafe(no_mangle)]
pub extern "C" fn fdp_tolerance(
    placement: In<fdp_t>,
    level: c_uint,
    any_k: Out<u32>,
    weakest_set: Out<u32>,
) -> c_int {
    status(|| {
        let tolerance = placement_of(placement)?.tolerance();
        let level = one_of("level", level.into(), tolerance.len())?;
        any_k.set(tolerance[level].any);
        weakest_set.set(tolerance[level].weakest_set);
        Ok(0)
    })
}

/// Calls `callback` with each minimal combination of at most `max_failed` domains whose failure loses data, those of the
/// fewest domains first: without one of its domains, or with a domain inside of it instead, everything would be survived.
/// There may be many. `callback` gets the paths of the domains and a set that is lost; it returns 0 to go on and another
/// number to end, and must not jump away.
///
/// # Returns
/// 0; what the callback returned if that was not 0; -EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdp_scenarios(
    placement: In<fdp_t>,
    max_failed: u32,
    callback: fdp_scenario_cb,
    user: *mut c_void,
) -> c_int {
    status(|| {
        let placement = placement_of(placement)?;
        let callback = callback.ok_or(Error::Null("callback"))?;
        let mut answer = 0;
        placement.scenarios(max_failed as usize, |scenario| {
            let domains = scenario.domains.iter();
            let paths = domains.map(|domain| placement.tree().path(*domain));
            let paths: Vec<_> = paths
                .map(|path| CString::new(path).unwrap_or_default())
                .collect();
            let pointers: Vec<_> = paths.iter().map(|path| path.as_ptr()).collect();
            let lost = scenario.lost_set as c_int;
            // SAFETY: a function of the caller and its pointer; the paths live until it returns.
            answer = unsafe { callback(pointers.as_ptr(), pointers.len(), lost, user) };
            answer == 0
        });
        Ok(answer)
    })
}

/// Tells whether everything is survived when all these domains fail: "rack3", "rack3/chassis1" and so on, or a rank as
/// "rack3/chassis1/node17/42". One domain may be inside another. `lost_set` gets the first set that is lost, or -1; it
/// may be NULL.
///
/// # Returns
/// 1 if everything is survived, 0 if not; -EINVAL; -ENOENT if there is no such domain.
#[unsafe(no_mangle)]
pub extern "C" fn fdp_survives(
    placement: In<fdp_t>,
    failed_domains: Array<Text>,
    count: usize,
    lost_set: Out<c_int>,
) -> c_int {
    status(|| {
        let placement = placement_of(placement)?;
        let paths = texts(failed_domains, count, "failed_domains")?;
        let failed: Result<Vec<_>> = paths.iter().map(|path| placement.domain(path)).collect();
        let lost = placement.lost_set(&failed?);
        lost_set.set(lost.map_or(-1, |set| set as c_int));
        Ok(lost.is_none().into())
    })
}

/// Writes a report about a placement as JSON: tolerance at each level, the smallest combinations of domains that lose
/// data, what the scheme costs, how a rebuild loads the survivors. `*length` says how many bytes `json` has room for,
/// and gets how many it takes with the closing NUL; `json` may be NULL to ask for that only.
///
/// # Returns
/// 0; -EINVAL; -ERANGE if there is not enough room.
#[unsafe(no_mangle)]
pub extern "C" fn fdp_report(
    placement: In<fdp_t>,
    json: OutArray<c_char>,
    length: InOut<usize>,
) -> c_int {
    status(|| fill_text(placement_of(placement)?.report(), json, length))
}

/// Draws a placement as SVG: domains inside of each other, ranks in the colours of their sets, and the tolerance at each
/// level. Buffers as for fdp_report.
///
/// # Returns
/// 0; -EINVAL; -ERANGE if there is not enough room.
#[unsafe(no_mangle)]
pub extern "C" fn fdp_picture(
    placement: In<fdp_t>,
    svg: OutArray<c_char>,
    length: InOut<usize>,
) -> c_int {
    status(|| fill_text(placement_of(placement)?.picture(), svg, length))
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
