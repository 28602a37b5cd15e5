//! # PIO Fortran
//!
//! For the Fortran module: attributes and variables that all ranks have as a whole.
//!
//! A rank whose array does not do (too short, of a type that PIO does not have, no memory for a copy of it) calls all the
//! same, so that all ranks hear of it in the agreement that the call has anyway.

use crate::capi::pio::args::{array, name};
use crate::capi::pio::data::request_of_all;
use crate::capi::pio::registry::{OpenFile, on_file};
use crate::capi::pio::request::{Request, Shape};
use crate::capi::pio::text::{from_rows, to_rows, too_short, trimmed, zeroed};
use crate::pio::{Error, Kind, Result, agree_same};
use std::ffi::{CStr, c_char, c_int, c_void};

/// An array of Fortran, its elements one behind the other.
struct Values {
    kind: Result<Kind>,
    /// Of an element: the length of a string.
    size: usize,
    /// Strings, or numbers.
    elements: u64,
    data: *mut u8,
}

impl Values {
    /// `error`: what the module has found wrong with the array.
    unsafe fn new(xtype: c_int, size: i64, elements: i64, data: *mut c_void, error: c_int) -> Self {
        let refused = |code| Error::Format {
            call: "PIO",
            code,
            text: "the array cannot be used".into(),
        };
        let (size, elements) = (u64::try_from(size).ok(), u64::try_from(elements).ok());
        let kind = match (error, size.zip(elements)) {
            (0, Some(_)) if !data.is_null() || elements == Some(0) => Kind::from_number(xtype),
            (0, _) => Err(Error::Null("the array")),
            (error, _) => Err(refused(error)),
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

    /// All of them, as the caller has them.
    unsafe fn bytes<'a>(&self) -> Result<&'a [u8]> {
        let length = self.elements.saturating_mul(self.size as u64);
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        // SAFETY: promised by the caller.
        unsafe { array("the array", self.data, length) }
    }

    unsafe fn bytes_mut<'a>(&self) -> Result<&'a mut [u8]> {
        // SAFETY: promised by the caller.
        let length = unsafe { self.bytes() }?.len();
        match length {
            0 => Ok(&mut []),
            // SAFETY: as above, and nobody else has the array.
            length => Ok(unsafe { std::slice::from_raw_parts_mut(self.data, length) }),
        }
    }

    fn holds(&self, needed: u64) -> Result<()> {
        match needed <= self.elements {
            true => Ok(()),
            false => Err(too_short(needed, self.elements)),
        }
    }
}

// ---- attributes ----

/// Sets an attribute to the values of an array: `elements` of `size` bytes of that type. `error` is not PIO_NOERR if the
/// array cannot be used. For the Fortran module, as all functions from here on.
///
/// # Returns
/// PIO_NOERR; what is wrong with an array of any rank.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_pio_put_attribute(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    xtype: c_int,
    size: i64,
    elements: i64,
    data: *mut c_void,
    error: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    let values = unsafe { Values::new(xtype, size, elements, data, error) };
    on_file(ncid, |open| {
        // SAFETY: as above.
        let given = unsafe { self::name("name", name) };
        // SAFETY: as above.
        let given = given.and_then(|name| Ok((name, values.kind()?, unsafe { values.stored() }?)));
        let (given, stored) = match given {
            Ok((name, kind, stored)) => (Ok((varid, name, kind, stored.len())), stored),
            Err(error) => (Err(error), Vec::new()),
        };
        // It may be a fill value, which can be changed without `redef`.
        open.file.forget();
        open.change(given, |format, (varid, name, kind, _)| {
            format.put_attribute(varid, name, kind, kind, &stored)
        })
    })
}

impl Values {
    /// As an attribute has them: one string without blanks, several at their full length.
    unsafe fn stored(&self) -> Result<Vec<u8>> {
        // SAFETY: promised by the caller.
        let bytes = unsafe { self.bytes() }?;
        let bytes = match (self.kind()?, self.elements) {
            (Kind::Char, 1) => trimmed(bytes),
            (Kind::Char, count) => return to_rows(bytes, self.size, self.size, count as usize),
            _ => bytes,
        };
        let mut stored = zeroed(Some(bytes.len()))?;
        stored.copy_from_slice(bytes);
        Ok(stored)
    }
}

/// Reads an attribute into an array. One that is longer is an error and leaves it alone; text is cut off, and an error.
///
/// # Returns
/// As stanchion_pio_put_attribute; PIO_EINSUFFBUF if the attribute is longer than the array of any rank.
///
/// # Collective
/// As stanchion_pio_put_attribute.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_pio_get_attribute(
    ncid: c_int,
    varid: c_int,
    name: *const c_char,
    xtype: c_int,
    size: i64,
    elements: i64,
    data: *mut c_void,
    error: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    let values = unsafe { Values::new(xtype, size, elements, data, error) };
    on_file(ncid, |open| {
        // SAFETY: as above.
        let given = unsafe { self::name("name", name) };
        let given = given.and_then(|name| Ok((varid, name, values.kind()?)));
        let (length, found) = open.ask(given, |format, (varid, name, kind): (_, &CStr, _)| {
            let length = format.attribute(varid, name)?.length;
            Ok((length, format.get_attribute(varid, name, kind)?))
        })?;
        // SAFETY: as above.
        let taken = unsafe { values.take(length, &found) };
        open.system.agree(taken)
    })
}

impl Values {
    /// Takes an attribute of `length` elements.
    unsafe fn take(&self, length: u64, found: &[u8]) -> Result<()> {
        // SAFETY: promised by the caller.
        let into = unsafe { self.bytes_mut() }?;
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

/// Writes an array into a variable. `start` and `count` have `given` numbers each, counted from 1 and the fastest
/// dimension first. Slower dimensions that are not given are taken at their first place, and what is given beyond the variable's
/// dimensions is not looked at. Without `count` it is one value, or one string; without `start` the whole variable,
/// with as many records as the array makes.
///
/// # Returns
/// As stanchion_pio_put_attribute; PIO_EINSUFFBUF if the array of any rank is too short.
///
/// # Collective
/// As stanchion_pio_put_attribute.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_pio_put_variable(
    ncid: c_int,
    varid: c_int,
    given: c_int,
    start: *const c_int,
    count: *const c_int,
    xtype: c_int,
    size: i64,
    elements: i64,
    data: *mut c_void,
    error: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    let values = unsafe { Values::new(xtype, size, elements, data, error) };
    on_file(ncid, |open| {
        let shape = Shape::of(open, varid, true, values.kind().map(Some))?;
        let kind = values.kind()?;
        // SAFETY: as above.
        let request = unsafe { values.request(&shape, given, start, count) };
        // SAFETY: as above.
        let (request, packed) = of_all(open, request, |it| unsafe { values.packed(it) })?;
        let rows = packed.rows.as_deref().unwrap_or(packed.data);
        open.file.put(varid, kind, &request.regions, rows)
    })
}

/// Reads a variable, or the part that stanchion_pio_put_variable would write, into an array. Text that is longer than
/// a string is cut off, and an error.
///
/// # Returns
/// As stanchion_pio_put_variable.
///
/// # Collective
/// As stanchion_pio_put_attribute.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stanchion_pio_get_variable(
    ncid: c_int,
    varid: c_int,
    given: c_int,
    start: *const c_int,
    count: *const c_int,
    xtype: c_int,
    size: i64,
    elements: i64,
    data: *mut c_void,
    error: c_int,
) -> c_int {
    // SAFETY: arguments of the caller.
    let values = unsafe { Values::new(xtype, size, elements, data, error) };
    on_file(ncid, |open| {
        let shape = Shape::of(open, varid, false, values.kind().map(Some))?;
        // SAFETY: as above.
        let request = unsafe { values.request(&shape, given, start, count) };
        match values.kind()? {
            // SAFETY: as above.
            Kind::Char => unsafe { values.get_text(open, varid, request) },
            // SAFETY: as above.
            kind => unsafe { values.get_numbers(open, varid, kind, request) },
        }
    })
}

/// What all ranks ask for, and what this rank has prepared for it. One that cannot is everybody's error.
fn of_all<T: Default>(
    open: &OpenFile,
    request: Result<Request>,
    prepare: impl FnOnce(&Request) -> Result<T>,
) -> Result<(Request, T)> {
    let prepared = request.and_then(|request| Ok((prepare(&request)?, request)));
    let (own, request) = match prepared {
        Ok((own, request)) => (own, Ok(request)),
        Err(error) => (T::default(), Err(error)),
    };
    Ok((request_of_all(open, request)?, own))
}

/// What is written: the array itself, or a copy with the text in rows.
#[derive(Default)]
struct Packed<'a> {
    data: &'a [u8],
    rows: Option<Vec<u8>>,
}

impl Values {
    /// The part of a variable that is meant, if the array holds it.
    unsafe fn request(
        &self,
        shape: &Shape,
        given: c_int,
        start: *const c_int,
        count: *const c_int,
    ) -> Result<Request> {
        let is_text = self.kind()? == Kind::Char;
        let request = match start.is_null() {
            true => Request::new(shape, None, self.records(shape, is_text).as_deref(), None)?,
            false => {
                let numbers = |place: *const c_int| match place.is_null() {
                    true => Ok(&[][..]),
                    // SAFETY: promised by the caller: as many numbers as are given.
                    false => unsafe { array("start or count", place, given) },
                };
                let string = if is_text { self.size as i64 } else { 1 };
                let (start, count) = (numbers(start)?, numbers(count)?);
                let part = reversed(shape.lengths.len(), start, count, string);
                Request::new(shape, Some(&part.0), Some(&part.1), None)?
            }
        };
        self.holds(match (is_text, request.elements()?) {
            (true, elements) => elements / request.row().max(1),
            (false, elements) => elements,
        })?;
        Ok(request)
    }

    /// The lengths of a variable that grows by as many records as the array makes.
    fn records(&self, shape: &Shape, is_text: bool) -> Option<Vec<i64>> {
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

    unsafe fn packed<'a>(&self, request: &Request) -> Result<Packed<'a>> {
        // SAFETY: promised by the caller.
        let data = unsafe { self.bytes() }?;
        let row = request.row();
        let rows = match self.kind()? {
            Kind::Char => Some(to_rows(
                data,
                self.size,
                row as usize,
                (request.elements()? / row.max(1)) as usize,
            )?),
            _ => None,
        };
        Ok(Packed { data, rows })
    }

    unsafe fn get_numbers(
        &self,
        open: &mut OpenFile,
        varid: c_int,
        kind: Kind,
        request: Result<Request>,
    ) -> Result<()> {
        // SAFETY: promised by the caller; as many elements as were found to be enough.
        let (request, data) = of_all(open, request, |_| unsafe { self.bytes_mut() })?;
        open.file.get(varid, kind, &request.regions, data)
    }

    unsafe fn get_text(
        &self,
        open: &mut OpenFile,
        varid: c_int,
        request: Result<Request>,
    ) -> Result<()> {
        let (request, mut rows) = of_all(open, request, |request| {
            zeroed(usize::try_from(request.elements()?).ok())
        })?;
        open.file
            .get(varid, Kind::Char, &request.regions, &mut rows)?;
        // SAFETY: promised by the caller.
        let strings = unsafe { self.bytes_mut() };
        let taken = strings.and_then(|to| from_rows(&rows, request.row() as usize, to, self.size));
        open.system.agree(taken)
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

/// What a rank calls instead of PIOc_write_darray, PIOc_write_darray_multi or PIOc_read_darray if its array cannot be
/// used: all ranks return `code`, which is not PIO_NOERR.
///
/// # Collective
/// As those functions.
#[cfg(feature = "mpi")]
#[unsafe(no_mangle)]
pub extern "C" fn stanchion_pio_refuse_array(ncid: c_int, code: c_int) -> c_int {
    on_file(ncid, |open| {
        let refused = Error::Format {
            call: "PIO",
            code,
            text: "the array cannot be used".into(),
        };
        agree_same(&open.system.io.comm, "arrays", Err::<((), u64), _>(refused)).map(drop)
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
        let shape = |lengths: &[u64]| Shape {
            kind: Kind::Int,
            lengths: lengths.to_vec(),
            grows: true,
        };
        let records = |lengths: &[u64], elements: i64, is_text: bool| {
            let mut data = 0_u8;
            // SAFETY: nothing is read.
            let values = unsafe { Values::new(4, 8, elements, (&raw mut data).cast(), 0) };
            values.records(&shape(lengths), is_text)
        };
        assert_eq!(records(&[0, 3], 6, false), Some(vec![2, 3]));
        assert_eq!(records(&[0], 6, false), Some(vec![6]));
        assert_eq!(records(&[0, 3, 8], 6, true), Some(vec![2, 3, 8]));
        assert_eq!(records(&[0, 8], 6, true), Some(vec![6, 8]));
        assert_eq!(records(&[0], 1, true), Some(vec![8]));
        assert_eq!(records(&[], 1, false), None);
    }
}
