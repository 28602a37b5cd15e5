//! Agreement: one rank's failure becomes every rank's verdict.

use super::{Comm, Error, Op};
use crate::{reserve, wire};

/// An error that can report the failure of another rank.
pub trait FromPeer: From<Error> + std::fmt::Display {
    /// `text` is that rank's own description.
    fn from_peer(rank: usize, text: String) -> Self;
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
    let own_text = match &local {
        Err(e) if rank == comm.rank() => e.to_string(),
        Ok(_) if rank == comm.rank() => reserve::SHORT.into(),
        _ => String::new(),
    };
    let text = share_text(comm, rank, own_text)?;
    local.and_then(|_| Err(E::from_peer(rank, text)))
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

/// Longer texts are cut off, in bytes: short enough for the memory reserve.
const MAX_TEXT: usize = 8 << 10;

/// Broadcasts a text.
pub fn share_text<C: Comm>(comm: &C, root: usize, text: String) -> super::Result<String> {
    let mut bytes = text.into_bytes();
    bytes.truncate(MAX_TEXT);
    let length = wire::bcast_u64(comm, root, bytes.len() as u64)?;
    bytes.resize(length.min(MAX_TEXT as u64) as usize, 0);
    comm.bcast(root, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::local::run;
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failed {
        #[error("no {0}")]
        Own(usize),
        #[error("rank {rank} failed: {text}")]
        Peer { rank: usize, text: String },
        #[error(transparent)]
        Comm(#[from] Error),
    }

    impl FromPeer for Failed {
        fn from_peer(rank: usize, text: String) -> Failed {
            Failed::Peer { rank, text }
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

    #[test]
    fn a_long_text_is_cut_and_the_same_on_all_ranks() {
        for length in [0, 1, MAX_TEXT, MAX_TEXT + 1, 10 * MAX_TEXT] {
            let shared = run(3, |comm| {
                let text = if comm.rank() == 1 {
                    "x".repeat(length)
                } else {
                    "own".into()
                };
                share_text(&comm, 1, text).unwrap()
            });
            assert!(
                shared
                    .iter()
                    .all(|text| *text == "x".repeat(length.min(MAX_TEXT)))
            );
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
