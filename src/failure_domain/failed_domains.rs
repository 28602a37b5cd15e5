//! Whether every group survives the failure of named domains, in all tiles of all files.
//!
//! Permutations can make any children of a domain the heavy ones. So each domain with failures inside gets two numbers,
//! computed from the leaves up: its largest loss if it is light, and if it is heavy (holds one unit more). A failed
//! domain loses all of its units, whatever has failed inside it.

use super::level_plan::Spread;
use super::{Domain, Layout, LossVerdict, Result};

/// The largest loss of a domain with failures inside, if it is light and if it is heavy.
#[derive(Clone, Copy)]
pub(super) struct ChildLoss {
    pub(super) index: usize,
    pub(super) light: u64,
    pub(super) heavy: u64,
}

impl ChildLoss {
    /// What it costs if the domain is heavy.
    fn gain(&self) -> u64 {
        self.heavy - self.light
    }
}

impl Layout {
    /// Whether every group survives if exactly these domains fail.
    pub fn survives(&self, failed: &[Domain]) -> Result<LossVerdict> {
        let levels = self.plan().levels();
        let failed = self.by_kept_level(failed)?;
        let mut lost: Vec<ChildLoss> = Vec::new();
        for step in (0..levels.len()).rev() {
            lost = self.with_failed(step, lost, &failed[step]);
            if step > 0 {
                lost = self.lost_by_parents(step, &lost);
            }
        }
        let loss = self.lost_by(0, 0, self.group_size(), &lost);
        Ok(LossVerdict::of(loss, self.units()))
    }

    /// For each kept level: the failed domains, ascending. A failed domain of another level is replaced by the domains
    /// inside it in the next kept level.
    fn by_kept_level(&self, failed: &[Domain]) -> Result<Vec<Vec<usize>>> {
        let levels = self.plan().levels();
        let mut sorted = vec![Vec::new(); levels.len()];
        for &domain in failed {
            self.tree().check(domain)?;
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

    /// Adds the failed domains of a level; they supersede losses inside them.
    fn with_failed(
        &self,
        step: usize,
        mut lost: Vec<ChildLoss>,
        failed: &[usize],
    ) -> Vec<ChildLoss> {
        lost.retain(|lost| failed.binary_search(&lost.index).is_err());
        lost.extend(failed.iter().map(|&index| {
            let light = self.least(step, index);
            let heavy = light + 1;
            ChildLoss {
                index,
                light,
                heavy,
            }
        }));
        lost.sort_unstable_by_key(|lost| lost.index);
        lost
    }

    /// The losses one level up.
    fn lost_by_parents(&self, step: usize, lost: &[ChildLoss]) -> Vec<ChildLoss> {
        let parent = |lost: &ChildLoss| self.parent(step, lost.index);
        let families = lost.chunk_by(|one, other| parent(one) == parent(other));
        families
            .map(|family| {
                let index = parent(&family[0]);
                let least = self.least(step - 1, index);
                ChildLoss {
                    index,
                    light: self.lost_by(step, index, least, family),
                    heavy: self.lost_by(step, index, least + 1, family),
                }
            })
            .collect()
    }

    /// The units of a group that a light domain holds.
    fn least(&self, step: usize, index: usize) -> u64 {
        match &self.plan().spread {
            Spread::Even(symmetric) => self.group_size() / symmetric.nodes(step),
            Spread::Filled(filling) => filling.least(step, index),
        }
    }

    /// The largest loss of a parent that holds `units` units of a group.
    fn lost_by(&self, step: usize, parent: usize, units: u64, children: &[ChildLoss]) -> u64 {
        match &self.plan().spread {
            Spread::Even(symmetric) => {
                let used = u64::from(symmetric.degrees()[step]);
                let each = self.group_size() / symmetric.nodes(step);
                most_lost(children, used as usize, (units - used * each) as usize)
            }
            Spread::Filled(filling) => filling.lost(step, parent, units, children),
        }
    }
}

/// The largest loss of `used` of the children, `heavy` of which are heavy.
fn most_lost(children: &[ChildLoss], used: usize, heavy: usize) -> u64 {
    let mut children = children.to_vec();
    children.sort_unstable_by_key(|child| std::cmp::Reverse(child.light));
    if children.len() <= used {
        return all_lost(&children, heavy);
    }
    // The children are sorted by their light loss. In a worst case the light ones are a prefix: up to some `place` all
    // children are used, beyond it only heavy ones. Try every place.
    let light = used - heavy;
    let split = |place: usize| {
        let mut beyond: Vec<u64> = children[place..].iter().map(|child| child.heavy).collect();
        beyond.sort_unstable_by(|one, other| other.cmp(one));
        all_lost(&children[..place], place - light) + beyond[..used - place].iter().sum::<u64>()
    };
    (light..=used).map(split).max().unwrap_or(0)
}

/// The largest loss of all these children, if up to `heavy` are heavy.
pub(super) fn all_lost(children: &[ChildLoss], heavy: usize) -> u64 {
    let light: u64 = children.iter().map(|child| child.light).sum();
    let mut gains: Vec<u64> = children.iter().map(ChildLoss::gain).collect();
    gains.sort_unstable_by(|one, other| other.cmp(one));
    light + gains.iter().take(heavy).sum::<u64>()
}
