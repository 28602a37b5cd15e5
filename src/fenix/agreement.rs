//! What all ranks of a group decide together.

use std::collections::BTreeSet;

use super::group::Settings;
use super::snapshot::Mark;
use super::{Error, Policy, Result};
use crate::comm::{self, Comm, Op};

/// One verdict for all ranks of a collective.
pub(super) fn agree<C: Comm, T>(comm: &C, local: Result<T>) -> Result<T> {
    comm::agree(comm, local)
        .map_err(|verdict| verdict.into_error(|rank, text| Error::Peer { rank, text }))
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

/// Refuses settings that are not the same everywhere, or not what the survivors have lived with.
pub(super) fn check_settings<C: Comm>(
    comm: &C,
    settings: &Settings,
    survived: Option<&Settings>,
) -> Result<()> {
    let fields = fields(settings);
    let own = fields.map(|(_, value)| value);
    let mut extremes = [own, own.map(|value| !value)].concat();
    let lasting =
        |settings: &Settings| (settings.policy, settings.path.is_some(), settings.checksums);
    let changed = survived.is_some_and(|old| lasting(old) != lasting(settings));
    extremes.push(changed.into());
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
    if extremes.last() != Some(&0) {
        return Err(mismatch("it had another policy or other checksums before"));
    }
    if settings.first_stamp < 0 {
        return Err(Error::FirstStamp(settings.first_stamp));
    }
    settings.policy.check(comm.size())
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

/// The snapshots that all ranks have which have any past: `None` is a rank that has none. Newest first, and
/// the time stamp of the next commit if any rank knows it.
pub(super) fn common<C: Comm>(
    comm: &C,
    own: Option<(&[Mark], i32)>,
) -> Result<(Vec<Mark>, Option<i32>)> {
    let nobody = comm.size() as u64;
    let mut first = match own {
        Some((_, next)) => [comm.rank() as u64, next as u64],
        None => [nobody, u64::MAX],
    };
    comm.allreduce(Op::Min, &mut first)?;
    let [root, next] = first;
    if root == nobody {
        return Ok((Vec::new(), None));
    }
    let marks = share_marks(comm, root as usize, own.map_or(&[], |(marks, _)| marks))?;
    let own: Option<BTreeSet<Mark>> = own.map(|(own, _)| own.iter().copied().collect());
    let has = |mark: &Mark| own.as_ref().is_none_or(|own| own.contains(mark));
    let mut votes: Vec<_> = marks.iter().map(|mark| u64::from(has(mark))).collect();
    comm.allreduce(Op::Min, &mut votes)?;
    let elected = marks.into_iter().zip(votes).filter(|(_, vote)| *vote == 1);
    Ok((elected.map(|(mark, _)| mark).collect(), Some(next as i32)))
}

fn share_marks<C: Comm>(comm: &C, root: usize, own: &[Mark]) -> Result<Vec<Mark>> {
    let mut number = (own.len() as u64).to_le_bytes();
    comm.bcast(root, &mut number)?;
    let pair = |mark: &Mark| [mark.stamp as u64, mark.width as u64];
    let own: Vec<u8> = own
        .iter()
        .flat_map(pair)
        .flat_map(u64::to_le_bytes)
        .collect();
    let length = 16 * u64::from_le_bytes(number) as usize;
    let mut bytes = if comm.rank() == root {
        own
    } else {
        vec![0; length]
    };
    comm.bcast(root, &mut bytes)?;
    let marks = bytes.chunks_exact(16).map(super::share::values);
    Ok(marks
        .map(|[stamp, width]| Mark {
            stamp: stamp as i32,
            width: width as usize,
        })
        .collect())
}
