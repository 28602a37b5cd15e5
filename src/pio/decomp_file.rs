//! Decompositions as netCDF files, as upstream writes and reads them.
//!
//! The variable `map` has a row for each rank: its map counted from 0, -1 for a hole, and fill values past its end.
//! `maplen` has the lengths of the maps, `global_size` those of the dimensions. Rows go between their rank and the first
//! I/O task a batch at a time; no rank holds all of them. Lengths in a file are checked against the number of ranks and
//! the length of the file before they are used.

use std::ffi::{CStr, CString};
use std::ops::{Range, RangeInclusive};

use super::file::{Shared, shared_fields};
use super::format::{Format, GLOBAL, Transfer};
use super::{Error, File, Hyperslabs, Kind, Result, agree, alloc};
use crate::comm::{Comm, Sparse, Tag};
use crate::wire;

const TAG: Tag = 7121;
/// Entries of maps that the first I/O task has in memory at a time.
const BATCH: u64 = if cfg!(test) { 16 } else { 1 << 20 };
const ENOTATT: i32 = -43;
/// As NC_MAX_VAR_DIMS.
const MOST_DIMS: u64 = 1024;

/// The names of the version's attribute in SCORPIO and NCAR; files of both are read.
const VERSIONS: [&CStr; 2] = [c"version", c"PIO_library_version"];
const VERSION: &CStr = VERSIONS[cfg!(feature = "pio_ncar") as usize];
const LONGEST: &CStr = c"max_maplen";
const TITLE: &CStr = c"title";
const HISTORY: &CStr = c"history";
const SOURCE: &CStr = c"source";
const ORDER: &CStr = c"array_order";
const DIMS: &CStr = c"dims";
const TASK: &CStr = c"task";
const ELEMENT: &CStr = c"map_element";
const GLOBAL_SIZE: &CStr = c"global_size";
const MAP_LENGTH: &CStr = c"maplen";
const MAP: &CStr = c"map";

/// Attributes of a file of a decomposition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Of the library that wrote the file.
    pub version: CString,
    pub title: Option<CString>,
    pub history: Option<CString>,
    /// Whether the dimensions are in Fortran's order.
    pub fortran: bool,
}

shared_fields! { About { version title history fortran } }

/// A decomposition in a file, as one rank sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDecomp {
    pub dims: Vec<u64>,
    /// From 1, 0 for a hole.
    pub map: Vec<i64>,
    pub about: About,
}

/// Whether the maps of an array of these dimensions fit into `int`, as upstream stores them. Where they do not,
/// the file must be of a format that has 64-bit numbers.
pub fn is_small(dims: &[u64]) -> bool {
    let total = dims
        .iter()
        .try_fold(1_u64, |total, dim| total.checked_mul(*dim));
    total.is_some_and(|total| total <= i32::MAX as u64)
}

// ---- writing ----

/// Writes the maps of all ranks into a new file, which stays open. Collective.
pub fn write<C: Sparse>(
    file: &mut File<C>,
    dims: &[u64],
    map: &[i64],
    about: &About,
) -> Result<()> {
    let lengths = wire::gather_u64(&file.system.comm, map.len() as u64)?;
    let kind = match is_small(dims) {
        true => Kind::Int,
        false => Kind::Int64,
    };
    let shape = FileShape {
        dims: dims.len() as u64,
        lengths: &lengths,
        kind,
    };
    let (sizes, map_lengths, maps) = file.ask(|format| shape.define(format, about))?;
    file.enddef()?;
    put_ints(file, sizes, dims)?;
    put_ints(file, map_lengths, &lengths)?;
    let longest = shape.longest();
    batches(&lengths, longest).try_for_each(|batch| {
        let rows = batch.collect(&file.system.comm, file.system.io_root(), &lengths, map)?;
        batch.put(file, maps, kind, rows)
    })
}

/// What the new file will hold.
struct FileShape<'a> {
    dims: u64,
    lengths: &'a [u64],
    kind: Kind,
}

impl FileShape<'_> {
    fn longest(&self) -> u64 {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// Returns the ids of `global_size`, `maplen` and `map`.
    fn define(&self, format: &mut dyn Format, about: &About) -> Result<(i32, i32, i32)> {
        let longest = int("the length of a map", self.longest())?;
        put_text(format, VERSION, &about.version)?;
        let bytes = longest.to_ne_bytes();
        format.put_attribute(GLOBAL, LONGEST, Kind::Int, Kind::Int, &bytes)?;
        for (name, text) in [(TITLE, &about.title), (HISTORY, &about.history)] {
            text.iter()
                .try_for_each(|text| put_text(format, name, text))?;
        }
        put_text(
            format,
            SOURCE,
            c"Decomposition file produced by PIO library.",
        )?;
        let order = if about.fortran { c"Fortran" } else { c"C" };
        put_text(format, ORDER, order)?;
        let dims = format.def_dim(DIMS, Some(self.dims))?;
        let task = format.def_dim(TASK, Some(self.lengths.len() as u64))?;
        // A length of 0 would mean an unlimited one.
        let element = format.def_dim(ELEMENT, Some(self.longest().max(1)))?;
        Ok((
            format.def_var(GLOBAL_SIZE, Kind::Int, &[dims])?,
            format.def_var(MAP_LENGTH, Kind::Int, &[task])?,
            format.def_var(MAP, self.kind, &[task, element])?,
        ))
    }
}

fn int(what: &str, number: u64) -> Result<i32> {
    let number = i32::try_from(number);
    number.map_err(|_| Error::Invalid(format!("{what} does not fit into a file of decompositions")))
}

/// Includes the NUL, as upstream does.
fn put_text(format: &mut dyn Format, name: &CStr, text: &CStr) -> Result<()> {
    let bytes = text.to_bytes_with_nul();
    format.put_attribute(GLOBAL, name, Kind::Char, Kind::Char, bytes)
}

fn put_ints<C: Sparse>(file: &mut File<C>, var: i32, values: &[u64]) -> Result<()> {
    let mut bytes = Vec::with_capacity(4 * values.len());
    for value in values {
        bytes.extend(int("a length", *value)?.to_ne_bytes());
    }
    let whole = region(&[0], &[values.len() as u64]);
    file.put(var, Kind::Int, &whole, &bytes)
}

fn region(start: &[u64], count: &[u64]) -> Hyperslabs {
    let mut regions = Hyperslabs::new(start.len());
    regions.push(start, count);
    regions
}

/// Some rows of `map`, or a part of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Batch {
    ranks: Range<u64>,
    entries: Range<u64>,
}

/// Covers all rows, each of `longest` entries.
fn batches(lengths: &[u64], longest: u64) -> impl Iterator<Item = Batch> + use<> {
    let ranks = lengths.len() as u64;
    let width = longest.clamp(1, BATCH);
    let height = (BATCH / width).max(1);
    let cut = |end: u64, piece: u64| {
        let starts = (0..end).step_by(piece as usize);
        starts.map(move |start| start..end.min(start + piece))
    };
    cut(ranks, height).flat_map(move |ranks| {
        cut(longest, width).map(move |entries| {
            let ranks = ranks.clone();
            Batch { ranks, entries }
        })
    })
}

impl Batch {
    /// Of a map of `length` entries, those in this batch.
    fn part(&self, length: u64) -> Range<usize> {
        let start = self.entries.start.min(length);
        start as usize..self.entries.end.min(length) as usize
    }

    fn regions(&self) -> Hyperslabs {
        let sizes = [&self.ranks, &self.entries].map(|range| range.end - range.start);
        region(&[self.ranks.start, self.entries.start], &sizes)
    }

    fn elements(&self) -> usize {
        self.regions().elements() as usize
    }

    /// Gathers the rows at the root, counted from 0, with `None` past their ends. Collective.
    fn collect<C: Comm>(
        &self,
        comm: &C,
        root: usize,
        lengths: &[u64],
        map: &[i64],
    ) -> Result<Vec<Option<i64>>> {
        let own = comm.rank() as u64;
        let mine = &map[self.part(map.len() as u64)];
        if comm.rank() != root {
            if self.ranks.contains(&own) && !mine.is_empty() {
                let bytes: Vec<u8> = mine.iter().flat_map(|e| e.to_le_bytes()).collect();
                comm.send(root, TAG, &bytes)?;
            }
            return Ok(Vec::new());
        }
        let mut rows = Vec::with_capacity(self.elements());
        for rank in self.ranks.clone() {
            let entries = self.part(lengths[rank as usize]).len();
            let mut bytes = vec![0; 8 * entries];
            let from_zero = |entry: i64| Some(entry - 1);
            match rank == own {
                true => rows.extend(mine.iter().copied().map(from_zero)),
                false if entries == 0 => {}
                false => {
                    comm.recv(rank as usize, TAG, &mut bytes)?;
                    rows.extend(wire::numbers(&bytes).map(|entry| from_zero(entry as i64)));
                }
            }
            let width = (self.entries.end - self.entries.start) as usize;
            rows.extend((entries..width).map(|_| None));
        }
        Ok(rows)
    }

    /// Writes the root's rows. Collective.
    fn put<C: Sparse>(
        &self,
        file: &mut File<C>,
        var: i32,
        kind: Kind,
        rows: Vec<Option<i64>>,
    ) -> Result<()> {
        let regions = match file.system.io_rank() {
            Some(0) => self.regions(),
            _ => Hyperslabs::new(2),
        };
        let fill = kind.default_fill();
        let mut data = Vec::with_capacity(rows.len() * kind.size());
        for row in rows {
            match (row, kind) {
                (None, _) => data.extend_from_slice(&fill),
                // Fits: `kind` is `Int` only for small arrays.
                (Some(entry), Kind::Int) => data.extend((entry as i32).to_ne_bytes()),
                (Some(entry), _) => data.extend(entry.to_ne_bytes()),
            }
        }
        file.ask(|format| format.write(&mut [Transfer::new(var, kind, &regions, &mut data)]))
    }

    /// Reads the rows at the root and sends each rank its part. Collective.
    fn get<C: Sparse>(
        &self,
        file: &mut File<C>,
        var: i32,
        lengths: &[u64],
        map: &mut Vec<i64>,
    ) -> Result<()> {
        let is_root = file.system.io_rank() == Some(0);
        let mut data = Vec::new();
        file.ask(|format| match is_root {
            true => {
                data = alloc::zeros(8 * self.elements() as u64)?;
                let regions = self.regions();
                format.read(&mut Transfer::new(var, Kind::Int64, &regions, &mut data))
            }
            false => {
                let nothing = Hyperslabs::new(2);
                format.read(&mut Transfer::new(var, Kind::Int64, &nothing, &mut []))
            }
        })?;
        let (comm, root) = (&file.system.comm, file.system.io_root());
        let own = comm.rank() as u64;
        if is_root {
            let width = 8 * (self.entries.end - self.entries.start) as usize;
            for (rank, row) in self.ranks.clone().zip(data.chunks_exact(width)) {
                let part = &row[..8 * self.part(lengths[rank as usize]).len()];
                match rank == own {
                    true => map.extend(from_one(part)),
                    false if part.is_empty() => {}
                    false => comm.send(rank as usize, TAG, part)?,
                }
            }
        } else if self.ranks.contains(&own) {
            let mut part = vec![0; 8 * self.part(lengths[own as usize]).len()];
            if !part.is_empty() {
                comm.recv(root, TAG, &mut part)?;
            }
            map.extend(from_one(&part));
        }
        Ok(())
    }
}

/// Stored entries, counted from 1 instead of 0.
fn from_one(bytes: &[u8]) -> impl Iterator<Item = i64> {
    native(bytes).map(|entry| entry.saturating_add(1))
}

fn native(bytes: &[u8]) -> impl Iterator<Item = i64> {
    let words = bytes.chunks_exact(8);
    words.map(|word| i64::from_ne_bytes(word.try_into().expect("eight bytes")))
}

// ---- reading ----

/// Reads this rank's map of a decomposition that as many ranks wrote. `bytes`: the length of the file, on I/O tasks that
/// know it. Collective.
pub fn read<C: Sparse>(file: &mut File<C>, bytes: Option<u64>) -> Result<StoredDecomp> {
    let ranks = file.system.comm.size() as u64;
    let about = file.ask(read_about)?;
    let (sizes, map_lengths, maps) = file.ask(|format| find_variables(format, ranks, bytes))?;
    let dims = read_lengths(file, sizes, 1..=i32::MAX as u64)?;
    let longest = maps.1;
    let lengths = read_lengths(file, map_lengths, 0..=longest)?;
    let own = lengths[file.system.comm.rank()] as usize;
    let mut map = agree(&file.system.comm, alloc::list(own))?;
    let used = lengths.iter().copied().max().unwrap_or(0);
    for batch in batches(&lengths, used) {
        batch.get(file, maps.0, &lengths, &mut map)?;
    }
    Ok(StoredDecomp { dims, map, about })
}

fn read_about(format: &mut dyn Format) -> Result<About> {
    let order = text(format, ORDER)?;
    let fortran = match order.to_bytes() {
        b"C" => false,
        b"Fortran" => true,
        _ => {
            return Err(Error::Invalid(format!(
                "an array in the order of {order:?}"
            )));
        }
    };
    let version = match text(format, VERSIONS[0]) {
        Err(Error::Format { code: ENOTATT, .. }) => text(format, VERSIONS[1]),
        version => version,
    };
    Ok(About {
        version: version?,
        title: optional(text(format, TITLE))?,
        history: optional(text(format, HISTORY))?,
        fortran,
    })
}

/// An attribute up to its NUL.
fn text(format: &mut dyn Format, name: &CStr) -> Result<CString> {
    let mut bytes = format.get_attribute(GLOBAL, name, Kind::Char)?;
    let end = bytes.iter().position(|byte| *byte == 0);
    bytes.truncate(end.unwrap_or(bytes.len()));
    Ok(CString::new(bytes).unwrap_or_default())
}

fn optional(text: Result<CString>) -> Result<Option<CString>> {
    match text {
        Err(Error::Format { code: ENOTATT, .. }) => Ok(None),
        text => text.map(Some),
    }
}

/// The id of a variable and the length of its last dimension.
type VarLength = (i32, u64);

fn find_variables(
    format: &mut dyn Format,
    ranks: u64,
    bytes: Option<u64>,
) -> Result<(VarLength, VarLength, VarLength)> {
    let mut find = |name: &CStr, dims: usize| {
        let var = format.var_named(name)?;
        let known = format.var(var)?;
        let lengths = known.dims.iter().map(|dim| Ok(format.dim(*dim)?.1));
        let lengths = lengths.collect::<Result<Vec<u64>>>()?;
        match lengths.len() == dims {
            true => Ok((var, known.kind, lengths)),
            false => Err(Error::Invalid(format!(
                "{name:?} does not have {dims} dimensions"
            ))),
        }
    };
    let (sizes, _, dims) = find(GLOBAL_SIZE, 1)?;
    let (map_lengths, _, written_by) = find(MAP_LENGTH, 1)?;
    let (maps, kind, rows) = find(MAP, 2)?;
    if !(1..=MOST_DIMS).contains(&dims[0]) {
        return Err(Error::Invalid(format!(
            "an array of {} dimensions",
            dims[0]
        )));
    }
    if [written_by[0], rows[0]] != [ranks; 2] {
        let text = format!(
            "a decomposition for {} ranks, not for {ranks}",
            written_by[0]
        );
        return Err(Error::Invalid(text));
    }
    let stored = rows[1].checked_mul(ranks);
    let stored = stored.and_then(|entries| entries.checked_mul(kind.size() as u64));
    if stored.is_none_or(|stored| bytes.is_some_and(|bytes| stored > bytes)) {
        let text = format!("maps of {} entries are longer than the file", rows[1]);
        return Err(Error::Invalid(text));
    }
    Ok(((sizes, dims[0]), (map_lengths, ranks), (maps, rows[1])))
}

/// The same on all ranks.
fn read_lengths<C: Sparse>(
    file: &mut File<C>,
    (var, length): VarLength,
    range: RangeInclusive<u64>,
) -> Result<Vec<u64>> {
    // Without memory the buffer is empty, which `get` reports to all ranks.
    let mut data = alloc::zeros(length.saturating_mul(8)).unwrap_or_default();
    file.get(var, Kind::Int64, &region(&[0], &[length]), &mut data)?;
    let checked = native(&data).map(|number| match u64::try_from(number) {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(Error::Invalid(format!("a length of {number}"))),
    });
    let checked: Result<Vec<u64>> = checked.collect();
    let whole = checked.and_then(|lengths| match lengths.len() as u64 == length {
        true => Ok(lengths),
        false => Err(Error::Memory(length.saturating_mul(8))),
    });
    agree(&file.system.comm, whole)
}

#[cfg(test)]
mod tests;
