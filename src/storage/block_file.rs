//! A large file that is read and written block by block.
//!
//! Checkpoints often lie in tmpfs (/dev/shm), where allocating a page costs the kernel more than copying its bytes. A huge
//! page costs little more than a small one, but the kernel makes one only by collapsing pages that exist. So the first
//! writer in a range of such a file allocates one page, then collapses it (MADV_COLLAPSE), and copies its bytes into the
//! mapped huge page without a system call. Where the kernel refuses, the file is written as any other.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, retry_on_intr};

use super::{Operation, Result, on, sys};
use crate::pages::{HUGE_PAGE, HugePages};

const HUGE: u64 = HUGE_PAGE as u64;
/// Bytes to collapse at once: each call makes the kernel drain the page lists of all processors.
const RUN: u64 = 2 * HUGE;

#[derive(Debug)]
pub struct BlockFile {
    fd: OwnedFd,
    pages: Pages,
}

/// The pages that a file gets.
#[derive(Debug)]
enum Pages {
    Ordinary,
    /// Huge ones if it lies in tmpfs, which has not been checked yet.
    Perhaps {
        length: u64,
    },
    Huge(Huge),
}

/// Huge pages are made in runs of [`RUN`] bytes, up to the last whole one in the file.
#[derive(Debug)]
struct Huge {
    /// The least length of the file.
    length: u64,
    tried: HashSet<u64>,
    /// The run that is mapped, and its number.
    last: Option<(u64, HugePages)>,
}

impl BlockFile {
    /// Wraps an existing file.
    pub fn existing(fd: OwnedFd) -> BlockFile {
        let pages = Pages::Ordinary;
        BlockFile { fd, pages }
    }

    /// Wraps a file that is new, or about to be rewritten, and will have at least `length` bytes. Others may
    /// write to it at the same time. It must be open for reading too.
    pub fn growing(fd: OwnedFd, length: u64) -> BlockFile {
        let pages = match length < HUGE {
            true => Pages::Ordinary,
            false => Pages::Perhaps { length },
        };
        BlockFile { fd, pages }
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
        self.choose_pages()?;
        let Pages::Huge(huge) = &mut self.pages else {
            return put(&self.fd, offset, bytes);
        };
        while !bytes.is_empty() {
            let left = (RUN - offset % RUN).min(bytes.len() as u64);
            let (here, behind) = bytes.split_at(left as usize);
            huge.write(&self.fd, offset, here)?;
            (offset, bytes) = (offset + left, behind);
        }
        Ok(())
    }

    fn choose_pages(&mut self) -> Result<()> {
        let Pages::Perhaps { length } = self.pages else {
            return Ok(());
        };
        self.pages = match sys::is_in_memory(&self.fd) {
            Ok(true) => Pages::Huge(Huge {
                length,
                tried: HashSet::new(),
                last: None,
            }),
            _ => Pages::Ordinary,
        };
        if let Pages::Huge(_) = self.pages {
            // Access to a mapped page beyond the end of the file would raise SIGBUS.
            let extended = retry_on_intr(|| sys::allocate(&self.fd, length - 1));
            extended.map_err(on(Operation::Allocate, self.as_fd()))?;
        }
        Ok(())
    }
}

impl Huge {
    /// Writes bytes that lie in one run.
    fn write(&mut self, fd: &OwnedFd, offset: u64, bytes: &[u8]) -> Result<()> {
        let number = offset / RUN;
        if self.tried.insert(number) {
            let run = self.collapse(fd, number * RUN);
            self.last = run.map(|run| (number, run));
        }
        match &mut self.last {
            Some((last, run))
                if *last == number && (offset % RUN) as usize + bytes.len() <= run.len() =>
            {
                run.write((offset % RUN) as usize, bytes);
                Ok(())
            }
            _ => put(fd, offset, bytes),
        }
    }

    /// Makes a run of huge pages from `start` on; `None` if the kernel refuses.
    fn collapse(&mut self, fd: &OwnedFd, start: u64) -> Option<HugePages> {
        self.last = None;
        let end = (start + RUN).min(self.length / HUGE * HUGE);
        let mut pages = (start..end).step_by(HUGE_PAGE);
        let length = end.checked_sub(start).filter(|length| *length > 0)?;
        let allocated = pages.try_for_each(|page| sys::allocate(fd, page));
        match allocated.and_then(|()| sys::collapse_pages(fd, start, length as usize)) {
            Ok(run) => return Some(run),
            // Another writer interferes in this run only; go on with the next ones.
            Err(Errno::AGAIN) => (),
            Err(_) => self.length = 0,
        }
        None
    }
}

fn put(fd: &OwnedFd, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
    let fd = fd.as_fd();
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

impl AsFd for BlockFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    use proptest::prelude::*;
    use rustix::fs::{Mode, OFlags, open};

    use super::*;
    use crate::storage::{faults, memory_dir};

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
        // In memory it is made as long as it will be.
        expected.resize(expected.len().max(length), 0);
        assert!(found[..length] == expected[..]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(48)))]
        #[test]
        fn blocks_in_any_order_make_the_same_file(
            places in prop::collection::vec((0..5 * HUGE_PAGE, 1..3 * HUGE_PAGE / 2), 1..12),
            more in 0..HUGE_PAGE,
        ) {
            let dir = memory_dir();
            let whole = bytes(4 * HUGE_PAGE + more);
            check(file(&dir, whole.len() as u64), &whole, &places);
        }
    }

    #[test]
    fn blocks_of_several_writers_make_one_file() {
        let dir = memory_dir();
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
        let whole = bytes(9 * HUGE_PAGE);
        let places: Vec<_> = (0..18)
            .map(|i| (i * HUGE_PAGE / 2, HUGE_PAGE / 2))
            .collect();
        for errno in [Errno::INVAL, Errno::NOMEM, Errno::BUSY, Errno::AGAIN] {
            for nth in 0..3 {
                let dir = memory_dir();
                let _plan =
                    faults::plan([faults::fail(errno).of(Operation::CollapsePages).at(nth)]);
                check(file(&dir, whole.len() as u64), &whole, &places);
            }
        }
    }

    #[test]
    fn only_whole_huge_pages_of_files_in_memory_are_asked_for() {
        let dir = memory_dir();
        let whole = bytes(5 * HUGE_PAGE + 100);
        let asked = |length: u64| {
            let plan = faults::plan([faults::fail(Errno::AGAIN).of(Operation::CollapsePages)]);
            check(
                file(&dir, length),
                &whole,
                &[(0, 5000), (5000, whole.len())],
            );
            let trace = plan.trace();
            trace
                .into_iter()
                .filter(|op| *op == Operation::CollapsePages)
                .count()
        };
        let runs =
            usize::from(sys::is_in_memory(std::fs::File::open(dir.path()).unwrap()).unwrap());
        assert_eq!(asked(whole.len() as u64), 3 * runs);
        assert_eq!(asked(2 * HUGE - 1), runs);
        assert_eq!(asked(RUN + HUGE - 1), runs);
        assert_eq!(asked(HUGE - 1), 0);
    }
}
