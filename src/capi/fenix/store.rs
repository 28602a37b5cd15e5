//! # Store
//!
//! Copy members into the snapshot that the next commit makes, and protect the copy.

use super::errors::{FENIX_ERROR_DATA_WAIT, FENIX_SUCCESS, status, status_of};
use super::memory::{Elements, UserMemory};
use super::registry::{HeldGroup, with_group};
use super::{check_running, in_group};
use crate::capi::boundary::Out;
use crate::capi::fenix_data_subset::Fenix_Data_subset;
use crate::comm;
use crate::comm::mpi::{MPI_Request, MpiComm, null_request};
use crate::fenix::{Error, Group, Result, Subset};
use std::ffi::c_int;

const FENIX_DATA_MEMBER_ALL: c_int = 15;

/// As `fenix.h` declares it. Not requests of MPI: the first holds the id of the group, the second the number of the
/// request.
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

/// Stores the elements of `subset_specifier` of a member into the snapshot that the next commit makes;
/// FENIX_DATA_MEMBER_ALL stores all members, unless a member has that number as its id.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_GROUPID, FENIX_ERROR_INVALID_MEMBERID, or the error of an invalid subset.
///
/// # Collective
/// Called by all ranks of the group; counts and subsets may differ from rank to rank.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_store(
    group_id: c_int,
    member_id: c_int,
    subset_specifier: Fenix_Data_subset,
) -> c_int {
    status(|| {
        in_group(group_id, |held| {
            for_members(held, member_id, &subset_specifier, Group::store).map(drop)
        })
    })
}

/// As Fenix_Data_member_store.
///
/// # Collective
/// Called by all ranks of the group; counts and subsets may differ from rank to rank.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_storev(
    group_id: c_int,
    member_id: c_int,
    subset_specifier: Fenix_Data_subset,
) -> c_int {
    Fenix_Data_member_store(group_id, member_id, subset_specifier)
}

/// As Fenix_Data_member_store, but only copies the elements; the rest goes on in the background, and the buffer may be
/// changed at once. `request` is for Fenix_Data_wait and Fenix_Data_test; a commit waits for all stores.
///
/// # Collective
/// Called by all ranks of the group; counts and subsets may differ from rank to rank.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_istore(
    group_id: c_int,
    member_id: c_int,
    subset_specifier: Fenix_Data_subset,
    request: Out<Fenix_Request>,
) -> c_int {
    status(|| {
        request.set(Fenix_Request::null());
        in_group(group_id, |held| {
            let tickets = for_members(held, member_id, &subset_specifier, Group::start_store)?;
            let number = held.requests.add(tickets);
            match request.set(Fenix_Request::new(group_id, number)) {
                true => Ok(()),
                false => Err(Error::Null("request")),
            }
        })
    })
}

/// As Fenix_Data_member_istore.
///
/// # Collective
/// Called by all ranks of the group; counts and subsets may differ from rank to rank.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_istorev(
    group_id: c_int,
    member_id: c_int,
    subset_specifier: Fenix_Data_subset,
    request: Out<Fenix_Request>,
) -> c_int {
    Fenix_Data_member_istore(group_id, member_id, subset_specifier, request)
}

/// Runs `work` on one member or on all. A rank with wrong arguments takes part with an empty subset, so that the others
/// need not wait for it.
fn for_members<'a, T>(
    held: &'a mut HeldGroup,
    member: c_int,
    subset: &Fenix_Data_subset,
    work: impl Fn(&mut Group<MpiComm>, c_int, &Elements<'a>, &Subset) -> Result<T>,
) -> Result<Vec<T>> {
    let members = held.group.members();
    let all = member == FENIX_DATA_MEMBER_ALL && !members.contains(&member);
    let members = match all {
        true => same_members(&held.group, members)?,
        false => vec![member],
    };
    let (subset, mut verdict) = match subset.read() {
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
        // SAFETY: the buffer that the member was created with, which its owner leaves alone during the call.
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

/// The members of this rank, if all ranks of the group have the same: a rank with more of them would wait for stores that
/// the others do not make.
fn same_members(group: &Group<MpiComm>, members: Vec<c_int>) -> Result<Vec<c_int>> {
    let ids = members.iter().flat_map(|id| id.to_le_bytes());
    let digest = crc32fast::hash(&Vec::from_iter(ids));
    match comm::is_same(group.comm()?, &[members.len() as u64, digest.into()])? {
        true => Ok(members),
        false => Err(Error::Members(group.settings().id)),
    }
}

/// A member that came back after a failure has no buffer until it is given one.
fn check_buffer(
    group: &Group<MpiComm>,
    member: c_int,
    memory: &UserMemory,
    subset: &Subset,
) -> Result<()> {
    let wanted = *subset != Subset::Empty && group.attributes(member)?.count > 0;
    match wanted && memory.buffer.is_null() {
        true => Err(Error::Null("the buffer of the member")),
        false => Ok(()),
    }
}

/// Waits for the end of a store that Fenix_Data_member_istore has started. A request that has ended, or a null request, is
/// fine.
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

/// As Fenix_Data_wait without waiting: `flag` gets 1 if the store has ended, else 0. Each call moves stores on.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_test(request: Fenix_Request, flag: Out<c_int>) -> c_int {
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
    flag.set(c_int::from(ended && code == FENIX_SUCCESS));
    code
}

/// Runs `work` unless the request is null, and forgets the request once that has ended its stores.
fn on_request(request: Fenix_Request, work: impl FnOnce(&mut HeldGroup) -> Result<bool>) -> c_int {
    let run = |held: &mut HeldGroup| {
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
