//! What a rank stored in one call: its description, and where its packed bytes are in the member.

use std::ops::Range;

use super::{Attributes, Error, Regions, Result};
use crate::wire::{put, take};

/// A share without its bytes; known to all ranks of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) attributes: Attributes,
    pub(super) regions: Regions,
    /// Of the packed bytes.
    pub(super) crc: Option<u32>,
}

impl Share {
    pub(super) fn length(&self) -> u64 {
        self.regions.count() * self.attributes.element
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        let regions = self.regions.encode();
        let crc = self.crc.map_or(u64::MAX, u64::from);
        let Attributes { count, element } = self.attributes;
        put(into, &[count, element, crc, regions.len() as u64]);
        into.extend(regions);
    }

    /// Takes a description off the front of `bytes`.
    pub(super) fn decode(bytes: &mut &[u8]) -> Option<Share> {
        let [count, element, crc, length] = take(bytes)?;
        let (regions, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        *bytes = rest;
        Some(Share {
            attributes: Attributes { count, element },
            regions: Regions::decode(regions)?,
            crc: u32::try_from(crc).ok(),
        })
    }
}

/// The first numbers of a message.
pub(super) fn values<const N: usize>(mut bytes: &[u8]) -> Result<[u64; N]> {
    let found = take(&mut bytes);
    found.ok_or(Error::Invariant("a message is shorter than agreed"))
}

pub(super) fn message(values: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 * values.len());
    put(&mut bytes, values);
    bytes
}

/// Maps offsets in the packed bytes of a share to offsets in the member.
#[derive(Default)]
pub(super) struct PackedSpans {
    regions: Regions,
    element: u64,
    /// Packed offset of each range.
    starts: Vec<u64>,
}

impl PackedSpans {
    pub(super) fn of(share: &Share) -> PackedSpans {
        let (regions, element) = (share.regions.clone(), share.attributes.element);
        let mut next = 0;
        let starts = regions.ranges().iter().map(|range| {
            let start = next;
            next += (range.end - range.start) * element;
            start
        });
        PackedSpans {
            starts: starts.collect(),
            regions,
            element,
        }
    }

    /// Offsets and lengths in the member of a range of packed bytes.
    pub(super) fn spans(&self, packed: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let first = self.starts.partition_point(|start| *start <= packed.start);
        let ranges = self
            .starts
            .iter()
            .zip(self.regions.ranges())
            .skip(first.max(1) - 1);
        ranges
            .take_while({
                let end = packed.end;
                move |(start, _)| **start < end
            })
            .map(move |(start, range)| {
                let length = (range.end - range.start) * self.element;
                let from = packed.start.max(*start);
                let to = packed.end.min(start + length);
                let offset = range.start * self.element + (from - start);
                (offset, to.saturating_sub(from))
            })
            .filter(|(_, length)| *length > 0)
    }

    /// For each range of `part`, all of which must be here: packed offset, offset in the member, length.
    pub(super) fn locate(&self, part: &Regions) -> Vec<(u64, u64, u64)> {
        let (mut index, own) = (0, self.regions.ranges());
        let ranges = part.ranges().iter().filter(|_| self.element > 0);
        ranges
            .map(|range| {
                while own[index].end < range.end {
                    index += 1;
                }
                let before = (range.start - own[index].start) * self.element;
                let length = (range.end - range.start) * self.element;
                (
                    self.starts[index] + before,
                    range.start * self.element,
                    length,
                )
            })
            .collect()
    }
}
