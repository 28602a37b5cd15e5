//! `stanchion`: looks at files that the library has written, and mends them, without MPI.
//!
//! Every command is a thin layer over a room of the library: `inspect` over kvtree, `verify` and `rebuild` over redset's
//! offline half, `plot` over placement. What they print goes to standard output, what went wrong to standard error.

mod inspect;
mod output;
mod plot;
mod protected;

use std::ffi::OsString;
use std::fmt::Display;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: stanchion <command> ...

  inspect <file>...            what a file of redset or kvtree says
  verify <prefix>...           compares all that redset protects under a prefix with its checksums
  rebuild [--dry-run] [--below <directory> | --outside] [--salvage] <prefix>...
                               makes anew what of it is lost or damaged, if all files of a set are below the directory
                               of the prefix, or the one that is named, or with --outside wherever they are; with
                               --dry-run only says what it would write; with --salvage also where more ranks have
                               lost something than the scheme promises to survive, as far as it can be done
  plot --scheme <scheme> [--set-size <ranks>] [--json] <file>
                               which ranks protect each other, and what is survived: a picture (SVG), or a report (JSON)

A prefix is the name that was given to redset_apply. Files with relative paths are looked for in the current directory.
A scheme is partner:<copies>, xor or rs:<k>. The file of plot has a line for each rank, with the domains that it is in:
rack3/chassis1/node17.

Exit codes: 0 if all is well, 1 if something is lost or damaged or failed, 2 if the command makes no sense, 141 if
nobody reads on what it prints.
";

/// Why a command does not end well.
enum Failure {
    /// It makes no sense.
    Usage(String),
    /// Something is lost, damaged or failed. All has been said already if there is no text.
    Bad(Option<String>),
}

impl Failure {
    fn because(error: impl Display) -> Self {
        Self::Bad(Some(error.to_string()))
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
            output::print(format_args!("{USAGE}")).map_err(Failure::because)
        }
        _ => Err(Failure::Usage(format!("there is no command {command:?}"))),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Bad(text)) => {
            text.iter()
                .for_each(|text| output::complain(format_args!("stanchion: {text}\n")));
            ExitCode::FAILURE
        }
        Err(Failure::Usage(text)) => {
            output::complain(format_args!("stanchion: {text}\n\n{USAGE}"));
            ExitCode::from(2)
        }
    }
}

/// Words that are no options; there must be some.
fn some(words: Vec<OsString>, what: &str) -> Result<Vec<OsString>, Failure> {
    let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    if let Some(option) = words.iter().find(is_option) {
        return Err(Failure::Usage(format!("there is no option {option:?}")));
    }
    match words[..] {
        [] => Err(Failure::Usage(format!("{what} is missing"))),
        _ => Ok(words),
    }
}
