//! Whole reads and writes on descriptors. A descriptor handed in stays open: a C caller may own it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, SeekFrom};
use rustix::io::{Errno, retry_on_intr};

use super::{Operation, Result, at, on, sys};

const PAUSE: Duration = Duration::from_micros(100);
const OPEN_ATTEMPTS: u32 = 5;

/// A non-blocking descriptor that makes no progress for about a second is given up.
const STALL_LIMIT: u32 = 10_000;

/// What a loaded or remote file system may report although the next attempt can succeed.
const TRANSIENT: [Errno; 9] = [
    Errno::AGAIN,
    Errno::BUSY,
    Errno::IO,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOMEM,
    Errno::REMOTEIO,
    Errno::STALE,
    Errno::TIMEDOUT,
];

/// Errnos by which a file system or device says that it does not offer an operation.
pub(super) const UNSUPPORTED: [Errno; 4] =
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];

pub fn open_read(path: &Path) -> Result<OwnedFd> {
    let open = || sys::open(path, OFlags::RDONLY, Mode::empty());
    patiently(open).map_err(at(Operation::Open, path))
}

/// Opens for reading and writing; a new file gets mode 0666 less the umask. Nothing is truncated.
pub fn open_rdwr_create(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE;
    let open = || sys::open(path, flags, Mode::from_raw_mode(0o666));
    patiently(open).map_err(at(Operation::Open, path))
}

/// Runs `open` again, a few times, while it fails in a way that may pass.
pub(super) fn patiently<T>(mut open: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 1..OPEN_ATTEMPTS {
        match retry_on_intr(&mut open) {
            Err(errno) if TRANSIENT.contains(&errno) => sleep(PAUSE),
            outcome => return outcome,
        }
    }
    retry_on_intr(open)
}

/// Fills `buf` and returns its length, or less where the file ends.
pub fn read_full(fd: impl AsFd, buf: &mut [u8]) -> Result<usize> {
    let fd = fd.as_fd();
    let mut done = 0;
    let mut stalls = Stalls::default();
    while done < buf.len() {
        match sys::read(fd, &mut buf[done..]) {
            Ok(0) => break,
            Ok(n) => {
                done += n;
                stalls = Stalls::default();
            }
            Err(errno) => stalls.excuse(errno).map_err(on(Operation::Read, fd))?,
        }
    }
    Ok(done)
}

pub fn write_full(fd: impl AsFd, bytes: &[u8]) -> Result<()> {
    let fd = fd.as_fd();
    write_all(fd, bytes).map_err(on(Operation::Write, fd))
}

pub(super) fn write_all(fd: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    let mut stalls = Stalls::default();
    while !bytes.is_empty() {
        match sys::write(&fd, bytes) {
            Ok(0) => stalls.excuse(Errno::AGAIN)?,
            Ok(n) => {
                bytes = &bytes[n..];
                stalls = Stalls::default();
            }
            Err(errno) => stalls.excuse(errno)?,
        }
    }
    Ok(())
}

/// Counts attempts in a row that moved nothing.
#[derive(Default)]
struct Stalls(u32);

impl Stalls {
    /// `Ok` if the call that failed with `errno` should be made again.
    fn excuse(&mut self, errno: Errno) -> Result<(), Errno> {
        match errno {
            Errno::INTR => Ok(()),
            Errno::AGAIN if self.0 < STALL_LIMIT => {
                self.0 += 1;
                sleep(PAUSE);
                Ok(())
            }
            _ => Err(errno),
        }
    }
}

/// Returns when what was written is on stable storage. Pipes and terminals have none: no error.
pub fn sync(fd: impl AsFd) -> Result<()> {
    let fd = fd.as_fd();
    sync_all(fd).map_err(on(Operation::Fsync, fd))
}

pub(super) fn sync_all(fd: impl AsFd) -> Result<(), Errno> {
    match retry_on_intr(|| sys::fsync(&fd)) {
        Err(errno) if UNSUPPORTED.contains(&errno) => Ok(()),
        outcome => outcome,
    }
}

/// Bytes from the current offset to the end of a regular file; `None` for anything else.
///
/// A length read from a file can be checked against it before memory is taken for that length.
pub fn size_left(fd: impl AsFd) -> Result<Option<u64>> {
    let fd = fd.as_fd();
    let stat = sys::fstat(fd).map_err(on(Operation::Stat, fd))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let offset = sys::seek(fd, SeekFrom::Current(0)).map_err(on(Operation::Seek, fd))?;
    Ok(Some((stat.st_size as u64).saturating_sub(offset)))
}

/// Moves the offset to `offset` bytes from the start.
pub fn seek_to(fd: impl AsFd, offset: u64) -> Result<()> {
    let fd = fd.as_fd();
    sys::seek(fd, SeekFrom::Start(offset)).map_err(on(Operation::Seek, fd))?;
    Ok(())
}

/// Cuts or extends the file to `length` bytes.
pub fn truncate(fd: impl AsFd, length: u64) -> Result<()> {
    let fd = fd.as_fd();
    retry_on_intr(|| sys::truncate(fd, length)).map_err(on(Operation::Truncate, fd))
}
