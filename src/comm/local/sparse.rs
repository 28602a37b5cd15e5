//! [`Sparse`] for ranks as threads, which checks that flow control is kept: in a limited transfer a send is complete when
//! its message is received, and a rank panics that has too many messages under way or sends ahead of a handshake.

use std::cell::RefCell;
use std::sync::Arc;

use super::super::sparse::{Nonblocking, transfer_limited};
use super::super::{
    Comm, Limit, Result, Sparse, Tag, check_length, check_part, check_peers, check_rank,
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
    sent: RefCell<Vec<Sent>>,
    receiving: RefCell<usize>,
}

#[derive(Clone, Copy)]
struct Sent {
    address: Address,
    number: u64,
    to: usize,
}

enum Posted<'a> {
    Send(Sent),
    Receive {
        address: Address,
        number: u64,
        from: usize,
        bytes: &'a mut [u8],
    },
}

impl<'c> Checked<'c> {
    fn new(comm: &'c LocalComm, tag: Tag, limit: Limit) -> Self {
        let (sent, receiving) = Default::default();
        Self {
            comm,
            tag,
            limit,
            sent,
            receiving,
        }
    }

    fn thread(&self) -> usize {
        self.comm.members[self.comm.rank]
    }

    fn address(&self, from: usize, to: usize, tag: Tag) -> Address {
        let address = self.comm.address(from, to, tag);
        address.expect("the peers of a transfer are checked ahead of it")
    }

    fn test_send(&self, sent: Sent) -> Option<Result<()>> {
        self.comm
            .world
            .test_send(sent.address, sent.number, sent.to)
    }

    /// Not for the messages of the handshake itself.
    fn check_send(&self, address: Address) {
        let mut sent = self.sent.borrow_mut();
        sent.retain(|sent| self.test_send(*sent).is_none());
        let most = self.limit.sends.unwrap_or(usize::MAX).max(1);
        assert!(sent.len() < most, "more than {most} sends under way");
        let ready = !self.limit.handshake || self.comm.world.is_awaited(address);
        assert!(ready, "a message is sent before its receive is posted");
    }
}

impl Nonblocking for Checked<'_> {
    type Posted<'a> = Posted<'a>;

    fn post_send<'a>(&self, tag: Tag, to: usize, bytes: &'a [u8]) -> Posted<'a> {
        let address = self.address(self.comm.rank, to, tag);
        if tag == self.tag {
            self.check_send(address);
        }
        let number = self.comm.world.post(address, Arc::from(bytes));
        let sent = Sent {
            address,
            number,
            to,
        };
        if tag == self.tag {
            self.sent.borrow_mut().push(sent);
        }
        Posted::Send(sent)
    }

    fn post_recv<'a>(&self, tag: Tag, from: usize, bytes: &'a mut [u8]) -> Posted<'a> {
        if tag == self.tag {
            let most = self.limit.receives.unwrap_or(usize::MAX).max(1);
            assert!(
                *self.receiving.borrow() < most,
                "more than {most} receives under way"
            );
            *self.receiving.borrow_mut() += 1;
        }
        let address = self.address(from, self.comm.rank, tag);
        let number = self.comm.world.post_recv(address);
        Posted::Receive {
            address,
            number,
            from,
            bytes,
        }
    }

    fn test(&self, posted: &mut Posted<'_>) -> Option<Result<()>> {
        let (address, number, from, bytes) = match posted {
            Posted::Send(sent) => return self.test_send(*sent),
            Posted::Receive {
                address,
                number,
                from,
                bytes,
            } => (*address, *number, *from, bytes),
        };
        let message = self.comm.world.test_recv(address, number, from)?;
        if address.tag == self.tag {
            *self.receiving.borrow_mut() -= 1;
        }
        Some(message.and_then(|message| {
            check_length(from, bytes.len(), message.len())?;
            bytes.copy_from_slice(&message);
            Ok(())
        }))
    }

    fn events(&self) -> u64 {
        self.comm.world.events(self.thread())
    }

    fn wait_for_event(&self, seen: u64) -> Result<()> {
        self.comm.world.wait_for_event(self.thread(), seen)
    }
}

#[cfg(test)]
mod tests;
