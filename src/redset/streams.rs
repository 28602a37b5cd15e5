//! The two streams of one rank: its files one after the other ([`DataStream`]), and its redundancy
//! ([`RedundancyStream`]).
//!
//! A stream that is there is read; one that is lost is written anew, to temporary files that are renamed at the commit. If
//! the set has checksums, all bytes that are read or written are added to them.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::access::inherited;
use super::header::FileRecord;
use super::redundancy::RedundancyStream;
use super::{Error, Result, bad_file};
use crate::pages;
use crate::protect::near::{Extent, FileExtents, FileStreams, OpenFiles, StreamExtents};
use crate::protect::sums::{Sum, Sums};
use crate::protect::{Flow, Part, Streams};
use crate::storage::block_file::BlockFile;
use crate::storage::file::sync;
use crate::storage::names::{FileName, InodeId, Owner, inode_id, set_attributes};

/// Bytes per read where data are only checksummed; fewer if memory is scarce.
const BLOCK: usize = 256 << 10;
const SMALL_BLOCK: usize = 16 << 10;

/// Both streams of a rank, a pool of blocks, and the first errors, which are reported at the next agreement.
pub(super) struct MemberFiles {
    pub(super) data: DataStream,
    pub(super) redundancy: RedundancyStream,
    /// Unused blocks. The last one given back is handed out first: it is still in the cache.
    pool: Vec<Vec<u8>>,
    /// Why a part could not be read, by part.
    unread: [Option<Error>; 2],
    /// Why something could not be written.
    unwritten: Option<Error>,
    /// Data that no flow reads, still to be checked.
    unneeded: Vec<Range<u64>>,
}

impl MemberFiles {
    pub(super) fn new(data: DataStream, redundancy: RedundancyStream) -> MemberFiles {
        MemberFiles {
            data,
            redundancy,
            pool: Vec::new(),
            unread: [None, None],
            unwritten: None,
            unneeded: Vec::new(),
        }
    }

    /// Lets a run of these flows read what they do not need while it waits for messages: in the end all data are
    /// compared with their checksums.
    pub(super) fn check_meanwhile(&mut self, flows: &[Flow], mine: usize) {
        if self.data.sums.is_none() || self.data.is_partly_lost() {
            return;
        }
        let sources = flows.iter().flat_map(|flow| &flow.sources);
        let own = sources.filter(|it| it.rank == mine && it.part == Part::Data);
        let mut read: Vec<_> = own.map(|it| (it.offset, it.offset + it.length)).collect();
        read.push((self.data.length, self.data.length));
        read.sort_unstable();
        let mut end = 0;
        for (start, next) in read {
            if end < start {
                self.unneeded.push(end..start);
            }
            end = end.max(next);
        }
    }

    /// Why some of this part could not be read, if so.
    pub(super) fn take_unread(&mut self, part: Part) -> Option<Error> {
        self.unread[part as usize].take()
    }

    /// The first failure to write, if there was one.
    pub(super) fn take_unwritten(&mut self) -> Option<Error> {
        self.unwritten.take()
    }
}

impl Streams for MemberFiles {
    type BlockBuffer = Vec<u8>;

    fn lend(&mut self, part: Part, offset: u64, length: usize) -> Arc<Vec<u8>> {
        let mut block = self.buffer(length, None);
        let ended = match part {
            Part::Data => self.data.read(offset, &mut block),
            Part::Redundancy => self.redundancy.read(offset, &mut block),
        };
        if let Err(error) = ended {
            block.fill(0);
            self.unread[part as usize].get_or_insert(error);
        }
        Arc::new(block)
    }

    fn buffer(&mut self, length: usize, _: Option<Part>) -> Vec<u8> {
        let mut block = self.pool.pop().unwrap_or_default();
        block.resize(length, 0);
        block
    }

    fn take(&mut self, part: Part, offset: u64, block: Vec<u8>) {
        if self.unwritten.is_none() {
            let written = match part {
                Part::Data => self.data.write(offset, &block),
                Part::Redundancy => self.redundancy.write(offset, &block),
            };
            self.unwritten = written.err();
        }
        self.pool.push(block);
    }

    fn give_back(&mut self, block: Vec<u8>) {
        self.pool.push(block);
    }

    fn work_meanwhile(&mut self) -> bool {
        let Some(range) = self.unneeded.last_mut() else {
            return false;
        };
        let (start, length) = (range.start, (range.end - range.start).min(BLOCK as u64));
        range.start += length;
        if range.is_empty() {
            self.unneeded.pop();
        }
        let block = self.lend(Part::Data, start, length as usize);
        self.pool.extend(Arc::into_inner(block));
        true
    }
}

impl FileStreams for MemberFiles {
    fn extents(&mut self) -> std::result::Result<FileExtents, Box<dyn std::error::Error>> {
        Ok(FileExtents {
            data: self.data.extents()?,
            redundancy: self.redundancy.extents()?,
        })
    }

    fn insert_sum(&mut self, part: Part, sum: Sum) {
        let sums = match part {
            Part::Data => &mut self.data.sums,
            Part::Redundancy => &mut self.redundancy.sums,
        };
        if let Some(sums) = sums {
            sums.insert(sum);
        }
    }
}

/// The files of a rank, one after the other.
pub(super) struct DataStream {
    files: Vec<StreamFile>,
    length: u64,
    sums: Option<Sums>,
    open: OpenFiles<usize>,
}

struct StreamFile {
    record: FileRecord,
    /// Its present name, which may differ from the recorded one.
    name: FileName,
    range: Range<u64>,
    state: FileState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FileState {
    Kept,
    /// To be written; not created yet.
    Lost,
    /// Being written to its temporary file.
    Begun(InodeId),
}

impl DataStream {
    pub(super) fn new(files: Vec<(FileRecord, FileName)>, checksums: bool) -> DataStream {
        let mut length = 0;
        let file = |(record, name): (FileRecord, FileName)| {
            let start = length;
            length += record.attributes.size;
            StreamFile {
                record,
                name,
                range: start..length,
                state: FileState::Kept,
            }
        };
        let files: Vec<_> = files.into_iter().map(file).collect();
        let starts = files.iter().map(|file| file.range.start);
        let sums = checksums.then(|| Sums::new(length, starts));
        DataStream {
            sums,
            files,
            length,
            open: OpenFiles::default(),
        }
    }

    /// Marks files as lost: they are written instead of read.
    pub(super) fn mark_lost(&mut self, is_lost: impl Fn(&Path) -> bool) {
        for file in &mut self.files {
            if is_lost(file.name.path()) {
                file.state = FileState::Lost;
            }
        }
    }

    fn is_partly_lost(&self) -> bool {
        let mut files = self.files.iter();
        files.any(|file| file.state != FileState::Kept)
    }

    fn extents(&mut self) -> Result<StreamExtents> {
        let mut extents = Vec::new();
        for (index, file) in self.files.iter_mut().enumerate() {
            if file.range.is_empty() {
                continue;
            }
            let is_new = file.state != FileState::Kept;
            let name = match is_new {
                true => temporary(&file.name),
                false => file.name.clone(),
            };
            if is_new {
                self.open.get(index, || file.open_temporary())?;
            }
            extents.push(Extent {
                start: file.range.start,
                length: file.range.end - file.range.start,
                offset: 0,
                is_new,
                file: name.inode_id()?,
                path: absolute(&name),
            });
        }
        Ok(StreamExtents {
            length: self.length,
            summed: self.sums.is_some(),
            extents,
        })
    }

    fn read(&mut self, offset: u64, block: &mut [u8]) -> Result<()> {
        let mut done = 0;
        for index in self.touched(offset, block.len()) {
            let file = &self.files[index];
            let (at, length) = file.overlap(offset + done as u64, block.len() - done);
            let part = &mut block[done..][..length];
            done += length;
            let open = || Ok::<_, Error>(BlockFile::existing(file.name.open_read()?));
            let opened = self.open.get(index, open)?;
            let got = opened.read_at(at, part).map_err(|error| file.bad(error))?;
            if got < length {
                return Err(file.bad("it became shorter"));
            }
        }
        block[done..].fill(0);
        if let Some(sums) = &mut self.sums {
            sums.add(offset, &block[..done]);
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, block: &[u8]) -> Result<()> {
        let mut done = 0;
        for index in self.touched(offset, block.len()) {
            let file = &mut self.files[index];
            let (at, length) = file.overlap(offset + done as u64, block.len() - done);
            let part = &block[done..][..length];
            done += length;
            if file.state == FileState::Kept {
                continue;
            }
            let opened = self.open.get(index, || file.open_temporary())?;
            let written = opened.write_at(at, part);
            written.map_err(|error| file.bad(error))?;
        }
        if let Some(sums) = &mut self.sums {
            sums.add(offset, &block[..done]);
        }
        Ok(())
    }

    /// The files that have bytes in a range of the stream.
    fn touched(&self, offset: u64, length: usize) -> Vec<usize> {
        let end = (offset + length as u64).min(self.length);
        let first = self.files.partition_point(|file| file.range.end <= offset);
        let files = self.files[first..].iter().enumerate();
        let within = files.take_while(|(_, file)| file.range.start < end);
        let filled = within.filter(|(_, file)| !file.range.is_empty());
        filled.map(|(index, _)| first + index).collect()
    }

    /// The checksum of each file, once the whole stream was read or written.
    pub(super) fn checksums(&self) -> Option<Vec<u32>> {
        let sums = self.sums.as_ref()?;
        let files = self.files.iter();
        Some(files.map(|file| sums.of(file.range.clone())).collect())
    }

    /// The files whose checksums differ from the recorded ones.
    pub(super) fn damaged(&self) -> Vec<&Path> {
        let Some(found) = self.checksums() else {
            return Vec::new();
        };
        let files = self.files.iter().zip(found);
        let wrong = files.filter(|(file, found)| {
            let recorded = file.record.checksum;
            recorded.is_some_and(|recorded| recorded != *found)
        });
        wrong.map(|(file, _)| file.name.path()).collect()
    }

    /// Reads what was neither read nor written yet, for the checksums.
    pub(super) fn read_rest(&mut self) -> Result<()> {
        for range in self.sums.iter().flat_map(Sums::missing).collect::<Vec<_>>() {
            in_blocks(range, |offset, block| self.read(offset, block))?;
        }
        Ok(())
    }

    /// Whether any of it was read or written.
    pub(super) fn is_used(&self) -> bool {
        self.sums.as_ref().is_some_and(|sums| !sums.is_untouched())
    }

    /// Completes the files that were written: attributes, and a sync. They belong to the heir, if there is one.
    pub(super) fn finish(&mut self, heir: Option<Owner>) -> Result<()> {
        for index in 0..self.files.len() {
            let file = &mut self.files[index];
            if file.state == FileState::Kept {
                continue;
            }
            let fd = self.open.get(index, || file.open_temporary())?;
            let attributes = inherited(&file.record.attributes, heir);
            let finished = set_attributes(&*fd, &attributes).and_then(|()| sync(fd));
            finished.map_err(|error| file.bad(error))?;
        }
        self.open = OpenFiles::default();
        Ok(())
    }

    /// Renames the files that were written to their names.
    pub(super) fn commit(&mut self) -> Result<()> {
        for file in &mut self.files {
            if file.state != FileState::Kept {
                temporary(&file.name).rename(&file.name)?;
                file.name.sync_parent()?;
                file.state = FileState::Kept;
            }
        }
        Ok(())
    }
}

impl Drop for DataStream {
    /// Removes the temporary files that were not committed.
    fn drop(&mut self) {
        let is_begun = |file: &&StreamFile| matches!(file.state, FileState::Begun(_));
        let begun = self.files.iter().filter(is_begun);
        begun.for_each(|file| drop(temporary(&file.name).remove()));
    }
}

impl StreamFile {
    /// Offset in the file and length of what it has from `offset` of the stream on.
    fn overlap(&self, offset: u64, length: usize) -> (u64, usize) {
        let left = self.range.end - offset;
        (offset - self.range.start, left.min(length as u64) as usize)
    }

    /// Creates its temporary file, or opens it again.
    fn open_temporary(&mut self) -> Result<BlockFile> {
        let name = temporary(&self.name);
        let fd = match self.state {
            FileState::Begun(created) => name.open_again(created)?,
            _ => name.create(0o600)?,
        };
        self.state = FileState::Begun(inode_id(&fd)?);
        Ok(BlockFile::growing(fd, self.range.end - self.range.start))
    }

    fn bad(&self, what: impl ToString) -> Error {
        bad_file(self.name.path(), what)
    }
}

/// The name under which a file is written until it is complete.
fn temporary(name: &FileName) -> FileName {
    name.with_suffix(".stanchion-part")
}

/// A path to the file that does not depend on the current directory.
pub(super) fn absolute(name: &FileName) -> PathBuf {
    let path = name.system_path();
    std::path::absolute(&path).unwrap_or(path)
}

/// Calls `read` for each block of a range.
pub(super) fn in_blocks(
    range: Range<u64>,
    mut read: impl FnMut(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let wanted = range.end.saturating_sub(range.start).min(BLOCK as u64) as usize;
    let mut block = pages::zeroed(wanted).unwrap_or_else(|| vec![0; wanted.min(SMALL_BLOCK)]);
    let size = block.len() as u64;
    let mut offset = range.start;
    while offset < range.end {
        let length = (range.end - offset).min(size);
        read(offset, &mut block[..length as usize])?;
        offset += length;
    }
    Ok(())
}
