//! Who computes which blocks of a flow, so that the busiest link carries as little as possible.
//!
//! Between nodes, the time of a run is the bytes of the busiest direction of a link divided by its rate. A flow needs a
//! worker for each block: it receives the blocks of all sources and sends the results to all targets. Whoever that is,
//! every other source sends its block once and every other target receives its result once. So the choice only adds to
//! the link of the worker's own node: it receives what sources on other nodes send, and sends what targets on other
//! nodes get. Ranks of one node share its link; what they exchange does not load it.
//!
//! Blocks are given out one after the other, each such that the busiest link carries least afterwards. Encoding ends with
//! every target computing its own parity; with two of four ranks lost under RS(2), survivors and lost ranks take turns.

use super::plan::{Chunk, Flow, Workers};

/// Blocks of a flow that are given out; further ones repeat the pattern. Fewer for large sets, where every block has
/// more ranks to choose from.
const TURNS: usize = 24;
const FEWEST_TURNS: usize = 4;
const CHOICES: usize = 1 << 12;

/// Bytes that a node sends and receives, times the number of turns. Signed because a worker saves the transfer of its
/// own block or result, which is counted with the others first.
#[derive(Clone, Copy, Default)]
struct LinkLoad {
    sent: i128,
    received: i128,
}

impl LinkLoad {
    fn plus(self, other: LinkLoad) -> LinkLoad {
        LinkLoad {
            sent: self.sent + other.sent,
            received: self.received + other.received,
        }
    }

    /// The busier direction decides, then the sum of both.
    fn cost(self) -> (i128, i128) {
        (self.sent.max(self.received), self.sent + self.received)
    }
}

/// Chooses the workers of all flows but copies, whose targets get the bytes as they are. `nodes` gives the node of each
/// position of the set.
pub(super) fn assign_workers(flows: &mut [Flow], nodes: &[usize]) {
    let turns = (CHOICES / nodes.len().max(1)).clamp(FEWEST_TURNS, TURNS);
    let mut links = vec![LinkLoad::default(); nodes.iter().max().map_or(0, |last| last + 1)];
    for flow in flows.iter() {
        let each_turn = turns as i128;
        for source in &flow.sources {
            links[nodes[source.rank]].sent += each_turn * i128::from(source.length);
        }
        for target in &flow.targets {
            links[nodes[target.rank]].received += each_turn * i128::from(target.length);
        }
    }
    let mut choices: Vec<_> = flows.iter().map(|flow| Choice::of(flow, nodes)).collect();
    for turn in 0..turns {
        for (number, choice) in choices.iter_mut().enumerate() {
            choice.choose(&mut links, turn + number);
        }
    }
    for (flow, choice) in flows.iter_mut().zip(choices) {
        flow.workers = match flow.is_copy() {
            true => Workers::AtTargets,
            false => Workers::InTurn(choice.chosen),
        };
    }
}

/// Who may compute the blocks of a flow, and who does.
struct Choice {
    /// Rank, its node, and what a block adds to the link of that node.
    targets: Vec<(usize, usize, LinkLoad)>,
    sources: Vec<(usize, usize, LinkLoad)>,
    chosen: Vec<usize>,
}

impl Choice {
    fn of(flow: &Flow, nodes: &[usize]) -> Choice {
        let mut loads = vec![LinkLoad::default(); nodes.len()];
        let sums = |chunks: &[Chunk]| chunks.iter().map(|chunk| i128::from(chunk.length)).sum();
        let (sent, received) = (sums(&flow.targets), sums(&flow.sources));
        loads.fill(LinkLoad { sent, received });
        for chunk in flow.sources.iter().chain(&flow.targets) {
            let here = &mut loads[nodes[chunk.rank]];
            here.sent -= i128::from(chunk.length);
            here.received -= i128::from(chunk.length);
        }
        let candidates = |chunks: &[Chunk]| {
            let nodes = chunks.iter().map(|chunk| (chunk.rank, nodes[chunk.rank]));
            nodes
                .map(|(rank, node)| (rank, node, loads[node]))
                .collect()
        };
        Choice {
            targets: candidates(&flow.targets),
            sources: candidates(&flow.sources),
            chosen: Vec::new(),
        }
    }

    /// Gives out the next block. Among equals a target, which keeps its own result, then each in its turn.
    fn choose(&mut self, links: &mut [LinkLoad], turn: usize) {
        let in_turn = |ranks: &'_ [(usize, usize, LinkLoad)]| {
            let (behind, first) = ranks.split_at(turn % ranks.len().max(1));
            first.iter().chain(behind).copied().collect::<Vec<_>>()
        };
        let candidates = in_turn(&self.targets)
            .into_iter()
            .chain(in_turn(&self.sources));
        let best = candidates.reduce(|best, other| match is_better(links, other, best) {
            true => other,
            false => best,
        });
        if let Some((rank, node, load)) = best {
            links[node] = links[node].plus(load);
            self.chosen.push(rank);
        }
    }
}

/// Whether the busier of the two nodes is less busy if the first candidate gets the block, not the second. All other
/// links stay as they are.
fn is_better(
    links: &[LinkLoad],
    (_, first, first_load): (usize, usize, LinkLoad),
    (_, second, second_load): (usize, usize, LinkLoad),
) -> bool {
    let busier_first = |a: LinkLoad, b: LinkLoad| {
        let (a, b) = (a.cost(), b.cost());
        (a.max(b), a.min(b))
    };
    first != second
        && busier_first(links[first].plus(first_load), links[second])
            < busier_first(links[first], links[second].plus(second_load))
}

#[cfg(test)]
mod tests {
    use super::super::{Geometry, Have, Scheme};
    use super::*;
    use proptest::prelude::*;

    const LENGTH: u64 = 1 << 20;

    /// Bytes that the busiest direction of a link carries, over all turns of the workers.
    fn busiest(flows: &[Flow], nodes: &[usize]) -> f64 {
        let mut links = vec![[0.0; 2]; nodes.len()];
        let mut carry = |from: usize, to: usize, bytes: f64| {
            if nodes[from] != nodes[to] {
                links[nodes[from]][0] += bytes;
                links[nodes[to]][1] += bytes;
            }
        };
        for flow in flows {
            let Workers::InTurn(workers) = &flow.workers else {
                // A copy: its source sends it to every target.
                for target in &flow.targets {
                    carry(flow.sources[0].rank, target.rank, target.length as f64);
                }
                continue;
            };
            for worker in workers {
                let each = |chunk: &Chunk| chunk.length as f64 / workers.len() as f64;
                for source in &flow.sources {
                    carry(source.rank, *worker, each(source));
                }
                for target in &flow.targets {
                    carry(*worker, target.rank, each(target));
                }
            }
        }
        links.into_iter().flatten().fold(0.0, f64::max)
    }

    fn flows(scheme: Scheme, lengths: &[u64], nodes: &[usize], lost: &[usize]) -> Vec<Flow> {
        let geometry = Geometry::new(scheme, lengths.to_vec()).unwrap();
        let geometry = geometry.on_nodes(nodes);
        let have = (0..lengths.len()).map(|rank| match lost.contains(&rank) {
            true => Have::NOTHING,
            false => Have::ALL,
        });
        match lost.is_empty() {
            true => geometry.encoding().unwrap(),
            false => geometry.flows(&have.collect::<Vec<_>>()).unwrap().unwrap(),
        }
    }

    /// In files of a rank.
    fn cost(scheme: Scheme, ranks: usize, lost: &[usize]) -> f64 {
        let nodes: Vec<_> = (0..ranks).collect();
        let flows = flows(scheme, &vec![LENGTH; ranks], &nodes, lost);
        busiest(&flows, &nodes) / LENGTH as f64
    }

    #[test]
    fn links_of_four_nodes_carry_no_more_than_the_floor() {
        let rs = Scheme::ReedSolomon { k: 2 };
        let cases = [
            (Scheme::Xor, &[][..], 1.0),
            (rs, &[], 1.5),
            (Scheme::Xor, &[1], 4.0 / 3.0),
            (rs, &[1, 2], 2.5),
        ];
        for (scheme, lost, floor) in cases {
            let cost = cost(scheme, 4, lost);
            assert!(
                cost < 1.01 * floor,
                "{scheme:?} {lost:?}: {cost} of {floor}"
            );
        }
    }

    #[test]
    fn parity_of_a_single_row_is_computed_where_it_is_kept() {
        let nodes: Vec<_> = (0..5).collect();
        for flow in flows(Scheme::Xor, &[LENGTH; 5], &nodes, &[]) {
            let Workers::InTurn(workers) = &flow.workers else {
                panic!("a flow has no workers");
            };
            assert!(workers.iter().all(|worker| *worker == flow.targets[0].rank));
        }
    }

    #[test]
    fn what_ranks_of_one_node_exchange_is_free() {
        let nodes = [0, 0, 1, 1];
        let lengths = [LENGTH; 4];
        let flows = flows(Scheme::Xor, &lengths, &nodes, &[]);
        // Each node computes two of the four parities, and gets two chunks from the other for each.
        assert!(busiest(&flows, &nodes) <= 1.01 * 4.0 / 3.0 * LENGTH as f64);
    }

    proptest! {
        /// One rank per flow that does all of its work is never better than the choice, up to the last turn.
        #[test]
        fn the_choice_is_not_worse_than_targets_or_sources_in_turn(
            lengths in prop::collection::vec(1u64..5000, 3..9),
            k in 1usize..3,
            lost in prop::collection::vec(0usize..9, 0..3),
            shared in any::<bool>(),
        ) {
            let ranks = lengths.len();
            let nodes: Vec<_> = (0..ranks).map(|rank| if shared { rank / 2 } else { rank }).collect();
            let mut lost: Vec<_> = lost.into_iter().filter(|rank| *rank < ranks).collect();
            lost.sort_unstable();
            lost.dedup();
            lost.truncate(k);
            let chosen = flows(Scheme::ReedSolomon { k }, &lengths, &nodes, &lost);
            let naive = |of: fn(&Flow) -> &[Chunk]| {
                let mut flows = chosen.clone();
                for flow in flows.iter_mut().filter(|flow| !flow.is_copy()) {
                    let workers = of(flow).iter().map(|chunk| chunk.rank).collect();
                    flow.workers = Workers::InTurn(workers);
                }
                busiest(&flows, &nodes)
            };
            let turn: u64 = lengths.iter().sum();
            let bound = naive(|flow| &flow.targets).min(naive(|flow| &flow.sources));
            let slack = 2.0 * turn as f64 / FEWEST_TURNS as f64;
            prop_assert!(busiest(&chosen, &nodes) <= bound + slack);
        }
    }
}
