//! Files in memory on huge pages.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use rustix::io::{Errno, Result};

use super::{HUGE_PAGE, wanted};

/// Puts one huge page in the place of those that a file in memory has from `offset` on, a multiple of
/// [`HUGE_PAGE`]. At least one of them must be there; its bytes stay as they are, and the rest are zeros.
pub(crate) fn join_pages(file: BorrowedFd, offset: u64) -> Result<()> {
    if !wanted() {
        return Err(Errno::NOTSUP);
    }
    let offset = libc::off_t::try_from(offset).map_err(|_| Errno::OVERFLOW)?;
    let window = Window::new()?;
    window.show(file, offset)?;
    let start = window.aligned();
    // SAFETY: the range is the window's, which nobody looks through, and no byte of the file changes.
    done(unsafe { libc::madvise(start, HUGE_PAGE, libc::MADV_COLLAPSE) })
}

/// Addresses in which there are those of a whole huge page.
struct Window(*mut libc::c_void);

impl Window {
    const LENGTH: usize = 2 * HUGE_PAGE;

    fn new() -> Result<Window> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, which changes no other memory.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                Window::LENGTH,
                libc::PROT_NONE,
                kind,
                -1,
                0,
            )
        };
        match base == libc::MAP_FAILED {
            true => Err(last_error()),
            false => Ok(Window(base)),
        }
    }

    fn aligned(&self) -> *mut libc::c_void {
        let address = self.0 as usize;
        self.0
            .wrapping_byte_add(address.next_multiple_of(HUGE_PAGE) - address)
    }

    fn show(&self, file: BorrowedFd, offset: libc::off_t) -> Result<()> {
        let kind = libc::MAP_SHARED | libc::MAP_FIXED;
        let (start, fd) = (self.aligned(), file.as_raw_fd());
        // SAFETY: it takes the place of addresses that belong to this window.
        let shown = unsafe { libc::mmap(start, HUGE_PAGE, libc::PROT_READ, kind, fd, offset) };
        match shown == libc::MAP_FAILED {
            true => Err(last_error()),
            false => Ok(()),
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, into which nobody has a reference.
        unsafe { libc::munmap(self.0, Window::LENGTH) };
    }
}

fn done(code: libc::c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
