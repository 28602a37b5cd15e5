//! The user's memory of a member, element by element, as the data groups read and write it.

use super::streaming;
use crate::comm::Result;
use crate::comm::mpi::Datatype;
use crate::fenix::{Source, Target};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ptr;

/// The buffer and the datatype of a member on this rank. A member that came back after a failure has neither.
pub(in crate::capi) struct UserMemory {
    pub(in crate::capi) buffer: *mut u8,
    /// Without one, the buffer holds packed elements.
    pub(in crate::capi) datatype: Option<Datatype>,
}

/// The memory of all members of a group.
#[derive(Default)]
pub(in crate::capi) struct UserMemories(BTreeMap<i32, UserMemory>);

impl UserMemories {
    /// [`UserMemory::UNKNOWN`] if the member came back after a failure.
    pub(in crate::capi) fn of(&self, member: i32) -> &UserMemory {
        self.0.get(&member).unwrap_or(&UserMemory::UNKNOWN)
    }

    pub(in crate::capi) fn of_mut(&mut self, member: i32) -> &mut UserMemory {
        self.0.entry(member).or_insert(UserMemory::UNKNOWN)
    }

    pub(in crate::capi) fn remove(&mut self, member: i32) {
        self.0.remove(&member);
    }
}

impl UserMemory {
    const UNKNOWN: UserMemory = UserMemory {
        buffer: ptr::null_mut(),
        datatype: None,
    };

    /// Writes to a NULL `buffer` are ignored.
    ///
    /// # Safety
    /// `buffer` has the elements that will be read or written, and nobody else uses them meanwhile.
    pub(in crate::capi) unsafe fn elements(&self, buffer: *mut u8) -> Elements<'_> {
        Elements {
            buffer,
            datatype: self.datatype.as_ref().filter(|kind| !kind.is_dense()),
            open: RefCell::new(None),
            outcome: RefCell::new(Ok(())),
        }
    }
}

/// Elements of a buffer, seen as packed bytes.
///
/// MPI packs whole elements only: one that is accessed in parts stays packed until another one is accessed.
pub(in crate::capi) struct Elements<'a> {
    buffer: *mut u8,
    /// Absent if the elements are dense: packed and unpacked are the same.
    datatype: Option<&'a Datatype>,
    open: RefCell<Option<OpenElement>>,
    outcome: RefCell<Result<()>>,
}

struct OpenElement {
    index: u64,
    packed: Vec<u8>,
    changed: bool,
}

/// A span of packed bytes: whole elements, or a part of one.
enum ElementSpan {
    Whole {
        index: u64,
        length: usize,
    },
    Part {
        index: u64,
        at: usize,
        length: usize,
    },
}

/// The first span of `length` bytes from `offset` on.
fn first_span(offset: u64, length: usize, size: u64) -> ElementSpan {
    let (index, at) = (offset / size, (offset % size) as usize);
    let whole = length - length % size as usize;
    match at == 0 && whole > 0 {
        true => ElementSpan::Whole {
            index,
            length: whole,
        },
        false => ElementSpan::Part {
            index,
            at,
            length: length.min(size as usize - at),
        },
    }
}

impl Elements<'_> {
    /// Writes back the element that is still packed, and tells whether MPI could pack everything.
    pub(in crate::capi) fn finish(self) -> Result<()> {
        self.close();
        self.outcome.into_inner()
    }

    fn note(&self, result: Result<()>) {
        let mut outcome = self.outcome.borrow_mut();
        if outcome.is_ok() {
            *outcome = result;
        }
    }

    fn close(&self) {
        let open = self.open.borrow_mut().take();
        if let Some((kind, open)) = self.datatype.zip(open.filter(|open| open.changed)) {
            // SAFETY: promised to `elements`.
            self.note(unsafe { kind.unpack(self.buffer, open.index, &open.packed) });
        }
    }

    fn with_open(&self, kind: &Datatype, index: u64, work: impl FnOnce(&mut OpenElement)) {
        let is_open = |open: &Option<OpenElement>| open.as_ref().is_some_and(|o| o.index == index);
        if !is_open(&self.open.borrow()) {
            self.close();
            let mut packed = vec![0; kind.size() as usize];
            // SAFETY: promised to `elements`.
            self.note(unsafe { kind.pack(self.buffer, index, &mut packed) });
            *self.open.borrow_mut() = Some(OpenElement {
                index,
                packed,
                changed: false,
            });
        }
        if let Some(open) = self.open.borrow_mut().as_mut() {
            work(open);
        }
    }
}

impl Source for Elements<'_> {
    fn read(&self, mut offset: u64, mut into: &mut [u8]) {
        let Some(kind) = self.datatype else {
            // SAFETY: promised to `elements`.
            let from = unsafe { self.buffer.add(offset as usize) };
            // SAFETY: as above; the room is `into`.
            return unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        };
        while !into.is_empty() {
            let length = match first_span(offset, into.len(), kind.size()) {
                ElementSpan::Whole { index, length } => {
                    // SAFETY: promised to `elements`.
                    self.note(unsafe { kind.pack(self.buffer, index, &mut into[..length]) });
                    length
                }
                ElementSpan::Part { index, at, length } => {
                    self.with_open(kind, index, |open| {
                        into[..length].copy_from_slice(&open.packed[at..][..length]);
                    });
                    length
                }
            };
            into = &mut into[length..];
            offset += length as u64;
        }
    }
}

impl Target for Elements<'_> {
    fn write(&mut self, mut offset: u64, mut bytes: &[u8]) {
        if self.buffer.is_null() {
            return;
        }
        let Some(kind) = self.datatype else {
            // SAFETY: promised to `elements`.
            let to = unsafe { self.buffer.add(offset as usize) };
            // SAFETY: as above; `bytes` belong to us.
            return unsafe { streaming::copy(bytes, to) };
        };
        while !bytes.is_empty() {
            let length = match first_span(offset, bytes.len(), kind.size()) {
                ElementSpan::Whole { index, length } => {
                    self.close();
                    // SAFETY: promised to `elements`.
                    self.note(unsafe { kind.unpack(self.buffer, index, &bytes[..length]) });
                    length
                }
                ElementSpan::Part { index, at, length } => {
                    self.with_open(kind, index, |open| {
                        open.packed[at..][..length].copy_from_slice(&bytes[..length]);
                        open.changed = true;
                    });
                    length
                }
            };
            bytes = &bytes[length..];
            offset += length as u64;
        }
    }
}
