//! The write buffer of a file: packed arrays, on the ranks that hold them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::format::Transfer;
use super::super::pool::PoolBuffer;
use super::super::{Decomp, Hyperslabs, Plan};
use super::fit::Fit;

/// Bytes that a rank buffers before it asks for a flush; upstream's default.
static LIMIT: AtomicU64 = AtomicU64::new(if cfg!(feature = "pio_ncar") {
    128 << 20
} else {
    64 << 20
});

/// Bytes that go to the file library in one call, on the I/O task that has most.
const MAX_BATCH: u64 = if cfg!(test) { 512 } else { 64 << 20 };

/// Sets how many bytes of a file every rank of this process may buffer; returns the old limit.
pub fn set_buffer_limit(bytes: u64) -> u64 {
    LIMIT.swap(bytes, Ordering::Relaxed)
}

pub fn buffer_limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

pub(super) struct BufferedArray {
    pub(super) var: i32,
    pub(super) decomp: Arc<Decomp>,
    pub(super) fit: Fit,
    /// The regions of the variable that this I/O task writes, unless they are those of the plan.
    pub(super) placed: Option<Arc<Hyperslabs>>,
    /// One element, for places that no rank holds.
    pub(super) fill: Vec<u8>,
    /// Packed elements of this rank; during a flush, on I/O tasks, what they write.
    pub(super) data: PoolBuffer,
}

impl BufferedArray {
    /// The regions of the variable that this I/O task writes.
    pub(super) fn regions(&self) -> &Hyperslabs {
        let plan = &self.decomp.plan;
        self.placed.as_deref().unwrap_or_else(|| plan.written())
    }

    pub(super) fn as_transfer(&mut self) -> Transfer<'_> {
        let (var, kind) = (self.var, self.decomp.kind);
        let plan = &self.decomp.plan;
        let regions = self.placed.as_deref().unwrap_or_else(|| plan.written());
        Transfer::new(var, kind, regions, &mut self.data)
    }

    fn replaces(&self, other: &BufferedArray) -> bool {
        let same_plan = Arc::ptr_eq(&self.decomp.plan, &other.decomp.plan);
        self.var == other.var && self.fit == other.fit && same_plan
    }

    /// In the longest buffer of any I/O task.
    fn bytes_to_write(&self) -> u64 {
        let elements = self.decomp.plan.longest_buffer();
        elements.saturating_mul(self.decomp.kind.size() as u64)
    }

    fn kept_bytes(&self) -> u64 {
        (self.data.len() + size_of::<BufferedArray>()) as u64
    }
}

#[derive(Default)]
pub(in crate::pio) struct WriteBuffer {
    entries: Vec<BufferedArray>,
    /// In place of the process's limit.
    pub(in crate::pio) limit: Option<u64>,
}

impl WriteBuffer {
    pub(in crate::pio) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether these arrays would exceed the limit.
    pub(super) fn is_full_with(&self, more: &[BufferedArray]) -> bool {
        let all = self.entries.iter().chain(more);
        let bytes: u64 = all.map(BufferedArray::kept_bytes).sum();
        bytes > self.limit.unwrap_or_else(buffer_limit)
    }

    /// Adds an array; an older one that it overwrites is dropped.
    pub(super) fn push(&mut self, entry: BufferedArray) {
        self.entries.retain(|older| !entry.replaces(older));
        self.entries.push(entry);
    }

    pub(super) fn take(&mut self) -> Vec<BufferedArray> {
        std::mem::take(&mut self.entries)
    }

    /// The regions of a buffered array of the same plan and fit.
    pub(super) fn placed_alike(
        &self,
        decomp: &Decomp,
        fit: Fit,
    ) -> Option<Option<Arc<Hyperslabs>>> {
        let alike = |e: &&BufferedArray| e.fit == fit && Arc::ptr_eq(&e.decomp.plan, &decomp.plan);
        let found = self.entries.iter().rev().find(alike);
        found.map(|entry| entry.placed.clone())
    }
}

/// Splits arrays into batches, the same on all ranks: of limited size, and without overlaps, since the file library
/// keeps no order within a batch.
pub(super) fn batches(entries: Vec<BufferedArray>) -> Vec<Vec<BufferedArray>> {
    let mut batches: Vec<Vec<BufferedArray>> = Vec::new();
    let mut bytes = 0;
    let mut present: HashMap<i32, (*const Plan, bool)> = HashMap::new();
    for entry in entries {
        let own = (Arc::as_ptr(&entry.decomp.plan), entry.fit.is_one_record());
        let older = present.insert(entry.var, own);
        let overlaps = older.is_some_and(|older| older != own || !own.1);
        let size = entry.bytes_to_write();
        bytes += size;
        match batches.last_mut() {
            Some(batch) if bytes <= MAX_BATCH && !overlaps => batch.push(entry),
            _ => {
                bytes = size;
                present = HashMap::from([(entry.var, own)]);
                batches.push(vec![entry]);
            }
        }
    }
    batches
}
