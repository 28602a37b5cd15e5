//! The data groups of this process by their ids, with what only the C layer knows of them: the user's memory and the
//! numbers of requests.
//!
//! A group belongs to the thread that is in a call with it; calls of other threads are refused meanwhile.

use super::lease::{Leases, Unavailable};
use super::memory::UserMemories;
use crate::comm::mpi::MpiComm;
use crate::fenix::{Error, Group, Result, Settings, Ticket};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// One group, as C knows it.
pub(in crate::capi) struct HeldGroup {
    pub(in crate::capi) group: Group<MpiComm>,
    /// As Fenix_Data_group_create was given it.
    pub(in crate::capi) policy_name: c_int,
    pub(in crate::capi) memory: UserMemories,
    pub(in crate::capi) requests: StoreRequests,
    /// The number of recoveries when it was last used.
    recoveries: u64,
}

impl HeldGroup {
    pub(in crate::capi) fn of(group: Group<MpiComm>, policy_name: c_int) -> HeldGroup {
        HeldGroup {
            group,
            policy_name,
            memory: UserMemories::default(),
            requests: StoreRequests::default(),
            recoveries: RECOVERIES.load(Ordering::Acquire),
        }
    }

    /// Creates the group again after a failure.
    pub(in crate::capi) fn renew(&mut self, comm: MpiComm, settings: Settings) -> Result<()> {
        self.requests.forget();
        self.group.renew(comm, settings)
    }

    /// Detaches the group if there was a recovery since its last use: it keeps its snapshots until it is created again.
    fn detach_if_recovered(&mut self) {
        let recoveries = RECOVERIES.load(Ordering::Acquire);
        if recoveries != self.recoveries {
            self.recoveries = recoveries;
            self.group.detach();
            self.requests.forget();
        }
    }
}

/// Stores under way by the number of their request; one for all members has several.
#[derive(Default)]
pub(in crate::capi) struct StoreRequests {
    under_way: BTreeMap<u32, Vec<Ticket>>,
    /// Requests before this one were lost in a failure.
    first: u32,
    next: u32,
}

impl StoreRequests {
    pub(in crate::capi) fn add(&mut self, stores: Vec<Ticket>) -> u32 {
        let number = self.next;
        self.next += 1;
        self.under_way.insert(number, stores);
        number
    }

    /// The stores of a request; none if it has ended.
    pub(in crate::capi) fn stores(&self, number: u32) -> Result<&[Ticket]> {
        if !(self.first..self.next).contains(&number) {
            return Err(Error::NoSuchRequest);
        }
        Ok(self.under_way.get(&number).map_or(&[], Vec::as_slice))
    }

    pub(in crate::capi) fn end(&mut self, number: u32) {
        self.under_way.remove(&number);
    }

    pub(in crate::capi) fn end_all(&mut self) {
        self.under_way.clear();
    }

    fn forget(&mut self) {
        self.end_all();
        self.first = self.next;
    }
}

static GROUPS: Leases<i32, HeldGroup> = Leases::new();
static RECOVERIES: AtomicU64 = AtomicU64::new(0);

fn missing(id: i32, why: Unavailable) -> Error {
    match why {
        Unavailable::Absent => Error::NoSuchGroup(id),
        Unavailable::InUse => Error::InUse("this data group"),
    }
}

pub(in crate::capi) fn with_group<T>(
    id: i32,
    work: impl FnOnce(&mut HeldGroup) -> Result<T>,
) -> Result<T> {
    let mut lease = GROUPS.lease(id).map_err(|why| missing(id, why))?;
    let held = lease.value.as_mut().ok_or(Error::NoSuchGroup(id))?;
    held.detach_if_recovered();
    work(held)
}

/// Creates a group, or creates it again; one that survived keeps what it has if that fails.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(in crate::capi) fn create_group(
    comm: MpiComm,
    policy_name: c_int,
    settings: Settings,
) -> Result<()> {
    let id = settings.id;
    let lease = GROUPS.lease_or_reserve(id);
    let mut lease = lease.map_err(|why| missing(id, why))?;
    match &mut lease.value {
        Some(held) => {
            held.detach_if_recovered();
            held.renew(comm, settings)?;
            held.policy_name = policy_name;
        }
        None => {
            let made = Group::create(None, comm, settings)?;
            lease.value = Some(Box::new(HeldGroup::of(made, policy_name)));
        }
    }
    Ok(())
}

pub(in crate::capi) fn delete_group(id: i32) -> Result<()> {
    let mut lease = GROUPS.lease(id).map_err(|why| missing(id, why))?;
    lease.value = None;
    Ok(())
}

/// After a failure. A group that another thread is using is detached at its next use.
pub(in crate::capi) fn detach_groups() {
    RECOVERIES.fetch_add(1, Ordering::AcqRel);
    for id in GROUPS.keys() {
        let _ = with_group(id, |_| Ok(()));
    }
}

/// In Fenix_Finalize.
pub(in crate::capi) fn drop_groups() {
    for id in GROUPS.keys() {
        let _ = delete_group(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_known_until_a_failure() {
        let mut requests = StoreRequests::default();
        let first = requests.add(vec![Ticket(7)]);
        let second = requests.add(vec![Ticket(8), Ticket(9)]);
        assert_eq!(requests.stores(second).unwrap().len(), 2);
        requests.end(first);
        assert!(requests.stores(first).unwrap().is_empty());
        assert!(requests.stores(second + 1).is_err());
        requests.forget();
        assert!(requests.stores(first).is_err() && requests.stores(second).is_err());
        let third = requests.add(vec![]);
        assert!(requests.stores(third).is_ok());
    }
}
