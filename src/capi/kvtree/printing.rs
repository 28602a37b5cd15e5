//! # Printing

use super::{KVTREE_FAILURE, KVTREE_SUCCESS, kvtree};
use crate::capi::boundary::In;
use crate::capi::guard;
use crate::kvtree::print::{self, PrintMode};
use crate::log;
use std::ffi::{CString, c_int};

const KVTREE_PRINT_TREE: c_int = 1;
const KVTREE_PRINT_KEYVAL: c_int = 2;

/// Prints the tree to standard output, one key per line, indented by `indent` and two more per level.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_print(hash: In<kvtree>, indent: c_int) -> c_int {
    kvtree_print_mode(hash, indent, KVTREE_PRINT_TREE)
}

/// As kvtree_print; KVTREE_PRINT_KEYVAL as `mode` prints a key with one value as `key = value`.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_print_mode(hash: In<kvtree>, indent: c_int, mode: c_int) -> c_int {
    let mode = match mode {
        KVTREE_PRINT_KEYVAL => PrintMode::KeyValue,
        _ => PrintMode::Tree,
    };
    print(hash, indent, mode, |line| {
        let line = CString::new(line).unwrap_or_default();
        // C's stdout, so that lines keep their order among those of the program.
        // SAFETY: a C string.
        unsafe { libc::puts(line.as_ptr()) };
    })
}

/// Logs the tree, one key per line, at this log level.
#[unsafe(no_mangle)]
pub extern "C" fn kvtree_log(hash: In<kvtree>, log_level: c_int, indent: c_int) -> c_int {
    let level = log::LogLevel::nearest(log_level);
    print(hash, indent, PrintMode::Tree, |line| {
        log::write(level, format_args!("{}", String::from_utf8_lossy(line)));
    })
}

fn print(hash: In<kvtree>, indent: c_int, mode: PrintMode, mut line: impl FnMut(&[u8])) -> c_int {
    guard(KVTREE_FAILURE, || {
        print::lines(hash.tree(), indent.max(0) as usize, mode, &mut line);
        KVTREE_SUCCESS
    })
}
