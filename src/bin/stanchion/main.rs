//! `stanchion`: inspects, verifies and rebuilds files of the library, and plans placements, without MPI.
//!
//! Every command is a thin layer over a module of the library: `inspect` over kvtree, `verify` and `rebuild` over
//! redset's offline functions, `plot` over placement. Results go to standard output, errors to standard error.

mod inspect;
mod output;
mod plot;
mod protected;

use std::ffi::OsString;
use std::fmt::Display;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: stanchion <command> ...

  inspect <file>...            prints the tree in a file of kvtree or redset
  verify <prefix>...           checks all files that redset protects under a prefix against their checksums
  rebuild [--dry-run] [--below <directory> | --outside] [--salvage] <prefix>...
                               rebuilds lost and damaged files, if all files of a set are below the directory of the
                               prefix or below <directory>; --outside allows any directory. --dry-run only lists the
                               files that would be written. --salvage also tries sets that have lost more ranks than
                               their scheme guarantees to survive
  plot --scheme <scheme> [--set-size <ranks>] [--json] <file>
                               chooses the sets of a job and shows what they survive, as SVG or JSON

A prefix is the name that was given to redset_apply. Relative paths are resolved in the current directory.
A scheme is partner:<copies>, xor or rs:<k>. The file of plot has one line per rank, the path of its failure domains:
rack3/chassis1/node17.

Exit codes: 0 success, 1 something is lost or damaged or an operation failed, 2 wrong usage, 141 the reader of
standard output has gone.
";

/// Why a command fails.
enum CommandError {
    /// Wrong usage.
    Usage(String),
    /// Something is lost, damaged or failed. `None`: the cause has been printed already.
    Failed(Option<String>),
}

impl CommandError {
    fn because(error: impl Display) -> Self {
        Self::Failed(Some(error.to_string()))
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let command = words.next().unwrap_or_default();
    let words: Vec<_> = words.collect();
    let ended = match command.to_str() {
        Some("inspect") => inspect::run(words),
        Some("verify") => protected::verify(words),
        Some("rebuild") => protected::rebuild(words),
        Some("plot") => plot::run(words),
        Some("-h" | "--help" | "help") => {
            output::print(format_args!("{USAGE}")).map_err(CommandError::because)
        }
        _ => Err(CommandError::Usage(format!(
            "there is no command {command:?}"
        ))),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandError::Failed(text)) => {
            text.iter()
                .for_each(|text| output::print_error(format_args!("stanchion: {text}\n")));
            ExitCode::FAILURE
        }
        Err(CommandError::Usage(text)) => {
            output::print_error(format_args!("stanchion: {text}\n\n{USAGE}"));
            ExitCode::from(2)
        }
    }
}

/// The operands of a command, of which there must be at least one; fails on options.
fn operands(words: Vec<OsString>, what: &str) -> Result<Vec<OsString>, CommandError> {
    let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    if let Some(option) = words.iter().find(is_option) {
        return Err(CommandError::Usage(format!(
            "there is no option {option:?}"
        )));
    }
    match words[..] {
        [] => Err(CommandError::Usage(format!("{what} is missing"))),
        _ => Ok(words),
    }
}
