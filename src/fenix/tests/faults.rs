//! A rank dies at every one of its messages, or memory runs out; what is committed stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::comm::{self, Buffer, Op, Tag, Underway};

/// A communicator whose rank dies after so many operations.
struct Mortal {
    comm: LocalComm,
    left: Arc<AtomicUsize>,
}

struct MortalUnderway<B: Buffer> {
    underway: <LocalComm as Comm>::Underway<B>,
    left: Arc<AtomicUsize>,
}

/// One operation less to live.
fn live(left: &AtomicUsize) -> comm::Result<()> {
    let lived = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(1)
    });
    lived.map(drop).map_err(|_| comm::Error::NotRunning)
}

impl Mortal {
    fn new(comm: LocalComm, operations: usize) -> Mortal {
        Mortal {
            comm,
            left: Arc::new(AtomicUsize::new(operations)),
        }
    }

    fn alive(&self) -> comm::Result<&LocalComm> {
        live(&self.left).map(|()| &self.comm)
    }
}

impl<B: Buffer> Underway<B> for MortalUnderway<B> {
    fn is_done(&mut self) -> bool {
        self.underway.is_done()
    }

    fn finish(self) -> comm::Result<Vec<B>> {
        live(&self.left)?;
        self.underway.finish()
    }
}

impl Comm for Mortal {
    type Underway<B: Buffer> = MortalUnderway<B>;

    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.comm.size()
    }

    fn send(&self, to: usize, tag: Tag, bytes: &[u8]) -> comm::Result<()> {
        self.alive()?.send(to, tag, bytes)
    }

    fn recv(&self, from: usize, tag: Tag, bytes: &mut [u8]) -> comm::Result<()> {
        self.alive()?.recv(from, tag, bytes)
    }

    fn transfer(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> comm::Result<()> {
        self.alive()?.transfer(tag, sends, recvs)
    }

    fn start<B: Buffer>(
        &self,
        tag: Tag,
        sends: Vec<(usize, Arc<B>)>,
        recvs: Vec<(usize, B)>,
    ) -> comm::Result<MortalUnderway<B>> {
        Ok(MortalUnderway {
            underway: self.alive()?.start(tag, sends, recvs)?,
            left: self.left.clone(),
        })
    }

    fn barrier(&self) -> comm::Result<()> {
        self.alive()?.barrier()
    }

    fn bcast(&self, root: usize, bytes: &mut [u8]) -> comm::Result<()> {
        self.alive()?.bcast(root, bytes)
    }

    fn allreduce(&self, op: Op, values: &mut [u64]) -> comm::Result<()> {
        self.alive()?.allreduce(op, values)
    }

    fn scan(&self, op: Op, values: &mut [u64]) -> comm::Result<()> {
        self.alive()?.scan(op, values)
    }

    fn allgather(&self, mine: &[u8], all: &mut [u8]) -> comm::Result<()> {
        self.alive()?.allgather(mine, all)
    }

    fn alltoall(&self, values: &[u64]) -> comm::Result<Vec<u64>> {
        self.alive()?.alltoall(values)
    }

    fn split(&self, color: Option<u32>, key: i32) -> comm::Result<Option<Self>> {
        let part = self.alive()?.split(color, key)?;
        Ok(part.map(|comm| Mortal {
            comm,
            left: self.left.clone(),
        }))
    }
}

type Groups = Mutex<Vec<Option<Group<Mortal>>>>;

/// What the ranks are doing when one of them dies.
type Work = fn(&mut Group<Mortal>) -> Result<()>;

fn bytes_of(group: &Group<Mortal>, version: usize) -> Vec<u8> {
    let rank = group.comm().map_or(0, Comm::rank);
    content(rank, 4, version, length(rank, 4))
}

fn store_and_commit(group: &mut Group<Mortal>, version: usize) -> Result<()> {
    let bytes = bytes_of(group, version);
    group.store(4, &bytes[..], &Subset::Full)?;
    group.commit().map(drop)
}

fn restore(group: &mut Group<Mortal>) -> Result<()> {
    let mut bytes = vec![0; 1000];
    group
        .restore(4, Stamp::Latest, u64::MAX, Some(&mut bytes[..]))
        .map(drop)
}

/// Runs `work` on all ranks after they have created the group again; the victim dies after so many
/// operations. A rank that meets the death leaves. Tells whether the victim lived to the end.
fn round(
    groups: &Groups,
    settings: &Settings,
    work: Work,
    victim: usize,
    operations: usize,
) -> bool {
    let size = groups.lock().unwrap().len();
    let ended = run(size, |comm| {
        let rank = comm.rank();
        let left = if rank == victim {
            operations
        } else {
            usize::MAX
        };
        let comm = Mortal::new(comm, left);
        let survived = groups.lock().unwrap()[rank].take();
        let (mut group, renewed) = match survived {
            Some(mut group) => {
                let renewed = group.renew(comm, settings.clone());
                (group, renewed)
            }
            None => match Group::create(None, comm, settings.clone()) {
                Ok(group) => (group, Ok(())),
                Err(_) => return false,
            },
        };
        let ended = renewed.and_then(|()| work(&mut group));
        group.detach();
        if rank != victim || ended.is_ok() {
            groups.lock().unwrap()[rank] = Some(group);
        }
        ended.is_ok()
    });
    ended[victim]
}

/// Lets a rank die at every operation of `work`, and each time looks whether the data that all agree on
/// afterwards are those of one of the `versions`.
fn dies_at_every_operation(work: Work, first_loss: Option<usize>, versions: &[usize]) {
    for (ranks, policy) in [(5, COPY), (4, PARITY)] {
        for victim in [0, 2] {
            for operations in 0.. {
                let mut settings = Job::new(ranks, policy).settings;
                settings.checksums = true;
                let groups: Groups = Mutex::new((0..ranks).map(|_| None).collect());
                let prepare: Work = |group| {
                    let rank = group.comm()?.rank();
                    group.create_member(4, attributes(rank, 4))?;
                    store_and_commit(group, 0)?;
                    store_and_commit(group, 1)
                };
                assert!(round(&groups, &settings, prepare, 0, usize::MAX));
                if let Some(lost) = first_loss {
                    groups.lock().unwrap()[lost] = None;
                }
                let lived = round(&groups, &settings, work, victim, operations);
                if first_loss.is_none_or(|lost| lost == victim) {
                    verify(groups, &settings, versions);
                }
                if lived {
                    break;
                }
                assert!(operations < 1000, "no end of operations");
            }
        }
    }
}

/// All ranks restore the same version.
fn verify(groups: Groups, settings: &Settings, versions: &[usize]) {
    let size = groups.lock().unwrap().len();
    let found = run(size, |comm| {
        let rank = comm.rank();
        let comm = Mortal::new(comm, usize::MAX);
        let survived = groups.lock().unwrap()[rank].take();
        let mut group = Group::create(survived, comm, settings.clone()).unwrap();
        let mut bytes = vec![0; length(rank, 4) as usize];
        let restored = group.restore(4, Stamp::Latest, u64::MAX, Some(&mut bytes[..]));
        assert!(restored.unwrap().complete);
        let is = |version: &&usize| bytes == bytes_of(&group, **version);
        let version = *versions.iter().rev().find(is).unwrap();
        assert_eq!(group.snapshots(), [version as i32]);
        version
    });
    assert!(
        found.iter().all(|version| *version == found[0]),
        "{found:?}"
    );
}

#[test]
fn a_death_in_a_store_or_commit_leaves_a_whole_snapshot() {
    dies_at_every_operation(|group| store_and_commit(group, 2), None, &[1, 2]);
}

#[test]
fn a_death_with_stores_under_way_leaves_a_whole_snapshot() {
    let work: Work = |group| {
        let bytes = bytes_of(group, 2);
        let first = group.start_store(4, &bytes[..], &Subset::Full)?;
        let second = group.start_store(4, &bytes[..], &Subset::Full)?;
        group.test(second)?;
        group.wait(first)?;
        group.commit().map(drop)
    };
    dies_at_every_operation(work, None, &[1, 2]);
}

#[test]
fn a_death_in_a_restore_loses_nothing_more() {
    for lost in [0, 2] {
        dies_at_every_operation(restore, Some(lost), &[1]);
    }
}

#[test]
fn a_death_in_reconcile_loses_nothing_more() {
    dies_at_every_operation(Group::reconcile, None, &[1]);
}

/// Memory runs out on one rank after so many segments.
#[test]
fn a_rank_without_memory_fails_its_set_and_nobody_waits() {
    for policy in [COPY, PARITY] {
        for segments in 0.. {
            let mut job = Job::new(4, policy);
            job.run(|group| {
                create_member(group, 4);
                store(group, 4, 1);
                group.commit().unwrap();
            });
            job.lose(&[3]);
            let stored = job.run(|group| {
                let rank = rank_of(group);
                if rank == 3 {
                    group.memory.only(segments);
                }
                let restored = group.restore(4, Stamp::Latest, u64::MAX, no_target());
                if let Err(error) = &restored {
                    assert_eq!(matches!(error, Error::Memory(_)), rank == 3, "{error:?}");
                    group.memory.only(usize::MAX);
                    check(group, 4, Stamp::Latest, 1);
                }
                if rank == 3 {
                    group.memory.only(segments);
                }
                let bytes = content(rank, 4, 2, length(rank, 4));
                let stored = group.store(4, &bytes[..], &Subset::Full);
                group.memory.only(usize::MAX);
                assert!(stored.is_ok() || matches!(stored, Err(Error::Memory(_))) == (rank == 3));
                store(group, 4, 3);
                group.commit().unwrap();
                check(group, 4, Stamp::Latest, 3);
                restored.is_ok() && stored.is_ok()
            });
            let mates = if policy == COPY { 2 } else { 0 };
            assert!(stored[mates..].iter().all(|ok| *ok == stored[3]));
            if stored[3] {
                break;
            }
            assert!(segments < 1000);
        }
    }
}
