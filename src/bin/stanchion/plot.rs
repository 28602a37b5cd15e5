//! `stanchion plot`: chooses the sets of a job before it runs, and shows what they survive.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use stanchion::failure_domain::placement::{Placement, PlacementRequest, PlacementScheme};

use super::output::print;
use super::{CommandError, operands};

/// redset's default set size.
const SET_SIZE: usize = 8;

pub(super) fn run(words: Vec<OsString>) -> Result<(), CommandError> {
    let (mut scheme, mut set_size, mut json, mut files) = (None, SET_SIZE, false, Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().and_then(|value| value.into_string().ok());
        match word.to_str() {
            Some("--scheme") => scheme = value().and_then(|text| scheme_of(&text)),
            Some("--set-size") => {
                let number = value().and_then(|text| text.parse().ok());
                set_size = number.ok_or_else(|| usage("--set-size needs a number"))?;
            }
            Some("--json") => json = true,
            _ => files.push(word),
        }
    }
    let scheme = scheme.ok_or_else(|| usage("--scheme needs partner:<copies>, xor or rs:<k>"))?;
    let [file] = &operands(files, "a file with a path for each rank")?[..] else {
        return Err(usage("there is more than one file"));
    };
    let file = Path::new(file);
    let text = fs::read_to_string(file)
        .map_err(|error| CommandError::because(format_args!("{}: {error}", file.display())))?;
    let paths: Vec<_> = text.lines().map(str::trim).collect();
    let request = PlacementRequest::new(scheme, set_size);
    let placement = Placement::of_paths(&paths, &request).map_err(CommandError::because)?;
    let printed = match json {
        true => print(format_args!("{}\n", placement.report())),
        false => print(format_args!("{}\n", placement.picture())),
    };
    printed.map_err(CommandError::because)
}

fn usage(text: &str) -> CommandError {
    CommandError::Usage(text.into())
}

fn scheme_of(text: &str) -> Option<PlacementScheme> {
    let (name, number) = text.split_once(':').unwrap_or((text, ""));
    match (name, number.parse().ok()) {
        ("partner", Some(replicas)) => Some(PlacementScheme::Partner { replicas }),
        ("xor", None) if number.is_empty() => Some(PlacementScheme::Xor),
        ("rs", Some(k)) => Some(PlacementScheme::ReedSolomon { k }),
        _ => None,
    }
}
