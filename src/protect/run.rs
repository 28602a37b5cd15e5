//! Carries out flows, block by block, with reading, network, arithmetic and writing overlapping.
//!
//! In every step a rank lends its blocks to the workers, then computes with what it has received for an earlier step,
//! and takes the results that others have sent it for one before that. So what it waits for was sent some steps ago
//! ([`Limits::ahead`]). A run can be driven to its end ([`FlowRun::finish`]). Without a limit on the steps under way,
//! [`FlowRun::start`] posts all messages, and [`FlowRun::is_done`] moves the run on without waiting.

use std::collections::VecDeque;
use std::sync::Arc;

use super::combine::combine;
use super::plan::{Chunk, Flow, Part, Workers};
use super::schedule::{Cut, Limits, Schedule};
use super::set::Channel;
use crate::comm::{Buffer, Comm, Result, Tag, Underway};

/// The bytes of this rank.
pub(crate) trait Streams {
    type BlockBuffer: Buffer;

    /// The bytes from `offset` on. What cannot be read is zeros, because others wait for the block; the streams
    /// remember why.
    fn lend(&mut self, part: Part, offset: u64, length: usize) -> Arc<Self::BlockBuffer>;

    /// A buffer with anything in it. If it is for bytes of a stream, `take` will get it.
    fn buffer(&mut self, length: usize, kept: Option<Part>) -> Self::BlockBuffer;

    /// Bytes of a stream that was lost.
    fn take(&mut self, part: Part, offset: u64, block: Self::BlockBuffer);

    /// A buffer, or a lent block that nobody else holds, which is not needed any more.
    fn give_back(&mut self, block: Self::BlockBuffer);

    /// Does a little of what is not urgent while this rank waits for others; false if nothing is left to do.
    fn work_meanwhile(&mut self) -> bool {
        false
    }
}

const TO_WORKERS: Tag = 0;
const TO_TARGETS: Tag = 1;

/// Flows that are being carried out. Errors are those of the transport.
pub(crate) struct FlowRun<C: Comm, B: Buffer> {
    schedule: Schedule,
    ahead: usize,
    gathering: VecDeque<Gathering<C, B>>,
    returning: VecDeque<Returning<C, B>>,
    traffic: Traffic,
}

/// Bytes in messages of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// A step whose sources are on their way to the workers.
struct Gathering<C: Comm, B: Buffer> {
    step: Step,
    lent: Vec<Arc<B>>,
    underway: C::Underway<B>,
}

/// A step whose results are on their way to the targets.
struct Returning<C: Comm, B: Buffer> {
    targets: Vec<Chunk>,
    sent: Vec<Arc<B>>,
    underway: C::Underway<B>,
}

impl<C: Comm, B: Buffer> FlowRun<C, B> {
    /// All ranks of the set give the same flows and limits.
    pub(crate) fn new(flows: Vec<Flow>, limits: Limits) -> FlowRun<C, B> {
        FlowRun {
            schedule: Schedule::new(flows, limits),
            ahead: limits.ahead,
            gathering: VecDeque::new(),
            returning: VecDeque::new(),
            traffic: Traffic::default(),
        }
    }

    /// What this rank has sent and received up to now.
    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Lends all blocks, and waits only when as many steps as the limits say are under way.
    ///
    /// # Collective
    /// Called by all ranks of the set.
    pub(crate) fn start<S: Streams<BlockBuffer = B>>(
        &mut self,
        channel: &Channel<'_, C>,
        streams: &mut S,
    ) -> Result<()> {
        while let Some(cuts) = self.schedule.next_step() {
            self.lend(channel, streams, cuts)?;
            if self.gathering.len() > self.ahead {
                self.compute_first(channel, streams)?;
            }
            if self.returning.len() > self.ahead {
                self.take_first(streams)?;
            }
        }
        Ok(())
    }

    /// Carries out what is left to do.
    ///
    /// # Collective
    /// Called by all ranks of the set.
    pub(crate) fn finish<S: Streams<BlockBuffer = B>>(
        &mut self,
        channel: &Channel<'_, C>,
        streams: &mut S,
    ) -> Result<()> {
        self.start(channel, streams)?;
        while !self.gathering.is_empty() {
            self.compute_first(channel, streams)?;
        }
        while !self.returning.is_empty() {
            self.take_first(streams)?;
        }
        Ok(())
    }

    /// Lets the streams lend what the first steps need, as long as there is nothing better to do.
    pub(crate) fn read_ahead<S: Streams<BlockBuffer = B>>(&self, mine: usize, streams: &mut S) {
        for cut in self.schedule.first_steps(self.ahead) {
            let sources = &self.schedule.flows[cut.flow].sources;
            let own = sources.iter().filter(|source| source.rank == mine);
            for block in own
                .map(|source| cut.of(source))
                .filter(|own| own.length > 0)
            {
                streams.lend(block.part, block.offset, block.length as usize);
            }
        }
    }

    /// Moves a run that was started on without waiting; true if nothing is left to do.
    pub(crate) fn is_done<S: Streams<BlockBuffer = B>>(
        &mut self,
        channel: &Channel<'_, C>,
        streams: &mut S,
    ) -> Result<bool> {
        while let Some(first) = self.gathering.front_mut() {
            if !first.underway.is_done() {
                return Ok(false);
            }
            self.compute_first(channel, streams)?;
        }
        while let Some(first) = self.returning.front_mut() {
            if !first.underway.is_done() {
                return Ok(false);
            }
            self.take_first(streams)?;
        }
        Ok(true)
    }

    /// Lends this rank's blocks of a step and sends them to the workers.
    fn lend<S: Streams<BlockBuffer = B>>(
        &mut self,
        channel: &Channel<'_, C>,
        streams: &mut S,
        cuts: Vec<Cut>,
    ) -> Result<()> {
        let mut step = Step::default();
        for cut in cuts {
            step.add(channel.set.mine(), cut, &self.schedule.flows[cut.flow]);
        }
        let (mut lent, mut sends) = (Vec::new(), Vec::new());
        for (chunk, workers) in &step.lent {
            let block = streams.lend(chunk.part, chunk.offset, chunk.length as usize);
            let others = workers
                .iter()
                .filter(|worker| **worker != channel.set.mine());
            sends.extend(others.map(|worker| (*worker, block.clone())));
            lent.push(block);
        }
        let gathers = step.gathers.iter();
        let recvs = gathers.map(|it| (it.from, streams.buffer(it.length, it.kept)));
        let recvs = recvs.collect();
        let underway = self.post(channel, TO_WORKERS, sends, recvs)?;
        self.gathering.push_back(Gathering {
            step,
            lent,
            underway,
        });
        Ok(())
    }

    /// Computes what this rank computes in the oldest step, takes its own results and sends the others.
    fn compute_first<S: Streams<BlockBuffer = B>>(
        &mut self,
        channel: &Channel<'_, C>,
        streams: &mut S,
    ) -> Result<()> {
        let Some(Gathering {
            step,
            lent,
            mut underway,
        }) = self.gathering.pop_front()
        else {
            return Ok(());
        };
        while !underway.is_done() && streams.work_meanwhile() {}
        let mut gathered: Vec<_> = underway.finish()?.into_iter().map(Some).collect();
        let mut sends = Vec::new();
        for task in &step.tasks {
            let flow = &self.schedule.flows[task.flow];
            for (target, block) in
                task.compute(flow, channel.set.mine(), &lent, &mut gathered, streams)
            {
                match target.rank == channel.set.mine() {
                    true => streams.take(target.part, target.offset, block),
                    false => sends.push((target.rank, Arc::new(block))),
                }
            }
        }
        let gathered = gathered.into_iter().flatten();
        gathered.for_each(|block| streams.give_back(block));
        give_back_shared(streams, lent);
        if sends.is_empty() && step.returns.is_empty() {
            return Ok(());
        }
        let sent = sends.iter().map(|(_, block)| block.clone()).collect();
        let recvs = step.returns.iter().map(|(worker, target)| {
            let length = target.length as usize;
            (*worker, streams.buffer(length, Some(target.part)))
        });
        let recvs = recvs.collect();
        let underway = self.post(channel, TO_TARGETS, sends, recvs)?;
        self.returning.push_back(Returning {
            targets: step.returns.into_iter().map(|(_, target)| target).collect(),
            sent,
            underway,
        });
        Ok(())
    }

    /// Takes what other ranks have computed for this one in the oldest step.
    fn take_first<S: Streams<BlockBuffer = B>>(&mut self, streams: &mut S) -> Result<()> {
        let Some(mut first) = self.returning.pop_front() else {
            return Ok(());
        };
        while !first.underway.is_done() && streams.work_meanwhile() {}
        for (target, block) in first.targets.iter().zip(first.underway.finish()?) {
            streams.take(target.part, target.offset, block);
        }
        give_back_shared(streams, first.sent);
        Ok(())
    }
}

impl<C: Comm, B: Buffer> FlowRun<C, B> {
    fn post(
        &mut self,
        channel: &Channel<'_, C>,
        tag: Tag,
        sends: Vec<(usize, Arc<B>)>,
        mut recvs: Vec<(usize, B)>,
    ) -> Result<C::Underway<B>> {
        let sent = sends
            .iter()
            .map(|(_, block)| (**block).as_ref().len() as u64);
        let received = recvs
            .iter_mut()
            .map(|(_, block)| block.as_mut().len() as u64);
        self.traffic.sent += sent.sum::<u64>();
        self.traffic.received += received.sum::<u64>();
        channel.start(tag, sends, recvs)
    }
}

/// What nobody else holds goes back; what the streams have lent and still hold stays theirs.
fn give_back_shared<S: Streams>(streams: &mut S, blocks: Vec<Arc<S::BlockBuffer>>) {
    let unshared = blocks.into_iter().filter_map(Arc::into_inner);
    unshared.for_each(|block| streams.give_back(block));
}

/// This rank's part in a step.
#[derive(Default)]
struct Step {
    /// Own blocks, and the workers that need them.
    lent: Vec<(Chunk, Vec<usize>)>,
    /// Blocks of other ranks that this rank computes with.
    gathers: Vec<IncomingBlock>,
    tasks: Vec<Task>,
    /// Results that another rank computes for this one.
    returns: Vec<(usize, Chunk)>,
}

/// A block that comes from another rank.
struct IncomingBlock {
    from: usize,
    length: usize,
    /// It is the result, not something to compute with.
    kept: Option<Part>,
}

/// One computation: some rows of a flow.
struct Task {
    flow: usize,
    /// Which source of the flow it is, and where its block is.
    inputs: Vec<(usize, Input)>,
    /// Row of the flow and block.
    targets: Vec<(usize, Chunk)>,
}

/// Which block of the step a source is.
#[derive(Clone, Copy)]
enum Input {
    Lent(usize),
    Gathered(usize),
}

impl Step {
    fn add(&mut self, mine: usize, cut: Cut, flow: &Flow) {
        let is_mine = |(_, block): &(usize, Chunk)| block.rank == mine;
        let targets = cut.all(&flow.targets);
        let workers = match &flow.workers {
            Workers::AtTargets => targets.iter().map(|(_, target)| target.rank).collect(),
            Workers::InTurn(ranks) => vec![cut.worker(ranks)],
        };
        let own = flow.sources.iter().filter(|source| source.rank == mine);
        let own = own.map(|source| cut.of(source));
        let own = own.filter(|source| source.length > 0);
        self.lent
            .extend(own.map(|source| (source, workers.clone())));
        match &flow.workers {
            Workers::AtTargets => {
                let own = targets.into_iter().filter(is_mine);
                own.for_each(|target| self.add_task(mine, cut, flow, vec![target]));
            }
            Workers::InTurn(_) if workers == [mine] => self.add_task(mine, cut, flow, targets),
            Workers::InTurn(_) => {
                let own = targets.into_iter().filter(is_mine);
                self.returns
                    .extend(own.map(|(_, target)| (workers[0], target)));
            }
        }
    }

    fn add_task(&mut self, mine: usize, cut: Cut, flow: &Flow, targets: Vec<(usize, Chunk)>) {
        let sources = cut.all(&flow.sources);
        let kept = match (&sources[..], &targets[..]) {
            ([(_, source)], [(_, target)]) if flow.is_copy() && source.length == target.length => {
                Some(target.part)
            }
            _ => None,
        };
        let inputs = sources.into_iter().map(|(column, source)| {
            let input = match source.rank == mine {
                // Its own block of this flow was added last.
                true => Input::Lent(self.lent.len() - 1),
                false => {
                    self.gathers.push(IncomingBlock {
                        from: source.rank,
                        length: source.length as usize,
                        kept,
                    });
                    Input::Gathered(self.gathers.len() - 1)
                }
            };
            (column, input)
        });
        let inputs = inputs.collect();
        self.tasks.push(Task {
            flow: cut.flow,
            inputs,
            targets,
        });
    }
}

impl Task {
    fn compute<S: Streams>(
        &self,
        flow: &Flow,
        mine: usize,
        lent: &[Arc<S::BlockBuffer>],
        gathered: &mut [Option<S::BlockBuffer>],
        streams: &mut S,
    ) -> Vec<(Chunk, S::BlockBuffer)> {
        if let ([(_, Input::Gathered(index))], [(_, target)], true) =
            (&self.inputs[..], &self.targets[..], flow.is_copy())
        {
            // A copy: the block that came is the result, unless zeros follow it.
            let is_whole =
                |block: &mut S::BlockBuffer| block.as_mut().len() as u64 == target.length;
            if let Some(block) = gathered[*index].take_if(is_whole) {
                return vec![(*target, block)];
            }
        }
        let inputs = self.inputs.iter().filter_map(|(_, input)| match *input {
            Input::Lent(index) => Some((*lent[index]).as_ref()),
            Input::Gathered(index) => gathered[index].as_ref().map(|block| block.as_ref()),
        });
        let inputs: Vec<&[u8]> = inputs.collect();
        let row = |row: usize| -> Vec<u8> {
            let columns = self.inputs.iter();
            columns.map(|(column, _)| flow.rows[row][*column]).collect()
        };
        let rows: Vec<_> = self
            .targets
            .iter()
            .map(|(number, _)| row(*number))
            .collect();
        let rows: Vec<_> = rows.iter().map(|row| &row[..]).collect();
        let blocks = self.targets.iter().map(|(_, target)| {
            let kept = (target.rank == mine).then_some(target.part);
            (*target, streams.buffer(target.length as usize, kept))
        });
        let mut results: Vec<_> = blocks.collect();
        let outputs = results.iter_mut().map(|(_, block)| block.as_mut());
        combine(&mut outputs.collect::<Vec<_>>(), &rows, &inputs);
        results
    }
}
