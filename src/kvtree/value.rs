//! Values: a value is the one key below its name, so every type has a text form.
//!
//! The forms are those of the files in the field: `%lu`, `%#x`, `%d`, `%lld`, `%f`, `%p`. Only doubles
//! differ: where six decimals would not read back as the same number, 17 digits are written.

use super::{Error, Result, TreeMut, TreeRef};
use std::ffi::{CStr, CString};

/// What a setter puts below a value: most nothing at all, two an empty tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BelowValue {
    Nothing,
    EmptyTree,
}

impl TreeMut<'_> {
    /// Makes `value` the only value of `key`.
    pub fn set_value(&mut self, key: &CStr, value: &CStr, below: BelowValue) {
        self.unset(key);
        let mut name = self.child(key);
        match below {
            BelowValue::Nothing => drop(name.set(value, None)),
            BelowValue::EmptyTree => drop(name.child(value)),
        }
    }

    pub fn set_int(&mut self, key: &CStr, value: i32) {
        self.set_value(key, &signed_text(value.into()), BelowValue::EmptyTree);
    }

    pub fn set_str(&mut self, key: &CStr, value: &CStr) {
        self.set_value(key, value, BelowValue::EmptyTree);
    }

    pub fn set_u64(&mut self, key: &CStr, value: u64) {
        self.set_value(key, &unsigned_text(value), BelowValue::Nothing);
    }

    pub fn set_i64(&mut self, key: &CStr, value: i64) {
        self.set_value(key, &signed_text(value), BelowValue::Nothing);
    }

    pub fn set_crc32(&mut self, key: &CStr, value: u32) {
        self.set_value(key, &hex(value.into()), BelowValue::Nothing);
    }

    pub fn set_double(&mut self, key: &CStr, value: f64) {
        self.set_value(key, &double(value), BelowValue::Nothing);
    }

    pub fn set_address(&mut self, key: &CStr, value: usize) {
        self.set_value(key, &address(value), BelowValue::Nothing);
    }

    /// Adds `value` below `key` unless it is there, and returns what is below it.
    pub fn set_kv(&mut self, key: &CStr, value: &CStr) -> TreeMut<'_> {
        self.child(key).into_child(value)
    }

    /// Removes `value` below `key`, and `key` itself when nothing is left below it.
    pub fn unset_kv(&mut self, key: &CStr, value: Option<&CStr>) {
        if self.view().get(key).is_some() {
            let mut values = self.child(key);
            value.into_iter().for_each(|value| values.unset(value));
            if !values.view().is_empty() {
                return;
            }
        }
        self.unset(key);
    }
}

impl<'a> TreeRef<'a> {
    fn values(self, key: &CStr) -> Result<KeyValues<'a>> {
        self.get(key).map(KeyValues::of).ok_or_else(|| not_set(key))
    }

    /// The key of the first element below `key`.
    pub fn first_value(self, key: &CStr) -> Option<&'a CStr> {
        self.get(key)?.first()?.key()
    }

    /// The one value of `key`; more or fewer than one is an error.
    pub fn value(self, key: &CStr) -> Result<&'a CStr> {
        self.values(key)?.only(key)
    }

    pub fn value_u64(self, key: &CStr) -> Result<u64> {
        self.values(key)?.u64(key)
    }

    pub fn value_i64(self, key: &CStr) -> Result<i64> {
        self.values(key)?.i64(key)
    }

    pub fn value_int(self, key: &CStr) -> Result<i32> {
        self.values(key)?.int(key)
    }

    pub fn value_double(self, key: &CStr) -> Result<f64> {
        self.values(key)?.double(key)
    }

    pub fn value_address(self, key: &CStr) -> Result<usize> {
        self.values(key)?.address(key)
    }
}

/// What stands below a key. The functions take the key for their errors.
#[derive(Clone, Copy)]
pub struct KeyValues<'a>(TreeRef<'a>);

impl<'a> KeyValues<'a> {
    /// The values in the tree below a key.
    pub fn of(below: TreeRef<'a>) -> KeyValues<'a> {
        KeyValues(below)
    }

    /// The one value; more or fewer than one is an error.
    pub fn only(self, key: &CStr) -> Result<&'a CStr> {
        let only = self.0.first().filter(|first| first.next().is_none());
        let only = only.ok_or_else(|| Error::NotSingle {
            key: lossy(key),
            count: self.0.len(),
        })?;
        only.key().ok_or(Error::NullKey)
    }

    pub fn u64(self, key: &CStr) -> Result<u64> {
        Ok(parse_unsigned(self.only(key)?.to_bytes()))
    }

    pub fn i64(self, key: &CStr) -> Result<i64> {
        Ok(parse_signed(self.only(key)?.to_bytes()))
    }

    /// The first value, however many there are.
    pub fn int(self, key: &CStr) -> Result<i32> {
        let first = self.0.first().and_then(|first| first.key());
        Ok(parse_int(first.ok_or_else(|| not_set(key))?.to_bytes()))
    }

    pub fn double(self, key: &CStr) -> Result<f64> {
        self.parsed(key, "a finite number", parse_double)
    }

    pub fn address(self, key: &CStr) -> Result<usize> {
        self.parsed(key, "an address", parse_address)
    }

    fn parsed<T>(
        self,
        key: &CStr,
        wanted: &'static str,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T> {
        let value = self.only(key)?;
        parse(value.to_bytes()).ok_or_else(|| Error::NotA {
            key: lossy(key),
            text: lossy(value),
            wanted,
        })
    }
}

fn not_set(key: &CStr) -> Error {
    Error::NotSet(key.into())
}

fn lossy(text: &CStr) -> String {
    text.to_string_lossy().into_owned()
}

// ---- writing --------------------------------------------------------------------------------

/// A whole number in the decimal form of `%d`, `%lu` and their kin, on the stack.
pub struct Decimal {
    bytes: [u8; Self::ROOM],
    start: usize,
}

impl Decimal {
    /// Sign, 20 digits, NUL.
    const ROOM: usize = 22;

    /// Lookups of small trees spend most of their time here: digits are written in place, from the last one on.
    fn new(mut magnitude: u64, is_negative: bool) -> Self {
        let mut bytes = [0; Self::ROOM];
        let mut start = Self::ROOM - 1;
        loop {
            start -= 1;
            bytes[start] = b'0' + (magnitude % 10) as u8;
            magnitude /= 10;
            if magnitude == 0 {
                break;
            }
        }
        if is_negative {
            start -= 1;
            bytes[start] = b'-';
        }
        Decimal { bytes, start }
    }
}

impl std::ops::Deref for Decimal {
    type Target = CStr;
    fn deref(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.bytes[self.start..]).expect("digits and one NUL")
    }
}

pub fn signed_text(value: i64) -> Decimal {
    Decimal::new(value.unsigned_abs(), value < 0)
}

pub fn unsigned_text(value: u64) -> Decimal {
    Decimal::new(value, false)
}

pub fn rank_text(rank: usize) -> Decimal {
    Decimal::new(rank as u64, false)
}

fn owned(text: String) -> CString {
    CString::new(text).expect("numbers contain no NUL")
}

/// `%#x`, which writes zero without a prefix.
pub fn hex(number: u64) -> CString {
    match number {
        0 => c"0".to_owned(),
        n => owned(format!("{n:#x}")),
    }
}

pub fn address(value: usize) -> CString {
    match value {
        0 => c"(nil)".to_owned(),
        n => hex(n as u64),
    }
}

/// `%f` where that reads back as the same number, else 17 significant digits.
pub fn double(value: f64) -> CString {
    if value.is_nan() {
        return if value.is_sign_negative() {
            c"-nan"
        } else {
            c"nan"
        }
        .to_owned();
    }
    let short = format!("{value:.6}");
    let exact = short
        .parse::<f64>()
        .is_ok_and(|v| v.to_bits() == value.to_bits());
    owned(if exact {
        short
    } else {
        format!("{value:.16e}")
    })
}

// ---- reading --------------------------------------------------------------------------------

/// What `isspace` takes for a blank, which includes the vertical tab.
fn skip_blanks(text: &[u8]) -> &[u8] {
    let blank = |c: &&u8| matches!(c, b' ' | b'\t'..=b'\r');
    &text[text.iter().take_while(blank).count()..]
}

/// Sign and digits as `strtol` takes them: blanks, a sign, with base 0 a prefix; then what fits.
fn scan(text: &[u8], base: u32) -> (bool, Option<u64>, usize) {
    let text = skip_blanks(text);
    let negative = text.first() == Some(&b'-');
    let digits = match text.first() {
        Some(b'-' | b'+') => &text[1..],
        _ => text,
    };
    let (base, digits) = match (base, digits) {
        (0 | 16, [b'0', b'x' | b'X', rest @ ..])
            if rest.first().is_some_and(u8::is_ascii_hexdigit) =>
        {
            (16, rest)
        }
        (0, [b'0', ..]) => (8, digits),
        (0, _) => (10, digits),
        (base, _) => (base, digits),
    };
    let mut value = Some(0u64);
    let mut count = 0;
    for digit in digits.iter().map_while(|&c| (c as char).to_digit(base)) {
        value = value.and_then(|v| v.checked_mul(base.into())?.checked_add(digit.into()));
        count += 1;
    }
    (negative, value, count)
}

/// `strtoul` with base 0.
pub fn parse_unsigned(text: &[u8]) -> u64 {
    match scan(text, 0) {
        (true, Some(value), _) => value.wrapping_neg(),
        (false, Some(value), _) => value,
        (_, None, _) => u64::MAX,
    }
}

fn saturated(negative: bool, magnitude: Option<u64>) -> i64 {
    let value = i128::from(magnitude.unwrap_or(u64::MAX));
    let value = if negative { -value } else { value };
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// `strtoll` with base 0.
pub fn parse_signed(text: &[u8]) -> i64 {
    let (negative, magnitude, _) = scan(text, 0);
    saturated(negative, magnitude)
}

/// `atoi`.
pub fn parse_int(text: &[u8]) -> i32 {
    let (negative, magnitude, _) = scan(text, 10);
    saturated(negative, magnitude) as i32
}

/// A rank or a count that was written as a key: a whole non-negative number and nothing else.
pub fn parse_rank(text: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok()
}

fn parse_address(text: &[u8]) -> Option<usize> {
    if text == b"(nil)" {
        return Some(0);
    }
    let (negative, magnitude, count) = scan(text, 16);
    let value = magnitude.filter(|_| count > 0)? as usize;
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// `strtod`, independent of the locale; `None` where the number is too large for a double.
fn parse_double(text: &[u8]) -> Option<f64> {
    let text = skip_blanks(text);
    if let Some(value) = parse_hex_double(text) {
        return Some(value);
    }
    let number = &text[..number_length(text)];
    let number = std::str::from_utf8(number).ok()?;
    if number.is_empty() {
        return Some(0.0);
    }
    let value: f64 = number.parse().ok()?;
    let written_infinite = number.contains(['i', 'I']);
    (value.is_finite() || value.is_nan() || written_infinite).then_some(value)
}

/// A whole number in hexadecimal, as the CRC setter writes it.
fn parse_hex_double(text: &[u8]) -> Option<f64> {
    let (negative, magnitude, count) = scan(text, 0);
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let digits = &text[sign..];
    let is_hex = matches!(digits, [b'0', b'x' | b'X', ..]) && count > 0;
    let value = magnitude.filter(|_| is_hex)? as f64;
    Some(if negative { -value } else { value })
}

/// How many bytes at the start form a number (or `inf`, `nan`).
fn number_length(text: &[u8]) -> usize {
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let rest = &text[sign..];
    for word in [&b"infinity"[..], b"inf", b"nan"] {
        if rest.len() >= word.len() && rest[..word.len()].eq_ignore_ascii_case(word) {
            return sign + word.len();
        }
    }
    let digits = |from: &[u8]| from.iter().take_while(|c| c.is_ascii_digit()).count();
    let whole = digits(rest);
    let mut end = whole;
    if rest.get(end) == Some(&b'.') {
        let decimals = digits(&rest[end + 1..]);
        if whole + decimals > 0 {
            end += 1 + decimals;
        }
    }
    if end == 0 {
        return 0;
    }
    if let Some(b'e' | b'E') = rest.get(end) {
        let signed = usize::from(matches!(rest.get(end + 1), Some(b'-' | b'+')));
        let exponent = digits(&rest[(end + 1 + signed).min(rest.len())..]);
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    sign + end
}

#[cfg(test)]
mod tests;
