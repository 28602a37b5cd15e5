//! The groups of the subset rearranger: each I/O task and the ranks it serves.
//!
//! All groups have the same size, to within one. Ranks that are no I/O tasks are distributed in their order, so that a
//! group lies around its I/O task as far as equal sizes allow. Memory grows with the number of I/O tasks, not of ranks.

use std::ops::Range;

pub(super) struct Groups {
    /// Ranks of the I/O tasks in ascending order, and which I/O task each is.
    tasks: Vec<(usize, usize)>,
    /// The position of each I/O task in that order.
    places: Vec<usize>,
    size: usize,
}

impl Groups {
    pub(super) fn new(size: usize, io_ranks: &[usize]) -> Self {
        let mut tasks: Vec<_> = io_ranks.iter().copied().zip(0..).collect();
        tasks.sort_unstable();
        let mut places = vec![0; tasks.len()];
        for (place, (_, task)) in tasks.iter().enumerate() {
            places[*task] = place;
        }
        Self {
            tasks,
            places,
            size,
        }
    }

    /// The I/O task that serves a rank.
    pub(super) fn task_of(&self, rank: usize) -> usize {
        let before = self.tasks.partition_point(|(io, _)| *io < rank);
        if let Some(&(io, task)) = self.tasks.get(before) {
            if io == rank {
                return task;
            }
        }
        let place = rank - before;
        let after = |group: usize| self.others(group).end <= place;
        let group = partition_point(self.tasks.len(), after);
        self.tasks[group].1
    }

    pub(super) fn is_task(&self, rank: usize) -> bool {
        self.tasks
            .binary_search_by_key(&rank, |(io, _)| *io)
            .is_ok()
    }

    /// The ranks that an I/O task serves, itself among them, in ascending order.
    pub(super) fn members(&self, task: usize) -> Vec<usize> {
        let group = self.places[task];
        let others = self.others(group).map(|place| self.other(place));
        let mut members: Vec<_> = others.chain([self.tasks[group].0]).collect();
        members.sort_unstable();
        members
    }

    /// Which of the ranks that are no I/O tasks belong to a group.
    fn others(&self, group: usize) -> Range<usize> {
        let groups = self.tasks.len();
        let others = self.size - groups;
        let small = groups - others % groups;
        let end = |group: usize| group * (others / groups) + group.saturating_sub(small);
        end(group)..end(group + 1)
    }

    /// The rank of the `place`-th rank that is no I/O task.
    fn other(&self, place: usize) -> usize {
        let tasks = &self.tasks;
        place + partition_point(tasks.len(), |index| tasks[index].0 - index <= place)
    }
}

/// The first number up to `end` for which `before` does not hold.
fn partition_point(end: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = (low + high) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_documentation() {
        let groups = Groups::new(5, &[0, 2]);
        assert_eq!(groups.members(0), [0, 1]);
        assert_eq!(groups.members(1), [2, 3, 4]);
    }

    #[test]
    fn io_tasks_side_by_side_get_equal_groups() {
        let groups = Groups::new(5, &[0, 1]);
        assert_eq!(groups.members(0), [0, 2]);
        assert_eq!(groups.members(1), [1, 3, 4]);
    }

    proptest! {
        #[test]
        fn every_rank_is_served_by_one_task(tasks in 1..12usize, stride in 1..6usize, more in 0..20usize, base in 0..60usize) {
            let size = tasks * stride + more;
            let io_ranks: Vec<_> = (0..tasks).map(|i| (base + i * stride) % size).collect();
            let groups = Groups::new(size, &io_ranks);
            let mut served = vec![0; size];
            for (task, io_rank) in io_ranks.iter().enumerate() {
                let members = groups.members(task);
                prop_assert!(members.contains(io_rank));
                prop_assert!(members.is_sorted());
                prop_assert!((size / tasks..=size.div_ceil(tasks)).contains(&members.len()));
                for rank in members {
                    served[rank] += 1;
                    prop_assert_eq!(groups.task_of(rank), task);
                }
            }
            prop_assert!(served.iter().all(|times| *times == 1));
        }
    }
}
