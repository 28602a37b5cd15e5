//! Where the bytes of a rank lie: what it tells the other ranks of its node, so that they can open the files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::super::Part;
use super::super::sums::Sums;
use crate::storage::names::InodeId;
use crate::wire::{put, take};

/// Both streams of a rank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileExtents {
    pub(crate) data: StreamExtents,
    pub(crate) redundancy: StreamExtents,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StreamExtents {
    pub(crate) length: u64,
    /// Whether the rank wants to know checksums.
    pub(crate) summed: bool,
    /// In order, without gaps; no checksum goes beyond one of them.
    pub(crate) extents: Vec<Extent>,
}

/// Bytes of a stream that lie in one file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// In the stream.
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// In the file.
    pub(crate) offset: u64,
    /// It is lost, and to be written.
    pub(crate) is_new: bool,
    pub(crate) file: InodeId,
    /// An absolute one.
    pub(crate) path: PathBuf,
}

impl Extent {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.length
    }
}

impl StreamExtents {
    pub(crate) fn sums(&self) -> Option<Sums> {
        let starts = self.extents.iter().map(|extent| extent.start);
        self.summed.then(|| Sums::new(self.length, starts))
    }
}

impl FileExtents {
    pub(crate) fn part(&self, part: Part) -> &StreamExtents {
        match part {
            Part::Data => &self.data,
            Part::Redundancy => &self.redundancy,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for stream in [&self.data, &self.redundancy] {
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

    /// `None` if it is not what [`FileExtents::to_bytes`] gave.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<FileExtents> {
        let data = take_stream(&mut bytes)?;
        let redundancy = take_stream(&mut bytes)?;
        Some(FileExtents { data, redundancy })
    }
}

fn take_stream(bytes: &mut &[u8]) -> Option<StreamExtents> {
    let [length, summed, extents] = take(bytes)?;
    Some(StreamExtents {
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
        file: InodeId { device, inode },
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
            file: InodeId {
                device: 5,
                inode: 6,
            },
            path: "/a/b".into(),
        };
        let told = FileExtents {
            data: StreamExtents {
                length: 14,
                summed: true,
                extents: vec![extent(0, false), extent(7, true)],
            },
            redundancy: StreamExtents {
                length: 0,
                summed: false,
                extents: Vec::new(),
            },
        };
        let bytes = told.to_bytes();
        assert_eq!(FileExtents::from_bytes(&bytes), Some(told));
        for length in 0..bytes.len() {
            assert_eq!(FileExtents::from_bytes(&bytes[..length]), None);
        }
    }
}
