//! What the loss of one domain costs the others: how much each of them sends to rebuild what was lost.
//!
//! The unit is the data of one rank. Each survivor of a set of XOR or RS sends its share for every rank that its set
//! has lost. Of PARTNER the first holder that is left sends the data of a lost rank, and the owners send again those
//! copies that a lost rank held.

use super::Domain;
use super::placement::{Placement, Scheme};

/// The load on the survivors of a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) failed: Domain,
    pub(super) lost_ranks: usize,
    /// Of the survivor with the most.
    pub(super) most: usize,
    /// Over all survivors.
    pub(super) mean: f64,
    /// Survivors that have nothing to send.
    pub(super) idle: usize,
}

impl Load {
    /// How uneven it is.
    fn ratio(&self) -> f64 {
        self.most as f64 / self.mean
    }
}

impl Placement {
    /// The most uneven load that the loss of one domain of a level brings; `None` if no such loss is survived.
    pub(super) fn worst_load(&self, level: usize) -> Option<Load> {
        let loads = self
            .tree()
            .domains(level)
            .filter_map(|domain| self.load(domain));
        loads.reduce(|worst, load| match load.ratio() > worst.ratio() {
            true => load,
            false => worst,
        })
    }

    fn load(&self, failed: Domain) -> Option<Load> {
        let lost = self.leaves_below(failed);
        let mut sets: Vec<_> = lost.clone().map(|leaf| self.set_of_leaf(leaf)).collect();
        sets.sort_unstable();
        let (mut most, mut sum, mut busy) = (0, 0, 0);
        for in_set in sets.chunk_by(|a, b| a == b) {
            let ring = self.leaves_of(in_set[0]);
            let has_failed: Vec<_> = ring
                .iter()
                .map(|leaf| lost.contains(&(*leaf as usize)))
                .collect();
            let sent = match self.scheme() {
                Scheme::Partner { replicas } => copies_sent(&has_failed, replicas)?,
                _ => shares_sent(&has_failed, self.scheme().most_lost())?,
            };
            most = sent.iter().copied().max().unwrap_or(0).max(most);
            sum += sent.iter().sum::<usize>();
            busy += sent.iter().filter(|sent| **sent > 0).count();
        }
        let survivors = self.rank_count() - lost.len();
        Some(Load {
            failed,
            lost_ranks: lost.len(),
            most,
            mean: sum as f64 / survivors as f64,
            idle: survivors - busy,
        })
    }
}

fn shares_sent(has_failed: &[bool], most_lost: usize) -> Option<Vec<usize>> {
    let lost = has_failed.iter().filter(|failed| **failed).count();
    let sent = has_failed
        .iter()
        .map(|failed| if *failed { 0 } else { lost });
    (lost <= most_lost).then(|| sent.collect())
}

fn copies_sent(has_failed: &[bool], replicas: usize) -> Option<Vec<usize>> {
    let size = has_failed.len();
    let mut sent = vec![0; size];
    for lost in (0..size).filter(|place| has_failed[*place]) {
        let mut holders = (1..=replicas).map(|distance| (lost + distance) % size);
        sent[holders.find(|holder| !has_failed[*holder])?] += 1;
        let owners = (1..=replicas).map(|distance| (lost + size - distance) % size);
        owners
            .filter(|owner| !has_failed[*owner])
            .for_each(|owner| sent[owner] += 1);
    }
    Some(sent)
}

#[cfg(test)]
mod tests {
    use super::super::placement::Request;
    use super::*;

    #[test]
    fn survivors_of_a_set_send_a_share_for_each_rank_lost() {
        let paths = ["a/0", "a/1", "b/0", "b/1", "c/0", "c/1", "d/0", "d/1"];
        let request = Request::new(Scheme::ReedSolomon { k: 2 }, 4);
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
        assert_eq!(
            copies_sent(&[true, false, false, false], 1),
            Some(vec![0, 1, 0, 1])
        );
        assert_eq!(copies_sent(&[true, true, false, false], 1), None);
        assert_eq!(
            copies_sent(&[true, true, false, false], 2),
            Some(vec![0, 0, 3, 2])
        );
        assert_eq!(copies_sent(&[true, false], 1), Some(vec![0, 2]));
    }
}
