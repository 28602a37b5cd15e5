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
