//! Elements of a buffer that is there piece by piece, put where they are sent from while a piece is still in the
//! processor's cache. So most buffers are never there as a whole.

use super::super::packing::pack_below;
use super::super::route::Leg;
use super::super::sequence::Cursor;
use super::Result;

/// Bytes of a piece of a buffer that is there already.
const PIECE: usize = if cfg!(test) { 32 } else { 256 << 10 };

/// Where pieces of a buffer come from, in their order.
pub(in crate::pio) trait Source {
    /// How many elements the next piece has.
    fn next(&self) -> Option<u64>;
    /// Brings the next piece, which `place` is as long as.
    fn read(&mut self, place: &mut [u8]) -> Result<()>;
}

/// What one leg gets.
struct Hand<'a> {
    places: Cursor<'a>,
    rest: &'a mut [u8],
}

pub(super) struct Dealer<'a> {
    hands: Vec<Hand<'a>>,
    element: usize,
    /// Whether no two legs share a place.
    disjoint: bool,
    /// Elements of the buffer that have been dealt.
    done: u64,
}

impl<'a> Dealer<'a> {
    /// All legs ascend; each comes with the place for its elements.
    pub(super) fn new(legs: Vec<(&'a Leg, &'a mut [u8])>, element: usize, disjoint: bool) -> Self {
        let hand = |(leg, rest): (&'a Leg, _)| Hand {
            places: leg.places.cursor(),
            rest,
        };
        Self {
            hands: legs.into_iter().map(hand).collect(),
            element,
            disjoint,
            done: 0,
        }
    }

    /// All pieces of a source, through `room` where they are not all for one leg. Goes on after a failure.
    pub(super) fn deal_from(&mut self, source: &mut dyn Source, room: &mut [u8]) -> Result<()> {
        let mut verdict = Ok(());
        while let Some(count) = source.next() {
            let read = match self.place_of_all(count) {
                Some(place) => source.read(place),
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
        for hand in &mut self.hands {
            let range = (self.done, end);
            let bytes = pack_below(&mut hand.places, range, self.element, piece, hand.rest);
            hand.skip(bytes);
        }
        self.done = end;
    }

    /// Where the next elements go if one leg gets all of them: who has them puts them there himself.
    fn place_of_all(&mut self, count: u64) -> Option<&mut [u8]> {
        let next = self.done;
        let gets_all =
            |hand: &&mut Hand| hand.places.peek() == Some(next) && hand.places.ahead() >= count;
        let disjoint = self.disjoint;
        let hand = self.hands.iter_mut().find(gets_all).filter(|_| disjoint)?;
        hand.places.skip(count);
        self.done += count;
        Some(hand.skip(count as usize * self.element))
    }
}

impl<'a> Hand<'a> {
    fn skip(&mut self, bytes: usize) -> &'a mut [u8] {
        let (now, later) = std::mem::take(&mut self.rest).split_at_mut(bytes);
        self.rest = later;
        now
    }
}
