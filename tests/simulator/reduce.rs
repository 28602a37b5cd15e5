//! A failing life becomes a short one that still fails.

use std::time::{Duration, Instant};

use crate::{Finding, Life, Tally};

/// Takes away whatever the finding does not need, for so long at most.
pub fn reduce<L: Life>(mut life: L, mut finding: Finding, time: Duration) -> (L, Finding) {
    let begun = Instant::now();
    'again: loop {
        for smaller in life.smaller() {
            if begun.elapsed() > time {
                break 'again;
            }
            if let Err(still) = smaller.live(&mut Tally::default()) {
                (life, finding) = (smaller, still);
                continue 'again;
            }
        }
        break;
    }
    (life, finding)
}

/// All lists that lack a run of steps, long runs first.
pub fn shorter<T: Clone>(steps: &[T]) -> Vec<Vec<T>> {
    let mut all = Vec::new();
    let mut length = steps.len();
    while length > 0 {
        for first in (0..=steps.len() - length).rev().step_by(length.div_ceil(2)) {
            let rest = steps[..first].iter().chain(&steps[first + length..]);
            all.push(rest.cloned().collect());
        }
        length /= 2;
    }
    all
}

/// All lists in which one step is a smaller one.
pub fn simpler<T: Clone>(steps: &[T], smaller: impl Fn(&T) -> Vec<T>) -> Vec<Vec<T>> {
    let mut all = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        for other in smaller(step) {
            let mut list = steps.to_vec();
            list[index] = other;
            all.push(list);
        }
    }
    all
}
