//! [`Sparse`]: flow control, messages in turn, parts and unexpected messages.

use std::time::{Duration, Instant};

use mpi_sys as ffi;
use stanchion::comm::mpi::MpiComm;
use stanchion::comm::{Comm, Error, Limit, Result, Sparse};

use crate::messages::send_wrong;
use crate::{LONG, bytes, neighbours, private, world};

pub fn run() {
    messages_arrive_within_every_limit();
    a_handshake_holds_a_message_back();
    a_limit_holds_the_second_message_back();
    messages_are_used_in_turn();
    parts_of_any_length_make_a_message();
    a_part_of_the_wrong_length_is_received_all_the_same();
    unexpected_messages_arrive();
    one_delivery_follows_another();
    ranks_out_of_range_are_errors();
}

fn limit(sends: usize, receives: usize, handshake: bool) -> Limit {
    let most = |number: usize| (number > 0).then_some(number);
    Limit {
        sends: most(sends),
        receives: most(receives),
        handshake,
    }
}

/// All ranks to all, themselves included; each message has a length of its own.
fn messages_arrive_within_every_limit() {
    let comm = private();
    let (rank, size) = (comm.rank(), comm.size());
    for handshake in [false, true] {
        for (sends, receives) in [(0, 0), (1, 1), (1, 0), (0, 1), (2, 3)] {
            for scale in [0, 1, 7, 50] {
                let length = |from: usize, to: usize| scale * (from + 2 * to);
                let out: Vec<_> = (0..size).map(|to| bytes(rank, length(rank, to))).collect();
                let mut into: Vec<_> = (0..size).map(|from| vec![0; length(from, rank)]).collect();
                let outgoing: Vec<_> = out.iter().map(|b| &b[..]).enumerate().collect();
                let mut incoming: Vec<_> =
                    into.iter_mut().map(|b| &mut b[..]).enumerate().collect();
                let limit = limit(sends, receives, handshake);
                let ended = comm.transfer_limited(21, limit, &outgoing, &mut incoming);
                ended.unwrap();
                for (from, came) in into.iter().enumerate() {
                    assert_eq!(*came, bytes(from, length(from, rank)));
                }
            }
        }
    }
}

/// Whether a message of this tag arrives within a moment.
fn arrives(comm: &MpiComm, from: usize, tag: i32) -> bool {
    let end = Instant::now() + Duration::from_millis(50);
    let mut found = 0;
    while found == 0 && Instant::now() < end {
        // SAFETY: the communicator is valid; `found` is ours to write, the status is not wanted.
        unsafe {
            let ignored = ffi::RSMPI_STATUS_IGNORE;
            ffi::MPI_Iprobe(from as i32, tag, comm.handle(), &mut found, ignored);
        }
    }
    found != 0
}

/// Rank 1 sees nothing of the message before it posts the receive.
fn a_handshake_holds_a_message_back() {
    let comm = private();
    for (handshake, comes) in [(false, true), (true, false)] {
        let limit = limit(1, 1, handshake);
        match comm.rank() {
            0 if comm.size() > 1 => {
                comm.transfer_limited(22, limit, &[(1, b"hello")], &mut [])
                    .unwrap();
            }
            1 => {
                assert_eq!(arrives(&comm, 0, 22), comes);
                let mut came = [0; 5];
                let recvs = &mut [(0, &mut came[..])];
                comm.transfer_limited(22, limit, &[], recvs).unwrap();
                assert_eq!(&came, b"hello");
            }
            _ => (),
        }
        comm.barrier().unwrap();
    }
}

/// Rank 2 sees nothing of its message while rank 1 does not receive the one ahead of it.
fn a_limit_holds_the_second_message_back() {
    let comm = MpiComm::private(world()).unwrap();
    let own = bytes(0, LONG);
    for (sends, comes) in [(2, true), (1, false)] {
        let limit = limit(sends, 1, false);
        let mut came = vec![0; LONG];
        match comm.rank() {
            0 if comm.size() > 2 => {
                let sends = [(1, &own[..]), (2, &own[..])];
                comm.transfer_limited(23, limit, &sends, &mut []).unwrap();
            }
            1 if comm.size() > 2 => {
                comm.recv(2, 24, &mut []).unwrap();
                comm.transfer_limited(23, limit, &[], &mut [(0, &mut came[..])])
                    .unwrap();
                assert!(came == own);
            }
            2 => {
                assert_eq!(arrives(&comm, 0, 23), comes);
                comm.send(1, 24, &[]).unwrap();
                comm.transfer_limited(23, limit, &[], &mut [(0, &mut came[..])])
                    .unwrap();
                assert!(came == own);
            }
            _ => (),
        }
        comm.barrier().unwrap();
    }
}

fn messages_are_used_in_turn() {
    let comm = private();
    let (left, right) = neighbours(&comm);
    let own: Vec<_> = (0..9)
        .map(|turn| bytes(comm.rank() + turn, 3 * turn))
        .collect();
    let sends: Vec<_> = own.iter().map(|message| (right, &message[..])).collect();
    let mut turns = Vec::new();
    for turn in 0..9 {
        turns.extend([Some((left, 3 * turn)), None]);
    }
    for buffers in [1, 2, 9, 20] {
        let mut space = vec![vec![0; 24]; buffers];
        let mut space: Vec<_> = space.iter_mut().map(|buffer| &mut buffer[..]).collect();
        let mut next = 0;
        let take = &mut |turn: usize, came: &[u8]| {
            assert_eq!(turn, next);
            let expected = bytes(left + turn / 2, 3 * (turn / 2));
            assert_eq!(came, if turn % 2 == 0 { &expected[..] } else { &[] });
            next += 1;
        };
        comm.transfer_in_turn(25, &sends, &turns, &mut space, take)
            .unwrap();
        assert_eq!(next, 18);
    }
    assert!(
        comm.transfer_in_turn(25, &[], &[], &mut [], &mut |_, _| ())
            .is_ok()
    );
}

fn parts_of_any_length_make_a_message() {
    let comm = MpiComm::private(world()).unwrap();
    let (left, right) = neighbours(&comm);
    let own = bytes(comm.rank(), 60);
    let lengths = [1, 9, 20, 30];
    let mut rest = &own[..];
    let parts = lengths.map(|length| {
        let (part, behind) = rest.split_at(length);
        rest = behind;
        (right, std::sync::Arc::new(part.to_vec()))
    });
    let sent = comm.start(26, parts.into(), vec![]).unwrap();
    let mut came = vec![0; 60];
    comm.recv_in_parts(26, &mut [(left, &mut came[..]), (left, &mut [])])
        .unwrap();
    assert_eq!(came, bytes(left, 60));
    drop(sent);
    comm.barrier().unwrap();
}

fn a_part_of_the_wrong_length_is_received_all_the_same() {
    send_wrong(LONG, |comm| comm.recv_in_parts(9, &mut [(0, &mut [0; 10])]));
}

/// Each rank to all, to some, or to none.
fn unexpected_messages_arrive() {
    let comm = private();
    let (rank, size) = (comm.rank(), comm.size());
    for length in [0, 1, 6, 7, 14, 20, 1000] {
        for talks in [
            |_: usize, _: usize| true,
            |from, to| from <= to,
            |_, _| false,
        ] {
            let to = (0..size).filter(|to| talks(rank, *to));
            let came = comm.deliver(28, to.map(|to| (to, bytes(rank + to, length))).collect());
            let from = (0..size).filter(|from| talks(*from, rank));
            let expected: Vec<_> = from
                .map(|from| (from, bytes(from + rank, length)))
                .collect();
            assert_eq!(came.unwrap(), expected);
        }
    }
    // Deliveries of one `MpiComm` are told apart; the next test makes another of the same communicator.
    comm.barrier().unwrap();
}

/// Rank 0 is late in each of them: it must not take the messages of the next.
fn one_delivery_follows_another() {
    let comm = private();
    let (left, right) = neighbours(&comm);
    for round in 0..50 {
        if comm.rank() == 0 && round % 10 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        let came = comm.deliver(28, vec![(right, bytes(comm.rank() + round, 3))]);
        assert_eq!(came.unwrap(), [(left, bytes(left + round, 3))]);
    }
    comm.barrier().unwrap();
}

fn ranks_out_of_range_are_errors() {
    let comm = private();
    let size = comm.size();
    let refused = |result: Result<()>| {
        let expected = size as i64;
        assert!(matches!(result, Err(Error::NoSuchRank { rank, .. }) if rank == expected));
    };
    let one = limit(1, 1, true);
    refused(comm.transfer_limited(1, one, &[(size, b"")], &mut []));
    refused(comm.transfer_limited(1, one, &[], &mut [(size, &mut [])]));
    let turns = [Some((size, 0))];
    refused(comm.transfer_in_turn(1, &[], &turns, &mut [], &mut |_, _| ()));
    refused(comm.transfer_in_turn(1, &[(size, b"")], &[], &mut [], &mut |_, _| ()));
    refused(comm.recv_in_parts(1, &mut [(size, &mut [])]));
    refused(comm.deliver(28, vec![(size, vec![])]).map(drop));
    comm.barrier().unwrap();
}
