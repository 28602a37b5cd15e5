//! Files that redset protects.

use std::ffi::{OsStr, OsString};

use stanchion::redset::rebuild::{self, SetFiles, State};
use stanchion::redset::{Config, Error};

use super::{Failure, some};

/// Every set under every prefix; goes on after a failure.
fn each_set(
    words: Vec<OsString>,
    act: impl Fn(&SetFiles, &OsStr) -> Result<bool, String>,
) -> Result<(), Failure> {
    let mut well = true;
    for prefix in some(words, "a prefix")? {
        let sets = rebuild::sets(&prefix).map_err(Failure::because)?;
        if sets.is_empty() {
            let text = format!("no redundancy file has a name that begins with {prefix:?}");
            return Err(Failure::Bad(Some(text)));
        }
        for set in &sets {
            let (number, groups) = (set.group + 1, set.groups);
            well &= act(set, &prefix).unwrap_or_else(|error| {
                eprintln!("stanchion: set {number} of {groups}: {error}");
                false
            });
        }
        well &= is_complete(&sets);
    }
    match well {
        true => Ok(()),
        false => Err(Failure::Bad(None)),
    }
}

/// Whether some redundancy file of every set was found.
fn is_complete(sets: &[SetFiles]) -> bool {
    let groups = sets.iter().map(|set| set.groups).max().unwrap_or(0);
    let is_missing = |group: &usize| sets.iter().all(|set| set.group != *group);
    let missing: Vec<_> = (0..groups).filter(is_missing).collect();
    for group in &missing {
        let number = group + 1;
        eprintln!("stanchion: set {number} of {groups}: nothing is left of its redundancy");
    }
    missing.is_empty()
}

pub(super) fn verify(words: Vec<OsString>) -> Result<(), Failure> {
    each_set(words, |set, prefix| {
        let findings = rebuild::verify(set, prefix).map_err(|error| error.to_string())?;
        let mut well = true;
        for finding in &findings {
            let (rank, path) = (finding.world_rank, finding.path.display());
            match &finding.state {
                State::Good => println!("good       rank {rank}  {path}"),
                State::Unchecked => println!("unchecked  rank {rank}  {path}"),
                State::Bad(why) => {
                    well = false;
                    println!("BAD        rank {rank}  {path}: {why}");
                }
            }
        }
        Ok(well)
    })
}

pub(super) fn rebuild(mut words: Vec<OsString>) -> Result<(), Failure> {
    let given = words.len();
    words.retain(|word| word != "--salvage");
    let mut config = Config::current();
    config.salvage = Some(words.len() < given);
    config.set();
    each_set(words, |set, prefix| {
        let (number, groups, ranks) = (set.group + 1, set.groups, set.ranks);
        let kind = set.kind.ok_or("no scheme protects it")?;
        let rebuilt = rebuild::rebuild(kind, &set.files, prefix, None);
        rebuilt.map_err(|error| match error {
            Error::Intolerable(lost) => format!(
                "more is lost than the scheme promises to survive; it is rebuilt only with --salvage: {lost}"
            ),
            error => error.to_string(),
        })?;
        println!("set {number} of {groups}: the files of all {ranks} ranks are there");
        Ok(true)
    })
}
