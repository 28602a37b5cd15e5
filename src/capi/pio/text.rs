//! Fortran strings: trailing blanks are padding; in a file, NULs are.

use crate::pio::error::EINSUFFBUF;
use crate::pio::{Error, Result};

pub(in crate::capi) fn too_short(needed: u64, given: u64) -> Error {
    Error::Format {
        call: "PIO",
        code: EINSUFFBUF,
        text: format!("{given} are given where {needed} are needed"),
    }
}

pub(in crate::capi) fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b' ');
    &text[..end.map_or(0, |last| last + 1)]
}

/// Rows of `row` characters, one for each of the first `count` strings, which must fit.
pub(in crate::capi) fn to_rows(
    strings: &[u8],
    size: usize,
    row: usize,
    count: usize,
) -> Result<Vec<u8>> {
    let mut rows = zeroed(row.checked_mul(count))?;
    let strings = (0..count).map(|at| trimmed(&strings[at * size..][..size]));
    for (at, text) in strings.enumerate() {
        if text.len() > row {
            return Err(too_short(text.len() as u64, row as u64));
        }
        rows[at * row..][..text.len()].copy_from_slice(text);
    }
    Ok(rows)
}

/// Strings of `size` characters from rows; a row that does not fit is cut off, and an error.
pub(in crate::capi) fn from_rows(
    rows: &[u8],
    row: usize,
    strings: &mut [u8],
    size: usize,
) -> Result<()> {
    let mut outcome = Ok(());
    let rows = rows.chunks_exact(row.max(1));
    for (text, string) in rows.zip(strings.chunks_exact_mut(size.max(1))) {
        let end = text.iter().position(|byte| *byte == 0);
        let text = trimmed(&text[..end.unwrap_or(text.len())]);
        let kept = text.len().min(string.len());
        if kept < text.len() {
            outcome = Err(too_short(text.len() as u64, size as u64));
        }
        string.fill(b' ');
        string[..kept].copy_from_slice(&text[..kept]);
    }
    outcome
}

pub(in crate::capi) fn zeroed(length: Option<usize>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = length.ok_or(Error::Memory(u64::MAX))?;
    let room = bytes.try_reserve_exact(length);
    room.map_err(|_| Error::Memory(length as u64))?;
    bytes.resize(length, 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_no_part_of_a_string() {
        assert_eq!(trimmed(b"ab  "), b"ab");
        assert_eq!(trimmed(b"   "), b"");
        let rows = to_rows(b"ab  c   ", 4, 3, 2).unwrap();
        assert_eq!(rows, b"ab\0c\0\0");
        assert_eq!(to_rows(b"abcd", 4, 3, 1).unwrap_err().code(), EINSUFFBUF);
        let mut strings = *b"????????";
        from_rows(&rows, 3, &mut strings, 4).unwrap();
        assert_eq!(&strings, b"ab  c   ");
        let mut short = *b"??";
        let cut = from_rows(&rows, 3, &mut short, 1);
        assert_eq!((cut.unwrap_err().code(), &short), (EINSUFFBUF, b"ac"));
    }
}
