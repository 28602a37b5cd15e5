//! A group that is created again with fewer ranks.

use super::*;

/// Creates the group again on the first `ranks` ranks and runs `f` there.
fn shrink<T: Send>(
    job: &mut Job,
    ranks: usize,
    policy: Policy,
    f: impl Fn(&mut Group<LocalComm>) -> T + Sync,
) -> Vec<T> {
    job.groups.truncate(ranks);
    job.settings.policy = policy;
    job.run(f)
}

fn stored_by(ranks: usize, policy: Policy) -> Job {
    let mut job = Job::new(ranks, policy);
    job.run(|group| {
        create_member(group, 4);
        store(group, 4, 1);
        group.commit().unwrap();
    });
    job
}

/// What each rank stored is still its own; what it stores from now on is protected.
fn goes_on(group: &mut Group<LocalComm>) {
    let rank = rank_of(group);
    let mut bytes = vec![0; length(rank, 4) as usize];
    let own = group.restore_locally(4, Stamp::Latest, u64::MAX, &mut bytes[..]);
    assert!(own.unwrap().complete);
    assert_eq!(bytes, content(rank, 4, 1, bytes.len() as u64));
    store(group, 4, 2);
    group.commit().unwrap();
}

fn parity(set_size: u32) -> Policy {
    Policy::Parity {
        separation: 1,
        set_size,
    }
}

#[test]
fn the_separation_may_follow_the_number_of_ranks() {
    let half = |ranks: u32| Policy::Copy {
        separation: ranks / 2,
    };
    let mut job = stored_by(5, half(5));
    for ranks in [4u32, 3, 2] {
        shrink(&mut job, ranks as usize, half(ranks), goes_on);
        for lost in 0..ranks as usize {
            job.lose(&[lost]);
            job.run(|group| check(group, 4, Stamp::Latest, 2));
        }
        job.run(|group| {
            store(group, 4, 1);
            group.commit().unwrap();
        });
    }
}

#[test]
fn sets_that_are_too_small_for_parity_hold_copies() {
    let mut job = stored_by(4, parity(3));
    for (ranks, policy) in [(3, parity(2)), (2, parity(1))] {
        shrink(&mut job, ranks, policy, goes_on);
        job.lose(&[1]);
        job.run(|group| {
            check(group, 4, Stamp::Latest, 2);
            store(group, 4, 1);
            group.commit().unwrap();
        });
    }
}

#[test]
fn as_many_ranks_keep_their_policy() {
    let mut job = stored_by(4, COPY);
    job.settings.policy = PARITY;
    let settings = job.settings.clone();
    let groups = Mutex::new(job.groups);
    run(4, |comm| {
        let mut group = groups.lock().unwrap()[comm.rank()].take().unwrap();
        let refused = group.renew(comm, settings.clone());
        assert!(
            matches!(refused, Err(Error::Mismatch { .. })),
            "{refused:?}"
        );
    });
}
