use super::super::{Operation, faults};
use super::*;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};

const OLD: &[u8] = b"the old content, somewhat longer than the new one";
const NEW: &[u8] = b"the new content";

/// A directory that holds one file, or nothing yet.
struct Place {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn new(old: Option<&[u8]>) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        if let Some(bytes) = old {
            fs::write(&path, bytes).unwrap();
        }
        Place { dir, path }
    }

    fn content(&self) -> Option<Vec<u8>> {
        fs::read(&self.path).ok()
    }

    fn other_names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "file").collect()
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Runs a replacement once per operation, with the rules for that operation in force.
fn at_every_operation(rules: impl Fn(usize) -> Vec<faults::Rule>, check: impl Fn(&Place, bool)) {
    for old in [Some(OLD), None] {
        for n in 0.. {
            let place = Place::new(old);
            let plan = faults::plan(rules(n));
            let outcome = replace(&place.path, NEW);
            let reached = plan.trace().len() > n;
            drop(plan);
            let content = place.content();
            let renamed = content.as_deref() == Some(NEW);
            assert!(renamed || content.as_deref() == old, "at {n}: {content:?}");
            assert!(renamed || outcome.is_err(), "at {n}: silent failure");
            check(&place, outcome.is_ok());
            if !reached {
                outcome.unwrap();
                assert!(n > 6, "only {n} operations were tried");
                break;
            }
        }
    }
}

#[test]
fn a_crash_at_any_operation_leaves_old_or_new() {
    let check = |place: &Place, ok: bool| {
        let leftovers = place.other_names();
        assert!(leftovers.len() <= 1 && (!ok || leftovers.is_empty()));
        assert!(
            leftovers
                .iter()
                .all(|name| name.starts_with('.') && name.ends_with(".tmp"))
        );
    };
    at_every_operation(|n| vec![faults::crash().at(n)], check);
}

#[test]
fn a_crash_after_a_short_write_leaves_old_or_new() {
    let rules = |n| vec![faults::crash().at(n), faults::short(5)];
    at_every_operation(rules, |_, _| ());
}

#[test]
fn an_error_at_any_operation_leaves_old_or_new_and_nothing_else() {
    for errno in [Errno::NOSPC, Errno::IO, Errno::DQUOT, Errno::INTR] {
        let rules = |n| vec![faults::fail(errno).at(n)];
        at_every_operation(rules, |place, _| assert!(place.other_names().is_empty()));
    }
}

#[test]
fn a_disk_that_fills_up_midway_leaves_the_old_content() {
    let place = Place::new(Some(OLD));
    let full = faults::fail(Errno::NOSPC).of(Operation::Write).at(1);
    let _plan = faults::plan([full, faults::short(4)]);
    let error = replace(&place.path, NEW).unwrap_err();
    assert_eq!(error.errno(), Errno::NOSPC);
    assert!(
        error.to_string().contains(place.path.to_str().unwrap()),
        "{error}"
    );
    assert_eq!(place.content().unwrap(), OLD);
    assert!(place.other_names().is_empty());
}

#[test]
fn short_writes_are_completed() {
    let place = Place::new(Some(OLD));
    let _plan = faults::plan([faults::short(1)]);
    replace(&place.path, NEW).unwrap();
    assert_eq!(place.content().unwrap(), NEW);
}

#[test]
fn content_is_synced_before_it_gets_its_name_and_the_name_after() {
    let place = Place::new(None);
    let plan = faults::plan([]);
    replace(&place.path, NEW).unwrap();
    let order = [
        Operation::Create,
        Operation::Write,
        Operation::Fsync,
        Operation::Rename,
        Operation::Open,
        Operation::DirFsync,
    ];
    assert!(plan.trace().ends_with(&order), "{:?}", plan.trace());
}

#[test]
fn a_directory_that_cannot_be_synced_is_no_error_but_a_failed_sync_is() {
    let place = Place::new(None);
    for errno in [Errno::INVAL, Errno::NOTSUP] {
        let _plan = faults::plan([faults::fail(errno).of(Operation::DirFsync)]);
        replace(&place.path, NEW).unwrap();
    }
    let _plan = faults::plan([faults::fail(Errno::IO).of(Operation::DirFsync)]);
    assert_eq!(replace(&place.path, OLD).unwrap_err().errno(), Errno::IO);
    assert_eq!(place.content().unwrap(), OLD);
}

#[test]
fn staged_content_is_invisible_until_committed() {
    let place = Place::new(Some(OLD));
    let staged = Staged::write(&place.path, NEW).unwrap();
    assert_eq!(place.content().unwrap(), OLD);
    staged.commit().unwrap();
    assert_eq!(place.content().unwrap(), NEW);
    assert!(place.other_names().is_empty());
}

#[test]
fn staged_content_that_is_dropped_leaves_nothing() {
    for old in [Some(OLD), None] {
        let place = Place::new(old);
        drop(Staged::write(&place.path, NEW).unwrap());
        assert_eq!(place.content().as_deref(), old);
        assert!(place.other_names().is_empty());
    }
}

#[test]
fn a_link_stays_and_its_target_is_replaced_or_created() {
    for old in [Some(OLD), None] {
        let place = Place::new(old);
        let links = tempfile::tempdir_in(place.dir.path()).unwrap();
        let (first, second) = (links.path().join("first"), links.path().join("second"));
        symlink("../file", &second).unwrap();
        symlink("second", &first).unwrap();
        replace(&first, NEW).unwrap();
        assert_eq!(fs::read_link(&first).unwrap(), Path::new("second"));
        assert_eq!(fs::read_link(&second).unwrap(), Path::new("../file"));
        assert!(fs::symlink_metadata(&place.path).unwrap().is_file());
        assert_eq!(place.content().unwrap(), NEW);
    }
}

#[test]
fn links_in_a_circle_are_an_error() {
    let place = Place::new(None);
    symlink("file", &place.path).unwrap();
    let error = replace(&place.path, NEW).unwrap_err();
    assert_eq!(error.errno(), Errno::LOOP);
}

#[test]
fn an_existing_file_keeps_its_mode_and_a_new_one_gets_the_usual() {
    for bits in [0o600, 0o640, 0o666, 0o777] {
        let place = Place::new(Some(OLD));
        fs::set_permissions(&place.path, fs::Permissions::from_mode(bits)).unwrap();
        replace(&place.path, NEW).unwrap();
        assert_eq!(mode(&place.path), bits);
    }
    let place = Place::new(None);
    replace(&place.path, NEW).unwrap();
    let usual = place.dir.path().join("usual");
    fs::write(&usual, NEW).unwrap();
    assert_eq!(mode(&place.path), mode(&usual));
}

#[test]
fn an_existing_file_keeps_its_owner_where_permitted() {
    let place = Place::new(Some(OLD));
    if std::os::unix::fs::chown(&place.path, Some(12345), Some(54321)).is_err() {
        return; // Only root gives files away.
    }
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o4750)).unwrap();
    replace(&place.path, NEW).unwrap();
    let owner = || {
        fs::metadata(&place.path)
            .map(|m| (m.uid(), m.gid()))
            .unwrap()
    };
    assert_eq!((owner(), mode(&place.path)), ((12345, 54321), 0o750));

    let plan = faults::plan([faults::fail(Errno::PERM).of(Operation::Chown).at(0)]);
    replace(&place.path, OLD).unwrap();
    assert_eq!((owner().1, mode(&place.path)), (54321, 0o750));
    drop(plan);

    // Another group may do no more than everybody.
    let _plan = faults::plan([faults::fail(Errno::PERM).of(Operation::Chown)]);
    replace(&place.path, OLD).unwrap();
    assert_eq!((owner().1 != 54321, mode(&place.path)), (true, 0o700));
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let place = Place::new(Some(OLD));
    let _plan = faults::plan([faults::fail(Errno::ACCESS).of(Operation::Access)]);
    assert_eq!(
        replace(&place.path, NEW).unwrap_err().errno(),
        Errno::ACCESS
    );
    assert_eq!(place.content().unwrap(), OLD);
}

#[test]
fn without_permission_to_create_an_existing_file_is_written_in_place() {
    for errno in [Errno::ACCESS, Errno::PERM, Errno::ROFS] {
        let place = Place::new(Some(OLD));
        let inode = fs::metadata(&place.path).unwrap().ino();
        let plan = faults::plan([faults::fail(errno).of(Operation::Create).at(0)]);
        replace(&place.path, NEW).unwrap();
        drop(plan);
        assert_eq!(place.content().unwrap(), NEW);
        assert_eq!(fs::metadata(&place.path).unwrap().ino(), inode);

        // Without a place for a second copy, the old content is not touched.
        let _plan = faults::plan([faults::fail(errno).of(Operation::Create)]);
        assert_eq!(replace(&place.path, OLD).unwrap_err().errno(), errno);
        assert_eq!(place.content().unwrap(), NEW);
        let missing = place.dir.path().join("missing");
        assert_eq!(replace(&missing, NEW).unwrap_err().errno(), errno);
        assert!(!missing.exists());
    }
}

#[test]
fn an_unwritable_directory_permits_writing_in_place() {
    let place = Place::new(Some(OLD));
    let allow = |bits| fs::set_permissions(place.dir.path(), fs::Permissions::from_mode(bits));
    allow(0o555).unwrap();
    // As root this replaces the file: permissions do not bind it.
    let outcome = replace(&place.path, NEW);
    allow(0o755).unwrap();
    outcome.unwrap();
    assert_eq!(place.content().unwrap(), NEW);
}

#[test]
fn without_permission_to_rename_an_existing_file_is_written_in_place() {
    for errno in [Errno::PERM, Errno::BUSY] {
        let place = Place::new(Some(OLD));
        let _plan = faults::plan([faults::fail(errno).of(Operation::Rename)]);
        replace(&place.path, NEW).unwrap();
        assert_eq!(place.content().unwrap(), NEW);
        assert!(place.other_names().is_empty());

        let missing = place.dir.path().join("missing");
        assert_eq!(replace(&missing, NEW).unwrap_err().errno(), errno);
        assert!(place.other_names().is_empty());
    }
}

#[test]
fn devices_and_pipes_are_written_to() {
    replace(Path::new("/dev/null"), NEW).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());

    let place = Place::new(None);
    let made = std::process::Command::new("mkfifo")
        .arg(&place.path)
        .status();
    assert!(made.unwrap().success());
    // Nobody reads: no wait, but an error.
    assert_eq!(replace(&place.path, NEW).unwrap_err().errno(), Errno::NXIO);
    let mut options = fs::File::options();
    let reader = options.read(true).custom_flags(libc::O_NONBLOCK);
    let reader = reader.open(&place.path).unwrap();
    replace(&place.path, NEW).unwrap();
    assert_eq!(std::io::read_to_string(reader).unwrap().as_bytes(), NEW);
    assert!(place.other_names().is_empty());
}

#[test]
fn a_link_to_an_open_file_writes_to_that_file() {
    use std::os::fd::AsRawFd;
    for removed in [false, true] {
        let place = Place::new(Some(OLD));
        let file = fs::File::open(&place.path).unwrap();
        if removed {
            fs::remove_file(&place.path).unwrap();
        }
        let link = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
        if link.is_symlink() {
            replace(&link, NEW).unwrap();
            assert_eq!(std::io::read_to_string(file).unwrap().as_bytes(), NEW);
            assert!(place.other_names().is_empty());
        }
    }
}

#[test]
fn names_that_no_file_can_have_are_refused_when_staging() {
    let place = Place::new(None);
    let refusal = |path: &Path| Staged::write(path, NEW).unwrap_err().errno();
    assert_eq!(refusal(Path::new("")), Errno::NOENT);
    assert_eq!(refusal(&place.path.join("below/nothing")), Errno::NOENT);
    assert_eq!(refusal(&place.path.join("")), Errno::ISDIR);
    symlink("missing/", &place.path).unwrap();
    assert_eq!(refusal(&place.path), Errno::ISDIR);
    assert_eq!(refusal(place.dir.path()), Errno::ISDIR);
    assert!(place.other_names().is_empty());
}

#[test]
fn a_name_that_is_taken_is_not_used() {
    let place = Place::new(None);
    let _plan = faults::plan([faults::fail(Errno::EXIST).of(Operation::Create).at(0)]);
    replace(&place.path, NEW).unwrap();
    assert_eq!(place.content().unwrap(), NEW);
}

#[test]
fn threads_may_replace_one_file_at_the_same_time() {
    let place = Place::new(Some(OLD));
    std::thread::scope(|scope| {
        for byte in 0..8 {
            let path = &place.path;
            scope.spawn(move || replace(path, &[byte; 5000]).unwrap());
        }
    });
    let content = place.content().unwrap();
    assert_eq!(content, [content[0]; 5000]);
    assert!(place.other_names().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_was_written_is_read_back(
        old in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..5000)),
        new in proptest::collection::vec(any::<u8>(), 0..70_000),
        piece in 1..9000usize,
    ) {
        let place = Place::new(old.as_deref());
        let plan = faults::plan([faults::short(piece)]);
        replace(&place.path, &new).unwrap();
        drop(plan);
        prop_assert_eq!(place.content().unwrap(), new);
        prop_assert!(place.other_names().is_empty());
    }
}

#[test]
fn a_draft_grows_and_is_not_seen_before_its_commit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, b"old").unwrap();
    let mut draft = Draft::begin(&path).unwrap();
    for piece in [&b"new "[..], b"", b"content"] {
        draft.append(piece).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
    let staged = draft.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    staged.commit().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new content");

    let mut given_up = Draft::begin(&path).unwrap();
    given_up.append(b"half").unwrap();
    drop(given_up);
    assert_eq!(std::fs::read(&path).unwrap(), b"new content");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}
