use super::*;
use crate::wire;

const SIZES: [usize; 5] = [1, 2, 3, 5, 8];

/// Runs `f` as the ranks of every size; a failed assertion of any rank fails the test.
fn for_sizes(f: impl Fn(LocalComm) + Sync) {
    for size in SIZES {
        run(size, &f);
    }
}

#[test]
fn results_come_in_rank_order() {
    for size in SIZES {
        let ranks = run(size, |comm| (comm.rank(), comm.size()));
        assert_eq!(ranks, (0..size).map(|r| (r, size)).collect::<Vec<_>>());
    }
}

#[test]
fn messages_keep_their_order_and_tag() {
    for_sizes(|comm| {
        let next = (comm.rank() + 1) % comm.size();
        let before = (comm.rank() + comm.size() - 1) % comm.size();
        comm.send(next, 1, b"one").unwrap();
        comm.send(next, 2, b"other").unwrap();
        comm.send(next, 1, b"two").unwrap();
        let (mut short, mut long) = ([0; 3], [0; 5]);
        comm.recv(before, 2, &mut long).unwrap();
        assert_eq!(&long, b"other");
        comm.recv(before, 1, &mut short).unwrap();
        assert_eq!(&short, b"one");
        comm.recv(before, 1, &mut short).unwrap();
        assert_eq!(&short, b"two");
    });
}

#[test]
fn transfer_moves_everything() {
    for_sizes(|comm| {
        let outgoing: Vec<Vec<u8>> = (0..comm.size())
            .map(|to| vec![to as u8; comm.rank() + 1])
            .collect();
        let mut incoming: Vec<Vec<u8>> = (0..comm.size()).map(|from| vec![0; from + 1]).collect();
        let sends: Vec<_> = outgoing.iter().map(Vec::as_slice).enumerate().collect();
        let mut recvs: Vec<_> = incoming
            .iter_mut()
            .map(Vec::as_mut_slice)
            .enumerate()
            .collect();
        comm.transfer(7, &sends, &mut recvs).unwrap();
        for (from, bytes) in incoming.iter().enumerate() {
            assert_eq!(*bytes, vec![comm.rank() as u8; from + 1]);
        }
    });
}

#[test]
fn what_is_under_way_tells_when_it_is_done() {
    for_sizes(|comm| {
        let next = (comm.rank() + 1) % comm.size();
        let before = (comm.rank() + comm.size() - 1) % comm.size();
        let room = vec![(before, vec![0; 3]), (before, vec![0; 3])];
        let mut underway = comm.start(3, vec![], room).unwrap();
        assert!(!underway.is_done());
        comm.barrier().unwrap();
        comm.send(next, 3, b"one").unwrap();
        comm.barrier().unwrap();
        assert!(!underway.is_done());
        comm.barrier().unwrap();
        comm.send(next, 3, b"two").unwrap();
        while !underway.is_done() {
            thread::yield_now();
        }
        assert_eq!(underway.finish().unwrap(), [b"one", b"two"]);
    });
}

#[test]
fn what_comes_from_a_rank_that_left_is_done() {
    let ended = run(2, |comm| {
        if comm.rank() == 0 {
            return true;
        }
        let mut underway = comm.start(3, vec![], vec![(0, vec![0])]).unwrap();
        while !underway.is_done() {
            thread::yield_now();
        }
        matches!(underway.finish(), Err(Error::PeerGone(0)))
    });
    assert!(ended[1]);
}

#[test]
fn barrier_and_bcast_from_every_root() {
    for_sizes(|comm| {
        for root in 0..comm.size() {
            let mut bytes = [comm.rank() as u8; 4];
            comm.bcast(root, &mut bytes).unwrap();
            assert_eq!(bytes, [root as u8; 4]);
            comm.barrier().unwrap();
        }
    });
}

#[test]
fn allreduce_and_scan_follow_the_operation() {
    for_sizes(|comm| {
        let (rank, size) = (comm.rank() as u64, comm.size() as u64);
        let cases = [
            (Op::Sum, size * (size + 1) / 2, (rank + 1) * (rank + 2) / 2),
            (Op::Min, 1, 1),
            (Op::Max, size, rank + 1),
        ];
        for (op, whole, prefix) in cases {
            let mut values = [rank + 1, 10];
            comm.allreduce(op, &mut values[..1]).unwrap();
            assert_eq!(values, [whole, 10]);
            let mut values = [rank + 1];
            comm.scan(op, &mut values).unwrap();
            assert_eq!(values, [prefix]);
        }
    });
}

#[test]
fn allgather_and_alltoall() {
    for_sizes(|comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let mut all = vec![0; 2 * size];
        comm.allgather(&[rank as u8, 9], &mut all).unwrap();
        assert!((0..size).all(|r| all[2 * r..2 * r + 2] == [r as u8, 9]));

        let given: Vec<u64> = (0..size).map(|to| (100 * rank + to) as u64).collect();
        let got = comm.alltoall(&given).unwrap();
        assert!((0..size).all(|from| got[from] == (100 * from + rank) as u64));
    });
}

#[test]
fn split_by_parity_in_reverse() {
    for_sizes(|comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let color = (rank % 2) as u32;
        let half = comm.split(Some(color), -(rank as i32)).unwrap().unwrap();
        let mut mates: Vec<u64> = (0..size as u64)
            .filter(|r| r % 2 == u64::from(color))
            .collect();
        mates.reverse();
        let mut all = vec![0; 8 * half.size()];
        half.allgather(&(rank as u64).to_le_bytes(), &mut all)
            .unwrap();
        assert_eq!(wire::numbers(&all).collect::<Vec<_>>(), mates);
        assert_eq!(mates[half.rank()], rank as u64);
    });
}

#[test]
fn split_leaves_out_those_without_color() {
    for_sizes(|comm| {
        let color = (comm.rank() != 0).then_some(4);
        let part = comm.split(color, 0).unwrap();
        assert_eq!(part.is_none(), comm.rank() == 0);
        if let Some(part) = part {
            assert_eq!(
                (part.rank(), part.size()),
                (comm.rank() - 1, comm.size() - 1)
            );
            part.barrier().unwrap();
        }
        comm.barrier().unwrap();
    });
}

#[test]
fn mail_of_parent_and_part_stays_apart() {
    for_sizes(|comm| {
        let part = comm.split(Some(0), 0).unwrap().unwrap();
        let me = comm.rank();
        comm.send(me, 1, b"parent").unwrap();
        part.send(me, 1, b"part").unwrap();
        let mut bytes = [0; 4];
        part.recv(me, 1, &mut bytes).unwrap();
        assert_eq!(&bytes, b"part");
    });
}

#[test]
fn other_lengths_are_errors() {
    for_sizes(|comm| {
        let me = comm.rank();
        comm.send(me, 1, b"four").unwrap();
        assert!(matches!(
            comm.recv(me, 1, &mut [0; 3]),
            Err(Error::Length { from, expected: 3, got: 4 }) if from == me
        ));
        let sends: [(usize, &[u8]); 2] = [(me, b"a"), (me, b"bc")];
        let (mut first, mut second) = ([0; 4], [0; 2]);
        let mut recvs = [(me, &mut first[..]), (me, &mut second[..])];
        let ended = comm.transfer(1, &sends, &mut recvs);
        assert!(matches!(ended, Err(Error::Length { expected: 4, .. })));
        assert_eq!(&second, b"bc");

        let wrong = vec![0; 2 * comm.size() + 1];
        let ended = comm.allgather(&[1, 2], &mut wrong.clone());
        assert!(matches!(ended, Err(Error::Length { .. })));
        let ended = comm.alltoall(&vec![0; comm.size() + 1]);
        assert!(matches!(ended, Err(Error::Length { .. })));
    });
}

#[test]
fn ranks_with_other_lengths_see_it() {
    for size in SIZES.into_iter().filter(|s| *s > 1) {
        let ended = run(size, |comm| {
            let length = if comm.rank() == 1 { 3 } else { 2 };
            let bcast = comm.bcast(0, &mut vec![0; length]);
            let reduced = comm.allreduce(Op::Sum, &mut vec![0; length]);
            let gathered = comm.allgather(&vec![0; length], &mut vec![0; length * size]);
            (bcast.is_err(), reduced.is_err(), gathered.is_err())
        });
        for (rank, ended) in ended.into_iter().enumerate() {
            assert_eq!(ended, (rank == 1, true, true));
        }
    }
}

#[test]
fn ranks_out_of_range_are_errors() {
    for_sizes(|comm| {
        let size = comm.size();
        let ended = [
            comm.send(size, 0, b""),
            comm.recv(size, 0, &mut []),
            comm.bcast(size, &mut []),
            comm.transfer(0, &[(size, b"")], &mut []),
            comm.transfer(0, &[], &mut [(size, &mut [])]),
        ];
        for result in ended {
            assert!(matches!(
                result,
                Err(Error::NoSuchRank { rank, size: s }) if rank == size as i64 && s == size
            ));
        }
    });
}

#[test]
fn a_rank_that_left_is_noticed() {
    let ended = run(3, |comm| match comm.rank() {
        1 => Ok(()),
        _ => comm.barrier(),
    });
    assert!(matches!(ended[0], Err(Error::PeerGone(1))));
    assert!(matches!(ended[2], Err(Error::PeerGone(1))));
}

#[test]
fn mail_outlives_its_sender() {
    let ended = run(2, |comm| match comm.rank() {
        0 => comm.send(1, 0, b"bye"),
        _ => comm.recv(0, 0, &mut [0; 3]),
    });
    assert!(ended.iter().all(Result::is_ok));
}

#[test]
#[should_panic(expected = "rank 1 gives up")]
fn a_panic_ends_the_run() {
    run(3, |comm| {
        if comm.rank() == 1 {
            panic!("rank 1 gives up");
        }
        comm.recv(1, 0, &mut [0; 1]).unwrap_err();
    });
}

// ---- deadlocks and schedules ----------------------------------------------------------------

/// Each rank waits for a message that nobody sends, or one of them in a collective.
#[test]
fn ranks_that_all_wait_are_told() {
    for size in SIZES {
        for in_barrier in [false, true] {
            let ended = run(size, |comm| match in_barrier && comm.rank() == 0 {
                true if comm.size() > 1 => comm.barrier(),
                _ => comm.recv((comm.rank() + 1) % comm.size(), 1, &mut [0]),
            });
            let told =
                |end: &Result<()>| matches!(end, Err(Error::Transport { .. } | Error::PeerGone(_)));
            assert!(ended.iter().all(told), "{ended:?}");
            let deadlock = |end: &Result<()>| matches!(end, Err(Error::Transport { .. }));
            assert!(ended.iter().any(deadlock), "{ended:?}");
        }
    }
}

/// The order in which ranks come by is that of the schedule.
fn order(schedule: &RankSchedule) -> Vec<usize> {
    let seen = std::sync::Mutex::new(Vec::new());
    let ended = run_scheduled(vec![0; 4], schedule, |comm| {
        for _ in 0..5 {
            comm.turn().point();
            seen.lock().unwrap().push(comm.rank());
        }
        comm.barrier()
    });
    assert!(
        ended
            .ranks
            .iter()
            .all(|end| matches!(end, End::Returned(Ok(()))))
    );
    assert_eq!((ended.deadlock, ended.calls), (None, vec![6; 4]));
    seen.into_inner().unwrap()
}

#[test]
fn a_seed_gives_one_order_and_another_seed_another() {
    let of_seed = |seed| {
        order(&RankSchedule {
            seed,
            one_in: 2,
            ..RankSchedule::default()
        })
    };
    let orders: Vec<_> = (0..20).map(of_seed).collect();
    assert!((0..20).all(|seed| orders[seed as usize] == of_seed(seed)));
    assert!(orders.iter().any(|order| *order != orders[0]));
}

#[test]
fn a_rank_dies_at_its_call_and_the_others_hear_of_it() {
    for nth in 0..3 {
        let schedule = RankSchedule {
            deaths: vec![(1, nth)],
            ..RankSchedule::default()
        };
        let ended = run_scheduled(vec![0; 3], &schedule, |comm| {
            (0..3)
                .map(|_| comm.barrier())
                .take_while(Result::is_ok)
                .count()
        });
        let met: Vec<_> = ended
            .ranks
            .iter()
            .map(|end| match end {
                End::Returned(met) => Some(*met as u64),
                _ => None,
            })
            .collect();
        assert_eq!(met, [Some(nth), None, Some(nth)]);
        assert_eq!(ended.deadlock, None);
    }
}

#[test]
fn all_die_at_once() {
    let schedule = RankSchedule {
        end: Some(7),
        one_in: 2,
        ..RankSchedule::default()
    };
    let ended = run_scheduled(vec![0; 3], &schedule, |comm| {
        (0..5).for_each(|_| comm.barrier().unwrap());
    });
    assert!(ended.ranks.iter().all(|end| matches!(end, End::Died)));
    assert_eq!(ended.deadlock, None);
}

#[test]
fn a_schedule_too_finds_deadlocks_and_panics() {
    let ended = run_scheduled(vec![0; 2], &RankSchedule::default(), |comm| {
        let waited = comm.recv(1 - comm.rank(), 1, &mut [0]);
        assert!(comm.rank() == 0, "one of two");
        waited
    });
    assert!(ended.deadlock.is_some_and(|text| text.contains("thread 1")));
    assert!(matches!(
        &ended.ranks[..],
        [End::Returned(Err(_)), End::Panicked(_)]
    ));
}
