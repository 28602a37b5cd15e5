//! Messages whose lengths only their senders know.
//!
//! Lengths are sent first. A long message is sent only after its receiver has answered that it has memory for it: one that
//! has none must not leave the sender waiting. Short messages fit into the memory reserve and need no answer.

use super::{Comm, Error, Result, Tag};
use crate::pages::zeroed;

/// Longer messages, in bytes, are sent after an answer of the receiver.
const LONG: u64 = 1 << 20;

/// As [`Comm::transfer`] for messages whose lengths only their senders know: returns one message from each rank in `from`.
pub fn transfer_unsized<C: Comm>(
    comm: &C,
    tag: Tag,
    sends: &[(usize, &[u8])],
    from: &[usize],
) -> Result<Vec<Vec<u8>>> {
    let lengths = share_lengths(comm, tag, sends, from)?;
    let mut messages: Vec<_> = lengths.iter().map(|length| space_for(*length)).collect();
    let has_room = |at: usize| messages[at].is_ok();
    let refused = share_room(comm, tag, (sends, from), &lengths, has_room)?;
    let wanted = sends.iter().zip(&refused);
    let wanted = wanted.filter(|(_, refused)| !**refused);
    let wanted: Vec<_> = wanted.map(|(send, _)| *send).collect();
    let into = from.iter().zip(&mut messages);
    let into = into.filter_map(|(from, message)| Some((*from, &mut message.as_mut().ok()?[..])));
    comm.transfer(tag, &wanted, &mut into.collect::<Vec<_>>())?;
    if let Some(at) = refused.iter().position(|refused| *refused) {
        let (to, message) = sends[at];
        let length = message.len() as u64;
        let rank = comm.user_rank(to);
        return Err(Error::NoMemoryThere { rank, length });
    }
    messages.into_iter().collect()
}

fn share_lengths<C: Comm>(
    comm: &C,
    tag: Tag,
    sends: &[(usize, &[u8])],
    from: &[usize],
) -> Result<Vec<u64>> {
    let length = |bytes: &[u8]| (bytes.len() as u64).to_le_bytes();
    let own: Vec<_> = sends.iter().map(|(to, b)| (*to, length(b))).collect();
    let own: Vec<_> = own.iter().map(|(to, length)| (*to, &length[..])).collect();
    let mut lengths = vec![[0; 8]; from.len()];
    let into = from.iter().zip(&mut lengths);
    let mut recvs: Vec<_> = into.map(|(from, l)| (*from, &mut l[..])).collect();
    comm.transfer(tag, &own, &mut recvs)?;
    Ok(lengths.into_iter().map(u64::from_le_bytes).collect())
}

/// Receivers of long messages answer whether they have memory. Returns for each send whether its receiver has refused it.
fn share_room<C: Comm>(
    comm: &C,
    tag: Tag,
    (sends, from): (&[(usize, &[u8])], &[usize]),
    lengths: &[u64],
    has_room: impl Fn(usize) -> bool,
) -> Result<Vec<bool>> {
    let long = (0..from.len()).filter(|&at| lengths[at] > LONG);
    let answers: Vec<_> = long
        .map(|at| (from[at], [u8::from(has_room(at))]))
        .collect();
    let answers: Vec<_> = answers
        .iter()
        .map(|(to, answer)| (*to, &answer[..]))
        .collect();
    let mut heard = vec![[1]; sends.len()];
    let asked = sends.iter().zip(&mut heard);
    let asked = asked.filter(|((_, message), _)| message.len() as u64 > LONG);
    let mut asked: Vec<_> = asked
        .map(|((to, _), heard)| (*to, &mut heard[..]))
        .collect();
    if !answers.is_empty() || !asked.is_empty() {
        comm.transfer(tag, &answers, &mut asked)?;
    }
    Ok(heard.into_iter().map(|[has_room]| has_room == 0).collect())
}

/// A buffer for a message of a length that another rank has sent.
fn space_for(length: u64) -> Result<Vec<u8>> {
    let bytes = usize::try_from(length).ok().and_then(zeroed);
    bytes.ok_or(Error::NoMemory(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::local::run;

    #[test]
    fn messages_of_any_length_arrive() {
        let length = |rank: usize| [0, 5, LONG as usize, LONG as usize + 1][rank];
        let came = run(4, |comm| {
            let own = vec![comm.rank() as u8; length(comm.rank())];
            let others: Vec<_> = (0..4).filter(|rank| *rank != comm.rank()).collect();
            let sends: Vec<_> = others.iter().map(|rank| (*rank, &own[..])).collect();
            let came = transfer_unsized(&comm, 7, &sends, &others).unwrap();
            let expected = others.iter().map(|rank| vec![*rank as u8; length(*rank)]);
            came == expected.collect::<Vec<_>>()
        });
        assert_eq!(came, [true; 4]);
    }

    /// Rank 0 announces more than anybody has memory for, as if it had it.
    #[test]
    fn a_sender_hears_that_there_is_no_room_and_nobody_waits() {
        let ended = run(2, |comm| match comm.rank() {
            0 => {
                let length = (1_u64 << 62).to_le_bytes();
                comm.transfer(7, &[(1, &length[..])], &mut []).unwrap();
                let mut answer = [7];
                comm.transfer(7, &[], &mut [(1, &mut answer[..])]).unwrap();
                answer == [0]
            }
            _ => matches!(
                transfer_unsized(&comm, 7, &[], &[0]),
                Err(Error::NoMemory(_))
            ),
        });
        assert_eq!(ended, [true; 2]);
    }

    /// Rank 1 refuses by hand what rank 0 sends.
    #[test]
    fn what_is_refused_is_an_error_of_its_sender() {
        let long = LONG as usize + 1;
        let ended = run(2, |comm| match comm.rank() {
            0 => {
                let sent = transfer_unsized(&comm, 7, &[(1, &vec![1; long])], &[]);
                sent.unwrap_err().to_string()
            }
            _ => {
                let mut length = [0; 8];
                comm.transfer(7, &[], &mut [(0, &mut length[..])]).unwrap();
                comm.transfer(7, &[(0, &[0])], &mut []).unwrap();
                u64::from_le_bytes(length).to_string()
            }
        });
        assert!(ended[0].contains("rank 1") && ended[0].contains(&ended[1]));
    }
}
