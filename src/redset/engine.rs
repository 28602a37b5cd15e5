//! Carries out flows, block by block, with reading, network, arithmetic and writing overlapping.
//!
//! All ranks walk through the same steps; a step has one block of each of some flows. A rank reads its
//! blocks of a step and sends them to the workers, computes and writes what it has received meanwhile for
//! an earlier step, and writes the results that others have sent it for one before that. So what it waits
//! for was sent [`AHEAD`] steps ago. Blocks come from a pool; [`BUDGET`] bounds them whatever the files are.
//!
//! A rank whose disk fails goes on, because the others wait for its blocks; its caller gets the error
//! at the end and tells the others.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::flow::{Flow, Part, Place, Workers};
use super::{Config, Error, Result};
use crate::comm::{Comm, Tag, Underway};
use crate::erasure;

const GATHER: Tag = 0x7265;
const RETURN: Tag = 0x7266;
/// How many steps a rank goes on before it needs what others send it for the first of them.
const AHEAD: usize = 2;
/// Steps whose blocks a rank holds at the same time.
const UNDERWAY: u64 = AHEAD as u64 + 1;
/// What a rank reads in a step: small enough for a processor's cache, large enough for a network.
const STEP: u64 = 256 << 10;
/// Shorter blocks cost more than they are worth.
const SHORTEST: u64 = 32 << 10;
/// All blocks together.
const BUDGET: u64 = 24 << 20;

/// The bytes of this rank.
pub(super) trait Streams {
    /// Fills `block` from `offset` on. Data end in zeros, and so does what cannot be read, because the
    /// others wait for the block; the streams remember why.
    fn read(&mut self, part: Part, offset: u64, block: &mut [u8]);
    fn write(&mut self, part: Part, offset: u64, block: &[u8]) -> Result<()>;
}

/// What may be used to carry out flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means {
    /// The longest block, if it is not left to the schedule.
    block: Option<u64>,
    /// For all blocks together.
    pub(super) budget: u64,
    /// Whether ranks of one node may open each other's files.
    pub(super) direct: bool,
}

impl Means {
    /// Of one rank in a process of its own.
    pub(super) fn usual(config: &Config) -> Means {
        let largest = config.buf_size.and_then(|bytes| u64::try_from(bytes).ok());
        Means {
            block: largest.map(|bytes| bytes.clamp(1, BUDGET)),
            budget: BUDGET,
            direct: config.is_direct(),
        }
    }

    /// For `ranks` ranks in one process.
    pub(super) fn shared_by(self, ranks: usize) -> Means {
        Means {
            budget: self.budget / ranks as u64,
            ..self
        }
    }
}

/// Carries out `flows`; `streams` are the bytes of this rank.
///
/// # Collective
/// Called by all ranks of `comm` with the same flows and means. The error is this rank's own: a broken
/// transport at once, a failed write after all ranks are done.
pub(super) fn run<C: Comm>(
    comm: &C,
    flows: &[Flow],
    means: Means,
    streams: &mut impl Streams,
) -> Result<()> {
    let schedule = Schedule::new(flows, means);
    let mut machine = Machine {
        comm,
        flows,
        rank: comm.rank(),
        streams,
        written: Ok(()),
        pool: Pool::default(),
    };
    let (mut gathering, mut returning) = (VecDeque::new(), VecDeque::new());
    for cuts in schedule.steps() {
        gathering.push_back(machine.read(cuts)?);
        if gathering.len() > AHEAD {
            returning.extend(machine.compute_first(&mut gathering)?);
        }
        if returning.len() > AHEAD {
            machine.write_first(&mut returning)?;
        }
    }
    while !gathering.is_empty() {
        returning.extend(machine.compute_first(&mut gathering)?);
    }
    while !returning.is_empty() {
        machine.write_first(&mut returning)?;
    }
    machine.written
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
    fn new(flows: &[Flow], means: Means) -> Schedule<'_> {
        let longest = flows.iter().map(|flow| flow.length).max().unwrap_or(0);
        let block = means.block.unwrap_or_else(|| usual_block(flows));
        let mut schedule = Schedule {
            flows,
            block: block.min(longest).max(1),
            width: flows.len().max(1),
        };
        while schedule.memory() > means.budget && schedule.width > 1 {
            schedule.width = schedule.width.div_ceil(2);
        }
        while schedule.memory() > means.budget && schedule.block > 1 {
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

/// Such that the busiest rank reads about [`STEP`] bytes when all flows go in one step.
fn usual_block(flows: &[Flow]) -> u64 {
    let ranks = flows.iter().flat_map(Flow::ranks).max();
    let mut reads = vec![0; ranks.map_or(0, |rank| rank + 1)];
    let sources = flows.iter().flat_map(|flow| &flow.sources);
    sources.for_each(|source| reads[source.rank] += 1);
    let most = reads.into_iter().max().unwrap_or(0);
    (STEP / most.max(1)).max(SHORTEST)
}

/// Blocks that each rank holds while the flows of a step are under way, times the steps that are.
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
            .for_each(|source| blocks[source.rank] += UNDERWAY);
        match &flow.workers {
            Workers::AtTargets => {
                let workers = flow.targets.iter().map(|target| target.rank);
                workers.for_each(|worker| blocks[worker] += UNDERWAY * sources + 1);
            }
            Workers::InTurn(workers) => {
                flow.targets
                    .iter()
                    .for_each(|target| blocks[target.rank] += UNDERWAY);
                let worker = workers[number % workers.len()];
                blocks[worker] += UNDERWAY * (sources + flow.targets.len() as u64);
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
        let Some(mut block) = self.0.pop() else {
            return vec![0; length];
        };
        block.resize(length, 0);
        block
    }

    /// Room for each of these blocks, and whom it comes from.
    fn take_for<'a>(
        &mut self,
        arrivals: impl Iterator<Item = &'a Arrival>,
    ) -> Vec<(usize, Vec<u8>)> {
        let room = arrivals.map(|arrival| (arrival.from, self.take(arrival.length)));
        room.collect()
    }

    fn give(&mut self, blocks: impl IntoIterator<Item = Vec<u8>>) {
        // A block that went on as a result has left an empty one behind.
        self.0
            .extend(blocks.into_iter().filter(|block| block.capacity() > 0));
    }

    /// Takes back blocks that nobody else uses any more.
    fn give_shared(&mut self, blocks: impl IntoIterator<Item = Arc<Vec<u8>>>) {
        let unshared = blocks
            .into_iter()
            .filter_map(|block| Arc::try_unwrap(block).ok());
        self.give(unshared.collect::<Vec<_>>());
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
    /// Results that another rank computes for this one.
    returns: Vec<(Arrival, Place)>,
}

struct Read {
    place: Place,
    length: usize,
    workers: Vec<usize>,
    block: Arc<Vec<u8>>,
}

/// A block that comes from another rank.
struct Arrival {
    from: usize,
    length: usize,
}

/// One computation: some rows of a flow.
struct Task {
    flow: usize,
    length: usize,
    inputs: Vec<Input>,
    rows: Range<usize>,
    targets: Vec<Place>,
}

/// Which block of the step a source is.
#[derive(Clone, Copy)]
enum Input {
    Read(usize),
    Gathered(usize),
}

/// A step whose sources are on their way to the workers.
struct Gathering<C: Comm> {
    step: Step,
    underway: C::Underway<Vec<u8>>,
}

/// A step whose results are on their way to the targets.
struct Returning<C: Comm> {
    places: Vec<Place>,
    sent: Vec<Arc<Vec<u8>>>,
    underway: C::Underway<Vec<u8>>,
}

struct Machine<'a, C, S> {
    comm: &'a C,
    flows: &'a [Flow],
    rank: usize,
    streams: &'a mut S,
    /// The first failure to write.
    written: Result<()>,
    pool: Pool,
}

impl<C: Comm, S: Streams> Machine<'_, C, S> {
    /// Reads this rank's blocks of a step and sends them to the workers.
    fn read(&mut self, cuts: Vec<Cut>) -> Result<Gathering<C>> {
        let mut step = Step::default();
        for cut in cuts {
            step.add(self.rank, cut, &self.flows[cut.flow])?;
        }
        let mut sends = Vec::new();
        for own in &mut step.reads {
            let mut block = self.pool.take(own.length);
            let Place { part, offset, .. } = own.place;
            self.streams.read(part, offset, &mut block);
            own.block = Arc::new(block);
            let others = own.workers.iter().filter(|&&worker| worker != self.rank);
            sends.extend(others.map(|&worker| (worker, own.block.clone())));
        }
        let recvs = self.pool.take_for(step.gathers.iter());
        let underway = self.comm.start(GATHER, sends, recvs)?;
        Ok(Gathering { step, underway })
    }

    /// Computes what this rank computes in the oldest step, writes its own results and sends the others.
    fn compute_first(&mut self, line: &mut VecDeque<Gathering<C>>) -> Result<Option<Returning<C>>> {
        let Some(Gathering { step, underway }) = line.pop_front() else {
            return Ok(None);
        };
        let mut gathered = underway.finish()?;
        let mut sends = Vec::new();
        for task in &step.tasks {
            for (target, block) in self.compute(task, &step.reads, &mut gathered) {
                if target.rank == self.rank {
                    self.write(target, &block);
                    self.pool.give([block]);
                } else {
                    sends.push((target.rank, Arc::new(block)));
                }
            }
        }
        self.pool.give(gathered);
        self.pool
            .give_shared(step.reads.into_iter().map(|read| read.block));
        let sent = sends.iter().map(|(_, block)| block.clone()).collect();
        let recvs = self
            .pool
            .take_for(step.returns.iter().map(|(arrival, _)| arrival));
        Ok(Some(Returning {
            places: step.returns.iter().map(|(_, place)| *place).collect(),
            sent,
            underway: self.comm.start(RETURN, sends, recvs)?,
        }))
    }

    fn compute(
        &mut self,
        task: &Task,
        reads: &[Read],
        gathered: &mut [Vec<u8>],
    ) -> Vec<(Place, Vec<u8>)> {
        let rows = &self.flows[task.flow].rows[task.rows.clone()];
        if let ([Input::Gathered(index)], [target], [1]) =
            (&task.inputs[..], &task.targets[..], &rows[0][..])
        {
            // A copy: the block that came is the result.
            return vec![(*target, std::mem::take(&mut gathered[*index]))];
        }
        let inputs = task.inputs.iter().map(|input| match *input {
            Input::Read(index) => &reads[index].block[..],
            Input::Gathered(index) => &gathered[index][..],
        });
        let inputs: Vec<_> = inputs.collect();
        let rows: Vec<_> = rows.iter().map(|row| &row[..]).collect();
        let blocks = task
            .targets
            .iter()
            .map(|target| (*target, self.pool.take(task.length)));
        let mut results: Vec<_> = blocks.collect();
        let mut targets: Vec<_> = results
            .iter_mut()
            .map(|(_, block)| &mut block[..])
            .collect();
        erasure::combine(&mut targets, &rows, &inputs, false);
        results
    }

    /// Writes what other ranks have computed for this one in the oldest step.
    fn write_first(&mut self, line: &mut VecDeque<Returning<C>>) -> Result<()> {
        let Some(step) = line.pop_front() else {
            return Ok(());
        };
        let blocks = step.underway.finish()?;
        for (place, block) in step.places.iter().zip(&blocks) {
            self.write(*place, block);
        }
        self.pool.give(blocks);
        self.pool.give_shared(step.sent);
        Ok(())
    }

    fn write(&mut self, place: Place, block: &[u8]) {
        if self.written.is_ok() {
            self.written = self.streams.write(place.part, place.offset, block);
        }
    }
}

impl Step {
    fn add(&mut self, rank: usize, cut: Cut, flow: &Flow) -> Result<()> {
        match &flow.workers {
            Workers::AtTargets => {
                let workers: Vec<_> = flow.targets.iter().map(|target| target.rank).collect();
                self.add_reads(rank, cut, flow, &workers);
                for (row, worker) in workers.into_iter().enumerate() {
                    self.add_task(rank, cut, flow, worker, row..row + 1)?;
                }
                Ok(())
            }
            Workers::InTurn(ranks) => {
                let worker = ranks[(cut.index + cut.flow) % ranks.len()];
                self.add_reads(rank, cut, flow, &[worker]);
                self.add_task(rank, cut, flow, worker, 0..flow.rows.len())
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
            block: Arc::default(),
        }));
    }

    fn add_task(
        &mut self,
        rank: usize,
        cut: Cut,
        flow: &Flow,
        worker: usize,
        rows: Range<usize>,
    ) -> Result<()> {
        let targets = flow.targets[rows.clone()]
            .iter()
            .map(|target| cut.of(*target));
        if worker != rank {
            let own = targets.filter(|target| target.rank == rank);
            self.returns
                .extend(own.map(|target| (cut.arrival(worker), target)));
            return Ok(());
        }
        let targets = targets.collect();
        let inputs = flow
            .sources
            .iter()
            .map(|source| self.input(rank, cut, *source));
        let inputs = inputs.collect::<Result<_>>()?;
        self.tasks.push(Task {
            flow: cut.flow,
            length: cut.length,
            inputs,
            rows,
            targets,
        });
        Ok(())
    }

    fn input(&mut self, rank: usize, cut: Cut, source: Place) -> Result<Input> {
        if source.rank != rank {
            self.gathers.push(cut.arrival(source.rank));
            return Ok(Input::Gathered(self.gathers.len() - 1));
        }
        let place = cut.of(source);
        let own = self.reads.iter().rposition(|read| read.place == place);
        let own = own.ok_or(Error::Broken("a block is computed with that is not read"))?;
        Ok(Input::Read(own))
    }
}

impl Cut {
    fn arrival(&self, from: usize) -> Arrival {
        Arrival {
            from,
            length: self.length,
        }
    }

    fn of(&self, place: Place) -> Place {
        Place {
            offset: place.offset + self.start,
            ..place
        }
    }
}
