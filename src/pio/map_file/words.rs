//! The words of a text file, read buffer by buffer.

use std::ops::RangeInclusive;

use super::super::{Error, Result};

/// Longer than any word of a map.
const LONGEST: usize = 32;
const BUFFER: usize = 1 << 16;

type FillBuffer = Box<dyn FnMut(&mut [u8]) -> Result<usize>>;

/// `fill` reads into a buffer and fills it unless the file ends.
pub(super) struct Words {
    name: String,
    fill: FillBuffer,
    buffer: Vec<u8>,
    next: usize,
    /// Bytes of the file that were parsed.
    seen: u64,
    /// The last word.
    word: Vec<u8>,
}

impl Words {
    pub(super) fn new(name: String, fill: FillBuffer) -> Self {
        Self {
            name,
            fill,
            buffer: Vec::new(),
            next: 0,
            seen: 0,
            word: Vec::with_capacity(LONGEST + 1),
        }
    }

    /// An error at the last word.
    pub(super) fn complaint(&self, text: impl std::fmt::Display) -> Error {
        Error::Invalid(format!("{}, byte {}: {text}", self.name, self.seen))
    }

    pub(super) fn expect(&mut self, wanted: &str) -> Result<()> {
        self.read_word()?;
        match self.word == wanted.as_bytes() {
            true => Ok(()),
            false => Err(self.complaint(format_args!("`{wanted}` is expected"))),
        }
    }

    pub(super) fn number(&mut self) -> Result<i64> {
        self.read_word()?;
        let word = std::str::from_utf8(&self.word).ok();
        let number = word.and_then(|word| word.parse().ok());
        number.ok_or_else(|| self.complaint("a number is expected"))
    }

    pub(super) fn number_in(&mut self, what: &str, range: RangeInclusive<i64>) -> Result<i64> {
        let number = self.number()?;
        if range.contains(&number) {
            return Ok(number);
        }
        let (least, most) = (range.start(), range.end());
        let text = format!("{what} is {number}, not in {least} to {most}");
        Err(self.complaint(text))
    }

    /// Reads the next word. White space must follow it: a truncated file may end in the middle of a word.
    fn read_word(&mut self) -> Result<()> {
        self.word.clear();
        while self.word.len() <= LONGEST {
            match self.byte()? {
                None => return Err(self.complaint("the file ends too early")),
                Some(byte) if !byte.is_ascii_whitespace() => self.word.push(byte),
                Some(_) if self.word.is_empty() => {}
                Some(_) => return Ok(()),
            }
        }
        Err(self.complaint("this is not a map"))
    }

    fn byte(&mut self) -> Result<Option<u8>> {
        if self.next == self.buffer.len() {
            self.buffer.resize(BUFFER, 0);
            let length = (self.fill)(&mut self.buffer)?;
            self.buffer.truncate(length);
            self.next = 0;
        }
        let byte = self.buffer.get(self.next).copied();
        self.next += usize::from(byte.is_some());
        self.seen += u64::from(byte.is_some());
        Ok(byte)
    }
}
