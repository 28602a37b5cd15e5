//! Elements of a buffer that is there piece by piece, put where they are sent from while a piece is still in the
//! processor's cache. So most buffers are never there as a whole.

use super::super::packing::pack_below;
use super::super::route::Leg;
use super::super::sequence::Cursor;
use super::Result;
use super::outbox::{Part, Post, WORTHWHILE};

/// Bytes of a piece of a buffer that is there already.
const PIECE: usize = if cfg!(test) { 32 } else { 256 << 10 };

/// Where pieces of a buffer come from, in their order.
pub(in crate::pio) trait Source {
    /// How many elements the next piece has.
    fn next(&self) -> Option<u64>;
    /// Brings the next piece, which `place` is as long as.
    fn read(&mut self, place: &mut [u8]) -> Result<()>;
}

/// Where the elements of a leg go.
pub(super) enum Target<'a> {
    Place(&'a mut [u8]),
    /// To a rank, in parts.
    Parts(usize),
}

/// What one leg gets.
struct Hand<'a> {
    places: Cursor<'a>,
    goal: Goal<'a>,
}

struct Goal<'a> {
    target: Target<'a>,
    /// Bytes that are missing.
    left: usize,
    part: Option<Part>,
}

pub(super) struct Dealer<'a> {
    hands: Vec<Hand<'a>>,
    post: &'a mut dyn Post,
    element: usize,
    /// Whether no two legs share a place.
    disjoint: bool,
    /// Elements of the buffer that have been dealt.
    done: u64,
}

impl<'a> Dealer<'a> {
    /// All legs ascend.
    pub(super) fn new(
        legs: Vec<(&'a Leg, Target<'a>)>,
        post: &'a mut dyn Post,
        element: usize,
        disjoint: bool,
    ) -> Self {
        let hand = |(leg, target): (&'a Leg, _)| Hand {
            places: leg.places.cursor(),
            goal: Goal {
                target,
                left: leg.places.len() as usize * element,
                part: None,
            },
        };
        Self {
            hands: legs.into_iter().map(hand).collect(),
            post,
            element,
            disjoint,
            done: 0,
        }
    }

    /// All pieces of a source, through `room` where they are not all for one leg. Goes on after a failure.
    pub(super) fn deal_from(&mut self, source: &mut dyn Source, room: &mut [u8]) -> Result<()> {
        let mut verdict = Ok(());
        while let Some(count) = source.next() {
            let read = match self.gets_all(count) {
                Some(hand) => self.read_for(hand, count, source),
                None => {
                    let piece = &mut room[..count as usize * self.element];
                    let read = source.read(piece);
                    self.deal(piece);
                    read
                }
            };
            verdict = verdict.and(read);
        }
        verdict
    }

    /// A buffer, or the rest of one.
    pub(super) fn deal_all(&mut self, buffer: &[u8]) {
        let pieces = buffer.chunks(PIECE / self.element * self.element);
        pieces.for_each(|piece| self.deal(piece));
    }

    fn deal(&mut self, piece: &[u8]) {
        let end = self.done + (piece.len() / self.element) as u64;
        for Hand { places, goal } in &mut self.hands {
            if places.peek().is_none_or(|next| next >= end) {
                continue;
            }
            let (range, rest) = ((self.done, end), goal.rest(self.post));
            let bytes = pack_below(places, range, self.element, piece, rest);
            goal.fill(bytes, self.post);
        }
        self.done = end;
    }

    /// The leg that gets all of the next elements, if there is one: who has them puts them there himself.
    fn gets_all(&self, count: u64) -> Option<usize> {
        let gets_all =
            |hand: &Hand| hand.places.peek() == Some(self.done) && hand.places.ahead() >= count;
        let disjoint = self.disjoint;
        self.hands.iter().position(gets_all).filter(|_| disjoint)
    }

    fn read_for(&mut self, hand: usize, count: u64, source: &mut dyn Source) -> Result<()> {
        let (hand, bytes) = (&mut self.hands[hand], count as usize * self.element);
        let read = source.read(&mut hand.goal.rest(self.post)[..bytes]);
        hand.places.skip(count);
        hand.goal.fill(bytes, self.post);
        self.done += count;
        read
    }
}

impl Goal<'_> {
    /// Room for what the next piece brings.
    fn rest(&mut self, post: &mut dyn Post) -> &mut [u8] {
        match &mut self.target {
            Target::Place(rest) => rest,
            Target::Parts(_) => self.part.get_or_insert_with(|| post.part()).rest(),
        }
    }

    /// So many bytes are there now.
    fn fill(&mut self, bytes: usize, post: &mut dyn Post) {
        self.left -= bytes;
        match &mut self.target {
            Target::Place(rest) => *rest = &mut std::mem::take(rest)[bytes..],
            Target::Parts(to) => {
                let worthwhile = if self.left == 0 { 1 } else { WORTHWHILE };
                if let Some(part) = &mut self.part {
                    part.fill(bytes);
                }
                if let Some(part) = self.part.take_if(|part| part.filled() >= worthwhile) {
                    post.send(*to, part);
                }
            }
        }
    }
}
