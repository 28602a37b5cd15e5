//! `comm::mpi` on the real MPI, with as many ranks as it is started with: alone by `cargo test --test mpi`, or under
//! mpiexec. All ranks run all cases in order; a rank that fails one ends the job, and one that waits for too long is
//! ended by its alarm clock.

use std::process::ExitCode;
use std::sync::Arc;

use mpi_sys as ffi;
use stanchion::comm::mpi::{Datatype, Info, MPI_Comm, MpiComm, Number, is_running};
use stanchion::comm::{Comm, Error, Limit, Op, Result, Underway, set_protocol, transfer_unsized};

const PATIENCE_SECONDS: u32 = 120;

fn world() -> MPI_Comm {
    // SAFETY: a constant of the MPI shim, never written.
    unsafe { ffi::RSMPI_COMM_WORLD }
}

/// The private duplicate of the world, cut into pieces of a few bytes.
fn private() -> MpiComm {
    MpiComm::private(world()).unwrap().with_piece(7)
}

fn bytes(rank: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 31 + rank * 7 + 1) as u8)
        .collect()
}

fn neighbours(comm: &MpiComm) -> (usize, usize) {
    let (rank, size) = (comm.rank(), comm.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

fn messages_of_all_lengths_arrive() {
    let comm = private();
    let (left, right) = neighbours(&comm);
    for length in [0, 1, 6, 7, 8, 14, 100] {
        let (own, mut came) = (bytes(comm.rank(), length), vec![0; length]);
        comm.transfer(3, &[(right, &own)], &mut [(left, &mut came)])
            .unwrap();
        assert_eq!(came, bytes(left, length));
        let limit = Limit {
            sends: Some(1),
            receives: Some(1),
            handshake: true,
        };
        came.fill(0);
        comm.transfer_limited(4, limit, &[(right, &own)], &mut [(left, &mut came)])
            .unwrap();
        assert_eq!(came, bytes(left, length));
        let sends = vec![(right, Arc::new(own))];
        let underway = comm.start(5, sends, vec![(left, vec![0; length])]);
        assert_eq!(underway.unwrap().finish().unwrap(), [bytes(left, length)]);
    }
}

fn lengths_that_only_senders_know() {
    let comm = private();
    let (left, right) = neighbours(&comm);
    let own = bytes(comm.rank(), 10 + comm.rank());
    let came = transfer_unsized(&comm, 6, &[(right, &own)], &[left]).unwrap();
    assert_eq!(came, [bytes(left, 10 + left)]);
    for length in [0, 7, 20] {
        let messages = vec![(right, bytes(comm.rank(), length))];
        let came = comm.deliver(8, messages).unwrap();
        assert_eq!(came, [(left, bytes(left, length))]);
    }
}

fn collectives_agree_with_arithmetic() {
    let comm = private();
    let (rank, size) = (comm.rank() as u64, comm.size() as u64);
    let mut values = [rank, u64::MAX - rank, 1];
    comm.allreduce(Op::Max, &mut values).unwrap();
    assert_eq!(values, [size - 1, u64::MAX, 1]);
    let mut values = [rank, u64::MAX - rank, 1];
    comm.allreduce(Op::Min, &mut values).unwrap();
    assert_eq!(values, [0, u64::MAX - (size - 1), 1]);
    let mut values = [rank, 1, 1];
    comm.scan(Op::Sum, &mut values).unwrap();
    assert_eq!(values, [rank * (rank + 1) / 2, rank + 1, rank + 1]);
    for length in [0, 1, 20] {
        let mut all = vec![0; length * comm.size()];
        comm.allgather(&bytes(comm.rank(), length), &mut all)
            .unwrap();
        let wanted = (0..comm.size()).flat_map(|rank| bytes(rank, length));
        assert!(wanted.eq(all));
        let mut told = bytes(comm.rank(), length);
        comm.bcast(comm.size() - 1, &mut told).unwrap();
        assert_eq!(told, bytes(comm.size() - 1, length));
    }
    let given: Vec<u64> = (0..size).map(|to| 100 * rank + to).collect();
    let got: Vec<u64> = (0..size).map(|from| 100 * from + rank).collect();
    assert_eq!(comm.alltoall(&given).unwrap(), got);
}

fn parts_of_a_split_know_their_ranks() {
    let comm = private();
    let part = comm.split(Some((comm.rank() % 2) as u32), -(comm.rank() as i32));
    let part = part.unwrap().unwrap();
    assert_eq!(part.size(), (comm.size() + 1 - comm.rank() % 2) / 2);
    assert_eq!(part.rank(), part.size() - 1 - comm.rank() / 2);
    assert!(comm.split(None, 0).unwrap().is_none());
}

/// Long enough that a sender waits until the message is received.
const LONG: usize = 1 << 20;
/// More than the memory that a rank is left with.
const TOO_LONG: usize = 256 << 20;

/// The lowest rank sends what the next does not expect; it must get its send back.
fn send_wrong(length: usize, receive: impl FnOnce(&MpiComm) -> Result<()>) {
    let comm = MpiComm::private(world()).unwrap();
    if comm.size() > 1 {
        match comm.rank() {
            0 => comm.send(1, 9, &vec![1; length]).unwrap(),
            1 => match receive(&comm) {
                Err(Error::Length {
                    from: 0,
                    expected: 10,
                    got,
                }) => assert_eq!(got, length),
                other => panic!("{other:?}"),
            },
            _ => (),
        }
    }
    comm.barrier().unwrap();
}

fn a_message_of_the_wrong_length_is_taken_from_its_sender() {
    send_wrong(LONG, |comm| comm.recv(0, 9, &mut [0; 10]));
}

fn a_part_of_the_wrong_length_is_taken_from_its_sender() {
    send_wrong(LONG, |comm| comm.recv_in_parts(9, &mut [(0, &mut [0; 10])]));
}

fn a_message_is_taken_from_its_sender_without_memory_for_it() {
    send_wrong(TOO_LONG, |comm| {
        let _scarce = Scarce::begin(TOO_LONG / 4);
        comm.recv(0, 9, &mut [0; 10])
    });
}

/// The address space of the process may grow by so many bytes.
struct Scarce(libc::rlimit);

impl Scarce {
    fn begin(bytes: usize) -> Scarce {
        let mut before = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: `before` is ours to write.
        assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut before) }, 0);
        let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = sizes.split(' ').next().unwrap().parse().unwrap();
        // SAFETY: no preconditions.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let limit = libc::rlimit {
            rlim_cur: (pages * page + bytes) as libc::rlim_t,
            ..before
        };
        // SAFETY: a valid limit.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
        Scarce(before)
    }
}

impl Drop for Scarce {
    fn drop(&mut self) {
        // SAFETY: the limit that was there before.
        unsafe { libc::setrlimit(libc::RLIMIT_AS, &self.0) };
    }
}

fn another_protocol_is_refused_by_all_ranks() {
    // SAFETY: a constant of the MPI shim, never written.
    let mut user = unsafe { ffi::RSMPI_COMM_NULL };
    // SAFETY: the world is valid; `user` is ours to write.
    unsafe { ffi::MPI_Comm_dup(world(), &mut user) };
    let (rank, size) = (private().rank(), private().size());
    let protocol = set_protocol(7);
    if rank != size - 1 {
        set_protocol(protocol);
    }
    let refused = MpiComm::private(user).map(drop);
    set_protocol(protocol);
    if size > 1 {
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("(protocol 7)"), "{text}");
        assert!(text.contains(&format!("(protocol {protocol})")), "{text}");
    }
    // Nothing is left of the refusal.
    let comm = MpiComm::private(user).unwrap();
    comm.barrier().unwrap();
    // SAFETY: ours, and not used again.
    unsafe { ffi::MPI_Comm_free(&mut user) };
}

/// What outlives MPI_Finalize.
struct Survivors {
    private: MpiComm,
    part: MpiComm,
    underway: <MpiComm as Comm>::Underway<Vec<u8>>,
    tested: <MpiComm as Comm>::Underway<Vec<u8>>,
    datatype: Datatype,
    info: Info,
}

impl Survivors {
    fn new() -> Survivors {
        let part = private().split(Some(0), 0).unwrap().unwrap();
        let own = part.rank();
        let receive = |tag| part.start(tag, vec![], vec![(own, vec![0; 3])]).unwrap();
        Survivors {
            underway: receive(1),
            tested: receive(2),
            private: private(),
            part,
            datatype: Datatype::of(Number::Signed(4).datatype()).unwrap(),
            info: Info::new(&[(c"key".into(), c"value".into())]).unwrap(),
        }
    }

    fn check(mut self) {
        let gone = |result: Result<()>| assert!(matches!(result, Err(Error::NotRunning)));
        for comm in [&self.private, &self.part] {
            gone(comm.barrier());
            gone(comm.send(0, 0, &[1]));
            gone(comm.recv(0, 0, &mut [1]));
            gone(comm.transfer(0, &[(0, &[1])], &mut [(0, &mut [1])]));
            gone(comm.recv_in_parts(0, &mut [(0, &mut [1])]));
            gone(
                comm.start(0, vec![(0, Arc::new(vec![1]))], vec![])
                    .unwrap()
                    .finish()
                    .map(drop),
            );
            gone(comm.bcast(0, &mut [1]));
            gone(comm.allreduce(Op::Sum, &mut [1]));
            gone(comm.allgather(&[1], &mut vec![0; comm.size()]));
            gone(comm.alltoall(&vec![1; comm.size()]).map(drop));
            gone(comm.deliver(0, vec![(0, vec![1])]).map(drop));
            gone(comm.split(Some(0), 0).map(drop));
        }
        gone(MpiComm::private(world()).map(drop));
        gone(MpiComm::borrowed(world()).map(drop));
        gone(Datatype::of(Number::Real(8).datatype()).map(drop));
        gone(Info::new(&[]).map(drop));
        // SAFETY: one element of four bytes.
        gone(unsafe { self.datatype.pack([1u8; 4].as_ptr(), 0, &mut [0; 4]) });
        assert!(self.tested.is_done());
        gone(self.underway.finish().map(drop));
        drop((self.tested, self.info, self.part, self.private));
    }
}

fn main() -> ExitCode {
    // SAFETY: without a handler the alarm ends the process.
    unsafe { libc::alarm(PATIENCE_SECONDS) };
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        if is_running() {
            // SAFETY: MPI is running.
            unsafe { ffi::MPI_Abort(world(), 1) };
        }
    }));
    // SAFETY: called once, with no arguments, before any other call of MPI.
    unsafe { ffi::MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()) };
    messages_of_all_lengths_arrive();
    lengths_that_only_senders_know();
    collectives_agree_with_arithmetic();
    parts_of_a_split_know_their_ranks();
    a_message_of_the_wrong_length_is_taken_from_its_sender();
    a_part_of_the_wrong_length_is_taken_from_its_sender();
    a_message_is_taken_from_its_sender_without_memory_for_it();
    another_protocol_is_refused_by_all_ranks();
    let survivors = Survivors::new();
    // SAFETY: called once, after everything else.
    unsafe { ffi::MPI_Finalize() };
    survivors.check();
    ExitCode::SUCCESS
}
