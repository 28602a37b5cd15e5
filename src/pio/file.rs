//! An open file: its metadata as all ranks see it.

use std::rc::Rc;

use super::format::Format;
use super::{IoSystem, Result};
use crate::comm::Comm;

/// What an I/O task can tell all ranks.
pub trait Shared: Sized {
    fn to_bytes(&self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

pub struct File<C: Comm> {
    _system: Rc<IoSystem<C>>,
}

impl<C: Comm> File<C> {
    /// `opened`: the file on the I/O tasks that have one, nothing elsewhere. `parallel`: whether all I/O tasks
    /// have it or only the first. Collective; if it failed anywhere, it is closed again everywhere.
    pub fn new(
        _system: Rc<IoSystem<C>>,
        _opened: Result<Option<Box<dyn Format>>>,
        _parallel: bool,
    ) -> Result<Self> {
        todo!()
    }

    /// Makes a call on the file where it is open and tells all ranks the first I/O task's answer.
    pub fn ask<T: Shared>(
        &mut self,
        _call: impl FnOnce(&mut dyn Format) -> Result<T>,
    ) -> Result<T> {
        todo!()
    }

    /// The record that the next writes and reads of a variable go to, from 0. Local.
    pub fn set_frame(&mut self, _var: i32, _frame: i32) {
        todo!()
    }

    pub fn advance_frame(&mut self, _var: i32) {
        todo!()
    }

    /// Writes what is buffered and lets the library write its own buffers. Collective.
    pub fn sync(&mut self) -> Result<()> {
        todo!()
    }

    /// Writes what is buffered first. The file is gone even if that fails. Collective.
    pub fn close(self) -> Result<()> {
        todo!()
    }
}
