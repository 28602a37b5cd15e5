//! [`Sparse`] for ranks as threads, which checks that flow control is kept: in a limited transfer a send is complete when
//! its message is received, and a rank panics that has too many messages under way or sends ahead of a handshake.

use std::cell::{Cell, RefCell};

use super::super::sparse::{Nonblocking, transfer_limited};
use super::super::{
    Comm, Error, Limit, Result, Sparse, Tag, check_length, check_part, check_peers, check_rank,
};
use super::LocalComm;
use super::world::Address;

impl Sparse for LocalComm {
    fn transfer_limited(
        &self,
        tag: Tag,
        limit: Limit,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        check_peers(self.size(), sends, recvs)?;
        transfer_limited(&Checked::new(self, tag, limit), tag, limit, sends, recvs)
    }

    /// Sends never wait here, so one buffer is enough.
    fn transfer_in_turn(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        turns: &[Option<(usize, usize)>],
        buffers: &mut [&mut [u8]],
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()> {
        let senders: Vec<_> = turns.iter().flatten().copied().collect();
        check_peers(self.size(), sends, &senders)?;
        for (to, bytes) in sends {
            self.send(*to, tag, bytes)?;
        }
        let mut received = Ok(());
        for (turn, message) in turns.iter().enumerate() {
            let bytes = match message {
                Some((from, length)) => {
                    let buffer = &mut buffers[0][..*length];
                    received = received.and(self.recv(*from, tag, buffer));
                    buffer
                }
                None => &mut [],
            };
            if received.is_ok() {
                take(turn, bytes);
            }
        }
        received
    }

    fn recv_in_parts(&self, tag: Tag, recvs: &mut [(usize, &mut [u8])]) -> Result<()> {
        for (from, bytes) in recvs {
            let mut got = 0;
            while got < bytes.len() {
                let part = self.take(*from, tag)?;
                check_part(*from, bytes.len(), got, part.len())?;
                bytes[got..got + part.len()].copy_from_slice(&part);
                got += part.len();
            }
        }
        Ok(())
    }

    fn deliver(&self, _tag: Tag, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>> {
        let key = |rank: usize| (self.context, self.members[rank]);
        for (to, bytes) in messages {
            check_rank(to, self.size())?;
            let mut state = self.world.lock();
            let delivered = state.delivered.entry(key(to)).or_default();
            delivered.push((self.rank, bytes));
        }
        self.barrier()?;
        let came = self.world.lock().delivered.remove(&key(self.rank));
        let mut came = came.unwrap_or_default();
        came.sort_by_key(|(from, _)| *from);
        // No rank may begin the next delivery before all have taken their messages of this one.
        self.barrier()?;
        Ok(came)
    }
}

/// A rank in a limited transfer.
struct Checked<'c> {
    comm: &'c LocalComm,
    tag: Tag,
    limit: Limit,
    /// Events of this rank at the last pause.
    seen: Cell<u64>,
    /// Addresses and numbers of the sends that may be under way.
    sent: RefCell<Vec<(Address, u64)>>,
    receiving: Cell<usize>,
}

/// A message under way; one to be received has a buffer.
struct Posted<'a> {
    address: Address,
    number: u64,
    peer: usize,
    into: Option<&'a mut [u8]>,
}

impl<'c> Checked<'c> {
    fn new(comm: &'c LocalComm, tag: Tag, limit: Limit) -> Self {
        Self {
            comm,
            tag,
            limit,
            seen: Cell::new(comm.world.events(comm.members[comm.rank])),
            sent: RefCell::default(),
            receiving: Cell::new(0),
        }
    }

    fn address(&self, from: usize, to: usize, tag: Tag) -> Address {
        let address = self.comm.address(from, to, tag);
        address.expect("the peers of a transfer are checked ahead of it")
    }
}

impl Nonblocking for Checked<'_> {
    type Posted<'a> = Posted<'a>;

    /// Messages of the handshake itself, under another tag, are not checked.
    fn post_send<'a>(&self, tag: Tag, to: usize, bytes: &'a [u8]) -> Posted<'a> {
        let (world, address) = (&self.comm.world, self.address(self.comm.rank, to, tag));
        let mut sent = self.sent.borrow_mut();
        if tag == self.tag {
            sent.retain(|(address, number)| world.test_send(*address, *number).is_none());
            let most = self.limit.sends.unwrap_or(usize::MAX).max(1);
            assert!(sent.len() < most, "more than {most} sends under way");
            let ready = !self.limit.handshake || world.is_awaited(address);
            assert!(ready, "a message is sent before its receive is posted");
        }
        let number = world.post(address, bytes.into());
        if tag == self.tag {
            sent.push((address, number));
        }
        Posted {
            address,
            number,
            peer: to,
            into: None,
        }
    }

    fn post_recv<'a>(&self, tag: Tag, from: usize, bytes: &'a mut [u8]) -> Posted<'a> {
        if tag == self.tag {
            let most = self.limit.receives.unwrap_or(usize::MAX).max(1);
            let open = self.receiving.get();
            assert!(open < most, "more than {most} receives under way");
            self.receiving.set(open + 1);
        }
        let address = self.address(from, self.comm.rank, tag);
        Posted {
            address,
            number: self.comm.world.post_recv(address),
            peer: from,
            into: Some(bytes),
        }
    }

    fn test(&self, posted: &mut Posted<'_>) -> Option<Result<()>> {
        let (address, number, peer) = (posted.address, posted.number, posted.peer);
        let Some(into) = &mut posted.into else {
            let ended = self.comm.world.test_send(address, number)?;
            return Some(ended.then_some(()).ok_or(Error::PeerGone(peer)));
        };
        let message = self.comm.world.test_recv(address, number, peer)?;
        if address.tag == self.tag {
            self.receiving.set(self.receiving.get() - 1);
        }
        Some(message.and_then(|message| {
            check_length(peer, into.len(), message.len())?;
            into.copy_from_slice(&message);
            Ok(())
        }))
    }

    fn pause(&self) -> Result<()> {
        let thread = self.comm.members[self.comm.rank];
        let events = self.comm.world.wait_for_event(thread, self.seen.get());
        events.map(|events| self.seen.set(events))
    }
}

#[cfg(test)]
mod tests;
