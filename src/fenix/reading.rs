//! Finds the bytes of a member as it was at some time stamp in the entries of snapshots.

use super::segments::Segments;
use super::share::{PackedSpans, Share};
use super::snapshot::{Entry, Snapshot};
use super::{Error, Regions, Result, Target};

/// What a rank stored in one call; its bytes may still have to be rebuilt.
#[derive(Clone, Copy)]
pub(super) struct StoredShare<'a> {
    pub(super) share: &'a Share,
    pub(super) bytes: &'a Segments,
}

impl<'a> StoredShare<'a> {
    /// In the order of the stores.
    pub(super) fn all(entries: &'a [Entry]) -> Vec<StoredShare<'a>> {
        let stored = entries.iter().map(|entry| StoredShare {
            share: entry.own_share(),
            bytes: &entry.data,
        });
        stored.collect()
    }
}

/// A range of bytes of an entry, and its offset in the member.
pub(super) struct Span<'a> {
    pub(super) bytes: &'a Segments,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) length: u64,
}

/// The elements of a member that were found.
pub(super) struct MemberReading<'a> {
    pub(super) spans: Vec<Span<'a>>,
    pub(super) found: Regions,
    /// How many there were and how long one is; unknown if the member was never stored.
    pub(super) count: Option<u64>,
    pub(super) element: u64,
}

impl<'a> MemberReading<'a> {
    /// Looks for the elements below `max_count` in the first snapshot, then in older ones. Each comes with what this rank
    /// stored in it, or `None` if that is lost: an error if elements are still missing then. Stops at a snapshot
    /// of a group of another size, in which ranks have other numbers.
    pub(super) fn new(
        snapshots: impl Iterator<Item = (&'a Snapshot, Option<Vec<StoredShare<'a>>>)>,
        member: i32,
        max_count: u64,
    ) -> Result<MemberReading<'a>> {
        let mut reading = MemberReading {
            spans: Vec::new(),
            found: Regions::default(),
            count: None,
            element: 0,
        };
        let mut snapshots = snapshots.peekable();
        let width = snapshots.peek().map(|(snapshot, _)| snapshot.width);
        let alike = snapshots.take_while(|(snapshot, _)| Some(snapshot.width) == width);
        for (snapshot, stored) in alike {
            match stored {
                Some(stored) => reading.add(stored, max_count),
                None => return Err(lost(snapshot, member)),
            }
            if reading.is_complete(max_count) {
                break;
            }
        }
        Ok(reading)
    }

    /// Whether all elements below `max_count` are found.
    pub(super) fn is_complete(&self, max_count: u64) -> bool {
        let wanted = self.count.map(|count| count.min(max_count));
        wanted.is_some_and(|wanted| self.found.covers(&Regions::all(wanted)))
    }

    fn add(&mut self, stored: Vec<StoredShare<'a>>, max_count: u64) {
        for StoredShare { share, bytes } in stored.into_iter().rev() {
            let attributes = share.attributes;
            let count = *self.count.get_or_insert_with(|| {
                self.element = attributes.element;
                attributes.count
            });
            if attributes.element != self.element {
                continue;
            }
            let wanted = share.regions.below(count.min(max_count));
            let new = wanted.without(&self.found);
            let packed = PackedSpans::of(share);
            let spans = packed.locate(&new).into_iter();
            self.spans.extend(spans.map(|(from, to, length)| Span {
                bytes,
                from,
                to,
                length,
            }));
            self.found = self.found.union(&new);
        }
    }

    pub(super) fn write(&self, target: &mut (impl Target + ?Sized)) {
        for span in &self.spans {
            let mut to = span.to;
            span.bytes.read(span.from, span.length, |bytes| {
                target.write(to, bytes);
                to += bytes.len() as u64;
            });
        }
    }
}

fn lost(snapshot: &Snapshot, member: i32) -> Error {
    Error::NoData(format!(
        "member {member} in the snapshot with time stamp {} is lost",
        snapshot.stamp
    ))
}
