//! Names of the files of a set, and the set that was in use before.
//!
//! A name ends with the number of its writer behind some zeros: none in the first set under a prefix, which so has
//! upstream's names; in a set that replaces another as many as none of its files has. Two rows of names take turns:
//! `p.0.0`, `p.0.00`, `p.0.0`. Upstream's `kvtree_read_scatter_single` reads every `p.0.<digits>` that it finds and counts
//! the ranks in them; with files of two sets it counts too many and fails. So all data files but those of the new set
//! are removed, those also that a crash has left. As names come back, every set has a generation as well.

use super::read::{FileContent, SetFile, SetWalk};
use crate::comm::Comm;
use crate::kvtree::{Error, Result};
use crate::log;
use crate::protect::generation::Generation;
use crate::storage::names::names_in;
use crate::wire::{put, take};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub(super) fn with_suffix(prefix: &Path, suffix: &CStr) -> PathBuf {
    let mut path = prefix.as_os_str().as_bytes().to_vec();
    path.extend_from_slice(suffix.to_bytes());
    OsString::from_vec(path).into()
}

pub(super) fn suffix(level: u32, writer: usize, zeros: u8) -> CString {
    let zeros = "0".repeat(zeros.into());
    CString::new(format!(".{level}.{zeros}{writer}")).expect("digits contain no NUL")
}

/// Level and zeros of a name that this library or upstream gives to a file of a set.
fn parse(suffix: &[u8]) -> Option<(&[u8], usize)> {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut parts = suffix.strip_prefix(b".")?.split(|&byte| byte == b'.');
    let (level, writer) = (parts.next()?, parts.next()?);
    if parts.next().is_some() || !is_number(level) || !is_number(writer) {
        return None;
    }
    let leading = writer.iter().take_while(|&&digit| digit == b'0').count();
    Some((level, leading.min(writer.len() - 1)))
}

/// Distinguishes a set from the one that it replaces.
#[derive(Clone, Copy)]
pub(super) struct SetIdentity {
    /// In the names of its files.
    pub(super) zeros: u8,
    /// In the files.
    pub(super) generation: Generation,
}

impl SetIdentity {
    /// Broadcasts that of rank 0. If rank 0 has none, the result must not be used.
    pub(super) fn share<C: Comm>(comm: &C, own: Option<SetIdentity>) -> Result<SetIdentity> {
        let own = own.unwrap_or(SetIdentity {
            zeros: 0,
            generation: Generation::after(None),
        });
        let mut bytes = Vec::new();
        put(&mut bytes, &[own.zeros.into()]);
        put(&mut bytes, &Generation::numbers(Some(own.generation)));
        comm.bcast(0, &mut bytes)?;
        SetIdentity::from_bytes(&bytes).ok_or(Error::Malformed)
    }

    fn from_bytes(mut bytes: &[u8]) -> Option<SetIdentity> {
        let [zeros] = take(&mut bytes)?;
        Some(SetIdentity {
            zeros: u8::try_from(zeros).ok()?,
            generation: Generation::from_numbers(take(&mut bytes)?)?,
        })
    }
}

/// The set that is in use when another is written.
#[derive(Default)]
pub(super) struct Previous {
    files: Vec<CString>,
    generation: Option<Generation>,
}

impl Previous {
    /// The files of the set, as far as its maps can be read.
    pub(super) fn find(prefix: &Path) -> Result<Previous> {
        let mut files = Vec::new();
        let mut generation = None;
        let mut walk = SetWalk::from_top();
        while let Some((source, above)) = walk.next() {
            let map = match FileContent::read(prefix, &source) {
                Ok(map) => map,
                // Not knowing what is in use, one might overwrite it.
                Err(Error::Storage(cause)) if !cause.is_absent() => return Err(cause.into()),
                Err(_) => continue,
            };
            let Ok(below) = map.below(above) else {
                continue;
            };
            files.extend(map.sources().flatten().map(|source| source.name));
            generation = generation.max(map.generation().ok().flatten());
            if below.level > 1 {
                // What a damaged map names beside good files is not looked at.
                let _ = walk.go_on(&map, below);
            }
        }
        // A map may name anything; only what can be a file of the set may be removed.
        files.retain(|name| parse(name.to_bytes()).is_some());
        Ok(Previous { files, generation })
    }

    /// What tells the next set from this one.
    pub(super) fn next(&self, prefix: &Path) -> Result<SetIdentity> {
        Ok(SetIdentity {
            zeros: self.free_zeros(prefix)?,
            generation: Generation::after(self.generation),
        })
    }

    /// A number of zeros that no file of the set has in its name.
    fn free_zeros(&self, prefix: &Path) -> Result<u8> {
        let used = self.files.iter().filter_map(|name| parse(name.to_bytes()));
        let used: Vec<usize> = used.map(|(_, zeros)| zeros).collect();
        let free = (0..=u8::MAX).find(|&zeros| !used.contains(&zeros.into()));
        free.ok_or_else(|| Error::NoName(prefix.to_owned()))
    }

    /// Removes the files of this set and all data files left by earlier ones; `kept` are the names of the new set, which is in
    /// use already. A failure is logged only, since no reader but upstream's `single` looks at such a file.
    pub(super) fn remove(mut self, prefix: &Path, kept: &[CString]) {
        let mut kept: Vec<&CStr> = kept.iter().map(|name| &**name).collect();
        kept.sort_unstable();
        let is_kept = |name: &CStr| kept.binary_search(&name).is_ok();
        self.files.retain(|name| !is_kept(name));
        let listed = data_files(prefix).unwrap_or_else(|cause| {
            log!(Warning, "{cause}");
            Vec::new()
        });
        let left = listed.into_iter().filter(|name| !is_kept(name));
        self.files.extend(left.filter(|name| is_data(prefix, name)));
        self.files.sort_unstable();
        self.files.dedup();
        let paths: Vec<_> = self
            .files
            .iter()
            .map(|name| with_suffix(prefix, name))
            .collect();
        super::discard(&paths);
    }
}

/// Names of files beside the prefix that look like data files of a set.
fn data_files(prefix: &Path) -> Result<Vec<CString>> {
    let path = prefix.as_os_str().as_bytes();
    let start = path
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |at| at + 1);
    let (directory, base) = path.split_at(start);
    let directory = if directory.is_empty() {
        b"."
    } else {
        directory
    };
    let names = names_in(Path::new(OsStr::from_bytes(directory)))?;
    let suffixes = names
        .iter()
        .filter_map(|name| name.as_bytes().strip_prefix(base));
    let of_data = suffixes.filter(|suffix| parse(suffix).is_some_and(|(level, _)| level == b"0"));
    Ok(of_data
        .filter_map(|suffix| CString::new(suffix).ok())
        .collect())
}

/// Whether the file is one that a gather wrote as data: nothing else may be removed for its name.
fn is_data(prefix: &Path, name: &CStr) -> bool {
    let part = FileContent::read(prefix, &SetFile::start_of(name));
    part.is_ok_and(|part| part.is_data())
}
