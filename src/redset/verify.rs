//! Verify: reads a set without changing it.

use std::ffi::{CString, OsStr};

use super::members::{Location, Members};
use super::recover::find_sets;
use super::{Error, Result, agree, apply::gather_u64};
use crate::comm::Comm;
use crate::kvtree::Tree;
use crate::kvtree::value::rank_text;

pub(super) fn verify<C: Comm>(comm: &C, name: &OsStr) -> Result<(Tree, Result<()>)> {
    todo!()
}
