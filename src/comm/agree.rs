//! Agreement: one rank's failure becomes every rank's verdict.

use super::{Comm, Error, Op};

/// What the ranks of a collective agreed on when at least one of them failed.
#[derive(Debug, thiserror::Error)]
pub enum Verdict<E> {
    /// This rank failed itself.
    #[error("{0}")]
    Own(E),
    /// Another rank failed; `text` is its own description.
    #[error("rank {rank} failed: {text}")]
    Peer { rank: usize, text: String },
    /// The agreement itself could not be reached.
    #[error(transparent)]
    Comm(Error),
}

/// Turns the local results of all ranks into one verdict: `Ok` everywhere or `Err` everywhere.
///
/// Ranks that succeeded learn the text of the lowest rank that failed. Collective over `comm`.
pub fn agree<C: Comm, T, E: std::fmt::Display>(
    comm: &C,
    local: Result<T, E>,
) -> Result<T, Verdict<E>> {
    let failed = first_failed(comm, local.is_err()).map_err(Verdict::Comm)?;
    let Some(rank) = failed else {
        return local.map_err(Verdict::Own);
    };
    let own_text = match &local {
        Err(e) if rank == comm.rank() => e.to_string(),
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

fn share_text<C: Comm>(comm: &C, root: usize, text: String) -> super::Result<String> {
    let mut length = (text.len() as u64).to_le_bytes();
    comm.bcast(root, &mut length)?;
    let mut bytes = text.into_bytes();
    bytes.resize(u64::from_le_bytes(length) as usize, 0);
    comm.bcast(root, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
