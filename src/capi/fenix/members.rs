//! # Members
//!
//! A member of a data group is a buffer on every rank, which is stored and restored as a whole or in parts.

use super::errors::{
    FENIX_ERROR_MEMBER_CREATE, FENIX_ERROR_NOCATEGORY, FENIX_SUCCESS, agree, common_status,
    natural, status, status_of,
};
use super::memory::UserMemory;
use super::registry::HeldGroup;
use super::{in_group, rank_in};
use crate::capi::boundary::{Out, OutArray};
use crate::comm::mpi::{Datatype, MPI_Datatype, null_datatype};
use crate::fenix::{Attributes, Error, Result};
use std::ffi::{c_int, c_void};

const FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER: c_int = 11;
const FENIX_DATA_MEMBER_ATTRIBUTE_COUNT: c_int = 12;
const FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE: c_int = 13;
const FENIX_DATA_MEMBER_ATTRIBUTE_SIZE: c_int = 14;

/// Makes `buffer` a member of the group: `count` elements, which may differ from rank to rank. `datatype` may have holes
/// and may be freed afterwards. A member that came back after a failure may be created once more, to give it a buffer and
/// a datatype.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_GROUPID; FENIX_ERROR_INVALID_MEMBERID if there is such a member; FENIX_ERROR_MEMBER_CREATE for a
/// negative count or no datatype.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_create(
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
            *held.memory.of_mut(member_id) = UserMemory {
                buffer: buffer.cast(),
                datatype: Some(datatype),
            };
            Ok(FENIX_SUCCESS)
        })
    })
}

/// A datatype without bytes is refused: it stores nothing.
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

/// Gets an attribute of a member: the buffer (`void*`), the count (`int`), the datatype (`MPI_Datatype`; a derived one
/// belongs to the library and lives as long as the member), or the packed size of an element in bytes (`int`). Count and
/// size are those of rank `source_rank` of the group, or of this rank if that is negative; the other two are always those
/// of this rank. `flag` gets 1 if there is a value: a member that came back after a failure has no buffer and no datatype
/// until it is given them.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_ATTRIBUTE_NAME; FENIX_ERROR_INVALID_ATTRIBUTE_VALUE for a rank that is not in the group.
///
/// # Collective
/// For count and size with a `source_rank` that is not negative: called by all ranks of the group, each of which may ask
/// another rank. All return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_attr_get(
    group_id: c_int,
    member_id: c_int,
    attributename: c_int,
    attributevalue: OutArray<c_void>,
    flag: Out<c_int>,
    source_rank: c_int,
) -> c_int {
    flag.set(0);
    let call = FENIX_ERROR_NOCATEGORY;
    let place = match attributevalue.is_null() {
        true => Err("attributevalue"),
        false => Ok(attributevalue),
    };
    let place = || place.map_err(Error::Null);
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
                flag.set(tell(attributename, attributes, memory, place()?)?.into());
            }
            Ok(code)
        })
    })
}

/// Writes the value of an attribute and tells whether there is one.
fn tell(
    name: c_int,
    attributes: Attributes,
    memory: &UserMemory,
    place: OutArray<c_void>,
) -> Result<bool> {
    // SAFETY: the header says that there is room for an int, here and for what the attribute is below.
    let number = |value: u64| unsafe { place.cast().fill(&[int(value)]) };
    match name {
        FENIX_DATA_MEMBER_ATTRIBUTE_COUNT => number(attributes.count),
        FENIX_DATA_MEMBER_ATTRIBUTE_SIZE => number(attributes.element),
        FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER => {
            // SAFETY: room for an address.
            unsafe { place.cast().fill(&[memory.buffer]) };
            return Ok(!memory.buffer.is_null());
        }
        FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE => {
            let known = memory.datatype.as_ref().map(Datatype::handle);
            // SAFETY: room for a datatype.
            unsafe { place.cast().fill(&[known.unwrap_or_else(null_datatype)]) };
            return Ok(known.is_some());
        }
        other => return Err(Error::UnknownAttribute(other)),
    }
    Ok(true)
}

fn int(value: u64) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// Changes an attribute of a member on this rank: the buffer (`attribute_value` is its address), the count (pointer to an
/// `int`) or the datatype (pointer to an `MPI_Datatype`). Snapshots stay as they are. `flag` gets 1 if the attribute was
/// changed.
///
/// # Returns
/// 0; FENIX_ERROR_INVALID_ATTRIBUTE_NAME; FENIX_ERROR_INVALID_ATTRIBUTE_VALUE, which the size always gives.
#[unsafe(no_mangle)]
pub extern "C" fn Fenix_Data_member_attr_set(
    group_id: c_int,
    member_id: c_int,
    attribute_name: c_int,
    attribute_value: OutArray<c_void>,
    flag: Out<c_int>,
) -> c_int {
    status(|| {
        flag.set(0);
        in_group(group_id, |held| {
            change(held, member_id, attribute_name, attribute_value)
        })?;
        flag.set(1);
        Ok(())
    })
}

fn change(held: &mut HeldGroup, member: c_int, name: c_int, value: OutArray<c_void>) -> Result<()> {
    let mut attributes = held.group.attributes(member)?;
    let memory = held.memory.of_mut(member);
    let wrong = |cause: Error| Error::AttributeValue(cause.to_string());
    let null = || Error::AttributeValue("it is NULL".into());
    match name {
        FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER => memory.buffer = value.as_ptr().cast(),
        FENIX_DATA_MEMBER_ATTRIBUTE_SIZE => {
            return Err(Error::AttributeValue("the size is read-only".into()));
        }
        FENIX_DATA_MEMBER_ATTRIBUTE_COUNT => {
            // SAFETY: the header says that the value is an int.
            let count = unsafe { value.cast().as_array().slice(1) }.ok_or_else(null)?;
            attributes.count = natural("the count", count[0]).map_err(wrong)?;
        }
        FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE => {
            // SAFETY: the header says that the value is a datatype.
            let datatype = unsafe { value.cast().as_array().slice(1) }.ok_or_else(null)?;
            let datatype = datatype_of(datatype[0]).map_err(wrong)?;
            attributes.element = datatype.size();
            memory.datatype = Some(datatype);
        }
        other => return Err(Error::UnknownAttribute(other)),
    }
    held.group.set_attributes(member, attributes)
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
