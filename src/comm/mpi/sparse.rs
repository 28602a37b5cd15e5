//! [`Sparse`] on MPI.

use std::collections::VecDeque;
use std::thread;

use super::MpiComm;
use super::requests::Requests;
use crate::comm::sparse::{Nonblocking, transfer_limited};
use crate::comm::{Comm, Limit, Result, Sparse, Tag, check_part, check_peers};

impl Sparse for MpiComm {
    fn transfer_limited(
        &self,
        tag: Tag,
        limit: Limit,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        if limit == Limit::default() {
            return self.transfer(tag, sends, recvs);
        }
        check_peers(self.size, sends, recvs)?;
        transfer_limited(self, tag, limit, sends, recvs)
    }

    /// After a failure nothing more is handed over, but all messages are still received, as in [`Comm::transfer`].
    fn transfer_in_turn(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        turns: &[Option<(usize, usize)>],
        buffers: &mut [&mut [u8]],
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()> {
        let senders: Vec<_> = turns.iter().flatten().copied().collect();
        check_peers(self.size, sends, &senders)?;
        let mut to_receive = senders.iter().enumerate();
        let mut receive = |buffer| {
            let buffer: &mut [u8] = buffer;
            let (message, (from, length)) = to_receive.next()?;
            let mut request = Requests::new(1);
            request.receive(self, tag, message, *from, &mut buffer[..*length]);
            Some((request, buffer))
        };
        let mut receiving = VecDeque::with_capacity(buffers.len());
        receiving.extend(buffers.iter_mut().map_while(|buffer| receive(buffer)));
        let mut sending = Requests::new(sends.len());
        for (to, bytes) in sends {
            sending.send(self, tag, *to, bytes);
        }
        let mut received = Ok(());
        for (turn, message) in turns.iter().enumerate() {
            match message.and_then(|(_, length)| Some((length, receiving.pop_front()?))) {
                Some((length, (mut request, buffer))) => {
                    received = received.and(request.finish());
                    if received.is_ok() {
                        take(turn, &buffer[..length]);
                    }
                    receiving.extend(receive(buffer));
                }
                None if received.is_ok() => take(turn, &[]),
                None => (),
            }
        }
        received.and(sending.finish())
    }

    /// Takes nothing more from a sender after a failure with it, but all from the others, which wait for that.
    fn recv_in_parts(&self, tag: Tag, recvs: &mut [(usize, &mut [u8])]) -> Result<()> {
        check_peers::<(), _>(self.size, &[], recvs)?;
        let open = recvs.iter_mut();
        let mut open: Vec<_> = open.map(|(from, bytes)| (*from, bytes, 0)).collect();
        let mut outcome = Ok(());
        loop {
            open.retain(|(_, bytes, got)| *got < bytes.len());
            if open.is_empty() {
                return outcome;
            }
            let mut idle = true;
            for (from, bytes, got) in &mut open {
                match self.receive_part(*from, tag, bytes, *got) {
                    Ok(0) => continue,
                    Ok(length) => *got += length,
                    Err(error) => {
                        *got = bytes.len();
                        outcome = outcome.and(Err(error));
                    }
                }
                idle = false;
            }
            if idle {
                thread::yield_now();
            }
        }
    }

    fn deliver(&self, tag: Tag, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>> {
        check_peers::<_, ()>(self.size, &messages, &[])?;
        self.deliver_sparsely(tag, messages)
    }
}

impl MpiComm {
    /// Appends a part to the `got` bytes and returns its length; 0 if none has arrived.
    fn receive_part(&self, from: usize, tag: Tag, bytes: &mut [u8], got: usize) -> Result<usize> {
        let Some(part) = self.look_for(Some(from), tag)? else {
            return Ok(0);
        };
        let length = part.length();
        let check = |from| check_part(from, bytes.len(), got, length);
        check(from).or_else(|_| check(self.user_rank(from)))?;
        part.receive(&mut bytes[got..got + length])?;
        Ok(length)
    }
}

impl Nonblocking for MpiComm {
    type Posted<'a> = Requests;

    fn post_send(&self, tag: Tag, to: usize, bytes: &[u8]) -> Requests {
        let mut posted = Requests::new(1);
        posted.send(self, tag, to, bytes);
        posted
    }

    fn post_recv(&self, tag: Tag, from: usize, bytes: &mut [u8]) -> Requests {
        let mut posted = Requests::new(1);
        posted.receive(self, tag, 0, from, bytes);
        posted
    }

    fn test(&self, posted: &mut Requests) -> Option<Result<()>> {
        posted.is_done().then(|| posted.finish())
    }

    /// MPI makes progress in `test`.
    fn pause(&self) -> Result<()> {
        thread::yield_now();
        Ok(())
    }
}
