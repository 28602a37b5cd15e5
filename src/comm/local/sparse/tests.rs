use proptest::prelude::*;

use super::super::{End, RankSchedule, run, run_scheduled};
use super::*;
use crate::comm::Error;

fn content(from: usize, to: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (31 * at + 7 * from + to) as u8)
        .collect()
}

/// Whether all messages that `length` has for two ranks arrive under this limit; 0 is no message, and one byte less is
/// sent.
fn transfer_all(
    comm: &LocalComm,
    limit: Limit,
    length: impl Fn(usize, usize) -> usize,
) -> Result<bool> {
    let (rank, ranks) = (comm.rank(), 0..comm.size());
    let peers = |length: &dyn Fn(usize) -> usize| -> Vec<_> {
        let all = ranks.clone().map(|peer| (peer, length(peer)));
        all.filter_map(|(peer, length)| Some((peer, length.checked_sub(1)?)))
            .collect()
    };
    let (to, from) = (
        peers(&|to| length(rank, to)),
        peers(&|from| length(from, rank)),
    );
    let out: Vec<_> = to
        .iter()
        .map(|(to, length)| content(rank, *to, *length))
        .collect();
    let mut into: Vec<_> = from.iter().map(|(_, length)| vec![0; *length]).collect();
    let sends: Vec<_> = to
        .iter()
        .zip(&out)
        .map(|((to, _), bytes)| (*to, &bytes[..]))
        .collect();
    let recvs = from.iter().zip(&mut into);
    let mut recvs: Vec<_> = recvs
        .map(|((from, _), bytes)| (*from, &mut bytes[..]))
        .collect();
    comm.transfer_limited(9, limit, &sends, &mut recvs)?;
    let mut came = from.iter().zip(&into);
    Ok(came.all(|((from, length), bytes)| *bytes == content(*from, rank, *length)))
}

fn limits() -> impl Strategy<Value = Limit> {
    let most = || prop::option::of(0..4usize);
    (most(), most(), any::<bool>()).prop_map(|(sends, receives, handshake)| Limit {
        sends,
        receives,
        handshake,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(64)))]

    /// The checks of [`Checked`] run along.
    #[test]
    fn every_pattern_ends_within_every_limit(
        size in 1..7usize,
        lengths in prop::collection::vec(prop_oneof![Just(0), 1..4usize], 36),
        limit in limits(),
        seed in any::<u64>(),
    ) {
        let schedule = RankSchedule { seed, one_in: 2, ..RankSchedule::default() };
        let ended = run_scheduled(vec![0; size], &schedule, |comm| {
            transfer_all(&comm, limit, |from, to| lengths[6 * from + to])
        });
        prop_assert_eq!(&ended.deadlock, &None);
        for end in ended.ranks {
            prop_assert!(matches!(end, End::Returned(Ok(true))), "{end:?}");
        }
    }
}

#[test]
fn threads_that_run_at_once_end_too() {
    for handshake in [false, true] {
        let (sends, receives) = (Some(2), Some(1));
        let limit = Limit {
            sends,
            receives,
            handshake,
        };
        let ended = run(8, |comm| {
            (0..20).all(|_| transfer_all(&comm, limit, |_, _| 5).unwrap())
        });
        assert_eq!(ended, [true; 8]);
    }
}

const ONE: Limit = Limit {
    sends: Some(1),
    receives: Some(1),
    handshake: false,
};

#[test]
#[should_panic(expected = "more than 1 sends under way")]
fn a_send_too_many_is_found() {
    run(1, |comm| {
        let checked = Checked::new(&comm, 9, ONE);
        checked.post_send(9, 0, b"one");
        checked.post_send(9, 0, b"two");
    });
}

#[test]
#[should_panic(expected = "more than 1 receives under way")]
fn a_receive_too_many_is_found() {
    run(1, |comm| {
        let checked = Checked::new(&comm, 9, ONE);
        checked.post_recv(9, 0, &mut [0; 3]);
        checked.post_recv(9, 0, &mut [0; 3]);
    });
}

#[test]
#[should_panic(expected = "sent before its receive is posted")]
fn a_message_ahead_of_its_handshake_is_found() {
    run(1, |comm| {
        let handshake = Limit {
            handshake: true,
            ..ONE
        };
        Checked::new(&comm, 9, handshake).post_send(9, 0, b"early");
    });
}

#[test]
fn messages_of_one_sender_keep_their_order_whichever_is_tested_first() {
    run(1, |comm| {
        let checked = Checked::new(&comm, 9, Limit::default());
        let (mut one, mut two) = ([0; 3], [0; 3]);
        let mut first = checked.post_recv(9, 0, &mut one);
        let mut second = checked.post_recv(9, 0, &mut two);
        checked.post_send(9, 0, b"one");
        assert!(checked.test(&mut second).is_none());
        assert!(matches!(checked.test(&mut first), Some(Ok(()))));
        checked.post_send(9, 0, b"two");
        assert!(matches!(checked.test(&mut second), Some(Ok(()))));
        assert_eq!((&one, &two), (b"one", b"two"));
    });
}

/// Rank 0 sends to rank 1, which does not receive but waits for rank 0 in turn.
#[test]
fn ranks_that_wait_for_each_other_are_told() {
    for handshake in [false, true] {
        let ended = run(2, |comm| match comm.rank() {
            0 => comm.transfer_limited(9, Limit { handshake, ..ONE }, &[(1, b"x")], &mut []),
            _ => comm.recv(0, 8, &mut [0]),
        });
        let deadlock = |end: &Result<()>| matches!(end, Err(Error::Transport { .. }));
        assert!(ended.iter().any(deadlock), "{ended:?}");
        assert!(ended.iter().all(Result::is_err));
    }
}

#[test]
fn a_peer_that_left_or_sent_another_length_is_an_error_and_the_rest_arrives() {
    let ended = run(4, |comm| {
        let (mut gone, mut wrong, mut right) = ([0; 2], [0; 2], [0; 2]);
        match comm.rank() {
            0 => {
                let mut recvs = [(1, &mut gone[..]), (2, &mut wrong[..]), (3, &mut right[..])];
                let ended = comm.transfer_limited(9, ONE, &[], &mut recvs);
                assert_eq!(&right, b"ok");
                matches!(ended, Err(Error::PeerGone(1)))
            }
            1 => true,
            2 => comm
                .transfer_limited(9, ONE, &[(0, b"wrong")], &mut [])
                .is_ok(),
            _ => comm
                .transfer_limited(9, ONE, &[(0, b"ok")], &mut [])
                .is_ok(),
        }
    });
    assert_eq!(ended, [true; 4]);
}

#[test]
fn messages_are_handed_over_in_turn_through_one_buffer() {
    run(3, |comm| {
        let (rank, next) = (comm.rank(), (comm.rank() + 1) % 3);
        let parts = [content(rank, next, 4), content(rank, next, 2)];
        let before = (rank + 2) % 3;
        let turns = [None, Some((before, 4)), None, Some((before, 2))];
        let mut taken = Vec::new();
        let sends = [(next, &parts[0][..]), (next, &parts[1][..])];
        let take = &mut |turn: usize, bytes: &[u8]| taken.push((turn, bytes.to_vec()));
        comm.transfer_in_turn(9, &sends, &turns, &mut [&mut [0; 4][..]], take)
            .unwrap();
        let came = |length| content(before, rank, length);
        assert_eq!(
            taken,
            [(0, vec![]), (1, came(4)), (2, vec![]), (3, came(2))]
        );
    });
}
