//! Files in memory on huge pages.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use rustix::io::{Errno, Result};

use super::{HUGE_PAGE, wanted};

/// A huge page of a file in memory, to be written to.
#[derive(Debug)]
pub(crate) struct HugePage(Window);

impl HugePage {
    /// Takes the place of the pages that the file has from `offset` on, a multiple of [`HUGE_PAGE`]. At least
    /// one of them must be there; its bytes stay as they are, and the rest are zeros. The file must not end
    /// before the page does.
    pub(crate) fn join(file: BorrowedFd, offset: u64) -> Result<HugePage> {
        if !wanted() {
            return Err(Errno::NOTSUP);
        }
        let offset = libc::off_t::try_from(offset).map_err(|_| Errno::OVERFLOW)?;
        let window = Window::new()?;
        window.show(file, offset)?;
        let start = window.aligned();
        // SAFETY: the range is the window's, and no byte of the file changes.
        match unsafe { libc::madvise(start, HUGE_PAGE, libc::MADV_COLLAPSE) } {
            0 => Ok(HugePage(window)),
            _ => Err(last_error()),
        }
    }

    /// Writes from `at` of the page on; others may write elsewhere in it at the same time.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        assert!(
            at <= HUGE_PAGE && bytes.len() <= HUGE_PAGE - at,
            "not in the page"
        );
        let start = self.0.aligned().cast::<u8>().wrapping_add(at);
        // SAFETY: the range lies in the page, which is mapped to be written, and nobody has a reference to it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
    }
}

/// Addresses in which there are those of a whole huge page.
#[derive(Debug)]
struct Window(*mut libc::c_void);

// SAFETY: it is only an address range that is this value's own.
unsafe impl Send for Window {}

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
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_FIXED;
        let (start, fd) = (self.aligned(), file.as_raw_fd());
        // SAFETY: it takes the place of addresses that belong to this window.
        let shown = unsafe { libc::mmap(start, HUGE_PAGE, access, kind, fd, offset) };
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

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
