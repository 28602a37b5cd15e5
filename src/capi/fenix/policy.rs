//! Redundancy policies of data groups, as C gives and gets them.

use super::errors::natural;
use crate::capi::stanchion::fenix::{
    PlacedWithK, STANCHION_FENIX_POLICY_PLACED, STANCHION_FENIX_POLICY_RS, declared_path,
    stanchion_fenix_placed,
};
use crate::fenix::{Error, Policy, Result};
use std::ffi::{c_int, c_void};

const FENIX_DATA_POLICY_IN_MEMORY_RAID: c_int = 13;

const COPY_MODE: c_int = 1;
const PARITY_MODE: c_int = 5;
const RS_MODE: c_int = 6;
/// How large sets of copies are where they can be.
const PAIR: u32 = 2;

/// How a group is protected, and the path of this rank if sets are placed by failure domains.
pub(in crate::capi) type Protection = (Policy, Option<String>);

pub(in crate::capi) unsafe fn protection(name: c_int, value: *const c_void) -> Result<Protection> {
    let is_known = [
        FENIX_DATA_POLICY_IN_MEMORY_RAID,
        STANCHION_FENIX_POLICY_PLACED,
        STANCHION_FENIX_POLICY_RS,
    ]
    .contains(&name);
    if !is_known {
        return Err(Error::UnknownPolicy(name));
    }
    if value.is_null() {
        return Err(Error::Null("policy_value"));
    }
    match name {
        // SAFETY: what the caller gives with this name.
        STANCHION_FENIX_POLICY_PLACED => unsafe { placed(value.cast()) },
        // SAFETY: as above.
        STANCHION_FENIX_POLICY_RS => unsafe { Ok((reed_solomon(value.cast())?, declared_path()?)) },
        // SAFETY: as above.
        _ => unsafe { Ok((raid(value.cast())?, declared_path()?)) },
    }
}

/// The mode, its rank separation, and its set size where it has one.
unsafe fn raid(values: *const c_int) -> Result<Policy> {
    // SAFETY: an array of the caller with as many values as the mode wants.
    let value = |i| unsafe { *values.add(i) };
    let separation = count("the rank separation", value(1));
    match value(0) {
        COPY_MODE => Ok(Policy::Copy {
            separation: separation?,
        }),
        PARITY_MODE => Ok(Policy::Parity {
            separation: separation?,
            set_size: count("the set size", value(2))?,
        }),
        mode => Err(no_mode(mode, "1 and 5")),
    }
}

/// Rank separation, set size, and how many losses are survived.
unsafe fn reed_solomon(values: *const c_int) -> Result<Policy> {
    // SAFETY: an array of the caller with three values.
    let value = |i| unsafe { *values.add(i) };
    Ok(Policy::ReedSolomon {
        separation: count("the rank separation", value(0))?,
        set_size: count("the set size", value(1))?,
        k: count("k", value(2))?,
    })
}

fn count(what: &'static str, value: c_int) -> Result<u32> {
    natural(what, value).map(|value| value as u32)
}

fn no_mode(mode: c_int, modes: &str) -> Error {
    Error::Policy(format!("there is no mode {mode}, only {modes}"))
}

/// Ranks of placed sets are as far from each other as can be, so there is no separation.
unsafe fn placed(value: *const stanchion_fenix_placed) -> Result<Protection> {
    // SAFETY: a struct of the caller.
    let given = unsafe { &*value };
    let policy = match given.mode {
        COPY_MODE => Policy::Copy { separation: 1 },
        PARITY_MODE => Policy::Parity {
            separation: 1,
            set_size: count("the set size", given.set_size)?,
        },
        RS_MODE => Policy::ReedSolomon {
            separation: 1,
            set_size: count("the set size", given.set_size)?,
            // SAFETY: with this mode the caller's struct has it.
            k: count("k", unsafe { (*value.cast::<PlacedWithK>()).k })?,
        },
        mode => return Err(no_mode(mode, "1, 5 and 6")),
    };
    Ok((policy, Some(given.path_or_own()?)))
}

/// The values that the policy was given with.
pub(in crate::capi) fn values(name: c_int, policy: Policy) -> Vec<u32> {
    let is_placed = name == STANCHION_FENIX_POLICY_PLACED;
    match policy {
        Policy::Copy { .. } if is_placed => vec![COPY_MODE as u32, PAIR],
        Policy::Parity { set_size, .. } if is_placed => vec![PARITY_MODE as u32, set_size],
        Policy::ReedSolomon { set_size, k, .. } if is_placed => vec![RS_MODE as u32, set_size, k],
        Policy::Copy { separation } => vec![COPY_MODE as u32, separation],
        Policy::Parity {
            separation,
            set_size,
        } => vec![PARITY_MODE as u32, separation, set_size],
        Policy::ReedSolomon {
            separation,
            set_size,
            k,
        } => vec![separation, set_size, k],
    }
}
