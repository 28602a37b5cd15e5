//! An open file: its metadata as all ranks see it.

use std::collections::HashMap;
use std::sync::Arc;

use super::darray::{self, Buffer};
use super::error::different;
use super::format::Format;
use super::{Error, IoSystem, Result, agree, agree_with};
use crate::comm::{Comm, Sparse};

mod description;
mod plain;
mod shared;
#[cfg(test)]
mod tests;

pub(super) use description::Description;
pub use shared::Shared;

/// Answers up to so many words travel with the agreement.
const SHORT: usize = 2;

pub struct File<C: Comm> {
    pub(super) system: Arc<IoSystem<C>>,
    /// On the I/O tasks that have it open.
    pub(super) format: Option<Box<dyn Format>>,
    /// Whether that is every I/O task, or only the first.
    pub(super) parallel: bool,
    /// Whether the library was told that arrays are read piece by piece.
    pub(super) in_pieces: bool,
    pub(super) read_only: bool,
    pub(super) buffer: Buffer,
    known: HashMap<i32, Arc<Description>>,
    frames: HashMap<i32, i32>,
}

impl<C: Sparse> File<C> {
    /// `opened`: the file on the I/O tasks that have one, nothing elsewhere. `parallel`: whether all I/O tasks
    /// have it or only the first. Collective; if it failed anywhere, it is closed again everywhere.
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
            buffer: Buffer::default(),
            known: HashMap::new(),
            frames: HashMap::new(),
        })
    }

    /// Ends what a task of the file library has begun with `begin_pieces`, if it has. Collective over the I/O tasks.
    pub(super) fn end_pieces(&mut self) -> Result<()> {
        match &mut self.format {
            Some(format) if std::mem::take(&mut self.in_pieces) => format.end_pieces(),
            _ => Ok(()),
        }
    }

    /// From now on arrays cannot be written.
    pub fn forbid_writing(&mut self) {
        self.read_only = true;
    }

    /// Makes a call on the file where it is open and tells all ranks the first I/O task's answer.
    pub fn ask<T: Shared>(&mut self, call: impl FnOnce(&mut dyn Format) -> Result<T>) -> Result<T> {
        self.ask_same("", Ok(((), 0)), |format, ()| call(format))
    }

    /// As [`File::ask`] with arguments that each rank has checked for itself, and a digest of them: an error on all
    /// ranks unless all have found them right and give the same. The call is made before that is known, so it must
    /// not change the file.
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
        tell(&self.system, own, what, digest)
    }

    /// What is to be known of variables, each asked for once. Collective where one is not known yet.
    pub(super) fn describe(&mut self, vars: &[i32]) -> Result<Vec<Arc<Description>>> {
        let is_unknown = |var: &i32| !self.known.contains_key(var);
        let unknown: Vec<i32> = vars.iter().copied().filter(is_unknown).collect();
        if !unknown.is_empty() {
            let look_up = |format: &mut dyn Format| -> Result<Vec<_>> {
                let each = unknown.iter().map(|v| Description::look_up(format, *v));
                each.collect()
            };
            let found = self.ask(look_up)?.into_iter().map(Arc::new);
            self.known.extend(unknown.iter().copied().zip(found));
        }
        Ok(vars.iter().map(|var| self.known[var].clone()).collect())
    }

    /// Forgets what is known of variables: a fill value was changed.
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

    /// How many bytes a rank may buffer of this file, instead of [`darray::set_buffer_limit`].
    pub fn limit_buffer(&mut self, bytes: u64) {
        self.buffer.limit = Some(bytes);
    }

    /// Writes what is buffered, then lets the metadata be changed. Collective.
    pub fn redef(&mut self) -> Result<()> {
        darray::flush(self)?;
        self.forget();
        self.ask(|format| format.redef())
    }

    /// Ends what `redef` or the creation of the file began. Collective.
    pub fn enddef(&mut self) -> Result<()> {
        self.forget();
        self.ask(|format| format.enddef())
    }

    /// Writes what is buffered and lets the library write its own buffers. Collective.
    pub fn sync(&mut self) -> Result<()> {
        let written = darray::write_out(self);
        let synced = self.format.as_mut().map_or(Ok(()), |format| format.sync());
        agree(&self.system.comm, written.and(synced))
    }

    /// Writes what is buffered first. The file is gone even if that fails. Collective.
    pub fn close(mut self) -> Result<()> {
        let written = darray::write_out(&mut self);
        let closed = self.format.take().map_or(Ok(()), |format| format.close());
        agree(&self.system.comm, written.and(closed))
    }
}

/// A file that is not open everywhere where it should be. Closing it would wait for the other I/O tasks for
/// ever unless all have it, so that it is rather left open.
fn give_up(format: Option<Box<dyn Format>>, closable: bool) {
    match format {
        Some(format) if closable => {
            // The caller learns why the file could not be opened; that is the more useful error.
            let _ = format.close();
        }
        Some(format) => std::mem::forget(format),
        None => {}
    }
}

/// The first I/O task's answer on all ranks; an error of any rank is everybody's, and so are different digests of
/// `what` was asked for. Collective.
fn tell<C: Comm, T: Shared>(
    system: &IoSystem<C>,
    own: Result<Option<T>>,
    what: &str,
    digest: u64,
) -> Result<T> {
    let comm = &system.comm;
    let speaks = comm.rank() == system.io_root();
    let mut bytes = Vec::new();
    if let (true, Ok(Some(answer))) = (speaks, &own) {
        answer.put(&mut bytes);
    }
    // The least is that of the rank that speaks, for the others give the most.
    let mut words = [u64::MAX; SHORT + 3];
    (words[SHORT + 1], words[SHORT + 2]) = (digest, !digest);
    if speaks {
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
        Some(answer) if speaks => Some(answer),
        _ => T::take(&mut &bytes[..]),
    };
    told.ok_or_else(|| Error::Comm("the answer of the first I/O task is incomplete".into()))
}

fn word_of(chunk: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..chunk.len()].copy_from_slice(chunk);
    u64::from_le_bytes(word)
}
