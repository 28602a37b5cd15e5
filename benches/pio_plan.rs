//! How the work of making a plan grows with the number of ranks and of I/O tasks.
//!
//! cargo bench --bench pio_plan [-- most ranks]
//!
//! All ranks run as threads once, and what each is told by the others is kept. Then ranks are run again, one at a
//! time and alone on the machine, with what they were told: what thousands of threads do to each other's caches says
//! nothing about a rank on a node of its own. Every rank has a map of the same length, whatever their number. Shown is
//! the worst rank of up to [`SAMPLE`], half of them I/O tasks: processor time outside of the communicator, at best of
//! [`RUNS`]; messages and bytes that it sent and received; and how often all ranks met.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use stanchion::comm::local::{self, LocalComm};
use stanchion::comm::{Buffer, Comm, Limit, Op, Result, Sparse, Tag};
use stanchion::pio::{Decomp, DecompSpec, IoPlacement, IoSystem, Kind, Rearranger};

/// Elements of a rank.
const LENGTH: u64 = 4096;
const SAMPLE: usize = 256;
const RUNS: usize = 5;

#[derive(Clone, Copy, Default)]
struct Cost {
    work: Duration,
    messages: u64,
    bytes: u64,
    meetings: u64,
}

impl Cost {
    fn worst(self, other: Cost) -> Cost {
        Cost {
            work: self.work.max(other.work),
            messages: self.messages.max(other.messages),
            bytes: self.bytes.max(other.bytes),
            meetings: self.meetings.max(other.meetings),
        }
    }
}

thread_local! {
    static COST: Cell<Cost> = Cell::default();
    /// Processor time of this thread when it last left the communicator.
    static LEFT: Cell<Duration> = Cell::default();
}

fn now() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is ours to write.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn count(change: impl FnOnce(&mut Cost)) {
    let mut cost = COST.get();
    change(&mut cost);
    COST.set(cost);
}

/// What a call of the communicator brought.
#[derive(Clone)]
enum Answer {
    Values(Vec<u64>),
    Messages(Vec<Vec<u8>>),
    Parcels(Vec<(usize, Vec<u8>)>),
    /// Rank and size in a new communicator.
    Group(Option<(usize, usize)>),
}

type Tape = VecDeque<Answer>;

/// Writes down what a rank is told, or tells it again. Stops the clock in its calls and counts what they do.
struct Taped {
    live: Option<LocalComm>,
    rank: usize,
    size: usize,
    tape: Rc<RefCell<Tape>>,
}

impl Taped {
    fn record(comm: LocalComm) -> Self {
        Self {
            rank: comm.rank(),
            size: comm.size(),
            live: Some(comm),
            tape: Rc::default(),
        }
    }

    fn play(rank: usize, size: usize, tape: Tape) -> Self {
        Self {
            live: None,
            rank,
            size,
            tape: Rc::new(RefCell::new(tape)),
        }
    }

    fn ask(&self, ask: impl FnOnce(&LocalComm) -> Result<Answer>) -> Result<Answer> {
        count(|cost| cost.work += now() - LEFT.get());
        let answer = match &self.live {
            Some(comm) => {
                let answer = ask(comm)?;
                self.tape.borrow_mut().push_back(answer.clone());
                answer
            }
            None => self.tape.borrow_mut().pop_front().expect("an answer"),
        };
        LEFT.set(now());
        Ok(answer)
    }

    /// A call that all ranks make together.
    fn meet(&self, ask: impl FnOnce(&LocalComm) -> Result<Vec<u64>>) -> Result<Vec<u64>> {
        count(|cost| cost.meetings += 1);
        match self.ask(|comm| ask(comm).map(Answer::Values))? {
            Answer::Values(values) => Ok(values),
            _ => unreachable!("another call was made before"),
        }
    }
}

fn count_messages<'a>(messages: impl Iterator<Item = &'a [u8]>) {
    messages.for_each(|bytes| {
        count(|cost| {
            cost.messages += 1;
            cost.bytes += bytes.len() as u64;
        });
    });
}

impl Comm for Taped {
    type Underway<B: Buffer> = local::Expected<B>;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, tag: Tag, bytes: &[u8]) -> Result<()> {
        self.transfer(tag, &[(to, bytes)], &mut [])
    }

    fn recv(&self, from: usize, tag: Tag, bytes: &mut [u8]) -> Result<()> {
        self.transfer(tag, &[], &mut [(from, bytes)])
    }

    fn transfer(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        count_messages(sends.iter().map(|(_, bytes)| *bytes));
        count_messages(recvs.iter().map(|(_, bytes)| &**bytes));
        let answer = self.ask(|comm| {
            comm.transfer(tag, sends, recvs)?;
            let came = recvs.iter().map(|(_, bytes)| bytes.to_vec());
            Ok(Answer::Messages(came.collect()))
        })?;
        let Answer::Messages(came) = answer else {
            unreachable!("another call was made before");
        };
        for ((_, bytes), came) in recvs.iter_mut().zip(came) {
            bytes.copy_from_slice(&came);
        }
        Ok(())
    }

    fn start<B: Buffer>(
        &self,
        _tag: Tag,
        _sends: Vec<(usize, Arc<B>)>,
        _recvs: Vec<(usize, B)>,
    ) -> Result<local::Expected<B>> {
        unreachable!("plans are made without messages under way")
    }

    fn barrier(&self) -> Result<()> {
        self.meet(|comm| comm.barrier().map(|()| Vec::new()))?;
        Ok(())
    }

    fn bcast(&self, root: usize, bytes: &mut [u8]) -> Result<()> {
        let came = self.meet(|comm| {
            comm.bcast(root, bytes)?;
            Ok(bytes.iter().map(|byte| u64::from(*byte)).collect())
        })?;
        let bytes = bytes.iter_mut().zip(came);
        bytes.for_each(|(byte, came)| *byte = came as u8);
        Ok(())
    }

    fn allreduce(&self, op: Op, values: &mut [u64]) -> Result<()> {
        let came = self.meet(|comm| {
            comm.allreduce(op, values)?;
            Ok(values.to_vec())
        })?;
        values.copy_from_slice(&came);
        Ok(())
    }

    fn scan(&self, _op: Op, _values: &mut [u64]) -> Result<()> {
        unreachable!("plans are made without it")
    }

    fn allgather(&self, _mine: &[u8], _all: &mut [u8]) -> Result<()> {
        unreachable!("plans of even blocks are made without it")
    }

    fn alltoall(&self, _values: &[u64]) -> Result<Vec<u64>> {
        unreachable!("plans are made without it")
    }

    fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        let mut live = None;
        let answer = self.ask(|comm| {
            live = comm.split(color, key)?;
            let place = live.as_ref().map(|comm| (comm.rank(), comm.size()));
            Ok(Answer::Group(place))
        })?;
        let Answer::Group(place) = answer else {
            unreachable!("another call was made before");
        };
        Ok(place.map(|(rank, size)| Self {
            live,
            rank,
            size,
            tape: self.tape.clone(),
        }))
    }
}

impl Sparse for Taped {
    fn transfer_limited(
        &self,
        _tag: Tag,
        _limit: Limit,
        _sends: &[(usize, &[u8])],
        _recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        unreachable!("plans are made without it")
    }

    fn transfer_in_turn(
        &self,
        _tag: Tag,
        _sends: &[(usize, &[u8])],
        _turns: &[Option<(usize, usize)>],
        _buffers: &mut [&mut [u8]],
        _take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()> {
        unreachable!("plans are made without it")
    }

    fn recv_in_parts(&self, _tag: Tag, _recvs: &mut [(usize, &mut [u8])]) -> Result<()> {
        unreachable!("plans are made without it")
    }

    fn deliver(&self, tag: Tag, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>> {
        count(|cost| cost.meetings += 1);
        count_messages(messages.iter().map(|(_, bytes)| &bytes[..]));
        let answer = self.ask(|comm| comm.deliver(tag, messages).map(Answer::Parcels))?;
        let Answer::Parcels(came) = answer else {
            unreachable!("another call was made before");
        };
        count_messages(came.iter().map(|(_, bytes)| &bytes[..]));
        Ok(came)
    }
}

/// Ranks that share a part of the array.
const NEIGHBOURS: u64 = 16;

/// Dimensions of the array and the map of a rank. A rank has to do with as many others however many there are, but for
/// `square`: the wider an array, the more tiles there are in a block of it.
fn map(ranks: usize, rank: usize, pattern: &str) -> (Vec<u64>, Vec<i64>) {
    let (ranks, rank) = (ranks as u64, rank as u64);
    let (first, turn) = (rank / NEIGHBOURS * NEIGHBOURS * LENGTH, rank % NEIGHBOURS);
    let own = (0..LENGTH).map(|k| turn * LENGTH + k);
    let line = |place: &dyn Fn(u64) -> u64| {
        let map = own.map(|k| (first + place(k)) as i64 + 1);
        (vec![ranks * LENGTH], map.collect())
    };
    match pattern {
        "block" => line(&|k| k),
        "stride" => line(&|k| k % LENGTH * NEIGHBOURS + turn),
        "random" => line(&|k| k * 40_503 % (NEIGHBOURS * LENGTH)),
        "square" => tile(1 << (ranks.ilog2() / 2), ranks, rank),
        _ => tile(8, ranks, rank),
    }
}

/// A tile of 64 by 64 in an array so many tiles wide.
fn tile(across: u64, ranks: u64, rank: u64) -> (Vec<u64>, Vec<i64>) {
    let (down, width) = (ranks / across, across * 64);
    let (top, left) = (rank / across * 64, rank % across * 64);
    let row = |row: u64| (0..64).map(move |k| ((top + row) * width + left + k) as i64 + 1);
    (vec![down * 64, width], (0..64).flat_map(row).collect())
}

/// What is measured.
#[derive(Clone, Copy)]
struct Case {
    ranks: usize,
    tasks: usize,
    pattern: &'static str,
    rearranger: Rearranger,
}

impl Case {
    fn stride(&self) -> usize {
        self.ranks / self.tasks
    }

    /// Makes the plan of one rank.
    fn plan(&self, comm: &Taped) -> Cost {
        let (dims, map) = map(self.ranks, comm.rank(), self.pattern);
        let placement = IoPlacement {
            tasks: self.tasks as i64,
            stride: self.stride() as i64,
            base: 0,
        };
        let system = IoSystem::new(comm, placement, self.rearranger).expect("an I/O system");
        let mut spec = DecompSpec::new(Kind::Double, dims.to_vec(), self.rearranger);
        spec.block_size = 1024;
        COST.set(Cost::default());
        LEFT.set(now());
        let _decomp = Decomp::new(&system, &spec, &map).expect("a plan");
        count(|cost| cost.work += now() - LEFT.get());
        COST.get()
    }

    /// I/O tasks and others from all over the job, as many of each.
    fn sample(&self) -> impl Iterator<Item = usize> {
        let (stride, step) = (self.stride(), (2 * self.tasks).div_ceil(SAMPLE));
        let tasks = (0..self.tasks).step_by(step).map(move |task| task * stride);
        tasks.flat_map(move |rank| [rank, rank + stride / 2])
    }

    fn cost(&self) -> Cost {
        let tapes = local::run(self.ranks, |comm| {
            let comm = Taped::record(comm);
            self.plan(&comm);
            comm.tape.take()
        });
        let best = |rank: usize| {
            let alone = || self.plan(&Taped::play(rank, self.ranks, tapes[rank].clone()));
            let runs = (0..RUNS).map(|_| alone());
            runs.min_by_key(|cost| cost.work).unwrap_or_default()
        };
        self.sample().map(best).fold(Cost::default(), Cost::worst)
    }

    fn show(&self) {
        let cost = self.cost();
        println!(
            "{:7} {:<10} {:6} {:9} {:9} {:9} {:8} {:9}",
            self.pattern,
            format!("{:?}", self.rearranger).to_lowercase(),
            self.ranks,
            self.tasks,
            cost.work.as_micros(),
            cost.messages,
            cost.bytes,
            cost.meetings,
        );
    }
}

fn main() {
    let numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let most: usize = numbers.max().unwrap_or(4096);
    println!("pattern rearranger  ranks I/O tasks   work us  messages    bytes  meetings");
    for pattern in ["block", "tile", "square", "stride", "random"] {
        for rearranger in [Rearranger::Box, Rearranger::Subset] {
            let sizes = std::iter::successors(Some(64), |ranks| Some(ranks * 4));
            for ranks in sizes.take_while(|ranks| *ranks <= most) {
                for tasks in [ranks / 16, ranks / 4] {
                    let case = Case {
                        ranks,
                        tasks,
                        pattern,
                        rearranger,
                    };
                    case.show();
                }
            }
        }
    }
}
