//! Buffers of non-blocking messages, which MPI reads or writes while their owner may be moved.
#![allow(unsafe_code)]

use crate::pages::PageBuffer;

/// Bytes that stay where they are when the buffer itself is moved.
///
/// # Safety
/// [`AsRef`] and [`AsMut`] give the same bytes, at the same address, at every call, wherever the value is moved, until
/// it is dropped or its own type's methods change it through `&mut`. Nothing changes them through `&`.
pub unsafe trait Buffer: AsRef<[u8]> + AsMut<[u8]> {}

// SAFETY: a vector's bytes lie in an allocation of their own.
unsafe impl Buffer for Vec<u8> {}
// SAFETY: its bytes lie in its slab, which it keeps alive.
unsafe impl Buffer for PageBuffer {}
// SAFETY: as those of a vector.
unsafe impl Buffer for Filled {}

/// A buffer that is sent as far as it has been filled.
#[derive(Default)]
pub struct Filled {
    bytes: Vec<u8>,
    filled: usize,
}

impl Filled {
    /// Starts empty.
    pub fn new(bytes: Vec<u8>) -> Filled {
        Filled { bytes, filled: 0 }
    }

    pub fn filled(&self) -> usize {
        self.filled
    }

    /// The bytes that are not filled yet.
    pub fn rest(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// Marks the first `bytes` of the rest as filled.
    pub fn fill(&mut self, bytes: usize) {
        self.filled += bytes;
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl AsRef<[u8]> for Filled {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}

impl AsMut<[u8]> for Filled {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.filled]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_stay_when_the_buffer_moves() {
        fn check(mut buffer: impl Buffer) {
            let before = buffer.as_mut().as_ptr_range();
            let moved = Box::new(buffer);
            assert_eq!((*moved).as_ref().as_ptr_range(), before);
        }
        let mut filled = Filled::new(vec![7; 100]);
        filled.fill(60);
        check(filled);
        check(vec![1, 2, 3]);
        check(PageBuffer::from(vec![1, 2, 3]));
    }

    #[test]
    fn only_what_is_filled_is_sent() {
        let mut filled = Filled::new(vec![0; 5]);
        filled.rest()[..2].copy_from_slice(&[8, 9]);
        filled.fill(2);
        assert_eq!((filled.as_ref(), filled.filled()), (&[8, 9][..], 2));
        assert_eq!(filled.rest().len(), 3);
        assert_eq!(filled.into_bytes(), [8, 9, 0, 0, 0]);
    }
}
