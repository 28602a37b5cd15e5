//! Locks on whole files, between processes.
//!
//! `flock` is the first choice. Where a file system does not offer it (some NFS and Lustre mounts),
//! `fcntl` record locks over the whole file take its place. The two do not exclude each other, so
//! only the answer of the file system decides between them: it is the same for all processes there.
//!
//! A lock belongs to a file, not to its name. [`replace`](super::replace()) puts another file under
//! the name; what is protected by a lock is therefore rewritten in place. `fcntl` locks do not hold
//! off threads of the same process, and closing any descriptor of the file drops them.

use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::FlockOperation;
use rustix::io::{Errno, retry_on_intr};

use super::file::UNSUPPORTED;
use super::{Error, Operation, Result, on, sys};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Shared,
    Exclusive,
}

/// The kernel's internal ENOTSUPP, which NFS lets through to callers.
const ENOTSUPP: i32 = 524;

/// Waits until the whole file is locked.
///
/// With neither kind of lock on offer this is an error: it never returns `Ok` without a lock. The
/// `fcntl` kind needs a readable descriptor for [`Mode::Shared`], a writable one for
/// [`Mode::Exclusive`].
pub fn lock(fd: impl AsFd, mode: Mode) -> Result<()> {
    let fd = fd.as_fd();
    let operation = match mode {
        Mode::Shared => FlockOperation::LockShared,
        Mode::Exclusive => FlockOperation::LockExclusive,
    };
    match retry_on_intr(|| sys::flock(fd, operation)) {
        Err(flock) if not_offered(flock) => {
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

/// Gives up the lock, of whichever kind it is.
///
/// Both kinds are released, since a shortage (ENOLCK) that made [`lock`] choose `fcntl` may be over.
pub fn unlock(fd: impl AsFd) -> Result<()> {
    let fd = fd.as_fd();
    let flock = retry_on_intr(|| sys::flock(fd, FlockOperation::Unlock));
    let fcntl = retry_on_intr(|| sys::fcntl_lock(fd, FlockOperation::Unlock));
    match (flock, fcntl) {
        (Err(flock), Err(fcntl)) => Err(Error::Lock {
            fd: fd.as_raw_fd(),
            flock,
            fcntl,
        }),
        (Err(flock), Ok(())) if !not_offered(flock) => Err(on(Operation::Flock, fd)(flock)),
        _ => Ok(()),
    }
}

fn not_offered(errno: Errno) -> bool {
    UNSUPPORTED.contains(&errno)
        || [Errno::NOLCK, Errno::BADF].contains(&errno)
        || errno.raw_os_error() == ENOTSUPP
}

#[cfg(test)]
mod tests {
    use super::super::faults;
    use super::*;
    use std::fs::File;
    use std::path::Path;
    use std::process::Command;
    use std::sync::mpsc::channel;
    use std::time::Duration;

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
        let name = concat!(module_path!(), "::probe");
        let name = name.split_once("::").unwrap().1;
        let mut probe = Command::new(std::env::current_exe().unwrap());
        probe.args(["--exact", name]);
        let output = probe.env(PROBED_FILE, path).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("running 1 test"), "{text}");
        output.status.success()
    }

    #[test]
    fn flock_holds_off_other_processes_and_threads() {
        let file = tempfile::NamedTempFile::new().unwrap();
        lock(&file, Mode::Exclusive).unwrap();
        assert!(!free_for_others(file.path()));

        let (sender, receiver) = channel();
        let second = file.reopen().unwrap();
        let waiting = std::thread::spawn(move || {
            lock(&second, Mode::Exclusive).unwrap();
            sender.send(()).unwrap();
        });
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err());
        unlock(&file).unwrap();
        receiver.recv().unwrap();
        waiting.join().unwrap();
        assert!(free_for_others(file.path()));
    }

    #[test]
    fn shared_locks_coexist() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let second = file.reopen().unwrap();
        lock(&file, Mode::Shared).unwrap();
        lock(&second, Mode::Shared).unwrap();
        assert!(!free_for_others(file.path()));
    }

    #[test]
    fn without_flock_a_record_lock_is_taken() {
        for raw in [libc::ENOLCK, libc::ENOSYS, libc::EOPNOTSUPP, 524] {
            let file = tempfile::NamedTempFile::new().unwrap();
            let errno = Errno::from_raw_os_error(raw);
            let _plan = faults::plan([faults::fail(errno).of(Operation::Flock)]);
            lock(&file, Mode::Exclusive).unwrap();
            assert!(!free_for_others(file.path()));
            unlock(&file).unwrap();
            assert!(free_for_others(file.path()));
        }
    }

    #[test]
    fn a_record_lock_is_released_although_flock_works_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let shortage = faults::fail(Errno::NOLCK).of(Operation::Flock).at(0);
        let _plan = faults::plan([shortage]);
        lock(&file, Mode::Exclusive).unwrap();
        unlock(&file).unwrap();
        assert!(free_for_others(file.path()));
    }

    #[test]
    fn no_lock_at_all_is_an_error_that_names_both_causes() {
        let file = tempfile::tempfile().unwrap();
        let _plan = faults::plan([
            faults::fail(Errno::NOSYS).of(Operation::Flock),
            faults::fail(Errno::NOLCK).of(Operation::Fcntl),
        ]);
        for outcome in [lock(&file, Mode::Exclusive), unlock(&file)] {
            let error = outcome.unwrap_err();
            let both = (Errno::NOSYS, Errno::NOLCK);
            assert!(matches!(error, Error::Lock { flock, fcntl, .. } if (flock, fcntl) == both));
        }
    }

    #[test]
    fn other_failures_of_flock_do_not_switch_to_record_locks() {
        let file = tempfile::tempfile().unwrap();
        let plan = faults::plan([faults::fail(Errno::IO)]);
        assert_eq!(lock(&file, Mode::Shared).unwrap_err().errno(), Errno::IO);
        assert_eq!(plan.trace(), [Operation::Flock]);
    }

    #[test]
    fn an_interrupted_wait_goes_on() {
        let file = tempfile::tempfile().unwrap();
        let plan = faults::plan([faults::fail(Errno::INTR).at(0)]);
        lock(&file, Mode::Exclusive).unwrap();
        assert_eq!(plan.trace(), [Operation::Flock; 2]);
    }
}
