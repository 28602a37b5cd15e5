use super::super::{Operation, faults, replace};
use super::*;
use std::fs;
use std::path::PathBuf;

const OLD: &[u8] = b"the old content, somewhat longer than the new one";
const NEW: &[u8] = b"the new content";

/// A file in a directory of its own.
struct Target {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl Target {
    fn new() -> Target {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, OLD).unwrap();
        Target { dir, path }
    }

    /// The contents of the other files of the directory.
    fn others(&self) -> Vec<Vec<u8>> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let others = paths.filter(|path| *path != self.path);
        others.map(|path| fs::read(path).unwrap()).collect()
    }
}

/// What is left of both contents after a write in place with faults: the old or the new one, complete, in the file
/// or where the error says.
fn in_place(refusal: faults::Rule, rule: faults::Rule) -> (Vec<Operation>, Target) {
    let place = Target::new();
    let plan = faults::plan([rule, refusal]);
    let outcome = replace(&place.path, NEW);
    let trace = plan.trace();
    drop(plan);
    let content = fs::read(&place.path).unwrap();
    let is_new = content == NEW;
    match outcome {
        Ok(()) => assert!(is_new),
        Err(Error::Unfinished { path, kept, .. }) => {
            assert_eq!(path, place.path);
            assert_eq!(fs::read(&kept).unwrap(), NEW, "{kept:?}");
            fs::remove_file(kept).unwrap();
        }
        Err(error) => assert!(is_new || content == OLD, "{error}"),
    }
    (trace, place)
}

/// The file may be written, but neither replaced nor, with the second rule, its directory changed.
const REFUSALS: [(Operation, Errno); 3] = [
    (Operation::Rename, Errno::BUSY),
    (Operation::Rename, Errno::PERM),
    (Operation::Create, Errno::ACCESS),
];

#[test]
fn a_write_in_place_that_fails_anywhere_loses_no_content() {
    for (op, refusal) in REFUSALS {
        for errno in [Errno::NOSPC, Errno::IO, Errno::DQUOT] {
            for n in 0.. {
                let refused = faults::fail(refusal).of(op).at(0);
                let (trace, place) = in_place(refused, faults::fail(errno).at(n));
                let unremoved = trace.get(n) == Some(&Operation::Unlink);
                assert!(
                    unremoved || place.others().is_empty(),
                    "{op} {errno} at {n}"
                );
                if trace.len() <= n {
                    assert!(n > 9, "only {n} operations were tried");
                    break;
                }
            }
        }
    }
}

#[test]
fn a_death_in_a_write_in_place_loses_no_content() {
    for n in 0.. {
        let place = Target::new();
        let refusal = faults::fail(Errno::BUSY).of(Operation::Rename);
        let plan = faults::plan([faults::crash().at(n), faults::short(4), refusal]);
        let _ = replace(&place.path, NEW);
        let reached = plan.trace().len() > n;
        drop(plan);
        let mut all = place
            .others()
            .into_iter()
            .chain([fs::read(&place.path).unwrap()]);
        assert!(
            all.any(|content| content == OLD || content == NEW),
            "at {n}"
        );
        if !reached {
            assert!(n > 12, "only {n} operations were tried");
            break;
        }
    }
}

/// What the fallback is for: a file that is a mount point, on a file system that is full.
#[test]
fn a_full_file_system_keeps_the_old_content_of_a_mount_point() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"
        mount -t tmpfs -o size=64k tmpfs "$1" && cd "$1" && echo -n "$2" >file && touch other && mount --bind file file &&
        exec "$3" --exact storage::in_place::tests::replace_on_a_full_file_system --ignored --nocapture"#;
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]);
    unshare
        .arg(dir.path())
        .arg(std::str::from_utf8(OLD).unwrap());
    unshare.arg(std::env::current_exe().unwrap());
    let Ok(output) = unshare.env("STANCHION_TEST_MOUNT", dir.path()).output() else {
        return println!("skipped: there is no unshare");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    if !text.contains("running 1 test") {
        return println!("skipped: this user may not mount: {complaint}");
    }
    assert!(output.status.success(), "{text}{complaint}");
}

/// Run by the test above, in a file system of 16 pages.
#[test]
#[ignore = "needs a mounted file system"]
fn replace_on_a_full_file_system() {
    let mount = PathBuf::from(std::env::var_os("STANCHION_TEST_MOUNT").unwrap());
    let file = mount.join("file");
    let names = || fs::read_dir(&mount).unwrap().count();
    // There is room for the temporary file, but not for both.
    let new = vec![b'x'; 9 * 4096];
    let error = replace(&file, &new).unwrap_err();
    assert_eq!(error.errno(), Errno::NOSPC, "{error}");
    assert_eq!(fs::read(&file).unwrap(), OLD);
    assert_eq!(names(), 2);
    replace(&file, &new[..4096]).unwrap();
    assert_eq!(fs::read(&file).unwrap(), &new[..4096]);
    assert_eq!(names(), 2);
}
