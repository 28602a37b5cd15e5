//! Files in tmpfs on huge pages.
//!
//! By hand: a mapping that huge pages can back must begin at a multiple of their size, for which a larger range is reserved
//! and mapped over (MAP_FIXED), and MADV_COLLAPSE is in no crate of mappings.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use rustix::io::{Errno, Result};

use super::{HUGE_PAGE, wanted};

/// Some huge pages of a tmpfs file, mapped for writing.
#[derive(Debug)]
pub(crate) struct HugePages(AlignedMapping);

impl HugePages {
    /// Collapses the small pages of the file from `offset` on into huge ones (MADV_COLLAPSE); content stays, holes become
    /// zeros. `offset` and `length` are multiples of [`HUGE_PAGE`]. Each huge page must begin with a page that is
    /// allocated, and end within the file.
    pub(crate) fn collapse(file: BorrowedFd, offset: u64, length: usize) -> Result<HugePages> {
        if !wanted() {
            return Err(Errno::NOTSUP);
        }
        let offset = libc::off_t::try_from(offset).map_err(|_| Errno::OVERFLOW)?;
        let mapping = AlignedMapping::new(length)?;
        mapping.show(file, offset)?;
        // SAFETY: the range of the mapping; no byte of the file changes.
        match unsafe { libc::madvise(mapping.start(), length, libc::MADV_COLLAPSE) } {
            0 => Ok(HugePages(mapping)),
            _ => Err(last_error()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.length
    }

    /// Writes at byte `at` of these pages; others may write elsewhere at the same time.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let length = self.0.length;
        assert!(
            at <= length && bytes.len() <= length - at,
            "not in these pages"
        );
        let start = self.0.start().cast::<u8>().wrapping_add(at);
        // SAFETY: the range lies in pages that are mapped for writing, and there is no reference to it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
    }
}

/// A range of addresses that is aligned to huge pages.
#[derive(Debug)]
struct AlignedMapping {
    reserved: *mut libc::c_void,
    length: usize,
}

// SAFETY: an address range that nothing else uses.
unsafe impl Send for AlignedMapping {}

impl AlignedMapping {
    fn new(length: usize) -> Result<AlignedMapping> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let (whole, access) = (length + HUGE_PAGE, libc::PROT_NONE);
        // SAFETY: a new mapping, which changes no other memory.
        let reserved = unsafe { libc::mmap(ptr::null_mut(), whole, access, kind, -1, 0) };
        match reserved == libc::MAP_FAILED {
            true => Err(last_error()),
            false => Ok(AlignedMapping { reserved, length }),
        }
    }

    fn start(&self) -> *mut libc::c_void {
        let address = self.reserved.addr();
        let skipped = address.next_multiple_of(HUGE_PAGE) - address;
        self.reserved.wrapping_byte_add(skipped)
    }

    /// Maps the file into the range.
    fn show(&self, file: BorrowedFd, offset: libc::off_t) -> Result<()> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_FIXED;
        let (start, fd) = (self.start(), file.as_raw_fd());
        // SAFETY: replaces a part of the range that `new` has reserved.
        let shown = unsafe { libc::mmap(start, self.length, access, kind, fd, offset) };
        match shown == libc::MAP_FAILED {
            true => Err(last_error()),
            false => Ok(()),
        }
    }
}

impl Drop for AlignedMapping {
    fn drop(&mut self) {
        // SAFETY: the range of `new`, into which there is no reference.
        unsafe { libc::munmap(self.reserved, self.length + HUGE_PAGE) };
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
