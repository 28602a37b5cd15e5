//! Parts of messages, sent as soon as they are filled, while their receivers find them in the processor's cache.
//!
//! There is a part for each message and a few that are under way: who needs another one waits for the oldest of these.
//! So receivers must take what comes from any sender.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::memory::Spare;
use super::Result;
use crate::comm::{Comm, Filled, Tag, Underway};

/// Bytes that make a part worth sending.
pub(super) const WORTHWHILE: usize = if cfg!(test) { 16 } else { 64 << 10 };
/// How many parts may be under way while all messages have one: with fewer, a sender that shares its core with receivers
/// waits for them more often.
const MORE: usize = 3;

pub(super) type Part = Filled;

/// What a [`super::dealer::Dealer`] sends parts with.
pub(super) trait Post {
    fn part(&mut self) -> Part;
    fn send(&mut self, to: usize, part: Part);
}

/// Where nothing is sent.
pub(super) struct NoPost;

impl Post for NoPost {
    fn part(&mut self) -> Part {
        Part::default()
    }

    fn send(&mut self, _to: usize, _part: Part) {}
}

/// Memory for parts.
#[derive(Default)]
pub(super) struct Parts {
    free: Vec<Vec<u8>>,
    spare: Arc<Spare>,
}

impl Parts {
    /// For so many messages at once, in parts of at most so many bytes.
    pub(super) fn new(spare: &Arc<Spare>, messages: usize, longest: usize) -> Result<Self> {
        let mut parts = Self {
            free: Vec::new(),
            spare: spare.clone(),
        };
        let number = if messages > 0 { messages + MORE } else { 0 };
        for _ in 0..number {
            let room = spare.borrow(longest as u64)?;
            parts.free.push(room.into_bytes());
        }
        Ok(parts)
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let free = self.free.drain(..);
        free.for_each(|room| self.spare.give_back(room));
    }
}

pub(super) struct Outbox<'a, C: Comm> {
    comm: &'a C,
    tag: Tag,
    parts: &'a mut Parts,
    under_way: VecDeque<(C::Underway<Part>, Arc<Part>)>,
    verdict: Result<()>,
}

impl<'a, C: Comm> Outbox<'a, C> {
    pub(super) fn new(comm: &'a C, tag: Tag, parts: &'a mut Parts) -> Self {
        Self {
            comm,
            tag,
            parts,
            under_way: VecDeque::new(),
            verdict: Ok(()),
        }
    }

    /// Waits until all parts are with their receivers.
    pub(super) fn finish(mut self) -> Result<()> {
        while !self.under_way.is_empty() {
            self.take_back();
        }
        self.verdict
    }

    /// The oldest part under way, when it has arrived.
    fn take_back(&mut self) {
        let Some((sending, part)) = self.under_way.pop_front() else {
            return;
        };
        self.note(sending.finish().map(drop));
        if let Some(part) = Arc::into_inner(part) {
            self.parts.free.push(part.into_bytes());
        }
    }

    fn note(&mut self, ended: crate::comm::Result<()>) {
        if self.verdict.is_ok() {
            self.verdict = ended.map_err(Into::into);
        }
    }
}

impl<C: Comm> Post for Outbox<'_, C> {
    fn part(&mut self) -> Part {
        while self.parts.free.is_empty() && !self.under_way.is_empty() {
            self.take_back();
        }
        Part::new(self.parts.free.pop().unwrap_or_default())
    }

    fn send(&mut self, to: usize, part: Part) {
        let part = Arc::new(part);
        match self.comm.start(self.tag, vec![(to, part.clone())], vec![]) {
            Ok(sending) => self.under_way.push_back((sending, part)),
            Err(error) => self.note(Err(error)),
        }
    }
}
