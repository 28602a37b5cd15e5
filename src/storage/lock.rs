//! Locks on whole files, between processes.
//!
//! `flock` where the file system has it, `fcntl` record locks over the whole file where it does not (some NFS and
//! FUSE mounts). The two do not see each other, so the choice must be the same in all processes. It follows from
//! one thing only: that the file system says it does not implement `flock`. A lack of locks (ENOLCK) or a descriptor
//! of the wrong mode (EBADF) can differ from process to process, so it is an error.
//!
//! A lock belongs to a file, not to its name. [`replace`](super::replace()) puts another file under
//! the name; what is protected by a lock is therefore rewritten in place. `fcntl` locks do not hold
//! off threads of the same process, and closing any descriptor of the file drops them.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{self, FlockOperation, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::file::UNSUPPORTED;
use super::{Error, Operation, Result, names, on, sys};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    Shared,
    Exclusive,
}

/// The kernel's internal ENOTSUPP, which NFS lets through to callers.
const ENOTSUPP: i32 = 524;

/// Waits until the whole file is locked.
///
/// If neither kind of lock is supported, this is an error: it never returns `Ok` without a lock. The
/// `fcntl` kind needs a readable descriptor for [`LockMode::Shared`], a writable one for
/// [`LockMode::Exclusive`].
pub fn lock(fd: impl AsFd, mode: LockMode) -> Result<()> {
    change(
        fd,
        match mode {
            LockMode::Shared => FlockOperation::LockShared,
            LockMode::Exclusive => FlockOperation::LockExclusive,
        },
    )
}

/// Releases the lock.
pub fn unlock(fd: impl AsFd) -> Result<()> {
    change(fd, FlockOperation::Unlock)
}

/// How long to wait for the lock of a directory, and how often to try.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// Serializes processes that write several files beside `path`: holds the lock of the directory until it is dropped.
///
/// Advisory and best effort: holds nothing where the file system has no such locks, or where another process (perhaps
/// for purposes of its own) keeps the lock for longer than any write takes.
pub struct DirectoryLock(#[allow(dead_code)] Option<OwnedFd>);

impl DirectoryLock {
    pub fn beside(path: &Path) -> DirectoryLock {
        DirectoryLock::before(path, Instant::now() + PATIENCE)
    }

    fn before(path: &Path, deadline: Instant) -> DirectoryLock {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let directory = sys::open(names::parent(path), flags, fs::Mode::empty());
        DirectoryLock(directory.ok().filter(|fd| {
            loop {
                match sys::flock(fd, FlockOperation::NonBlockingLockExclusive) {
                    Err(Errno::INTR) => {}
                    Err(Errno::WOULDBLOCK) if Instant::now() < deadline => sleep(PAUSE),
                    outcome => return outcome.is_ok(),
                }
            }
        }))
    }

    pub fn is_ours(&self) -> bool {
        self.0.is_some()
    }
}

fn change(fd: impl AsFd, operation: FlockOperation) -> Result<()> {
    let fd = fd.as_fd();
    match retry_on_intr(|| sys::flock(fd, operation)) {
        Err(flock) if is_unimplemented(flock) => {
            let fcntl = retry_on_intr(|| sys::fcntl_lock(fd, operation));
            fcntl.map_err(|fcntl| Error::Lock {
                fd: fd.as_raw_fd(),
                flock,
                fcntl,
            })
        }
        outcome => outcome.map_err(on(Operation::Flock, fd)),
    }
}

fn is_unimplemented(errno: Errno) -> bool {
    UNSUPPORTED.contains(&errno) || errno.raw_os_error() == ENOTSUPP
}

#[cfg(test)]
mod tests {
    use super::super::faults;
    use super::*;
    use std::fs::File;
    use std::process::Command;
    use std::sync::mpsc::channel;

    const PROBED_FILE: &str = "STANCHION_TEST_PROBED_FILE";

    /// Run in a process of its own by [`free_for_others`]: fails while the file is locked. Does nothing
    /// by itself.
    #[test]
    fn probe() {
        let Some(path) = std::env::var_os(PROBED_FILE) else {
            return;
        };
        let file = File::options().read(true).write(true).open(path).unwrap();
        let attempt = FlockOperation::NonBlockingLockExclusive;
        rustix::fs::fcntl_lock(&file, attempt).unwrap();
        rustix::fs::flock(&file, attempt).unwrap();
    }

    fn free_for_others(path: &Path) -> bool {
        succeeds("probe", PROBED_FILE, path)
    }

    /// Runs a test of this module in a process of its own.
    fn succeeds(test: &str, variable: &str, path: &Path) -> bool {
        let module = module_path!().split_once("::").unwrap().1;
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", &format!("{module}::{test}")]);
        let output = process.env(variable, path).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("running 1 test"), "{text}");
        output.status.success()
    }

    #[test]
    fn flock_holds_off_other_processes_and_threads() {
        let file = tempfile::NamedTempFile::new().unwrap();
        lock(&file, LockMode::Exclusive).unwrap();
        assert!(!free_for_others(file.path()));

        let (sender, receiver) = channel();
        let second = file.reopen().unwrap();
        let waiting = std::thread::spawn(move || {
            lock(&second, LockMode::Exclusive).unwrap();
            sender.send(()).unwrap();
        });
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err());
        unlock(&file).unwrap();
        receiver.recv().unwrap();
        waiting.join().unwrap();
        assert!(free_for_others(file.path()));
    }

    #[test]
    fn turns_are_taken_one_after_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let first = DirectoryLock::beside(&path);
        assert!(first.is_ours());
        let now = Instant::now();
        assert!(!DirectoryLock::before(&path, now).is_ours());
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || DirectoryLock::beside(&path).is_ours()
        });
        sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        drop(first);
        assert!(waiting.join().unwrap());
        assert!(DirectoryLock::before(&path, now).is_ours());
    }

    #[test]
    fn without_locks_nobody_waits_for_a_turn() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for operation in [Operation::Open, Operation::Flock] {
            for errno in [Errno::NOSYS, Errno::NOLCK, Errno::BADF, Errno::ACCESS] {
                let _plan = faults::plan([faults::fail(errno).of(operation)]);
                assert!(!DirectoryLock::beside(&path).is_ours());
            }
        }
        assert!(!DirectoryLock::beside(&path.join("no directory")).is_ours());
    }

    #[test]
    fn shared_locks_coexist() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let second = file.reopen().unwrap();
        lock(&file, LockMode::Shared).unwrap();
        lock(&second, LockMode::Shared).unwrap();
        assert!(!free_for_others(file.path()));
    }

    #[test]
    fn without_flock_a_record_lock_is_taken() {
        for raw in [libc::ENOSYS, libc::EOPNOTSUPP, ENOTSUPP] {
            let file = tempfile::NamedTempFile::new().unwrap();
            let errno = Errno::from_raw_os_error(raw);
            let _plan = faults::plan([faults::fail(errno).of(Operation::Flock)]);
            lock(&file, LockMode::Exclusive).unwrap();
            assert!(!free_for_others(file.path()));
            unlock(&file).unwrap();
            assert!(free_for_others(file.path()));
        }
    }

    const CONTENDED_FILE: &str = "STANCHION_TEST_CONTENDED_FILE";

    /// Run in a process of its own by the next test, while that holds the lock of the file: a shortage of locks
    /// must not let this process have one of the other kind.
    #[test]
    fn contend() {
        let Some(path) = std::env::var_os(CONTENDED_FILE) else {
            return;
        };
        let file = File::options().read(true).write(true).open(path).unwrap();
        for errno in [Errno::NOLCK, Errno::BADF] {
            let _plan = faults::plan([faults::fail(errno).of(Operation::Flock)]);
            assert_eq!(lock(&file, LockMode::Exclusive).unwrap_err().errno(), errno);
            assert_eq!(lock(&file, LockMode::Shared).unwrap_err().errno(), errno);
        }
    }

    #[test]
    fn two_processes_never_hold_locks_of_different_kinds() {
        let file = tempfile::NamedTempFile::new().unwrap();
        lock(&file, LockMode::Exclusive).unwrap();
        assert!(succeeds("contend", CONTENDED_FILE, file.path()));
    }

    #[test]
    fn no_lock_at_all_is_an_error_that_names_both_causes() {
        let file = tempfile::tempfile().unwrap();
        let _plan = faults::plan([
            faults::fail(Errno::NOSYS).of(Operation::Flock),
            faults::fail(Errno::NOLCK).of(Operation::Fcntl),
        ]);
        for outcome in [lock(&file, LockMode::Exclusive), unlock(&file)] {
            let error = outcome.unwrap_err();
            let both = (Errno::NOSYS, Errno::NOLCK);
            assert!(matches!(error, Error::Lock { flock, fcntl, .. } if (flock, fcntl) == both));
        }
    }

    #[test]
    fn other_failures_of_flock_do_not_switch_to_record_locks() {
        let file = tempfile::tempfile().unwrap();
        let plan = faults::plan([faults::fail(Errno::IO)]);
        assert_eq!(
            lock(&file, LockMode::Shared).unwrap_err().errno(),
            Errno::IO
        );
        assert_eq!(plan.trace(), [Operation::Flock]);
    }

    #[test]
    fn an_interrupted_wait_goes_on() {
        let file = tempfile::tempfile().unwrap();
        let plan = faults::plan([faults::fail(Errno::INTR).at(0)]);
        lock(&file, LockMode::Exclusive).unwrap();
        assert_eq!(plan.trace(), [Operation::Flock; 2]);
    }
}
