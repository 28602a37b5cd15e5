//! Answers of an I/O task as bytes, to be broadcast.

use std::ffi::CString;

use super::super::Kind;
use super::super::format::{Attribute, Counts, Variable};

/// [`Shared::take`] reads back what [`Shared::put`] appended.
pub trait Shared: Sized {
    fn put(&self, bytes: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

impl Shared for () {
    fn put(&self, _bytes: &mut Vec<u8>) {}

    fn take(_bytes: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

macro_rules! shared_numbers {
    ($($type:ty)*) => {$(
        impl Shared for $type {
            fn put(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn take(bytes: &mut &[u8]) -> Option<Self> {
                let (own, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(<$type>::from_le_bytes(*own))
            }
        }
    )*};
}

shared_numbers! { u8 i32 i64 u64 }

impl Shared for bool {
    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.push((*self).into());
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        u8::take(bytes).map(|byte| byte != 0)
    }
}

impl Shared for Kind {
    fn put(&self, bytes: &mut Vec<u8>) {
        (*self as i32).put(bytes);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        Kind::from_number(i32::take(bytes)?).ok()
    }
}

impl<T: Shared> Shared for Vec<T> {
    fn put(&self, bytes: &mut Vec<u8>) {
        (self.len() as u64).put(bytes);
        self.iter().for_each(|item| item.put(bytes));
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let length = u64::take(bytes)?;
        (0..length).map(|_| T::take(bytes)).collect()
    }
}

impl<T: Shared> Shared for Option<T> {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.is_some().put(bytes);
        self.iter().for_each(|value| value.put(bytes));
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        match bool::take(bytes)? {
            true => T::take(bytes).map(Some),
            false => Some(None),
        }
    }
}

impl Shared for CString {
    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.as_bytes_with_nul());
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let (own, rest) = bytes.split_at(end);
        *bytes = &rest[1..];
        CString::new(own).ok()
    }
}

macro_rules! shared_fields {
    ($($type:ident { $($field:ident)* })*) => {$(
        impl Shared for $type {
            fn put(&self, bytes: &mut Vec<u8>) {
                $(self.$field.put(bytes);)*
            }

            fn take(bytes: &mut &[u8]) -> Option<Self> {
                $(let $field = Shared::take(bytes)?;)*
                Some($type { $($field),* })
            }
        }
    )*};
}
pub(in crate::pio) use shared_fields;

shared_fields! {
    Variable { name kind dims attributes }
    Attribute { kind length }
    Counts { dims vars attributes unlimited }
}

macro_rules! shared_tuples {
    ($(($($part:ident)*))*) => {$(
        impl<$($part: Shared),*> Shared for ($($part,)*) {
            fn put(&self, bytes: &mut Vec<u8>) {
                #[allow(non_snake_case)]
                let ($($part,)*) = self;
                $($part.put(bytes);)*
            }

            fn take(bytes: &mut &[u8]) -> Option<Self> {
                Some(($($part::take(bytes)?,)*))
            }
        }
    )*};
}

shared_tuples! { (A B) (A B D) (A B D E) }

#[cfg(test)]
mod tests {
    use super::*;

    fn survives<T: Shared + PartialEq + std::fmt::Debug>(value: T) {
        let mut bytes = Vec::new();
        value.put(&mut bytes);
        let mut left = &bytes[..];
        assert_eq!(T::take(&mut left), Some(value));
        assert!(left.is_empty());
        for shorter in 0..bytes.len() {
            assert_eq!(T::take(&mut &bytes[..shorter]), None);
        }
    }

    #[test]
    fn what_is_put_is_taken() {
        survives(());
        survives((-5, u64::MAX, true));
        survives((CString::new("lat").unwrap(), Vec::<u8>::new()));
        survives(vec![vec![1_u8, 2], vec![], vec![0]]);
        survives((None::<i32>, Some(7_i32)));
        survives(Variable {
            name: CString::new("").unwrap(),
            kind: Kind::UnsignedInt64,
            dims: vec![2, 0],
            attributes: 7,
        });
        survives(Counts {
            dims: 1,
            vars: 2,
            attributes: 3,
            unlimited: -1,
        });
        survives(vec![Attribute {
            kind: Kind::Char,
            length: 1 << 40,
        }]);
    }
}
