//! Whether every group survives a given number of failures in each level, whichever domains fail.
//!
//! There are three tests, each accepting everything that the one before it accepts: the polytope (a linear inequality),
//! the sum of the worst losses of the levels, and the exact worst case. The exact test is a dynamic program over the
//! levels: of the failed domains of a level, only the number of heavy ones matters.

use std::collections::BTreeMap;

use super::layout::greatest_common_divisor;
use super::level_plan::Spread;
use super::{Error, GroupTolerance, Layout, LevelState, Result, SymmetricTree, Units};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureTest {
    Polytope,
    Sum,
    Exact,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossVerdict {
    pub tolerable: bool,
    /// The test's upper bound of the units that a group loses.
    pub loss: u64,
}

impl LossVerdict {
    pub(super) fn of(loss: u64, units: Units) -> LossVerdict {
        let tolerable = loss <= u64::from(units.parity);
        LossVerdict { tolerable, loss }
    }
}

/// The failure vectors v with A v <= b: one row of A per entry of b, one column per level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polytope {
    pub rows: Vec<Vec<u64>>,
    pub bounds: Vec<u64>,
}

/// Limit on the vectors that [`maximal_vectors`] examines.
const MOST_VECTORS: u64 = 1 << 20;

impl Layout {
    /// `failed`: the number of failed domains in each level of the tree, not counting those inside a failed domain.
    pub fn tolerates(&self, failed: &[u32], test: FailureTest) -> Result<LossVerdict> {
        self.check_failures(failed)?;
        let kept = self.in_kept_levels(failed);
        let (group, spread) = (self.group_size(), &self.plan().spread);
        let losses = kept.iter().enumerate().map(|(step, &failed)| match test {
            FailureTest::Polytope => failed * spread.loss(group, step, 1),
            _ => spread.loss(group, step, failed),
        });
        let sum = losses.sum::<u64>().min(group);
        Ok(match (spread, test) {
            (_, FailureTest::Polytope) => LossVerdict {
                tolerable: self.polytope()?.contains(failed),
                loss: sum,
            },
            (Spread::Even(symmetric), FailureTest::Exact) => {
                LossVerdict::of(worst(symmetric, group, &kept), self.units())
            }
            _ => LossVerdict::of(sum, self.units()),
        })
    }

    /// Bound B as a polytope: v1 / K1 + v2 / K2 + ... <= 1, and v <= 0 for levels that tolerate nothing.
    pub fn polytope(&self) -> Result<Polytope> {
        let mut tolerances = vec![0; self.tree().depth()];
        let GroupTolerance { bound, .. } = self.tolerance()?;
        for (&level, bound) in self.plan().levels().iter().zip(bound) {
            tolerances[level] = u64::from(bound);
        }
        Polytope::new(&tolerances)
    }

    fn check_failures(&self, failed: &[u32]) -> Result<()> {
        let (found, wanted) = (failed.len(), self.tree().depth());
        if found != wanted {
            return Err(Error::Levels { found, wanted });
        }
        for (level, &failed) in failed.iter().enumerate() {
            let domains = self.tree().width(level) as u64;
            if u64::from(failed) > domains {
                return Err(Error::TooManyFailures {
                    level,
                    failed,
                    domains,
                });
            }
        }
        Ok(())
    }

    /// The failures in each kept level. A failure in a level that is not kept counts as that many failures in the next
    /// kept level as the largest domain has domains there.
    fn in_kept_levels(&self, failed: &[u32]) -> Vec<u64> {
        let (mut kept, mut pending) = (Vec::new(), Vec::new());
        for (level, &failed) in failed.iter().enumerate() {
            match self.plan().states()[level] {
                LevelState::Kept => {
                    let inherited = pending.drain(..).map(|(above, failed): (usize, u64)| {
                        let widest = self.tree().fan_outs(Some(above), level).max();
                        failed * widest.unwrap_or(0) as u64
                    });
                    let all = inherited.sum::<u64>() + u64::from(failed);
                    kept.push(all.min(self.tree().width(level) as u64));
                }
                _ if failed > 0 => pending.push((level, u64::from(failed))),
                _ => {}
            }
        }
        kept
    }
}

impl Polytope {
    fn new(tolerances: &[u64]) -> Result<Polytope> {
        let positive = tolerances.iter().copied().filter(|&most| most > 0);
        let common = positive
            .clone()
            .try_fold(1, least_common_multiple)
            .ok_or(Error::TooLarge)?;
        let mut polytope = Polytope {
            rows: Vec::new(),
            bounds: Vec::new(),
        };
        if positive.count() > 0 {
            let weight = |&most: &u64| common.checked_div(most).unwrap_or(0);
            polytope.rows.push(tolerances.iter().map(weight).collect());
            polytope.bounds.push(common);
        }
        let nothing = (0..tolerances.len()).filter(|&level| tolerances[level] == 0);
        for level in nothing {
            let mut row = vec![0; tolerances.len()];
            row[level] = 1;
            polytope.rows.push(row);
            polytope.bounds.push(0);
        }
        Ok(polytope)
    }

    pub fn contains(&self, failed: &[u32]) -> bool {
        let product = |row: &[u64]| -> u128 {
            let terms = row.iter().zip(failed);
            terms
                .map(|(&weight, &failed)| u128::from(weight) * u128::from(failed))
                .sum()
        };
        let mut rows = self.rows.iter().zip(&self.bounds);
        rows.all(|(row, &bound)| product(row) <= u128::from(bound))
    }
}

fn least_common_multiple(one: u64, other: u64) -> Option<u64> {
    (one / greatest_common_divisor(one, other)).checked_mul(other)
}

/// The exact number of units that a group loses in the worst case.
pub(super) fn worst(symmetric: &SymmetricTree, group: u64, failed: &[u64]) -> u64 {
    // For each possible number of surviving heavy domains: the largest loss so far.
    let mut states = BTreeMap::from([(0, 0)]);
    let (mut left, mut each) = (1, group);
    for (level, &failed) in failed.iter().enumerate() {
        let degree = u64::from(symmetric.degrees()[level]);
        let quotient = group / symmetric.nodes(level);
        let failed = failed.min(left * degree);
        let mut next = BTreeMap::new();
        for (heavy_above, lost) in states {
            let heavy = left * (each - degree * quotient) + heavy_above;
            let light = left * degree - heavy;
            for among_heavy in failed.saturating_sub(light)..=failed.min(heavy) {
                let lost = lost + failed * quotient + among_heavy;
                let most = next.entry(heavy - among_heavy).or_insert(lost);
                *most = lost.max(*most);
            }
        }
        states = next;
        (left, each) = (left * degree - failed, quotient);
    }
    states.into_values().max().unwrap_or(0)
}

/// The maximal tolerable failure vectors: each is tolerated, and none of its entries can be raised.
pub fn maximal_vectors(symmetric: &SymmetricTree, units: Units) -> Result<Vec<Vec<u32>>> {
    let most = symmetric.tolerance(units)?.exact;
    let combinations = most.iter().try_fold(1_u64, |all, &most| {
        all.checked_mul(u64::from(most) + 1)
            .filter(|&all| all <= MOST_VECTORS)
    });
    combinations.ok_or(Error::TooManyVectors)?;
    let group = symmetric.group(units)?;
    let tolerable = |failed: &[u64]| worst(symmetric, group, failed) <= u64::from(units.parity);
    let mut found = Vec::new();
    let mut failed = vec![0; most.len()];
    loop {
        if tolerable(&failed) && is_maximal(symmetric, &failed, tolerable) {
            found.push(failed.iter().map(|&failed| failed as u32).collect());
        }
        let Some(level) = (0..most.len()).rfind(|&level| failed[level] < u64::from(most[level]))
        else {
            return Ok(found);
        };
        failed[level] += 1;
        failed[level + 1..].fill(0);
    }
}

fn is_maximal(
    symmetric: &SymmetricTree,
    failed: &[u64],
    tolerable: impl Fn(&[u64]) -> bool,
) -> bool {
    let mut more = failed.to_vec();
    (0..failed.len()).all(|level| {
        more[level] += 1;
        let refused = more[level] > symmetric.nodes(level) || !tolerable(&more);
        more[level] -= 1;
        refused
    })
}
