//! Requests to other ranks: for attributes, and for elements that another rank stored.
//!
//! Each rank sends a request to one rank. First all learn who has requested something from them, then they answer; long
//! answers are sent in segments, each to all ranks that requested it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::group::{Attributes, Group, Restored, Stamp};
use super::memory::SEGMENT;
use super::reading::{MemberReading, Span};
use super::share::{message, values};
use super::{Error, Regions, Result, Target};
use crate::comm::{Comm, Tag, Underway, transfer_unsized};
use crate::wire::take;

const ANSWER: Tag = 5;

/// Segments under way at once.
const AT_ONCE: usize = 4;

impl<C: Comm> Group<C> {
    /// The attributes that another rank has.
    ///
    /// # Collective
    /// Called by all ranks of the group; each asks one rank.
    pub fn attributes_of(&mut self, member: i32, rank: usize) -> Result<Attributes> {
        self.settle();
        let comm = self.comm()?;
        let question = u64::from(member as u32) + 1;
        let askers = ask(comm, rank, question)?;
        let answers: Vec<_> = askers
            .iter()
            .map(|(asker, question)| (*asker, self.answer((question - 1) as u32 as i32)))
            .collect();
        let sends: Vec<_> = answers
            .iter()
            .map(|(asker, bytes)| (*asker, &bytes[..]))
            .collect();
        let mut answer = [0; 24];
        let exists = rank < comm.size();
        let mut recvs = Vec::from_iter(exists.then_some((rank, &mut answer[..])));
        comm.transfer(ANSWER, &sends, &mut recvs)?;
        check_rank(comm, rank)?;
        match values(&answer)? {
            [1, count, element] => Ok(Attributes { count, element }),
            _ => Err(self.no_member(member)),
        }
    }

    fn answer(&self, member: i32) -> Vec<u8> {
        match self.attributes(member) {
            Ok(Attributes { count, element }) => message(&[1, count, element]),
            Err(_) => message(&[0, 0, 0]),
        }
    }

    /// As [`Group::restore`], but every rank gets the elements of the rank it names. A failure of the
    /// transport may leave a part of them in `target`.
    pub fn restore_from(
        &mut self,
        member: i32,
        stamp: Stamp,
        max_count: u64,
        target: &mut (impl Target + ?Sized),
        rank: usize,
    ) -> Result<Restored> {
        let mut ready = self.make_ready(member, stamp)?;
        self.repair(&mut ready, member)?;
        let comm = self.comm()?;
        let askers = ask(comm, rank, max_count.saturating_add(1))?;
        let most = askers.iter().map(|(_, question)| question - 1).max();
        let reading = ready.take_failure().map_or(Ok(()), Err);
        let reading = reading.and_then(|()| check_rank(comm, rank));
        let reading = reading.and_then(|()| self.read(&ready, member, most.unwrap_or(0)));
        let reading = self.agree_on_reading(member, reading)?;
        let attributes = self.attributes(member).ok();
        let askers: Vec<_> = askers.iter().map(|(asker, _)| *asker).collect();
        let mut answer = Answer::get(comm, &askers, &reading, attributes, rank)?;
        answer.limit(max_count);
        exchange_segments(comm, &askers, &reading, &mut answer, target)?;
        Ok(Restored::new(answer.found, answer.count))
    }
}

/// Sends a question, which is not 0, to one rank; returns the questions to this rank with their senders. A rank that does
/// not exist gets none.
fn ask<C: Comm>(comm: &C, rank: usize, question: u64) -> Result<Vec<(usize, u64)>> {
    let mut questions = vec![0; comm.size()];
    if let Some(asked) = questions.get_mut(rank) {
        *asked = question;
    }
    let asked = comm.alltoall(&questions)?.into_iter().enumerate();
    Ok(asked.filter(|(_, question)| *question > 0).collect())
}

fn check_rank<C: Comm>(comm: &C, rank: usize) -> Result<()> {
    if rank < comm.size() {
        return Ok(());
    }
    Err(Error::Number {
        what: "the rank asked for data",
        value: i64::try_from(rank).unwrap_or(i64::MAX),
    })
}

/// What another rank will send: where it goes in the target, and how many elements the member has there.
struct Answer {
    rank: usize,
    count: Option<u64>,
    element: u64,
    /// Offset and length.
    spans: VecDeque<(u64, u64)>,
    found: Regions,
    /// Bytes from this offset on are skipped.
    limit: u64,
}

impl Answer {
    /// Tells the requesters what this rank will send, and learns the same from `rank`.
    fn get<C: Comm>(
        comm: &C,
        askers: &[usize],
        reading: &MemberReading<'_>,
        attributes: Option<Attributes>,
        rank: usize,
    ) -> Result<Answer> {
        let count = attributes
            .map(|attributes| attributes.count)
            .or(reading.count);
        let known = u64::from(count.is_some());
        let spans = reading.spans.iter().flat_map(|span| [span.to, span.length]);
        let head = [known, count.unwrap_or(0), reading.element];
        let own = message(&head.into_iter().chain(spans).collect::<Vec<_>>());
        let sends: Vec<_> = askers.iter().map(|asker| (*asker, &own[..])).collect();
        let told = transfer_unsized(comm, ANSWER, &sends, &[rank])?;
        let mut told = told.first().map_or(&[][..], Vec::as_slice);
        let short = Error::Invariant("an answer is shorter than agreed");
        let [known, count, element] = take(&mut told).ok_or(short)?;
        let spans: Result<Vec<_>> = told.chunks(16).map(values).collect();
        Ok(Answer {
            rank,
            count: (known == 1).then_some(count),
            element,
            spans: spans?
                .into_iter()
                .map(|[to, length]| (to, length))
                .collect(),
            found: Regions::default(),
            limit: u64::MAX,
        })
    }

    /// Skips elements from `max_count` on.
    fn limit(&mut self, max_count: u64) {
        self.limit = max_count.saturating_mul(self.element);
        let elements = self.spans.iter().map(|(to, length)| {
            let element = self.element.max(1);
            to / element..(to + length) / element
        });
        self.found = Regions::from_ranges(elements).below(max_count);
    }

    fn length(&self) -> u64 {
        self.spans.iter().map(|(_, length)| length).sum()
    }

    /// Writes the next bytes where they belong.
    fn write(&mut self, mut bytes: &[u8], target: &mut (impl Target + ?Sized)) {
        while let Some((to, length)) = self.spans.front_mut().filter(|_| !bytes.is_empty()) {
            let (part, rest) = bytes.split_at(bytes.len().min(*length as usize));
            let wanted = self.limit.saturating_sub(*to).min(part.len() as u64);
            if wanted > 0 {
                target.write(*to, &part[..wanted as usize]);
            }
            *to += part.len() as u64;
            *length -= part.len() as u64;
            if *length == 0 {
                self.spans.pop_front();
            }
            bytes = rest;
        }
    }
}

/// The bytes of a reading, one after the other.
struct ReadingStream<'a> {
    spans: std::slice::Iter<'a, Span<'a>>,
    /// What is left of the current span: where it is and how much.
    rest: Option<(&'a Span<'a>, u64)>,
}

impl<'a> ReadingStream<'a> {
    fn of(reading: &'a MemberReading<'a>) -> ReadingStream<'a> {
        ReadingStream {
            spans: reading.spans.iter(),
            rest: None,
        }
    }

    /// The next bytes, at most a segment of them.
    fn next_segment(&mut self, length: usize) -> Vec<u8> {
        let mut segment = Vec::with_capacity(length);
        while segment.len() < length {
            let next = self.rest.take();
            let Some((span, done)) = next.or_else(|| Some((self.spans.next()?, 0))) else {
                break;
            };
            let taken = (span.length - done).min((length - segment.len()) as u64);
            let from = span.from + done;
            span.bytes.read(from, taken, |bytes| segment.extend(bytes));
            let done = done + taken;
            self.rest = (done < span.length).then_some((span, done));
        }
        segment
    }
}

/// The lengths of the segments of an answer.
fn segments(length: u64) -> impl Iterator<Item = usize> {
    let starts = (0..length).step_by(SEGMENT as usize);
    starts.map(move |start| (length - start).min(SEGMENT) as usize)
}

fn exchange_segments<C: Comm>(
    comm: &C,
    askers: &[usize],
    reading: &MemberReading<'_>,
    answer: &mut Answer,
    target: &mut (impl Target + ?Sized),
) -> Result<()> {
    let own = reading.spans.iter().map(|span| span.length).sum();
    let mut outgoing = segments(if askers.is_empty() { 0 } else { own });
    let mut incoming = segments(answer.length());
    let mut stream = ReadingStream::of(reading);
    let mut flights: VecDeque<C::Underway<Vec<u8>>> = VecDeque::new();
    loop {
        let (out, length) = (outgoing.next(), incoming.next());
        if flights.len() >= AT_ONCE || (out, length) == (None, None) {
            let Some(flight) = flights.pop_front() else {
                return Ok(());
            };
            let arrived = flight.finish()?;
            arrived.iter().for_each(|bytes| answer.write(bytes, target));
        }
        if (out, length) == (None, None) {
            continue;
        }
        let out = out.map(|length| Arc::new(stream.next_segment(length)));
        let sends = out
            .iter()
            .flat_map(|segment| askers.iter().map(|to| (*to, segment.clone())));
        let recvs = length.map(|length| (answer.rank, vec![0; length]));
        flights.push_back(comm.start(ANSWER, sends.collect(), Vec::from_iter(recvs))?);
    }
}
