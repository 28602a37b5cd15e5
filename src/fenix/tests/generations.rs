//! What is restored belongs to one commit: a snapshot of another generation, or one that a rank has only in part, is
//! never taken for it.

use super::*;
use crate::fenix::snapshot::Snapshots;

fn version_of(group: &mut Group<LocalComm>) -> usize {
    let rank = rank_of(group);
    let mut bytes = vec![0; length(rank, 4) as usize];
    let restored = group.restore(4, Stamp::Latest, u64::MAX, Some(&mut bytes[..]));
    assert!(restored.unwrap().complete);
    let is = |version: &usize| bytes == content(rank, 4, *version, bytes.len() as u64);
    (0..9).find(is).unwrap()
}

/// Lets a rank take part in an agreement that comes to nothing for it: its snapshots stay as they are.
fn misses(group: &mut Group<LocalComm>, agreement: impl FnOnce(&mut Group<LocalComm>)) {
    let marks: Vec<_> = group.snapshots.marks().collect();
    let mut shown = Snapshots::new(group.snapshots.next, group.snapshots.generation);
    shown.keep(
        &marks,
        None,
        group.comm().unwrap().size(),
        &mut group.memory,
    );
    let own = std::mem::replace(&mut group.snapshots, shown);
    agreement(group);
    group.snapshots = own;
}

/// Ranks 2 and 3 have committed a snapshot that 0 and 1 have not. All agree to go back, but a failure keeps
/// 2 and 3 from hearing so. The others commit again, under the same time stamp, before the next failure.
#[test]
fn a_time_stamp_that_was_given_twice_names_two_snapshots() {
    let mut job = Job::new(4, COPY);
    job.settings.depth = Some(1);
    job.run(|group| {
        let ahead = rank_of(group) >= 2;
        create_member(group, 4);
        store(group, 4, 0);
        group.commit().unwrap();
        store(group, 4, 1);
        if ahead {
            group.commit().unwrap();
            misses(group, |group| group.reconcile().unwrap());
        } else {
            group.reconcile().unwrap();
            store(group, 4, 2);
            assert_eq!(group.commit().unwrap(), 1);
        }
    });
    assert_eq!(job.run(version_of), [0; 4]);
}

#[test]
fn what_not_all_ranks_of_a_set_could_store_is_not_committed() {
    for policy in [COPY, PARITY, RS] {
        for under_way in [false, true] {
            let mut job = Job::new(8, policy);
            let refused = job.run(|group| {
                let rank = rank_of(group);
                create_member(group, 4);
                store(group, 4, 1);
                group.commit().unwrap();
                if rank == 1 {
                    group.memory.only(0);
                }
                let bytes = content(rank, 4, 2, length(rank, 4));
                let stored = match under_way {
                    true => group
                        .start_store(4, &bytes[..], &Subset::Full)
                        .and_then(|ticket| group.wait(ticket)),
                    false => group.store(4, &bytes[..], &Subset::Full),
                };
                group.memory.only(usize::MAX);
                let refused = group.prepare_commit();
                assert_eq!(refused.is_err(), stored.is_err(), "rank {rank}");
                if let Err(error) = refused {
                    assert!(
                        matches!(error, Error::NotStored { member: 4, .. }),
                        "{error:?}"
                    );
                    assert!(group.commit().is_err());
                }
                stored.is_err()
            });
            let mates = if policy == COPY { 2 } else { 4 };
            assert_eq!(refused.iter().filter(|refused| **refused).count(), mates);
            // The other sets may have it; all go back.
            assert_eq!(job.run(version_of), [1; 8]);
        }
    }
}

#[test]
fn a_member_that_is_stored_after_all_is_committed() {
    Job::new(4, COPY).run(|group| {
        let rank = rank_of(group);
        create_member(group, 4);
        let bytes = content(rank, 4, 2, length(rank, 4));
        let part = |start, end| Subset::strided(1, start, end, 1).unwrap();
        if rank == 1 {
            group.memory.only(0);
        }
        let failed = group.store(4, &bytes[..], &part(0, 9)).is_err();
        assert_eq!(failed, rank < 2);
        group.memory.only(usize::MAX);
        group.store(4, &bytes[..], &part(0, 4)).unwrap();
        assert_eq!(
            group.prepare_commit().is_err(),
            failed && length(rank, 4) > 5
        );
        group.store(4, &bytes[..], &Subset::Full).unwrap();
        group.commit().unwrap();
        check(group, 4, Stamp::Latest, 2);
    });
}

/// A guard that is not there must not count as zeros.
#[test]
fn a_share_is_not_rebuilt_from_a_guard_with_gaps() {
    let mut job = Job::new(4, PARITY);
    job.run(|group| {
        create_member(group, 4);
        store(group, 4, 1);
        group.commit().unwrap();
        if rank_of(group) == 0 {
            let members = &mut group.snapshots.kept[0].members;
            let entries = members.values_mut().flatten();
            entries.for_each(|entry| entry.redundancy = None);
        }
    });
    job.lose(&[2]);
    let restored = job.run(|group| group.restore(4, Stamp::Latest, u64::MAX, no_target()));
    for (rank, restored) in restored.iter().enumerate() {
        match restored {
            Err(Error::Invariant(_)) => assert_eq!(rank, 0),
            Err(Error::Peer(_)) => assert_ne!(rank, 0),
            other => panic!("rank {rank}: {other:?}"),
        }
    }
}
