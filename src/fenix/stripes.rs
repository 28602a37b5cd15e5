//! Of what each part that a rank has lost can be rebuilt, and how long the parts are.

use std::sync::Arc;

use super::bytes::Bytes;
use super::set::{Cut, Set};
use super::share::Description;
use super::snapshot::Entry;
use super::{Error, Result};
use crate::pages::Room;

/// A part of what a rank has of an entry.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Chunk(usize),
    Guard,
}

/// Something that was lost: the XOR of some parts of other ranks.
pub(super) struct Stripe {
    pub(super) lost: Part,
    pub(super) sources: Vec<(usize, Part)>,
}

/// Everything of an entry that the rank at `lost` had.
pub(super) fn stripes(set: &Set, lost: usize) -> Vec<Stripe> {
    let chunks = set.guards_of(lost).into_iter().map(|(chunk, guard)| {
        let guarded = set.guarded_by(guard).into_iter();
        let others = guarded.filter(|(position, _)| *position != lost);
        let others = others.map(|(position, chunk)| (position, Part::Chunk(chunk)));
        Stripe {
            lost: Part::Chunk(chunk),
            // The guard comes first, and with it the work, which is so spread over all ranks.
            sources: [(guard, Part::Guard)].into_iter().chain(others).collect(),
        }
    });
    let guarded = set.guarded_by(lost).into_iter();
    let guard = Stripe {
        lost: Part::Guard,
        sources: guarded.map(|(p, chunk)| (p, Part::Chunk(chunk))).collect(),
    };
    chunks.chain([guard]).collect()
}

impl Stripe {
    /// Which of the sources gathers the others.
    pub(super) fn worker(&self, step: usize) -> usize {
        match self.lost {
            Part::Chunk(_) => self.sources[0].0,
            Part::Guard => self.sources[step % self.sources.len()].0,
        }
    }
}

impl Part {
    fn chunk(self) -> usize {
        match self {
            Part::Chunk(chunk) => chunk,
            Part::Guard => 0,
        }
    }

    pub(super) fn segment(self, entry: &Entry, step: usize) -> Option<&Arc<Room>> {
        match self {
            Part::Chunk(chunk) => entry.own.segment(chunk, step),
            Part::Guard => entry.guard.as_ref()?.segment(0, step),
        }
    }
}

/// How the parts of one entry are cut on each rank, by position.
pub(super) struct Layout {
    pub(super) shares: Vec<Cut>,
    pub(super) guards: Vec<Cut>,
}

impl Layout {
    pub(super) fn new(set: &Set, shares: &[Description]) -> Layout {
        let lengths: Vec<_> = shares.iter().map(Description::length).collect();
        let guard = |position| set.guard_cut(position, &lengths);
        Layout {
            shares: lengths.iter().map(|length| set.cut(*length)).collect(),
            guards: (0..set.size()).map(guard).collect(),
        }
    }

    pub(super) fn length(&self, position: usize, part: Part, step: usize) -> usize {
        let cut = match part {
            Part::Chunk(_) => self.shares[position],
            Part::Guard => self.guards[position],
        };
        cut.segment_length(part.chunk(), step)
    }

    /// How many steps it takes to bring back what was at `position`.
    pub(super) fn steps(&self, position: usize) -> usize {
        let (share, guard) = (self.shares[position], self.guards[position]);
        share.steps().max(guard.steps())
    }

    /// Whether an entry of the rank at `position` has every byte that others may ask it for. A part that is missing
    /// would count as zeros in a rebuilt share.
    pub(super) fn check(&self, position: usize, entry: &Entry) -> Result<()> {
        let guard = entry.guard.as_ref();
        let has = |bytes: &Bytes, cut| bytes.cut() == cut && bytes.is_whole();
        match has(&entry.own, self.shares[position])
            && guard.is_some_and(|guard| has(guard, self.guards[position]))
        {
            true => Ok(()),
            false => Err(Error::Invariant("a stored share or its guard has a gap")),
        }
    }
}
