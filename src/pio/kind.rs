//! The types of data in arrays and variables.

use super::{Error, Result};

/// A type of the netCDF formats, with its number there and in PIO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Kind {
    Byte = 1,
    Char = 2,
    Short = 3,
    Int = 4,
    Float = 5,
    Double = 6,
    UnsignedByte = 7,
    UnsignedShort = 8,
    UnsignedInt = 9,
    Int64 = 10,
    UnsignedInt64 = 11,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Byte,
        Kind::Char,
        Kind::Short,
        Kind::Int,
        Kind::Float,
        Kind::Double,
        Kind::UnsignedByte,
        Kind::UnsignedShort,
        Kind::UnsignedInt,
        Kind::Int64,
        Kind::UnsignedInt64,
    ];

    pub fn from_number(number: i32) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| *kind as i32 == number);
        found.ok_or(Error::Kind(number))
    }

    /// Bytes of one element in memory.
    pub fn size(self) -> usize {
        match self {
            Kind::Byte | Kind::Char | Kind::UnsignedByte => 1,
            Kind::Short | Kind::UnsignedShort => 2,
            Kind::Int | Kind::UnsignedInt | Kind::Float => 4,
            Kind::Double | Kind::Int64 | Kind::UnsignedInt64 => 8,
        }
    }

    /// As NC_FILL_...
    pub fn default_fill(self) -> Vec<u8> {
        const REAL: f64 = 9.969_209_968_386_869e36;
        match self {
            Kind::Byte => (-127_i8).to_ne_bytes().to_vec(),
            Kind::Char => vec![0],
            Kind::Short => (-32767_i16).to_ne_bytes().to_vec(),
            Kind::Int => (-2_147_483_647_i32).to_ne_bytes().to_vec(),
            Kind::Float => (REAL as f32).to_ne_bytes().to_vec(),
            Kind::Double => REAL.to_ne_bytes().to_vec(),
            Kind::UnsignedByte => vec![255],
            Kind::UnsignedShort => 65535_u16.to_ne_bytes().to_vec(),
            Kind::UnsignedInt => u32::MAX.to_ne_bytes().to_vec(),
            Kind::Int64 => (-9_223_372_036_854_775_806_i64).to_ne_bytes().to_vec(),
            Kind::UnsignedInt64 => (u64::MAX - 1).to_ne_bytes().to_vec(),
        }
    }
}
