//! Whole reads and writes on descriptors. A descriptor handed in stays open: a C caller may own it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, SeekFrom, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::{Operation, Result, at, on, sys};

const PAUSE: Duration = Duration::from_micros(100);
const OPEN_ATTEMPTS: u32 = 5;

/// A non-blocking descriptor that makes no progress for about a second is given up.
const STALL_LIMIT: u32 = 10_000;

/// Errors of a loaded or remote file system after which the next attempt may succeed.
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

/// Opens a regular file for reading; anything else is an error at once.
pub fn open_read(path: &Path) -> Result<OwnedFd> {
    open_regular(path, OFlags::RDONLY)
}

/// Opens for reading and writing; a new file gets mode 0666 less the umask. Nothing is truncated.
pub fn open_rdwr_create(path: &Path) -> Result<OwnedFd> {
    open_regular(path, OFlags::RDWR | OFlags::CREATE)
}

/// Opens without waiting (as for the writer of a FIFO) and refuses what is not a regular file.
pub(super) fn open_regular(path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = || sys::open(path, flags, Mode::from_raw_mode(0o666));
    let fd = patiently(open).map_err(at(Operation::Open, path))?;
    let stat = sys::fstat(&fd).map_err(at(Operation::Stat, path))?;
    match is_regular(&stat) {
        true => Ok(fd),
        false => Err(super::Error::NotRegular(path.to_path_buf())),
    }
}

pub(super) fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Retries `open` a few times after errors that may be transient.
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

/// Counts consecutive calls that transferred nothing.
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

/// Whether the open file is the one that `path` names now.
pub fn is_at(fd: impl AsFd, path: &Path) -> bool {
    match (sys::fstat(fd), sys::stat(path)) {
        (Ok(open), Ok(named)) => (open.st_dev, open.st_ino) == (named.st_dev, named.st_ino),
        _ => false,
    }
}

/// Bytes from the current offset to the end of a regular file; `None` for anything else.
///
/// A length read from a file can be checked against it before memory is taken for that length.
pub fn size_left(fd: impl AsFd) -> Result<Option<u64>> {
    let fd = fd.as_fd();
    let stat = sys::fstat(fd).map_err(on(Operation::Stat, fd))?;
    if !is_regular(&stat) {
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

#[cfg(test)]
mod tests {
    use super::super::faults;
    use super::*;
    use Operation::{Fsync, Open, Read, Stat, Write};
    use std::io::{Read as _, Seek, Write as _};
    use std::os::unix::{fs::PermissionsExt, net::UnixStream};

    const TEXT: &[u8] = b"one two three four five";

    fn text_file() -> std::fs::File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(TEXT).unwrap();
        file.rewind().unwrap();
        file
    }

    fn content(mut file: std::fs::File) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn read_full_survives_short_and_interrupted_reads() {
        let file = text_file();
        let _plan = faults::plan([
            faults::fail(Errno::INTR).of(Read).at(1),
            faults::fail(Errno::AGAIN).of(Read).at(2),
            faults::short(2).of(Read),
        ]);
        let mut buf = [0; TEXT.len()];
        assert_eq!(read_full(&file, &mut buf).unwrap(), TEXT.len());
        assert_eq!(buf, TEXT);
    }

    #[test]
    fn read_full_stops_at_the_end() {
        let mut buf = [0; 100];
        assert_eq!(read_full(text_file(), &mut buf).unwrap(), TEXT.len());
        assert_eq!(&buf[..TEXT.len()], TEXT);
    }

    #[test]
    fn write_full_survives_short_and_interrupted_writes() {
        let file = tempfile::tempfile().unwrap();
        let plan = faults::plan([
            faults::fail(Errno::INTR).of(Write).at(0),
            faults::fail(Errno::AGAIN).of(Write).at(2),
            faults::short(0).of(Write).at(4),
            faults::short(3).of(Write),
        ]);
        write_full(&file, TEXT).unwrap();
        drop(plan);
        assert_eq!(content(file), TEXT);
    }

    #[test]
    fn a_descriptor_that_never_gets_ready_is_given_up() {
        let plan = faults::plan([faults::fail(Errno::AGAIN)]);
        let error = write_full(text_file(), b"x").unwrap_err();
        assert_eq!(error.errno(), Errno::AGAIN);
        assert_eq!(plan.trace().len(), STALL_LIMIT as usize + 1);
    }

    #[test]
    fn errors_name_operation_and_descriptor() {
        let file = text_file();
        let _plan = faults::plan([faults::fail(Errno::NOSPC).of(Write)]);
        let error = write_full(&file, b"x").unwrap_err().to_string();
        assert!(error.starts_with("cannot write descriptor "), "{error}");
    }

    #[test]
    fn opening_is_tried_again_only_where_it_may_help() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let plan = faults::plan([]);
        assert!(open_read(&path).unwrap_err().errno() == Errno::NOENT);
        assert_eq!(plan.trace(), [Open]);

        let plan = faults::plan([faults::fail(Errno::STALE)]);
        assert_eq!(open_read(&path).unwrap_err().errno(), Errno::STALE);
        assert_eq!(plan.trace(), [Open; OPEN_ATTEMPTS as usize]);

        let plan = faults::plan([faults::fail(Errno::STALE).at(0)]);
        open_rdwr_create(&path).unwrap();
        assert_eq!(plan.trace(), [Open, Open, Stat]);
    }

    /// A FIFO that nobody writes to would keep a reader waiting for ever.
    #[test]
    fn only_regular_files_are_opened_and_nothing_waits() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for other in [
            &*fifo,
            dir.path(),
            Path::new("/dev/zero"),
            Path::new("/dev/tty"),
        ] {
            for opened in [open_read(other), open_rdwr_create(other)] {
                let error = opened.unwrap_err();
                let refused = [Errno::INVAL, Errno::ISDIR, Errno::NXIO];
                assert!(refused.contains(&error.errno()), "{error}");
            }
        }
        assert!(open_read(&socket).is_err());
        let error = open_read(&fifo).unwrap_err().to_string();
        assert!(error.ends_with("fifo is not a regular file"), "{error}");
    }

    #[test]
    fn a_created_file_has_the_mode_of_any_new_file_and_is_not_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, other) = (dir.path().join("ours"), dir.path().join("other"));
        write_full(open_rdwr_create(&ours).unwrap(), TEXT).unwrap();
        std::fs::write(&other, b"").unwrap();
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&other));

        let fd = open_rdwr_create(&ours).unwrap();
        assert_eq!(size_left(&fd).unwrap(), Some(TEXT.len() as u64));
    }

    #[test]
    fn size_left_counts_from_the_offset() {
        let file = text_file();
        seek_to(&file, 4).unwrap();
        assert_eq!(size_left(&file).unwrap(), Some(TEXT.len() as u64 - 4));
        seek_to(&file, 1000).unwrap();
        assert_eq!(size_left(&file).unwrap(), Some(0));
        truncate(&file, 3).unwrap();
        assert_eq!(content(file), &TEXT[..3]);
        let (reader, _writer) = UnixStream::pair().unwrap();
        assert_eq!(size_left(reader).unwrap(), None);
    }

    #[test]
    fn sync_reports_failures_but_not_descriptors_without_storage() {
        let (_reader, writer) = UnixStream::pair().unwrap();
        sync(writer).unwrap();
        let _plan = faults::plan([faults::fail(Errno::IO).of(Fsync).at(0)]);
        assert_eq!(sync(text_file()).unwrap_err().errno(), Errno::IO);
        sync(text_file()).unwrap();
    }
}
