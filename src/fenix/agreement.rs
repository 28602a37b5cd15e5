//! What all ranks of a group decide together.

use std::collections::BTreeSet;

use super::group::Settings;
use super::snapshot::SnapshotMark;
use super::{Error, Policy, Result};
pub(super) use crate::comm::agree;
use crate::comm::{Comm, FromPeer, Op, PeerFailure};
use crate::wire::{bcast_u64, put};

impl FromPeer for Error {
    fn as_peer(&self) -> Option<&PeerFailure> {
        match self {
            Error::Peer(failure) => Some(failure),
            _ => None,
        }
    }
}

/// As [`agree`]; if ranks failed only for lack of data, all ranks return [`Error::NoData`].
pub(super) fn agree_on_data<C: Comm, T>(comm: &C, local: Result<T>) -> Result<T> {
    let verdict = match agree(comm, local) {
        Err(error) if !matches!(error, Error::Comm(_)) => error,
        done => return done,
    };
    let mut failed_otherwise = [u64::from(!matches!(
        &verdict,
        Error::NoData(_) | Error::Peer(_)
    ))];
    comm.allreduce(Op::Max, &mut failed_otherwise)?;
    Err(match verdict {
        Error::Peer(PeerFailure { who, text }) if failed_otherwise == [0] => {
            let nothing = Error::NoData(String::new()).to_string();
            let cause = text.strip_prefix(&nothing).unwrap_or(&text);
            Error::NoData(format!("{who}: {cause}"))
        }
        error => error,
    })
}

/// Refuses settings that differ between ranks, or from those of the survivors, and returns the policy to use. `survived`
/// has the settings that this rank had for the group, and the number of ranks at that time.
///
/// A group with as many ranks as before must keep its policy, because shares lie where the policy put them. If the number
/// of ranks has changed, nothing that was stored is protected any more: then the policy may change, and is fitted to the
/// number of ranks.
pub(super) fn check_settings<C: Comm>(
    comm: &C,
    settings: &Settings,
    survived: Option<(&Settings, usize)>,
) -> Result<Policy> {
    let fields = fields(settings);
    let own = fields.map(|(_, value)| value);
    let mut extremes = [own, own.map(|value| !value)].concat();
    let lasting =
        |settings: &Settings| (settings.policy, settings.path.is_some(), settings.checksums);
    let same_size = survived.filter(|(_, ranks)| *ranks == comm.size());
    let changed = same_size.is_some_and(|(old, _)| lasting(old) != lasting(settings));
    extremes.extend([changed, survived.is_some()].map(u64::from));
    comm.allreduce(Op::Max, &mut extremes)?;
    let mismatch = |what: &str| Error::Mismatch {
        group: settings.id,
        what: what.into(),
    };
    for (index, (what, _)) in fields.iter().enumerate() {
        if extremes[index] != !extremes[index + fields.len()] {
            return Err(mismatch(&format!("{what} is not the same everywhere")));
        }
    }
    let [changed, existed] = [2 * fields.len(), 2 * fields.len() + 1].map(|at| extremes[at] != 0);
    if changed {
        return Err(mismatch("it had another policy or other checksums before"));
    }
    if settings.first_stamp < 0 {
        return Err(Error::FirstStamp(settings.first_stamp));
    }
    let policy = match existed {
        true => settings.policy.fitted(comm.size()),
        false => settings.policy,
    };
    policy.check(comm.size()).map(|()| policy)
}

fn fields(settings: &Settings) -> [(&'static str, u64); 9] {
    let [mode, separation, set_size, k] = settings.policy.numbers();
    [
        ("its number", settings.id as u64),
        ("the first time stamp", settings.first_stamp as u64),
        ("the depth", settings.depth.map_or(u64::MAX, u64::from)),
        ("the mode of redundancy", mode.into()),
        ("the rank separation", separation.into()),
        ("the size of a set", set_size.into()),
        ("the number of losses to survive", k.into()),
        (
            "placement by failure domains",
            settings.path.is_some().into(),
        ),
        ("the use of checksums", settings.checksums.into()),
    ]
}

/// What a survivor knows of a group.
#[derive(Clone, Copy)]
pub(super) struct Past<'a> {
    pub(super) marks: &'a [SnapshotMark],
    pub(super) next: i32,
    pub(super) generation: u64,
}

/// What all ranks have of a group.
pub(super) struct Common {
    /// Newest first.
    pub(super) marks: Vec<SnapshotMark>,
    /// The time stamp of the next commit, if any rank knows it.
    pub(super) next: Option<i32>,
    /// Higher than that of any snapshot of any rank.
    pub(super) generation: u64,
}

/// The snapshots that every survivor has.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(super) fn common<C: Comm>(comm: &C, own: Option<Past<'_>>) -> Result<Common> {
    let nobody = comm.size() as u64;
    // The complement turns the maximum of the generations into a minimum.
    let mut first = match own {
        Some(past) => [comm.rank() as u64, past.next as u64, !past.generation],
        None => [nobody, u64::MAX, u64::MAX],
    };
    comm.allreduce(Op::Min, &mut first)?;
    let [root, next, generation] = first;
    let generation = !generation + 1;
    if root == nobody {
        return Ok(Common {
            marks: Vec::new(),
            next: None,
            generation,
        });
    }
    let marks = share_marks(comm, root as usize, own.map_or(&[], |past| past.marks))?;
    let own: Option<BTreeSet<SnapshotMark>> = own.map(|past| past.marks.iter().copied().collect());
    let has = |mark: &SnapshotMark| own.as_ref().is_none_or(|own| own.contains(mark));
    let mut votes: Vec<_> = marks.iter().map(|mark| u64::from(has(mark))).collect();
    comm.allreduce(Op::Min, &mut votes)?;
    let elected = marks.into_iter().zip(votes).filter(|(_, vote)| *vote == 1);
    Ok(Common {
        marks: elected.map(|(mark, _)| mark).collect(),
        next: Some(next as i32),
        generation,
    })
}

/// Bytes of a mark in a message.
const MARK: usize = 3 * size_of::<u64>();

fn share_marks<C: Comm>(comm: &C, root: usize, own: &[SnapshotMark]) -> Result<Vec<SnapshotMark>> {
    let count = bcast_u64(comm, root, own.len() as u64)?;
    let mut bytes = Vec::new();
    for mark in own {
        let numbers = [mark.stamp as u64, mark.width as u64, mark.generation];
        put(&mut bytes, &numbers);
    }
    bytes.resize(MARK * count as usize, 0);
    comm.bcast(root, &mut bytes)?;
    let mark = |bytes| {
        let [stamp, width, generation] = super::share::values(bytes)?;
        Ok(SnapshotMark {
            stamp: stamp as i32,
            width: width as usize,
            generation,
        })
    };
    bytes.chunks(MARK).map(mark).collect()
}
