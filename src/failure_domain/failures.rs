//! Whether a group survives so and so many failures in each level, wherever they are.
//!
//! Three tests, each of which accepts all that the one before it does: the polytope, a linear inequality; the sum of
//! what each level loses at worst; and the exact worst case. The last follows the numbers of heavy and of light
//! domains down the levels: which domains of a level fail matters only by how many of them are heavy.

use std::collections::BTreeMap;

use super::plan::Spread;
use super::symmetric::loss;
use super::{Error, Layout, Result, State, Symmetric, Tolerance, Units};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Polytope,
    Sum,
    Exact,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub tolerable: bool,
    /// Units that a group loses, at most, as far as the test knows.
    pub loss: u64,
}

impl Verdict {
    pub(super) fn of(loss: u64, units: Units) -> Verdict {
        let tolerable = loss <= u64::from(units.parity);
        Verdict { tolerable, loss }
    }
}

/// The failures v with A v <= b, one row of A for each entry of b, one column for each level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polytope {
    pub rows: Vec<Vec<u64>>,
    pub bounds: Vec<u64>,
}

/// More vectors than this are not listed.
const MOST_VECTORS: u64 = 1 << 20;

impl Layout {
    /// `failed`: how many domains of each level of the tree; below another that failed they count once.
    pub fn tolerates(&self, failed: &[u32], test: Test) -> Result<Verdict> {
        self.check_failures(failed)?;
        let kept = self.in_kept_levels(failed);
        let units = self.units();
        match (&self.plan().spread, test) {
            (_, Test::Polytope) => {
                let losses = kept.iter().zip(self.heaviest());
                let loss: u64 = losses.map(|(&failed, most)| failed * most).sum();
                Ok(Verdict {
                    tolerable: self.polytope()?.contains(failed),
                    loss: loss.min(self.group_size()),
                })
            }
            (Spread::Even(symmetric), Test::Sum) => {
                Ok(Verdict::of(sum(symmetric, self.group_size(), &kept), units))
            }
            (Spread::Even(symmetric), Test::Exact) => {
                let loss = worst(symmetric, self.group_size(), &kept);
                Ok(Verdict::of(loss, units))
            }
            (Spread::Filled(water), _) => {
                let loss = kept
                    .iter()
                    .enumerate()
                    .map(|(level, &failed)| water.loss(level, failed));
                Ok(Verdict::of(loss.sum::<u64>().min(self.group_size()), units))
            }
        }
    }

    /// Bound B as a polytope: v1 / K1 + v2 / K2 + ... <= 1, and v <= 0 where nothing is tolerated.
    pub fn polytope(&self) -> Result<Polytope> {
        let mut tolerances = vec![0; self.tree().depth()];
        let Tolerance { bound, .. } = self.tolerance()?;
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

    /// In each level that is kept: its own failures, and for those of a level that is not, as many as its largest
    /// domain has in the next one that is.
    fn in_kept_levels(&self, failed: &[u32]) -> Vec<u64> {
        let (mut kept, mut pending) = (Vec::new(), Vec::new());
        for (level, &failed) in failed.iter().enumerate() {
            match self.plan().states()[level] {
                State::Kept => {
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

    /// The most units that a domain of each kept level holds of a group.
    fn heaviest(&self) -> Vec<u64> {
        match &self.plan().spread {
            Spread::Even(symmetric) => (0..symmetric.depth())
                .map(|level| self.group_size().div_ceil(symmetric.nodes(level)))
                .collect(),
            Spread::Filled(water) => (0..self.plan().levels().len())
                .map(|level| water.loss(level, 1))
                .collect(),
        }
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
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor).checked_mul(other)
}

fn sum(symmetric: &Symmetric, group: u64, failed: &[u64]) -> u64 {
    let losses = failed.iter().enumerate().map(|(level, &failed)| {
        let nodes = symmetric.nodes(level);
        loss(group, nodes, failed.min(nodes))
    });
    losses.sum::<u64>().min(group)
}

/// The units that a group loses in the worst case.
pub(super) fn worst(symmetric: &Symmetric, group: u64, failed: &[u64]) -> u64 {
    // By the number of heavy domains that are left: the most that was lost.
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

/// The vectors of failures that are tolerated all at once, and of which no entry can grow.
pub fn maximal_vectors(symmetric: &Symmetric, units: Units) -> Result<Vec<Vec<u32>>> {
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

fn is_maximal(symmetric: &Symmetric, failed: &[u64], tolerable: impl Fn(&[u64]) -> bool) -> bool {
    let mut more = failed.to_vec();
    (0..failed.len()).all(|level| {
        more[level] += 1;
        let refused = more[level] > symmetric.nodes(level) || !tolerable(&more);
        more[level] -= 1;
        refused
    })
}
