//! Ranks as threads of one process: collectives run and are tested without an MPI.
//!
//! Every message lands in a mailbox named by communicator, sender, receiver and tag, and is received in order. Sends
//! never wait. A collective is one [`LocalComm::meet`]: each rank puts its contribution on a board, and when the last
//! has come all take the whole. A thread is woken only by what it waits for, and after a collective by the thread before
//! it: thousands of threads woken at once would only contend for the lock. When all of them wait for each other,
//! every wait fails.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::{
    Buffer, Comm, Error, Op, Result, Tag, Underway, check_length, check_peers, check_rank,
};
use crate::wire;

mod schedule;
mod sparse;
mod world;

pub use schedule::{End, Ended, RankSchedule, Turn};
use schedule::{ScheduleRun, end_of};
use world::{Address, Contributions, World};

/// Marks its rank as gone when its thread ends, by return or by panic.
struct Presence<'a> {
    world: &'a World,
    rank: usize,
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.world.leave(self.rank);
    }
}

/// One rank of a group of threads started by [`run`].
pub struct LocalComm {
    world: Arc<World>,
    context: u64,
    /// The thread behind each rank.
    members: Arc<[usize]>,
    /// The number by which the user knows each thread, if not its own.
    user_ranks: Option<Arc<[usize]>>,
    rank: usize,
    /// Collectives so far.
    collectives: AtomicU64,
}

/// Runs `f` as `size` ranks at once and returns their results in rank order.
///
/// A rank that ends early makes those that wait for it fail with [`Error::PeerGone`].
///
/// # Panics
/// If a rank panics, after all ranks have ended.
pub fn run<T: Send>(size: usize, f: impl Fn(LocalComm) -> T + Sync) -> Vec<T> {
    run_on(vec![0; size], f)
}

/// As [`run`]; an error if a thread cannot be started. Those that have been find that rank gone.
pub fn try_run<T: Send>(size: usize, f: impl Fn(LocalComm) -> T + Sync) -> io::Result<Vec<T>> {
    let ended = start_all(&Arc::new(World::new(vec![0; size], None)), f);
    let results = ended.into_iter().map(|end| match end {
        Ok(result) => Ok(result),
        Err(panic) => match panic.downcast::<io::Error>() {
            Ok(refusal) => Err(*refusal),
            Err(panic) => std::panic::resume_unwind(panic),
        },
    });
    results.collect()
}

/// As [`run`] with one rank on each of these nodes; a node may be named several times.
pub fn run_on<T: Send>(nodes: Vec<u64>, f: impl Fn(LocalComm) -> T + Sync) -> Vec<T> {
    let ended = start_all(&Arc::new(World::new(nodes, None)), f);
    let results = ended.into_iter();
    results
        .map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        .collect()
}

/// As [`run_on`], one rank at a time, as the schedule says. Ranks may die, and panics are results.
pub fn run_scheduled<T: Send>(
    nodes: Vec<u64>,
    schedule: &RankSchedule,
    f: impl Fn(LocalComm) -> T + Sync,
) -> Ended<T> {
    let turns = ScheduleRun::new(schedule, nodes.len());
    let world = Arc::new(World::new(nodes, Some(turns)));
    let ranks = start_all(&world, f).into_iter().map(end_of).collect();
    let (deadlock, calls) = world.end();
    Ended {
        ranks,
        deadlock,
        calls,
    }
}

fn start_all<T: Send>(
    world: &Arc<World>,
    f: impl Fn(LocalComm) -> T + Sync,
) -> Vec<thread::Result<T>> {
    let size = world.nodes.len();
    let members: Arc<[usize]> = (0..size).collect();
    let rank_main = |rank| {
        let _presence = Presence { world, rank };
        world.begin(rank);
        f(LocalComm {
            world: world.clone(),
            context: 0,
            members: members.clone(),
            user_ranks: None,
            rank,
            collectives: AtomicU64::new(0),
        })
    };
    let rank_main = &rank_main;
    thread::scope(|scope| {
        let start = |rank| {
            let started = thread::Builder::new().spawn_scoped(scope, move || rank_main(rank));
            started.inspect_err(|_| drop(Presence { world, rank }))
        };
        let ranks: Vec<_> = (0..size).map(start).collect();
        let ends = ranks.into_iter().map(|rank| match rank {
            Ok(started) => started.join(),
            Err(refusal) => Err(Box::new(refusal) as _),
        });
        ends.collect()
    })
}

impl LocalComm {
    fn address(&self, from: usize, to: usize, tag: Tag) -> Result<Address> {
        check_rank(from, self.size())?;
        check_rank(to, self.size())?;
        Ok(Address {
            context: self.context,
            from: self.members[from],
            to: self.members[to],
            tag,
        })
    }

    /// Sets the numbers by which the user knows the ranks: they stand for processes of a job that has ended.
    pub fn known_as(mut self, user_ranks: Arc<[usize]>) -> LocalComm {
        self.user_ranks = Some(user_ranks);
        self
    }

    /// This rank's part in the schedule of its run.
    pub fn turn(&self) -> Turn {
        Turn {
            world: self.world.clone(),
            thread: self.members[self.rank],
        }
    }

    fn take(&self, from: usize, tag: Tag) -> Result<Arc<[u8]>> {
        let address = self.address(from, self.rank, tag)?;
        self.world.take(address, self.user_rank(from))
    }

    /// Allgather of contributions of any length.
    fn exchange(&self, mine: &[u8]) -> Result<Contributions> {
        self.meet(mine, |parts| parts)
    }

    /// As [`LocalComm::exchange`], but returns what `join`, called once, makes of the contributions of all ranks.
    fn meet(
        &self,
        mine: &[u8],
        join: impl FnOnce(Vec<Arc<[u8]>>) -> Vec<Arc<[u8]>>,
    ) -> Result<Contributions> {
        let number = self.collectives.fetch_add(1, Ordering::Relaxed);
        let key = (self.context, number);
        self.world.meet(key, (&self.members, self.rank), mine, join)
    }

    fn exchange_values(&self, mine: &[u64]) -> Result<Contributions> {
        let parts = self.exchange(&to_bytes(mine))?;
        check_lengths(&parts, 8 * mine.len())?;
        Ok(parts)
    }
}

fn check_lengths(parts: &[Arc<[u8]>], expected: usize) -> Result<()> {
    let mut each = parts.iter().enumerate();
    each.try_for_each(|(from, part)| check_length(from, expected, part.len()))
}

fn to_bytes(values: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 * values.len());
    wire::put(&mut bytes, values);
    bytes
}

fn combine_all(op: Op, parts: &[Arc<[u8]>], into: &mut [u64]) {
    let [first, rest @ ..] = parts else { return };
    into.iter_mut()
        .zip(wire::numbers(first))
        .for_each(|(a, b)| *a = b);
    for part in rest {
        for (a, b) in into.iter_mut().zip(wire::numbers(part)) {
            *a = match op {
                Op::Sum => a.wrapping_add(b),
                Op::Min => b.min(*a),
                Op::Max => b.max(*a),
            };
        }
    }
}

fn combined(op: Op, parts: &[Arc<[u8]>]) -> Arc<[u8]> {
    let mut values = vec![0; parts[0].len() / 8];
    combine_all(op, parts, &mut values);
    to_bytes(&values).into()
}

/// Messages to be received; sends complete at once.
pub struct Expected<B> {
    world: Arc<World>,
    messages: Vec<(usize, Address, B)>,
}

impl<B: Buffer> Underway<B> for Expected<B> {
    fn is_done(&mut self) -> bool {
        let addresses = self.messages.iter().map(|(_, address, _)| *address);
        self.world.would_take(addresses)
    }

    fn finish(mut self) -> Result<Vec<B>> {
        std::mem::take(&mut self.messages)
            .into_iter()
            .map(|(from, address, mut bytes)| {
                let message = self.world.take(address, from)?;
                check_length(from, bytes.as_ref().len(), message.len())?;
                bytes.as_mut().copy_from_slice(&message);
                Ok(bytes)
            })
            .collect()
    }
}

impl<B> Drop for Expected<B> {
    /// An unreceived message would be taken by the next receive.
    fn drop(&mut self) {
        for (from, address, _) in self.messages.drain(..) {
            let _ = self.world.take(address, from);
        }
    }
}

impl Comm for LocalComm {
    type Underway<B: Buffer> = Expected<B>;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.members.len()
    }

    fn user_rank(&self, rank: usize) -> usize {
        let thread = self.members[rank];
        self.user_ranks
            .as_ref()
            .map_or(thread, |known| known[thread])
    }

    /// Ranks that all run on one node have no host to tell.
    fn host(&self) -> String {
        let nodes = &self.world.nodes;
        match nodes.iter().all(|node| *node == nodes[0]) {
            true => String::new(),
            false => format!("node{}", self.node()),
        }
    }

    fn node(&self) -> u64 {
        self.world.nodes[self.members[self.rank]]
    }

    fn send(&self, to: usize, tag: Tag, bytes: &[u8]) -> Result<()> {
        let address = self.address(self.rank, to, tag)?;
        self.world.post(address, bytes.into());
        Ok(())
    }

    fn recv(&self, from: usize, tag: Tag, bytes: &mut [u8]) -> Result<()> {
        let message = self.take(from, tag)?;
        check_length(self.user_rank(from), bytes.len(), message.len())?;
        bytes.copy_from_slice(&message);
        Ok(())
    }

    fn transfer(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        check_peers(self.size(), sends, recvs)?;
        for (to, bytes) in sends {
            self.send(*to, tag, bytes)?;
        }
        // After a failure the others still complete, as under MPI.
        let ended = recvs.iter_mut().map(|(from, b)| self.recv(*from, tag, b));
        ended.fold(Ok(()), Result::and)
    }

    fn start<B: Buffer>(
        &self,
        tag: Tag,
        sends: Vec<(usize, Arc<B>)>,
        recvs: Vec<(usize, B)>,
    ) -> Result<Expected<B>> {
        for (to, bytes) in &sends {
            self.send(*to, tag, (**bytes).as_ref())?;
        }
        let address = |(from, bytes)| {
            let address = self.address(from, self.rank, tag)?;
            Ok((self.user_rank(from), address, bytes))
        };
        Ok(Expected {
            world: self.world.clone(),
            messages: recvs.into_iter().map(address).collect::<Result<_>>()?,
        })
    }

    fn barrier(&self) -> Result<()> {
        self.meet(&[], |_| Vec::new()).map(drop)
    }

    fn bcast(&self, root: usize, bytes: &mut [u8]) -> Result<()> {
        check_rank(root, self.size())?;
        let mine: &[u8] = if root == self.rank { bytes } else { &[] };
        let parts = self.exchange(mine)?;
        check_length(root, bytes.len(), parts[root].len())?;
        bytes.copy_from_slice(&parts[root]);
        Ok(())
    }

    fn allreduce(&self, op: Op, values: &mut [u64]) -> Result<()> {
        let length = 8 * values.len();
        let join = |parts: Vec<Arc<[u8]>>| match check_lengths(&parts, length) {
            Ok(()) => vec![combined(op, &parts)],
            // Each rank finds the wrong length itself.
            Err(_) => parts,
        };
        let parts = self.meet(&to_bytes(values), join)?;
        check_lengths(&parts, length)?;
        combine_all(op, &parts, values);
        Ok(())
    }

    fn scan(&self, op: Op, values: &mut [u64]) -> Result<()> {
        let parts = self.exchange_values(values)?;
        combine_all(op, &parts[..=self.rank], values);
        Ok(())
    }

    fn allgather(&self, mine: &[u8], all: &mut [u8]) -> Result<()> {
        check_length(self.rank, self.size() * mine.len(), all.len())?;
        for (from, part) in self.exchange(mine)?.iter().enumerate() {
            check_length(from, mine.len(), part.len())?;
            all[from * mine.len()..][..mine.len()].copy_from_slice(part);
        }
        Ok(())
    }

    fn alltoall(&self, given: &[u64]) -> Result<Vec<u64>> {
        check_length(self.rank, 8 * self.size(), 8 * given.len())?;
        let parts = self.exchange_values(given)?;
        let own = parts.iter().map(|part| wire::numbers(part).nth(self.rank));
        Ok(own.map(|value| value.unwrap_or(0)).collect())
    }

    fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        // Every rank offers a fresh context; a new group takes that of its first rank.
        let joins = u64::from(color.is_some());
        let color_value = color.unwrap_or(0).into();
        let offer = [joins, color_value, key as u64, self.world.new_context()];
        let offers = self.exchange_values(&offer)?;
        let offers: Vec<[u64; 4]> = offers
            .iter()
            .map(|offer| {
                let mut offer = wire::numbers(offer);
                [(); 4].map(|()| offer.next().unwrap_or(0))
            })
            .collect();
        if color.is_none() {
            return Ok(None);
        }
        let same = (0..self.size()).filter(|&r| offers[r][..2] == [1, color_value]);
        let mut ranks: Vec<usize> = same.collect();
        ranks.sort_by_key(|&r| (offers[r][2] as i32, r));
        Ok(ranks.iter().position(|&r| r == self.rank).map(|rank| Self {
            world: self.world.clone(),
            context: offers[ranks[0]][3],
            members: ranks.iter().map(|&r| self.members[r]).collect(),
            user_ranks: self.user_ranks.clone(),
            rank,
            collectives: AtomicU64::new(0),
        }))
    }
}

#[cfg(test)]
mod tests;
