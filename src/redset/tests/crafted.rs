//! Headers and descriptors that are whole, and say what cannot be.

use super::super::rebuild::{FileVerdict, SchemeKind, applied, rebuild, verify as verify_offline};
use super::*;
use crate::kvtree::Tree;
use std::ffi::CStr;

fn redundancy(job: &Job, rank: usize) -> PathBuf {
    let mut paths = job.files_of(rank).into_keys();
    paths
        .find(|path| path.to_string_lossy().contains(".mem_"))
        .unwrap()
}

/// Changes the header of a file; its checksum is right then.
fn craft(path: &Path, change: impl Fn(kvtree::TreeMut)) {
    let mut tree = Tree::new();
    let fd = storage::file::open_read(path).unwrap();
    let length = kvtree::file::read_fd(path, fd, tree.edit()).unwrap();
    let redundancy = fs::read(path).unwrap().split_off(length as usize);
    change(tree.edit());
    let mut bytes = kvtree::file::persisted(tree.view()).unwrap();
    bytes.extend(redundancy);
    fs::write(path, bytes).unwrap();
}

fn descriptor_of(tree: kvtree::TreeMut, rank: usize) -> kvtree::TreeMut {
    let entry = tree
        .into_child(c"DESC")
        .into_child(&kvtree::value::rank_text(rank));
    entry.into_child(c"DESC")
}

/// What a header says about a file of a rank.
fn record<'a>(tree: kvtree::TreeMut<'a>, rank: &CStr, index: &CStr) -> kvtree::TreeMut<'a> {
    let entry = tree.into_child(c"DESC").into_child(rank);
    let list = entry.into_child(c"FILE").into_child(index);
    let path = list.view().first().unwrap().key().unwrap().to_owned();
    list.into_child(&path)
}

/// One rank's descriptor file is of an apply with another scheme, as a node brings it back.
#[test]
fn a_descriptor_of_another_scheme_does_not_mislead() {
    for (first, second) in [
        (Scheme::Xor, Scheme::Copies { replicas: 1 }),
        (
            Scheme::Copies { replicas: 2 },
            Scheme::Copies { replicas: 1 },
        ),
        (Scheme::ReedSolomon { k: 2 }, Scheme::ReedSolomon { k: 1 }),
    ] {
        for forgets in [false, true] {
            let mut job = Job::new(first, 4, vec![vec![100]; 4]);
            all_ok(job.apply());
            let descriptor = job.dir.path().join("1/ck.1.redset");
            let stale = fs::read(&descriptor).unwrap();
            if forgets {
                job.lose(|_, path| is_redundancy(path));
            }
            job.scheme = second;
            all_ok(job.apply());
            let before = job.files();
            fs::write(&descriptor, &stale).unwrap();
            all_fail(&job.verify());
            all_ok(job.recover());
            assert!(job.files() == before, "{first:?} {second:?}");
            all_ok(job.verify());
        }
    }
}

/// What a header says about a neighbour is of another set or scheme.
#[test]
fn a_header_that_contradicts_itself_counts_as_lost() {
    let changes: [fn(kvtree::TreeMut); 6] = [
        |mut tree| {
            tree.set_str(c"TYPE", c"PARTNER");
            tree.set_u64(c"REPLICAS", 2);
        },
        |mut tree| tree.set_u64(c"REPLICAS", 3),
        |mut tree| tree.set_u64(c"CKSUM", 2),
        |mut tree| tree.set_u64(c"RANKS", 5),
        |mut tree| tree.set_u64(c"GROUPS", 7),
        |mut tree| tree.set_u64(c"WRANKS", 9),
    ];
    let schemes = [
        (Scheme::Xor, SchemeKind::Xor, "CKSUM REPLICAS"),
        (
            Scheme::Copies { replicas: 1 },
            SchemeKind::Partner,
            "CKSUM TYPE",
        ),
        (
            Scheme::ReedSolomon { k: 1 },
            SchemeKind::ReedSolomon,
            "REPLICAS",
        ),
    ];
    let names = ["TYPE", "REPLICAS", "CKSUM", "RANKS", "GROUPS", "WRANKS"];
    for (scheme, kind, without) in schemes {
        let job = Job::new(scheme, 4, vec![vec![100, 5]; 4]);
        let prefix = OsString::from(job.dir.path().join("0/ck."));
        all_ok(job.apply());
        let before = job.files();
        let files: Vec<_> = (0..4).map(|rank| redundancy(&job, rank)).collect();
        for (change, name) in changes.iter().zip(names) {
            if without.contains(name) {
                continue;
            }
            for about in [1, 0] {
                let crafted = |tree: kvtree::TreeMut| change(descriptor_of(tree, about));
                craft(&files[1], crafted);
                all_fail(&job.verify());
                all_ok(job.recover());
                assert!(job.files() == before, "{scheme:?} {name} {about}");
                craft(&files[1], crafted);
                // It does not say whose it is, so a new one is written below the prefix.
                rebuild(kind, &files, &prefix, None).unwrap();
                let rebuilt = job.dir.path().join("0").join(files[1].file_name().unwrap());
                assert!(
                    fs::read(&rebuilt).unwrap() == before[&files[1]],
                    "{scheme:?} {name}"
                );
                fs::rename(&rebuilt, &files[1]).unwrap();
                assert!(job.files() == before, "{scheme:?} {name} {about}");
            }
        }
    }
}

/// The sizes of two files add up to what they were, because the sum wraps.
#[test]
fn sizes_that_wrap_are_refused() {
    let job = Job::new(
        Scheme::Xor,
        3,
        vec![vec![3000, 285], vec![3285], vec![3000]],
    );
    all_ok(job.apply());
    for holder in [0, 1] {
        craft(&redundancy(&job, holder), |mut tree| {
            for (index, size) in [(c"0", u64::MAX), (c"1", 3286)] {
                record(tree.edit(), c"0", index).set_u64(c"SIZE", size);
            }
        });
    }
    let before = job.files();
    all_fail(&job.verify());
    all_fail(&job.recover());
    assert!(job.files() == before);
    let files: Vec<_> = (0..3).map(|rank| redundancy(&job, rank)).collect();
    let prefix = OsString::from(job.dir.path().join("0/ck."));
    assert!(rebuild(SchemeKind::Xor, &files, &prefix, None).is_err());
    assert!(job.files() == before);
}

/// For chown it says that nothing is to be set.
#[test]
fn an_owner_that_cannot_be_is_refused() {
    for key in [c"UID", c"GID"] {
        let job = Job::new(Scheme::Xor, 3, vec![vec![300]; 3]);
        all_ok(job.apply());
        let before = job.files();
        craft(&redundancy(&job, 0), |tree| {
            record(tree, c"0", c"0").set_u64(key, u32::MAX.into());
        });
        fs::remove_file(&job.originals(0)[0]).unwrap();
        all_ok(job.recover());
        assert!(job.files() == before);
    }
}

/// A rank comes back with a commit that the others gave up, or finished without it.
#[test]
fn what_is_left_of_an_earlier_commit_is_not_put_in_force() {
    for scheme in schemes(3) {
        let job = Job::new(scheme, 3, vec![vec![50]; 3]);
        all_ok(job.apply());
        let given_up = job.files_of(1);
        all_ok(job.apply());
        let before = job.files();
        for (path, bytes) in given_up.iter().filter(|(path, _)| is_redundancy(path)) {
            fs::write(names::ready(path), bytes).unwrap();
        }
        // Another apply was killed while it wrote.
        let unfinished = names::part(&redundancy(&job, 2));
        fs::write(&unfinished, b"half").unwrap();
        let descriptor = job.dir.path().join("2/ck.2.redset");
        fs::write(names::part(&descriptor), fs::read(&descriptor).unwrap()).unwrap();
        all_ok(job.recover());
        assert!(job.files() == before, "{scheme:?}");
    }
}

/// Sets of one apply that have different generations do not go together, even where each is complete.
#[test]
fn a_whole_set_of_an_earlier_apply_is_told() {
    for scheme in [Scheme::Single, Scheme::Xor] {
        let job = Job::new(scheme, 2, vec![vec![30]; 4]);
        all_ok(job.apply());
        let old = job.files();
        for rank in 0..4 {
            fs::write(&job.originals(rank)[0], [rank as u8; 30]).unwrap();
        }
        all_ok(job.apply());
        let stale = match scheme {
            Scheme::Single => vec![2],
            _ => vec![2, 3],
        };
        for rank in stale {
            let dir = job.dir.path().join(format!("{rank}"));
            let files = old.iter().filter(|(path, _)| path.starts_with(&dir));
            files.for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
        }
        let left = job.files();
        for verdict in job.verify().into_iter().chain(job.recover()) {
            let text = verdict.unwrap_err().to_string();
            assert!(text.contains(" has generation 1 ("), "{text}");
        }
        assert!(job.files() == left);
    }
}

#[test]
fn offline_a_stale_rank_is_told_and_rebuilt() {
    for scheme in schemes(4) {
        let job = Job::new(scheme, 4, vec![vec![40, 3]; 4]);
        let prefix = OsString::from(job.dir.path().join("ck."));
        let apply = || {
            all_ok(job.run(|comm| {
                let rank = comm.rank();
                let group = format!("node{rank}");
                let redset = create(&comm, job.scheme, Some(group.as_bytes()), 4)?;
                redset.apply(&job.originals(rank), &prefix)
            }));
            let entries = fs::read_dir(job.dir.path()).unwrap();
            let paths = entries.map(|entry| entry.unwrap().path());
            let files = paths.filter(|path| path.is_file());
            files
                .map(|path| (path.clone(), fs::read(&path).unwrap()))
                .collect::<Files>()
        };
        let old = apply();
        let old_data = fs::read(&job.originals(2)[0]).unwrap();
        for rank in 0..4 {
            fs::write(&job.originals(rank)[0], [rank as u8; 40]).unwrap();
        }
        let new = apply();
        let stale = new
            .keys()
            .find(|path| path.to_string_lossy().contains(".mem_3_of_"));
        let stale = stale.unwrap();
        fs::write(stale, &old[stale]).unwrap();
        fs::write(&job.originals(2)[0], old_data).unwrap();
        let set = &applied(&prefix).unwrap().sets[0];
        let bad = verify_offline(set, &prefix).unwrap().into_iter();
        let bad: Vec<_> = bad
            .filter(|it| it.verdict != FileVerdict::Good)
            .map(|it| it.path)
            .collect();
        assert_eq!(
            bad,
            [job.originals(2)[0].clone(), stale.clone()],
            "{scheme:?}"
        );
        rebuild(set.kind.unwrap(), &set.files, &prefix, None).unwrap();
        assert!(fs::read(stale).unwrap() == new[stale], "{scheme:?}");
        assert_eq!(fs::read(&job.originals(2)[0]).unwrap(), [2; 40]);
    }
}
