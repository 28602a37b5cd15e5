//! Where the bytes of a rank lie, told to the other ranks of its node so that they can open the files
//! themselves.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::flow::Part;
use super::sums::Sums;
use crate::storage::place::Identity;
use crate::wire::{put, take};

/// Both streams of a rank.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) data: Stream,
    pub(super) payload: Stream,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) length: u64,
    /// Whether the rank wants to know checksums.
    pub(super) summed: bool,
    /// In order, without gaps; no checksum goes beyond one of them.
    pub(super) extents: Vec<Extent>,
}

/// Bytes of a stream that lie in one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// In the stream.
    pub(super) start: u64,
    pub(super) length: u64,
    /// In the file.
    pub(super) offset: u64,
    /// It is lost, and to be written.
    pub(super) is_new: bool,
    pub(super) file: Identity,
    /// An absolute one.
    pub(super) path: PathBuf,
}

impl Extent {
    pub(super) fn end(&self) -> u64 {
        self.start + self.length
    }
}

impl Stream {
    pub(super) fn sums(&self) -> Option<Sums> {
        let starts = self.extents.iter().map(|extent| extent.start);
        self.summed.then(|| Sums::new(self.length, starts))
    }
}

impl Reach {
    pub(super) fn part(&self, part: Part) -> &Stream {
        match part {
            Part::Data => &self.data,
            Part::Payload => &self.payload,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for stream in [&self.data, &self.payload] {
            let extents = stream.extents.len() as u64;
            put(&mut bytes, &[stream.length, stream.summed.into(), extents]);
            for extent in &stream.extents {
                let path = extent.path.as_os_str().as_bytes();
                let numbers = [
                    extent.start,
                    extent.length,
                    extent.offset,
                    extent.is_new.into(),
                    extent.file.device,
                    extent.file.inode,
                    path.len() as u64,
                ];
                put(&mut bytes, &numbers);
                bytes.extend(path);
            }
        }
        bytes
    }

    /// `None` if it is not what [`Reach::to_bytes`] gave.
    pub(super) fn from_bytes(mut bytes: &[u8]) -> Option<Reach> {
        let data = take_stream(&mut bytes)?;
        let payload = take_stream(&mut bytes)?;
        Some(Reach { data, payload })
    }
}

fn take_stream(bytes: &mut &[u8]) -> Option<Stream> {
    let [length, summed, extents] = take(bytes)?;
    Some(Stream {
        length,
        summed: summed != 0,
        extents: (0..extents)
            .map(|_| take_extent(bytes))
            .collect::<Option<_>>()?,
    })
}

fn take_extent(bytes: &mut &[u8]) -> Option<Extent> {
    let [start, length, offset, is_new, device, inode, path] = take(bytes)?;
    let (path, rest) = bytes.split_at_checked(usize::try_from(path).ok()?)?;
    *bytes = rest;
    Some(Extent {
        start,
        length,
        offset,
        is_new: is_new != 0,
        file: Identity { device, inode },
        path: OsStr::from_bytes(path).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood_and_no_part_of_it_is_taken_for_the_whole() {
        let extent = |start: u64, is_new: bool| Extent {
            start,
            length: 7,
            offset: 3,
            is_new,
            file: Identity {
                device: 5,
                inode: 6,
            },
            path: "/a/b".into(),
        };
        let reach = Reach {
            data: Stream {
                length: 14,
                summed: true,
                extents: vec![extent(0, false), extent(7, true)],
            },
            payload: Stream {
                length: 0,
                summed: false,
                extents: Vec::new(),
            },
        };
        let bytes = reach.to_bytes();
        assert_eq!(Reach::from_bytes(&bytes), Some(reach));
        for length in 0..bytes.len() {
            assert_eq!(Reach::from_bytes(&bytes[..length]), None);
        }
    }
}
