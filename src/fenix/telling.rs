//! What the ranks of a set tell each other about a member before a repair.

use std::collections::BTreeSet;

use super::share::{Share, message, values};
use super::snapshot::{Entry, Snapshot, decode_shares, encode_shares};
use super::{Error, Result};
use crate::comm::{Comm, PeerFailure, Tag, transfer_unsized};
use crate::protect::Channel;
use crate::wire::take;

const SHARES: Tag = 2;

/// What a rank has of a member in one snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    /// With a hash of the shares.
    Has(u32),
    /// The member was not stored.
    Nothing,
    Lost,
}

impl Holding {
    /// An entry that does not match its checksum counts as lost, its redundancy too.
    fn of(snapshot: &Snapshot, member: i32) -> Holding {
        match snapshot.sound_entries(member) {
            Some([]) => Holding::Nothing,
            Some(entries) => Holding::Has(crc32fast::hash(&encode_shares(entries))),
            None => Holding::Lost,
        }
    }

    fn encode(self) -> u64 {
        match self {
            Holding::Has(number) => number.into(),
            Holding::Nothing => u64::MAX - 1,
            Holding::Lost => u64::MAX,
        }
    }

    fn decode(value: u64) -> Holding {
        match u32::try_from(value) {
            Ok(number) => Holding::Has(number),
            Err(_) if value == Holding::Nothing.encode() => Holding::Nothing,
            Err(_) => Holding::Lost,
        }
    }
}

/// For each snapshot, what the ranks of the set have of it.
///
/// # Collective
/// Called by all ranks of the set.
pub(super) fn states<C: Comm>(
    channel: &Channel<'_, C>,
    member: i32,
    snapshots: &[(usize, &Snapshot)],
) -> Result<Vec<Vec<Holding>>> {
    let own = snapshots
        .iter()
        .map(|(_, s)| Holding::of(s, member).encode());
    let own = message(&own.collect::<Vec<_>>());
    let length = own.len();
    let all = channel.exchange(own, |_| length)?.finish()?;
    let state = |bytes: &[u8], index: usize| {
        let [state] = values(bytes.get(8 * index..).unwrap_or(&[]))?;
        Ok(Holding::decode(state))
    };
    let of_one = |index| all.iter().map(|bytes| state(bytes, index)).collect();
    (0..snapshots.len()).map(of_one).collect()
}

/// The positions of ranks that have lost it.
pub(super) fn lost_positions(states: &[Holding]) -> Vec<usize> {
    let all = 0..states.len();
    all.filter(|position| states[*position] == Holding::Lost)
        .collect()
}

/// Whether all others have the same shares.
pub(super) fn had_alike(states: &[Holding]) -> bool {
    let mut had = states.iter().filter(|state| **state != Holding::Lost);
    let first = had.next();
    had.all(|state| Some(state) == first)
}

/// What a rank must know to get a member back.
#[derive(Default)]
pub(super) struct ToldShares {
    /// Of each entry, by position.
    pub(super) shares: Vec<Vec<Share>>,
    /// On a rank that lost the snapshot: all members of it, if the teller knows them.
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
) -> Result<Result<ToldShares>> {
    let (comm, set) = (channel.comm, channel.set);
    let mut survivors = (0..set.size()).filter(|position| !lost.contains(position));
    let teller = survivors.next();
    let teller = teller.ok_or(Error::Invariant("no rank is left to tell what was stored"))?;
    if lost.contains(&set.mine()) {
        let told = transfer_unsized(comm, SHARES, &[], &[set.rank(teller)])?;
        let malformed = || {
            Error::Peer(PeerFailure {
                who: channel.name(teller),
                text: "it sent no valid shares".into(),
            })
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
    Ok(Ok(ToldShares {
        shares: shares.collect(),
        stored: None,
    }))
}

/// Their number, and which; nothing if the rank does not know them.
fn encode_stored(stored: Option<BTreeSet<i32>>) -> Vec<u8> {
    let Some(stored) = stored else {
        return Vec::new();
    };
    let members = stored.iter().map(|member| *member as u32 as u64);
    let numbers: Vec<_> = [stored.len() as u64].into_iter().chain(members).collect();
    message(&numbers)
}

fn decode(mut bytes: &[u8], size: usize) -> Option<ToldShares> {
    let shares = decode_shares(&mut bytes, size)?;
    let mut stored = None;
    if !bytes.is_empty() {
        let [count] = take(&mut bytes)?;
        let member = |_| take(&mut bytes).map(|[member]| member as u32 as i32);
        stored = Some((0..count).map(member).collect::<Option<_>>()?);
    }
    Some(ToldShares { shares, stored })
}
