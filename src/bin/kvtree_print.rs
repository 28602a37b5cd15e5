//! `kvtree_print`: prints a kvtree file. Options and output are those of upstream's command.

#[path = "stanchion/output.rs"]
mod output;

use stanchion::kvtree::print::{PrintMode, lines};
use stanchion::kvtree::{Tree, file};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "
Usage: kvtree_print [options] <file>

  Options:
    -m, --mode <mode>  Specify print format: \"tree\" or \"keyval\" (default tree)
    -h, --help         Print usage

";

#[derive(Default)]
struct CommandLine {
    mode: Option<OsString>,
    help: bool,
    files: Vec<OsString>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(complaint) => return usage(Some(complaint)),
    };
    let mode = match arguments.mode.as_deref().map(OsStrExt::as_bytes) {
        None | Some(b"tree") => PrintMode::Tree,
        Some(b"keyval") => PrintMode::KeyValue,
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            return usage(Some(format!("Invalid mode name: `{other}'")));
        }
    };
    if arguments.help {
        return usage(None);
    }
    match &arguments.files[..] {
        [file] => show(Path::new(file), mode),
        _ => usage(Some("Missing file name or too many files".into())),
    }
}

fn usage(complaint: Option<String>) -> ExitCode {
    let failed = complaint.is_some();
    let complaint = complaint.map_or(String::new(), |text| format!("ERROR: {text}\n"));
    let printed = output::print(format_args!("{complaint}{USAGE}"));
    ExitCode::from(u8::from(failed || is_lost(printed)))
}

/// Parses options and files in any order, as getopt_long does; only files follow `--`.
fn parse(mut words: impl Iterator<Item = OsString>) -> Result<CommandLine, String> {
    let mut arguments = CommandLine::default();
    while let Some(word) = words.next() {
        match word.as_bytes() {
            b"--" => {
                arguments.files.extend(words);
                break;
            }
            [b'-', b'-', name @ ..] => parse_long(name, &mut words, &mut arguments)?,
            [b'-', letters @ ..] if !letters.is_empty() => {
                parse_short(letters, &mut words, &mut arguments)?;
            }
            _ => arguments.files.push(word),
        }
    }
    Ok(arguments)
}

fn parse_long(
    word: &[u8],
    words: &mut impl Iterator<Item = OsString>,
    arguments: &mut CommandLine,
) -> Result<(), String> {
    let (name, value) = match word.iter().position(|&c| c == b'=') {
        Some(at) => (
            &word[..at],
            Some(OsString::from_vec(word[at + 1..].to_vec())),
        ),
        None => (word, None),
    };
    let unknown = || unknown(&[b"--", word].concat());
    match (b"mode".starts_with(name), b"help".starts_with(name), value) {
        (true, false, value) => {
            let value = value.or_else(|| words.next());
            arguments.mode = Some(value.ok_or_else(unknown)?);
        }
        (false, true, None) => arguments.help = true,
        _ => return Err(unknown()),
    }
    Ok(())
}

fn parse_short(
    letters: &[u8],
    words: &mut impl Iterator<Item = OsString>,
    arguments: &mut CommandLine,
) -> Result<(), String> {
    let unknown = || unknown(&[b"-", letters].concat());
    match letters {
        [b'h'] => arguments.help = true,
        [b'h', more @ ..] => {
            arguments.help = true;
            return parse_short(more, words, arguments);
        }
        [b'm'] => arguments.mode = Some(words.next().ok_or_else(unknown)?),
        [b'm', value @ ..] => arguments.mode = Some(OsString::from_vec(value.to_vec())),
        _ => return Err(unknown()),
    }
    Ok(())
}

fn unknown(word: &[u8]) -> String {
    format!("Unknown option: `{}'", String::from_utf8_lossy(word))
}

fn show(path: &Path, mode: PrintMode) -> ExitCode {
    let mut tree = Tree::new();
    if let Err(cause) = file::read_file(path, tree.edit()) {
        let path = path.display();
        let _ = output::print(format_args!("ERROR: Failed to read file: `{path}'\n"));
        output::print_error(format_args!("kvtree_print: {cause}\n"));
        return ExitCode::FAILURE;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    lines(Some(tree.view()), 0, mode, |line| {
        if written.is_ok() {
            written = out.write_all(line).and_then(|()| out.write_all(b"\n"));
        }
    });
    let ended = written.and_then(|()| out.flush());
    ExitCode::from(u8::from(is_lost(output::check_written(ended))))
}

/// Whether output was lost; if so, prints the cause.
fn is_lost(printed: Result<(), String>) -> bool {
    let lost = printed.as_ref().err();
    lost.iter()
        .for_each(|cause| output::print_error(format_args!("kvtree_print: {cause}\n")));
    lost.is_some()
}
