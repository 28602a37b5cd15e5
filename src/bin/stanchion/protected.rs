//! `stanchion verify` and `rebuild`: files that redset protects.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use stanchion::redset::rebuild::{self, Applied, FileVerdict, SetFiles};
use stanchion::redset::{Config, Error};

use super::output::{print, print_error};
use super::{CommandError, operands};

/// Applies `act` to every set under every prefix; continues after a failure.
fn each_set(
    words: Vec<OsString>,
    act: impl Fn(&SetFiles, &OsStr) -> Result<bool, String>,
) -> Result<(), CommandError> {
    let mut is_good = true;
    for prefix in operands(words, "a prefix")? {
        let found = rebuild::applied(&prefix).map_err(CommandError::because)?;
        if found.sets.is_empty() {
            let text = format!("no redundancy file has a name that begins with {prefix:?}");
            return Err(CommandError::Failed(Some(text)));
        }
        for set in &found.sets {
            let (number, groups) = (set.group + 1, set.groups);
            is_good &= act(set, &prefix).unwrap_or_else(|error| {
                print_error(format_args!(
                    "stanchion: set {number} of {groups}: {error}\n"
                ));
                false
            });
        }
        is_good &= is_complete(&found);
    }
    match is_good {
        true => Ok(()),
        false => Err(CommandError::Failed(None)),
    }
}

/// Whether at least one redundancy file of every set was found. Also lists the files of earlier applies.
fn is_complete(found: &Applied) -> bool {
    for path in &found.earlier {
        let path = path.display();
        print_error(format_args!(
            "stanchion: {path} belongs to an earlier apply and is ignored\n"
        ));
    }
    let known: BTreeSet<_> = found.sets.iter().map(|set| set.group).collect();
    let groups = found.sets.iter().map(|set| set.groups).max().unwrap_or(0);
    // The number comes from a file name and may be absurdly large, so only the first missing set is named.
    let Some(first) = (0..groups).find(|group| !known.contains(group)) else {
        return true;
    };
    let (number, more) = (first + 1, groups - known.len() - 1);
    print_error(format_args!(
        "stanchion: set {number} of {groups}: nothing is left of its redundancy\n"
    ));
    if more > 0 {
        print_error(format_args!(
            "stanchion: the same holds for {more} other sets\n"
        ));
    }
    false
}

pub(super) fn verify(words: Vec<OsString>) -> Result<(), CommandError> {
    each_set(words, |set, prefix| {
        let findings = rebuild::verify(set, prefix).map_err(|error| error.to_string())?;
        let mut is_good = true;
        for finding in &findings {
            let (rank, path) = (finding.world_rank, finding.path.display());
            match &finding.verdict {
                FileVerdict::Good => print(format_args!("good       rank {rank}  {path}\n"))?,
                FileVerdict::Unchecked => print(format_args!("unchecked  rank {rank}  {path}\n"))?,
                FileVerdict::Bad(why) => {
                    is_good = false;
                    print(format_args!("BAD        rank {rank}  {path}: {why}\n"))?;
                }
            }
        }
        Ok(is_good)
    })
}

/// The options of `rebuild`.
#[derive(Default)]
struct RebuildOptions {
    salvage: bool,
    dry_run: bool,
    outside: bool,
    below: Option<PathBuf>,
}

impl RebuildOptions {
    /// Removes the options from the words.
    fn take(words: &mut Vec<OsString>) -> Result<RebuildOptions, CommandError> {
        let mut options = RebuildOptions::default();
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
                        .ok_or_else(|| CommandError::Usage("--below needs a directory".into()))?;
                    options.below = Some(directory.into());
                }
                _ => rest.push(word),
            }
        }
        drop(given);
        *words = rest;
        Ok(options)
    }

    /// The directory below which files may be written; `None` for anywhere.
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

pub(super) fn rebuild(mut words: Vec<OsString>) -> Result<(), CommandError> {
    let options = RebuildOptions::take(&mut words)?;
    let mut config = Config::current();
    config.salvage = Some(options.salvage);
    config.set();
    each_set(words, |set, prefix| match options.dry_run {
        true => dry_run(set, prefix, &options),
        false => rebuild_set(set, prefix, &options),
    })
}

fn rebuild_set(set: &SetFiles, prefix: &OsStr, options: &RebuildOptions) -> Result<bool, String> {
    let (number, groups, ranks) = (set.group + 1, set.groups, set.ranks);
    let kind = set.kind.ok_or("no scheme protects it")?;
    let rebuilt = match options.directory(prefix) {
        Some(directory) => rebuild::rebuild_below(kind, &set.files, prefix, directory),
        None => rebuild::rebuild(kind, &set.files, prefix, None),
    };
    rebuilt.map_err(|error| match error {
        Error::Intolerable(lost) => format!(
            "more is lost than the scheme guarantees to survive; a rebuild can be tried with --salvage: {lost}"
        ),
        Error::Outside { directory, paths } => refusal(&directory, &paths),
        error => error.to_string(),
    })?;
    print(format_args!(
        "set {number} of {groups}: the files of all {ranks} ranks are there\n"
    ))?;
    Ok(true)
}

/// Lists the files that a rebuild would write.
fn dry_run(set: &SetFiles, prefix: &OsStr, options: &RebuildOptions) -> Result<bool, String> {
    set.kind.ok_or("no scheme protects it")?;
    let findings = rebuild::verify(set, prefix).map_err(|error| error.to_string())?;
    for finding in findings {
        if let FileVerdict::Bad(why) = finding.verdict {
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
        "nothing was written: these files of the set are not below {directory} (use --below <directory> to name \
         another one, --outside to allow all):{lines}"
    )
}
