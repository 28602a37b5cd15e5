//! `stanchion inspect`: prints the kvtree in files.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use stanchion::kvtree::print::{PrintMode, lines};
use stanchion::kvtree::{Tree, file};

use super::output::{self, print_error};
use super::{CommandError, operands};

pub(super) fn run(words: Vec<OsString>) -> Result<(), CommandError> {
    let mut ended = Ok(());
    for path in operands(words, "a file")? {
        if let Err(error) = show(Path::new(&path)) {
            print_error(format_args!("stanchion: {error}\n"));
            ended = Err(CommandError::Failed(None));
        }
    }
    ended
}

/// Prints the tree at the beginning of a file.
fn show(path: &Path) -> Result<(), String> {
    let mut tree = Tree::new();
    file::read_file(path, tree.edit()).map_err(|error| error.to_string())?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut written = writeln!(out, "{}:", path.display());
    lines(Some(tree.view()), 1, PrintMode::Tree, |line| {
        let line = [line, b"\n"].concat();
        if written.is_ok() {
            written = out.write_all(&line);
        }
    });
    let ended = written.and_then(|()| out.flush());
    output::check_written(ended)
}
