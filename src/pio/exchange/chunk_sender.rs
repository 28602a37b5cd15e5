//! Sends messages in chunks, each as soon as it is filled, so that its receiver finds it in the processor's cache.
//!
//! There is one chunk for each message and a few more that are under way. A sender that needs another one waits for the
//! oldest of those, so receivers must accept chunks from any sender.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Result;
use crate::comm::{Comm, Filled, Tag, Underway};
use crate::pio::pool::BufferPool;

/// Bytes that make a chunk worth sending.
pub(super) const WORTHWHILE: usize = if cfg!(test) { 16 } else { 64 << 10 };
/// Chunks beyond one for each message. With fewer, a sender that shares its core with receivers waits more often.
const MORE: usize = 3;

/// How a [`super::splitter::Splitter`] sends chunks.
pub(super) trait SendChunks {
    fn chunk(&mut self) -> Filled;
    fn send(&mut self, to: usize, chunk: Filled);
}

/// For a splitter that only copies.
pub(super) struct NoChunks;

impl SendChunks for NoChunks {
    fn chunk(&mut self) -> Filled {
        Filled::default()
    }

    fn send(&mut self, _to: usize, _chunk: Filled) {}
}

/// Buffers for chunks.
#[derive(Default)]
pub(super) struct ChunkPool {
    free: Vec<Vec<u8>>,
    pool: Arc<BufferPool>,
}

impl ChunkPool {
    /// For `messages` at once, in chunks of at most `longest` bytes.
    pub(super) fn new(pool: &Arc<BufferPool>, messages: usize, longest: usize) -> Result<Self> {
        let mut chunks = Self {
            free: Vec::new(),
            pool: pool.clone(),
        };
        let number = if messages > 0 { messages + MORE } else { 0 };
        for _ in 0..number {
            let buffer = pool.borrow(longest as u64)?;
            chunks.free.push(buffer.into_bytes());
        }
        Ok(chunks)
    }
}

impl Drop for ChunkPool {
    fn drop(&mut self) {
        let free = self.free.drain(..);
        free.for_each(|buffer| self.pool.give_back(buffer));
    }
}

pub(super) struct ChunkSender<'a, C: Comm> {
    comm: &'a C,
    tag: Tag,
    chunks: &'a mut ChunkPool,
    under_way: VecDeque<(C::Underway<Filled>, Arc<Filled>)>,
    verdict: Result<()>,
}

impl<'a, C: Comm> ChunkSender<'a, C> {
    pub(super) fn new(comm: &'a C, tag: Tag, chunks: &'a mut ChunkPool) -> Self {
        Self {
            comm,
            tag,
            chunks,
            under_way: VecDeque::new(),
            verdict: Ok(()),
        }
    }

    /// Waits until all chunks have been sent.
    pub(super) fn finish(mut self) -> Result<()> {
        while !self.under_way.is_empty() {
            self.reclaim();
        }
        self.verdict
    }

    /// Waits for the oldest chunk under way and takes its buffer back.
    fn reclaim(&mut self) {
        let Some((sending, chunk)) = self.under_way.pop_front() else {
            return;
        };
        self.note(sending.finish().map(drop));
        if let Some(chunk) = Arc::into_inner(chunk) {
            self.chunks.free.push(chunk.into_bytes());
        }
    }

    fn note(&mut self, ended: crate::comm::Result<()>) {
        if self.verdict.is_ok() {
            self.verdict = ended.map_err(Into::into);
        }
    }
}

impl<C: Comm> SendChunks for ChunkSender<'_, C> {
    fn chunk(&mut self) -> Filled {
        while self.chunks.free.is_empty() && !self.under_way.is_empty() {
            self.reclaim();
        }
        Filled::new(self.chunks.free.pop().unwrap_or_default())
    }

    fn send(&mut self, to: usize, chunk: Filled) {
        let chunk = Arc::new(chunk);
        match self.comm.start(self.tag, vec![(to, chunk.clone())], vec![]) {
            Ok(sending) => self.under_way.push_back((sending, chunk)),
            Err(error) => self.note(Err(error)),
        }
    }
}
