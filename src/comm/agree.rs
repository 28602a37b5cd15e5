//! Agreement: one rank's failure becomes every rank's verdict.

use super::{Comm, Error, Op};
use crate::reserve;

/// What the ranks of a collective agreed on when at least one of them failed.
#[derive(Debug, thiserror::Error)]
pub enum Verdict<E> {
    /// This rank failed itself.
    #[error("{0}")]
    Own(E),
    /// Another rank failed, or memory is short on this one; `text` is its own description.
    #[error("rank {rank} failed: {text}")]
    Peer { rank: usize, text: String },
    /// The agreement itself could not be reached.
    #[error(transparent)]
    Comm(Error),
}

impl<E: From<Error>> Verdict<E> {
    /// As an error of the room whose ranks agreed; `peer` is how it says that another rank failed.
    pub fn into_error(self, peer: impl FnOnce(usize, String) -> E) -> E {
        match self {
            Verdict::Own(error) => error,
            Verdict::Peer { rank, text } => peer(rank, text),
            Verdict::Comm(error) => error.into(),
        }
    }
}

/// Turns the local results of all ranks into one verdict: `Ok` everywhere or `Err` everywhere.
///
/// Ranks that succeeded learn the text of the lowest rank that failed. A rank whose memory is short counts as failed:
/// here all ranks hear of it, while it can still tell. Collective over `comm`.
pub fn agree<C: Comm, T, E: std::fmt::Display>(
    comm: &C,
    local: Result<T, E>,
) -> Result<T, Verdict<E>> {
    let short = local.is_ok() && reserve::is_short();
    let failed = first_failed(comm, local.is_err() || short).map_err(Verdict::Comm)?;
    let Some(rank) = failed else {
        return local.map_err(Verdict::Own);
    };
    let own_text = match &local {
        Err(e) if rank == comm.rank() => e.to_string(),
        Ok(_) if rank == comm.rank() => reserve::SHORT.into(),
        _ => String::new(),
    };
    let text = share_text(comm, rank, own_text).map_err(Verdict::Comm)?;
    match local {
        Err(e) => Err(Verdict::Own(e)),
        Ok(_) => Err(Verdict::Peer { rank, text }),
    }
}

fn first_failed<C: Comm>(comm: &C, failed: bool) -> super::Result<Option<usize>> {
    let none = comm.size() as u64;
    let mut lowest = [if failed { comm.rank() as u64 } else { none }];
    comm.allreduce(Op::Min, &mut lowest)?;
    Ok((lowest[0] < none).then_some(lowest[0] as usize))
}

/// Whether all ranks give the same numbers; all give as many. Collective over `comm`.
pub fn is_same<C: Comm>(comm: &C, numbers: &[u64]) -> super::Result<bool> {
    let complements = numbers.iter().map(|number| !number);
    let mut most: Vec<_> = numbers.iter().copied().chain(complements).collect();
    comm.allreduce(Op::Max, &mut most)?;
    let (most, least) = most.split_at(numbers.len());
    Ok(most.iter().zip(least).all(|(most, least)| *most == !least))
}

/// The longest text that ranks tell each other, in bytes: the rest is cut off. Small enough for the reserve of memory.
const TEXT: usize = 8 << 10;

/// The text of one rank, on all of them.
pub fn share_text<C: Comm>(comm: &C, root: usize, text: String) -> super::Result<String> {
    let mut bytes = text.into_bytes();
    bytes.truncate(TEXT);
    let mut length = (bytes.len() as u64).to_le_bytes();
    comm.bcast(root, &mut length)?;
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    bytes.resize(length.min(TEXT), 0);
    comm.bcast(root, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::local::run;
    use super::*;

    #[test]
    fn all_succeed() {
        for size in [1, 2, 3, 5, 8] {
            let ended = run(size, |comm| agree(&comm, Ok::<_, Error>(comm.rank())));
            for (rank, verdict) in ended.into_iter().enumerate() {
                assert_eq!(verdict.unwrap(), rank);
            }
        }
    }

    /// The verdicts of `size` ranks of which `failing` fail with their number as text.
    fn verdicts(size: usize, failing: &[usize]) -> Vec<Verdict<String>> {
        let ended = run(size, |comm| {
            let fails = failing.contains(&comm.rank());
            let local = if fails {
                Err(format!("no {}", comm.rank()))
            } else {
                Ok(())
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
                agree(&comm, Ok::<_, Error>(())).unwrap_err().to_string()
            });
            let told = format!("rank {} failed: memory has run out", size - 1);
            assert!(ended.iter().all(|text| *text == told));
        }
    }

    #[test]
    fn a_long_text_is_cut_and_the_same_on_all_ranks() {
        for length in [0, 1, TEXT, TEXT + 1, 10 * TEXT] {
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
                    .all(|text| *text == "x".repeat(length.min(TEXT)))
            );
        }
    }

    #[test]
    fn a_rank_that_left_is_a_verdict_too() {
        let ended = run(3, |comm| match comm.rank() {
            0 => None,
            _ => Some(agree(&comm, Ok::<_, Error>(()))),
        });
        assert!(matches!(
            ended[2],
            Some(Err(Verdict::Comm(Error::PeerGone(0))))
        ));
    }
}
