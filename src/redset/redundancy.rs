//! The stream of the redundancy that a rank holds: parity chunks or copies, in a file behind its header.

use super::access::Access;
use super::streams::{absolute, in_blocks};
use super::{Error, Result, bad_file};
use crate::protect::near::{Extent, StreamExtents};
use crate::protect::sums::Sums;
use crate::storage::block_file::BlockFile;
use crate::storage::file::sync;
use crate::storage::names::{FileName, Owner};

pub(super) struct RedundancyStream {
    name: FileName,
    /// Bytes of the header, behind which the stream begins.
    header: u64,
    /// Bytes of each parity chunk or copy.
    pieces: Vec<u64>,
    file: Option<BlockFile>,
    /// Whether this process has created the file.
    is_new: bool,
    pub(super) sums: Option<Sums>,
}

impl RedundancyStream {
    /// To be read or, after [`RedundancyStream::create`], written.
    pub(super) fn new(
        name: FileName,
        header: u64,
        pieces: Vec<u64>,
        checksums: bool,
    ) -> RedundancyStream {
        let length = pieces.iter().sum();
        let ends = pieces.iter().scan(0, |end, piece| {
            *end += piece;
            Some(*end)
        });
        RedundancyStream {
            sums: checksums.then(|| Sums::new(length, ends)),
            name,
            header,
            pieces,
            file: None,
            is_new: false,
        }
    }

    /// Creates the file; it belongs to the heir, if there is one.
    pub(super) fn create(&mut self, access: Access, heir: Option<Owner>) -> Result<()> {
        let length = self.header + self.pieces.iter().sum::<u64>();
        let fd = access.create(&self.name, heir)?;
        self.file = Some(BlockFile::growing(fd, length));
        self.is_new = true;
        Ok(())
    }

    pub(super) fn extents(&self) -> Result<StreamExtents> {
        let (file, path) = (self.name.inode_id()?, absolute(&self.name));
        let mut length = 0;
        let extent = |piece: &u64| {
            let start = length;
            length += piece;
            Extent {
                start,
                length: *piece,
                offset: self.header + start,
                is_new: self.is_new,
                file,
                path: path.clone(),
            }
        };
        let pieces = self.pieces.iter().filter(|piece| **piece > 0);
        Ok(StreamExtents {
            extents: pieces.map(extent).collect(),
            summed: self.sums.is_some(),
            length,
        })
    }

    pub(super) fn read(&mut self, offset: u64, block: &mut [u8]) -> Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => BlockFile::existing(self.name.open_read()?),
        };
        let file = self.file.insert(file);
        let got = file.read_at(self.header + offset, block);
        let got = got.map_err(|error| bad_file(self.name.path(), error))?;
        if got < block.len() {
            return Err(bad_file(self.name.path(), "it is too short"));
        }
        if let Some(sums) = &mut self.sums {
            sums.add(offset, block);
        }
        Ok(())
    }

    pub(super) fn write(&mut self, offset: u64, block: &[u8]) -> Result<()> {
        let file = self.file.as_mut();
        let file = file.ok_or_else(|| bad_file(self.name.path(), "it is not open"))?;
        let written = file.write_at(self.header + offset, block);
        written.map_err(|error| bad_file(self.name.path(), error))?;
        if let Some(sums) = &mut self.sums {
            sums.add(offset, block);
        }
        Ok(())
    }

    /// The checksum of each parity chunk or copy, once all of them were read or written.
    pub(super) fn checksums(&self) -> Vec<u32> {
        let Some(sums) = &self.sums else {
            return Vec::new();
        };
        let mut start = 0;
        let piece = |length: &u64| {
            let range = start..start + length;
            start = range.end;
            sums.of(range)
        };
        self.pieces.iter().map(piece).collect()
    }

    pub(super) fn read_rest(&mut self) -> Result<()> {
        for range in self.sums.iter().flat_map(Sums::missing).collect::<Vec<_>>() {
            in_blocks(range, |offset, block| self.read(offset, block))?;
        }
        Ok(())
    }

    pub(super) fn is_used(&self) -> bool {
        self.sums.as_ref().is_some_and(|sums| !sums.is_untouched())
    }

    /// Writes the header, which must have the length given to `new`, and syncs the file.
    pub(super) fn finish(&mut self, header: &[u8]) -> Result<()> {
        if header.len() as u64 != self.header {
            return Err(Error::Broken("a header has outgrown its place"));
        }
        let file = self.file.as_mut();
        let file = file.ok_or_else(|| bad_file(self.name.path(), "it is not open"))?;
        let finished = file.write_at(0, header).and_then(|()| sync(file));
        finished.map_err(|error| bad_file(self.name.path(), error))?;
        self.file = None;
        Ok(())
    }
}
