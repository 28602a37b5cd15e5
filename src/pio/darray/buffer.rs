//! Arrays that are to be written, on the ranks that hold them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::format::Write;
use super::super::memory::Loan;
use super::super::{Decomp, Plan, Regions};
use super::fit::Fit;

/// Bytes that a rank buffers before it asks for a flush; at first as many as upstream's buffer has.
static LIMIT: AtomicU64 = AtomicU64::new(if cfg!(feature = "pio_ncar") {
    128 << 20
} else {
    64 << 20
});

/// What goes to the file libraries at once, in bytes of the I/O task that has most.
const AT_ONCE: u64 = if cfg!(test) { 512 } else { 64 << 20 };

/// How many bytes of a file every rank of this process may buffer; returns what it was.
pub fn set_buffer_limit(bytes: u64) -> u64 {
    LIMIT.swap(bytes, Ordering::Relaxed)
}

pub fn buffer_limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// One array.
pub(super) struct Entry {
    pub(super) var: i32,
    pub(super) decomp: Arc<Decomp>,
    pub(super) fit: Fit,
    /// What this I/O task writes, where it differs from what the plan says.
    pub(super) placed: Option<Arc<Regions>>,
    /// One element, for places that no rank holds.
    pub(super) fill: Vec<u8>,
    /// Packed; on I/O tasks later what they write.
    pub(super) data: Loan,
}

impl Entry {
    /// What this I/O task writes.
    pub(super) fn regions(&self) -> &Regions {
        match &self.placed {
            Some(placed) => placed,
            None => self.decomp.plan.written(),
        }
    }

    pub(super) fn as_write(&mut self) -> Write<'_> {
        let regions = match &self.placed {
            Some(placed) => placed,
            None => self.decomp.plan.written(),
        };
        Write {
            var: self.var,
            kind: self.decomp.kind,
            regions,
            data: &mut self.data,
        }
    }

    fn is_in_place_of(&self, other: &Entry) -> bool {
        let same_plan = Arc::ptr_eq(&self.decomp.plan, &other.decomp.plan);
        self.var == other.var && self.fit == other.fit && same_plan
    }

    /// Of the longest buffer of any I/O task.
    fn bytes_to_write(&self) -> u64 {
        let elements = self.decomp.plan.longest_buffer();
        elements.saturating_mul(self.decomp.kind.size() as u64)
    }

    /// What it costs to keep it.
    fn kept_bytes(&self) -> u64 {
        (self.data.len() + size_of::<Entry>()) as u64
    }
}

#[derive(Default)]
pub(in crate::pio) struct Buffer {
    entries: Vec<Entry>,
    /// Instead of that of the process.
    pub(in crate::pio) limit: Option<u64>,
}

impl Buffer {
    pub(in crate::pio) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether these arrays would be too many more.
    pub(super) fn is_full_with(&self, more: &[Entry]) -> bool {
        let all = self.entries.iter().chain(more);
        let bytes: u64 = all.map(Entry::kept_bytes).sum();
        bytes > self.limit.unwrap_or_else(buffer_limit)
    }

    /// Adds an array; what it replaces need not be written any more.
    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.retain(|older| !entry.is_in_place_of(older));
        self.entries.push(entry);
    }

    pub(super) fn take(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    /// Regions that another array has already, for the same place in another variable.
    pub(super) fn placed_alike(&self, decomp: &Decomp, fit: Fit) -> Option<Option<Arc<Regions>>> {
        let alike = |e: &&Entry| e.fit == fit && Arc::ptr_eq(&e.decomp.plan, &decomp.plan);
        let found = self.entries.iter().rev().find(alike);
        found.map(|entry| entry.placed.clone())
    }
}

/// Cuts arrays into what is written at once, the same on all ranks: not too much, and nothing twice in the
/// same place, since there is no order within.
pub(super) fn batches(entries: Vec<Entry>) -> Vec<Vec<Entry>> {
    let mut batches: Vec<Vec<Entry>> = Vec::new();
    let mut bytes = 0;
    let mut present: HashMap<i32, (*const Plan, bool)> = HashMap::new();
    for entry in entries {
        let own = (Arc::as_ptr(&entry.decomp.plan), entry.fit.is_one_record());
        let older = present.insert(entry.var, own);
        let overlaps = older.is_some_and(|older| older != own || !own.1);
        let size = entry.bytes_to_write();
        bytes += size;
        match batches.last_mut() {
            Some(batch) if bytes <= AT_ONCE && !overlaps => batch.push(entry),
            _ => {
                bytes = size;
                present = HashMap::from([(entry.var, own)]);
                batches.push(vec![entry]);
            }
        }
    }
    batches
}
