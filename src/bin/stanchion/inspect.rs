//! What a file says.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use stanchion::kvtree::print::{Mode, lines};
use stanchion::kvtree::{Tree, file};

use super::output::{self, complain};
use super::{Failure, some};

pub(super) fn run(words: Vec<OsString>) -> Result<(), Failure> {
    let mut ended = Ok(());
    for path in some(words, "a file")? {
        if let Err(error) = show(Path::new(&path)) {
            complain(format_args!("stanchion: {error}\n"));
            ended = Err(Failure::Bad(None));
        }
    }
    ended
}

/// The tree that the file is or begins with.
fn show(path: &Path) -> Result<(), String> {
    let mut tree = Tree::new();
    file::read_file(path, tree.edit()).map_err(|error| error.to_string())?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut written = writeln!(out, "{}:", path.display());
    lines(Some(tree.view()), 1, Mode::Tree, |line| {
        let line = [line, b"\n"].concat();
        if written.is_ok() {
            written = out.write_all(&line);
        }
    });
    let ended = written.and_then(|()| out.flush());
    output::written(ended)
}
