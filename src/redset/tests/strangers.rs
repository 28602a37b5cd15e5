//! Files that a stranger gives to the offline functions: crafted headers, links, FIFOs, modes.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::super::header::{FileRecord, Header};
use super::super::rebuild::{
    Applied, FileVerdict, SchemeKind, applied, contents, files_outside, rebuild, rebuild_below,
    verify,
};
use super::{Files, Job, Scheme, all_ok, create};
use crate::comm::Comm;
use crate::redset::{Error, Result};

/// A job whose redundancy lies under one name in the directory above all files.
struct Gathered {
    job: Job,
    prefix: OsString,
}

impl Gathered {
    fn new(scheme: Scheme, sizes: Vec<Vec<usize>>) -> Gathered {
        let job = Job::new(scheme, sizes.len(), sizes);
        let prefix = job.dir.path().join("ck.").into();
        let gathered = Gathered { job, prefix };
        gathered.apply();
        gathered
    }

    fn apply(&self) {
        self.apply_in_sets_of(self.job.min_size);
    }

    fn apply_in_sets_of(&self, ranks: usize) {
        all_ok(self.job.run(|comm| {
            let rank = comm.rank();
            let group = format!("node{rank}");
            let redset = create(&comm, self.job.scheme, Some(group.as_bytes()), ranks)?;
            redset.apply(&self.job.originals(rank), &self.prefix)
        }));
    }

    fn applied(&self) -> Applied {
        applied(&self.prefix).unwrap()
    }

    /// By rank.
    fn redundancy(&self) -> Vec<PathBuf> {
        let sets = self.applied().sets.into_iter();
        sets.flat_map(|set| set.files).collect()
    }

    fn rebuild(&self) -> Result<()> {
        let kind = self.applied().sets[0].kind.unwrap();
        let directory = self.job.dir.path();
        rebuild_below(kind, &self.redundancy(), &self.prefix, directory)
    }

    fn bad(&self) -> Result<Vec<PathBuf>> {
        let findings = verify(&self.applied().sets[0], &self.prefix)?;
        let bad = findings
            .into_iter()
            .filter(|one| matches!(one.verdict, FileVerdict::Bad(_)));
        Ok(bad.map(|one| one.path).collect())
    }

    /// Everything.
    fn files(&self) -> Files {
        let mut files = self.job.files();
        for entry in fs::read_dir(self.job.dir.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                files.insert(path.clone(), fs::read(path).unwrap());
            }
        }
        files
    }
}

/// Changes what the header of a redundancy file says; its checksum is right again.
fn craft(path: &Path, change: impl FnOnce(&mut Header)) {
    let (mut header, length) = Header::read(path).unwrap().unwrap();
    let redundancy = fs::read(path).unwrap().split_off(length as usize);
    change(&mut header);
    let mut bytes = header.to_bytes().unwrap();
    bytes.extend(redundancy);
    fs::write(path, bytes).unwrap();
}

/// Either nothing happens, or the crafted file is made anew.
fn survives(gathered: &Gathered, crafted: &Path, before: &Files) {
    let left = gathered.files();
    let _ = gathered.bad();
    assert!(gathered.files() == left);
    match gathered.rebuild() {
        Ok(()) => assert!(gathered.files() == *before, "{crafted:?}"),
        Err(_) => assert!(gathered.files() == left, "{crafted:?}"),
    }
}

#[test]
fn neighbours_that_are_said_to_be_of_another_scheme_start_no_deadlock() {
    let schemes = [
        Scheme::Xor,
        Scheme::Copies { replicas: 1 },
        Scheme::Copies { replicas: 2 },
        Scheme::ReedSolomon { k: 1 },
        Scheme::ReedSolomon { k: 2 },
    ];
    for scheme in schemes {
        for other in schemes.into_iter().filter(|other| *other != scheme) {
            for about_itself in [false, true] {
                let gathered =
                    Gathered::new(scheme, vec![vec![300], vec![200], vec![100, 7], vec![5]]);
                let before = gathered.files();
                let crafted = &gathered.redundancy()[1];
                craft(crafted, |header| {
                    let is_meant = |rank: usize| (rank == header.rank) == about_itself;
                    let infos = header.infos.iter_mut();
                    infos
                        .filter(|(rank, _)| is_meant(**rank))
                        .for_each(|(_, info)| info.descriptor.scheme = other);
                });
                fs::remove_file(&gathered.job.originals(2)[0]).unwrap();
                let mut left = gathered.files();
                let _ = gathered.bad();
                match gathered.rebuild() {
                    Ok(()) => left = before,
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
                assert!(gathered.files() == left, "{scheme:?} {other:?}");
            }
        }
    }
}

#[test]
fn ranks_and_sets_that_contradict_each_other_are_refused() {
    let changes: [fn(&mut Header); 3] = [
        |header| {
            header
                .infos
                .values_mut()
                .for_each(|info| info.descriptor.world_rank = 7)
        },
        |header| {
            header
                .infos
                .values_mut()
                .for_each(|info| info.descriptor.groups = 9)
        },
        |header| {
            let info = header.infos.values().next().unwrap().clone();
            header.infos.insert(3, info);
        },
    ];
    for change in changes {
        let gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200], vec![100], vec![5]]);
        let before = gathered.files();
        let crafted = &gathered.redundancy()[2];
        craft(crafted, change);
        survives(&gathered, crafted, &before);
    }
}

/// Two sizes that wrap around to the sum that the chunks were made for.
#[test]
fn sizes_that_wrap_around_replace_nothing() {
    for size in [u64::MAX, u64::MAX / 2 + 1, 1 << 62] {
        let gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200, 100], vec![100]]);
        let before = gathered.files();
        for path in gathered.redundancy() {
            craft(&path, |header| {
                if let Some(info) = header.infos.get_mut(&1) {
                    let sum = info.bytes();
                    info.files[0].attributes.size = size;
                    info.files[1].attributes.size = sum.wrapping_sub(size);
                }
            });
        }
        let left = gathered.files();
        assert!(gathered.bad().is_err());
        assert!(gathered.rebuild().is_err());
        assert!(gathered.files() == left);
        for original in (0..3).flat_map(|rank| gathered.job.originals(rank)) {
            assert!(left[&original] == before[&original]);
        }
    }
}

#[test]
fn a_header_that_names_very_many_ranks_starts_none_of_them() {
    let gathered = Gathered::new(Scheme::Xor, vec![vec![30], vec![20]]);
    let path = &gathered.redundancy()[0];
    craft(path, |header| {
        let ranks = 20_000;
        let like = header.own().clone();
        for rank in 0..ranks {
            let mut info = like.clone();
            (info.descriptor.ranks, info.descriptor.world_ranks) = (ranks, ranks);
            (info.descriptor.rank, info.descriptor.world_rank) = (rank, rank);
            header.infos.insert(rank, info);
        }
        header.stripes.as_mut().unwrap().map = (0..ranks).collect();
    });
    let files = [path.clone()];
    let error = contents(SchemeKind::Xor, &files).unwrap_err();
    assert!(
        matches!(error, Error::TooManyRanks { ranks: 20_000, .. }),
        "{error}"
    );
    assert!(rebuild(SchemeKind::Xor, &files, &gathered.prefix, None).is_err());
}

#[test]
fn a_fifo_in_the_place_of_any_file_keeps_nobody_waiting() {
    let fifo = |path: &Path| {
        fs::remove_file(path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    let gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200], vec![100]]);
    let before = gathered.files();
    let redundancy = &gathered.redundancy()[0];
    fifo(redundancy);
    assert_eq!(gathered.bad().unwrap(), std::slice::from_ref(redundancy));
    gathered.rebuild().unwrap();
    assert!(gathered.files() == before);

    let original = &gathered.job.originals(1)[0];
    fifo(original);
    assert_eq!(gathered.bad().unwrap(), std::slice::from_ref(original));
    gathered.rebuild().unwrap();
    assert!(gathered.files() == before);

    for entry in fs::read_dir(gathered.job.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fifo(&path);
        }
    }
    assert!(gathered.rebuild().is_err());
}

/// Names of files outside, by words or by links, are refused before anything is read or written.
#[test]
fn a_rebuild_does_not_leave_the_directory() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("file0");
    fs::write(&target, "theirs").unwrap();
    for named in [&*target, Path::new("../file0"), Path::new("1/../../file0")] {
        let gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200], vec![100]]);
        let named = gathered.job.dir.path().join(named);
        let own = gathered.job.originals(1)[0].clone();
        for path in gathered.redundancy() {
            craft(&path, |header| {
                let files = header.infos.values_mut().flat_map(|info| &mut info.files);
                let meant = files.filter(|file: &&mut FileRecord| file.path == own);
                meant.for_each(|file| file.path = named.clone());
            });
        }
        let left = gathered.files();
        let error = gathered.rebuild().unwrap_err();
        let Error::Outside { paths, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(paths, [named]);
        let set = &gathered.applied().sets[0];
        assert_eq!(files_outside(set, gathered.job.dir.path()).unwrap(), paths);
        assert!(gathered.files() == left);
        assert_eq!(fs::read(&target).unwrap(), b"theirs");
    }
}

#[test]
fn links_lead_a_rebuild_nowhere_else() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("file0");
    fs::write(&target, "theirs").unwrap();

    // A directory on the way.
    let gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200], vec![100]]);
    let directory = gathered.job.dir.path().join("1");
    fs::remove_dir_all(&directory).unwrap();
    symlink(outside.path(), &directory).unwrap();
    assert!(gathered.rebuild().is_err());

    // The file itself, and the names that a rebuild writes to first.
    let gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200], vec![100]]);
    let before = gathered.files();
    let (lost, redundancy) = (&gathered.job.originals(1)[0], &gathered.redundancy()[1]);
    let with = |path: &Path, suffix: &str| {
        let mut name = OsString::from(path);
        name.push(suffix);
        PathBuf::from(name)
    };
    fs::remove_file(lost).unwrap();
    fs::remove_file(redundancy).unwrap();
    symlink(&target, lost).unwrap();
    symlink(&target, with(lost, ".stanchion-part")).unwrap();
    symlink(&target, with(redundancy, ".part")).unwrap();
    gathered.rebuild().unwrap();
    assert!(gathered.files() == before);
    assert!(!fs::symlink_metadata(lost).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn directories_that_are_missing_are_made_below_and_anywhere() {
    let gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200, 9], vec![100]]);
    let before = gathered.files();
    let directory = gathered.job.dir.path().join("1");
    let everywhere = || {
        rebuild(
            SchemeKind::Xor,
            &gathered.redundancy(),
            &gathered.prefix,
            None,
        )
    };
    let ways: [&dyn Fn() -> Result<()>; 2] = [&|| gathered.rebuild(), &everywhere];
    for rebuild in ways {
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(gathered.bad().unwrap().len(), 2);
        assert!(!directory.exists());
        rebuild().unwrap();
        assert!(gathered.files() == before);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn set_id_and_sticky_bits_are_not_restored() {
    let gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200], vec![100]]);
    let lost = gathered.job.originals(1)[0].clone();
    for path in gathered.redundancy() {
        craft(&path, |header| {
            let files = header.infos.values_mut().flat_map(|info| &mut info.files);
            files.for_each(|file| file.attributes.mode |= 0o7000);
        });
    }
    fs::remove_file(&lost).unwrap();
    gathered.rebuild().unwrap();
    assert_eq!(mode(&lost) & 0o7000, 0);
}

#[test]
fn redundancy_is_as_private_as_the_strictest_file() {
    let schemes = [
        Scheme::Xor,
        Scheme::Copies { replicas: 1 },
        Scheme::ReedSolomon { k: 2 },
    ];
    for scheme in schemes {
        let gathered = Gathered::new(scheme, vec![vec![300], vec![200, 4], vec![100]]);
        let redundancy = gathered.redundancy();
        assert!(redundancy.iter().all(|path| mode(path) & 0o600 == 0o600));
        let private = &gathered.job.originals(1)[1];
        fs::set_permissions(private, fs::Permissions::from_mode(0o400)).unwrap();
        gathered.apply();
        assert!(
            redundancy.iter().all(|path| mode(path) == 0o600),
            "{scheme:?}"
        );
        fs::remove_file(&redundancy[0]).unwrap();
        gathered.rebuild().unwrap();
        assert_eq!(mode(&redundancy[0]), 0o600, "{scheme:?}");
    }
}

/// As root. Whoever owns the redundancy gets the files, whatever it says.
#[test]
fn files_go_to_the_owner_of_the_redundancy() {
    let gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200], vec![100]]);
    let (stranger, group) = (Some(12345), Some(54321));
    let redundancy = gathered.redundancy();
    for path in &redundancy {
        craft(path, |header| {
            let files = header.infos.values_mut().flat_map(|info| &mut info.files);
            files.for_each(|file| (file.attributes.uid, file.attributes.gid) = (1, 0));
        });
        if std::os::unix::fs::chown(path, stranger, group).is_err() {
            return println!("skipped: only root gives files away");
        }
    }
    let directory = gathered.job.dir.path().join("1");
    let owner = |path: &Path| {
        let found = fs::metadata(path).unwrap();
        (Some(found.uid()), Some(found.gid()))
    };
    let (lost, kept) = (&gathered.job.originals(1)[0], &gathered.job.originals(0)[0]);
    let before = owner(kept);
    fs::remove_dir_all(&directory).unwrap();
    fs::remove_file(&redundancy[1]).unwrap();
    gathered.rebuild().unwrap();
    assert_eq!(owner(&directory), (stranger, group));
    assert_eq!(owner(lost), (stranger, group));
    assert_eq!(owner(&redundancy[1]), (stranger, group));
    assert_eq!(owner(kept), before);
}

#[test]
fn a_name_that_is_not_utf_8_has_its_sets() {
    let mut gathered = Gathered::new(Scheme::Xor, vec![vec![300], vec![200], vec![100]]);
    let mut prefix = OsString::from(gathered.job.dir.path().join("b")).into_vec();
    prefix.extend(b"\xff\xfe.");
    gathered.prefix = OsString::from_vec(prefix);
    gathered.apply();
    let before = gathered.files();
    fs::remove_file(&gathered.job.originals(2)[0]).unwrap();
    assert_eq!(gathered.bad().unwrap(), gathered.job.originals(2));
    gathered.rebuild().unwrap();
    assert!(gathered.files() == before);
}

#[test]
fn files_of_an_earlier_apply_are_no_sets() {
    let sizes = vec![vec![300], vec![200], vec![100], vec![400]];
    let gathered = Gathered::new(Scheme::Xor, sizes);
    let early = gathered.redundancy();
    gathered.apply_in_sets_of(2);
    let found = gathered.applied();
    let groups = found
        .sets
        .iter()
        .map(|set| (set.group, set.groups, set.ranks));
    assert_eq!(groups.collect::<Vec<_>>(), [(0, 2, 2), (1, 2, 2)]);
    assert_eq!(found.earlier, early);

    // A descriptor that is lost is no reason to go by an earlier one.
    let descriptor = |rank: usize| gathered.job.dir.path().join(format!("ck.{rank}.redset"));
    fs::remove_file(descriptor(0)).unwrap();
    fs::remove_file(descriptor(3)).unwrap();
    let found = gathered.applied();
    assert_eq!((found.sets.len(), found.earlier), (2, early.clone()));

    // Without any, nobody knows.
    fs::remove_file(descriptor(1)).unwrap();
    fs::remove_file(descriptor(2)).unwrap();
    let error = applied(OsStr::new(&gathered.prefix)).unwrap_err();
    assert!(error.to_string().contains("several applies"), "{error}");
    early.iter().for_each(|path| fs::remove_file(path).unwrap());
    assert_eq!(gathered.applied().sets.len(), 2);
}
