//! A slow but literal simulation of how the original library exchanges trees.

use super::{Model, number};
use crate::kvtree::exchange::Direction;
use crate::kvtree::pack::Order;
use std::ffi::CStr;

/// The exchange of the original library: messages travel as `D/<destination>/S/<source>/...`, every
/// rank copies in every round what it keeps, what it sends and what it gets.
struct Hops {
    size: usize,
    direction: Direction,
    rounds: u32,
}

impl Hops {
    fn exchange(&self, outgoing: &[Model], results: &mut [Model]) {
        let mut current: Vec<Model> = (0..self.size).map(|r| wrapped(r, &outgoing[r])).collect();
        for round in 0..self.rounds {
            let step = 1 << round;
            if step >= self.size {
                break;
            }
            let mut kept = vec![Model::default(); self.size];
            let mut sent = vec![Model::default(); self.size];
            for rank in 0..self.size {
                for node in current[rank].child(c"D").clone().0 {
                    let to = rank_of(&node.key);
                    let message = node.below.unwrap();
                    if to == rank {
                        results[rank].merge(message.get(c"S").unwrap());
                    } else if self.way(rank, to) & step != 0 {
                        sent[rank].child(c"D").child(&node.key).merge(&message);
                    } else {
                        kept[rank].child(c"D").child(&node.key).merge(&message);
                    }
                }
            }
            for (from, sent) in sent.iter().enumerate() {
                let mut received = Model::default();
                received.unpack_in_front(sent, Order::Reversed);
                kept[self.neighbour(from, step)].merge(&received);
            }
            current = kept;
        }
        for (rank, mut current) in current.into_iter().enumerate() {
            let mine = current.child(c"D").child(&number(rank)).child(c"S").clone();
            results[rank].merge(&mine);
        }
    }

    fn way(&self, from: usize, to: usize) -> usize {
        way(self.size, self.direction, from, to)
    }

    fn neighbour(&self, rank: usize, step: usize) -> usize {
        match self.direction {
            Direction::Right => (rank + step) % self.size,
            Direction::Left => (rank + self.size - step) % self.size,
        }
    }
}

/// How many ranks further a message has to go.
fn way(size: usize, direction: Direction, from: usize, to: usize) -> usize {
    let ahead = match direction {
        Direction::Right => to as i64 - from as i64,
        Direction::Left => from as i64 - to as i64,
    };
    let around = if ahead < 0 { size as i64 } else { 0 };
    (ahead + around) as usize
}

fn wrapped(rank: usize, outgoing: &Model) -> Model {
    let mut wrapped = Model::default();
    for node in &outgoing.0 {
        let source = wrapped.child(c"D").child(&node.key).child(c"S");
        let source = source.child(&number(rank));
        node.below.iter().for_each(|message| source.merge(message));
    }
    wrapped
}

fn rank_of(key: &CStr) -> usize {
    super::atoi(key) as usize
}

/// One way, all rounds.
pub(in crate::kvtree) fn hops_one_way(
    direction: Direction,
    outgoing: &[Model],
    results: &mut [Model],
) {
    let size = outgoing.len();
    let rounds = usize::BITS;
    Hops {
        size,
        direction,
        rounds,
    }
    .exchange(outgoing, results);
}

/// Each message where it has fewer hops; only as many rounds as the farthest one needs.
pub(in crate::kvtree) fn hops_both_ways(outgoing: &[Model], results: &mut [Model]) {
    let size = outgoing.len();
    let mut ways = [vec![Model::default(); size], vec![Model::default(); size]];
    let mut rounds = [0; 2];
    for (rank, outgoing) in outgoing.iter().enumerate() {
        for node in &outgoing.0 {
            let to = rank_of(&node.key);
            let left = way(size, Direction::Left, rank, to);
            let right = way(size, Direction::Right, rank, to);
            let goes_left = left.count_ones() < right.count_ones();
            let (way, far) = if goes_left { (0, left) } else { (1, right) };
            let mut copy = Model::default();
            node.below.iter().for_each(|message| copy.merge(message));
            ways[way][rank].set(&node.key, Some(copy));
            let highest = (0..usize::BITS).filter(|bit| (far >> bit) & 1 == 1).max();
            rounds[way] = rounds[way].max(highest.map_or(0, |bit| bit + 1));
        }
    }
    for (way, direction) in [(0, Direction::Left), (1, Direction::Right)] {
        let hops = Hops {
            size,
            direction,
            rounds: rounds[way],
        };
        hops.exchange(&ways[way], results);
    }
}
