//! Which bytes of which entries make up a member as it was at some time.

use super::segments::Segments;
use super::share::{Description, Packed};
use super::snapshot::{Entry, Snapshot};
use super::{Error, Regions, Result, Target};

/// What a rank stored in one call; its bytes may still be on their way.
#[derive(Clone, Copy)]
pub(super) struct Stored<'a> {
    pub(super) share: &'a Description,
    pub(super) bytes: &'a Segments,
}

impl<'a> Stored<'a> {
    /// In the order of the stores.
    pub(super) fn all(entries: &'a [Entry]) -> Vec<Stored<'a>> {
        let stored = entries.iter().map(|entry| Stored {
            share: entry.own_share(),
            bytes: &entry.data,
        });
        stored.collect()
    }
}

/// Segments of an entry and where they belong in the member.
pub(super) struct Span<'a> {
    pub(super) bytes: &'a Segments,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) length: u64,
}

/// The elements of a member that were found.
pub(super) struct Reading<'a> {
    pub(super) spans: Vec<Span<'a>>,
    pub(super) found: Regions,
    /// How many there were and how long one is; unknown if the member was never stored.
    pub(super) count: Option<u64>,
    pub(super) element: u64,
}

impl<'a> Reading<'a> {
    /// Looks for the elements below `max_count` from the first snapshot on to older ones. Each comes with what
    /// this rank stored in it, or nothing if that is lost: what is still missing may have been there.
    /// Snapshots of a group of another size are of other ranks.
    pub(super) fn new(
        snapshots: impl Iterator<Item = (&'a Snapshot, Option<Vec<Stored<'a>>>)>,
        member: i32,
        max_count: u64,
    ) -> Result<Reading<'a>> {
        let mut reading = Reading {
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

    /// Whether all there was below `max_count` is found.
    pub(super) fn is_complete(&self, max_count: u64) -> bool {
        let wanted = self.count.map(|count| count.min(max_count));
        wanted.is_some_and(|wanted| self.found.covers(&Regions::all(wanted)))
    }

    fn add(&mut self, stored: Vec<Stored<'a>>, max_count: u64) {
        for Stored { share, bytes } in stored.into_iter().rev() {
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
            let packed = Packed::of(share);
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
