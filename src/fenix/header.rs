//! What the ranks of a set tell each other before a transfer: what they want to store, and whether they can.

use super::share::{Share, message, values};
use super::{Attributes, Error, Regions, Result};
use crate::comm::{Comm, PeerFailure};
use crate::protect::Channel;

/// What a rank tells the others of its set before anything else.
#[derive(Clone, Copy)]
pub(super) struct StoreHeader {
    status: u64,
    member: i32,
    attributes: Attributes,
    elements: u64,
    /// Number of ranges in the next message; `None` if it stores all elements.
    pub(super) ranges: Option<u64>,
    /// Hash of the lengths of all shares that it is prepared for.
    pub(super) expected: u64,
}

/// Its length as a message.
pub(super) const HEADER: usize = 7 * 8;
pub(super) const READY: u64 = 0;
const OTHER_MEMBER: u64 = 9;

impl StoreHeader {
    /// `share` is what the rank wants to store, or why it cannot.
    pub(super) fn of(
        member: i32,
        share: std::result::Result<&Share, &Error>,
        expected: u64,
    ) -> StoreHeader {
        let mut header = StoreHeader {
            status: READY,
            member,
            attributes: Attributes::default(),
            elements: 0,
            ranges: None,
            expected,
        };
        match share {
            Ok(share) => {
                header.attributes = share.attributes;
                header.elements = share.regions.count();
                let all = header.elements == share.attributes.count;
                header.ranges = (!all).then_some(share.regions.ranges().len() as u64);
            }
            Err(error) => header.status = status_of(error),
        }
        header
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Attributes { count, element } = self.attributes;
        let ranges = self.ranges.unwrap_or(u64::MAX);
        let member = self.member as u64;
        message(&[
            self.status,
            member,
            count,
            element,
            self.elements,
            ranges,
            self.expected,
        ])
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<StoreHeader> {
        let [status, member, count, element, elements, ranges, expected] = values(bytes)?;
        Ok(StoreHeader {
            status,
            member: member as i32,
            attributes: Attributes { count, element },
            elements,
            ranges: (ranges != u64::MAX).then_some(ranges),
            expected,
        })
    }

    pub(super) fn length(&self) -> u64 {
        self.elements.saturating_mul(self.attributes.element)
    }

    pub(super) fn status_for(&self, member: i32) -> u64 {
        match self.status {
            READY if self.member != member => OTHER_MEMBER,
            status => status,
        }
    }

    /// `regions` come from the second message, if the rank does not store all elements.
    pub(super) fn share(&self, regions: &[u8]) -> Option<Share> {
        let regions = match self.ranges {
            None => Regions::all(self.attributes.count),
            Some(_) => Regions::decode(regions)?,
        };
        Some(Share {
            attributes: self.attributes,
            regions,
            crc: None,
        })
    }
}

pub(super) fn status_of(error: &Error) -> u64 {
    match error {
        Error::NoSuchMember { .. } => 1,
        Error::Memory(_) => 2,
        Error::Invariant(_) => 4,
        _ => 3,
    }
}

fn text_of(status: u64) -> &'static str {
    match status {
        OTHER_MEMBER => "it stores another member",
        1 => "it has no such member",
        2 => "its memory has run out",
        4 => "it has an internal error",
        _ => "it could not take part",
    }
}

/// The statuses that ranks have sent, by position.
pub(super) fn statuses(messages: &[Vec<u8>]) -> Result<Vec<u64>> {
    let status = |bytes: &Vec<u8>| values(bytes).map(|[status]| status);
    messages.iter().map(status).collect()
}

/// This rank's own error, or that of another rank of its set.
pub(super) fn judge<C: Comm, T>(
    channel: &Channel<'_, C>,
    own: Result<T>,
    statuses: impl Iterator<Item = u64>,
) -> Result<T> {
    let own = own?;
    let failed = statuses.enumerate().find(|(_, status)| *status != READY);
    match failed {
        None => Ok(own),
        Some((position, status)) => Err(Error::Peer(PeerFailure {
            who: channel.name(position),
            text: text_of(status).into(),
        })),
    }
}
