//! `fenix.h`: data groups, their members, snapshots and attributes, and subsets.

use super::fenix_data_subset::{Fenix_Data_subset, release};
use super::fenix_errors::{
    FENIX_ERROR_GROUP_CREATE, FENIX_ERROR_INTERN, FENIX_ERROR_MEMBER_CREATE,
    FENIX_ERROR_NOCATEGORY, FENIX_SUCCESS, agree, code_of, common_status, natural, put, status,
    status_of,
};
use super::fenix_groups::{Held, create_group, delete_group, with_group};
use super::fenix_memory::Memory;
use super::fenix_policy::{Protection, protection, values};
use super::fenix_recovery::is_initialized;
use super::{guard, ptr, stanchion_fenix};
use crate::comm::Comm;
use crate::comm::mpi::{self, Datatype, MPI_Comm, MPI_Datatype, MpiComm, null_datatype};
use crate::fenix::{Attributes, Error, Group, Result, Settings, Stamp, Subset};
use std::ffi::{c_int, c_void};

const FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER: c_int = 11;
const FENIX_DATA_MEMBER_ATTRIBUTE_COUNT: c_int = 12;
const FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE: c_int = 13;
const FENIX_DATA_MEMBER_ATTRIBUTE_SIZE: c_int = 14;
const FENIX_DATA_SNAPSHOT_LATEST: c_int = -1;
const FENIX_DATA_SNAPSHOT_ALL: c_int = 16;

/// Refuses calls before Fenix_Init and after Fenix_Finalize, and after MPI_Finalize, which may come without it.
pub(super) fn check_running() -> Result<()> {
    match is_initialized() {
        true => Ok(mpi::check_running()?),
        false => Err(Error::Uninitialized),
    }
}

fn stamp(time_stamp: c_int) -> Stamp {
    match time_stamp {
        FENIX_DATA_SNAPSHOT_LATEST => Stamp::Latest,
        stamp => Stamp::At(stamp),
    }
}

/// The newest snapshot that is not newer than the time stamp.
pub(super) fn not_newer(group: &Group<MpiComm>, time_stamp: c_int) -> Stamp {
    let stamps = group.snapshots();
    let wanted = stamps.into_iter().find(|&stamp| stamp <= time_stamp);
    wanted.map_or(stamp(time_stamp), Stamp::At)
}

pub(super) fn in_group<T>(group_id: c_int, work: impl FnOnce(&mut Held) -> Result<T>) -> Result<T> {
    check_running()?;
    with_group(group_id, work)
}

// ---- groups ----

/// Creates a data group, or, if the group exists, creates it again on a repaired communicator.
///
/// `start_time_stamp` is the time stamp of the first commit, `depth` how many snapshots are kept besides the
/// latest (-1: all). `policy_value` of FENIX_DATA_POLICY_IN_MEMORY_RAID is {1, rank separation}: another rank
/// keeps a copy, or {5, rank separation, set size}: sets of ranks keep parity. That of STANCHION_FENIX_POLICY_RS of
/// stanchion.h is {rank separation, set size, k}: any k ranks of a set may be lost. If the environment variable
/// STANCHION_TOPOLOGY is set, the sets are placed by the failure domains that it names, as with
/// STANCHION_FENIX_POLICY_PLACED of stanchion.h; the rank separation is then not looked at. A group that existed keeps
/// its sets, its members and the snapshots that all ranks that survived have; ranks that are new get theirs by
/// Fenix_Data_member_restore. `flag` gets the return code; it may be NULL.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_TIMESTAMP, FENIX_ERROR_INVALID_DEPTH; FENIX_ERROR_GROUP_CREATE if the policy can not
/// be had or the ranks differ in what they ask for.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_group_create(
    group_id: c_int,
    comm: MPI_Comm,
    start_time_stamp: c_int,
    depth: c_int,
    policy_name: c_int,
    policy_value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let call = FENIX_ERROR_GROUP_CREATE;
    let code = guard(FENIX_ERROR_INTERN, || {
        let private = match check_running().and_then(|()| Ok(MpiComm::private(comm)?)) {
            Ok(private) => private,
            Err(cause) => return code_of(call, Err(cause)),
        };
        // SAFETY: arguments of the caller.
        let protection = unsafe { protection(policy_name, policy_value) };
        let settings = settings(group_id, start_time_stamp, depth, protection);
        let settings = agree(&private, settings);
        let made =
            settings.and_then(|given| create_group(MpiComm::private(comm)?, policy_name, given));
        common_status(call, &private, made.map(|()| FENIX_SUCCESS))
    });
    // SAFETY: arguments of the caller.
    unsafe { ptr::store(flag, code) };
    code
}

fn settings(
    id: c_int,
    start: c_int,
    depth: c_int,
    protection: Result<Protection>,
) -> Result<Settings> {
    if start < 0 {
        return Err(Error::FirstStamp(start));
    }
    if depth < -1 {
        return Err(Error::Depth(depth));
    }
    let (policy, path) = protection?;
    Ok(Settings {
        id,
        first_stamp: start,
        depth: u32::try_from(depth).ok(),
        policy,
        path,
        checksums: stanchion_fenix::checksums(),
    })
}

/// Makes `buffer` a member of the group: `count` elements, which may differ from rank to rank. `datatype` may
/// have holes and may be freed afterwards. A member that came back after a failure may be created once more,
/// to give it a buffer and a datatype.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_GROUPID; FENIX_ERROR_INVALID_MEMBERID if there is such a member;
/// FENIX_ERROR_MEMBER_CREATE for a negative count or no datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_create(
    group_id: c_int,
    member_id: c_int,
    buffer: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
) -> c_int {
    status_of(FENIX_ERROR_MEMBER_CREATE, || {
        in_group(group_id, |held| {
            let count = natural("the count", count)?;
            let datatype = datatype_of(datatype)?;
            let element = datatype.size();
            held.group
                .create_member(member_id, Attributes { count, element })?;
            *held.memory.of_mut(member_id) = Memory {
                buffer: buffer.cast(),
                datatype: Some(datatype),
            };
            Ok(FENIX_SUCCESS)
        })
    })
}

/// A type without bytes stores nothing.
fn datatype_of(user: MPI_Datatype) -> Result<Datatype> {
    let found = Datatype::of(user).map_err(|_| Error::Null("the datatype"))?;
    match found.size() {
        0 => Err(Error::Number {
            what: "the size of the datatype",
            value: 0,
        }),
        _ => Ok(found),
    }
}

/// Tells how the group is protected, as Fenix_Data_group_create was told: `policy_value` gets {1, rank separation}
/// or {5, rank separation, set size}, with STANCHION_FENIX_POLICY_PLACED {1, 2}, {5, set size} or {6, set size, k}, with
/// STANCHION_FENIX_POLICY_RS {rank separation, set size, k}; `flag` gets 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_group_get_redundancy_policy(
    group_id: c_int,
    policy_name: *mut c_int,
    policy_value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    status(|| {
        let (name, policy) = in_group(group_id, |held| {
            Ok((held.policy_name, held.group.settings().policy))
        })?;
        let values = values(name, policy);
        if policy_value.is_null() {
            return Err(Error::Null("policy_value"));
        }
        // SAFETY: arguments of the caller.
        unsafe { put("policy_name", policy_name, name) }?;
        for (i, value) in values.iter().enumerate() {
            // SAFETY: the caller's array has room for the values of the mode.
            unsafe { policy_value.cast::<c_int>().add(i).write(*value as c_int) };
        }
        // SAFETY: arguments of the caller.
        unsafe { ptr::store(flag, 1) };
        Ok(())
    })
}

// ---- subsets ----

/// A subset of `num_blocks` blocks of elements: the first from `start_offset` to `end_offset`, both included,
/// each further one `stride` elements on. To be given to Fenix_Data_subset_delete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_subset_create(
    num_blocks: c_int,
    start_offset: c_int,
    end_offset: c_int,
    stride: c_int,
    subset_specifier: *mut Fenix_Data_subset,
) -> c_int {
    status(|| {
        let [blocks, start, end, stride] =
            [num_blocks, start_offset, end_offset, stride].map(i64::from);
        let subset = Subset::strided(blocks, start, end, stride)?;
        // SAFETY: arguments of the caller.
        unsafe { hand_out(&subset, subset_specifier) }
    })
}

/// A subset of `num_blocks` blocks of elements, each from a start to an end, both included. To be given to
/// Fenix_Data_subset_delete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_subset_createv(
    num_blocks: c_int,
    array_start_offsets: *mut c_int,
    array_end_offsets: *mut c_int,
    subset_specifier: *mut Fenix_Data_subset,
) -> c_int {
    status(|| {
        let none = Error::SubsetBlocks(num_blocks.into());
        let count = usize::try_from(num_blocks).map_err(|_| none)?;
        if array_start_offsets.is_null() {
            return Err(Error::SubsetStart(-1));
        }
        if array_end_offsets.is_null() {
            return Err(Error::SubsetEnd { start: 0, end: -1 });
        }
        // SAFETY: the caller's arrays have `count` numbers.
        let number = |array: *mut c_int, i| i64::from(unsafe { *array.add(i) });
        let bounds = |i| (number(array_start_offsets, i), number(array_end_offsets, i));
        let bounds: Vec<_> = (0..count).map(bounds).collect();
        // SAFETY: arguments of the caller.
        unsafe { hand_out(&Subset::blocks(&bounds)?, subset_specifier) }
    })
}

/// Gives a subset to C.
pub(super) unsafe fn hand_out(subset: &Subset, place: *mut Fenix_Data_subset) -> Result<()> {
    if place.is_null() {
        return Err(Error::Null("subset_specifier"));
    }
    let made = Fenix_Data_subset::write(subset).ok_or(Error::Memory(0))?;
    // SAFETY: checked above.
    unsafe { place.write(made) };
    Ok(())
}

/// Frees what a subset holds; to do so again does no harm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_subset_delete(
    subset_specifier: *mut Fenix_Data_subset,
) -> c_int {
    // SAFETY: arguments of the caller.
    status(|| unsafe { release(subset_specifier) })
}

// ---- what there is ----

/// The number of members that this rank knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_group_get_number_of_members(
    group_id: c_int,
    number_of_members: *mut c_int,
) -> c_int {
    status(|| {
        let count = in_group(group_id, |held| Ok(held.group.members().len()))?;
        // SAFETY: arguments of the caller.
        unsafe { put("number_of_members", number_of_members, count as c_int) }
    })
}

/// The id of the member at `position`: members are in the order of their ids, the first is at 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_group_get_member_at_position(
    group_id: c_int,
    member_id: *mut c_int,
    position: c_int,
) -> c_int {
    status(|| {
        let members = in_group(group_id, |held| Ok(held.group.members()))?;
        // SAFETY: arguments of the caller.
        unsafe { put("member_id", member_id, at(&members, position)?) }
    })
}

/// The number of snapshots that this rank has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_group_get_number_of_snapshots(
    group_id: c_int,
    number_of_snapshots: *mut c_int,
) -> c_int {
    status(|| {
        let count = in_group(group_id, |held| Ok(held.group.snapshots().len()))?;
        // SAFETY: arguments of the caller.
        unsafe { put("number_of_snapshots", number_of_snapshots, count as c_int) }
    })
}

/// The time stamp of the snapshot at `position`: the newest is at 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_group_get_snapshot_at_position(
    group_id: c_int,
    position: c_int,
    time_stamp: *mut c_int,
) -> c_int {
    status(|| {
        let stamps = in_group(group_id, |held| Ok(held.group.snapshots()))?;
        // SAFETY: arguments of the caller.
        unsafe { put("time_stamp", time_stamp, at(&stamps, position)?) }
    })
}

fn at(values: &[i32], position: c_int) -> Result<c_int> {
    let index = usize::try_from(position).ok();
    let value = index.and_then(|index| values.get(index)).copied();
    value.ok_or(Error::Position {
        position: position.into(),
        count: values.len(),
    })
}

// ---- attributes ----

/// Tells an attribute of a member: the buffer (`void*`), the count (`int`), the datatype (`MPI_Datatype`; a
/// derived one belongs to the library and lives as long as the member), or the packed size of an element in
/// bytes (`int`). Count and size are those of rank `source_rank` of the group, or of this rank if that is
/// negative; the other two are always those of this rank. `flag` gets 1 if there is a value: a member that
/// came back after a failure has no buffer and no datatype until it is given them.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_ATTRIBUTE_NAME; FENIX_ERROR_INVALID_ATTRIBUTE_VALUE for a rank that is not in the
/// group.
///
/// # Collective
/// For count and size with a `source_rank` that is not negative: called by all ranks of the group, each of
/// which may ask another rank. All return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_attr_get(
    group_id: c_int,
    member_id: c_int,
    attributename: c_int,
    attributevalue: *mut c_void,
    flag: *mut c_int,
    source_rank: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { ptr::store(flag, 0) };
    let call = FENIX_ERROR_NOCATEGORY;
    let place = (!attributevalue.is_null()).then_some(attributevalue);
    let place = || place.ok_or(Error::Null("attributevalue"));
    status_of(call, || {
        in_group(group_id, |held| {
            let (attributes, code) = match (attributename, source_rank) {
                (FENIX_DATA_MEMBER_ATTRIBUTE_COUNT | FENIX_DATA_MEMBER_ATTRIBUTE_SIZE, 0..) => {
                    let comm = held.group.comm()?;
                    let rank = place().and_then(|_| rank_in(comm, source_rank));
                    let asked = agree(comm, rank);
                    let told = asked.and_then(|rank| held.group.attributes_of(member_id, rank));
                    let given = told.as_ref().ok().copied();
                    let told = told.map(|_| FENIX_SUCCESS);
                    (given, common_status(call, held.group.comm()?, told))
                }
                _ => (Some(held.group.attributes(member_id)?), FENIX_SUCCESS),
            };
            if let Some(attributes) = attributes.filter(|_| code == FENIX_SUCCESS) {
                let memory = held.memory.of(member_id);
                // SAFETY: arguments of the caller.
                let has = unsafe { tell(attributename, attributes, memory, place()?) }?;
                // SAFETY: arguments of the caller.
                unsafe { ptr::store(flag, has.into()) };
            }
            Ok(code)
        })
    })
}

/// A rank of the user, which is one of the group's.
pub(super) fn rank_in(comm: &impl Comm, rank: c_int) -> Result<usize> {
    let found = usize::try_from(rank)
        .ok()
        .filter(|&rank| rank < comm.size());
    found.ok_or_else(|| Error::AttributeValue(format!("rank {rank} is not in 0..{}", comm.size())))
}

/// Writes the value of an attribute and tells whether there is one.
unsafe fn tell(
    name: c_int,
    attributes: Attributes,
    memory: &Memory,
    place: *mut c_void,
) -> Result<bool> {
    // SAFETY: the caller's place has room for what the attribute is, here and below.
    let number = |value: u64| unsafe { place.cast::<c_int>().write(int(value)) };
    match name {
        FENIX_DATA_MEMBER_ATTRIBUTE_COUNT => number(attributes.count),
        FENIX_DATA_MEMBER_ATTRIBUTE_SIZE => number(attributes.element),
        FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER => {
            // SAFETY: as above.
            unsafe { place.cast::<*mut u8>().write(memory.buffer) };
            return Ok(!memory.buffer.is_null());
        }
        FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE => {
            let known = memory.datatype.as_ref().map(Datatype::handle);
            let shown = known.unwrap_or_else(null_datatype);
            // SAFETY: as above.
            unsafe { place.cast::<MPI_Datatype>().write(shown) };
            return Ok(known.is_some());
        }
        other => return Err(Error::UnknownAttribute(other)),
    }
    Ok(true)
}

fn int(value: u64) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// Changes an attribute of a member on this rank: the buffer (`attribute_value` is its address), the count
/// (pointer to an `int`) or the datatype (pointer to an `MPI_Datatype`). What was stored before stays as it
/// was. `flag` gets 1 if the attribute was changed.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_ATTRIBUTE_NAME; FENIX_ERROR_INVALID_ATTRIBUTE_VALUE, which the size gives always.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Fenix_Data_member_attr_set(
    group_id: c_int,
    member_id: c_int,
    attribute_name: c_int,
    attribute_value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    status(|| {
        // SAFETY: arguments of the caller.
        unsafe { ptr::store(flag, 0) };
        // SAFETY: arguments of the caller.
        in_group(group_id, |held| unsafe {
            change(held, member_id, attribute_name, attribute_value)
        })?;
        // SAFETY: arguments of the caller.
        unsafe { ptr::store(flag, 1) };
        Ok(())
    })
}

unsafe fn change(held: &mut Held, member: c_int, name: c_int, value: *mut c_void) -> Result<()> {
    let mut attributes = held.group.attributes(member)?;
    let memory = held.memory.of_mut(member);
    match name {
        FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER => memory.buffer = value.cast(),
        FENIX_DATA_MEMBER_ATTRIBUTE_SIZE => {
            return Err(Error::AttributeValue("the size is read-only".into()));
        }
        FENIX_DATA_MEMBER_ATTRIBUTE_COUNT | FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE
            if value.is_null() =>
        {
            return Err(Error::AttributeValue("it is NULL".into()));
        }
        FENIX_DATA_MEMBER_ATTRIBUTE_COUNT => {
            // SAFETY: the caller's value is an int.
            let count = natural("the count", unsafe { *value.cast() });
            attributes.count = count.map_err(|e| Error::AttributeValue(e.to_string()))?;
        }
        FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE => {
            // SAFETY: the caller's value is a datatype.
            let datatype = datatype_of(unsafe { *value.cast() });
            let datatype = datatype.map_err(|e| Error::AttributeValue(e.to_string()))?;
            attributes.element = datatype.size();
            memory.datatype = Some(datatype);
        }
        other => return Err(Error::UnknownAttribute(other)),
    }
    held.group.set_attributes(member, attributes)
}

// ---- deleting ----

/// Deletes the snapshot with the time stamp, on this rank. FENIX_DATA_SNAPSHOT_LATEST is the newest one,
/// FENIX_DATA_SNAPSHOT_ALL stands for all unless a snapshot has that number as its time stamp.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_TIMESTAMP if there is no such snapshot.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_snapshot_delete(group_id: c_int, time_stamp: c_int) -> c_int {
    status(|| {
        in_group(group_id, |held| {
            let stamps = held.group.snapshots();
            let all = time_stamp == FENIX_DATA_SNAPSHOT_ALL && !stamps.contains(&time_stamp);
            if stamps.is_empty() && !all {
                return Err(Error::NoSuchStamp {
                    group: group_id,
                    stamp: time_stamp,
                });
            }
            held.group
                .delete_snapshot((!all).then(|| stamp(time_stamp)))
        })
    })
}

/// Deletes a group with all its members and snapshots, on this rank. All ranks of the group should do so.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_group_delete(group_id: c_int) -> c_int {
    status(|| {
        check_running()?;
        delete_group(group_id)
    })
}

/// Deletes a member and what was stored of it, on this rank. All ranks of the group should do so.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_delete(group_id: c_int, member_id: c_int) -> c_int {
    status(|| {
        in_group(group_id, |held| {
            held.group.delete_member(member_id)?;
            held.memory.remove(member_id);
            Ok(())
        })
    })
}
