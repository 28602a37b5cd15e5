//! A repair that cannot succeed ends in an error instead of going on forever.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::{Process, ROUNDS};
use crate::comm::local::LocalComm;
use crate::comm::{self, Agreement, Buffer, Comm, Op, Resilient, Tag};
use crate::fenix::Error;

/// What goes wrong after the start.
#[derive(Clone, Copy, Default, PartialEq)]
enum Fault {
    #[default]
    None,
    /// Other processes are never at the same synchronization point.
    Apart,
    /// `shrink` fails.
    NoShrink,
}

#[derive(Default)]
struct Observed {
    fault: Cell<Fault>,
    agreements: Cell<usize>,
    shrinks: Cell<usize>,
}

/// The communicator of a single process whose repair cannot succeed.
#[derive(Clone, Default)]
struct DoomedComm(Rc<Observed>);

fn count(cell: &Cell<usize>) {
    cell.set(cell.get() + 1);
}

impl Resilient for DoomedComm {
    fn revoke(&self) {}

    fn is_revoked(&self) -> bool {
        false
    }

    fn shrink(&self) -> comm::Result<Self> {
        count(&self.0.shrinks);
        match self.0.fault.get() {
            Fault::NoShrink => Err(comm::Error::ProcessFailed { call: "shrink" }),
            _ => Ok(self.clone()),
        }
    }

    fn agree(&self, flag: u32) -> comm::Result<Agreement> {
        count(&self.0.agreements);
        Ok(Agreement {
            flag: if self.0.fault.get() == Fault::Apart {
                0
            } else {
                flag
            },
            someone_failed: true,
        })
    }

    fn failed(&self) -> comm::Result<Vec<usize>> {
        Ok(Vec::new())
    }

    fn split_for_user(&self, joins: bool, _key: i32) -> comm::Result<Option<(Self, Self)>> {
        Ok(joins.then(|| (self.clone(), self.clone())))
    }

    fn signal(&self, _to: usize) {}

    fn signalled(&self) -> comm::Result<bool> {
        Ok(false)
    }
}

/// A communicator of one: collectives return what the process itself contributed.
impl Comm for DoomedComm {
    type Underway<B: Buffer> = <LocalComm as Comm>::Underway<B>;

    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn allgather(&self, mine: &[u8], all: &mut [u8]) -> comm::Result<()> {
        all.copy_from_slice(mine);
        Ok(())
    }

    fn barrier(&self) -> comm::Result<()> {
        Ok(())
    }

    fn bcast(&self, _root: usize, _bytes: &mut [u8]) -> comm::Result<()> {
        Ok(())
    }

    fn allreduce(&self, _op: Op, _values: &mut [u64]) -> comm::Result<()> {
        Ok(())
    }

    fn scan(&self, _op: Op, _values: &mut [u64]) -> comm::Result<()> {
        Ok(())
    }

    fn alltoall(&self, values: &[u64]) -> comm::Result<Vec<u64>> {
        Ok(values.to_vec())
    }

    fn send(&self, to: usize, _tag: Tag, _bytes: &[u8]) -> comm::Result<()> {
        Err(comm::Error::PeerGone(to))
    }

    fn recv(&self, from: usize, _tag: Tag, _bytes: &mut [u8]) -> comm::Result<()> {
        Err(comm::Error::PeerGone(from))
    }

    fn transfer(
        &self,
        _tag: Tag,
        _sends: &[(usize, &[u8])],
        _recvs: &mut [(usize, &mut [u8])],
    ) -> comm::Result<()> {
        Err(comm::Error::PeerGone(0))
    }

    fn start<B: Buffer>(
        &self,
        _tag: Tag,
        _sends: Vec<(usize, Arc<B>)>,
        _recvs: Vec<(usize, B)>,
    ) -> comm::Result<Self::Underway<B>> {
        Err(comm::Error::PeerGone(0))
    }

    fn split(&self, color: Option<u32>, _key: i32) -> comm::Result<Option<Self>> {
        Ok(color.map(|_| self.clone()))
    }
}

/// Starts a process without faults and lets its recovery meet one. Returns the result, agreements and shrinks.
fn recover(fault: Fault) -> (Result<(), Error>, usize, usize) {
    let given = DoomedComm::default();
    let mut process = Process::start(&given, 0, false).unwrap();
    given.0.agreements.set(0);
    given.0.shrinks.set(0);
    given.0.fault.set(fault);
    let recovered = process.recover();
    let observed = &given.0;
    (recovered, observed.agreements.get(), observed.shrinks.get())
}

#[test]
fn a_sound_process_recovers() {
    assert!(recover(Fault::None).0.is_ok());
}

#[test]
fn a_rendezvous_to_which_others_never_come_is_given_up() {
    let (recovered, agreements, shrinks) = recover(Fault::Apart);
    assert!(
        matches!(recovered, Err(Error::Unrepairable(_))),
        "{recovered:?}"
    );
    assert_eq!((agreements, shrinks), (ROUNDS, 0));
}

#[test]
fn a_world_that_cannot_be_made_is_given_up() {
    let (recovered, _, shrinks) = recover(Fault::NoShrink);
    let Err(Error::Unrepairable(text)) = recovered else {
        panic!("{recovered:?}");
    };
    assert!(text.contains("attempts"), "{text}");
    assert_eq!(shrinks, 4);
}
