//! Schedules: which blocks of which flows are under way at the same time.
//!
//! All ranks walk through the same steps; a step has one block of each of some flows.

use super::plan::{Chunk, Flow, Workers};

/// The usual block: as long as MPI sends at once. From 64 KiB on, headers included, Open MPI sends over TCP only after a
/// handshake (`btl_tcp_eager_limit`), which takes longer than the block; shorter blocks cost more system calls.
const MESSAGE: u64 = 60 << 10;

/// What may be used to carry out flows; the same on all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of a block, if they are not left to the schedule.
    pub(crate) block: Option<u64>,
    /// Bytes of all blocks that a rank holds; blocks are shortened to fit. Without a budget they keep their length.
    pub(crate) budget: Option<u64>,
    /// Steps that a rank starts before it waits for what others send it for the first of them.
    pub(crate) ahead: usize,
    /// Whether ranks of one node may open each other's files.
    pub(crate) near: bool,
}

/// The blocks of some flows from `start` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) flow: usize,
    start: u64,
    block: u64,
    index: usize,
}

impl Cut {
    /// The block of a chunk; empty where the chunk has ended.
    pub(super) fn of(&self, chunk: &Chunk) -> Chunk {
        Chunk {
            offset: chunk.offset + self.start,
            length: self.block.min(chunk.length.saturating_sub(self.start)),
            ..*chunk
        }
    }

    pub(super) fn all(&self, chunks: &[Chunk]) -> Vec<(usize, Chunk)> {
        let blocks = chunks.iter().map(|chunk| self.of(chunk)).enumerate();
        blocks.filter(|(_, block)| block.length > 0).collect()
    }

    /// Which of some ranks computes this block.
    pub(super) fn worker(&self, ranks: &[usize]) -> usize {
        ranks[self.index % ranks.len()]
    }
}

/// Hands out the steps one after the other.
pub(super) struct Schedule {
    pub(super) flows: Vec<Flow>,
    block: u64,
    /// Flows in each step.
    width: usize,
    /// The first flow of the next step, and which of its blocks is next.
    next: (usize, usize),
}

impl Schedule {
    /// Takes as many flows and as long blocks as the budget allows, first fewer flows, then shorter blocks.
    pub(super) fn new(flows: Vec<Flow>, limits: Limits) -> Schedule {
        let longest = flows.iter().map(Flow::length).max().unwrap_or(0);
        let block = limits.block.unwrap_or(MESSAGE);
        let mut schedule = Schedule {
            block: block.max(1),
            width: flows.len().max(1),
            flows,
            next: (0, 0),
        };
        let Some(budget) = limits.budget else {
            return schedule;
        };
        schedule.block = schedule.block.min(longest).max(1);
        let underway = limits.ahead as u64 + 1;
        while schedule.memory(underway) > budget && schedule.width > 1 {
            schedule.width = schedule.width.div_ceil(2);
        }
        while schedule.memory(underway) > budget && schedule.block > 1 {
            schedule.block = schedule.block.div_ceil(2);
        }
        schedule
    }

    /// Bytes that the busiest rank needs for the blocks of the steps under way.
    fn memory(&self, underway: u64) -> u64 {
        let groups = self.flows.chunks(self.width);
        let ranks = groups.flat_map(|group| blocks_of_ranks(group, 0));
        let busiest = ranks.map(|blocks| blocks.own + blocks.passing).max();
        busiest.unwrap_or(0) as u64 * underway * self.block
    }

    pub(super) fn next_step(&mut self) -> Option<Vec<Cut>> {
        while self.next.0 < self.flows.len() {
            let (first, index) = self.next;
            let cuts = self.cuts(first, index);
            if !cuts.is_empty() {
                self.next.1 += 1;
                return Some(cuts);
            }
            self.next = (first + self.width, 0);
        }
        None
    }

    /// The cuts of the first steps, one more than `ahead`.
    pub(super) fn first_steps(&self, ahead: usize) -> impl Iterator<Item = Cut> {
        let steps = (0..=ahead).map(|index| self.cuts(0, index));
        steps.take_while(|cuts| !cuts.is_empty()).flatten()
    }

    fn cuts(&self, first: usize, index: usize) -> Vec<Cut> {
        let start = index as u64 * self.block;
        let flows = first..self.flows.len().min(first + self.width);
        let reached = flows.filter(|flow| start < self.flows[*flow].length());
        let cut = |flow| Cut {
            flow,
            start,
            block: self.block,
            index,
        };
        reached.map(cut).collect()
    }
}

/// How many blocks pass through a rank at the same time, and how long they are: those that it receives to compute with,
/// and those that it computes for others.
pub(crate) fn passing_blocks(flows: &[Flow], limits: Limits, rank: usize) -> (usize, usize) {
    let longest = chunks_of(flows)
        .map(|chunk| chunk.length)
        .max()
        .unwrap_or(0);
    let block = limits.block.unwrap_or(longest).clamp(1, longest.max(1));
    let steps = usize::try_from(longest.div_ceil(block)).unwrap_or(usize::MAX);
    let turns = flows.iter().map(|flow| match &flow.workers {
        Workers::AtTargets => 1,
        Workers::InTurn(ranks) => ranks.len(),
    });
    let turns = turns.max();
    let passing = (0..steps.min(turns.unwrap_or(0))).filter_map(|index| {
        let blocks = blocks_of_ranks(flows, index);
        blocks.get(rank).map(|blocks| blocks.passing)
    });
    let underway = steps.min(limits.ahead.saturating_add(1));
    (passing.max().unwrap_or(0) * underway, block as usize)
}

/// Blocks that a rank holds in a step.
#[derive(Clone, Copy, Default)]
struct HeldBlocks {
    /// Of its own streams.
    own: usize,
    passing: usize,
}

/// For the step of the flows with this index, by rank.
fn blocks_of_ranks(flows: &[Flow], index: usize) -> Vec<HeldBlocks> {
    let mut blocks = vec![HeldBlocks::default(); ranks_of(flows)];
    chunks_of(flows).for_each(|chunk| blocks[chunk.rank].own += 1);
    for flow in flows {
        let sources = flow.sources.len();
        match &flow.workers {
            Workers::AtTargets if flow.is_copy() => {}
            Workers::AtTargets => {
                let targets = flow.targets.iter();
                targets.for_each(|target| blocks[target.rank].passing += sources);
            }
            Workers::InTurn(workers) => {
                let worker = workers[index % workers.len()];
                blocks[worker].passing += sources - 1 + flow.targets.len();
            }
        }
    }
    blocks
}

/// One more than the highest rank that takes part. Workers are sources or targets.
fn ranks_of(flows: &[Flow]) -> usize {
    let ranks = chunks_of(flows).map(|chunk| chunk.rank + 1);
    ranks.max().unwrap_or(0)
}

fn chunks_of(flows: &[Flow]) -> impl Iterator<Item = &Chunk> {
    flows
        .iter()
        .flat_map(|flow| flow.sources.iter().chain(&flow.targets))
}
