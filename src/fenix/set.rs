//! The ranks that protect each other, and which of them protects what.
//!
//! A share is cut into chunks, one for each rank that protects it; a rank's *guard* is the XOR of the
//! chunks it protects. In mode 1 there is one chunk, and the guard is a copy of it. In mode 5 every rank of
//! the set guards one chunk of each other rank. A chunk is stored and sent in segments.

use std::ops::Range;

use super::memory::SEGMENT;
use super::placing::Sets;
use super::{Error, Policy, Result};

/// How many bytes there are and how they are cut; the same on all ranks that know the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    length: u64,
    chunks: u64,
    segment: u64,
}

impl Cut {
    fn chunk_length(&self) -> u64 {
        self.length.div_ceil(self.chunks)
    }

    pub(super) fn chunks(&self) -> usize {
        self.chunks as usize
    }

    fn chunk(&self, chunk: usize) -> Range<u64> {
        let bound = |chunk| self.length.min(chunk * self.chunk_length());
        bound(chunk as u64)..bound(chunk as u64 + 1)
    }

    /// How many segments the longest chunk has.
    pub(super) fn steps(&self) -> usize {
        self.chunk_length().div_ceil(self.segment) as usize
    }

    /// The bytes of a segment; none where the chunk has ended.
    pub(super) fn segment(&self, chunk: usize, step: usize) -> Range<u64> {
        let Range { start, end } = self.chunk(chunk);
        let bound = |step| end.min(start + step * self.segment);
        bound(step as u64)..bound(step as u64 + 1)
    }

    pub(super) fn segment_length(&self, chunk: usize, step: usize) -> usize {
        let Range { start, end } = self.segment(chunk, step);
        (end - start) as usize
    }

    /// The lengths of all segments, in the order in which they are filled.
    pub(super) fn lengths(self) -> impl Iterator<Item = usize> + Clone {
        let all = (0..self.steps()).flat_map(move |s| (0..self.chunks()).map(move |c| (c, s)));
        let lengths = all.map(move |(chunk, step)| self.segment_length(chunk, step));
        lengths.filter(|length| *length > 0)
    }

    /// Which segment holds the byte at `offset`, and where in it the byte is.
    pub(super) fn find(&self, offset: u64) -> (usize, usize, usize) {
        let chunk = offset / self.chunk_length();
        let offset = offset % self.chunk_length();
        let (step, within) = (offset / self.segment, offset % self.segment);
        (chunk as usize, step as usize, within as usize)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Set {
    /// By position.
    ranks: Vec<usize>,
    mine: usize,
    parity: bool,
}

impl Set {
    pub(super) fn of(policy: &Policy, rank: usize, ranks: usize) -> Result<Set> {
        let (members, parity) = match *policy {
            Policy::Copy { separation } => (ring(separation, rank, ranks)?, false),
            Policy::Parity {
                separation,
                set_size,
            } => (Policy::set_of(separation, set_size, rank, ranks), true),
        };
        Set::new(members, rank, parity)
    }

    /// The set of a rank that was placed by failure domains.
    pub(super) fn placed(policy: &Policy, sets: &Sets, rank: usize) -> Result<Set> {
        let parity = matches!(policy, Policy::Parity { .. });
        Set::new(sets.members(rank)?, rank, parity)
    }

    fn new(ranks: Vec<usize>, rank: usize, parity: bool) -> Result<Set> {
        let mine = ranks.iter().position(|member| *member == rank);
        let mine = mine.ok_or(Error::Invariant("a rank is not in its own set"))?;
        match ranks.len() {
            0 | 1 => Err(Error::Invariant("a rank is alone in its set")),
            _ => Ok(Set {
                ranks,
                mine,
                parity,
            }),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.ranks.len()
    }

    /// The position of this rank.
    pub(super) fn mine(&self) -> usize {
        self.mine
    }

    pub(super) fn rank(&self, position: usize) -> usize {
        self.ranks[position]
    }

    /// The other positions.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let mine = self.mine;
        (0..self.size()).filter(move |position| *position != mine)
    }

    /// Who guards which chunk of a share: (chunk, position).
    pub(super) fn guards_of(&self, position: usize) -> Vec<(usize, usize)> {
        if !self.parity {
            return vec![(0, (position + 1) % self.size())];
        }
        let others = (0..self.size()).filter(|other| *other != position);
        others
            .map(|guard| (chunk_for(position, guard), guard))
            .collect()
    }

    /// Of which chunks a guard is the XOR: (position, chunk).
    pub(super) fn guarded_by(&self, position: usize) -> Vec<(usize, usize)> {
        if !self.parity {
            return vec![((position + self.size() - 1) % self.size(), 0)];
        }
        let others = (0..self.size()).filter(|other| *other != position);
        others
            .map(|share| (share, chunk_for(share, position)))
            .collect()
    }

    pub(super) fn cut(&self, length: u64) -> Cut {
        let chunks = if self.parity { self.size() - 1 } else { 1 } as u64;
        Cut {
            length,
            chunks,
            segment: self.segment(),
        }
    }

    /// How the guard at `position` is cut when the shares are as long as `lengths` says.
    pub(super) fn guard_cut(&self, position: usize, lengths: &[u64]) -> Cut {
        let guarded = self.guarded_by(position).into_iter();
        let chunks = guarded.map(|(share, chunk)| self.cut(lengths[share]).chunk(chunk));
        let lengths = chunks.map(|bytes| bytes.end - bytes.start);
        Cut {
            length: lengths.fold(0, u64::max),
            chunks: 1,
            segment: self.segment(),
        }
    }

    /// Shorter for parity: the segments of a step, which come from all ranks, are used together.
    fn segment(&self) -> u64 {
        if !self.parity {
            return SEGMENT;
        }
        let together = 3 * SEGMENT / 2;
        (together / (self.size() as u64 - 1)).clamp(SEGMENT / 32, SEGMENT / 2)
    }
}

/// The chunk of the share at `position` that `guard` protects.
fn chunk_for(position: usize, guard: usize) -> usize {
    if guard < position { guard } else { guard - 1 }
}

/// Mode 1: each rank is held by the next one.
fn ring(separation: u32, rank: usize, ranks: usize) -> Result<Vec<usize>> {
    let holder = |rank| Policy::partners(separation, rank, ranks).holder;
    let mut ring = vec![rank];
    let mut next = holder(rank);
    while next != rank && ring.len() < ranks {
        ring.push(next);
        next = holder(next);
    }
    if next != rank {
        return Err(Error::Invariant("the holders of copies form no ring"));
    }
    let lowest = (1..ring.len()).fold(0, |low, at| if ring[at] < ring[low] { at } else { low });
    ring.rotate_left(lowest);
    Ok(ring)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_without_its_rank_is_an_error() {
        let refused = |ranks: &[usize], rank| Set::new(ranks.to_vec(), rank, false).is_err();
        assert!(refused(&[1, 2], 0) && refused(&[], 0) && refused(&[0], 0));
        assert!(!refused(&[1, 0], 0));
    }
}
