//! [`Comm`]: messages and collectives of all lengths, to all ranks and to the own one.

use std::sync::Arc;

use stanchion::comm::mpi::MpiComm;
use stanchion::comm::{Comm, Error, Op, Result, Underway, transfer_unsized};

use crate::{LONG, bytes, neighbours, private, world};

pub fn run() {
    messages_of_all_lengths_arrive();
    messages_to_all_ranks_and_to_itself_arrive();
    what_is_under_way_tells_when_it_is_done();
    requests_that_are_dropped_are_waited_for();
    lengths_that_only_senders_know();
    collectives_agree_with_arithmetic();
    a_message_of_the_wrong_length_is_received_all_the_same();
    a_message_is_received_all_the_same_without_memory_for_it();
    a_transfer_reports_a_short_message_and_completes_the_others();
    ranks_and_lengths_out_of_range_are_errors();
    errors_of_mpi_come_back_with_their_text();
}

fn messages_of_all_lengths_arrive() {
    let comm = private();
    let (left, right) = neighbours(&comm);
    for length in [0, 1, 6, 7, 8, 14, 100] {
        let (own, mut came) = (bytes(comm.rank(), length), vec![0; length]);
        comm.transfer(3, &[(right, &own)], &mut [(left, &mut came)])
            .unwrap();
        assert_eq!(came, bytes(left, length));
        let mut chained = vec![0; length];
        if comm.rank() > 0 {
            comm.recv(left, 4, &mut chained).unwrap();
            assert_eq!(chained, bytes(left, length));
        }
        if right > 0 {
            comm.send(right, 4, &own).unwrap();
        }
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
}

/// With the first chunk limit there is one chunk to a message; the last one never applies.
fn messages_to_all_ranks_and_to_itself_arrive() {
    for chunk in [1 << 30, 64, usize::MAX] {
        let comm = MpiComm::private(world()).unwrap().with_chunk(chunk);
        for length in [0, 1, 64, 1000, LONG / 4] {
            let own = bytes(comm.rank(), length);
            let sends: Vec<_> = (0..comm.size()).map(|to| (to, &own[..])).collect();
            let mut came = vec![vec![0; length]; comm.size()];
            let recvs = came.iter_mut().enumerate();
            let mut recvs: Vec<_> = recvs.map(|(from, b)| (from, &mut b[..])).collect();
            comm.transfer(11, &sends, &mut recvs).unwrap();
            for (from, came) in came.iter().enumerate() {
                assert_eq!(*came, bytes(from, length));
            }
        }
    }
    assert_eq!(private().node(), private().node());
}

fn what_is_under_way_tells_when_it_is_done() {
    let comm = private();
    let (left, right) = neighbours(&comm);
    let recvs = vec![(left, vec![0; 20]), (left, vec![0; 0])];
    let mut underway = comm.start(12, vec![], recvs).unwrap();
    assert!(!underway.is_done());
    comm.barrier().unwrap();
    let (long, empty) = (Arc::new(bytes(comm.rank(), 20)), Arc::new(vec![]));
    let sent = comm.start(12, vec![(right, long), (right, empty)], vec![]);
    while !underway.is_done() {
        std::thread::yield_now();
    }
    assert_eq!(underway.finish().unwrap(), [bytes(left, 20), vec![]]);
    assert!(sent.unwrap().finish().unwrap().is_empty());
}

fn requests_that_are_dropped_are_waited_for() {
    let comm = private();
    let (left, right) = neighbours(&comm);
    let own = Arc::new(bytes(comm.rank(), LONG));
    let sends = vec![(right, own.clone())];
    drop(comm.start(13, sends, vec![(left, vec![0; LONG])]).unwrap());
    assert_eq!(Arc::strong_count(&own), 1);
    comm.barrier().unwrap();
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
    let mut values = [rank, 1 << 62, u64::MAX];
    comm.allreduce(Op::Sum, &mut values).unwrap();
    let sum = |value: u64| size.wrapping_mul(value);
    assert_eq!(values, [size * (size - 1) / 2, sum(1 << 62), sum(u64::MAX)]);
    let mut values = [rank, u64::MAX - rank];
    comm.scan(Op::Min, &mut values).unwrap();
    assert_eq!(values, [0, u64::MAX - rank]);
    let mut values = [rank, u64::MAX - rank];
    comm.scan(Op::Max, &mut values).unwrap();
    assert_eq!(values, [rank, u64::MAX]);
    let mut values = [rank, 1, 1];
    comm.scan(Op::Sum, &mut values).unwrap();
    assert_eq!(values, [rank * (rank + 1) / 2, rank + 1, rank + 1]);
    for length in [0, 1, 7, 8, 20] {
        let mut all = vec![0; length * comm.size()];
        comm.allgather(&bytes(comm.rank(), length), &mut all)
            .unwrap();
        let wanted = (0..comm.size()).flat_map(|rank| bytes(rank, length));
        assert!(wanted.eq(all));
        for root in 0..comm.size() {
            let mut told = bytes(comm.rank(), length);
            comm.bcast(root, &mut told).unwrap();
            assert_eq!(told, bytes(root, length));
        }
    }
    comm.barrier().unwrap();
    let given: Vec<u64> = (0..size).map(|to| 100 * rank + to).collect();
    let got: Vec<u64> = (0..size).map(|from| 100 * from + rank).collect();
    assert_eq!(comm.alltoall(&given).unwrap(), got);
}

/// More than the memory that a rank is left with.
const TOO_LONG: usize = 256 << 20;

/// Rank 0 sends a message that rank 1 does not expect; its send must complete all the same.
pub fn send_wrong(length: usize, receive: impl FnOnce(&MpiComm) -> Result<()>) {
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

fn a_message_of_the_wrong_length_is_received_all_the_same() {
    send_wrong(LONG, |comm| comm.recv(0, 9, &mut [0; 10]));
}

fn a_message_is_received_all_the_same_without_memory_for_it() {
    send_wrong(TOO_LONG, |comm| {
        let _scarce = Scarce::begin(TOO_LONG / 4);
        comm.recv(0, 9, &mut [0; 10])
    });
}

/// Limits the address space of the process to so many more bytes.
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

/// Of a message of three chunks only the first comes, and it is short: the receives of the others are cancelled.
fn a_transfer_reports_a_short_message_and_completes_the_others() {
    let comm = private();
    let (left, right) = neighbours(&comm);
    let (short, right_length) = (bytes(comm.rank(), 5), bytes(comm.rank(), 9));
    let (mut long, mut came) = (vec![0; 20], vec![0; 9]);
    comm.barrier().unwrap();
    let recvs = &mut [(left, &mut long[..])];
    let ended = comm.transfer(14, &[(right, &short)], recvs);
    match ended {
        Err(Error::Length {
            from,
            expected,
            got,
        }) => {
            assert_eq!((from, expected, got), (left, 20, 5));
        }
        other => panic!("{other:?}"),
    }
    comm.barrier().unwrap();
    let recvs = &mut [(left, &mut came[..])];
    comm.transfer(14, &[(right, &right_length)], recvs).unwrap();
    assert_eq!(came, bytes(left, 9));
}

fn ranks_and_lengths_out_of_range_are_errors() {
    let comm = private();
    let size = comm.size();
    let refused = |result: Result<()>| {
        let expected = size as i64;
        assert!(matches!(result, Err(Error::NoSuchRank { rank, .. }) if rank == expected));
    };
    refused(comm.send(size, 1, b""));
    refused(comm.recv(size, 1, &mut []));
    refused(comm.bcast(size, &mut []));
    refused(comm.transfer(1, &[(size, b"")], &mut []));
    refused(comm.transfer(1, &[], &mut [(size, &mut [])]));
    refused(
        comm.start(1, vec![(size, Arc::new(vec![]))], vec![])
            .map(drop),
    );
    refused(comm.start(1, vec![], vec![(size, vec![])]).map(drop));
    let wrong = |result: Result<()>| assert!(matches!(result, Err(Error::Length { .. })));
    wrong(comm.allgather(b"ab", &mut vec![0; 2 * size + 1]));
    wrong(comm.alltoall(&vec![0; size + 1]).map(drop));
}

fn errors_of_mpi_come_back_with_their_text() {
    const NO_TAG: i32 = -77;
    let comm = private();
    let own = comm.rank();
    let ended = [
        ("MPI_Send", comm.send(own, NO_TAG, b"")),
        ("MPI_Isend", comm.transfer(NO_TAG, &[(own, b"")], &mut [])),
        (
            "MPI_Irecv",
            comm.transfer(NO_TAG, &[], &mut [(own, &mut [])]),
        ),
    ];
    for (named, ended) in ended {
        match ended {
            Err(Error::Transport { call, code, text }) => {
                assert_eq!(call, named);
                assert!(code != 0 && text.to_lowercase().contains("tag"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    comm.barrier().unwrap();
}
