//! What the ranks of a set still have, and how the rest is rebuilt.
//!
//! [`SurveyedSet::survey`] finds out what there is; then [`SurveyedSet::repair`] rebuilds the rest, or
//! [`SurveyedSet::scrub`] reads everything and changes nothing.
//!
//! A survey reads only headers and file sizes, and, on a rank that has lost some of its files, the others. The rebuild
//! trusts the survey, and compares the checksums of all that it reads and writes; what turns out to be damaged counts as
//! lost, and the rebuild starts again. Original files are always read, because the program will use all of them;
//! redundancy is read where it is needed, or where nothing is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::access::{self, Access, inherited};
use super::header::{FileRecord, Header};
use super::redundancy::RedundancyStream;
use super::sharing::share_info;
use super::streams::{DataStream, MemberFiles};
use super::survey::HeaderSurvey;
use super::{Descriptor, Error, Peers, Result, agree, bad_file, names};
use crate::comm::Comm;
use crate::log;
use crate::protect::generation::Generation;
use crate::protect::{Geometry, Have, Limits, Part};
use crate::storage::directories::MadeDirectories;
use crate::storage::names::{FileName, Owner, rename, sync_parent};
use crate::wire::gather_u64;

/// Bytes of the text about one rank's losses in an error message.
const LONGEST_TEXT: usize = 512;

/// Gives the present name of a file that was recorded with this path.
pub(super) type Relocation<'a> = Box<dyn Fn(&Path) -> Result<FileName> + 'a>;

/// Where the files of a rank are.
pub(super) struct Location<'a> {
    pub(super) redundancy: FileName,
    pub(super) of_original: Relocation<'a>,
    /// Gets the rebuilt files, if not their recorded owners do: see `access::heir`.
    pub(super) heir: Option<Owner>,
}

impl Location<'_> {
    /// All files are where apply found or wrote them.
    pub(super) fn usual(name: &OsStr, descriptor: &Descriptor) -> Self {
        Location {
            redundancy: names::redundancy_file(name, descriptor).into(),
            of_original: Box::new(|path| Ok(path.to_owned().into())),
            heir: None,
        }
    }
}

/// What is wrong, by file: texts for error messages.
pub(super) type Defects = BTreeMap<PathBuf, String>;

/// A set, and what each of its ranks still has.
pub(super) struct SurveyedSet<'a, C: Comm> {
    set: &'a Peers<C>,
    /// This rank's header as it should be; the one in the file may differ.
    header: Header,
    /// Length of the header in the file, and its checksums.
    found_length: u64,
    found_checksums: Vec<u32>,
    redundancy: FileName,
    /// Permissions of a new redundancy file.
    access: Access,
    heir: Option<Owner>,
    /// This rank's files and where they are now.
    files: Vec<(FileRecord, FileName)>,
    geometry: Geometry,
    have: Vec<Have>,
    /// Files of this rank that have to be written.
    lost: BTreeSet<PathBuf>,
    /// What is wrong with the files of this rank.
    defects: Defects,
    /// For what is written; they go if it is not put in place.
    made: MadeDirectories,
}

impl<'a, C: Comm> SurveyedSet<'a, C> {
    /// Finds out what each rank has.
    ///
    /// # Collective
    /// Called by all ranks of the set; all return the same verdict.
    pub(super) fn survey(
        set: &'a Peers<C>,
        descriptor: &Descriptor,
        location: &Location,
    ) -> Result<SurveyedSet<'a, C>> {
        let comm = &set.comm;
        let mut defects = Defects::new();
        let survey = HeaderSurvey::take(comm, descriptor, location, &mut defects)?;
        let infos = agree(comm, share_info(comm, &survey.info))?;
        let access = Access::of(&survey.info.files);
        let (bytes, access) = access::gather(comm, survey.info.bytes(), access)?;
        let geometry = Geometry::new(descriptor.scheme, bytes)?.on_nodes(&set.nodes);
        check_chunks(geometry.chunk(), survey.chunk)?;
        let found = survey.header.as_ref();
        let rank = descriptor.rank;
        let mut surveyed = SurveyedSet {
            set,
            // A new redundancy file has checksums if the others have.
            header: Header::new(rank, infos, &geometry, &set.map, survey.has_checksums),
            found_length: found.map_or(0, |(_, length)| *length),
            found_checksums: found.map_or(Vec::new(), |(header, _)| header.checksums.clone()),
            redundancy: location.redundancy.clone(),
            access,
            heir: location.heir,
            files: survey.files,
            geometry,
            have: Vec::new(),
            lost: BTreeSet::new(),
            defects,
            made: MadeDirectories::default(),
        };
        surveyed.find_lost_files(survey.is_stale);
        surveyed.check_files_beside_lost_ones();
        let have = Have {
            data: surveyed.lost.is_empty(),
            redundancy: survey.header.is_some() && surveyed.has_redundancy(),
        };
        surveyed.have = gather_have(comm, have)?;
        Ok(surveyed)
    }

    /// The apply that the set is completed to, if its headers name one.
    pub(super) fn generation(&self) -> Option<Generation> {
        self.header.generation()
    }

    /// Looks at the sizes of all files. Those beside a header of another apply may be of that apply too: without checksums
    /// they count as lost.
    fn find_lost_files(&mut self, is_stale: bool) {
        for (record, file) in &self.files {
            let wanted = record.attributes.size;
            let wrong = match file.attributes() {
                Ok(None) => "it does not exist".into(),
                Ok(Some(found)) if !found.is_regular() => "it is not a regular file".into(),
                Ok(Some(found)) if found.size != wanted => {
                    format!("it has {} bytes instead of {wanted}", found.size)
                }
                Ok(Some(_)) if is_stale && record.checksum.is_none() => STALE.into(),
                Ok(Some(found)) => {
                    if record.checksum.is_none() && found.mtime != record.attributes.mtime {
                        let path = file.path().display();
                        log!(Warning, "{path} was changed at another time than recorded");
                    }
                    continue;
                }
                Err(error) => error.to_string(),
            };
            self.defects.insert(file.path().to_owned(), wrong);
            self.lost.insert(file.path().to_owned());
        }
    }

    /// If this rank has lost a file, reads its others: the run will rebuild its whole stream, not read and check these.
    fn check_files_beside_lost_ones(&mut self) {
        if self.lost.is_empty() || !self.header.own().has_checksums() {
            return;
        }
        for file in &self.files {
            let path = file.1.path();
            if self.lost.contains(path) {
                continue;
            }
            let mut data = DataStream::new(vec![file.clone()], true);
            let wrong = match data.read_rest() {
                Err(error) => error.to_string(),
                Ok(()) if data.damaged().is_empty() => continue,
                Ok(()) => DAMAGED.into(),
            };
            self.defects.insert(path.to_owned(), wrong);
            self.lost.insert(path.to_owned());
        }
    }

    /// Whether the redundancy file is long enough for its header and its redundancy.
    fn has_redundancy(&mut self) -> bool {
        let lengths = self.geometry.redundancy(self.header.rank);
        let least = self.found_length + lengths.iter().sum::<u64>();
        let wrong = match self.redundancy.attributes() {
            Ok(Some(found)) if found.size >= least => return true,
            Ok(Some(found)) => format!("it has {} bytes instead of {least}", found.size),
            Ok(None) => "it does not exist".into(),
            Err(error) => error.to_string(),
        };
        self.defects
            .insert(self.redundancy.path().to_owned(), wrong);
        false
    }

    fn own(&self) -> Have {
        self.have[self.header.rank]
    }

    /// Whether the scheme promises to survive what is lost.
    fn is_tolerable(&self) -> bool {
        let ranks = 0..self.have.len();
        let lost: Vec<_> = ranks.filter(|&rank| self.have[rank] != Have::ALL).collect();
        let scheme = self.header.own().descriptor.scheme;
        scheme.tolerates(self.have.len(), &lost)
    }

    /// Rebuilds what is lost, in temporary files. With `salvage`, whatever can be rebuilt; otherwise only
    /// what the scheme promises.
    ///
    /// # Collective
    /// Called by all ranks of the set. No rank returns before the others have done their part; an error may be this
    /// rank's alone.
    pub(super) fn repair(mut self, limits: Limits, salvage: bool) -> Result<Repair> {
        loop {
            if let Some(repair) = self.attempt(limits, salvage)? {
                return Ok(repair);
            }
        }
    }

    /// Rebuilds what is lost; `None` if more turned out to be lost, on any rank.
    fn attempt(&mut self, limits: Limits, salvage: bool) -> Result<Option<Repair>> {
        let comm = &self.set.comm;
        let flows = match self.geometry.flows(&self.have)? {
            Some(flows) if salvage || self.is_tolerable() => flows,
            Some(_) => return Err(Error::Intolerable(all_defects(self.set, &self.defects)?)),
            None => return Err(Error::Lost(all_defects(self.set, &self.defects)?)),
        };
        let begun = self.make_directories().and_then(|()| self.member());
        let cancel = || drop(names::part_of(&self.redundancy).remove());
        let member = agree(comm, begun).inspect_err(|_| cancel())?;
        let mut repair = Repair {
            generation: self.generation(),
            redundancy: (!self.own().redundancy).then(|| self.redundancy.clone()),
            member,
            made: MadeDirectories::default(),
        };
        let ran = self.set.carry_out(flows, limits, &mut repair.member);
        if let Err(error @ Error::Comm(_)) = ran {
            return Err(error);
        }
        let inspected = self.inspect(&mut repair.member);
        let inspected = gather_have(comm, inspected)?;
        if inspected != self.have {
            self.have = inspected;
            return Ok(None);
        }
        ran.and_then(|()| self.finish(&mut repair.member))?;
        repair.made = std::mem::take(&mut self.made);
        Ok(Some(repair))
    }

    /// Makes the directories of what is lost: a node in the place of a lost one has none of them.
    fn make_directories(&mut self) -> Result<()> {
        let own = self.own();
        let lost = self.files.iter_mut();
        for (record, place) in lost.filter(|(_, place)| self.lost.contains(place.path())) {
            let attributes = inherited(&record.attributes, self.heir);
            let (uid, gid) = (attributes.uid, attributes.gid);
            place.make_directories(Some(Owner { uid, gid }), &mut self.made)?;
        }
        if !own.redundancy {
            self.redundancy
                .make_directories(self.heir, &mut self.made)?;
        }
        Ok(())
    }

    /// This rank's streams: what is there is read, what is lost is written.
    fn member(&self) -> Result<MemberFiles> {
        let summed = self.header.own().has_checksums();
        let mut data = DataStream::new(self.files.clone(), summed);
        if !self.own().data {
            data.mark_lost(|path| self.lost.contains(path));
        }
        let redundancy = match self.own().redundancy {
            true => self.present_redundancy(),
            false => self.new_redundancy()?,
        };
        Ok(MemberFiles::new(data, redundancy))
    }

    fn present_redundancy(&self) -> RedundancyStream {
        let lengths = self.geometry.redundancy(self.header.rank);
        let summed = !self.found_checksums.is_empty();
        RedundancyStream::new(self.redundancy.clone(), self.found_length, lengths, summed)
    }

    fn new_redundancy(&self) -> Result<RedundancyStream> {
        let lengths = self.geometry.redundancy(self.header.rank);
        let summed = !self.header.checksums.is_empty();
        let length = self.header.to_bytes()?.len() as u64;
        let mut redundancy =
            RedundancyStream::new(names::part_of(&self.redundancy), length, lengths, summed);
        redundancy.create(self.access, self.heir)?;
        Ok(redundancy)
    }

    /// What this rank really has, after the run. Reads the files that the run has not read: the program will use them all.
    fn inspect(&mut self, member: &mut MemberFiles) -> Have {
        let everything = self.have.iter().all(|have| *have == Have::ALL);
        let own = self.own();
        let data = own.data && {
            let read = member.data.read_rest();
            self.judge_data(read, member)
        };
        let redundancy = own.redundancy && {
            let read = match everything || member.redundancy.is_used() {
                true => member.redundancy.read_rest().map(|()| true),
                false => Ok(false),
            };
            self.judge_redundancy(read, member)
        };
        Have { data, redundancy }
    }

    /// Whether the data stream, which was read, is intact.
    fn judge_data(&mut self, read: Result<()>, member: &mut MemberFiles) -> bool {
        let read = member.take_unread(Part::Data).map_or(read, Err);
        if let Err(error) = read {
            // The text of the error names the file.
            for (_, file) in &self.files {
                self.defects
                    .insert(file.path().to_owned(), error.to_string());
                self.lost.insert(file.path().to_owned());
            }
        } else if member.data.is_used() {
            for path in member.data.damaged() {
                self.defects.insert(path.to_owned(), DAMAGED.into());
                self.lost.insert(path.to_owned());
            }
        }
        self.lost.is_empty()
    }

    /// Whether the redundancy is intact; `read` says whether it was read, or why not.
    fn judge_redundancy(&mut self, read: Result<bool>, member: &mut MemberFiles) -> bool {
        let read = member.take_unread(Part::Redundancy).map_or(read, Err);
        let wrong = match read {
            Err(error) => error.to_string(),
            Ok(true) if member.redundancy.checksums() != self.found_checksums => DAMAGED.into(),
            Ok(_) => return true,
        };
        self.defects
            .insert(self.redundancy.path().to_owned(), wrong);
        false
    }

    /// Completes what was written. Rebuilt files must match their recorded checksums.
    fn finish(&mut self, member: &mut MemberFiles) -> Result<()> {
        if !self.own().data {
            if let Some(path) = member.data.damaged().first() {
                let wrong = "it was rebuilt, but does not match its checksum";
                return Err(bad_file(path, wrong));
            }
            member.data.finish(self.heir)?;
        }
        if !self.own().redundancy {
            self.header.checksums = member.redundancy.checksums();
            member.redundancy.finish(&self.header.to_bytes()?)?;
        }
        Ok(())
    }

    /// Reads everything of this rank without changing anything.
    pub(super) fn scrub(mut self) -> Scrubbed {
        let own = self.own();
        let summed = self.header.own().has_checksums();
        let data = DataStream::new(self.files.clone(), summed);
        let mut member = MemberFiles::new(data, self.present_redundancy());
        if own.data {
            let read = member.data.read_rest();
            self.judge_data(read, &mut member);
        }
        if own.redundancy {
            let read = member.redundancy.read_rest().map(|()| true);
            self.judge_redundancy(read, &mut member);
        }
        let verdict = |file: &FileName, checked: bool| {
            let path = file.path().to_owned();
            let verdict = match (self.defects.get(&path), checked) {
                (Some(wrong), _) => FileVerdict::Bad(wrong.clone()),
                (None, true) => FileVerdict::Good,
                (None, false) => FileVerdict::Unchecked,
            };
            (path, verdict)
        };
        let files = self.files.iter();
        let checked = !self.found_checksums.is_empty()
            || self.geometry.redundancy(self.header.rank).is_empty();
        Scrubbed {
            files: files
                .map(|(record, file)| verdict(file, record.checksum.is_some()))
                .collect(),
            redundancy: vec![verdict(&self.redundancy, checked)],
        }
    }
}

/// Verdicts on everything that a rank has.
pub(super) struct Scrubbed {
    pub(super) files: Vec<(PathBuf, FileVerdict)>,
    pub(super) redundancy: Vec<(PathBuf, FileVerdict)>,
}

/// What reading a file has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileVerdict {
    Good,
    /// It exists, but has no checksum.
    Unchecked,
    /// Missing or damaged, and why.
    Bad(String),
}

const DAMAGED: &str = "it does not match its checksum";
const STALE: &str = "it lies beside redundancy of another apply and has no checksum";

/// Rebuilt files under temporary names: renamed by `commit`, removed if dropped before.
pub(super) struct Repair {
    /// The apply that the set is completed to, if its headers name one.
    pub(super) generation: Option<Generation>,
    member: MemberFiles,
    redundancy: Option<FileName>,
    /// Dropped after the files in them.
    made: MadeDirectories,
}

impl Repair {
    pub(super) fn commit(mut self) -> Result<()> {
        self.member.data.commit()?;
        self.made.keep();
        let Some(file) = self.redundancy.take() else {
            return Ok(());
        };
        names::part_of(&file).rename(&file)?;
        Ok(file.sync_parent()?)
    }
}

impl Drop for Repair {
    fn drop(&mut self) {
        if let Some(file) = &self.redundancy {
            let _ = names::part_of(file).remove();
        }
    }
}

/// Renames a file that was written as `.part` to its final name.
pub(super) fn commit_file(file: &Path) -> Result<()> {
    rename(&names::part(file), file)?;
    Ok(sync_parent(file)?)
}

/// The chunk length follows from the file sizes; the one in the headers must match it.
fn check_chunks(needed: Option<u64>, named: u64) -> Result<()> {
    match needed {
        Some(needed) if needed != named => Err(Error::Mismatch(format!(
            "redundancy files name chunks of {named} bytes where the files need {needed}"
        ))),
        _ => Ok(()),
    }
}

fn gather_have<C: Comm>(comm: &C, own: Have) -> Result<Vec<Have>> {
    let bits = u64::from(own.data) | u64::from(own.redundancy) << 1;
    let have = gather_u64(comm, bits)?.into_iter().map(|bits| Have {
        data: bits & 1 != 0,
        redundancy: bits & 2 != 0,
    });
    Ok(have.collect())
}

/// What is wrong on all ranks of the set, as a text.
fn all_defects<C: Comm>(set: &Peers<C>, own: &Defects) -> Result<String> {
    let comm = &set.comm;
    let lines = own
        .iter()
        .map(|(path, wrong)| format!("{}: {wrong}", path.display()));
    let mut mine = lines.collect::<Vec<_>>().join(", ").into_bytes();
    mine.resize(LONGEST_TEXT, 0);
    let mut all = vec![0; LONGEST_TEXT * comm.size()];
    comm.allgather(&mine, &mut all)?;
    let accounts = all
        .chunks(LONGEST_TEXT)
        .enumerate()
        .filter(|(_, text)| text[0] != 0);
    let accounts = accounts.map(|(rank, text)| {
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        format!("{}: {}", set.name(rank), String::from_utf8_lossy(text))
    });
    Ok(accounts.collect::<Vec<_>>().join("; "))
}
