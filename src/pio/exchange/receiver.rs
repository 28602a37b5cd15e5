//! Receives one message from each peer and puts its elements to their places.

use std::sync::Arc;

use super::borrow;
use crate::comm::{Comm, Sparse, Tag};
use crate::pio::Result;
use crate::pio::iosystem::FlowControl;
use crate::pio::packing::{pack, unpack};
use crate::pio::plan::pattern::Peer;
use crate::pio::pool::{BufferPool, PoolBuffer};

/// What a rank sends.
pub(super) struct Outgoing<'a> {
    /// Ranks and their elements, in the order of the message.
    pub(super) messages: Vec<(usize, &'a [u8])>,
    /// The elements for this rank itself and the array that has them, unless they are among the messages.
    pub(super) own: Option<(&'a Peer, &'a [u8])>,
}

/// How messages are sent and received.
#[derive(Clone, Copy)]
pub(super) struct Protocol {
    pub(super) tag: Tag,
    pub(super) flow: FlowControl,
    /// Whether messages may arrive in chunks; a rank that receives chunks sends nothing.
    pub(super) chunks: bool,
}

impl Protocol {
    /// Whole messages, without flow control.
    pub(super) fn plain(tag: Tag) -> Self {
        let flow = FlowControl::default();
        Self {
            tag,
            flow,
            chunks: false,
        }
    }
}

pub(super) struct Receiver<'a> {
    peers: &'a [Peer],
    element: usize,
    pub(super) own: usize,
    /// Whether no two peers share a place; otherwise the order in which they are unpacked matters.
    disjoint: bool,
}

impl<'a> Receiver<'a> {
    pub(super) fn new<C: Comm>(
        comm: &C,
        peers: &'a [Peer],
        disjoint: bool,
        element: usize,
    ) -> Self {
        Self {
            peers,
            element,
            own: comm.rank(),
            disjoint,
        }
    }

    fn bytes(&self, peer: &Peer) -> usize {
        peer.places.len() as usize * self.element
    }

    /// Where in the buffer a message is received directly; nothing if it has to be unpacked.
    fn direct(&self, peer: &Peer) -> Option<usize> {
        let start = peer.places.as_block().filter(|_| self.disjoint)?;
        Some(start as usize * self.element)
    }

    /// A buffer for the messages that have to be unpacked.
    pub(super) fn staging(&self, pool: &Arc<BufferPool>) -> Result<PoolBuffer> {
        let others = self.peers.iter().filter(|peer| peer.rank != self.own);
        let unpacked = others.filter(|peer| self.direct(peer).is_none());
        let elements = unpacked.map(|peer| peer.places.len()).sum();
        borrow(pool, elements, self.element)
    }

    /// Where the rank's own elements are copied to directly; nothing if they have to be unpacked.
    pub(super) fn own_start(&self) -> Option<usize> {
        let own = self.peers.iter().find(|peer| peer.rank == self.own);
        own.and_then(|peer| self.direct(peer))
    }

    /// Splits outgoing peers into the rank itself, if its elements are copied directly, and those that get messages.
    pub(super) fn own<'b>(&self, out: &'b [Peer]) -> (Option<&'b Peer>, Vec<&'b Peer>) {
        let direct = self.own_start().is_some();
        let is_own = |peer: &&Peer| direct && peer.rank == self.own;
        let others = out.iter().filter(|peer| !is_own(peer)).collect();
        (out.iter().find(is_own), others)
    }

    /// Sends all outgoing messages, receives from all peers, and unpacks. `staging` is as long as [`Receiver::staging`].
    pub(super) fn exchange<C: Sparse>(
        &self,
        comm: &C,
        how: Protocol,
        outgoing: &Outgoing,
        staging: &mut [u8],
        buffer: &mut [u8],
    ) -> Result<()> {
        let is_own = |message: &&(usize, &[u8])| message.0 == self.own;
        let (packed, sends): (Vec<_>, Vec<_>) = outgoing.messages.iter().partition(is_own);
        let mut targets = self.targets(staging, buffer);
        match how.chunks {
            true => comm.recv_in_parts(how.tag, &mut targets)?,
            false => comm.transfer_limited(how.tag, how.flow.limit(), &sends, &mut targets)?,
        }
        let mut rest = &staging[..];
        for peer in self.peers {
            let came = if peer.rank == self.own {
                if let Some((start, (out, array))) = self.direct(peer).zip(outgoing.own) {
                    let place = &mut buffer[start..start + self.bytes(peer)];
                    pack(&out.places, self.element, array, place);
                }
                packed.first().map(|(_, bytes)| *bytes)
            } else if self.direct(peer).is_none() {
                let (now, later) = rest.split_at(self.bytes(peer));
                rest = later;
                Some(now)
            } else {
                None
            };
            if let Some(bytes) = came {
                unpack(&peer.places, self.element, bytes, buffer);
            }
        }
        Ok(())
    }

    /// Where the messages of others are received, in ascending order of ranks.
    fn targets<'b>(
        &self,
        staging: &'b mut [u8],
        buffer: &'b mut [u8],
    ) -> Vec<(usize, &'b mut [u8])> {
        let others = self.peers.iter().filter(|peer| peer.rank != self.own);
        let (mut direct, unpacked): (Vec<_>, Vec<_>) =
            others.partition(|peer| self.direct(peer).is_some());
        let mut targets = Vec::with_capacity(self.peers.len());
        let mut rest = staging;
        for peer in unpacked {
            let (now, later) = rest.split_at_mut(self.bytes(peer));
            targets.push((peer.rank, now));
            rest = later;
        }
        direct.sort_by_key(|peer| self.direct(peer));
        let (mut rest, mut gone) = (buffer, 0);
        for peer in direct {
            let skip = self.direct(peer).unwrap_or(0) - gone;
            let (now, later) = rest.split_at_mut(skip).1.split_at_mut(self.bytes(peer));
            gone += skip + now.len();
            targets.push((peer.rank, now));
            rest = later;
        }
        targets.sort_by_key(|(rank, _)| *rank);
        targets
    }
}
