//! Whether a group survives the failure of named domains, in every tile and every file.
//!
//! Permutations may put any children of a domain in the heavy places. So from the bottom up each domain with failures
//! in it gets two numbers: what it loses at most when it holds the smaller number of units that its level knows, and
//! when it holds one more. A domain that failed itself loses all, whatever failed below it.

use super::plan::Spread;
use super::{Domain, Error, Layout, Result, Verdict};

/// What a child with failures in it loses.
#[derive(Clone, Copy)]
pub(super) struct Lost {
    pub(super) index: usize,
    pub(super) light: u64,
    pub(super) heavy: u64,
}

impl Lost {
    fn gain(&self) -> u64 {
        self.heavy - self.light
    }
}

impl Layout {
    pub fn survives(&self, failed: &[Domain]) -> Result<Verdict> {
        let levels = self.plan().levels();
        let failed = self.by_kept_level(failed)?;
        let mut lost: Vec<Lost> = Vec::new();
        for step in (0..levels.len()).rev() {
            lost = self.with_failed(step, lost, &failed[step]);
            if step > 0 {
                lost = self.lost_by_parents(step, &lost);
            }
        }
        let loss = self.lost_by(0, 0, self.group_size(), &lost);
        Ok(Verdict::of(loss, self.units()))
    }

    /// The numbers of the failed domains, ascending, in each level that is kept; of others, those right below.
    fn by_kept_level(&self, failed: &[Domain]) -> Result<Vec<Vec<usize>>> {
        let levels = self.plan().levels();
        let mut sorted = vec![Vec::new(); levels.len()];
        for &domain in failed {
            if !self.tree().has(domain) {
                let Domain { level, index } = domain;
                return Err(Error::NoDomain { level, index });
            }
            let step = levels.partition_point(|&level| level < domain.level);
            match levels[step] == domain.level {
                true => sorted[step].push(domain.index),
                false => sorted[step].extend(self.tree().below(Some(domain), levels[step])),
            }
        }
        for indices in &mut sorted {
            indices.sort_unstable();
            indices.dedup();
        }
        Ok(sorted)
    }

    fn with_failed(&self, step: usize, mut lost: Vec<Lost>, failed: &[usize]) -> Vec<Lost> {
        lost.retain(|lost| failed.binary_search(&lost.index).is_err());
        lost.extend(failed.iter().map(|&index| {
            let light = self.least(step, index);
            let heavy = light + 1;
            Lost {
                index,
                light,
                heavy,
            }
        }));
        lost.sort_unstable_by_key(|lost| lost.index);
        lost
    }

    fn lost_by_parents(&self, step: usize, lost: &[Lost]) -> Vec<Lost> {
        let parent = |lost: &Lost| self.parent(step, lost.index);
        let families = lost.chunk_by(|one, other| parent(one) == parent(other));
        families
            .map(|family| {
                let index = parent(&family[0]);
                let least = self.least(step - 1, index);
                Lost {
                    index,
                    light: self.lost_by(step, index, least, family),
                    heavy: self.lost_by(step, index, least + 1, family),
                }
            })
            .collect()
    }

    /// The smaller number of units that a domain holds of a group.
    fn least(&self, step: usize, index: usize) -> u64 {
        match &self.plan().spread {
            Spread::Even(symmetric) => self.group_size() / symmetric.nodes(step),
            Spread::Filled(water) => water.least(step, index),
        }
    }

    /// What a parent that holds `units` loses at most.
    fn lost_by(&self, step: usize, parent: usize, units: u64, children: &[Lost]) -> u64 {
        match &self.plan().spread {
            Spread::Even(symmetric) => {
                let used = u64::from(symmetric.degrees()[step]);
                let each = self.group_size() / symmetric.nodes(step);
                most_lost(children, used as usize, (units - used * each) as usize)
            }
            Spread::Filled(water) => water.lost(step, parent, units, children),
        }
    }
}

/// The most that `used` of the children lose, of which `heavy` are heavy.
fn most_lost(children: &[Lost], used: usize, heavy: usize) -> u64 {
    let mut children = children.to_vec();
    children.sort_unstable_by_key(|child| std::cmp::Reverse(child.light));
    if children.len() <= used {
        return all_lost(&children, heavy);
    }
    // Of the children that are not heavy, those that lose the most are used: up to some place all are, one way or the
    // other, and beyond it only heavy ones.
    let light = used - heavy;
    let split = |place: usize| {
        let mut beyond: Vec<u64> = children[place..].iter().map(|child| child.heavy).collect();
        beyond.sort_unstable_by(|one, other| other.cmp(one));
        all_lost(&children[..place], place - light) + beyond[..used - place].iter().sum::<u64>()
    };
    (light..=used).map(split).max().unwrap_or(0)
}

/// What all of them lose, if up to `heavy` are heavy.
pub(super) fn all_lost(children: &[Lost], heavy: usize) -> u64 {
    let light: u64 = children.iter().map(|child| child.light).sum();
    let mut gains: Vec<u64> = children.iter().map(Lost::gain).collect();
    gains.sort_unstable_by(|one, other| other.cmp(one));
    light + gains.iter().take(heavy).sum::<u64>()
}
