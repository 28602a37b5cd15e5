//! Chooses the levels of a tree that take part in a layout.
//!
//! If a tolerance is required, the levels above the first one with a requirement are dropped. Then, from the top down,
//! each level that cannot meet its requirement is left out; this only makes the rest of the tree wider. The failure of
//! a domain in a level that is left out counts as the failure of all domains below it in the next level that is kept.

use super::symmetric::loss;
use super::water_filling::WaterFilling;
use super::{DomainTree, Error, GroupTolerance, LayoutSettings, Result, SymmetricTree, Units};

/// Whether a level takes part, numbered as in `stanchion.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LevelState {
    Kept = 0,
    /// Above the first level with a requirement.
    Dropped = 1,
    /// Left out: its required tolerance cannot be met.
    Unmet = 2,
}

/// How the units of a group are split among the domains of the kept levels.
#[derive(Clone, Debug)]
pub(super) enum Spread {
    Even(SymmetricTree),
    Filled(WaterFilling),
}

#[derive(Clone, Debug)]
pub struct LevelPlan {
    pub(super) spread: Spread,
    /// The kept levels, outermost first.
    levels: Vec<usize>,
    states: Vec<LevelState>,
}

impl Spread {
    fn new(tree: &DomainTree, levels: &[usize], settings: &LayoutSettings) -> Result<Spread> {
        let symmetric = SymmetricTree::within(tree, levels)?;
        match symmetric.group(settings.units) {
            Ok(_) => Ok(Spread::Even(symmetric)),
            Err(Error::TooFewTargets { .. }) if settings.water_filling => Ok(Spread::Filled(
                WaterFilling::new(tree, levels, settings.units)?,
            )),
            Err(error) => Err(error),
        }
    }

    /// The most units that a group loses when `failed` domains of a kept level fail.
    pub(super) fn loss(&self, group: u64, step: usize, failed: u64) -> u64 {
        match self {
            Spread::Even(symmetric) => {
                let nodes = symmetric.nodes(step);
                loss(group, nodes, failed.min(nodes))
            }
            Spread::Filled(filling) => filling.loss(step, failed),
        }
    }

    pub(super) fn tolerance(&self, units: Units) -> Result<GroupTolerance> {
        match self {
            Spread::Even(symmetric) => symmetric.tolerance(units),
            Spread::Filled(filling) => Ok(filling.tolerance(units.parity)),
        }
    }
}

impl LevelPlan {
    pub fn new(tree: &DomainTree, settings: &LayoutSettings) -> Result<LevelPlan> {
        let depth = tree.depth();
        if settings.first_level >= depth {
            let level = settings.first_level;
            return Err(Error::NoLevel { level });
        }
        let wanted = settings.tolerance.unwrap_or(&[]);
        if settings.tolerance.is_some() && wanted.len() != depth {
            let found = wanted.len();
            return Err(Error::Levels {
                found,
                wanted: depth,
            });
        }
        let mut states = vec![LevelState::Kept; depth];
        states[..first(settings, depth)].fill(LevelState::Dropped);
        loop {
            let kept = |level: &usize| states[*level] == LevelState::Kept;
            let levels: Vec<usize> = (0..depth).filter(kept).collect();
            let spread = Spread::new(tree, &levels, settings);
            let Some(unmet) = unmet(&spread, &levels, settings) else {
                let spread = spread?;
                return Ok(LevelPlan {
                    spread,
                    levels,
                    states,
                });
            };
            if unmet.0 + 1 == depth {
                let (level, wanted, possible) = unmet;
                return Err(Error::Unmet {
                    level,
                    wanted,
                    possible,
                });
            }
            states[unmet.0] = LevelState::Unmet;
        }
    }

    pub fn levels(&self) -> &[usize] {
        &self.levels
    }

    /// For each level of the tree: whether it takes part.
    pub fn states(&self) -> &[LevelState] {
        &self.states
    }

    /// The symmetric tree; `None` with water-filling.
    pub fn symmetric(&self) -> Option<&SymmetricTree> {
        match &self.spread {
            Spread::Even(symmetric) => Some(symmetric),
            Spread::Filled(_) => None,
        }
    }
}

/// The outermost level that may be kept.
fn first(settings: &LayoutSettings, depth: usize) -> usize {
    let wanted = settings.tolerance.unwrap_or(&[]);
    let asked = wanted.iter().position(|&wanted| wanted > 0);
    let asked = match settings.tolerance {
        Some(_) => asked.unwrap_or(depth - 1),
        None => 0,
    };
    asked.max(settings.first_level)
}

/// The first level that cannot meet its requirement: the level, the required and the possible tolerance.
fn unmet(
    spread: &Result<Spread>,
    levels: &[usize],
    settings: &LayoutSettings,
) -> Option<(usize, u32, u32)> {
    let wanted = settings.tolerance?;
    let possible = match spread {
        Ok(spread) => spread.tolerance(settings.units).ok()?.exact,
        // With this level the symmetric tree is too small for a group.
        Err(Error::TooFewTargets { .. }) if levels.len() > 1 => {
            return Some((levels[0], wanted[levels[0]], 0));
        }
        Err(_) => return None,
    };
    let mut pairs = levels.iter().zip(possible);
    let (level, possible) = pairs.find(|(level, possible)| wanted[**level] > *possible)?;
    Some((*level, wanted[*level], possible))
}
