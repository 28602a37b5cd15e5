//! Output of the commands. If the reader of standard output has gone (`| head`), the command exits at once, as others do
//! on SIGPIPE. Any other failure to write there, such as a full disk, is an error. Failures to write to standard error
//! are ignored.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

/// 128 + SIGPIPE, as a shell reports it.
const ENDED_BY_SIGPIPE: i32 = 141;

/// Exits if the reader of standard output has gone; otherwise turns the error into a text.
pub(crate) fn check_written(outcome: io::Result<()>) -> Result<(), String> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            std::process::exit(ENDED_BY_SIGPIPE);
        }
        outcome => outcome.map_err(|error| format!("standard output: {error}")),
    }
}

/// Writes to standard output.
pub(crate) fn print(text: Arguments) -> Result<(), String> {
    let mut out = io::stdout().lock();
    check_written(out.write_fmt(text).and_then(|()| out.flush()))
}

/// Writes to standard error, and ignores failures.
pub(crate) fn print_error(text: Arguments) {
    let _ = io::stderr().lock().write_fmt(text);
}
