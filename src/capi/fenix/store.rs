//! # Store
//!
//! Storing, committing and restoring.

use crate::capi::fenix::errors::{
    FENIX_ERROR_CANCELLED, FENIX_ERROR_COMMIT_BARRIER, FENIX_ERROR_DATA_WAIT,
    FENIX_ERROR_NOCATEGORY, FENIX_SUCCESS, FENIX_WARNING_PARTIAL_RESTORE, agree, common_status,
    natural, status, status_of,
};
use crate::capi::fenix::groups::{check_running, hand_out, in_group, not_newer, rank_in};
use crate::capi::fenix::memory::{Elements, Memory};
use crate::capi::fenix::recovery::{Commit, agree_commit};
use crate::capi::fenix::registry::{Held, with_group};
use crate::capi::fenix_data_subset::Fenix_Data_subset;
use crate::capi::{error, ptr};
use crate::comm;
use crate::comm::mpi::{MPI_Request, MpiComm, null_request};
use crate::fenix::{Error, Group, Regions, Restored, Result, Subset};
use std::ffi::{c_int, c_void};

type Data = Group<MpiComm>;

const FENIX_DATA_MEMBER_ALL: c_int = 15;

/// As `fenix.h` declares it. Not requests of MPI: the first has the id of the group, the second the number
/// of the request.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct Fenix_Request {
    mpi_send_req: MPI_Request,
    mpi_recv_req: MPI_Request,
}

/// Makes numbers differ from what memory often holds.
const MARK: u32 = 0x5354_414e;

impl Fenix_Request {
    fn new(group: c_int, number: u32) -> Self {
        Self {
            mpi_send_req: as_handle(group as u32),
            mpi_recv_req: as_handle(number ^ MARK),
        }
    }

    fn null() -> Self {
        Self {
            mpi_send_req: null_request(),
            mpi_recv_req: null_request(),
        }
    }

    /// Nothing to wait for.
    fn is_null(&self) -> bool {
        let handles = [self.mpi_send_req, self.mpi_recv_req];
        handles.iter().all(|&handle| handle == null_request())
            || handles.iter().all(|&handle| handle == as_handle(0))
    }

    fn group(&self) -> c_int {
        as_number(self.mpi_send_req) as c_int
    }

    fn number(&self) -> u32 {
        as_number(self.mpi_recv_req) ^ MARK
    }
}

/// A handle of MPI has four bytes or eight.
fn as_handle(number: u32) -> MPI_Request {
    const { assert!(size_of::<MPI_Request>() >= 4) };
    // SAFETY: a handle is an integer or a raw pointer, for which zero is a value.
    let mut handle: MPI_Request = unsafe { std::mem::zeroed() };
    // SAFETY: it has room for the number.
    unsafe { (&raw mut handle).cast::<u32>().write(number) };
    handle
}

fn as_number(handle: MPI_Request) -> u32 {
    // SAFETY: it has at least the bytes of the number.
    unsafe { (&raw const handle).cast::<u32>().read() }
}

// ---- storing ----

/// Stores the elements of `subset_specifier` of a member into the snapshot that the next commit makes;
/// FENIX_DATA_MEMBER_ALL stores all members, unless a member has that number as its id.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_GROUPID, FENIX_ERROR_INVALID_MEMBERID, or the error of a subset that is none.
///
/// # Collective
/// Called by all ranks of the group; counts and subsets may differ from rank to rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_store(
    group_id: c_int,
    member_id: c_int,
    subset_specifier: Fenix_Data_subset,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        let store = |held: &mut Held| unsafe { store(held, member_id, &subset_specifier) };
        in_group(group_id, store)
    })
}

/// As Fenix_Data_member_store.
///
/// # Collective
/// Called by all ranks of the group; counts and subsets may differ from rank to rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_storev(
    group_id: c_int,
    member_id: c_int,
    subset_specifier: Fenix_Data_subset,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Fenix_Data_member_store(group_id, member_id, subset_specifier) }
}

/// As Fenix_Data_member_store, but only copies the elements and lets the rest go on in the background: the
/// buffer may be changed at once. `request` is for Fenix_Data_wait and Fenix_Data_test; a commit waits for
/// all stores.
///
/// # Collective
/// Called by all ranks of the group; counts and subsets may differ from rank to rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_istore(
    group_id: c_int,
    member_id: c_int,
    subset_specifier: Fenix_Data_subset,
    request: *mut Fenix_Request,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { istore(group_id, member_id, &subset_specifier, request) })
}

/// As Fenix_Data_member_istore.
///
/// # Collective
/// Called by all ranks of the group; counts and subsets may differ from rank to rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_istorev(
    group_id: c_int,
    member_id: c_int,
    subset_specifier: Fenix_Data_subset,
    request: *mut Fenix_Request,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { Fenix_Data_member_istore(group_id, member_id, subset_specifier, request) }
}

unsafe fn store(held: &mut Held, member: c_int, subset: &Fenix_Data_subset) -> Result<()> {
    // SAFETY: arguments of the caller.
    let stored = unsafe { for_members(held, member, subset, Data::store) };
    stored.map(|_| ())
}

unsafe fn istore(
    group: c_int,
    member: c_int,
    subset: &Fenix_Data_subset,
    request: *mut Fenix_Request,
) -> Result<()> {
    // SAFETY: arguments of the caller.
    let has_place = unsafe { ptr::store(request, Fenix_Request::null()) };
    in_group(group, |held| {
        // SAFETY: arguments of the caller.
        let tickets = unsafe { for_members(held, member, subset, Data::start_store) }?;
        let number = held.requests.add(tickets);
        if !has_place {
            return Err(Error::Null("request"));
        }
        // SAFETY: checked above.
        unsafe { request.write(Fenix_Request::new(group, number)) };
        Ok(())
    })
}

/// Runs `work` on one member or on all. A rank whose arguments are wrong takes part with nothing, so that
/// the others need not wait for it.
unsafe fn for_members<'a, T>(
    held: &'a mut Held,
    member: c_int,
    subset: &Fenix_Data_subset,
    work: impl Fn(&mut Data, c_int, &Elements<'a>, &Subset) -> Result<T>,
) -> Result<Vec<T>> {
    let members = held.group.members();
    let all = member == FENIX_DATA_MEMBER_ALL && !members.contains(&member);
    let members = match all {
        true => same_members(&held.group, members)?,
        false => vec![member],
    };
    // SAFETY: arguments of the caller.
    let given = unsafe { subset.read() };
    let (subset, mut verdict) = match given {
        Ok(subset) => (subset, Ok(())),
        Err(cause) => (Subset::Empty, Err(cause)),
    };
    let mut done = Vec::with_capacity(members.len());
    for member in members {
        let memory = held.memory.of(member);
        let given = check_buffer(&held.group, member, memory, &subset);
        let subset = if given.is_ok() {
            &subset
        } else {
            &Subset::Empty
        };
        // SAFETY: the buffer of the caller, who lets it alone for the duration of the call.
        let elements = unsafe { memory.elements(memory.buffer) };
        let ended = work(&mut held.group, member, &elements, subset);
        let packed = elements.finish().map_err(Error::from);
        verdict = verdict.and(given).and(packed);
        match ended {
            Ok(value) => done.push(value),
            Err(cause) => verdict = verdict.and(Err(cause)),
        }
    }
    verdict.map(|()| done)
}

/// The members of this rank if all ranks of the group have the same: a rank with more of them would wait for the
/// others in a store that they do not make.
fn same_members(group: &Data, members: Vec<c_int>) -> Result<Vec<c_int>> {
    let digest = crc32fast::hash(&Vec::from_iter(
        members.iter().flat_map(|id| id.to_le_bytes()),
    ));
    match comm::is_same(group.comm()?, &[members.len() as u64, digest.into()])? {
        true => Ok(members),
        false => Err(Error::Members(group.settings().id)),
    }
}

/// A member that came back after a failure has no buffer until it is given one.
fn check_buffer(group: &Data, member: c_int, memory: &Memory, subset: &Subset) -> Result<()> {
    let wanted = *subset != Subset::Empty && group.attributes(member)?.count > 0;
    match wanted && memory.buffer.is_null() {
        true => Err(Error::Null("the buffer of the member")),
        false => Ok(()),
    }
}

/// Waits until a store that Fenix_Data_member_istore has started has ended; a request that has ended, or
/// that is none, is fine too.
///
/// # Returns
/// 0; FENIX_ERROR_DATA_WAIT for what is no request, or one that a failure has ended.
///
/// # Collective
/// Called by all ranks of the group.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_wait(request: Fenix_Request) -> c_int {
    on_request(request, |held| {
        for store in held.requests.stores(request.number())? {
            held.group.wait(*store)?;
        }
        Ok(true)
    })
}

/// As Fenix_Data_wait without waiting: `flag` gets 1 if the store has ended, else 0. Each call moves stores
/// on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_test(request: Fenix_Request, flag: *mut c_int) -> c_int {
    if flag.is_null() {
        return status_of(FENIX_ERROR_DATA_WAIT, || Err(Error::Null("flag")));
    }
    let mut ended = true;
    let code = on_request(request, |held| {
        for store in held.requests.stores(request.number())? {
            ended &= held.group.test(*store)?;
        }
        Ok(ended)
    });
    // SAFETY: checked above.
    unsafe { flag.write(c_int::from(ended && code == FENIX_SUCCESS)) };
    code
}

/// Runs `work` unless the request is none, and forgets the request once that has ended its stores.
fn on_request(request: Fenix_Request, work: impl FnOnce(&mut Held) -> Result<bool>) -> c_int {
    let run = |held: &mut Held| {
        if work(held)? {
            held.requests.end(request.number());
        }
        Ok(FENIX_SUCCESS)
    };
    status_of(FENIX_ERROR_DATA_WAIT, || {
        check_running()?;
        if request.is_null() {
            return Ok(FENIX_SUCCESS);
        }
        with_group(request.group(), run).map_err(|cause| match cause {
            Error::NoSuchGroup(_) => Error::NoSuchRequest,
            other => other,
        })
    })
}

// ---- committing ----

/// Makes what was stored a snapshot, on this rank; waits for stores that are under way. `time_stamp` gets its
/// time stamp; it may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_commit(group_id: c_int, time_stamp: *mut c_int) -> c_int {
    status(|| {
        let stamp = in_group(group_id, commit)?;
        // SAFETY: arguments of the caller.
        unsafe { ptr::store(time_stamp, stamp) };
        Ok(())
    })
}

fn commit(held: &mut Held) -> Result<c_int> {
    let stamp = held.group.commit()?;
    held.requests.end_all();
    Ok(stamp)
}

/// As Fenix_Data_commit on all ranks of the group or on none: the commit happens if all of them that live have
/// come this far. (A group of only some ranks of the resilient communicator: if a rank fails meanwhile, some may
/// have committed; Fenix_Data_group_create then goes back to what all have.)
///
/// # Returns
/// 0; FENIX_ERROR_COMMIT_BARRIER if other ranks are recovering from a failure already, or a store since the last
/// commit has failed on some ranks and was not repeated, so that nothing was committed; FENIX_ERROR_CANCELLED if the commit happened, but a rank has failed. After a failure a recovery has
/// come between: a program that resumes at Fenix_Init does not get here.
///
/// # Collective
/// Called by all ranks of the group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_commit_barrier(
    group_id: c_int,
    time_stamp: *mut c_int,
) -> c_int {
    status_of(FENIX_ERROR_COMMIT_BARRIER, || {
        in_group(group_id, |held| {
            // What failed on this rank goes to the meeting with it: the others must not commit.
            let ready = held.group.prepare_commit();
            let verdict = agree_commit(held.group.comm()?, ready.is_ok())?;
            match (verdict, ready) {
                (Commit::Recovers, _) => {
                    error::remember("no commit: other ranks are recovering from a failure");
                    return Ok(FENIX_ERROR_COMMIT_BARRIER);
                }
                (Commit::Refused, ready) => {
                    let elsewhere = "no commit: another rank could not store all of it";
                    error::remember(
                        ready
                            .err()
                            .map_or(elsewhere.into(), |cause| cause.to_string()),
                    );
                    return Ok(FENIX_ERROR_COMMIT_BARRIER);
                }
                _ => {}
            }
            let stamp = commit(held)?;
            // SAFETY: arguments of the caller.
            unsafe { ptr::store(time_stamp, stamp) };
            if verdict == Commit::CommitsAndRecovers {
                error::remember("a rank has failed; the commit was done without it");
                return Ok(FENIX_ERROR_CANCELLED);
            }
            Ok(FENIX_SUCCESS)
        })
    })
}

/// Deletes the snapshots of the group that not all ranks have.
///
/// # Collective
/// Called by all ranks of the group, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_barrier(group_id: c_int) -> c_int {
    let call = FENIX_ERROR_NOCATEGORY;
    status_of(call, || {
        in_group(group_id, |held| {
            let ended = held.group.reconcile().map(|()| FENIX_SUCCESS);
            Ok(common_status(call, held.group.comm()?, ended))
        })
    })
}

// ---- restoring ----

/// Brings a member back: rebuilds what ranks have lost of it, then writes its elements below `max_count` to
/// `target_buffer`, as they were in the newest snapshot that is not newer than `time_stamp`
/// (FENIX_DATA_SNAPSHOT_LATEST: the newest of all) or, where that lacks them, in older ones. A `target_buffer` of NULL only rebuilds. `found_data` gets the
/// elements that were found, to be given to Fenix_Data_subset_delete; it may be NULL. Holes of the datatype
/// are left alone; a member of which this rank knows no datatype is written without holes.
///
/// # Returns
/// 0; FENIX_WARNING_PARTIAL_RESTORE if a rank did not get all elements; FENIX_ERROR_NODATA_FOUND if nothing was
/// committed or more ranks were lost than the policy protects, and then no buffer is touched;
/// FENIX_ERROR_INVALID_TIMESTAMP, FENIX_ERROR_INVALID_MEMBERID.
///
/// # Collective
/// Called by all ranks of the group, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_restore(
    group_id: c_int,
    member_id: c_int,
    target_buffer: *mut c_void,
    max_count: c_int,
    time_stamp: c_int,
    found_data: *mut Fenix_Data_subset,
) -> c_int {
    let restore = |held: &mut Held| {
        let max_count = agree(held.group.comm()?, natural("max_count", max_count))?;
        let (memory, time_stamp) = (
            held.memory.of(member_id),
            not_newer(&held.group, time_stamp),
        );
        // SAFETY: the buffer of the caller.
        let mut target = unsafe { memory.elements(target_buffer.cast()) };
        let wanted = (!target_buffer.is_null()).then_some(&mut target);
        let found = held.group.restore(member_id, time_stamp, max_count, wanted);
        match target_buffer.is_null() {
            true => found.map(|_| nothing_wanted()),
            false => ended(found, target),
        }
    };
    // SAFETY: arguments of the caller.
    unsafe { collective_restore(group_id, found_data, restore) }
}

/// As Fenix_Data_member_restore from what this rank has itself: nothing is rebuilt. A `target_buffer` of NULL
/// only tells what would be found.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_lrestore(
    group_id: c_int,
    member_id: c_int,
    target_buffer: *mut c_void,
    max_count: c_int,
    time_stamp: c_int,
    found_data: *mut Fenix_Data_subset,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { ptr::store(found_data, Fenix_Data_subset::EMPTY) };
    status_of(FENIX_ERROR_NOCATEGORY, || {
        let restored = in_group(group_id, |held| {
            let (max_count, time_stamp) = (
                natural("max_count", max_count)?,
                not_newer(&held.group, time_stamp),
            );
            // SAFETY: the buffer of the caller.
            let mut target = unsafe { held.memory.of(member_id).elements(target_buffer.cast()) };
            let group = &held.group;
            let found = group.restore_locally(member_id, time_stamp, max_count, &mut target);
            ended(found, target)
        })?;
        // SAFETY: arguments of the caller.
        unsafe { show(&restored, found_data) }
    })
}

/// As Fenix_Data_member_restore, but gets the elements that rank `source_rank` of the group stored; each rank
/// may name another one.
///
/// # Collective
/// Called by all ranks of the group, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_restore_from_rank(
    group_id: c_int,
    member_id: c_int,
    data: *mut c_void,
    max_count: c_int,
    time_stamp: c_int,
    found_data: *mut Fenix_Data_subset,
    source_rank: c_int,
) -> c_int {
    let restore = |held: &mut Held| {
        let comm = held.group.comm()?;
        let given = natural("max_count", max_count);
        let given = given.and_then(|count| Ok((count, rank_in(comm, source_rank)?)));
        let (max_count, rank) = agree(comm, given)?;
        let (memory, time_stamp) = (
            held.memory.of(member_id),
            not_newer(&held.group, time_stamp),
        );
        // SAFETY: the buffer of the caller.
        let mut target = unsafe { memory.elements(data.cast()) };
        let group = &mut held.group;
        let found = group.restore_from(member_id, time_stamp, max_count, &mut target, rank);
        ended(found, target)
    };
    // SAFETY: arguments of the caller.
    unsafe { collective_restore(group_id, found_data, restore) }
}

/// Runs `restore`, shows what it found, and lets all ranks return the same code.
unsafe fn collective_restore(
    group: c_int,
    found_data: *mut Fenix_Data_subset,
    restore: impl FnOnce(&mut Held) -> Result<Restored>,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { ptr::store(found_data, Fenix_Data_subset::EMPTY) };
    let call = FENIX_ERROR_NOCATEGORY;
    status_of(call, || {
        in_group(group, |held| {
            // SAFETY: arguments of the caller.
            let shown = restore(held).and_then(|found| unsafe { show(&found, found_data) });
            Ok(common_status(call, held.group.comm()?, shown))
        })
    })
}

/// What a restore without a buffer shows.
fn nothing_wanted() -> Restored {
    Restored {
        found: Regions::default(),
        complete: true,
    }
}

fn ended(found: Result<Restored>, target: Elements) -> Result<Restored> {
    let written = target.finish();
    let found = found?;
    written?;
    Ok(found)
}

/// Gives C what was found, and the code that says whether it was everything.
unsafe fn show(restored: &Restored, found_data: *mut Fenix_Data_subset) -> Result<c_int> {
    if !found_data.is_null() {
        // SAFETY: arguments of the caller.
        unsafe { hand_out(&Subset::of(&restored.found), found_data) }?;
    }
    Ok(match restored.complete {
        true => FENIX_SUCCESS,
        false => FENIX_WARNING_PARTIAL_RESTORE,
    })
}
