//! Open files, as all ranks see them.
//!
//! Metadata calls run on the I/O tasks that have the file open; [`File::ask`] broadcasts the answer of the first one.
//! Data of all ranks go through `darray`, or through `whole` if every rank has all of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::darray::{self, WriteBuffer};
use super::error::different;
use super::format::Format;
use super::{Error, IoSystem, Result, agree, agree_with};
use crate::comm::{Comm, Sparse};

mod shared;
#[cfg(test)]
mod tests;
mod var_info;
mod whole;

pub use shared::Shared;
pub(super) use shared::shared_fields;
pub(super) use var_info::VarInfo;

/// Answers of up to this many words are part of the agreement's allreduce.
const SHORT: usize = 2;

pub struct File<C: Comm> {
    pub(super) system: Arc<IoSystem<C>>,
    /// `None` on ranks that do not have the file open.
    pub(super) format: Option<Box<dyn Format>>,
    /// Whether every I/O task has the file open, or only the first.
    pub(super) parallel: bool,
    /// Whether `begin_pieces` was called for a read.
    pub(super) in_pieces: bool,
    pub(super) read_only: bool,
    pub(super) buffer: WriteBuffer,
    known: HashMap<i32, Arc<VarInfo>>,
    frames: HashMap<i32, i32>,
}

impl<C: Sparse> File<C> {
    /// `opened`: the file, on I/O tasks that have it open. If opening failed on one rank, the others close it again.
    /// Collective.
    pub fn new(
        system: Arc<IoSystem<C>>,
        opened: Result<Option<Box<dyn Format>>>,
        parallel: bool,
    ) -> Result<Self> {
        let (mut format, verdict) = match opened {
            Ok(format) => (format, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let wanted = if parallel {
            system.io.is_some()
        } else {
            system.io_rank() == Some(0)
        };
        let mut complete = [(format.is_some() == wanted).into()];
        if let Err(error) = agree_with(&system.comm, verdict, &mut complete) {
            give_up(format.take(), !parallel || complete == [1]);
            return Err(error);
        }
        Ok(Self {
            system,
            format,
            parallel,
            in_pieces: false,
            read_only: false,
            buffer: WriteBuffer::default(),
            known: HashMap::new(),
            frames: HashMap::new(),
        })
    }

    /// Ends a read in pieces, if one was begun. Collective over the I/O tasks.
    pub(super) fn end_pieces(&mut self) -> Result<()> {
        match &mut self.format {
            Some(format) if std::mem::take(&mut self.in_pieces) => format.end_pieces(),
            _ => Ok(()),
        }
    }

    pub fn forbid_writing(&mut self) {
        self.read_only = true;
    }

    /// Makes a call on the I/O tasks that have the file open; returns the answer of the first one on all ranks.
    /// Collective.
    pub fn ask<T: Shared>(&mut self, call: impl FnOnce(&mut dyn Format) -> Result<T>) -> Result<T> {
        self.ask_same("", Ok(((), 0)), |format, ()| call(format))
    }

    /// As [`File::ask`] with arguments that each rank has checked, and a digest of them: an error on all ranks unless all
    /// arguments are valid and equal. The call runs before that is known, so it must not change the file.
    pub fn ask_same<A, T: Shared>(
        &mut self,
        what: &str,
        given: Result<(A, u64)>,
        call: impl FnOnce(&mut dyn Format, A) -> Result<T>,
    ) -> Result<T> {
        let digest = given.as_ref().map_or(0, |(_, digest)| *digest);
        let own = given.and_then(|(given, _)| match &mut self.format {
            Some(format) => call(&mut **format, given).map(Some),
            None => Ok(None),
        });
        share(&self.system, own, what, digest)
    }

    /// Looks variables up, each only once. Collective if one is not known yet.
    pub(super) fn describe(&mut self, vars: &[i32]) -> Result<Vec<Arc<VarInfo>>> {
        let is_unknown = |var: &i32| !self.known.contains_key(var);
        let unknown: Vec<i32> = vars.iter().copied().filter(is_unknown).collect();
        if !unknown.is_empty() {
            let look_up = |format: &mut dyn Format| -> Result<Vec<_>> {
                let each = unknown.iter().map(|v| VarInfo::look_up(format, *v));
                each.collect()
            };
            let found = self.ask(look_up)?.into_iter().map(Arc::new);
            self.known.extend(unknown.iter().copied().zip(found));
        }
        Ok(vars.iter().map(|var| self.known[var].clone()).collect())
    }

    /// Discards what is known of variables, after a change of metadata.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// The record that the next writes and reads of a variable go to, from 0. Local.
    pub fn set_frame(&mut self, var: i32, frame: i32) {
        self.frames.insert(var, frame);
    }

    pub fn advance_frame(&mut self, var: i32) {
        self.set_frame(var, self.frame(var).saturating_add(1));
    }

    /// -1 if none was set.
    pub fn frame(&self, var: i32) -> i32 {
        self.frames.get(&var).copied().unwrap_or(-1)
    }

    /// Sets how many bytes a rank may buffer of this file, in place of [`darray::set_buffer_limit`].
    pub fn limit_buffer(&mut self, bytes: u64) {
        self.buffer.limit = Some(bytes);
    }

    /// Flushes, then enters define mode. Collective.
    pub fn redef(&mut self) -> Result<()> {
        darray::flush(self)?;
        self.forget();
        self.ask(|format| format.redef())
    }

    /// Leaves define mode. Collective.
    pub fn enddef(&mut self) -> Result<()> {
        self.forget();
        self.ask(|format| format.enddef())
    }

    /// Flushes, then syncs the file. Collective.
    pub fn sync(&mut self) -> Result<()> {
        let written = darray::write_out(self);
        let synced = self.format.as_mut().map_or(Ok(()), |format| format.sync());
        agree(&self.system.comm, written.and(synced))
    }

    /// Flushes, then closes the file even if that failed. Collective.
    pub fn close(mut self) -> Result<()> {
        let written = darray::write_out(&mut self);
        let closed = self.format.take().map_or(Ok(()), |format| format.close());
        agree(&self.system.comm, written.and(closed))
    }
}

/// Disposes of a file that some I/O task could not open. Closing is collective: unless all tasks have the file open, it
/// would wait forever, so we leak it.
fn give_up(format: Option<Box<dyn Format>>, closable: bool) {
    match format {
        Some(format) if closable => {
            // The reason why opening failed is the more useful error.
            let _ = format.close();
        }
        Some(format) => std::mem::forget(format),
        None => {}
    }
}

/// Returns the first I/O task's answer on all ranks, or an error if one rank failed or the digests of their arguments,
/// called `what`, differ. Collective.
fn share<C: Comm, T: Shared>(
    system: &IoSystem<C>,
    own: Result<Option<T>>,
    what: &str,
    digest: u64,
) -> Result<T> {
    let comm = &system.comm;
    let answers = comm.rank() == system.io_root();
    let mut bytes = Vec::new();
    if let (true, Ok(Some(answer))) = (answers, &own) {
        answer.put(&mut bytes);
    }
    // The other ranks give the maximum, so the min-reduction yields the words of the one that answers.
    let mut words = [u64::MAX; SHORT + 3];
    (words[SHORT + 1], words[SHORT + 2]) = (digest, !digest);
    if answers {
        words[0] = bytes.len() as u64;
        let chunks = bytes.chunks(8).zip(&mut words[1..=SHORT]);
        chunks.for_each(|(chunk, word)| *word = word_of(chunk));
    }
    let own = agree_with(comm, own, &mut words)?;
    if words[SHORT + 1] != !words[SHORT + 2] {
        return Err(different(comm, what));
    }
    let length = words[0] as usize;
    if length > 8 * SHORT {
        bytes.resize(length, 0);
        comm.bcast(system.io_root(), &mut bytes)?;
    } else {
        bytes = words[1..=SHORT]
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        bytes.truncate(length);
    }
    let told = match own {
        Some(answer) if answers => Some(answer),
        _ => T::take(&mut &bytes[..]),
    };
    told.ok_or_else(|| Error::Comm("the answer of the first I/O task is incomplete".into()))
}

fn word_of(chunk: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..chunk.len()].copy_from_slice(chunk);
    u64::from_le_bytes(word)
}
