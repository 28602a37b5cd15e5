//! Several ranks of a set are lost at once.

use super::*;
use crate::protect::Set;

fn reed_solomon(separation: u32, set_size: u32, k: u32) -> Policy {
    Policy::ReedSolomon {
        separation,
        set_size,
        k,
    }
}

/// All ways to choose `count` of `ranks` ranks.
fn choices(ranks: usize, count: usize) -> Vec<Vec<usize>> {
    let all = (0..1usize << ranks).map(|bits| (0..ranks).filter(move |rank| bits >> rank & 1 == 1));
    let all = all.map(Iterator::collect::<Vec<_>>);
    all.filter(|chosen| chosen.len() == count).collect()
}

#[test]
fn any_k_ranks_of_a_set_may_be_lost() {
    for ranks in 3..=6 {
        for k in 1..=3.min(ranks - 2) {
            let mut job = Job::new(ranks, reed_solomon(1, ranks as u32, k as u32));
            job.run(|group| {
                create_member(group, 3);
                store(group, 3, 1);
                group.commit().unwrap();
            });
            for lost in (1..=k).flat_map(|count| choices(ranks, count)) {
                job.lose(&lost);
                job.run(|group| check(group, 3, Stamp::Latest, 1));
            }
            for lost in choices(ranks, k + 1).into_iter().step_by(3) {
                let mut job = Job::new(ranks, job.settings.policy);
                job.run(|group| {
                    create_member(group, 3);
                    store(group, 3, 1);
                    group.commit().unwrap();
                });
                job.lose(&lost);
                all_no_data(job.run(|g| g.restore(3, Stamp::Latest, u64::MAX, no_target())));
            }
        }
    }
}

/// Members that are stored in parts, at once or under way, in several snapshots.
#[test]
fn snapshots_of_parts_come_back() {
    for checksums in [false, true] {
        let mut job = Job::new(6, reed_solomon(1, 6, 2));
        job.settings.depth = Some(2);
        job.settings.checksums = checksums;
        let parts = |rank: usize, member: i32| {
            let half = attributes(rank, member).count as i64 / 2;
            [(0, half - 1), (half, half.max(1) * 3)].map(|block| Subset::blocks(&[block]))
        };
        job.run(|group| {
            let rank = rank_of(group);
            for version in 0..3 {
                for member in [9, 2, 30] {
                    if version == 0 {
                        create_member(group, member);
                    }
                    let bytes = content(rank, member, version, length(rank, member));
                    let [first, second] = parts(rank, member);
                    let first = first.unwrap_or(Subset::Empty);
                    let ticket = group.start_store(member, &bytes[..], &first).unwrap();
                    group.store(member, &bytes[..], &second.unwrap()).unwrap();
                    group.wait(ticket).unwrap();
                    assert!(group.test(ticket).unwrap());
                }
                group.commit().unwrap();
            }
        });
        for lost in [[0, 5], [1, 2], [3, 0], [4, 5]] {
            job.lose(&lost);
            job.run(|group| {
                for (member, stamp) in [(2, 0), (9, 2), (30, 1), (2, 2), (9, 0)] {
                    check(group, member, Stamp::At(stamp), stamp as usize);
                }
            });
        }
    }
}

#[test]
fn sets_that_are_apart_lose_k_ranks_each() {
    let mut job = Job::new(13, reed_solomon(2, 5, 3));
    job.run(|group| {
        create_member(group, 4);
        store(group, 4, 1);
        group.commit().unwrap();
    });
    let sets = (0..13).map(|rank| job.groups[rank].as_ref().unwrap().set.clone());
    let members = |set: &Set| (0..set.size()).map(|at| set.rank(at)).collect::<Vec<_>>();
    let sets: Vec<_> = sets.map(|set| members(&set)).collect();
    let is_lost = |rank: &usize| sets[*rank].iter().position(|member| member == rank) < Some(3);
    let lost: Vec<_> = (0..13).filter(is_lost).collect();
    assert_eq!(lost.len(), 6);
    job.lose(&lost);
    job.run(|group| check(group, 4, Stamp::Latest, 1));
}

#[test]
fn damaged_shares_of_two_ranks_are_rebuilt() {
    let mut job = Job::new(5, reed_solomon(1, 5, 2));
    job.settings.checksums = true;
    job.run(|group| {
        create_member(group, 4);
        store(group, 4, 1);
        group.commit().unwrap();
        if [1, 3].contains(&rank_of(group)) {
            let entries = group.snapshots.kept[0].members.get_mut(&4).unwrap();
            entries[0].data.flip_a_bit();
        }
        check(group, 4, Stamp::Latest, 1);
    });
}

#[test]
fn what_cannot_protect_is_refused_and_what_has_shrunk_is_fitted() {
    let refused = |policy: Policy, ranks| matches!(policy.check(ranks), Err(Error::Policy(_)));
    assert!(refused(reed_solomon(1, 6, 0), 6) && refused(reed_solomon(0, 6, 2), 6));
    assert!(refused(reed_solomon(1, 3, 2), 6) && refused(reed_solomon(1, 4, 2), 3));
    assert!(refused(reed_solomon(1, 250, 9), 300));
    assert!(reed_solomon(1, 250, 9).check(240).is_ok() && reed_solomon(9, 4, 2).check(4).is_ok());
    assert_eq!(reed_solomon(0, 2, 3).fitted(4), reed_solomon(1, 4, 2));
    assert_eq!(reed_solomon(1, 8, 3).fitted(2), COPY);
}
