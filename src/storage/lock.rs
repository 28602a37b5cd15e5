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
