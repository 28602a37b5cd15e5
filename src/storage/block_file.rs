//! A large file that is read and written block by block.
//!
//! Checkpoints often lie in memory (tmpfs, as in /dev/shm), where a page that is new to a file costs the
//! kernel more than the bytes in it. A huge page costs it little more than a small one, but it gives one
//! only in exchange for a page that is there. So the writer who comes first into a part of such a file
//! writes a page of its bytes, has that exchanged, and goes on in the huge page. Where the kernel cannot
//! or will not, the file is written as any other.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, retry_on_intr};

use super::{Operation, Result, on, sys};
use crate::pages::HUGE_PAGE;

const HUGE: u64 = HUGE_PAGE as u64;
/// At least as long as a page of the file system: what is written before an exchange.
const SMALL: u64 = 4096;

#[derive(Debug)]
pub struct BlockFile {
    fd: OwnedFd,
    huge: Huge,
}

/// Which huge pages a file gets.
#[derive(Debug)]
enum Huge {
    None,
    /// If it lies in memory; nobody has looked yet.
    Perhaps {
        length: u64,
    },
    /// Those that end before `length`, except where it was tried already.
    Pages {
        length: u64,
        tried: HashSet<u64>,
    },
}

impl BlockFile {
    /// One that is there.
    pub fn existing(fd: OwnedFd) -> BlockFile {
        let huge = Huge::None;
        BlockFile { fd, huge }
    }

    /// One that is new, or about to be written anew, and will have at least `length` bytes. Others may
    /// write to it at the same time. It must be open for reading too.
    pub fn growing(fd: OwnedFd, length: u64) -> BlockFile {
        let huge = match length < HUGE {
            true => Huge::None,
            false => Huge::Perhaps { length },
        };
        BlockFile { fd, huge }
    }

    /// Fills `buf` from `offset` on and returns its length, or less where the file ends.
    pub fn read_at(&self, mut offset: u64, buf: &mut [u8]) -> Result<usize> {
        let fd = self.as_fd();
        let mut done = 0;
        while done < buf.len() {
            let got = retry_on_intr(|| sys::pread(fd, &mut buf[done..], offset));
            match got.map_err(on(Operation::Read, fd))? {
                0 => break,
                n => {
                    done += n;
                    offset += n as u64;
                }
            }
        }
        Ok(done)
    }

    pub fn write_at(&mut self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        while let Some(page) = self.next_exchange(offset, bytes.len() as u64) {
            let start = offset.max(page * HUGE);
            let first = (start / SMALL + 1) * SMALL - offset;
            let (before, behind) = bytes.split_at(bytes.len().min(first as usize));
            self.put(offset, before)?;
            self.exchange(page);
            (offset, bytes) = (offset + before.len() as u64, behind);
        }
        self.put(offset, bytes)
    }

    /// The first huge page in these bytes of the file that is worth a try.
    fn next_exchange(&mut self, offset: u64, length: u64) -> Option<u64> {
        if let Huge::Perhaps { length } = self.huge {
            let tried = HashSet::new();
            self.huge = match sys::is_in_memory(&self.fd) {
                Ok(true) => Huge::Pages { length, tried },
                _ => Huge::None,
            };
        }
        let Huge::Pages { length: end, tried } = &self.huge else {
            return None;
        };
        let touched = offset / HUGE..(offset + length).div_ceil(HUGE);
        let mut whole = touched.take_while(|page| (page + 1) * HUGE <= *end);
        whole.find(|page| !tried.contains(page))
    }

    fn exchange(&mut self, page: u64) {
        let exchanged = sys::join_pages(&self.fd, page * HUGE);
        if let Huge::Pages { tried, .. } = &mut self.huge {
            tried.insert(page);
        }
        // Another writer may be in the way here, and nowhere else.
        if exchanged.is_err_and(|errno| errno != Errno::AGAIN) {
            self.huge = Huge::None;
        }
    }

    fn put(&self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        let fd = self.as_fd();
        while !bytes.is_empty() {
            let put = retry_on_intr(|| sys::pwrite(fd, bytes, offset));
            match put.map_err(on(Operation::Write, fd))? {
                0 => return Err(on(Operation::Write, fd)(Errno::NOSPC)),
                n => {
                    bytes = &bytes[n..];
                    offset += n as u64;
                }
            }
        }
        Ok(())
    }
}

impl AsFd for BlockFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use proptest::prelude::*;
    use rustix::fs::{Mode, OFlags, open};

    use super::*;
    use crate::storage::faults;

    /// A directory in memory, if this machine has one.
    fn in_memory() -> tempfile::TempDir {
        let usual = Path::new("/dev/shm");
        let dir = usual.is_dir().then(|| tempfile::tempdir_in(usual).ok());
        dir.flatten()
            .unwrap_or_else(|| tempfile::tempdir().unwrap())
    }

    fn file(dir: &tempfile::TempDir, length: u64) -> BlockFile {
        let path = CString::new(dir.path().join("file").as_os_str().as_bytes()).unwrap();
        let flags = OFlags::RDWR | OFlags::CREATE;
        BlockFile::growing(
            open(path, flags, Mode::from_raw_mode(0o600)).unwrap(),
            length,
        )
    }

    fn bytes(length: usize) -> Vec<u8> {
        (0..length)
            .map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8)
            .collect()
    }

    /// Writes blocks from `places` and checks what is in the file then.
    fn check(mut file: BlockFile, whole: &[u8], places: &[(usize, usize)]) {
        let mut expected = Vec::new();
        for &(start, length) in places {
            let end = whole.len().min(start + length);
            let block = &whole[start.min(end)..end];
            if !block.is_empty() {
                expected.resize(expected.len().max(end), 0);
                expected[start..end].copy_from_slice(block);
            }
            file.write_at(start as u64, block).unwrap();
        }
        let mut found = vec![1; whole.len() + 1];
        let length = file.read_at(0, &mut found).unwrap();
        assert!(found[..length] == expected[..]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn blocks_in_any_order_make_the_same_file(
            places in prop::collection::vec((0..5 * HUGE_PAGE, 1..3 * HUGE_PAGE / 2), 1..12),
            more in 0..HUGE_PAGE,
        ) {
            let dir = in_memory();
            let whole = bytes(4 * HUGE_PAGE + more);
            check(file(&dir, whole.len() as u64), &whole, &places);
        }
    }

    #[test]
    fn blocks_of_several_writers_make_one_file() {
        let dir = in_memory();
        let whole = bytes(6 * HUGE_PAGE + 12345);
        let (length, share) = (whole.len() as u64, whole.len() / 5 + 1);
        std::thread::scope(|scope| {
            for (number, part) in whole.chunks(share).enumerate() {
                let mut file = file(&dir, length);
                scope.spawn(move || {
                    for (index, block) in part.chunks(70_001).enumerate() {
                        let at = number * share + index * 70_001;
                        file.write_at(at as u64, block).unwrap();
                    }
                });
            }
        });
        assert!(std::fs::read(dir.path().join("file")).unwrap() == whole);
    }

    /// What the kernel may refuse is not an error, whatever it says and wherever it says so.
    #[test]
    fn a_file_without_huge_pages_is_the_same_file() {
        let whole = bytes(3 * HUGE_PAGE);
        let places: Vec<_> = (0..12)
            .map(|i| (i * HUGE_PAGE / 4, HUGE_PAGE / 4))
            .collect();
        for errno in [Errno::INVAL, Errno::NOMEM, Errno::BUSY, Errno::AGAIN] {
            for nth in 0..3 {
                let dir = in_memory();
                let _plan = faults::plan([faults::fail(errno).of(Operation::JoinPages).at(nth)]);
                check(file(&dir, whole.len() as u64), &whole, &places);
            }
        }
    }

    #[test]
    fn only_whole_huge_pages_of_files_in_memory_are_asked_for() {
        let dir = in_memory();
        let whole = bytes(2 * HUGE_PAGE + 100);
        let asked = |length: u64| {
            let plan = faults::plan([faults::fail(Errno::AGAIN).of(Operation::JoinPages)]);
            check(
                file(&dir, length),
                &whole,
                &[(0, 5000), (5000, whole.len())],
            );
            let trace = plan.trace();
            trace
                .into_iter()
                .filter(|op| *op == Operation::JoinPages)
                .count()
        };
        let pages =
            usize::from(sys::is_in_memory(std::fs::File::open(dir.path()).unwrap()).unwrap());
        assert_eq!(asked(whole.len() as u64), 2 * pages);
        assert_eq!(asked(2 * HUGE - 1), pages);
        assert_eq!(asked(HUGE - 1), 0);
    }
}
