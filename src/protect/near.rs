//! Carries out flows where all ranks of a set run on one node: through each other's files, not by messages.
//!
//! Each rank tells the others where its files lie ([`FileExtents`]). Then every rank takes an equal share of each flow:
//! it reads the blocks of all sources from their owners' files, combines them, and writes the results to their owners'
//! files. Ranks do not wait for each other meanwhile, and every byte is copied once out of a file and once into one. At
//! the end each rank tells the owners the checksums of what it has read and written.
//!
//! A file is opened by its path and used only if it is the very file (device and inode) that its owner means. If
//! anything fails on any rank, the caller starts again with messages: then each rank reads and writes its own files
//! and can say what is wrong with them. So errors are only logged here.

use std::collections::VecDeque;
use std::ops::Range;

use super::combine::combine;
use super::plan::{Chunk, Flow, Part};
use super::sums::{Sum, Sums};
use crate::comm::{self, Comm, Tag, transfer_unsized};
use crate::log;
use crate::storage::block_file::BlockFile;
use crate::storage::names::open_same;
use crate::wire::{put, take};

mod extents;

pub(crate) use extents::{Extent, FileExtents, StreamExtents};

const TAG: Tag = 0x6472;
/// All blocks that are combined in a step: they should not leave a core's own cache meanwhile.
const STEP: u64 = 512 << 10;
const SHORTEST: u64 = 32 << 10;
const LONGEST: u64 = 256 << 10;
/// A block that is only copied should not leave a core's own cache between read and write.
const COPIED: u64 = 64 << 10;

/// At most so many files of a rank are open at once.
const OPEN: usize = 64;

/// Why files cannot be used in this way; only logged.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Streams that lie in files.
pub(crate) trait FileStreams {
    /// Where both streams lie. Files that were lost are created, so that others can write to them.
    fn extents(&mut self) -> Result<FileExtents>;

    /// Takes over the checksum of a stretch that another rank has read or written.
    fn insert_sum(&mut self, part: Part, sum: Sum);
}

/// Carries out `flows` with blocks of `budget` bytes together. Returns false if that was not possible; what was
/// written then is worthless.
///
/// # Collective
/// Called by all ranks of `comm`, which run on one node, with the same flows; all return the same.
pub(crate) fn run<C: Comm>(
    comm: &C,
    flows: &[Flow],
    budget: u64,
    streams: &mut impl FileStreams,
) -> comm::Result<bool> {
    let own = streams.extents().map(|extents| extents.to_bytes());
    let own = own.map(|bytes| vec![bytes; comm.size()]);
    let Some(told) = exchange(comm, own)? else {
        return Ok(false);
    };
    let extents = told.iter().map(|bytes| FileExtents::from_bytes(bytes));
    let worked = match extents.collect::<Option<Vec<_>>>() {
        Some(extents) => Work::new(&extents).carry_out(flows, budget, comm.rank()),
        None => Err("malformed message from a rank".into()),
    };
    let Some(sums) = exchange(comm, worked)? else {
        return Ok(false);
    };
    for mut bytes in sums.iter().map(|bytes| &bytes[..]) {
        while let Some((part, sum)) = take_sum(&mut bytes) {
            streams.insert_sum(part, sum);
        }
    }
    Ok(true)
}

/// Gives `messages[r]` to rank `r` and returns what each rank gave to us; `None` on all ranks if one of them failed.
fn exchange<C: Comm>(
    comm: &C,
    messages: Result<Vec<Vec<u8>>>,
) -> comm::Result<Option<Vec<Vec<u8>>>> {
    let others: Vec<usize> = (0..comm.size()).filter(|&r| r != comm.rank()).collect();
    // An empty message is none.
    let marked = messages.map(|mut messages| {
        messages.iter_mut().for_each(|message| message.push(1));
        messages
    });
    let mut messages = marked.unwrap_or_else(|error| {
        log!(Info, "ranks of one node go on by messages: {error}");
        vec![Vec::new(); comm.size()]
    });
    let sends: Vec<_> = others.iter().map(|&r| (r, &messages[r][..])).collect();
    let received = transfer_unsized(comm, TAG, &sends, &others)?;
    for (from, message) in others.into_iter().zip(received) {
        messages[from] = message;
    }
    let complete = messages.iter_mut().all(|message| message.pop().is_some());
    Ok(complete.then_some(messages))
}

/// What one rank does.
struct Work<'a> {
    extents: &'a [FileExtents],
    /// Of each rank, by part.
    sums: Vec<[Option<Sums>; 2]>,
    /// By rank, part, and number of the extent.
    open: OpenFiles<(usize, Part, usize)>,
}

impl Work<'_> {
    fn new(extents: &[FileExtents]) -> Work<'_> {
        let sums = |of: &FileExtents| [of.data.sums(), of.redundancy.sums()];
        Work {
            extents,
            sums: extents.iter().map(sums).collect(),
            open: OpenFiles::default(),
        }
    }

    /// Carries out the share of this rank and returns the checksums for each rank. Ranks start with different flows, so
    /// that they do not all write to the same file.
    fn carry_out(mut self, flows: &[Flow], budget: u64, rank: usize) -> Result<Vec<Vec<u8>>> {
        let ranks = self.extents.len();
        let (behind, first) = flows.split_at(rank * flows.len() / ranks);
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for flow in first.iter().chain(behind) {
            let share = share(flow.length(), rank, ranks);
            for block in blocks(share, block_length(flow, budget)) {
                let length = (block.end - block.start) as usize;
                resize(&mut sources, flow.sources.len(), length);
                resize(&mut targets, flow.targets.len(), length);
                self.carry_block(flow, block.start, &mut sources, &mut targets)?;
            }
            self.close(&flow.targets);
        }
        Ok(self.sums.iter().map(told).collect())
    }

    fn carry_block(
        &mut self,
        flow: &Flow,
        start: u64,
        sources: &mut [Vec<u8>],
        targets: &mut [Vec<u8>],
    ) -> Result<()> {
        for (place, block) in flow.sources.iter().zip(&mut *sources) {
            self.read(place, start, block)?;
        }
        if let ([source], true) = (&*sources, flow.is_copy()) {
            let mut places = flow.targets.iter();
            return places.try_for_each(|place| self.write(place, start, source));
        }
        let rows: Vec<_> = flow.rows.iter().map(|row| &row[..]).collect();
        let inputs: Vec<_> = sources.iter().map(|block| &block[..]).collect();
        let mut outputs: Vec<_> = targets.iter_mut().map(|block| &mut block[..]).collect();
        combine(&mut outputs, &rows, &inputs);
        let mut results = flow.targets.iter().zip(targets);
        results.try_for_each(|(place, block)| self.write(place, start, block))
    }

    /// Data end in zeros.
    fn read(&mut self, place: &Chunk, start: u64, block: &mut [u8]) -> Result<()> {
        let offset = place.offset + start;
        let mut done = 0;
        for (index, extent) in touched(self.extents, place, offset, block.len()) {
            let (at, length) = extent.overlap(offset + done as u64, block.len() - done);
            let file = self
                .open
                .get((place.rank, place.part, index), || open(extent))?;
            let here = &mut block[done..][..length];
            if file.read_at(at, here)? < length {
                return Err(extent.bad("it became shorter").into());
            }
            done += length;
        }
        block[done..].fill(0);
        self.sum(place, offset, &block[..done]);
        Ok(())
    }

    fn write(&mut self, place: &Chunk, start: u64, block: &[u8]) -> Result<()> {
        let offset = place.offset + start;
        let mut done = 0;
        for (index, extent) in touched(self.extents, place, offset, block.len()) {
            let (at, length) = extent.overlap(offset + done as u64, block.len() - done);
            let here = &block[done..][..length];
            done += length;
            if extent.is_new {
                let file = self
                    .open
                    .get((place.rank, place.part, index), || open(extent))?;
                file.write_at(at, here)?;
            }
        }
        self.sum(place, offset, &block[..done]);
        Ok(())
    }

    /// Closes files that are complete, so that they give back unused pages.
    fn close(&mut self, places: &[Chunk]) {
        let is_one = |rank, part| {
            places
                .iter()
                .any(|place| (place.rank, place.part) == (rank, part))
        };
        self.open.close(|(rank, part, _)| is_one(*rank, *part));
    }

    fn sum(&mut self, place: &Chunk, offset: u64, bytes: &[u8]) {
        if let Some(sums) = &mut self.sums[place.rank][place.part as usize] {
            sums.add(offset, bytes);
        }
    }
}

impl Extent {
    /// Offset in the file and length of what it has from `offset` of the stream on.
    fn overlap(&self, offset: u64, length: usize) -> (u64, usize) {
        let left = self.end() - offset;
        let at = self.offset + offset - self.start;
        (at, left.min(length as u64) as usize)
    }

    fn bad(&self, what: &str) -> String {
        format!("{}: {what}", self.path.display())
    }
}

/// The extents that have bytes in a range of a stream.
fn touched<'a>(
    extents: &'a [FileExtents],
    place: &Chunk,
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (usize, &'a Extent)> + use<'a> {
    let extents = &extents[place.rank].part(place.part).extents;
    let first = extents.partition_point(|extent| extent.end() <= offset);
    let end = offset + length as u64;
    let behind = extents.iter().enumerate().skip(first);
    behind.take_while(move |(_, extent)| extent.start < end)
}

fn open(extent: &Extent) -> Result<BlockFile> {
    let found = open_same(&extent.path, extent.file, extent.is_new)?;
    let fd = found.ok_or_else(|| extent.bad("it is not the same file here"))?;
    Ok(match extent.is_new {
        true => BlockFile::growing(fd, extent.offset + extent.length),
        false => BlockFile::existing(fd),
    })
}

/// The files that were used last, open.
pub(crate) struct OpenFiles<K>(VecDeque<(K, BlockFile)>);

impl<K> Default for OpenFiles<K> {
    fn default() -> Self {
        OpenFiles(VecDeque::new())
    }
}

impl<K: PartialEq> OpenFiles<K> {
    /// The file, opened if it is not among the open ones.
    pub(crate) fn get<E>(
        &mut self,
        file: K,
        open: impl FnOnce() -> std::result::Result<BlockFile, E>,
    ) -> std::result::Result<&mut BlockFile, E> {
        let at = match self.0.iter().position(|(known, _)| *known == file) {
            Some(at) => at,
            None => {
                let opened = open()?;
                if self.0.len() == OPEN {
                    self.0.pop_front();
                }
                self.0.push_back((file, opened));
                self.0.len() - 1
            }
        };
        Ok(&mut self.0[at].1)
    }

    pub(crate) fn close(&mut self, which: impl Fn(&K) -> bool) {
        self.0.retain(|(file, _)| !which(file));
    }
}

/// The part of `length` bytes that this rank works on.
fn share(length: u64, rank: usize, ranks: usize) -> Range<u64> {
    let each = length.div_ceil(ranks as u64);
    let start = |rank: usize| (rank as u64 * each).min(length);
    start(rank)..start(rank + 1)
}

fn blocks(range: Range<u64>, length: u64) -> impl Iterator<Item = Range<u64>> {
    let count = (range.end - range.start).div_ceil(length);
    (0..count).map(move |index| {
        let start = range.start + index * length;
        start..range.end.min(start + length)
    })
}

fn block_length(flow: &Flow, budget: u64) -> u64 {
    let blocks = (flow.sources.len() + flow.targets.len()) as u64;
    let affordable = (budget / blocks).max(1);
    let wanted = match flow.is_copy() {
        true => COPIED,
        false => (STEP / blocks).clamp(SHORTEST, LONGEST),
    };
    wanted.min(affordable)
}

fn resize(blocks: &mut Vec<Vec<u8>>, count: usize, length: usize) {
    blocks.resize_with(count, || vec![0; length]);
    blocks.iter_mut().for_each(|block| block.resize(length, 0));
}

/// The message with the checksums of the streams of one rank.
fn told(sums: &[Option<Sums>; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (part, sums) in sums.iter().enumerate() {
        for sum in sums.iter().flat_map(Sums::sums) {
            let numbers = [part as u64, sum.start, sum.end, sum.checksum.into()];
            put(&mut bytes, &numbers);
        }
    }
    bytes
}

fn take_sum(bytes: &mut &[u8]) -> Option<(Part, Sum)> {
    let [part, start, end, checksum] = take(bytes)?;
    let part = match part {
        0 => Part::Data,
        _ => Part::Redundancy,
    };
    let checksum = checksum as u32;
    Some((
        part,
        Sum {
            start,
            end,
            checksum,
        },
    ))
}
