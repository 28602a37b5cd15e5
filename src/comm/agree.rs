//! Agreement: one rank's failure becomes every rank's verdict.
//!
//! The rank that failed tells its text, and how the user knows it: by its number in the user's communicator, and its
//! host. One that has only heard of a failure, in a part of the communicator, passes that on as it is.

use super::{Comm, Error, Op, RankName};
use crate::{reserve, wire};

/// The failure of another rank of a collective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{who} failed: {text}")]
pub struct PeerFailure {
    pub who: RankName,
    /// That rank's own description.
    pub text: String,
}

impl PeerFailure {
    /// This rank's own failure, for others.
    pub fn of<C: Comm>(comm: &C, text: String) -> PeerFailure {
        let who = RankName {
            rank: comm.user_rank(comm.rank()),
            host: comm.host(),
        };
        PeerFailure { who, text }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire::put(
            &mut bytes,
            &[self.who.rank as u64, self.who.host.len() as u64],
        );
        bytes.extend_from_slice(self.who.host.as_bytes());
        bytes.extend_from_slice(self.text.as_bytes());
        bytes.truncate(MAX_MESSAGE);
        bytes
    }

    fn decode(mut bytes: &[u8]) -> PeerFailure {
        let [rank, length] = wire::take(&mut bytes).unwrap_or([0, 0]);
        let (host, text) = bytes.split_at(bytes.len().min(length as usize));
        let text_of = |bytes| String::from_utf8_lossy(bytes).into_owned();
        PeerFailure {
            who: RankName {
                rank: rank as usize,
                host: text_of(host),
            },
            text: text_of(text),
        }
    }
}

/// An error that can report the failure of another rank.
pub trait FromPeer: From<Error> + From<PeerFailure> + std::fmt::Display {
    /// The failure of another rank, if it reports one.
    fn as_peer(&self) -> Option<&PeerFailure>;
}

/// Turns the local results of all ranks into one verdict: `Ok` everywhere or `Err` everywhere.
///
/// A rank that failed keeps its own error; the others learn the text of the lowest rank that failed. A rank that runs out
/// of memory counts as failed: here all ranks learn of it while it can still take part.
///
/// # Collective
/// Called by all ranks of `comm`.
pub fn agree<C: Comm, T, E: FromPeer>(comm: &C, local: Result<T, E>) -> Result<T, E> {
    let short = local.is_ok() && reserve::is_short();
    let Some(rank) = first_failed(comm, local.is_err() || short)? else {
        return local;
    };
    let told = share_failure(comm, rank, || match &local {
        Err(error) => match error.as_peer() {
            Some(heard) => heard.clone(),
            None => PeerFailure::of(comm, error.to_string()),
        },
        Ok(_) => PeerFailure::of(comm, reserve::SHORT.into()),
    })?;
    local.and_then(|_| Err(told.into()))
}

fn first_failed<C: Comm>(comm: &C, failed: bool) -> super::Result<Option<usize>> {
    let none = comm.size() as u64;
    let mut lowest = [if failed { comm.rank() as u64 } else { none }];
    comm.allreduce(Op::Min, &mut lowest)?;
    Ok((lowest[0] < none).then_some(lowest[0] as usize))
}

/// Whether all ranks pass the same numbers.
///
/// # Collective
/// Called by all ranks of `comm` with as many numbers.
pub fn is_same<C: Comm>(comm: &C, numbers: &[u64]) -> super::Result<bool> {
    let complements = numbers.iter().map(|number| !number);
    let mut most: Vec<_> = numbers.iter().copied().chain(complements).collect();
    comm.allreduce(Op::Max, &mut most)?;
    let (most, least) = most.split_at(numbers.len());
    Ok(most.iter().zip(least).all(|(most, least)| *most == !least))
}

/// Longer messages are cut off, in bytes: short enough for the memory reserve.
const MAX_MESSAGE: usize = 8 << 10;

/// Tells all ranks of the failure that `root` knows of; the others' is not asked for.
///
/// # Collective
/// Called by all ranks of `comm` with the same root.
pub fn share_failure<C: Comm>(
    comm: &C,
    root: usize,
    failure: impl FnOnce() -> PeerFailure,
) -> super::Result<PeerFailure> {
    let mut bytes = match comm.rank() == root {
        true => failure().encode(),
        false => Vec::new(),
    };
    let length = wire::bcast_u64(comm, root, bytes.len() as u64)?;
    bytes.resize(length.min(MAX_MESSAGE as u64) as usize, 0);
    comm.bcast(root, &mut bytes)?;
    Ok(PeerFailure::decode(&bytes))
}

#[cfg(test)]
mod tests {
    use super::super::local::{run, run_on};
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failed {
        #[error("no {0}")]
        Own(usize),
        #[error(transparent)]
        Peer(#[from] PeerFailure),
        #[error(transparent)]
        Comm(#[from] Error),
    }

    impl FromPeer for Failed {
        fn as_peer(&self) -> Option<&PeerFailure> {
            match self {
                Failed::Peer(failure) => Some(failure),
                _ => None,
            }
        }
    }

    #[test]
    fn all_succeed() {
        for size in [1, 2, 3, 5, 8] {
            let ended = run(size, |comm| agree(&comm, Ok::<_, Failed>(comm.rank())));
            for (rank, verdict) in ended.into_iter().enumerate() {
                assert_eq!(verdict.unwrap(), rank);
            }
        }
    }

    /// The verdicts of `size` ranks of which `failing` fail with their number as text.
    fn verdicts(size: usize, failing: &[usize]) -> Vec<Failed> {
        let ended = run(size, |comm| {
            let local = match failing.contains(&comm.rank()) {
                true => Err(Failed::Own(comm.rank())),
                false => Ok(()),
            };
            agree(&comm, local)
        });
        ended.into_iter().map(Result::unwrap_err).collect()
    }

    #[test]
    fn the_lowest_failure_reaches_everyone() {
        for size in [1, 2, 3, 5, 8] {
            let all: Vec<usize> = (0..size).collect();
            for lowest in 0..size {
                for failing in [&all[lowest..], &all[lowest..=lowest]] {
                    for (rank, verdict) in verdicts(size, failing).into_iter().enumerate() {
                        let expected = match failing.contains(&rank) {
                            true => format!("no {rank}"),
                            false => format!("rank {lowest} failed: no {lowest}"),
                        };
                        assert_eq!(verdict.to_string(), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn a_rank_whose_memory_is_short_fails_all() {
        for size in [1, 2, 5] {
            let ended = run(size, |comm| {
                reserve::PRETENDED.set(comm.rank() == size - 1);
                agree(&comm, Ok::<_, Failed>(())).unwrap_err().to_string()
            });
            let told = format!("rank {} failed: memory has run out", size - 1);
            assert!(ended.iter().all(|text| *text == told));
        }
    }

    /// The even and the odd ranks agree first, in descending order, then all.
    #[test]
    fn a_failure_keeps_its_name_on_the_way_through_a_part() {
        for bad in 0..5 {
            let ended = run_on((10..15).collect(), |comm| {
                let rank = comm.rank();
                let part = comm.split(Some(rank as u32 % 2), -(rank as i32));
                let local = match rank == bad {
                    true => Err(Failed::Own(rank)),
                    false => Ok(()),
                };
                let heard = agree(&part.unwrap().unwrap(), local);
                let text = |verdict: &Result<(), Failed>| verdict.as_ref().unwrap_err().to_string();
                let in_part = heard.is_err().then(|| text(&heard));
                (in_part, text(&agree(&comm, heard)))
            });
            let told = format!("rank {bad} on node{} failed: no {bad}", 10 + bad);
            for (rank, (in_part, of_all)) in ended.into_iter().enumerate() {
                if rank == bad {
                    assert_eq!(of_all, format!("no {bad}"));
                    continue;
                }
                assert_eq!(in_part, (rank % 2 == bad % 2).then(|| told.clone()));
                assert_eq!(of_all, told);
            }
        }
    }

    #[test]
    fn a_long_text_is_cut_and_the_same_on_all_ranks() {
        for length in [0, 1, MAX_MESSAGE, 10 * MAX_MESSAGE] {
            let shared = run_on(vec![4, 5, 6], |comm| {
                let failure = || PeerFailure::of(&comm, "x".repeat(length));
                share_failure(&comm, 1, failure).unwrap()
            });
            let cut = length.min(MAX_MESSAGE - 16 - "node5".len());
            for failure in shared {
                assert_eq!(failure.who.to_string(), "rank 1 on node5");
                assert_eq!(failure.text, "x".repeat(cut));
            }
        }
    }

    #[test]
    fn a_rank_that_left_is_a_verdict_too() {
        let ended = run(3, |comm| match comm.rank() {
            0 => None,
            _ => Some(agree(&comm, Ok::<_, Failed>(()))),
        });
        assert!(matches!(
            ended[2],
            Some(Err(Failed::Comm(Error::PeerGone(0))))
        ));
    }
}
