//! The pointers of C, as types. Each is exactly a pointer, so it stands in the signature of an exported function; what C
//! promises about it is written here, once. A promise holds for the duration of the call, `'a`.
//!
//! | type | in C | promise |
//! |---|---|---|
//! | [`In`] | `const T*` | NULL, or a value that nobody changes |
//! | [`Out`] | `T*` | NULL, or room for a value, which may be uninitialized |
//! | [`InOut`] | `T*` | NULL, or a value that nobody else uses |
//! | [`Text`] | `const char*` | NULL, or a string that ends with NUL and that nobody changes |
//! | [`Array`] | `const T*` | NULL, or as many values as the header says; nobody changes them |
//! | [`OutArray`] | `T*` | NULL, or room for as many values as the header says; nobody else uses it |
//!
//! How many values an array has, another argument tells: so its length is what is left to be said, with `unsafe`, in the
//! function that knows. Output pointers may be equal: they are written through, one after the other, never borrowed.

use crate::reserve;
use std::ffi::{CStr, OsStr, c_char};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

#[repr(transparent)]
pub struct In<'a, T>(*const T, PhantomData<&'a T>);

#[repr(transparent)]
pub struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

#[repr(transparent)]
pub struct InOut<'a, T>(*mut T, PhantomData<&'a mut T>);

#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text<'a>(*const c_char, PhantomData<&'a CStr>);

#[repr(transparent)]
pub struct Array<'a, T>(*const T, PhantomData<&'a T>);

#[repr(transparent)]
pub struct OutArray<'a, T>(*mut T, PhantomData<&'a mut T>);

/// What every pointer has. One comes from C, from a reference, or is NULL: no other can be made.
macro_rules! pointers {
    ($($name:ident $pointer:ty, $null:path;)*) => {$(
        impl<T> Clone for $name<'_, T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<'_, T> {}
        impl<T> $name<'_, T> {
            pub const NULL: Self = Self($null(), PhantomData);

            pub fn is_null(self) -> bool {
                self.0.is_null()
            }

            pub fn as_ptr(self) -> $pointer {
                self.0
            }
        }
    )*};
}

pointers! {
    In *const T, ptr::null;
    Out *mut T, ptr::null_mut;
    InOut *mut T, ptr::null_mut;
    Array *const T, ptr::null;
    OutArray *mut T, ptr::null_mut;
}

impl<'a, T> In<'a, T> {
    #[inline]
    pub fn get(self) -> Option<&'a T> {
        // SAFETY: the promise of `In`.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Out<'_, T> {
    /// Stores a result unless the caller gave NULL, and tells whether it did.
    #[inline]
    pub fn set(self, value: T) -> bool {
        if self.is_null() {
            return false;
        }
        // SAFETY: the promise of `Out`.
        unsafe { self.0.write(value) };
        true
    }
}

impl<T> InOut<'_, T> {
    pub fn get(self) -> Option<T>
    where
        T: Copy,
    {
        // SAFETY: the promise of `InOut`.
        (!self.is_null()).then(|| unsafe { self.0.read() })
    }

    /// Stores a value unless the caller gave NULL; returns the old one.
    pub fn replace(self, value: T) -> Option<T> {
        // SAFETY: the promise of `InOut`.
        (!self.is_null()).then(|| unsafe { self.0.replace(value) })
    }
}

impl<'a> Text<'a> {
    pub const NULL: Self = Self(ptr::null(), PhantomData);

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub fn as_ptr(self) -> *const c_char {
        self.0
    }

    #[inline]
    pub fn get(self) -> Option<&'a CStr> {
        // SAFETY: the promise of `Text`.
        (!self.is_null()).then(|| unsafe { CStr::from_ptr(self.0) })
    }

    pub fn path(self) -> Option<&'a Path> {
        self.get().map(path_of)
    }
}

pub fn path_of(text: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(text.to_bytes()))
}

impl<'a, T> Array<'a, T> {
    /// The same values as bytes, or as the type that another argument tells.
    pub fn cast<U>(self) -> Array<'a, U> {
        Array(self.0.cast(), PhantomData)
    }

    /// `None` if there are values and the caller gave NULL, or more than memory can hold.
    ///
    /// # Safety
    /// The header says that the array has `length` values.
    pub unsafe fn slice(self, length: usize) -> Option<&'a [T]> {
        match length {
            0 => Some(&[]),
            _ if self.is_null() || !fits::<T>(length) => None,
            // SAFETY: the promise of `Array`, and of the caller.
            _ => Some(unsafe { std::slice::from_raw_parts(self.0, length) }),
        }
    }
}

impl<'a, T> OutArray<'a, T> {
    /// As [`Array::cast`].
    pub fn cast<U>(self) -> OutArray<'a, U> {
        OutArray(self.0.cast(), PhantomData)
    }

    /// For what is only read, though the header does not say `const`.
    pub fn as_array(self) -> Array<'a, T> {
        Array(self.0.cast_const(), PhantomData)
    }

    /// As [`Array::slice`], for values that are initialized.
    ///
    /// # Safety
    /// The header says that the array has `length` values, and no other pointer is used while the slice is.
    pub unsafe fn slice(self, length: usize) -> Option<&'a mut [T]> {
        match length {
            0 => Some(&mut []),
            _ if self.is_null() || !fits::<T>(length) => None,
            // SAFETY: the promise of `OutArray`, and of the caller.
            _ => Some(unsafe { std::slice::from_raw_parts_mut(self.0, length) }),
        }
    }

    /// Stores results unless the caller gave NULL.
    ///
    /// # Safety
    /// The header says that there is room for as many.
    pub unsafe fn fill(self, values: &[T])
    where
        T: Copy,
    {
        if !self.is_null() {
            // SAFETY: the promise of `OutArray`, and of the caller.
            unsafe {
                self.0
                    .copy_from_nonoverlapping(values.as_ptr(), values.len())
            };
        }
    }
}

impl OutArray<'_, c_char> {
    /// Stores a text, cut to `room` bytes with the closing NUL, unless the caller gave NULL.
    ///
    /// # Safety
    /// The header says that there is room for so many bytes.
    pub unsafe fn put(self, room: usize, text: &CStr) {
        if self.is_null() || room == 0 {
            return;
        }
        let bytes = text.to_bytes();
        let kept = bytes.len().min(room - 1);
        // SAFETY: the promise of `OutArray`, and of the caller; `kept` is less than `room`.
        unsafe {
            self.0.copy_from_nonoverlapping(bytes.as_ptr().cast(), kept);
            self.0.add(kept).write(0);
        }
    }
}

fn fits<T>(length: usize) -> bool {
    let bytes = length.checked_mul(size_of::<T>());
    bytes.is_some_and(|bytes| bytes <= isize::MAX as usize)
}

// ---- handles ----

/// A Rust value that C knows by its address only.
///
/// It begins with a word that names its type and is wiped when C gives it up: best effort to tell a stale pointer or a
/// handle of another kind.
#[repr(C)]
pub struct Handle<T> {
    magic: u64,
    value: T,
}

/// A type that C may hold a handle to.
pub trait Opaque: Sized {
    /// Differs for every type.
    const MAGIC: u64;
}

impl<T: Opaque> Handle<T> {
    /// Gives the value to C.
    pub fn hand_out(value: T) -> InOut<'static, Self> {
        let magic = T::MAGIC;
        InOut(Box::into_raw(Box::new(Self { magic, value })), PhantomData)
    }
}

impl<'a, T: Opaque> In<'a, Handle<T>> {
    /// `None` for NULL and for what is no such handle.
    pub fn value(self) -> Option<&'a T> {
        // SAFETY: every handle begins with its magic word, and this one says that the value is a `T`.
        unsafe { (!self.is_null() && (*self.0).magic == T::MAGIC).then(|| &(*self.0).value) }
    }
}

impl<'a, T: Opaque> InOut<'a, Handle<T>> {
    /// As [`In::value`].
    pub fn value(self) -> Option<&'a T> {
        In(self.0.cast_const(), PhantomData).value()
    }

    /// Takes the value back from C.
    ///
    /// # Safety
    /// The header says that the caller gives the handle up.
    pub unsafe fn take(self) -> Option<T> {
        self.value()?;
        // SAFETY: a handle, which comes from `hand_out`, and which nobody uses any more.
        let mut handle = unsafe { Box::from_raw(self.0) };
        // SAFETY: ours alone. Volatile, since nobody is seen to read it.
        unsafe { (&raw mut handle.magic).write_volatile(0) };
        Some(handle.value)
    }
}

// ---- memory that C frees ----

/// A copy that C gives to `free`; `None` when memory has run out.
pub(super) fn malloc_copy<T: Copy>(values: &[T]) -> Option<*mut T> {
    let place = reserve::malloc(size_of_val(values).max(1)).cast::<T>();
    if place.is_null() {
        return None;
    }
    // SAFETY: malloc gave room for all values, aligned for any type.
    unsafe { ptr::copy_nonoverlapping(values.as_ptr(), place, values.len()) };
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a caller in C would.
    impl<'a, T> From<&'a mut T> for Out<'a, T> {
        fn from(place: &'a mut T) -> Self {
            Out(place, PhantomData)
        }
    }

    impl<'a, T> From<&'a mut T> for InOut<'a, T> {
        fn from(place: &'a mut T) -> Self {
            InOut(place, PhantomData)
        }
    }

    impl<'a> From<&'a CStr> for Text<'a> {
        fn from(text: &'a CStr) -> Self {
            Text(text.as_ptr(), PhantomData)
        }
    }

    impl<'a, T> From<&'a [T]> for Array<'a, T> {
        fn from(values: &'a [T]) -> Self {
            Array(values.as_ptr(), PhantomData)
        }
    }

    impl<'a, T> From<&'a mut [T]> for OutArray<'a, T> {
        fn from(values: &'a mut [T]) -> Self {
            OutArray(values.as_mut_ptr(), PhantomData)
        }
    }

    struct Set(Vec<u32>);
    impl Opaque for Set {
        const MAGIC: u64 = 0x5345_5400;
    }
    struct Other;
    impl Opaque for Other {
        const MAGIC: u64 = 0x4f54_4845;
    }

    #[test]
    fn a_handle_gives_back_its_value_and_only_to_its_type() {
        let handle = Handle::hand_out(Set(vec![1, 2]));
        let wrong = InOut::<Handle<Other>>(handle.0.cast(), PhantomData);
        assert!(wrong.value().is_none());
        assert_eq!(handle.value().unwrap().0, [1, 2]);
        // SAFETY: nobody uses it afterwards.
        unsafe {
            assert!(wrong.take().is_none());
            assert_eq!(handle.take().unwrap().0, [1, 2]);
            assert!(InOut::<Handle<Set>>::NULL.take().is_none());
        }
    }

    #[test]
    fn null_is_nothing() {
        assert!(In::<c_char>::NULL.get().is_none() && Text::NULL.get().is_none());
        assert!(!Out::NULL.set(1) && InOut::NULL.replace(1).is_none());
        assert!(In::<Handle<Set>>::NULL.value().is_none());
    }

    #[test]
    fn a_result_goes_where_the_caller_wants_it() {
        let (mut first, mut second) = (1, 2);
        assert!(Out::from(&mut first).set(7));
        assert_eq!(InOut::from(&mut second).replace(8), Some(2));
        assert_eq!((first, second), (7, 8));
    }

    #[test]
    fn an_array_has_the_length_that_is_told() {
        let numbers = [1_i64, 2];
        // SAFETY: as many as there are, or refused.
        unsafe {
            assert_eq!(Array::from(&numbers[..]).slice(2).unwrap(), numbers);
            assert!(Array::<i64>::NULL.slice(0).unwrap().is_empty());
            assert!(Array::<i64>::NULL.slice(1).is_none());
            assert!(Array::from(&numbers[..]).slice(usize::MAX / 8).is_none());
            assert!(OutArray::<i64>::NULL.slice(1).is_none());
        }
    }

    #[test]
    fn a_text_is_cut_to_the_room_there_is() {
        let mut place = [b'?' as c_char; 4];
        let mut put = |room| {
            // SAFETY: no more room is told than there is.
            unsafe { OutArray::from(&mut place[..]).put(room, c"abc") };
            place.map(|c| c as u8)
        };
        assert_eq!(&put(0), b"????");
        assert_eq!(&put(3), b"ab\0?");
        assert_eq!(&put(4), b"abc\0");
    }
}
