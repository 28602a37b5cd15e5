//! Recover on a node that has nothing of the lost one, not even directories.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use super::{Job, Scheme, all_fail, all_ok};

impl Job {
    fn directory(&self, rank: usize) -> PathBuf {
        self.dir.path().join(rank.to_string())
    }

    fn lose_directory(&self, rank: usize) {
        fs::remove_dir_all(self.directory(rank)).unwrap();
    }
}

#[test]
fn directories_are_made_as_the_one_around_them_allows() {
    let sizes = vec![vec![500, 3], vec![700, 0], vec![300], vec![20, 30, 40]];
    for scheme in [
        Scheme::Xor,
        Scheme::Copies { replicas: 1 },
        Scheme::ReedSolomon { k: 1 },
    ] {
        for apart in [false, true] {
            let job = Job::new(scheme, 4, sizes.clone()).apart(apart);
            let private = fs::Permissions::from_mode(0o700);
            fs::set_permissions(job.dir.path(), private).unwrap();
            all_ok(job.apply());
            let before = job.files();
            for rank in 0..job.ranks() {
                job.lose_directory(rank);
                all_ok(job.recover());
                all_ok(job.verify());
                assert!(job.files() == before, "{scheme:?} {apart} {rank}");
                let mode = fs::metadata(job.directory(rank)).unwrap().mode();
                assert_eq!(mode & 0o777, 0o700);
            }
        }
    }
}

#[test]
fn one_that_cannot_be_made_is_named_on_all_ranks_and_the_others_go() {
    for apart in [false, true] {
        let job = Job::new(Scheme::ReedSolomon { k: 2 }, 4, vec![vec![100]; 4]).apart(apart);
        all_ok(job.apply());
        let before = job.files();
        [1, 2].iter().for_each(|rank| job.lose_directory(*rank));
        let blocked = job.directory(2);
        fs::write(&blocked, "a file").unwrap();
        for (rank, verdict) in job.recover().into_iter().enumerate() {
            let text = verdict.unwrap_err().to_string();
            let told = format!("cannot make the directory {}: ", blocked.display());
            assert!(text.contains(&told), "{rank}: {text}");
            if apart && rank != 2 {
                assert!(text.starts_with("rank 2 on node2 failed: "), "{text}");
            }
        }
        assert!(!job.directory(1).exists());
        fs::remove_file(&blocked).unwrap();
        all_ok(job.recover());
        assert!(job.files() == before);
    }
}

#[test]
fn none_are_made_if_too_much_is_lost() {
    let job = Job::new(Scheme::Xor, 4, vec![vec![100]; 4]);
    all_ok(job.apply());
    [0, 3].iter().for_each(|rank| job.lose_directory(*rank));
    all_fail(&job.recover());
    assert!([0, 3].iter().all(|rank| !job.directory(*rank).exists()));
}
