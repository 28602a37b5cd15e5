//! Conversion of a value to another type of data.

use super::Kind;

enum Number {
    Whole(i128),
    Real(f64),
}

/// The same value in another kind, if that can hold it. Characters are not converted to numbers.
pub(super) fn convert(value: &[u8], from: Kind, to: Kind) -> Option<Vec<u8>> {
    if from == to {
        return Some(value.to_vec());
    }
    match number(value, from)? {
        Number::Whole(value) => from_whole(value, to),
        Number::Real(value) => from_real(value, to),
    }
}

macro_rules! parse {
    ($bytes:expr, $type:ty) => {
        <$type>::from_ne_bytes($bytes.try_into().ok()?)
    };
}

fn number(value: &[u8], kind: Kind) -> Option<Number> {
    Some(match kind {
        Kind::Char => return None,
        Kind::Byte => Number::Whole(parse!(value, i8).into()),
        Kind::Short => Number::Whole(parse!(value, i16).into()),
        Kind::Int => Number::Whole(parse!(value, i32).into()),
        Kind::Int64 => Number::Whole(parse!(value, i64).into()),
        Kind::UnsignedByte => Number::Whole(parse!(value, u8).into()),
        Kind::UnsignedShort => Number::Whole(parse!(value, u16).into()),
        Kind::UnsignedInt => Number::Whole(parse!(value, u32).into()),
        Kind::UnsignedInt64 => Number::Whole(parse!(value, u64).into()),
        Kind::Float => Number::Real(parse!(value, f32).into()),
        Kind::Double => Number::Real(parse!(value, f64)),
    })
}

fn from_whole(value: i128, to: Kind) -> Option<Vec<u8>> {
    fn fitting<T: TryFrom<i128>, const N: usize>(
        value: i128,
        bytes: impl Fn(T) -> [u8; N],
    ) -> Option<Vec<u8>> {
        Some(bytes(T::try_from(value).ok()?).to_vec())
    }
    match to {
        Kind::Char => None,
        Kind::Byte => fitting(value, i8::to_ne_bytes),
        Kind::Short => fitting(value, i16::to_ne_bytes),
        Kind::Int => fitting(value, i32::to_ne_bytes),
        Kind::Int64 => fitting(value, i64::to_ne_bytes),
        Kind::UnsignedByte => fitting(value, u8::to_ne_bytes),
        Kind::UnsignedShort => fitting(value, u16::to_ne_bytes),
        Kind::UnsignedInt => fitting(value, u32::to_ne_bytes),
        Kind::UnsignedInt64 => fitting(value, u64::to_ne_bytes),
        Kind::Float => Some((value as f32).to_ne_bytes().to_vec()),
        Kind::Double => Some((value as f64).to_ne_bytes().to_vec()),
    }
}

fn from_real(value: f64, to: Kind) -> Option<Vec<u8>> {
    match to {
        Kind::Double => Some(value.to_ne_bytes().to_vec()),
        Kind::Float => {
            let narrow = value as f32;
            let fits = narrow.is_finite() || !value.is_finite();
            fits.then(|| narrow.to_ne_bytes().to_vec())
        }
        _ => {
            let whole = value as i128;
            (whole as f64 == value).then(|| from_whole(whole, to))?
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(value: i32, to: Kind) -> Option<Vec<u8>> {
        convert(&value.to_ne_bytes(), Kind::Int, to)
    }

    fn real(value: f64, to: Kind) -> Option<Vec<u8>> {
        convert(&value.to_ne_bytes(), Kind::Double, to)
    }

    #[test]
    fn values_that_fit_stay_the_same() {
        assert_eq!(whole(-2, Kind::Byte), Some(vec![254]));
        assert_eq!(
            whole(-2, Kind::Double),
            Some((-2_f64).to_ne_bytes().to_vec())
        );
        assert_eq!(real(7.0, Kind::Short), Some(7_i16.to_ne_bytes().to_vec()));
        assert_eq!(real(0.5, Kind::Float), Some(0.5_f32.to_ne_bytes().to_vec()));
        assert_eq!(convert(&[65], Kind::Char, Kind::Char), Some(vec![65]));
    }

    #[test]
    fn the_default_of_a_real_kind_is_that_of_the_other() {
        let fill = Kind::Float.default_fill();
        let wide = convert(&fill, Kind::Float, Kind::Double).unwrap();
        assert_eq!(convert(&wide, Kind::Double, Kind::Float), Some(fill));
    }

    #[test]
    fn values_that_do_not_fit_are_none() {
        assert_eq!(whole(-1, Kind::UnsignedInt64), None);
        assert_eq!(whole(200, Kind::Byte), None);
        assert_eq!(whole(65, Kind::Char), None);
        assert_eq!(real(0.5, Kind::Int), None);
        assert_eq!(real(1e300, Kind::Float), None);
        assert_eq!(real(1e30, Kind::Int64), None);
        assert_eq!(real(f64::NAN, Kind::Int), None);
        assert_eq!(convert(&[65], Kind::Char, Kind::Int), None);
        assert_eq!(convert(&[1, 2], Kind::Int, Kind::Double), None);
    }
}
