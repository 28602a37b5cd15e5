//! Files that redset protects.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use stanchion::redset::rebuild::{self, Applied, SetFiles, State};
use stanchion::redset::{Config, Error};

use super::output::{complain, print};
use super::{Failure, some};

/// Every set under every prefix; goes on after a failure.
fn each_set(
    words: Vec<OsString>,
    act: impl Fn(&SetFiles, &OsStr) -> Result<bool, String>,
) -> Result<(), Failure> {
    let mut well = true;
    for prefix in some(words, "a prefix")? {
        let found = rebuild::applied(&prefix).map_err(Failure::because)?;
        if found.sets.is_empty() {
            let text = format!("no redundancy file has a name that begins with {prefix:?}");
            return Err(Failure::Bad(Some(text)));
        }
        for set in &found.sets {
            let (number, groups) = (set.group + 1, set.groups);
            well &= act(set, &prefix).unwrap_or_else(|error| {
                complain(format_args!(
                    "stanchion: set {number} of {groups}: {error}\n"
                ));
                false
            });
        }
        well &= is_complete(&found);
    }
    match well {
        true => Ok(()),
        false => Err(Failure::Bad(None)),
    }
}

/// Whether some redundancy file of every set was found. Names what belongs to none of them.
fn is_complete(found: &Applied) -> bool {
    for path in &found.earlier {
        let path = path.display();
        complain(format_args!(
            "stanchion: {path} is of an earlier apply and left out\n"
        ));
    }
    let known: BTreeSet<_> = found.sets.iter().map(|set| set.group).collect();
    let groups = found.sets.iter().map(|set| set.groups).max().unwrap_or(0);
    // A name may claim any number of sets.
    let Some(first) = (0..groups).find(|group| !known.contains(group)) else {
        return true;
    };
    let (number, more) = (first + 1, groups - known.len() - 1);
    complain(format_args!(
        "stanchion: set {number} of {groups}: nothing is left of its redundancy\n"
    ));
    if more > 0 {
        complain(format_args!(
            "stanchion: nor of that of {more} other sets\n"
        ));
    }
    false
}

pub(super) fn verify(words: Vec<OsString>) -> Result<(), Failure> {
    each_set(words, |set, prefix| {
        let findings = rebuild::verify(set, prefix).map_err(|error| error.to_string())?;
        let mut well = true;
        for finding in &findings {
            let (rank, path) = (finding.world_rank, finding.path.display());
            match &finding.state {
                State::Good => print(format_args!("good       rank {rank}  {path}\n"))?,
                State::Unchecked => print(format_args!("unchecked  rank {rank}  {path}\n"))?,
                State::Bad(why) => {
                    well = false;
                    print(format_args!("BAD        rank {rank}  {path}: {why}\n"))?;
                }
            }
        }
        Ok(well)
    })
}

/// What `rebuild` may do.
#[derive(Default)]
struct Options {
    salvage: bool,
    dry_run: bool,
    outside: bool,
    below: Option<PathBuf>,
}

impl Options {
    /// Takes the options out of the words.
    fn take(words: &mut Vec<OsString>) -> Result<Options, Failure> {
        let mut options = Options::default();
        let mut rest = Vec::new();
        let mut given = words.drain(..);
        while let Some(word) = given.next() {
            match word.to_str() {
                Some("--salvage") => options.salvage = true,
                Some("--dry-run") => options.dry_run = true,
                Some("--outside") => options.outside = true,
                Some("--below") => {
                    let directory = given.next();
                    let directory = directory
                        .ok_or_else(|| Failure::Usage("--below needs a directory".into()))?;
                    options.below = Some(directory.into());
                }
                _ => rest.push(word),
            }
        }
        drop(given);
        *words = rest;
        Ok(options)
    }

    /// Where files may be written; `None` for anywhere.
    fn directory<'a>(&'a self, prefix: &'a OsStr) -> Option<&'a Path> {
        match (&self.below, self.outside) {
            (_, true) => None,
            (Some(directory), false) => Some(directory),
            (None, false) => {
                let parent = Path::new(prefix).parent();
                let directory = match prefix.as_encoded_bytes().ends_with(b"/") {
                    true => Some(Path::new(prefix)),
                    false => parent.filter(|parent| !parent.as_os_str().is_empty()),
                };
                Some(directory.unwrap_or(Path::new(".")))
            }
        }
    }
}

pub(super) fn rebuild(mut words: Vec<OsString>) -> Result<(), Failure> {
    let options = Options::take(&mut words)?;
    let mut config = Config::current();
    config.salvage = Some(options.salvage);
    config.set();
    each_set(words, |set, prefix| match options.dry_run {
        true => foretell(set, prefix, &options),
        false => rebuild_set(set, prefix, &options),
    })
}

fn rebuild_set(set: &SetFiles, prefix: &OsStr, options: &Options) -> Result<bool, String> {
    let (number, groups, ranks) = (set.group + 1, set.groups, set.ranks);
    let kind = set.kind.ok_or("no scheme protects it")?;
    let rebuilt = match options.directory(prefix) {
        Some(directory) => rebuild::rebuild_below(kind, &set.files, prefix, directory),
        None => rebuild::rebuild(kind, &set.files, prefix, None),
    };
    rebuilt.map_err(|error| match error {
        Error::Intolerable(lost) => format!(
            "more is lost than the scheme promises to survive; it is rebuilt only with --salvage: {lost}"
        ),
        Error::Outside { directory, paths } => refusal(&directory, &paths),
        error => error.to_string(),
    })?;
    print(format_args!(
        "set {number} of {groups}: the files of all {ranks} ranks are there\n"
    ))?;
    Ok(true)
}

/// Lists what a rebuild would write, and changes nothing.
fn foretell(set: &SetFiles, prefix: &OsStr, options: &Options) -> Result<bool, String> {
    set.kind.ok_or("no scheme protects it")?;
    let findings = rebuild::verify(set, prefix).map_err(|error| error.to_string())?;
    for finding in findings {
        if let State::Bad(why) = finding.state {
            let (rank, path) = (finding.world_rank, finding.path.display());
            print(format_args!("would write  rank {rank}  {path}: {why}\n"))?;
        }
    }
    let Some(directory) = options.directory(prefix) else {
        return Ok(true);
    };
    let outside = rebuild::files_outside(set, directory).map_err(|error| error.to_string())?;
    match outside.is_empty() {
        true => Ok(true),
        false => Err(refusal(directory, &outside)),
    }
}

fn refusal(directory: &Path, paths: &[PathBuf]) -> String {
    let directory = directory.display();
    let lines = paths.iter().map(|path| format!("\n  {}", path.display()));
    let lines: String = lines.collect();
    format!(
        "nothing is written: these files of the set are not below {directory} (--below <directory> names another \
         one, --outside allows all):{lines}"
    )
}
