//! Transfers with a limited number of messages under way.
//!
//! Receives and sends are started in the order of ranks, as many as the limit allows, and the next when one
//! has ended. With a handshake the receiver first sends an empty message, and the sender waits for it. Every
//! rank waits only for its lowest open peers, and the lowest open pair of all can always go on.

use std::collections::VecDeque;
use std::thread;

use super::MpiComm;
use super::flight::Flight;
use crate::comm::{Limit, Result, Tag};

/// The tag on which a receiver says that it waits.
const READY: Tag = 1 << 14;

impl MpiComm {
    /// As [`crate::comm::Comm::transfer_limited`], for a limit that is one.
    pub(super) fn transfer_in_window(
        &self,
        tag: Tag,
        limit: Limit,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        let most = |limit: Option<usize>| limit.unwrap_or(usize::MAX).max(1);
        let mut ready = vec![[0; 0]; sends.len()];
        let mut to_receive = recvs.iter_mut().enumerate();
        let mut to_send = sends.iter().zip(&mut ready);
        let mut asked = Flight::new(0);
        let (mut receiving, mut sending) = (Flight::new(0), Flight::new(0));
        let mut waiting: Vec<(Flight, &(usize, &[u8]))> = Vec::new();
        loop {
            while receiving.under_way() < most(limit.receives) {
                let Some((message, (from, bytes))) = to_receive.next() else {
                    break;
                };
                let started = receiving.start_recv(self, tag, message, *from, bytes);
                receiving.note(started);
                if limit.handshake {
                    let started = asked.start_send(self, tag + READY, *from, &[]);
                    asked.note(started);
                }
            }
            while sending.under_way() + waiting.len() < most(limit.sends) {
                let Some((send, ready)) = to_send.next() else {
                    break;
                };
                let mut permission = Flight::new(1);
                if limit.handshake {
                    let started = permission.start_recv(self, tag + READY, 0, send.0, ready);
                    permission.note(started);
                }
                waiting.push((permission, send));
            }
            let before = receiving.under_way() + sending.under_way() + waiting.len();
            waiting.retain_mut(|(permission, (to, bytes))| {
                if !permission.has_landed() {
                    return true;
                }
                let permitted = std::mem::replace(permission, Flight::new(0)).finish();
                let started = sending.start_send(self, tag, *to, bytes);
                sending.note(permitted.and(started));
                false
            });
            let ended = receiving.has_landed() & sending.has_landed();
            let left = receiving.under_way() + sending.under_way() + waiting.len();
            if ended && left == 0 && to_receive.len() == 0 && to_send.len() == 0 {
                break;
            }
            if receiving.has_failed() || sending.has_failed() {
                break;
            }
            if left == before {
                thread::yield_now();
            }
        }
        asked.finish().and(receiving.finish()).and(sending.finish())
    }

    /// As [`crate::comm::Comm::transfer_in_turn`]. After a failure nothing more is taken, but all is still received, for
    /// its senders wait for that.
    pub(super) fn transfer_through_rooms(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        turns: &[Option<(usize, usize)>],
        rooms: &mut [&mut [u8]],
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()> {
        let mut to_receive = turns.iter().flatten().enumerate();
        let mut receive = |room| {
            let room: &mut [u8] = room;
            let (message, (from, length)) = to_receive.next()?;
            let mut flight = Flight::new(1);
            let started = flight.start_recv(self, tag, message, *from, &mut room[..*length]);
            flight.note(started);
            Some((flight, room))
        };
        let mut receiving = VecDeque::with_capacity(rooms.len());
        receiving.extend(rooms.iter_mut().map_while(|room| receive(room)));
        let mut sending = Flight::new(sends.len());
        for (to, bytes) in sends {
            let started = sending.start_send(self, tag, *to, bytes);
            sending.note(started);
        }
        let mut received = Ok(());
        for (turn, message) in turns.iter().enumerate() {
            match message.and_then(|(_, length)| Some((length, receiving.pop_front()?))) {
                Some((length, (flight, room))) => {
                    received = received.and(flight.finish());
                    if received.is_ok() {
                        take(turn, &room[..length]);
                    }
                    receiving.extend(receive(room));
                }
                None if received.is_ok() => take(turn, &[]),
                None => (),
            }
        }
        received.and(sending.finish())
    }
}
