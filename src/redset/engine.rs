//! Carries out flows, block by block, with reading, network, arithmetic and writing overlapping.
//!
//! All ranks walk through the same steps; a step has one block of each of some flows. Five steps are
//! under way at once, each in another stage: while the blocks of step `t` travel from their sources to
//! the workers and the results of step `t - 2` travel from the workers to their targets, this rank reads
//! step `t + 1`, computes step `t - 1` and writes step `t - 3`. Blocks come from a pool, so memory is
//! bounded by [`BUDGET`] whatever the files are.
//!
//! A rank whose disk fails goes on, because the others wait for its blocks; its caller gets the error
//! at the end and tells the others.

use std::collections::VecDeque;

use super::Result;
use super::flow::{Flow, Part, Place, Workers};
use crate::comm::{Comm, Tag};
use crate::erasure;

const TAG: Tag = 0x7265;
/// Blocks hold at most so many bytes: small enough for a processor's cache, large enough for a network.
const BLOCK: u64 = 256 << 10;
/// All blocks together.
const BUDGET: u64 = 24 << 20;

/// The bytes of this rank.
pub(super) trait Streams {
    /// Fills `block` from `offset` on. Data end in zeros, and so does what cannot be read, because the
    /// others wait for the block; the streams remember why.
    fn read(&mut self, part: Part, offset: u64, block: &mut [u8]);
    fn write(&mut self, part: Part, offset: u64, block: &[u8]) -> Result<()>;
}

/// Limits for the buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) block: u64,
    pub(super) budget: u64,
}

impl Limits {
    /// Of one rank in a process of its own; `largest` is the longest message the user wants.
    pub(super) fn usual(largest: Option<i32>) -> Limits {
        let largest = largest.and_then(|bytes| u64::try_from(bytes).ok());
        Limits {
            block: largest.unwrap_or(BLOCK).clamp(1, BUDGET),
            budget: BUDGET,
        }
    }

    /// For `ranks` ranks in one process.
    pub(super) fn shared_by(self, ranks: usize) -> Limits {
        Limits {
            budget: self.budget / ranks as u64,
            ..self
        }
    }
}

/// Carries out `flows`; `streams` are the bytes of this rank.
///
/// # Collective
/// Called by all ranks of `comm` with the same flows and limits. The error is this rank's own: a broken
/// transport at once, a failed write after all ranks are done.
pub(super) fn run<C: Comm>(
    comm: &C,
    flows: &[Flow],
    limits: Limits,
    streams: &mut impl Streams,
) -> Result<()> {
    let schedule = Schedule::new(flows, limits);
    let mut machine = Machine {
        comm,
        flows,
        rank: comm.rank(),
        disk: Disk {
            streams,
            outcome: Ok(()),
        },
        pool: Pool::default(),
    };
    let mut steps = schedule.steps();
    // The steps under way, oldest first: written, returned, computed, gathered, read.
    let mut line: VecDeque<Option<Step>> = VecDeque::from([const { None }; 4]);
    loop {
        line.push_back(steps.next().map(|cuts| machine.plan(cuts)));
        if line.iter().all(Option::is_none) {
            return machine.disk.outcome;
        }
        machine.advance(&mut line)?;
        line.pop_front();
    }
}

/// One block of one flow.
#[derive(Clone, Copy, Debug)]
struct Cut {
    flow: usize,
    start: u64,
    length: usize,
    /// Which block of its flow it is.
    index: usize,
}

/// Which blocks of which flows make up each step; the same on all ranks.
struct Schedule<'a> {
    flows: &'a [Flow],
    block: u64,
    /// Flows in each step.
    width: usize,
}

impl Schedule<'_> {
    /// Takes as many flows and as long blocks as the budget allows, first fewer flows, then shorter
    /// blocks.
    fn new(flows: &[Flow], limits: Limits) -> Schedule<'_> {
        let longest = flows.iter().map(|flow| flow.length).max().unwrap_or(0);
        let mut schedule = Schedule {
            flows,
            block: limits.block.min(longest).max(1),
            width: flows.len().max(1),
        };
        while schedule.memory() > limits.budget && schedule.width > 1 {
            schedule.width = schedule.width.div_ceil(2);
        }
        while schedule.memory() > limits.budget && schedule.block > 1 {
            schedule.block = schedule.block.div_ceil(2);
        }
        schedule
    }

    /// What the busiest rank needs for the blocks under way.
    fn memory(&self) -> u64 {
        let groups = self.flows.chunks(self.width);
        let busiest = groups.filter_map(|group| blocks_of_ranks(group).into_iter().max());
        busiest.max().unwrap_or(0) * self.block
    }

    fn steps(&self) -> impl Iterator<Item = Vec<Cut>> {
        let groups = self.flows.chunks(self.width).enumerate();
        groups.flat_map(move |(group, flows)| {
            let longest = flows.iter().map(|flow| flow.length).max().unwrap_or(0);
            let blocks = longest.div_ceil(self.block);
            (0..blocks).map(move |index| self.cuts(group * self.width, flows, index))
        })
    }

    fn cuts(&self, first: usize, flows: &[Flow], index: u64) -> Vec<Cut> {
        let start = index * self.block;
        let reached = flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| start < flow.length);
        let cut = |(number, flow): (usize, &Flow)| Cut {
            flow: first + number,
            start,
            length: self.block.min(flow.length - start) as usize,
            index: index as usize,
        };
        reached.map(cut).collect()
    }
}

/// Blocks that each rank holds while the flows of a step are under way: it reads in three stages,
/// gathers in two, has results in three, and gets results of others in two.
fn blocks_of_ranks(group: &[Flow]) -> Vec<u64> {
    let ranks = group
        .iter()
        .flat_map(Flow::ranks)
        .max()
        .map_or(0, |rank| rank + 1);
    let mut blocks = vec![0; ranks];
    for (number, flow) in group.iter().enumerate() {
        let sources = flow.sources.len() as u64;
        flow.sources
            .iter()
            .for_each(|source| blocks[source.rank] += 3);
        match &flow.workers {
            Workers::AtTargets => {
                let workers = flow.targets.iter().map(|target| target.rank);
                workers.for_each(|worker| blocks[worker] += 2 * sources + 3);
            }
            Workers::InTurn(workers) => {
                flow.targets
                    .iter()
                    .for_each(|target| blocks[target.rank] += 2);
                let worker = workers[number % workers.len()];
                blocks[worker] += 2 * sources + 3 * flow.targets.len() as u64;
            }
        }
    }
    blocks
}

/// Unused blocks. The last one given back is handed out first: it is still in the cache.
#[derive(Default)]
struct Pool(Vec<Vec<u8>>);

impl Pool {
    fn take(&mut self, length: usize) -> Vec<u8> {
        let mut block = self.0.pop().unwrap_or_default();
        block.resize(length, 0);
        block
    }

    fn give(&mut self, blocks: impl IntoIterator<Item = Vec<u8>>) {
        // A block that went on as a result has left an empty one behind.
        self.0
            .extend(blocks.into_iter().filter(|block| block.capacity() > 0));
    }
}

/// This rank's part in a step.
#[derive(Default)]
struct Step {
    /// Own blocks that some worker needs.
    reads: Vec<Read>,
    /// Blocks of other ranks that this rank computes with.
    gathers: Vec<Arrival>,
    tasks: Vec<Task>,
    results: Vec<Outcome>,
    /// Results that another rank computes for this one.
    returns: Vec<Arrival>,
}

struct Read {
    place: Place,
    length: usize,
    workers: Vec<usize>,
    block: Vec<u8>,
}

/// A block that comes from another rank.
struct Arrival {
    from: usize,
    length: usize,
    /// Where it is to be written, if it is a result.
    target: Option<Place>,
    block: Vec<u8>,
}

/// One computation: some rows of a flow.
struct Task {
    flow: usize,
    length: usize,
    inputs: Vec<Input>,
    rows: std::ops::Range<usize>,
}

/// Which block of the step a source is.
#[derive(Clone, Copy)]
enum Input {
    Read(usize),
    Gathered(usize),
}

/// A computed block and where it goes.
struct Outcome {
    target: Place,
    block: Vec<u8>,
}

/// The bytes of this rank, and its first failure to write them.
struct Disk<'a, S> {
    streams: &'a mut S,
    outcome: Result<()>,
}

impl<S: Streams> Disk<'_, S> {
    fn read(&mut self, place: Place, block: &mut [u8]) {
        self.streams.read(place.part, place.offset, block);
    }

    fn write(&mut self, place: Place, block: &[u8]) {
        if self.outcome.is_ok() {
            self.outcome = self.streams.write(place.part, place.offset, block);
        }
    }
}

struct Machine<'a, C, S> {
    comm: &'a C,
    flows: &'a [Flow],
    rank: usize,
    disk: Disk<'a, S>,
    pool: Pool,
}

impl<C: Comm, S: Streams> Machine<'_, C, S> {
    /// What this rank has to do in a step.
    fn plan(&self, cuts: Vec<Cut>) -> Step {
        let mut step = Step::default();
        for cut in cuts {
            step.add(self.rank, cut, &self.flows[cut.flow]);
        }
        step
    }

    /// Takes every step in the line through its stage.
    fn advance(&mut self, line: &mut VecDeque<Option<Step>>) -> Result<()> {
        let [written, returned, computed, gathered, read] = line.make_contiguous() else {
            return Ok(());
        };
        let mut sends = Vec::new();
        let mut recvs = Vec::new();
        let Machine {
            comm,
            flows,
            rank,
            disk,
            pool,
        } = self;
        if let Some(step) = gathered {
            for arrival in &mut step.gathers {
                arrival.block = pool.take(arrival.length);
                recvs.push((arrival.from, &mut arrival.block[..]));
            }
            for own in &step.reads {
                let workers = own.workers.iter().filter(|&worker| worker != rank);
                sends.extend(workers.map(|&worker| (worker, &own.block[..])));
            }
        }
        if let Some(step) = returned {
            for arrival in &mut step.returns {
                arrival.block = pool.take(arrival.length);
                recvs.push((arrival.from, &mut arrival.block[..]));
            }
            let away = step.results.iter().filter(|r| r.target.rank != *rank);
            sends.extend(away.map(|result| (result.target.rank, &result.block[..])));
        }
        let work = || {
            if let Some(step) = written {
                step.write(disk, *rank, pool);
            }
            if let Some(step) = computed {
                step.compute(flows, pool);
            }
            if let Some(step) = read {
                step.read(disk, pool);
            }
        };
        Ok(comm.transfer_while(TAG, &sends, &mut recvs, work)?)
    }
}

impl Step {
    fn add(&mut self, rank: usize, cut: Cut, flow: &Flow) {
        match &flow.workers {
            Workers::AtTargets => {
                let workers: Vec<_> = flow.targets.iter().map(|target| target.rank).collect();
                self.add_reads(rank, cut, flow, &workers);
                for (row, worker) in workers.into_iter().enumerate() {
                    self.add_task(rank, cut, flow, worker, row..row + 1);
                }
            }
            Workers::InTurn(ranks) => {
                let worker = ranks[(cut.index + cut.flow) % ranks.len()];
                self.add_reads(rank, cut, flow, &[worker]);
                self.add_task(rank, cut, flow, worker, 0..flow.rows.len());
            }
        }
    }

    /// The sources of a flow that are this rank's own. Comes before the tasks that use them.
    fn add_reads(&mut self, rank: usize, cut: Cut, flow: &Flow, workers: &[usize]) {
        let own = flow.sources.iter().filter(|place| place.rank == rank);
        self.reads.extend(own.map(|place| Read {
            place: cut.of(*place),
            length: cut.length,
            workers: workers.to_vec(),
            block: Vec::new(),
        }));
    }

    fn add_task(
        &mut self,
        rank: usize,
        cut: Cut,
        flow: &Flow,
        worker: usize,
        rows: std::ops::Range<usize>,
    ) {
        let targets = || flow.targets[rows.clone()].iter();
        if worker != rank {
            let own = targets().filter(|target| target.rank == rank);
            self.returns
                .extend(own.map(|target| Arrival::new(worker, cut, Some(cut.of(*target)))));
            return;
        }
        let inputs = flow
            .sources
            .iter()
            .map(|source| self.input(rank, cut, *source));
        let inputs = inputs.collect();
        self.results.extend(targets().map(|target| Outcome {
            target: cut.of(*target),
            block: Vec::new(),
        }));
        self.tasks.push(Task {
            flow: cut.flow,
            length: cut.length,
            inputs,
            rows,
        });
    }

    fn input(&mut self, rank: usize, cut: Cut, source: Place) -> Input {
        if source.rank != rank {
            self.gathers.push(Arrival::new(source.rank, cut, None));
            return Input::Gathered(self.gathers.len() - 1);
        }
        let place = cut.of(source);
        let own = self.reads.iter().rposition(|read| read.place == place);
        Input::Read(own.unwrap_or(0))
    }

    fn read(&mut self, disk: &mut Disk<impl Streams>, pool: &mut Pool) {
        for own in &mut self.reads {
            own.block = pool.take(own.length);
            disk.read(own.place, &mut own.block);
        }
    }

    fn compute(&mut self, flows: &[Flow], pool: &mut Pool) {
        let mut results = self.results.iter_mut();
        for task in &self.tasks {
            let results: Vec<_> = results.by_ref().take(task.rows.len()).collect();
            let rows = &flows[task.flow].rows[task.rows.clone()];
            match (&task.inputs[..], rows) {
                // A copy: the block that came is the result.
                ([Input::Gathered(index)], [row]) if row[..] == [1] => {
                    for result in results {
                        result.block = std::mem::take(&mut self.gathers[*index].block);
                    }
                }
                _ => task.combine(rows, &self.reads, &self.gathers, results, pool),
            }
        }
        pool.give(self.reads.drain(..).map(|read| read.block));
        pool.give(self.gathers.drain(..).map(|arrival| arrival.block));
    }

    fn write(&mut self, disk: &mut Disk<impl Streams>, rank: usize, pool: &mut Pool) {
        for result in self.results.iter().filter(|r| r.target.rank == rank) {
            disk.write(result.target, &result.block);
        }
        for arrival in &self.returns {
            if let Some(target) = arrival.target {
                disk.write(target, &arrival.block);
            }
        }
        pool.give(self.results.drain(..).map(|result| result.block));
        pool.give(self.returns.drain(..).map(|arrival| arrival.block));
    }
}

impl Task {
    fn combine(
        &self,
        rows: &[Vec<u8>],
        reads: &[Read],
        gathers: &[Arrival],
        results: Vec<&mut Outcome>,
        pool: &mut Pool,
    ) {
        let inputs = self.inputs.iter().map(|input| match *input {
            Input::Read(index) => &reads[index].block[..],
            Input::Gathered(index) => &gathers[index].block[..],
        });
        let inputs: Vec<_> = inputs.collect();
        let rows: Vec<_> = rows.iter().map(|row| &row[..]).collect();
        let mut targets = Vec::with_capacity(results.len());
        for result in results {
            result.block = pool.take(self.length);
            targets.push(&mut result.block[..]);
        }
        erasure::combine(&mut targets, &rows, &inputs, false);
    }
}

impl Arrival {
    fn new(from: usize, cut: Cut, target: Option<Place>) -> Arrival {
        Arrival {
            from,
            length: cut.length,
            target,
            block: Vec::new(),
        }
    }
}

impl Cut {
    fn of(&self, place: Place) -> Place {
        Place {
            offset: place.offset + self.start,
            ..place
        }
    }
}
