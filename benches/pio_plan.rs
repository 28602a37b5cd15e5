//! How the work of making a plan grows with the number of ranks and of I/O tasks.
//!
//! cargo bench --bench pio_plan [-- most ranks]
//!
//! Ranks are threads. Every rank has a map of the same length, whatever their number. What is shown is the
//! worst rank's: processor time outside of the communicator, whose threads stand for a network and say nothing
//! about one; messages and bytes that it sent and received; and how often all ranks met.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use stanchion::comm::local::{self, LocalComm};
use stanchion::comm::{Buffer, Comm, Limit, Op, Result, Tag};
use stanchion::pio::{Decomp, IoSystem, Kind, Layout, Outside, Placement, Rearranger};

/// Elements of a rank.
const LENGTH: u64 = 4096;

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

/// Stops the clock in its calls and counts what they do.
struct Counted(LocalComm);

impl Counted {
    fn call<T>(&self, counted: impl FnOnce(&mut Cost), call: impl FnOnce(&LocalComm) -> T) -> T {
        count(|cost| cost.work += now() - LEFT.get());
        count(counted);
        let result = call(&self.0);
        LEFT.set(now());
        result
    }
}

fn meet(cost: &mut Cost) {
    cost.meetings += 1;
}

impl Comm for Counted {
    type Underway<B: Buffer> = local::Expected<B>;

    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
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
        let bytes = sends.iter().map(|s| s.1.len()).sum::<usize>()
            + recvs.iter().map(|r| r.1.len()).sum::<usize>();
        let messages = sends.len() + recvs.len();
        let counted = |cost: &mut Cost| {
            cost.messages += messages as u64;
            cost.bytes += bytes as u64;
        };
        self.call(counted, |comm| comm.transfer(tag, sends, recvs))
    }

    fn transfer_limited(
        &self,
        tag: Tag,
        _limit: Limit,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        self.transfer(tag, sends, recvs)
    }

    fn start<B: Buffer>(
        &self,
        tag: Tag,
        sends: Vec<(usize, Arc<B>)>,
        recvs: Vec<(usize, B)>,
    ) -> Result<local::Expected<B>> {
        self.0.start(tag, sends, recvs)
    }

    fn barrier(&self) -> Result<()> {
        self.call(meet, LocalComm::barrier)
    }

    fn bcast(&self, root: usize, bytes: &mut [u8]) -> Result<()> {
        self.call(meet, |comm| comm.bcast(root, bytes))
    }

    fn allreduce(&self, op: Op, values: &mut [u64]) -> Result<()> {
        self.call(meet, |comm| comm.allreduce(op, values))
    }

    fn scan(&self, op: Op, values: &mut [u64]) -> Result<()> {
        self.call(meet, |comm| comm.scan(op, values))
    }

    fn allgather(&self, mine: &[u8], all: &mut [u8]) -> Result<()> {
        self.call(meet, |comm| comm.allgather(mine, all))
    }

    fn alltoall(&self, values: &[u64]) -> Result<Vec<u64>> {
        self.call(meet, |comm| comm.alltoall(values))
    }

    fn deliver(&self, tag: Tag, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>> {
        let sent = |cost: &mut Cost| {
            cost.meetings += 1;
            cost.messages += messages.len() as u64;
            cost.bytes += messages
                .iter()
                .map(|(_, bytes)| bytes.len() as u64)
                .sum::<u64>();
        };
        count(sent);
        let came = self.call(|_| {}, |comm| comm.deliver(tag, messages))?;
        count(|cost| {
            cost.messages += came.len() as u64;
            cost.bytes += came
                .iter()
                .map(|(_, bytes)| bytes.len() as u64)
                .sum::<u64>();
        });
        Ok(came)
    }

    fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        Ok(self.0.split(color, key)?.map(Counted))
    }
}

/// Rows of tiles, 64 by 64, in an array as many tiles wide as a square of ranks; or elements in turns among
/// neighbouring ranks.
fn map(ranks: usize, rank: usize, pattern: &str) -> (Vec<u64>, Vec<i64>) {
    let (ranks, rank) = (ranks as u64, rank as u64);
    if pattern == "stride" {
        let (first, turn) = (rank / 16 * 16 * LENGTH, rank % 16);
        let map = (0..LENGTH).map(|k| (first + k * 16 + turn) as i64 + 1);
        return (vec![ranks * LENGTH], map.collect());
    }
    let across = 1 << (ranks.ilog2() / 2);
    let (down, width) = (ranks / across, across * 64);
    let (top, left) = (rank / across * 64, rank % across * 64);
    let row = |row: u64| (0..64).map(move |k| ((top + row) * width + left + k) as i64 + 1);
    (vec![down * 64, width], (0..64).flat_map(row).collect())
}

fn cost(ranks: usize, tasks: usize, pattern: &str, rearranger: Rearranger) -> Cost {
    let placement = Placement {
        tasks: tasks as i64,
        stride: (ranks / tasks) as i64,
        base: 0,
    };
    let costs = local::run(ranks, |comm| {
        let (dims, map) = map(ranks, comm.rank(), pattern);
        let system = IoSystem::new(&Counted(comm), placement, rearranger).unwrap();
        let layout = Layout {
            kind: Kind::Double,
            dims: &dims,
            map: &map,
            rearranger,
            read_only: false,
            io_region: None,
            block_size: 1024,
            strict: false,
            outside: Outside::Refused,
        };
        COST.set(Cost::default());
        LEFT.set(now());
        let _decomp = Decomp::new(&system, &layout).unwrap();
        count(|cost| cost.work += now() - LEFT.get());
        COST.get()
    });
    costs.into_iter().fold(Cost::default(), Cost::worst)
}

fn main() {
    let numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let most: usize = numbers.max().unwrap_or(4096);
    println!("pattern rearranger  ranks I/O tasks   work us  messages    bytes  meetings");
    for (pattern, rearranger) in [
        ("tile", Rearranger::Box),
        ("tile", Rearranger::Subset),
        ("stride", Rearranger::Box),
        ("stride", Rearranger::Subset),
    ] {
        let mut ranks = 64;
        while ranks <= most {
            for tasks in [ranks / 16, ranks / 4] {
                let runs = (0..3).map(|_| cost(ranks, tasks, pattern, rearranger));
                let best = runs.min_by_key(|cost| cost.work).unwrap_or_default();
                println!(
                    "{pattern:7} {rearranger:<10} {ranks:6} {tasks:9} {:9} {:9} {:8} {:9}",
                    best.work.as_micros(),
                    best.messages,
                    best.bytes,
                    best.meetings,
                    rearranger = format!("{rearranger:?}").to_lowercase()
                );
            }
            ranks *= 4;
        }
    }
}
