//! Room for bytes, cut out of *slabs*: the parts of a buffer can be owned, filled and given up one by one,
//! while all of them together lie on huge pages, for which a single part would be too short.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use super::{HUGE_PAGE, ask_for_huge_pages, zeroed};

/// About how long a slab gets: its memory is free again only when none of its rooms is left.
const SLAB: usize = 16 << 20;

/// Rooms begin at multiples of it, so that no two of them share a cache line.
const LINE: usize = 64;

/// One allocation, from the allocator or, if it is long, from the system.
#[derive(Debug)]
struct Slab {
    start: NonNull<u8>,
    length: usize,
    /// Address and length of the mapping in which it lies.
    mapping: Option<(usize, usize)>,
}

// SAFETY: it is only an address; what lies there is accessed through rooms, each of which has its own part.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Slab {
    /// Zeros.
    fn new(length: usize) -> Option<Slab> {
        match length < HUGE_PAGE {
            true => zeroed(length).map(Slab::from),
            false => Slab::map(length),
        }
    }

    /// Begins with a huge page; nothing of it is in memory yet.
    fn map(length: usize) -> Option<Slab> {
        let all = length.checked_add(HUGE_PAGE)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, which changes no other memory.
        let base = unsafe { libc::mmap(ptr::null_mut(), all, access, kind, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let address = base as usize;
        let skipped = address.next_multiple_of(HUGE_PAGE) - address;
        let start = base.wrapping_byte_add(skipped);
        ask_for_huge_pages(start as usize, length / HUGE_PAGE * HUGE_PAGE);
        Some(Slab {
            start: NonNull::new(start.cast())?,
            length,
            mapping: Some((address, all)),
        })
    }
}

impl From<Vec<u8>> for Slab {
    fn from(bytes: Vec<u8>) -> Slab {
        let mut bytes = ManuallyDrop::new(bytes.into_boxed_slice());
        Slab {
            start: NonNull::from(&mut bytes[..]).cast(),
            length: bytes.len(),
            mapping: None,
        }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        match self.mapping {
            // SAFETY: the mapping of `map`, of which no room is left.
            Some((base, length)) => drop(unsafe { libc::munmap(base as *mut _, length) }),
            None => {
                let bytes = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length);
                // SAFETY: the box of `from`, of which no room is left.
                drop(unsafe { Box::from_raw(bytes) });
            }
        }
    }
}

/// A part of a slab that nobody else has access to.
#[derive(Debug)]
pub(crate) struct Room {
    slab: Arc<Slab>,
    offset: usize,
    capacity: usize,
    length: usize,
}

impl Room {
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Changes the length; what is in it may be anything. One that is too small gives way to another.
    pub(crate) fn resize(&mut self, length: usize) {
        if length > self.capacity {
            *self = Room::from(vec![0; length]);
        }
        self.length = length;
    }
}

impl Default for Room {
    fn default() -> Room {
        Room::from(Vec::new())
    }
}

impl From<Vec<u8>> for Room {
    fn from(bytes: Vec<u8>) -> Room {
        let length = bytes.len();
        Room {
            slab: Arc::new(bytes.into()),
            offset: 0,
            capacity: length,
            length,
        }
    }
}

impl Deref for Room {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `offset..offset + length` lies in the slab, all of which has a value, and no other room
        // has any of it.
        unsafe { slice::from_raw_parts(self.slab.start.add(self.offset).as_ptr(), self.length) }
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`.
        unsafe { slice::from_raw_parts_mut(self.slab.start.add(self.offset).as_ptr(), self.length) }
    }
}

impl AsRef<[u8]> for Room {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for Room {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// Rooms of these lengths, or nothing if there is no memory for them.
pub(crate) fn rooms(lengths: &[usize]) -> Option<Vec<Room>> {
    let mut rooms = Vec::with_capacity(lengths.len());
    let mut rest = lengths;
    while !rest.is_empty() {
        let together = fill_a_slab(rest)?;
        let (first, others) = rest.split_at(together.len());
        let length = together.last().zip(first.last());
        let length = length.map_or(Some(0), |(start, length)| start.checked_add(*length));
        let slab = Arc::new(Slab::new(length?)?);
        rooms.extend(
            together
                .into_iter()
                .zip(first)
                .map(|(offset, length)| Room {
                    slab: slab.clone(),
                    offset,
                    capacity: *length,
                    length: *length,
                }),
        );
        rest = others;
    }
    Some(rooms)
}

/// Where the rooms begin that share the next slab: at least one.
fn fill_a_slab(lengths: &[usize]) -> Option<Vec<usize>> {
    let mut offsets = Vec::new();
    let mut end = 0usize;
    for length in lengths {
        let next = end.checked_add(*length)?.checked_next_multiple_of(LINE)?;
        if next > SLAB && !offsets.is_empty() {
            break;
        }
        offsets.push(end);
        end = next;
    }
    Some(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_do_not_overlap_and_stay_when_others_go() {
        let lengths: Vec<usize> = (0..60).map(|i| (i * 349_525) % (1 << 20)).collect();
        let mut rooms = rooms(&lengths).unwrap();
        for (index, room) in rooms.iter_mut().enumerate() {
            assert!(room.iter().all(|byte| *byte == 0));
            room.fill(index as u8);
        }
        let kept = rooms.iter().enumerate().filter(|(index, _)| index % 7 == 0);
        let kept: Vec<usize> = kept.map(|(index, _)| index).collect();
        let mut index = 0;
        rooms.retain(|_| {
            kept.contains(&{
                index += 1;
                index - 1
            })
        });
        for (room, index) in rooms.iter().zip(kept) {
            assert_eq!(room.len(), lengths[index]);
            assert!(room.iter().all(|byte| *byte == index as u8));
        }
    }

    #[test]
    fn a_long_room_begins_with_a_huge_page() {
        let rooms = rooms(&[HUGE_PAGE + 1, 5]).unwrap();
        assert_eq!(rooms[0].as_ptr() as usize % HUGE_PAGE, 0);
        assert_eq!(rooms[1].as_ptr() as usize % LINE, 0);
    }

    #[test]
    fn a_room_changes_its_length() {
        let mut room = rooms(&[100]).unwrap().remove(0);
        room.resize(7);
        assert_eq!((room.len(), room.capacity()), (7, 100));
        room.resize(3000);
        assert_eq!(room.len(), 3000);
        room.fill(1);
        assert!(Room::default().is_empty());
    }

    #[test]
    fn too_much_is_refused() {
        assert!(rooms(&[isize::MAX as usize]).is_none());
        assert!(rooms(&[usize::MAX]).is_none());
    }
}
