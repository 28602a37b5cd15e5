//! # Packing
//!
//! A tree as bytes in memory, as kvtree_send sends it and files hold it.

use super::kvtree;
use crate::capi::boundary::{Array, In, InOut, OutArray};
use crate::capi::{guard, guard_alone};
use crate::kvtree::pack;
use std::ffi::{CStr, c_char};

/// Returns the number of bytes that kvtree_pack writes.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_pack_size(hash: In<kvtree>) -> usize {
    guard(0, || pack::packed_size(hash.tree()))
}

/// Packs the tree into `buf`, which has room for kvtree_pack_size bytes, and returns their number.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_pack(buf: OutArray<c_char>, hash: In<kvtree>) -> usize {
    guard(0, || {
        let mut buffer = UncheckedSink { at: buf.as_ptr() };
        if !buf.is_null() {
            pack::pack(hash.tree(), &mut buffer);
        }
        buffer.at.addr() - buf.as_ptr().addr()
    })
}

/// What is left of a buffer that has room for the whole packed tree, as its caller says.
struct UncheckedSink {
    at: *mut c_char,
}

impl pack::PackSink for UncheckedSink {
    fn count(&mut self, count: u32) {
        // SAFETY: kvtree_pack_size counted these bytes.
        unsafe {
            self.at.cast::<u32>().write_unaligned(count.to_be());
            self.at = self.at.add(size_of::<u32>());
        }
    }

    fn key(&mut self, key: &CStr) {
        let bytes = key.to_bytes_with_nul();
        // SAFETY: as above.
        unsafe {
            self.at
                .copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len());
            self.at = self.at.add(bytes.len());
        }
    }
}

/// Adds the packed elements to `hash` and returns the number of bytes read. `buf` must hold a packed tree: its length is
/// not known here, so it cannot be checked.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_unpack(buf: Array<c_char>, hash: InOut<kvtree>) -> usize {
    guard_alone(0, 0, || match hash.tree().filter(|_| !buf.is_null()) {
        Some(tree) => {
            let start = buf.as_ptr();
            let mut source = UncheckedSource { start, at: 0 };
            let unpacked = pack::unpack_from(&mut source, tree, pack::Order::Reversed);
            unpacked.map_or(0, |()| source.at)
        }
        None => 0,
    })
}

/// A buffer that holds a whole packed tree, as its caller says.
struct UncheckedSource {
    start: *const c_char,
    at: usize,
}

impl<'a> pack::PackSource<'a> for UncheckedSource {
    fn count(&mut self) -> std::result::Result<u32, pack::FormatError> {
        // SAFETY: a packed tree has a count here.
        let count = unsafe { self.start.add(self.at).cast::<u32>().read_unaligned() };
        self.at += size_of::<u32>();
        Ok(u32::from_be(count))
    }

    fn key(&mut self) -> std::result::Result<&'a CStr, pack::FormatError> {
        // SAFETY: a packed tree has a string here.
        let key = unsafe { CStr::from_ptr(self.start.add(self.at)) };
        self.at += key.count_bytes() + 1;
        Ok(key)
    }
}
