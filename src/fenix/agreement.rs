//! What all ranks of a group decide together.

use std::collections::BTreeSet;

use super::group::Settings;
use super::snapshot::Mark;
use super::{Error, Policy, Result};
pub(super) use crate::comm::agree;
use crate::comm::{Comm, FromPeer, Op};

impl FromPeer for Error {
    fn from_peer(rank: usize, text: String) -> Error {
        Error::Peer { rank, text }
    }
}

/// As [`agree`]; if some ranks lack data and nothing else has failed, all ranks lack data.
pub(super) fn agree_on_data<C: Comm, T>(comm: &C, local: Result<T>) -> Result<T> {
    let verdict = match agree(comm, local) {
        Err(error) if !matches!(error, Error::Comm(_)) => error,
        done => return done,
    };
    let mut failed_otherwise = [u64::from(!matches!(
        &verdict,
        Error::NoData(_) | Error::Peer { .. }
    ))];
    comm.allreduce(Op::Max, &mut failed_otherwise)?;
    Err(match verdict {
        Error::Peer { text, rank } if failed_otherwise == [0] => {
            let nothing = Error::NoData(String::new()).to_string();
            let cause = text.strip_prefix(&nothing).unwrap_or(&text);
            Error::NoData(format!("rank {rank}: {cause}"))
        }
        error => error,
    })
}

/// Refuses settings that are not the same everywhere, or not what the survivors have lived with, and returns the
/// policy that they come to. `survived` is what this rank had of the group, and how many ranks it had then.
///
/// What a group of as many ranks has stored lies where its policy said, so that cannot change. Where the number of
/// ranks has changed, nothing that was stored is protected any more: then the group may be protected in
/// another way, and is protected as well as so many ranks can.
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

fn fields(settings: &Settings) -> [(&'static str, u64); 8] {
    let (mode, separation, set_size) = match settings.policy {
        Policy::Copy { separation } => (1, separation, 0),
        Policy::Parity {
            separation,
            set_size,
        } => (5, separation, set_size),
    };
    [
        ("its number", settings.id as u64),
        ("the first time stamp", settings.first_stamp as u64),
        ("the depth", settings.depth.map_or(u64::MAX, u64::from)),
        ("the mode of redundancy", mode),
        ("the rank separation", separation.into()),
        ("the size of a set", set_size.into()),
        (
            "placement by failure domains",
            settings.path.is_some().into(),
        ),
        ("the use of checksums", settings.checksums.into()),
    ]
}

/// What a rank knows of a group from before.
#[derive(Clone, Copy)]
pub(super) struct Past<'a> {
    pub(super) marks: &'a [Mark],
    pub(super) next: i32,
    pub(super) generation: u64,
}

/// What all ranks have of a group.
pub(super) struct Common {
    /// Newest first.
    pub(super) marks: Vec<Mark>,
    /// The time stamp of the next commit, if any rank knows it.
    pub(super) next: Option<i32>,
    /// One that no snapshot of any rank has.
    pub(super) generation: u64,
}

/// The snapshots that are held by every rank that has a past.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(super) fn common<C: Comm>(comm: &C, own: Option<Past<'_>>) -> Result<Common> {
    let nobody = comm.size() as u64;
    // The highest generation is the lowest complement.
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
    let own: Option<BTreeSet<Mark>> = own.map(|past| past.marks.iter().copied().collect());
    let has = |mark: &Mark| own.as_ref().is_none_or(|own| own.contains(mark));
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

fn share_marks<C: Comm>(comm: &C, root: usize, own: &[Mark]) -> Result<Vec<Mark>> {
    let mut number = (own.len() as u64).to_le_bytes();
    comm.bcast(root, &mut number)?;
    let numbers = |mark: &Mark| [mark.stamp as u64, mark.width as u64, mark.generation];
    let own: Vec<u8> = own
        .iter()
        .flat_map(numbers)
        .flat_map(u64::to_le_bytes)
        .collect();
    let length = MARK * u64::from_le_bytes(number) as usize;
    let mut bytes = if comm.rank() == root {
        own
    } else {
        vec![0; length]
    };
    comm.bcast(root, &mut bytes)?;
    let mark = |bytes| {
        let [stamp, width, generation] = super::share::values(bytes)?;
        Ok(Mark {
            stamp: stamp as i32,
            width: width as usize,
            generation,
        })
    };
    bytes.chunks(MARK).map(mark).collect()
}
