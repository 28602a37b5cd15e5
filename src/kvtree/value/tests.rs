//! Text forms against the C library that defines them.
#![allow(unsafe_code)]

use super::super::Tree;
use super::*;
use proptest::prelude::*;
use std::ffi::c_char;

/// `snprintf` of a double.
fn percent_f(value: f64) -> CString {
    let mut text = vec![0u8; 400];
    let place = text.as_mut_ptr().cast::<c_char>();
    // SAFETY: the buffer is as long as is said; %f of a double is shorter than 400 bytes.
    unsafe { libc::snprintf(place, text.len(), c"%f".as_ptr(), value) };
    CStr::from_bytes_until_nul(&text).unwrap().to_owned()
}

/// `strtod`, and whether the number was too large for it.
fn strtod(text: &CStr) -> (f64, bool) {
    // SAFETY: text is a C string; errno belongs to this thread.
    unsafe {
        *libc::__errno_location() = 0;
        let value = libc::strtod(text.as_ptr(), std::ptr::null_mut());
        let range = *libc::__errno_location() == libc::ERANGE;
        (value, range && value.is_infinite())
    }
}

fn strtoul(text: &CStr) -> u64 {
    // SAFETY: text is a C string.
    unsafe { libc::strtoul(text.as_ptr(), std::ptr::null_mut(), 0) }
}

fn strtoll(text: &CStr) -> i64 {
    // SAFETY: text is a C string.
    unsafe { libc::strtoll(text.as_ptr(), std::ptr::null_mut(), 0) }
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn read_back(value: f64) -> f64 {
    let mut tree = Tree::new();
    tree.edit().set_double(c"key", value);
    tree.view().value_double(c"key").unwrap()
}

/// `%f` where that is exact, and the same number again in any case.
fn assert_double(value: f64) {
    let short = percent_f(value);
    let text = double(value);
    if same(strtod(&short).0, value) {
        assert_eq!(text, short);
    }
    assert!(same(strtod(&text).0, value), "{value:e} as {text:?}");
    assert!(same(read_back(value), value), "{value:e} as {text:?}");
}

#[test]
fn doubles_at_the_edges() {
    let edges = [
        0.0,
        -0.0,
        1.0,
        0.1,
        1.0 / 3.0,
        1e-7,
        1e22,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
        f64::EPSILON,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
    ];
    edges.into_iter().for_each(assert_double);
    assert_eq!(&*double(1.5), c"1.500000");
    assert_eq!(&*double(1.0 / 3e5), c"3.3333333333333333e-6");
}

/// What people and programs write as numbers, and what they should not.
fn number_text() -> impl Strategy<Value = CString> {
    let text = prop_oneof![
        "[ \t\n\x0b\x0c\r]{0,2}[-+]{0,2}(0x|0X|0)?[0-9a-fA-F]{0,25}[ xg-]{0,2}",
        "[-+]?[0-9]{17,22}",
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| format!("{n:#x}")),
        "[ -~]{0,8}",
    ];
    text.prop_map(|text| CString::new(text).unwrap())
}

fn double_text() -> impl Strategy<Value = CString> {
    let text = prop_oneof![
        "[ \t\n\x0b\x0c\r]{0,2}[-+]{0,2}[0-9]{0,20}[.]{0,2}[0-9]{0,20}([eE][-+]?[0-9]{0,3})?[x ]?",
        "[-+]?(0x|0X)[0-9a-fA-F]{0,16}[ g]?",
        "[-+]?[iI][nN][fF](inity)?[xy]?",
        "[-+]?[nN][aA][nN]x?",
        any::<f64>().prop_map(|n| format!("{n:e}")),
    ];
    text.prop_map(|text| CString::new(text).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_bit_pattern_reads_back(bits: u64) {
        assert_double(f64::from_bits(bits));
    }

    #[test]
    fn doubles_that_six_decimals_hold_are_written_with_six(whole in -1i64 << 40..1 << 40, part in 0..6) {
        assert_double(whole as f64 / 10f64.powi(part));
        assert_double(whole as f64 / 2f64.powi(part));
    }

    #[test]
    fn whole_numbers_are_read_as_c_reads_them(text in number_text()) {
        let bytes = text.to_bytes();
        prop_assert_eq!(parse_unsigned(bytes), strtoul(&text), "strtoul {:?}", text);
        prop_assert_eq!(parse_signed(bytes), strtoll(&text), "strtoll {:?}", text);
        prop_assert_eq!(parse_int(bytes), super::super::model::atoi(&text), "atoi {:?}", text);
    }

    #[test]
    fn doubles_are_read_as_c_reads_them(text in double_text()) {
        let (expected, too_large) = strtod(&text);
        match parse_double(text.to_bytes()) {
            Some(value) => prop_assert!(same(value, expected), "{text:?}: {value:e} {expected:e}"),
            None => prop_assert!(too_large, "{text:?}"),
        }
        prop_assert_eq!(parse_double(text.to_bytes()).is_none(), too_large);
    }

    #[test]
    fn any_bytes_can_be_read(text in proptest::collection::vec(1..=255u8, 0..12)) {
        let text = CString::new(text).unwrap();
        prop_assert_eq!(parse_unsigned(text.to_bytes()), strtoul(&text));
        parse_double(text.to_bytes());
        parse_address(text.to_bytes());
        parse_rank(text.to_bytes());
    }

    #[test]
    fn numbers_survive_a_tree(int: i32, long: i64, size: u64, crc: u32, address: usize) {
        let mut tree = Tree::new();
        let mut edit = tree.edit();
        edit.set_int(c"int", int);
        edit.set_i64(c"long", long);
        edit.set_u64(c"size", size);
        edit.set_crc32(c"crc", crc);
        edit.set_address(c"address", address);
        let tree = tree.view();
        prop_assert_eq!(tree.value_int(c"int").unwrap(), int);
        prop_assert_eq!(tree.value_i64(c"long").unwrap(), long);
        prop_assert_eq!(tree.value_u64(c"size").unwrap(), size);
        prop_assert_eq!(tree.value_u64(c"crc").unwrap(), u64::from(crc));
        prop_assert_eq!(tree.value_address(c"address").unwrap(), address);
    }
}

#[test]
fn forms_of_whole_numbers() {
    assert_eq!(&*signed_text(i64::MIN), c"-9223372036854775808");
    assert_eq!(&*signed_text(0), c"0");
    assert_eq!(&*unsigned_text(u64::MAX), c"18446744073709551615");
    assert_eq!(&*rank_text(12), c"12");
    assert_eq!(&*hex(0), c"0");
    assert_eq!(&*hex(0xdead_beef), c"0xdeadbeef");
    assert_eq!(&*address(0), c"(nil)");
    assert_eq!(&*address(0x1000), c"0x1000");
}

#[test]
fn ranks_are_whole_numbers_and_nothing_else() {
    assert_eq!(parse_rank(b"12"), Some(12));
    for text in [
        &b""[..],
        b"-1",
        b" 1",
        b"1 ",
        b"0x1",
        b"99999999999999999999",
        b"\xff",
    ] {
        assert_eq!(parse_rank(text), None, "{text:?}");
    }
}

#[test]
fn setters_differ_in_what_they_leave_below() {
    let mut tree = Tree::new();
    let mut edit = tree.edit();
    edit.set_int(c"int", 1);
    edit.set_str(c"str", c"1");
    edit.set_u64(c"size", 1);
    let below = |key| tree.view().get(key).unwrap().get(c"1").is_some();
    assert!(below(c"int") && below(c"str") && !below(c"size"));
}

#[test]
fn a_value_is_the_only_one_of_its_key() {
    let mut tree = Tree::new();
    tree.edit().set_int(c"key", 1);
    tree.edit().set_int(c"key", 2);
    assert_eq!(tree.view().value(c"key").unwrap(), c"2");
    tree.edit().set_kv(c"key", c"3");
    let error = tree.view().value_u64(c"key").unwrap_err();
    assert!(matches!(error, Error::NotSingle { count: 2, .. }));
    assert_eq!(tree.view().value_int(c"key").unwrap(), 3);
    let error = tree.view().value_int(c"other").unwrap_err();
    assert!(matches!(error, Error::NotSet(_)));
    tree.edit().child(c"empty");
    let error = tree.view().value(c"empty").unwrap_err();
    assert!(matches!(error, Error::NotSingle { count: 0, .. }));
}

#[test]
fn text_that_is_no_number_is_an_error_where_it_was_one() {
    let mut tree = Tree::new();
    tree.edit().set_str(c"key", c"1e999");
    let error = tree.view().value_double(c"key").unwrap_err();
    assert_eq!(
        error.to_string(),
        r#""1e999" below key "key" is not a finite number"#
    );
    tree.edit().set_str(c"key", c"nowhere");
    assert!(tree.view().value_address(c"key").is_err());
}

#[test]
fn a_key_goes_with_its_last_value() {
    let mut tree = Tree::new();
    tree.edit().set_kv(c"key", c"1");
    tree.edit().set_kv(c"key", c"2");
    tree.edit().unset_kv(c"key", Some(c"3"));
    tree.edit().unset_kv(c"key", Some(c"1"));
    assert_eq!(tree.view().value(c"key").unwrap(), c"2");
    tree.edit().unset_kv(c"key", Some(c"2"));
    assert!(tree.view().elem(c"key").is_none());
    tree.edit().child(c"empty");
    tree.edit().unset_kv(c"empty", None);
    assert!(tree.view().is_empty());
}
