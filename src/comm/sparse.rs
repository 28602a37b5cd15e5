//! What only PIO's rearrangers need of a communicator: transfers under flow control, messages that are used as they
//! arrive, and messages that their receivers do not expect.
//!
//! Flow control is one algorithm over [`Nonblocking`], so that ranks as threads test what runs on MPI.

use super::{Comm, Result, Tag};

/// Flow control: how many messages a rank may have under way at once; `None` is any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    pub sends: Option<usize>,
    pub receives: Option<usize>,
    /// Whether a message is sent only after its receiver has posted the receive.
    pub handshake: bool,
}

/// A communicator for irregular exchanges, where each rank talks to a few others.
pub trait Sparse: Comm {
    /// As [`Comm::transfer`] under flow control. All ranks pass the same limit, and their messages in ascending order of
    /// peers: then the lowest open pair can always proceed.
    fn transfer_limited(
        &self,
        tag: Tag,
        limit: Limit,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()>;

    /// As [`Comm::transfer`], but hands the messages over in order while later ones are under way. `take` is called once
    /// for each of `turns`: with its index and the message of the given sender and length, or with nothing where the turn
    /// is `None`. Each of `buffers` holds the longest message; at most `buffers.len()` receives are posted.
    fn transfer_in_turn(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        turns: &[Option<(usize, usize)>],
        buffers: &mut [&mut [u8]],
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()>;

    /// Receives messages in parts whose lengths only the senders know. Takes parts of all senders as they come, so a
    /// sender with several receivers may serve them in any order.
    fn recv_in_parts(&self, tag: Tag, recvs: &mut [(usize, &mut [u8])]) -> Result<()>;

    /// Delivers messages to ranks that know neither their senders nor their lengths: at most one from each rank to each
    /// other. Returns what has arrived, by sender. Uses `tag` and the next.
    ///
    /// # Collective
    /// Called by all ranks.
    fn deliver(&self, tag: Tag, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>>;
}

/// Messages from and into memory that the caller lends until they are complete.
pub(super) trait Nonblocking {
    /// A message under way; a failure to start it is reported by `test`. Dropped, it is waited for.
    type Posted<'a>;

    fn post_send<'a>(&self, tag: Tag, to: usize, bytes: &'a [u8]) -> Self::Posted<'a>;
    fn post_recv<'a>(&self, tag: Tag, from: usize, bytes: &'a mut [u8]) -> Self::Posted<'a>;

    /// `None` while the message is under way. Not called again after that.
    fn test(&self, posted: &mut Self::Posted<'_>) -> Option<Result<()>>;

    /// How many events this rank has seen, for [`Nonblocking::wait_for_event`].
    fn events(&self) -> u64;

    /// Returns when a message may have completed since there were `seen` events; an error if none ever will.
    fn wait_for_event(&self, seen: u64) -> Result<()>;
}

/// Added to the tag of a transfer: the tag of the empty messages by which receivers say that they are ready.
const READY: Tag = 1 << 14;

/// As [`Sparse::transfer_limited`]. Posts receives and sends in order, as many as the limit allows, and the next when
/// one is complete. With a handshake, an empty message from the receiver precedes each message. As in [`Comm::transfer`],
/// a failed message does not keep the others from being sent: the peers wait for them.
pub(super) fn transfer_limited<N: Nonblocking>(
    on: &N,
    tag: Tag,
    limit: Limit,
    sends: &[(usize, &[u8])],
    recvs: &mut [(usize, &mut [u8])],
) -> Result<()> {
    let most = |limit: Option<usize>| limit.unwrap_or(usize::MAX).max(1);
    let (mut to_send, mut to_receive) = (sends.iter(), recvs.iter_mut());
    let (mut receiving, mut sending) = (Vec::new(), Vec::new());
    let (mut asked, mut waiting) = (Vec::new(), Vec::new());
    let mut outcome = Ok(());
    loop {
        let seen = on.events();
        let free = most(limit.receives) - receiving.len();
        for (from, bytes) in to_receive.by_ref().take(free) {
            receiving.push(on.post_recv(tag, *from, bytes));
            if limit.handshake {
                asked.push(on.post_send(tag + READY, *from, &[]));
            }
        }
        let free = most(limit.sends) - sending.len() - waiting.len();
        for (to, bytes) in to_send.by_ref().take(free) {
            match limit.handshake {
                true => waiting.push((on.post_recv(tag + READY, *to, &mut []), *to, *bytes)),
                false => sending.push(on.post_send(tag, *to, bytes)),
            }
        }
        let open = receiving.len() + sending.len() + waiting.len();
        if open == 0 {
            break;
        }
        waiting.retain_mut(|(ready, to, bytes)| match on.test(ready) {
            None => true,
            Some(Ok(())) => {
                sending.push(on.post_send(tag, *to, bytes));
                false
            }
            Some(Err(error)) => {
                note(&mut outcome, Err(error));
                false
            }
        });
        for posted in [&mut receiving, &mut sending] {
            posted.retain_mut(|message| {
                let ended = on.test(message);
                ended.map(|ended| note(&mut outcome, ended)).is_none()
            });
        }
        if receiving.len() + sending.len() + waiting.len() == open {
            on.wait_for_event(seen)?;
        }
    }
    outcome
}

/// Keeps the first failure.
fn note(outcome: &mut Result<()>, ended: Result<()>) {
    if outcome.is_ok() {
        *outcome = ended;
    }
}
