//! The functions that both file libraries have, alike but for the prefix of their names.
//!
//! Counts are `MPI_Offset` in one library and `size_t` in the other: both have 64 bits here.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::pio::{Error, Kind, Result};

const _: () = assert!(size_of::<usize>() == 8, "netCDF needs 64-bit counts");

/// A function and its name.
pub(super) struct Call<F> {
    pub(super) name: &'static str,
    pub(super) run: F,
}

/// One function for each kind of data in memory.
pub(super) type ByKind<F> = [Call<F>; 11];

pub(super) type Text = *const c_char;
pub(super) type Out<T> = *mut T;

pub(super) type PutAttribute =
    unsafe extern "C" fn(c_int, c_int, Text, c_int, i64, *const c_void) -> c_int;
pub(super) type GetAttribute = unsafe extern "C" fn(c_int, c_int, Text, Out<c_void>) -> c_int;

/// Makes the table [`Calls`] and, for each library, the macro that fills it.
macro_rules! calls {
    ($($name:ident ($($argument:ty),*);)*) => {
        pub(super) struct Calls {
            pub(super) strerror: unsafe extern "C" fn(c_int) -> Text,
            pub(super) put_att: ByKind<PutAttribute>,
            pub(super) get_att: ByKind<GetAttribute>,
            $(pub(super) $name: Call<unsafe extern "C" fn(c_int $(, $argument)*) -> c_int>,)*
        }

        macro_rules! calls_of {
            ($prefix:literal) => {{
                use std::ffi::{c_char, c_int, c_void};
                use $crate::pio::format::calls::{by_kind, Call, Calls, Out, Text};
                unsafe extern "C" {
                    #[link_name = concat!($prefix, "strerror")]
                    fn strerror(code: c_int) -> Text;
                    $(
                        #[link_name = concat!($prefix, stringify!($name))]
                        fn $name(id: c_int $(, _: $argument)*) -> c_int;
                    )*
                }
                Calls {
                    strerror,
                    // Characters are never converted: the plain put_att has just this form, put_att_text has not.
                    put_att: by_kind!($prefix, "put_att_", "", text $prefix, "put_att",
                        fn(c_int, c_int, Text, c_int, i64, *const c_void)),
                    get_att: by_kind!($prefix, "get_att_", "", fn(c_int, c_int, Text, Out<c_void>)),
                    $($name: Call { name: concat!($prefix, stringify!($name)), run: $name },)*
                }
            }};
        }
        pub(super) use calls_of;
    };
}

calls! {
    close();
    redef();
    enddef();
    sync();
    set_fill(c_int, Out<c_int>);
    inq(Out<c_int>, Out<c_int>, Out<c_int>, Out<c_int>);
    inq_format(Out<c_int>);
    def_dim(Text, i64, Out<c_int>);
    inq_dim(c_int, Out<c_char>, Out<i64>);
    inq_dimid(Text, Out<c_int>);
    rename_dim(c_int, Text);
    def_var(Text, c_int, c_int, *const c_int, Out<c_int>);
    inq_var(c_int, Out<c_char>, Out<c_int>, Out<c_int>, Out<c_int>, Out<c_int>);
    inq_varid(Text, Out<c_int>);
    rename_var(c_int, Text);
    inq_att(c_int, Text, Out<c_int>, Out<i64>);
    inq_attname(c_int, c_int, Out<c_char>);
    inq_attid(c_int, Text, Out<c_int>);
    rename_att(c_int, Text, Text);
    del_att(c_int, Text);
}

/// The functions `<prefix><head><type><tail>` as a [`ByKind`]; that for text may have another name.
macro_rules! by_kind {
    ($prefix:literal, $head:literal, $tail:literal, fn($($argument:ty),*)) => {
        by_kind!($prefix, $head, $tail, text $prefix, $head, "text", $tail, fn($($argument),*))
    };
    ($prefix:literal, $head:literal, $tail:literal, text $($text:literal,)* fn($($argument:ty),*)) => {
        by_kind!(@in_order fn($($argument),*);
            [$prefix, $head, "schar", $tail] [$($text),*] [$prefix, $head, "short", $tail]
            [$prefix, $head, "int", $tail] [$prefix, $head, "float", $tail] [$prefix, $head, "double", $tail]
            [$prefix, $head, "uchar", $tail] [$prefix, $head, "ushort", $tail] [$prefix, $head, "uint", $tail]
            [$prefix, $head, "longlong", $tail] [$prefix, $head, "ulonglong", $tail])
    };
    (@in_order fn $arguments:tt; $([$($part:literal),*])*) => {
        [$(by_kind!(@one concat!($($part),*), fn $arguments)),*]
    };
    (@one $name:expr, fn($($argument:ty),*)) => {{
        unsafe extern "C" {
            #[link_name = $name]
            fn run($(_: $argument),*) -> c_int;
        }
        Call { name: $name, run: run as unsafe extern "C" fn($($argument),*) -> c_int }
    }};
}
pub(super) use by_kind;

/// The function for one kind.
pub(super) fn of_kind<F>(table: &ByKind<F>, kind: Kind) -> &Call<F> {
    &table[kind as usize - 1]
}

impl Calls {
    /// An error of the library, with the library's own words for it.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let text = self.text_of(code);
        Err(Error::Format { call, code, text })
    }

    pub(super) fn text_of(&self, code: c_int) -> String {
        // SAFETY: the library has a text for every number, and it lives forever.
        let text = unsafe { CStr::from_ptr((self.strerror)(code)) };
        text.to_string_lossy().into_owned()
    }
}
