//! The load of a rebuild: how much each survivor sends after the loss of one domain.
//!
//! The unit is the data of one rank. With XOR and RS, each survivor of a set sends its data once per lost rank of the
//! set. With PARTNER, the first surviving holder sends the data of a lost rank, and the owners resend the copies that a
//! lost rank held.

use std::ops::Range;

use super::Domain;
use super::placement::{Placement, PlacementScheme};

/// The load on the survivors of a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RebuildLoad {
    pub(super) failed: Domain,
    pub(super) lost_ranks: usize,
    /// What the busiest survivor sends.
    pub(super) most: usize,
    /// Mean over all survivors.
    pub(super) mean: f64,
    /// Survivors that send nothing.
    pub(super) idle: usize,
}

impl RebuildLoad {
    /// Load imbalance: maximum by mean.
    fn ratio(&self) -> f64 {
        self.most as f64 / self.mean
    }
}

impl Placement {
    /// The most imbalanced load after the loss of one domain of a level; `None` if no such loss is survived.
    pub(super) fn worst_load(&self, level: usize) -> Option<RebuildLoad> {
        let loads = self
            .tree()
            .domains(level)
            .filter_map(|domain| self.load(domain));
        loads.reduce(|worst, load| match load.ratio() > worst.ratio() {
            true => load,
            false => worst,
        })
    }

    fn load(&self, failed: Domain) -> Option<RebuildLoad> {
        let lost = self.tree().leaves_below(failed);
        let sent = match self.scheme() {
            PlacementScheme::Partner { replicas } => self.copies_sent(lost.clone(), replicas)?,
            _ => self.shares_sent(lost.clone())?,
        };
        let survivors = self.rank_count() - lost.len();
        let busy: usize = sent.iter().map(|(senders, _)| senders).sum();
        let sum: usize = sent.iter().map(|(senders, load)| senders * load).sum();
        Some(RebuildLoad {
            failed,
            lost_ranks: lost.len(),
            most: sent.iter().map(|(_, load)| *load).max().unwrap_or(0),
            mean: sum as f64 / survivors as f64,
            idle: survivors - busy,
        })
    }

    /// (survivors, what each sends), one entry per set; `None` if a set loses data.
    fn shares_sent(&self, lost: Range<usize>) -> Option<Vec<(usize, usize)>> {
        let mut sets: Vec<_> = lost.map(|leaf| self.place_of_leaf(leaf).0).collect();
        sets.sort_unstable();
        let of_set = |lost: &[usize]| {
            let survivors = self.leaves_of(lost[0]).len() - lost.len();
            (lost.len() <= self.scheme().most_lost()).then_some((survivors, lost.len()))
        };
        sets.chunk_by(|a, b| a == b).map(of_set).collect()
    }

    /// The same for PARTNER, one entry per survivor.
    fn copies_sent(&self, lost: Range<usize>, replicas: usize) -> Option<Vec<(usize, usize)>> {
        let mut senders = Vec::new();
        for leaf in lost.clone() {
            let (set, place) = self.place_of_leaf(leaf);
            let ring = self.leaves_of(set);
            let is_left = |leaf: &usize| !lost.contains(leaf);
            let at = |place: usize| ring[place % ring.len()] as usize;
            let mut holders = (1..=replicas).map(|distance| at(place + distance));
            senders.push(holders.find(is_left)?);
            let owners = (1..=replicas).map(|distance| at(place + ring.len() - distance));
            senders.extend(owners.filter(is_left));
        }
        senders.sort_unstable();
        let loads = senders.chunk_by(|a, b| a == b);
        Some(loads.map(|sent| (1, sent.len())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::DomainTree;
    use super::super::placement::PlacementRequest;
    use super::*;

    #[test]
    fn survivors_of_a_set_send_a_share_for_each_rank_lost() {
        let paths = ["a/0", "a/1", "b/0", "b/1", "c/0", "c/1", "d/0", "d/1"];
        let request = PlacementRequest::new(PlacementScheme::ReedSolomon { k: 2 }, 4);
        let placement = Placement::of_paths(&paths, &request).unwrap();
        let rack = placement.worst_load(0).unwrap();
        assert_eq!((rack.lost_ranks, rack.most, rack.idle), (2, 1, 0));
        assert_eq!(rack.mean, 1.0);
        let node = placement.worst_load(1).unwrap();
        assert_eq!((node.lost_ranks, node.most, node.idle), (1, 1, 4));
        assert_eq!(node.mean, 3.0 / 7.0);
    }

    #[test]
    fn holders_send_data_and_owners_send_copies() {
        let load = |replicas: usize, ranks: usize, lost: &[&str]| {
            let paths: Vec<_> = (0..ranks)
                .map(|rank| {
                    if lost.contains(&rank.to_string().as_str()) {
                        "lost"
                    } else {
                        "left"
                    }
                })
                .collect();
            let tree = DomainTree::of_ranks(&paths, '/').unwrap();
            let request = PlacementRequest::new(PlacementScheme::Partner { replicas }, ranks);
            let placement = Placement::new(tree, &request).unwrap();
            let failed = placement.domain("lost").unwrap();
            placement
                .load(failed)
                .map(|load| (load.most, load.mean, load.idle))
        };
        assert_eq!(load(1, 2, &["0"]), Some((2, 2.0, 0)));
        assert_eq!(load(2, 3, &["0", "1"]), Some((4, 4.0, 0)));
        assert_eq!(load(1, 3, &["0", "1"]), None);
        assert_eq!(load(1, 3, &["0"]), Some((1, 1.0, 0)));
    }
}
