//! Whole groups, with ranks as threads.

use std::sync::Mutex;

use super::*;
use crate::comm::Comm;
use crate::comm::local::{LocalComm, run};

mod calls;
mod faults;
mod generations;
mod losses;
mod model;
mod placed;
mod reed_solomon;
mod shrinking;

/// A job whose ranks keep their groups while others are lost.
struct Job {
    settings: Settings,
    groups: Vec<Option<Group<LocalComm>>>,
}

impl Job {
    fn new(ranks: usize, policy: Policy) -> Job {
        let settings = Settings {
            id: 7,
            first_stamp: 0,
            depth: Some(0),
            policy,
            path: None,
            checksums: false,
        };
        Job::with(ranks, settings)
    }

    fn with(ranks: usize, settings: Settings) -> Job {
        Job {
            settings,
            groups: (0..ranks).map(|_| None).collect(),
        }
    }

    /// Runs `f` on all ranks, which create the group anew as they do after a failure.
    fn run<T: Send>(&mut self, f: impl Fn(&mut Group<LocalComm>) -> T + Sync) -> Vec<T> {
        let groups = Mutex::new(std::mem::take(&mut self.groups));
        let settings = &self.settings;
        let size = groups.lock().unwrap().len();
        let results = run(size, |comm| {
            let rank = comm.rank();
            let survived = groups.lock().unwrap()[rank].take();
            let mut group = Group::create(survived, comm, settings.clone()).unwrap();
            let result = f(&mut group);
            group.detach();
            groups.lock().unwrap()[rank] = Some(group);
            result
        });
        self.groups = groups.into_inner().unwrap();
        results
    }

    fn lose(&mut self, ranks: &[usize]) {
        for rank in ranks {
            self.groups[*rank] = None;
        }
    }
}

fn rank_of(group: &Group<LocalComm>) -> usize {
    group.comm().unwrap().rank()
}

/// What a rank has in a member at some time: a byte for each of the member's bytes.
fn content(rank: usize, member: i32, version: usize, length: u64) -> Vec<u8> {
    let seed = rank * 131 + member.unsigned_abs() as usize * 17 + version * 71;
    let byte = |i: u64| (i * 7 + i / 251 + seed as u64) as u8;
    (0..length).map(byte).collect()
}

/// Elements of a member on a rank: different from rank to rank, none on some.
fn attributes(rank: usize, member: i32) -> Attributes {
    let number = u64::from(member.unsigned_abs());
    let count = (rank as u64 * 37 + number * 11) % 90;
    let element = 1 + number % 3;
    Attributes { count, element }
}

fn length(rank: usize, member: i32) -> u64 {
    let Attributes { count, element } = attributes(rank, member);
    count * element
}

fn create_member(group: &mut Group<LocalComm>, member: i32) {
    let attributes = attributes(rank_of(group), member);
    group.create_member(member, attributes).unwrap();
}

fn store(group: &mut Group<LocalComm>, member: i32, version: usize) {
    let rank = rank_of(group);
    let bytes = content(rank, member, version, length(rank, member));
    group.store(member, &bytes[..], &Subset::Full).unwrap();
}

/// Restores a member and compares it with what it was.
fn check(group: &mut Group<LocalComm>, member: i32, stamp: Stamp, version: usize) {
    let rank = rank_of(group);
    let mut bytes = vec![0; length(rank, member) as usize];
    let restored = group.restore(member, stamp, u64::MAX, Some(&mut bytes[..]));
    assert!(restored.unwrap().complete, "rank {rank}");
    assert_eq!(bytes, content(rank, member, version, bytes.len() as u64));
    assert_eq!(group.attributes(member).unwrap(), attributes(rank, member));
}

fn no_target() -> Option<&'static mut [u8]> {
    None
}

fn all_no_data(results: Vec<Result<Restored>>) {
    for result in results {
        assert!(matches!(result, Err(Error::NoData(_))), "{result:?}");
    }
}

const COPY: Policy = Policy::Copy { separation: 1 };
const PARITY: Policy = Policy::Parity {
    separation: 1,
    set_size: 4,
};
const RS: Policy = Policy::ReedSolomon {
    separation: 1,
    set_size: 4,
    k: 2,
};
