//! Maps as text files, as upstream writes and reads them.
//!
//! `version 2001 npes <ranks> ndims <dimensions>`, a line with the lengths of the dimensions, then for each rank a
//! line `<rank> <length>` and one with its map; the rest is ignored. Only rank 0 accesses the file; the others send and
//! receive their maps in pieces.

use std::path::Path;

use super::{Error, Result, agree, alloc};
use crate::comm::{Comm, Tag};
use crate::storage::file::{open_read, read_full};
use crate::storage::{self, Draft};
use crate::wire;

mod words;
use words::Words;

const VERSION: i64 = 2001;
const TAG: Tag = 7120;
/// Entries of a map in one message.
const PIECE: usize = 1 << 16;
/// Sent in place of a number of entries when rank 0 has failed.
const GIVE_UP: u64 = u64::MAX;

/// A map of one rank and the array it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMap {
    pub dims: Vec<u64>,
    pub map: Vec<i64>,
}

/// The form of the file; each upstream reads both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Ncar,
    /// Ends with the number of the decomposition.
    Scorpio {
        ioid: i32,
    },
}

/// Writes the maps of all ranks. The file is replaced atomically. Collective.
pub fn write<C: Comm>(
    comm: &C,
    path: &Path,
    style: Style,
    dims: &[u64],
    map: &[i64],
) -> Result<()> {
    let outcome = match comm.rank() {
        0 => write_all(comm, path, style, dims, map),
        _ => send_map(comm, map),
    };
    agree(comm, outcome)
}

/// On rank 0. After a failure it still answers the other ranks.
fn write_all<C: Comm>(
    comm: &C,
    path: &Path,
    style: Style,
    dims: &[u64],
    map: &[i64],
) -> Result<()> {
    let at = |error: storage::Error| storage_error(path, &error);
    let mut draft = Draft::begin(path).map_err(at);
    let mut put = |text: &[u8]| {
        if let Ok(growing) = &mut draft {
            if let Err(error) = growing.append(text) {
                draft = Err(at(error));
            }
        }
        draft.is_ok()
    };
    put(header(comm.size(), dims).as_bytes());
    put(format!("0 {}\n", map.len()).as_bytes());
    for piece in map.chunks(PIECE) {
        put(line(piece).as_bytes());
    }
    put(b"\n");
    for rank in 1..comm.size() {
        receive_map(comm, rank, style, &mut put)?;
    }
    put(end(style).as_bytes());
    draft?
        .finish()
        .and_then(|staged| staged.commit())
        .map_err(at)
}

fn storage_error(path: &Path, error: &storage::Error) -> Error {
    Error::Storage {
        path: path.display().to_string(),
        text: error.to_string(),
    }
}

fn header(ranks: usize, dims: &[u64]) -> String {
    let lengths: String = dims.iter().map(|dim| format!("{dim} ")).collect();
    let ndims = dims.len();
    format!("version {VERSION} npes {ranks} ndims {ndims} \n{lengths}\n")
}

fn end(style: Style) -> String {
    match style {
        Style::Ncar => "\n".into(),
        Style::Scorpio { ioid } => format!("\nioid\t{ioid}\n"),
    }
}

/// Each entry with a space after it.
fn line(map: &[i64]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(8 * map.len());
    for entry in map {
        // Writing to a string cannot fail.
        let _ = write!(text, "{entry} ");
    }
    text
}

/// Asks a rank for its map and writes it: only one map is under way at a time.
fn receive_map<C: Comm>(
    comm: &C,
    rank: usize,
    style: Style,
    put: &mut impl FnMut(&[u8]) -> bool,
) -> Result<()> {
    let wanted = put(b"");
    send_number(comm, rank, u64::from(wanted))?;
    if !wanted {
        return Ok(());
    }
    let mut left = receive_number(comm, rank)?;
    put(format!("{rank} {left}\n").as_bytes());
    if left == 0 && style != Style::Ncar {
        return Ok(());
    }
    while left > 0 {
        let entries = left.min(PIECE as u64) as usize;
        put(line(&receive_entries(comm, rank, entries)?).as_bytes());
        left -= entries as u64;
    }
    put(b"\n");
    Ok(())
}

fn send_map<C: Comm>(comm: &C, map: &[i64]) -> Result<()> {
    if receive_number(comm, 0)? == 0 {
        return Ok(());
    }
    send_number(comm, 0, map.len() as u64)?;
    map.chunks(PIECE)
        .try_for_each(|piece| send_entries(comm, 0, piece))
}

fn send_number<C: Comm>(comm: &C, to: usize, number: u64) -> Result<()> {
    Ok(comm.send(to, TAG, &number.to_le_bytes())?)
}

fn receive_number<C: Comm>(comm: &C, from: usize) -> Result<u64> {
    let mut number = [0; 8];
    comm.recv(from, TAG, &mut number)?;
    Ok(u64::from_le_bytes(number))
}

fn send_entries<C: Comm>(comm: &C, to: usize, entries: &[i64]) -> Result<()> {
    let bytes: Vec<u8> = entries.iter().flat_map(|e| e.to_le_bytes()).collect();
    Ok(comm.send(to, TAG, &bytes)?)
}

fn receive_entries<C: Comm>(comm: &C, from: usize, entries: usize) -> Result<Vec<i64>> {
    let mut bytes = vec![0; 8 * entries];
    comm.recv(from, TAG, &mut bytes)?;
    Ok(wire::numbers(&bytes).map(|entry| entry as i64).collect())
}

/// Reads the map of every rank; ranks that the file does not have get an empty one. Collective.
pub fn read<C: Comm>(comm: &C, path: &Path) -> Result<TextMap> {
    let opened = match comm.rank() {
        0 => MapReader::open(path, comm.size()).map(Some),
        _ => Ok(None),
    };
    let mut reader = agree(comm, opened)?;
    let dims = share_dims(comm, reader.as_ref())?;
    let map = match &mut reader {
        Some(reader) => reader.send_all(comm),
        None => take_map(comm),
    };
    let map = agree(comm, map)?;
    Ok(TextMap { dims, map })
}

fn share_dims<C: Comm>(comm: &C, reader: Option<&MapReader>) -> Result<Vec<u64>> {
    let dims = reader.map(|reader| &reader.dims[..]).unwrap_or_default();
    let length = wire::bcast_u64(comm, 0, dims.len() as u64)?;
    let mut bytes = Vec::new();
    wire::put(&mut bytes, dims);
    bytes.resize(8 * length as usize, 0);
    comm.bcast(0, &mut bytes)?;
    Ok(wire::numbers(&bytes).collect())
}

/// Receives what [`MapReader::send_all`] sends, to the end even if memory runs out.
fn take_map<C: Comm>(comm: &C) -> Result<Vec<i64>> {
    let mut map = Ok(Vec::new());
    loop {
        match receive_number(comm, 0)? {
            0 => return map,
            GIVE_UP => return Err(Error::Invalid("the file has no map for this rank".into())),
            entries => {
                let piece = receive_entries(comm, 0, entries as usize)?;
                map = map.and_then(|map| append(map, &piece));
            }
        }
    }
}

fn append(mut map: Vec<i64>, piece: &[i64]) -> Result<Vec<i64>> {
    alloc::grow(&mut map, piece.len())?;
    map.extend_from_slice(piece);
    Ok(map)
}

/// The file on rank 0, after its header.
struct MapReader {
    words: Words,
    ranks: usize,
    dims: Vec<u64>,
    total: u64,
}

impl MapReader {
    fn open(path: &Path, most: usize) -> Result<MapReader> {
        let error = |error: storage::Error| storage_error(path, &error);
        let fd = open_read(path).map_err(error)?;
        let name = path.display().to_string();
        let fill = move |buffer: &mut [u8]| {
            let got = read_full(&fd, buffer);
            got.map_err(|error| Error::Storage {
                path: name.clone(),
                text: error.to_string(),
            })
        };
        Self::begin(Words::new(path.display().to_string(), Box::new(fill)), most)
    }

    /// Reads the header of a file for at most so many ranks.
    fn begin(mut words: Words, most: usize) -> Result<MapReader> {
        words.expect("version")?;
        words.number_in("the version", VERSION..=VERSION)?;
        words.expect("npes")?;
        let ranks = words.number_in("the number of ranks", 1..=most as i64)?;
        words.expect("ndims")?;
        let ndims = words.number_in("the number of dimensions", 1..=i32::MAX.into())?;
        let mut dims = Vec::new();
        let mut total = 1_u64;
        for _ in 0..ndims {
            let dim = words.number_in("the length of a dimension", 1..=i32::MAX.into())?;
            dims.push(dim as u64);
            let product = total
                .checked_mul(dim as u64)
                .filter(|t| *t <= i64::MAX as u64);
            total = product.ok_or_else(|| words.complaint("the array is too large"))?;
        }
        Ok(MapReader {
            words,
            ranks: ranks as usize,
            dims,
            total,
        })
    }

    /// Sends every rank its map, in pieces and with an end mark, and returns that of rank 0.
    fn send_all<C: Comm>(&mut self, comm: &C) -> Result<Vec<i64>> {
        let mut own = Ok(Vec::new());
        let mut outcome = Ok(());
        for rank in 0..comm.size() {
            let mut give = |piece: &[i64]| {
                if rank == 0 {
                    let kept = std::mem::replace(&mut own, Ok(Vec::new()));
                    own = kept.and_then(|map| append(map, piece));
                    return Ok(());
                }
                send_number(comm, rank, piece.len() as u64)?;
                send_entries(comm, rank, piece)
            };
            if outcome.is_ok() && rank < self.ranks {
                outcome = self.read_map(rank, &mut give);
            }
            if rank > 0 {
                send_number(comm, rank, if outcome.is_ok() { 0 } else { GIVE_UP })?;
            }
        }
        outcome.and(own)
    }

    /// Reads the map of one rank; `take` gets its pieces, none of them empty.
    fn read_map(&mut self, rank: usize, take: &mut impl FnMut(&[i64]) -> Result<()>) -> Result<()> {
        let number = rank as i64;
        self.words
            .number_in("the number of a rank", number..=number)?;
        let length = self.words.number_in("the length of a map", 0..=i64::MAX)?;
        let mut piece = Vec::new();
        for position in 0..length {
            piece.push(self.entry(rank, position as u64)?);
            if piece.len() == PIECE {
                take(&piece)?;
                piece.clear();
            }
        }
        match piece.is_empty() {
            true => Ok(()),
            false => take(&piece),
        }
    }

    fn entry(&mut self, rank: usize, position: u64) -> Result<i64> {
        let value = self.words.number()?;
        match u64::try_from(value) {
            Ok(place) if place <= self.total => Ok(value),
            _ => Err(Error::Bounds {
                rank,
                position,
                value,
                total: self.total,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
