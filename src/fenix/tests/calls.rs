//! Single calls: what they return and what they refuse.

use super::*;
use crate::comm::PeerFailure;

fn on_all(ranks: usize, policy: Policy, f: impl Fn(&mut Group<LocalComm>) + Sync) {
    Job::new(ranks, policy).run(f);
}

#[test]
fn members_are_created_changed_and_deleted() {
    on_all(2, COPY, |group| {
        create_member(group, 5);
        create_member(group, -3);
        let again = group.create_member(5, attributes(0, 5));
        assert!(matches!(again, Err(Error::MemberExists { member: 5, .. })));
        assert_eq!(group.members(), [-3, 5]);
        let unknown = group.attributes(4);
        assert!(matches!(
            unknown,
            Err(Error::NoSuchMember { member: 4, .. })
        ));
        let wide = Attributes {
            count: 1 << 40,
            element: 1 << 40,
        };
        let refused = group.set_attributes(5, wide);
        assert!(matches!(refused, Err(Error::AttributeValue(_))));
        group.delete_member(5).unwrap();
        assert!(group.delete_member(5).is_err());
        assert_eq!(group.members(), [-3]);
    });
}

#[test]
fn a_restored_member_may_be_created_once() {
    let mut job = Job::new(2, COPY);
    job.run(|group| {
        create_member(group, 1);
        store(group, 1, 1);
        group.commit().unwrap();
    });
    job.lose(&[1]);
    job.run(|group| {
        check(group, 1, Stamp::Latest, 1);
        let created = group.create_member(1, attributes(1, 1));
        assert_eq!(created.is_ok(), rank_of(group) == 1);
        assert!(group.create_member(1, attributes(1, 1)).is_err());
    });
}

#[test]
fn unknown_stamps_and_members_are_the_same_error_everywhere() {
    on_all(3, COPY, |group| {
        if rank_of(group) == 1 {
            create_member(group, 1);
        }
        let mut restore = |member, stamp| group.restore(member, stamp, u64::MAX, no_target());
        let unknown = restore(2, Stamp::Latest);
        assert!(matches!(unknown, Err(Error::NoSuchMember { .. })));
        let nothing = restore(1, Stamp::Latest);
        assert!(matches!(nothing, Err(Error::NoData(_))));
        let unknown = restore(1, Stamp::At(0));
        assert!(matches!(unknown, Err(Error::NoSuchStamp { stamp: 0, .. })));
        group.commit().unwrap();
        let nothing = group.restore(1, Stamp::Latest, u64::MAX, no_target());
        assert!(matches!(nothing, Err(Error::NoData(_))));
    });
}

#[test]
fn ranks_that_want_different_snapshots_get_the_oldest_of_them() {
    on_all(4, COPY, |group| {
        group.settings.depth = Some(3);
        create_member(group, 4);
        for version in 0..4 {
            store(group, 4, version);
            group.commit().unwrap();
        }
        let stamps = [Stamp::Latest, Stamp::At(1), Stamp::At(2), Stamp::At(9)];
        check(group, 4, stamps[rank_of(group)], 1);
        let stamps = [Stamp::Latest, Stamp::At(-4), Stamp::Latest, Stamp::At(9)];
        let unknown = group.restore(4, stamps[rank_of(group)], u64::MAX, no_target());
        assert!(matches!(unknown, Err(Error::NoSuchStamp { stamp: 9, .. })));
    });
}

#[test]
fn settings_must_be_the_same_everywhere() {
    let settings = Job::new(3, COPY).settings;
    let ended = run(3, |comm| {
        let mut own = settings.clone();
        if comm.rank() == 2 {
            own.depth = None;
        }
        Group::create(None, comm, own).map(drop)
    });
    for end in ended {
        let Err(Error::Mismatch { group: 7, what }) = end else {
            panic!("{end:?}");
        };
        assert!(what.contains("depth"), "{what}");
    }
}

#[test]
fn what_cannot_protect_is_refused_and_the_data_stay() {
    let mut job = Job::new(4, PARITY);
    job.run(|group| {
        create_member(group, 1);
        store(group, 1, 1);
        group.commit().unwrap();
    });
    let settings = job.settings.clone();
    let groups = Mutex::new(std::mem::take(&mut job.groups));
    run(1, |comm| {
        let rank = comm.rank();
        let mut group = groups.lock().unwrap()[rank].take().unwrap();
        let refused = group.renew(comm, settings.clone());
        assert!(matches!(refused, Err(Error::Policy(_))));
        assert!(matches!(group.commit(), Err(Error::Detached(7))));
        groups.lock().unwrap()[rank] = Some(group);
    });
    job.groups = groups.into_inner().unwrap();
    job.run(|group| check(group, 1, Stamp::Latest, 1));
}

#[test]
fn a_store_that_a_rank_cannot_take_part_in_fails_in_its_set() {
    for policy in [COPY, PARITY, RS] {
        on_all(8, policy, |group| {
            let rank = rank_of(group);
            create_member(group, 2);
            if rank != 1 {
                create_member(group, 1);
            }
            let bytes = vec![3; 1000];
            let stored = group.store(1, &bytes[..], &Subset::Full);
            let mates = if policy == COPY { 0..2 } else { 0..4 };
            match stored {
                Err(Error::NoSuchMember { member: 1, .. }) => assert_eq!(rank, 1),
                Err(Error::Peer(PeerFailure { who, .. })) => {
                    assert!(who.rank == 1 && mates.contains(&rank) && rank != 1)
                }
                Ok(()) => assert!(!mates.contains(&rank)),
                other => panic!("{other:?}"),
            }
            // Ranks that store different members notice.
            let member = if rank == 0 { 2 } else { 1 };
            let stored = group.store(member, &bytes[..], &Subset::Full);
            assert_eq!(stored.is_err(), mates.contains(&rank));
            store(group, 2, 1);
            // Others may have stored the first member, so that these ranks do not commit without it.
            let lacks_it = mates.contains(&rank) && rank != 1;
            assert_eq!(group.commit().is_err(), lacks_it);
            if lacks_it {
                group.delete_member(1).unwrap();
                group.commit().unwrap();
            }
            check(group, 2, Stamp::Latest, 1);
        });
    }
}

#[test]
fn stores_under_way_end_in_any_order_of_asking() {
    for policy in [COPY, PARITY, RS] {
        for checksums in [false, true] {
            let mut job = Job::new(4, policy);
            job.settings.checksums = checksums;
            job.run(|group| {
                let rank = rank_of(group);
                for member in 1..4 {
                    create_member(group, member);
                }
                let mut start = |member, version| {
                    let bytes = content(rank, member, version, length(rank, member));
                    group
                        .start_store(member, &bytes[..], &Subset::Full)
                        .unwrap()
                };
                let tickets = [
                    start(1, 1),
                    start(2, 1),
                    start(3, 1),
                    start(1, 2),
                    start(3, 2),
                ];
                while !group.test(tickets[3]).unwrap() {
                    std::thread::yield_now();
                }
                group.wait(tickets[1]).unwrap();
                group.wait(tickets[0]).unwrap();
                let unknown = group.wait(Ticket(99));
                assert!(matches!(unknown, Err(Error::NoSuchRequest)));
                store(group, 2, 3);
                // The last one is left to the commit.
                group.commit().unwrap();
                group.wait(tickets[4]).unwrap();
                assert!(group.test(tickets[0]).unwrap());
                for (member, version) in [(1, 2), (2, 3), (3, 2)] {
                    check(group, member, Stamp::Latest, version);
                }
            });
            job.lose(&[2]);
            job.run(|group| {
                for (member, version) in [(1, 2), (2, 3), (3, 2)] {
                    check(group, member, Stamp::Latest, version);
                }
            });
        }
    }
}

#[test]
fn every_rank_may_ask_any_other() {
    for policy in [COPY, PARITY, RS] {
        let mut job = Job::new(5, policy);
        job.run(|group| {
            create_member(group, 4);
            store(group, 4, 1);
            group.commit().unwrap();
        });
        job.lose(&[3]);
        let asked: [fn(usize) -> usize; 4] = [|_| 3, |rank| (rank + 1) % 5, |rank| rank, |_| 0];
        job.run(|group| {
            let rank = rank_of(group);
            for asked in asked.map(|asked| asked(rank)) {
                let mut bytes = vec![0; length(asked, 4) as usize];
                let restored =
                    group.restore_from(4, Stamp::Latest, u64::MAX, &mut bytes[..], asked);
                assert!(restored.unwrap().complete);
                assert_eq!(bytes, content(asked, 4, 1, bytes.len() as u64));
                assert_eq!(group.attributes_of(4, asked).unwrap(), attributes(asked, 4));
            }
            // Each takes only as many as it has room for.
            let most = rank as u64;
            let mut bytes = vec![0; 2 * rank];
            let restored = group.restore_from(4, Stamp::At(0), most, &mut bytes[..], 2);
            assert_eq!(restored.unwrap().found, Regions::all(most));
            assert_eq!(bytes, content(2, 4, 1, 2 * most));
            let absent = group.restore_from(4, Stamp::Latest, 1, &mut [0; 9][..], 5 - rank);
            assert!(absent.is_err());
            let unknown = group.attributes_of(9, 1);
            assert!(matches!(
                unknown,
                Err(Error::NoSuchMember { member: 9, .. })
            ));
            let absent = group.attributes_of(4, 3 + rank);
            assert_eq!(absent.is_err(), rank > 1);
        });
    }
}

#[test]
fn snapshots_are_deleted_and_stay_deleted() {
    on_all(4, COPY, |group| {
        group.settings.depth = Some(2);
        create_member(group, 4);
        for version in 0..5 {
            store(group, 4, version);
            group.commit().unwrap();
        }
        assert_eq!(group.snapshots(), [4, 3, 2]);
        group.delete_snapshot(Some(Stamp::Latest)).unwrap();
        assert_eq!(group.snapshots(), [3, 2]);
        check(group, 4, Stamp::Latest, 3);
        let unknown = group.delete_snapshot(Some(Stamp::At(4)));
        assert!(matches!(unknown, Err(Error::NoSuchStamp { stamp: 4, .. })));
        group.delete_snapshot(Some(Stamp::At(2))).unwrap();
        group.reconcile().unwrap();
        assert_eq!(group.snapshots(), [3]);
        group.delete_snapshot(None).unwrap();
        group.reconcile().unwrap();
        assert!(group.snapshots().is_empty());
        assert!(group.delete_snapshot(Some(Stamp::Latest)).is_err());
        store(group, 4, 9);
        assert_eq!(group.commit().unwrap(), 5);
    });
}

#[test]
fn storing_again_and_again_takes_no_more_memory() {
    for policy in [COPY, PARITY, RS] {
        for depth in [0, 2] {
            let mut job = Job::new(4, policy);
            job.settings.depth = Some(depth);
            job.run(|group| {
                create_member(group, 4);
                let mut most = 0;
                for version in 0..24 {
                    store(group, 4, version);
                    group.commit().unwrap();
                    // Once it has as many snapshots as it keeps, one more for the next, and blocks of every length that
                    // passes through in some order.
                    if version == depth as usize + 8 {
                        most = group.memory();
                    }
                }
                assert_eq!(group.memory(), most);
            });
        }
    }
}
