//! Ranks are lost and get their data back.

use std::collections::BTreeSet;

use super::*;
use crate::testing::stride;

/// All policies for a number of ranks that lead to different sets.
fn policies(ranks: usize) -> Vec<Policy> {
    let most = ranks as u32;
    let copies = (1..=most).map(|separation| Policy::Copy { separation });
    let parities = (3..=most).flat_map(|set_size| {
        (1..=most).map(move |separation| Policy::Parity {
            separation,
            set_size,
        })
    });
    let mut seen = BTreeSet::new();
    let sets = |policy: &Policy| -> Vec<_> {
        let set = |rank| format!("{:?}", policy.set(rank, ranks).unwrap());
        (0..ranks).map(set).collect()
    };
    let all = copies.chain(parities);
    all.filter(|policy| seen.insert(sets(policy))).collect()
}

#[test]
fn every_rank_of_every_shape_can_be_lost_one_after_the_other() {
    for ranks in (2..=5).chain((6..=12).step_by(stride(3))) {
        for policy in policies(ranks) {
            let mut job = Job::new(ranks, policy);
            job.run(|group| {
                create_member(group, 3);
                store(group, 3, 1);
                assert_eq!(group.commit().unwrap(), 0);
            });
            for lost in 0..ranks {
                job.lose(&[lost]);
                job.run(|group| check(group, 3, Stamp::Latest, 1));
            }
        }
    }
}

#[test]
fn several_members_in_any_order_at_every_depth() {
    for policy in [COPY, PARITY, RS] {
        for depth in [Some(0), Some(1), Some(3), None] {
            let mut job = Job::new(8, policy);
            job.settings.depth = depth;
            job.settings.first_stamp = 5;
            job.run(|group| {
                for version in 0..6 {
                    for member in [9, 2, 30, 4] {
                        if version == 0 {
                            create_member(group, member);
                        }
                        store(group, member, version);
                    }
                    assert_eq!(group.commit().unwrap(), 5 + version as i32);
                }
            });
            let kept = depth.map_or(6, |depth| depth.min(5) + 1) as usize;
            for lost in [[0, 5], [4, 1], [3, 6], [7, 2]] {
                job.lose(&lost);
                job.run(|group| {
                    let stamps: Vec<_> = (5..11).rev().take(kept).collect();
                    assert_eq!(group.snapshots(), stamps);
                    for stamp in stamps {
                        for member in [30, 2, 9, 4] {
                            check(group, member, Stamp::At(stamp), stamp as usize - 5);
                        }
                    }
                    assert_eq!(group.members(), [2, 4, 9, 30]);
                });
            }
            // Everything is as before: stores and commits go on.
            job.run(|group| {
                store(group, 4, 7);
                assert_eq!(group.commit().unwrap(), 11);
                check(group, 4, Stamp::Latest, 7);
            });
        }
    }
}

#[test]
fn what_is_lost_for_good_is_no_data_everywhere_and_targets_stay() {
    for (policy, lost) in [(COPY, [4, 5]), (PARITY, [4, 6])] {
        let mut job = Job::new(8, policy);
        job.run(|group| {
            create_member(group, 1);
            store(group, 1, 1);
            group.commit().unwrap();
        });
        job.lose(&lost);
        all_no_data(job.run(|group| {
            let mut bytes = [7; 400];
            let restored = group.restore(1, Stamp::Latest, u64::MAX, Some(&mut bytes[..]));
            assert_eq!(bytes, [7; 400]);
            restored
        }));
        // What is stored from now on is protected again.
        job.run(|group| {
            if group.members().is_empty() {
                create_member(group, 1);
            }
            store(group, 1, 2);
            group.commit().unwrap();
        });
        job.lose(&lost[..1]);
        job.run(|group| check(group, 1, Stamp::Latest, 2));
    }
}

#[test]
fn several_ranks_of_different_sets_are_lost_at_once() {
    for (policy, lost) in [(COPY, vec![0, 3, 5, 6]), (PARITY, vec![2, 7])] {
        let mut job = Job::new(8, policy);
        job.run(|group| {
            create_member(group, 1);
            store(group, 1, 1);
            group.commit().unwrap();
        });
        job.lose(&lost);
        job.run(|group| check(group, 1, Stamp::Latest, 1));
    }
}

#[test]
fn a_rank_that_never_restored_is_still_lost_for_the_next_failure() {
    for policy in [COPY, PARITY] {
        let mut job = Job::new(4, policy);
        job.run(|group| {
            for member in [1, 2] {
                create_member(group, member);
                store(group, member, 1);
            }
            group.commit().unwrap();
        });
        job.lose(&[1]);
        job.run(|group| check(group, 1, Stamp::Latest, 1));
        job.lose(&[0]);
        job.run(|group| {
            check(group, 1, Stamp::Latest, 1);
            let lost = group.restore(2, Stamp::Latest, u64::MAX, no_target());
            assert!(matches!(lost, Err(Error::NoData(_))));
        });
    }
}

/// Snapshots that are older than the member are looked into for elements that were never stored.
#[test]
fn a_member_that_is_younger_than_a_loss_is_not_missed() {
    for policy in [COPY, PARITY, RS] {
        let mut job = Job::new(4, policy);
        job.settings.depth = Some(3);
        job.run(|group| {
            create_member(group, 1);
            store(group, 1, 1);
            group.commit().unwrap();
        });
        job.lose(&[1]);
        job.run(|group| {
            check(group, 1, Stamp::Latest, 1);
            create_member(group, 2);
            let rank = rank_of(group);
            let bytes = content(rank, 2, 1, length(rank, 2));
            let some = Subset::blocks(&[(0, 3)]).unwrap();
            group.store(2, &bytes[..], &some).unwrap();
            group.commit().unwrap();
        });
        job.lose(&[0]);
        job.run(|group| {
            let restored = group.restore(2, Stamp::Latest, u64::MAX, no_target());
            let found = restored.unwrap().found;
            assert_eq!(found, Regions::from_ranges(std::iter::once(0..4)));
            check(group, 1, Stamp::Latest, 1);
        });
    }
}

#[test]
fn damaged_shares_are_rebuilt_or_reported() {
    for policy in [COPY, PARITY] {
        for damaged in [vec![1], vec![0, 1]] {
            let mut job = Job::new(4, policy);
            job.settings.checksums = true;
            job.run(|group| {
                create_member(group, 4);
                store(group, 4, 1);
                group.commit().unwrap();
                let rank = rank_of(group);
                if damaged.contains(&rank) {
                    let entries = group.snapshots.kept[0].members.get_mut(&4).unwrap();
                    entries[0].data.flip_a_bit();
                    let mut bytes = [0; 1000];
                    let own = group.restore_locally(4, Stamp::Latest, u64::MAX, &mut bytes[..]);
                    assert!(matches!(own, Err(Error::NoData(_))));
                }
                match damaged.len() {
                    1 => check(group, 4, Stamp::Latest, 1),
                    _ => {
                        let lost = group.restore(4, Stamp::Latest, u64::MAX, no_target());
                        assert!(matches!(lost, Err(Error::NoData(_))), "{lost:?}");
                    }
                }
            });
        }
    }
}

#[test]
fn a_damaged_guard_is_reported_when_it_is_needed() {
    for policy in [COPY, PARITY, RS] {
        let mut job = Job::new(4, policy);
        job.settings.checksums = true;
        job.run(|group| {
            create_member(group, 4);
            store(group, 4, 1);
            group.commit().unwrap();
            let entries = group.snapshots.kept[0].members.get_mut(&4).unwrap();
            entries[0].redundancy.as_mut().unwrap().flip_a_bit();
            check(group, 4, Stamp::Latest, 1);
        });
        job.lose(&[2]);
        all_no_data(job.run(|group| group.restore(4, Stamp::Latest, u64::MAX, no_target())));
    }
}

#[test]
fn a_smaller_group_says_what_it_cannot_restore() {
    for policy in [COPY, PARITY, RS] {
        let mut job = Job::new(6, policy);
        job.run(|group| {
            create_member(group, 4);
            store(group, 4, 1);
            group.commit().unwrap();
        });
        job.groups.remove(2);
        let results = job.run(|group| {
            assert_eq!(group.snapshots(), [0]);
            let restored = group.restore(4, Stamp::Latest, u64::MAX, no_target());
            let text = restored.as_ref().unwrap_err().to_string();
            assert!(text.contains('6') && text.contains('5'), "{text}");
            // Each rank still has what it stored, under its old number.
            let rank = rank_of(group);
            let old = if rank < 2 { rank } else { rank + 1 };
            let mut bytes = vec![0; length(old, 4) as usize];
            let own = group.restore_locally(4, Stamp::Latest, u64::MAX, &mut bytes[..]);
            assert!(own.unwrap().complete);
            assert_eq!(bytes, content(old, 4, 1, bytes.len() as u64));
            restored
        });
        all_no_data(results);
        job.run(|group| {
            group
                .set_attributes(4, attributes(rank_of(group), 4))
                .unwrap();
            store(group, 4, 2);
            assert_eq!(group.commit().unwrap(), 1);
        });
        job.lose(&[1]);
        job.run(|group| check(group, 4, Stamp::Latest, 2));
    }
}

#[test]
fn ranks_one_commit_apart_go_back_to_what_all_have() {
    for depth in [0, 1] {
        for reconcile in [true, false] {
            let mut job = Job::new(4, COPY);
            job.settings.depth = Some(depth);
            job.run(|group| {
                create_member(group, 4);
                for version in 0..3 {
                    store(group, 4, version);
                    // The last commit comes only to some.
                    if version < 2 || rank_of(group) > 1 {
                        group.commit().unwrap();
                    }
                }
                if reconcile {
                    group.reconcile().unwrap();
                    check(group, 4, Stamp::Latest, 1);
                }
            });
            if !reconcile {
                job.lose(&[2]);
            }
            job.run(|group| {
                let kept: &[i32] = if depth == 0 { &[1] } else { &[1, 0] };
                assert_eq!(group.snapshots(), kept);
                check(group, 4, Stamp::Latest, 1);
                store(group, 4, 5);
                assert_eq!(group.commit().unwrap(), 2);
                check(group, 4, Stamp::Latest, 5);
            });
        }
    }
}
