//! Printing. Whoever reads standard output may stop (`| head`): then the command ends at once, as others do. A full
//! disk behind it is a failure. Standard error may be closed: what is written there is lost, nothing else happens.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

/// As a shell reports a command that SIGPIPE has ended.
const ENDED_BY_READER: i32 = 141;

/// Ends the command if its reader is gone.
pub(crate) fn written(outcome: io::Result<()>) -> Result<(), String> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            std::process::exit(ENDED_BY_READER);
        }
        outcome => outcome.map_err(|error| format!("standard output: {error}")),
    }
}

/// Writes to standard output.
pub(crate) fn print(text: Arguments) -> Result<(), String> {
    let mut out = io::stdout().lock();
    written(out.write_fmt(text).and_then(|()| out.flush()))
}

/// Writes to standard error, if somebody listens.
pub(crate) fn complain(text: Arguments) {
    let _ = io::stderr().lock().write_fmt(text);
}
