//! Which levels of a tree a layout works with.
//!
//! Asked for tolerance, it drops the levels above the first for which any is wanted, and then, from the top down,
//! every level whose wanted tolerance cannot be met; what is left of the tree only grows wider by that. A domain of a
//! level that is gone counts as all the domains in the next level below it.

use super::water::Water;
use super::{Error, Result, Settings, Symmetric, Tolerance, Tree, Units};

/// What became of a level, numbered as in `stanchion.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    Kept = 0,
    /// It is above the first level that was asked for.
    Dropped = 1,
    /// The tolerance that was wanted for it cannot be had.
    Unmet = 2,
}

/// How a group is split among the domains of the levels that are kept.
#[derive(Clone, Debug)]
pub(super) enum Spread {
    Even(Symmetric),
    Filled(Water),
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) spread: Spread,
    /// The levels that are kept, from the top.
    levels: Vec<usize>,
    states: Vec<State>,
}

impl Spread {
    fn new(tree: &Tree, levels: &[usize], settings: &Settings) -> Result<Spread> {
        let symmetric = Symmetric::within(tree, levels)?;
        match symmetric.group(settings.units) {
            Ok(_) => Ok(Spread::Even(symmetric)),
            Err(Error::TooFewTargets { .. }) if settings.water_filling => {
                Ok(Spread::Filled(Water::new(tree, levels, settings.units)?))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn tolerance(&self, units: Units) -> Result<Tolerance> {
        match self {
            Spread::Even(symmetric) => symmetric.tolerance(units),
            Spread::Filled(water) => Ok(water.tolerance(units.parity)),
        }
    }
}

impl Plan {
    pub fn new(tree: &Tree, settings: &Settings) -> Result<Plan> {
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
        let mut states = vec![State::Kept; depth];
        states[..first(settings, depth)].fill(State::Dropped);
        loop {
            let kept = |level: &usize| states[*level] == State::Kept;
            let levels: Vec<usize> = (0..depth).filter(kept).collect();
            let spread = Spread::new(tree, &levels, settings);
            let Some(unmet) = unmet(&spread, &levels, settings) else {
                let spread = spread?;
                return Ok(Plan {
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
            states[unmet.0] = State::Unmet;
        }
    }

    pub fn levels(&self) -> &[usize] {
        &self.levels
    }

    /// What became of each level of the tree.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The symmetric tree, unless the domains are filled as they can hold.
    pub fn symmetric(&self) -> Option<&Symmetric> {
        match &self.spread {
            Spread::Even(symmetric) => Some(symmetric),
            Spread::Filled(_) => None,
        }
    }
}

/// The first level that may be kept.
fn first(settings: &Settings, depth: usize) -> usize {
    let wanted = settings.tolerance.unwrap_or(&[]);
    let asked = wanted.iter().position(|&wanted| wanted > 0);
    let asked = match settings.tolerance {
        Some(_) => asked.unwrap_or(depth - 1),
        None => 0,
    };
    asked.max(settings.first_level)
}

/// The first level whose wanted tolerance is more than there can be, with both.
fn unmet(
    spread: &Result<Spread>,
    levels: &[usize],
    settings: &Settings,
) -> Option<(usize, u32, u32)> {
    let wanted = settings.tolerance?;
    let possible = match spread {
        Ok(spread) => spread.tolerance(settings.units).ok()?.exact,
        // The tree is too small with this level.
        Err(Error::TooFewTargets { .. }) if levels.len() > 1 => {
            return Some((levels[0], wanted[levels[0]], 0));
        }
        Err(_) => return None,
    };
    let mut pairs = levels.iter().zip(possible);
    let (level, possible) = pairs.find(|(level, possible)| wanted[**level] > *possible)?;
    Some((*level, wanted[*level], possible))
}
