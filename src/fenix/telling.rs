//! What the ranks of a set tell each other about a member before one of them is given back what it has lost.

use std::collections::BTreeSet;

use super::share::{Description, message, take_values, values};
use super::snapshot::{Entry, Snapshot, decode_shares, encode_shares};
use super::{Error, Result};
use crate::comm::{Comm, Tag, transfer_unsized};
use crate::protect::Channel;

const SHARES: Tag = 2;

/// What a rank has of a member in one snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// With a number that tells different shares apart.
    Has(u32),
    /// The member was not stored.
    Nothing,
    Lost,
}

impl State {
    /// Of an entry that the checksums do not confirm nothing is trusted.
    fn of(snapshot: &Snapshot, member: i32) -> State {
        match snapshot.sound_entries(member) {
            Some([]) => State::Nothing,
            Some(entries) => State::Has(crc32fast::hash(&encode_shares(entries))),
            None => State::Lost,
        }
    }

    fn encode(self) -> u64 {
        match self {
            State::Has(number) => number.into(),
            State::Nothing => u64::MAX - 1,
            State::Lost => u64::MAX,
        }
    }

    fn decode(value: u64) -> State {
        match u32::try_from(value) {
            Ok(number) => State::Has(number),
            Err(_) if value == State::Nothing.encode() => State::Nothing,
            Err(_) => State::Lost,
        }
    }
}

/// For each snapshot the states of all ranks of the set.
///
/// # Collective
/// Called by all ranks of the set.
pub(super) fn states<C: Comm>(
    channel: &Channel<'_, C>,
    member: i32,
    snapshots: &[(usize, &Snapshot)],
) -> Result<Vec<Vec<State>>> {
    let own = snapshots.iter().map(|(_, s)| State::of(s, member).encode());
    let own = message(&own.collect::<Vec<_>>());
    let length = own.len();
    let all = channel.exchange(own, |_| length)?.finish()?;
    let state = |bytes: &[u8], index: usize| {
        let [state] = values(bytes.get(8 * index..).unwrap_or(&[]))?;
        Ok(State::decode(state))
    };
    let of_one = |index| all.iter().map(|bytes| state(bytes, index)).collect();
    (0..snapshots.len()).map(of_one).collect()
}

/// Those that have lost it.
pub(super) fn lost_positions(states: &[State]) -> Vec<usize> {
    let all = 0..states.len();
    all.filter(|position| states[*position] == State::Lost)
        .collect()
}

/// Whether those that have not lost it have stored the same.
pub(super) fn had_alike(states: &[State]) -> bool {
    let mut had = states.iter().filter(|state| **state != State::Lost);
    let first = had.next();
    had.all(|state| Some(state) == first)
}

/// What a rank must know to get a member back.
#[derive(Default)]
pub(super) struct Told {
    /// Of each entry, by position.
    pub(super) shares: Vec<Vec<Description>>,
    /// All members of the snapshot, on a rank that lost it: the others it need not miss.
    pub(super) stored: Option<BTreeSet<i32>>,
}

/// Tells the ranks that lost `snapshot` what they need. The inner error is one of this rank alone.
///
/// # Collective
/// Called by all ranks of the set.
pub(super) fn tell<C: Comm>(
    channel: &Channel<'_, C>,
    lost: &[usize],
    snapshot: &Snapshot,
    entries: &[Entry],
) -> Result<Result<Told>> {
    let (comm, set) = (channel.comm, channel.set);
    let mut survivors = (0..set.size()).filter(|position| !lost.contains(position));
    let teller = survivors.next();
    let teller = teller.ok_or(Error::Invariant("no rank is left to tell what was stored"))?;
    if lost.contains(&set.mine()) {
        let teller = set.rank(teller);
        let told = transfer_unsized(comm, SHARES, &[], &[teller])?;
        let malformed = || Error::Peer {
            rank: teller,
            text: "it sent no valid shares".into(),
        };
        return Ok(decode(&told[0], set.size()).ok_or_else(malformed));
    }
    if set.mine() == teller {
        let mut bytes = encode_shares(entries);
        bytes.extend(encode_stored(snapshot.stored()));
        let sends = lost.iter().map(|lost| (set.rank(*lost), &bytes[..]));
        transfer_unsized(comm, SHARES, &sends.collect::<Vec<_>>(), &[])?;
    }
    let shares = entries.iter().map(|entry| entry.shares.clone());
    Ok(Ok(Told {
        shares: shares.collect(),
        stored: None,
    }))
}

/// How many, and which; nothing if the rank does not know itself.
fn encode_stored(stored: Option<BTreeSet<i32>>) -> Vec<u8> {
    let Some(stored) = stored else {
        return Vec::new();
    };
    let members = stored.iter().map(|member| *member as u32 as u64);
    let numbers: Vec<_> = [stored.len() as u64].into_iter().chain(members).collect();
    message(&numbers)
}

fn decode(mut bytes: &[u8], size: usize) -> Option<Told> {
    let shares = decode_shares(&mut bytes, size)?;
    let mut stored = None;
    if !bytes.is_empty() {
        let [count] = take_values(&mut bytes)?;
        let member = |_| take_values(&mut bytes).map(|[member]| member as u32 as i32);
        stored = Some((0..count).map(member).collect::<Option<_>>()?);
    }
    Some(Told { shares, stored })
}
