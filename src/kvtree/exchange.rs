//! Trees between ranks: one to one, one to all, and any to any.
//!
//! An exchange first tells every rank how many bytes each other rank has for it (one all-to-all of
//! counts), then moves each packed tree once, directly from its sender to its receiver. The original
//! library passes trees on in log2(N) hops, copying them each time, and every copy reverses the order of
//! the elements. That order ends up in files, so the receiver works out which order the hops would have
//! produced (`HopRoute::arrivals`) and builds its result in it.

use super::pack::{self, Order};
use super::value::{parse_rank, rank_text, signed_text};
use super::{Error, Result, TreeMut, TreeRef, agree};
use crate::comm::{self, Comm, Op, Tag};
use std::collections::BTreeMap;

const TAG: Tag = 0;
/// Up to this many bytes, ranks do not agree first that all have memory.
const SURE_TO_FIT: u64 = 1 << 20;
/// A tree of at most this many 64-bit words is broadcast in the allreduce that compares the arguments.
const SMALL: usize = 60;
const NOWHERE: Error = Error::Null("the tree to receive into");

// ---- one to one -----------------------------------------------------------------------------

pub fn send<C: Comm>(comm: &C, to: usize, tree: Option<TreeRef>) -> Result<()> {
    let bytes = pack::packed(tree)?;
    comm.send(to, TAG, &length(&bytes))?;
    Ok(comm.send(to, TAG, &bytes)?)
}

/// Replaces what `into` holds by the tree that `from` sent.
pub fn recv<C: Comm>(comm: &C, from: usize, into: TreeMut) -> Result<()> {
    let mut size = [0; 8];
    comm.recv(from, TAG, &mut size)?;
    let mut bytes = room(u64::from_le_bytes(size))?;
    comm.recv(from, TAG, &mut bytes)?;
    fill(into, &bytes)
}

/// Sends and receives at once; either side may be absent.
pub fn sendrecv<C: Comm>(
    comm: &C,
    outgoing: Option<(usize, Option<TreeRef>)>,
    incoming: Option<(usize, TreeMut)>,
) -> Result<()> {
    let out = match outgoing {
        Some((to, tree)) => Some((to, pack::packed(tree)?)),
        None => None,
    };
    let mut size = [0; 8];
    let sizes: Vec<_> = out.iter().map(|(to, b)| (*to, length(b))).collect();
    let sends: Vec<_> = sizes.iter().map(|(to, size)| (*to, &size[..])).collect();
    let from = incoming.as_ref().map(|(from, _)| *from);
    let mut recvs: Vec<_> = from.map(|from| (from, &mut size[..])).into_iter().collect();
    comm.transfer(TAG, &sends, &mut recvs)?;

    let mut bytes = match from {
        Some(_) => room(u64::from_le_bytes(size))?,
        None => Vec::new(),
    };
    let sends: Vec<_> = out.iter().map(|(to, b)| (*to, &b[..])).collect();
    let mut recvs: Vec<_> = from
        .map(|from| (from, &mut bytes[..]))
        .into_iter()
        .collect();
    comm.transfer(TAG, &sends, &mut recvs)?;
    match incoming {
        Some((_, into)) => fill(into, &bytes),
        None => Ok(()),
    }
}

/// Replaces what `tree` holds on all other ranks by the tree of `root`. Fails on all ranks if their roots differ or one is
/// out of range.
pub fn bcast<C: Comm>(comm: &C, root: i64, tree: Option<TreeMut>) -> Result<()> {
    let is_root = root == comm.rank() as i64;
    let packed = check_root(comm, root).and_then(|()| match is_root {
        true => pack::packed(tree.as_ref().map(|t| t.view())),
        false if tree.is_none() => Err(NOWHERE),
        false => Ok(Vec::new()),
    });
    // One allreduce carries the root's size, whether any rank has failed, whether roots differ, and a small tree, which is
    // ignored after a failure.
    let own = packed.as_ref().map_or(&[][..], Vec::as_slice);
    let number = root as u64;
    let mut shared = [0; 4 + SMALL];
    let (numbers, words) = shared.split_at_mut(4);
    numbers.copy_from_slice(&[
        u64::from(packed.is_err()),
        own.len() as u64,
        number,
        !number,
    ]);
    into_words(own, words);
    comm.allreduce(Op::Max, &mut shared)?;
    let [failed, size, most, least, ref words @ ..] = shared;
    let packed = match failed {
        0 if most == !least => packed?,
        0 => return Err(Error::Roots),
        _ => agree(comm, packed)?,
    };
    let large = match size > 8 * SMALL as u64 {
        true => Some(bcast_large(comm, number as usize, size, packed)?),
        false => None,
    };
    match (tree, large) {
        (Some(tree), Some(bytes)) if !is_root => fill(tree, &bytes),
        (Some(tree), None) if !is_root => fill(tree, &from_words(words)[..size as usize]),
        _ => Ok(()),
    }
}

/// Leaves `words` as they are if there are more `bytes` than fit.
fn into_words(bytes: &[u8], words: &mut [u64]) {
    if bytes.len() > 8 * words.len() {
        return;
    }
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
}

fn from_words(words: &[u64; SMALL]) -> [u8; 8 * SMALL] {
    let mut bytes = [0; 8 * SMALL];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The `size` bytes that the root has `packed`.
fn bcast_large<C: Comm>(comm: &C, root: usize, size: u64, packed: Vec<u8>) -> Result<Vec<u8>> {
    let space = match comm.rank() == root {
        true => Ok(packed),
        false => room(size),
    };
    let mut bytes = match size > SURE_TO_FIT {
        true => agree(comm, space)?,
        false => space?,
    };
    comm.bcast(root, &mut bytes)?;
    Ok(bytes)
}

fn check_root<C: Comm>(comm: &C, root: i64) -> Result<()> {
    let size = comm.size();
    match (0..size as i64).contains(&root) {
        true => Ok(()),
        false => Err(comm::Error::NoSuchRank { rank: root, size }.into()),
    }
}

fn length(bytes: &[u8]) -> [u8; 8] {
    (bytes.len() as u64).to_le_bytes()
}

fn room(size: u64) -> Result<Vec<u8>> {
    let size = usize::try_from(size).map_err(|_| Error::NoMemory(usize::MAX))?;
    let mut bytes = pack::room_for(size)?;
    bytes.resize(size, 0);
    Ok(bytes)
}

fn fill(mut into: TreeMut, bytes: &[u8]) -> Result<()> {
    into.clear();
    pack::unpack_into(bytes, into, Order::Reversed)?;
    Ok(())
}

// ---- any to any -----------------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Right,
    Left,
}

/// Queues a message: copies `message` below the key of its destination.
pub fn enqueue(queue: &mut TreeMut, to: i32, message: Option<TreeRef>) -> Result<()> {
    let mut slot = queue.child(&signed_text(to.into()));
    message.map_or(Ok(()), |message| slot.merge(message))
}

/// Sends what stands below each rank's key in `outgoing` to that rank; `incoming` then holds, merged
/// into what it held, below the key of each sender what that rank sent. All travel one way.
pub fn exchange_direction<C: Comm>(
    comm: &C,
    outgoing: Option<TreeRef>,
    incoming: Option<TreeMut>,
    direction: Direction,
) -> Result<()> {
    let messages = Messages::of(outgoing, comm.size());
    let incoming = incoming.ok_or(NOWHERE);
    let given = incoming.and_then(|incoming| Ok((messages?, incoming)));
    let (arrived, mut incoming) = transfer(comm, given)?;
    let route = HopRoute::of(comm, direction);
    arrived.merge_all(&route, 1, |_| true, &mut incoming)
}

/// As [`exchange_direction`] for messages that are packed already. Every rank knows which ones it will
/// receive and has made room for them, so nothing is announced and nothing can fail on one rank alone.
pub(super) fn deliver<C: Comm>(
    comm: &C,
    outgoing: &[(usize, &[u8])],
    mut arrived: Arrived,
    incoming: &mut TreeMut,
    direction: Direction,
) -> Result<()> {
    arrived.receive(comm, outgoing)?;
    let route = HopRoute::of(comm, direction);
    arrived.merge_all(&route, 2, |_| true, incoming)
}

/// As [`exchange_direction`] for packed messages; one rank's failure to make them is the failure of all.
pub(super) fn exchange_packed<C: Comm>(
    comm: &C,
    outgoing: Result<Vec<(usize, Vec<u8>)>>,
    incoming: &mut TreeMut,
    direction: Direction,
) -> Result<()> {
    let given = outgoing.map(|outgoing| (Messages { outgoing }, ()));
    let (arrived, ()) = transfer(comm, given)?;
    arrived.merge_all(&HopRoute::of(comm, direction), 1, |_| true, incoming)
}

/// As [`exchange_direction`], each message in the direction that takes fewer hops.
pub fn exchange<C: Comm>(
    comm: &C,
    outgoing: Option<TreeRef>,
    incoming: Option<TreeMut>,
) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let messages = Messages::of(outgoing, size);
    let incoming = incoming.ok_or(NOWHERE);
    let given = incoming.and_then(|incoming| Ok((messages?, incoming)));
    let (arrived, mut incoming) = transfer(comm, given)?;
    for direction in [Direction::Left, Direction::Right] {
        let route = HopRoute::of(comm, direction);
        let goes_here = |from| shorter_way(from, rank, size) == direction;
        arrived.merge_all(&route, 2, goes_here, &mut incoming)?;
    }
    Ok(())
}

/// The rank that a key names.
pub(super) fn destination(key: &[u8], size: usize) -> Result<usize> {
    let rank = parse_rank(key).filter(|&rank| rank < size);
    rank.ok_or_else(|| Error::Destination {
        key: String::from_utf8_lossy(key).into_owned(),
        size,
    })
}

/// The packed messages of one rank.
struct Messages {
    outgoing: Vec<(usize, Vec<u8>)>,
}

impl Messages {
    fn of(outgoing: Option<TreeRef>, size: usize) -> Result<Messages> {
        let mut packed: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for elem in outgoing.iter().flat_map(|t| t.iter()) {
            let rank = destination(elem.key_bytes(), size)?;
            let message = match packed.remove(&rank) {
                None => pack::packed(elem.tree())?,
                Some(earlier) => joined(&earlier, elem.tree())?,
            };
            packed.insert(rank, message);
        }
        let outgoing = packed.into_iter().collect();
        Ok(Messages { outgoing })
    }

    /// How many bytes there are for each rank.
    fn sizes(&self, size: usize) -> Vec<u64> {
        let mut sizes = vec![0; size];
        for (to, bytes) in &self.outgoing {
            sizes[*to] = bytes.len() as u64;
        }
        sizes
    }
}

/// Sent instead of a size by a rank that cannot take part.
const FAILED: u64 = u64::MAX;

/// Moves every message to its receiver, or fails on all ranks if one of them cannot take part.
fn transfer<C: Comm, T>(comm: &C, given: Result<(Messages, T)>) -> Result<(Arrived, T)> {
    let size = comm.size();
    let sizes = match &given {
        Ok((messages, _)) => messages.sizes(size),
        Err(_) => vec![FAILED; size],
    };
    let sizes = comm.alltoall(&sizes)?;
    let (messages, rest) = match sizes.contains(&FAILED) {
        true => agree(comm, given)?,
        false => given?,
    };
    let announced = sizes.into_iter().enumerate().filter(|(_, size)| *size > 0);
    let mut arrived = agree(comm, Arrived::expected(announced))?;
    let sends = messages.outgoing.iter().map(|(to, b)| (*to, &b[..]));
    arrived.receive(comm, &sends.collect::<Vec<_>>())?;
    Ok((arrived, rest))
}

/// Two messages to one rank, as when a rank is written `1` and `01`.
fn joined(earlier: &[u8], tree: Option<TreeRef>) -> Result<Vec<u8>> {
    let (mut both, _) = pack::unpack(earlier, Order::AsPacked)?;
    if let Some(tree) = tree {
        both.edit().merge(tree)?;
    }
    pack::packed(Some(both.view()))
}

/// Packed messages at their receiver, by sender.
pub(super) struct Arrived {
    incoming: BTreeMap<usize, Vec<u8>>,
}

impl Arrived {
    /// Buffers for messages of these senders and sizes.
    pub(super) fn expected(messages: impl Iterator<Item = (usize, u64)>) -> Result<Arrived> {
        let incoming: Result<_> = messages.map(|(from, n)| Ok((from, room(n)?))).collect();
        incoming.map(|incoming| Arrived { incoming })
    }

    fn receive<C: Comm>(&mut self, comm: &C, sends: &[(usize, &[u8])]) -> Result<()> {
        let recvs = self.incoming.iter_mut();
        let mut recvs: Vec<_> = recvs.map(|(from, b)| (*from, &mut b[..])).collect();
        Ok(comm.transfer(TAG, sends, &mut recvs)?)
    }

    /// Merges the messages of the senders that `goes_here` below their senders' keys, giving the
    /// result of the hops. `copies` is how often they were copied before the first hop.
    fn merge_all(
        &self,
        route: &HopRoute,
        copies: u32,
        goes_here: impl Fn(usize) -> bool,
        incoming: &mut TreeMut,
    ) -> Result<()> {
        let senders = self.incoming.keys().copied().filter(|&r| goes_here(r));
        for (from, hops) in route.arrivals(senders) {
            // Each copy reverses the order; the merge itself is the last one.
            let order = match (copies + hops + 1) % 2 {
                0 => Order::AsPacked,
                _ => Order::Reversed,
            };
            let place = incoming.child(&rank_text(from));
            pack::merge_into(&self.incoming[&from], place, order)?;
        }
        Ok(())
    }
}

fn distance(from: usize, to: usize, size: usize, direction: Direction) -> usize {
    match direction {
        Direction::Right => (to + size - from) % size,
        Direction::Left => (from + size - to) % size,
    }
}

fn shorter_way(from: usize, to: usize, size: usize) -> Direction {
    let hops = |direction| distance(from, to, size, direction).count_ones();
    if hops(Direction::Left) < hops(Direction::Right) {
        Direction::Left
    } else {
        Direction::Right
    }
}

/// The way of messages to one rank when they travel in hops: in round `i` every rank passes on what
/// still has to go a distance in which bit `i` is set, to the rank 2^i further.
struct HopRoute {
    direction: Direction,
    rounds: u32,
    rank: usize,
    size: usize,
}

impl HopRoute {
    fn of<C: Comm>(comm: &C, direction: Direction) -> HopRoute {
        HopRoute {
            direction,
            rounds: usize::BITS - (comm.size() - 1).leading_zeros(),
            rank: comm.rank(),
            size: comm.size(),
        }
    }

    /// The senders in the order in which the receiver's result takes them up, and how many times
    /// each message was copied, hence reversed, on its way.
    fn arrivals(&self, senders: impl Iterator<Item = usize>) -> Vec<(usize, u32)> {
        // By distance still to go: the senders whose messages are there, first one first.
        let mut held: BTreeMap<usize, Vec<usize>> = senders
            .map(|s| (distance(s, self.rank, self.size, self.direction), vec![s]))
            .collect();
        let mut arrived = Vec::new();
        for round in 0..self.rounds {
            let here = held.remove(&0).unwrap_or_default();
            arrived.extend(here.into_iter().map(|s| (s, round)));
            held = self.pass_on(held, 1 << round);
        }
        let here = held.remove(&0).unwrap_or_default();
        arrived.extend(here.into_iter().map(|s| (s, self.rounds)));
        arrived
    }

    /// One round: what is kept is copied, and so reversed; what comes in is put before it, reversed.
    fn pass_on(
        &self,
        held: BTreeMap<usize, Vec<usize>>,
        bit: usize,
    ) -> BTreeMap<usize, Vec<usize>> {
        let (moving, mut kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
            held.into_iter().partition(|(left, _)| left & bit != 0);
        kept.values_mut().for_each(|s| s.reverse());
        for (left, mut senders) in moving {
            senders.reverse();
            let place: &mut Vec<usize> = kept.entry(left - bit).or_default();
            senders.append(place);
            *place = senders;
        }
        kept
    }
}

#[cfg(test)]
mod tests;
