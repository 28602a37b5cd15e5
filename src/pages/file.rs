//! Files in memory on huge pages.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use rustix::io::{Errno, Result};

use super::{HUGE_PAGE, wanted};

/// Some huge pages of a file in memory, to be written to.
#[derive(Debug)]
pub(crate) struct HugePages(Window);

impl HugePages {
    /// They take the place of the pages that the file has from `offset` on, a multiple of [`HUGE_PAGE`] as
    /// `length` is. Where each of them comes, there must be a page; its bytes stay as they are, and the rest
    /// are zeros. The file must not end before they do.
    pub(crate) fn join(file: BorrowedFd, offset: u64, length: usize) -> Result<HugePages> {
        if !wanted() {
            return Err(Errno::NOTSUP);
        }
        let offset = libc::off_t::try_from(offset).map_err(|_| Errno::OVERFLOW)?;
        let window = Window::new(length)?;
        window.show(file, offset)?;
        // SAFETY: the range is the window's, and no byte of the file changes.
        match unsafe { libc::madvise(window.start(), length, libc::MADV_COLLAPSE) } {
            0 => Ok(HugePages(window)),
            _ => Err(last_error()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.length
    }

    /// Writes from `at` of the first page on; others may write elsewhere at the same time.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let length = self.0.length;
        assert!(
            at <= length && bytes.len() <= length - at,
            "not in these pages"
        );
        let start = self.0.start().cast::<u8>().wrapping_add(at);
        // SAFETY: the range lies in pages that are mapped to be written, and nobody has a reference to it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
    }
}

/// Addresses that begin with those of a huge page.
#[derive(Debug)]
struct Window {
    mapping: *mut libc::c_void,
    length: usize,
}

// SAFETY: it is only an address range that is this value's own.
unsafe impl Send for Window {}

impl Window {
    fn new(length: usize) -> Result<Window> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let (whole, access) = (length + HUGE_PAGE, libc::PROT_NONE);
        // SAFETY: a new mapping, which changes no other memory.
        let mapping = unsafe { libc::mmap(ptr::null_mut(), whole, access, kind, -1, 0) };
        match mapping == libc::MAP_FAILED {
            true => Err(last_error()),
            false => Ok(Window { mapping, length }),
        }
    }

    fn start(&self) -> *mut libc::c_void {
        let address = self.mapping as usize;
        let skipped = address.next_multiple_of(HUGE_PAGE) - address;
        self.mapping.wrapping_byte_add(skipped)
    }

    fn show(&self, file: BorrowedFd, offset: libc::off_t) -> Result<()> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_FIXED;
        let (start, fd) = (self.start(), file.as_raw_fd());
        // SAFETY: it takes the place of addresses that belong to this window.
        let shown = unsafe { libc::mmap(start, self.length, access, kind, fd, offset) };
        match shown == libc::MAP_FAILED {
            true => Err(last_error()),
            false => Ok(()),
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, into which nobody has a reference.
        unsafe { libc::munmap(self.mapping, self.length + HUGE_PAGE) };
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
