//! # PIO Fortran
//!
//! For the Fortran module: attributes and variables that all ranks have as a whole, in arrays of Fortran.

// A rank whose array cannot be used (too short, of a type that PIO does not have, no memory for a copy of it) calls all the
// same, so that all ranks learn of it in the agreement that the call has anyway.

use crate::capi::boundary::{Array, OutArray, Text};
use crate::capi::pio::args::{array, name};
use crate::capi::pio::attributes::put;
use crate::capi::pio::data::agreed;
use crate::capi::pio::registry::{OpenFile, on_file};
use crate::capi::pio::request::{Hyperslab, VarShape};
use crate::capi::pio::text::{from_rows, to_rows, too_short, trimmed, zeroed};
use crate::pio::{Error, Kind, Result, agree_same};
use std::ffi::{CStr, c_int, c_void};

/// An array of Fortran, its elements one after the other.
struct FortranArray<'a> {
    kind: Result<Kind>,
    /// Bytes of an element: the length of a string.
    size: usize,
    /// Number of strings, or of numbers.
    elements: u64,
    data: OutArray<'a, u8>,
}

impl<'a> FortranArray<'a> {
    /// `error`: what the module has found wrong with the array.
    fn new(
        xtype: c_int,
        size: i64,
        elements: i64,
        data: OutArray<'a, c_void>,
        error: c_int,
    ) -> Self {
        let (size, elements) = (u64::try_from(size).ok(), u64::try_from(elements).ok());
        let kind = match (error, size.zip(elements)) {
            (0, Some(_)) if !data.is_null() || elements == Some(0) => Kind::from_number(xtype),
            (0, _) => Err(Error::Null("the array")),
            (error, _) => Err(unusable(error)),
        };
        Self {
            kind,
            size: size.unwrap_or(0) as usize,
            elements: elements.unwrap_or(0),
            data: data.cast(),
        }
    }

    fn kind(&self) -> Result<Kind> {
        self.kind.clone()
    }

    fn length(&self) -> i64 {
        let length = self.elements.saturating_mul(self.size as u64);
        i64::try_from(length).unwrap_or(i64::MAX)
    }

    fn bytes(&self) -> Result<&'a [u8]> {
        // SAFETY: the header says that there are `elements` of `size` bytes.
        unsafe { array("the array", self.data.as_array(), self.length()) }
    }

    fn bytes_mut(&self) -> Result<&'a mut [u8]> {
        let length = self.bytes()?.len();
        // SAFETY: as above; no other slice of the array is in use.
        let bytes = unsafe { self.data.slice(length) };
        bytes.ok_or(Error::Null("the array"))
    }

    fn holds(&self, needed: u64) -> Result<()> {
        match needed <= self.elements {
            true => Ok(()),
            false => Err(too_short(needed, self.elements)),
        }
    }
}

fn unusable(code: c_int) -> Error {
    Error::Format {
        call: "PIO",
        code,
        text: "the array cannot be used".into(),
    }
}

// ---- attributes ----

/// Sets an attribute to the values of an array: `elements` of `size` bytes of that type. `error` is not PIO_NOERR if the
/// array cannot be used.
///
/// # Returns
/// PIO_NOERR; the error of the array of any rank.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_put_attribute(
    ncid: c_int,
    varid: c_int,
    name: Text,
    xtype: c_int,
    size: i64,
    elements: i64,
    data: OutArray<c_void>,
    error: c_int,
) -> c_int {
    let values = FortranArray::new(xtype, size, elements, data, error);
    on_file(ncid, |open| {
        let given = self::name("name", name);
        let given = given.and_then(|name| Ok((name, values.kind()?, values.stored()?)));
        let given = given.as_ref().map_err(Error::clone);
        let given = given.map(|(name, kind, stored)| (*name, *kind, *kind, &stored[..]));
        put(open, varid, given)
    })
}

/// Reads an attribute into an array. An array that is too short is an error and keeps what it had; text is cut off, and an
/// error.
///
/// # Returns
/// As stanchion_pio_put_attribute; PIO_EINSUFFBUF if the attribute is longer than the array of any rank.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_get_attribute(
    ncid: c_int,
    varid: c_int,
    name: Text,
    xtype: c_int,
    size: i64,
    elements: i64,
    data: OutArray<c_void>,
    error: c_int,
) -> c_int {
    let values = FortranArray::new(xtype, size, elements, data, error);
    on_file(ncid, |open| {
        let given = self::name("name", name);
        let given = given.and_then(|name| Ok((varid, name, values.kind()?)));
        let (length, found) = open.ask(given, |format, (varid, name, kind): (_, &CStr, _)| {
            let length = format.attribute(varid, name)?.length;
            Ok((length, format.get_attribute(varid, name, kind)?))
        })?;
        open.system.agree(values.take(length, &found))
    })
}

impl FortranArray<'_> {
    /// As an attribute stores them: one string without its blanks, several at their full length.
    fn stored(&self) -> Result<Vec<u8>> {
        let bytes = self.bytes()?;
        let bytes = match (self.kind()?, self.elements) {
            (Kind::Char, 1) => trimmed(bytes),
            (Kind::Char, count) => return to_rows(bytes, self.size, self.size, count as usize),
            _ => bytes,
        };
        let mut stored = zeroed(Some(bytes.len()))?;
        stored.copy_from_slice(bytes);
        Ok(stored)
    }

    /// Takes an attribute of `length` elements.
    fn take(&self, length: u64, found: &[u8]) -> Result<()> {
        let into = self.bytes_mut()?;
        match (self.kind()?, self.elements) {
            (Kind::Char, 1) => from_rows(found, found.len(), into, self.size),
            (Kind::Char, _) => {
                self.holds(length / self.size.max(1) as u64)?;
                from_rows(found, self.size, into, self.size)
            }
            _ => {
                self.holds(length)?;
                let kept = into.get_mut(..found.len());
                let kept = kept.ok_or_else(|| too_short(length, self.elements))?;
                kept.copy_from_slice(found);
                Ok(())
            }
        }
    }
}

// ---- variables ----

/// Writes an array into a variable. `start` and `count` have `given` numbers each, counted from 1 and the fastest dimension
/// first. Slower dimensions that are not given are taken at their first place, and numbers beyond the variable's dimensions
/// are ignored. Without `count` it is one value, or one string; without `start` the whole variable, with as many records as
/// the array makes.
///
/// # Returns
/// As stanchion_pio_put_attribute; PIO_EINSUFFBUF if the array of any rank is too short.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_put_variable(
    ncid: c_int,
    varid: c_int,
    given: c_int,
    start: Array<c_int>,
    count: Array<c_int>,
    xtype: c_int,
    size: i64,
    elements: i64,
    data: OutArray<c_void>,
    error: c_int,
) -> c_int {
    let values = FortranArray::new(xtype, size, elements, data, error);
    values.transfer(ncid, varid, (given, start, count), true)
}

/// Reads a variable, or the part that stanchion_pio_put_variable would write, into an array. Text that is longer than a
/// string is cut off, and an error.
///
/// # Returns
/// As stanchion_pio_put_variable.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_get_variable(
    ncid: c_int,
    varid: c_int,
    given: c_int,
    start: Array<c_int>,
    count: Array<c_int>,
    xtype: c_int,
    size: i64,
    elements: i64,
    data: OutArray<c_void>,
    error: c_int,
) -> c_int {
    let values = FortranArray::new(xtype, size, elements, data, error);
    values.transfer(ncid, varid, (given, start, count), false)
}

/// The hyperslab that all ranks ask for, and what this rank has prepared for it. One that cannot is everybody's error.
fn prepared<T: Default>(
    open: &OpenFile,
    slab: Result<Hyperslab>,
    prepare: impl FnOnce(&Hyperslab) -> Result<T>,
) -> Result<(Hyperslab, T)> {
    let both = slab.and_then(|slab| Ok((prepare(&slab)?, slab)));
    let (own, slab) = match both {
        Ok((own, slab)) => (own, Ok(slab)),
        Err(error) => (T::default(), Err(error)),
    };
    Ok((agreed(open, slab)?, own))
}

/// How many numbers there are of each, starts, and counts, as Fortran gives them.
type FortranPart<'a> = (c_int, Array<'a, c_int>, Array<'a, c_int>);

impl FortranArray<'_> {
    fn transfer(&self, ncid: c_int, varid: c_int, part: FortranPart, putting: bool) -> c_int {
        on_file(ncid, |open| {
            let shape = VarShape::of(open, varid, putting, self.kind().map(Some))?;
            let slab = self.hyperslab(&shape, part);
            match (putting, self.kind()?) {
                (true, Kind::Char) => {
                    let (slab, rows) = prepared(open, slab, |slab| self.rows(slab))?;
                    open.file.put(varid, Kind::Char, &slab.regions, &rows)
                }
                (true, kind) => {
                    let (slab, data) = prepared(open, slab, |_| self.bytes())?;
                    open.file.put(varid, kind, &slab.regions, data)
                }
                (false, Kind::Char) => self.get_text(open, varid, slab),
                (false, kind) => {
                    let (slab, data) = prepared(open, slab, |_| self.bytes_mut())?;
                    open.file.get(varid, kind, &slab.regions, data)
                }
            }
        })
    }

    /// The part of a variable that is meant, if the array holds it.
    fn hyperslab(&self, shape: &VarShape, (given, start, count): FortranPart) -> Result<Hyperslab> {
        let is_text = self.kind()? == Kind::Char;
        let slab = match start.is_null() {
            true => Hyperslab::new(shape, None, self.records(shape, is_text).as_deref(), None)?,
            false => {
                let string = if is_text { self.size as i64 } else { 1 };
                let (start, count) = (numbers(given, start)?, numbers(given, count)?);
                let (start, count) = reversed(shape.lengths.len(), start, count, string);
                Hyperslab::new(shape, Some(&start), Some(&count), None)?
            }
        };
        self.holds(match (is_text, slab.elements()?) {
            (true, elements) => elements / slab.row().max(1),
            (false, elements) => elements,
        })?;
        Ok(slab)
    }

    /// The lengths of a variable with as many records as the array makes.
    fn records(&self, shape: &VarShape, is_text: bool) -> Option<Vec<i64>> {
        let lengths = shape.lengths.iter().map(|length| *length as i64);
        let mut lengths: Vec<i64> = lengths.collect();
        let inner = match is_text {
            true => &shape.lengths[1.min(lengths.len())..lengths.len().max(2) - 1],
            false => &shape.lengths[1.min(lengths.len())..],
        };
        let record: u64 = inner
            .iter()
            .fold(1, |product, n| product.saturating_mul(*n));
        let first = lengths.first_mut().filter(|_| shape.grows)?;
        *first = match is_text && shape.lengths.len() == 1 {
            true => self.size as i64,
            false => self.elements.checked_div(record).unwrap_or(0) as i64,
        };
        Some(lengths)
    }

    /// The strings as rows of the variable.
    fn rows(&self, slab: &Hyperslab) -> Result<Vec<u8>> {
        let row = slab.row();
        let count = slab.elements()? / row.max(1);
        to_rows(self.bytes()?, self.size, row as usize, count as usize)
    }

    fn get_text(&self, open: &mut OpenFile, varid: c_int, slab: Result<Hyperslab>) -> Result<()> {
        let (slab, mut rows) = prepared(open, slab, |slab| {
            zeroed(usize::try_from(slab.elements()?).ok())
        })?;
        open.file.get(varid, Kind::Char, &slab.regions, &mut rows)?;
        let strings = self.bytes_mut();
        let taken = strings.and_then(|to| from_rows(&rows, slab.row() as usize, to, self.size));
        open.system.agree(taken)
    }
}

/// Starts or counts; none for NULL.
fn numbers(given: c_int, list: Array<'_, c_int>) -> Result<&[c_int]> {
    match list.is_null() {
        true => Ok(&[]),
        // SAFETY: the header says that there are as many numbers as are given.
        false => unsafe { array("start or count", list, given) },
    }
}

/// Start and count in the order of C.
fn reversed(ndims: usize, start: &[c_int], count: &[c_int], string: i64) -> (Vec<i64>, Vec<i64>) {
    let from_end = |dim: usize| ndims - 1 - dim;
    let number = |list: &[c_int], dim: usize| list.get(from_end(dim)).map(|n| i64::from(*n));
    let starts = (0..ndims).map(|dim| number(start, dim).map_or(0, |start| start - 1));
    let counts = (0..ndims).map(|dim| number(count, dim).unwrap_or(1));
    let mut counts: Vec<i64> = counts.collect();
    if let Some(last) = counts.last_mut().filter(|_| count.is_empty()) {
        *last = string;
    }
    (starts.collect(), counts)
}

// ---- distributed arrays ----

/// Takes the place of PIOc_write_darray, PIOc_write_darray_multi or PIOc_read_darray on a rank whose array cannot be used:
/// all ranks return `code`, which is not PIO_NOERR.
///
/// # Collective
/// As those functions.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_refuse_array(ncid: c_int, code: c_int) -> c_int {
    on_file(ncid, |open| {
        let refused = Err::<((), u64), _>(unusable(code));
        agree_same(&open.system.io.comm, "arrays", refused).map(drop)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_counts_from_one_and_the_fastest_first() {
        let part = reversed(3, &[2, 5], &[1, 7], 1);
        assert_eq!(part, (vec![0, 4, 1], vec![1, 7, 1]));
        let text = reversed(2, &[1, 3, 9], &[], 8);
        assert_eq!(text, (vec![2, 0], vec![1, 8]));
    }

    #[test]
    fn an_array_makes_as_many_records_as_it_has_values_for() {
        let shape = |lengths: &[u64]| VarShape {
            kind: Kind::Int,
            lengths: lengths.to_vec(),
            grows: true,
        };
        let records = |lengths: &[u64], elements: i64, is_text: bool| {
            let mut data = [0_u8];
            let data = OutArray::from(&mut data[..]).cast();
            FortranArray::new(4, 8, elements, data, 0).records(&shape(lengths), is_text)
        };
        assert_eq!(records(&[0, 3], 6, false), Some(vec![2, 3]));
        assert_eq!(records(&[0], 6, false), Some(vec![6]));
        assert_eq!(records(&[0, 3, 8], 6, true), Some(vec![2, 3, 8]));
        assert_eq!(records(&[0, 8], 6, true), Some(vec![6, 8]));
        assert_eq!(records(&[0], 1, true), Some(vec![8]));
        assert_eq!(records(&[], 1, false), None);
    }
}
