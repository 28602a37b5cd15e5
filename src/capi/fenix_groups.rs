//! The data groups of this process, by their ids, with what only the C layer knows of them: the user's
//! memory and the numbers of requests.

use super::fenix_memory::Memories;
use crate::comm::mpi::MpiComm;
use crate::fenix::{Error, Group, Result, Settings, Ticket};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;

/// One group, as C knows it.
pub(super) struct Held {
    pub(super) group: Group<MpiComm>,
    /// As Fenix_Data_group_create was given it.
    pub(super) policy_name: c_int,
    pub(super) memory: Memories,
    pub(super) requests: Requests,
}

impl Held {
    pub(super) fn of(group: Group<MpiComm>, policy_name: c_int) -> Held {
        Held {
            group,
            policy_name,
            memory: Memories::default(),
            requests: Requests::default(),
        }
    }

    /// Creates the group again.
    pub(super) fn renew(&mut self, comm: MpiComm, settings: Settings) -> Result<()> {
        self.requests.forget();
        self.group.renew(comm, settings)
    }

    fn detach(&mut self) {
        self.group.detach();
        self.requests.forget();
    }
}

/// Stores under way by the number of their request; a request for all members has several of them.
#[derive(Default)]
pub(super) struct Requests {
    under_way: BTreeMap<u32, Vec<Ticket>>,
    /// Requests before this one were lost in a failure.
    first: u32,
    next: u32,
}

impl Requests {
    pub(super) fn add(&mut self, stores: Vec<Ticket>) -> u32 {
        let number = self.next;
        self.next += 1;
        self.under_way.insert(number, stores);
        number
    }

    /// The stores of a request; none if it has ended.
    pub(super) fn stores(&self, number: u32) -> Result<&[Ticket]> {
        if !(self.first..self.next).contains(&number) {
            return Err(Error::NoSuchRequest);
        }
        Ok(self.under_way.get(&number).map_or(&[], Vec::as_slice))
    }

    pub(super) fn end(&mut self, number: u32) {
        self.under_way.remove(&number);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.under_way.values().flatten().copied()
    }

    pub(super) fn end_all(&mut self) {
        self.under_way.clear();
    }

    fn forget(&mut self) {
        self.end_all();
        self.first = self.next;
    }
}

thread_local! {
    /// They belong to the thread that called Fenix_Init.
    static GROUPS: RefCell<BTreeMap<i32, Held>> = const { RefCell::new(BTreeMap::new()) };
}

pub(super) fn with_groups<T>(work: impl FnOnce(&mut BTreeMap<i32, Held>) -> T) -> T {
    GROUPS.with_borrow_mut(work)
}

pub(super) fn with_group<T>(id: i32, work: impl FnOnce(&mut Held) -> Result<T>) -> Result<T> {
    with_groups(|groups| work(groups.get_mut(&id).ok_or(Error::NoSuchGroup(id))?))
}

/// After a failure: the groups keep their snapshots until they are created again.
pub(super) fn detach_groups() {
    with_groups(|groups| groups.values_mut().for_each(Held::detach));
}

/// At the end.
pub(super) fn drop_groups() {
    with_groups(BTreeMap::clear);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_known_until_a_failure() {
        let mut requests = Requests::default();
        let first = requests.add(vec![Ticket(7)]);
        let second = requests.add(vec![Ticket(8), Ticket(9)]);
        assert_eq!(requests.stores(second).unwrap().len(), 2);
        assert_eq!(requests.all().count(), 3);
        requests.end(first);
        assert!(requests.stores(first).unwrap().is_empty());
        assert!(requests.stores(second + 1).is_err());
        requests.forget();
        assert!(requests.stores(first).is_err() && requests.stores(second).is_err());
        let third = requests.add(vec![]);
        assert!(requests.stores(third).is_ok());
    }
}
