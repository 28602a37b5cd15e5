//! Layouts: the target and the frame of every unit of every group, and back, by arithmetic.
//!
//! Tiles of `rows` times P targets hold whole groups. In a tile, unit u of group g has the number g * G + u; its
//! digits, the first in the number of children of the root, the next in that of a rack and so on, lead from the root
//! down to its target, so that G units in a row spread evenly over the domains of every level. Each domain permutes
//! its children anew in every tile, which spreads the load of a rebuild and leaves the counts as they are. Where the
//! real tree has more children than the symmetric one, the permutation picks those that are used.

use std::sync::Arc;

use super::permutation::{domain_key, keyed, mix, motr};
use super::plan::Spread;
use super::{Domain, Error, Plan, Result, Tolerance, Tree, Units};

/// How the children of a domain are permuted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Independently in every domain.
    #[default]
    Declustered,
    /// As Motr does: alike in all domains with as many children.
    Motr,
}

/// What a layout is made from, next to the tree.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    pub units: Units,
    pub mode: Mode,
    pub seed: [u64; 2],
    /// Levels above are left out.
    pub first_level: usize,
    /// What shall be tolerated in each level of the tree; levels for which this cannot be met are left out.
    pub tolerance: Option<&'a [u32]>,
    /// Fill domains as far as they hold units, where the symmetric tree is too small for a group.
    pub water_filling: bool,
}

impl Settings<'_> {
    pub fn new(units: Units) -> Self {
        Settings {
            units,
            mode: Mode::default(),
            seed: [0, 0],
            first_level: 0,
            tolerance: None,
            water_filling: false,
        }
    }
}

/// What is laid out; each file has its own permutations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct File {
    pub container: u64,
    pub key: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub target: u64,
    pub frame: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    pub group: u64,
    pub unit: u32,
}

#[derive(Clone, Debug)]
pub struct Layout {
    tree: Arc<Tree>,
    plan: Plan,
    units: Units,
    /// Units of a group.
    group: u64,
    /// Of a tile: frames on each target, and groups.
    rows: u64,
    groups: u64,
    mode: Mode,
    seed: [u64; 2],
}

/// The permutations of one tile.
#[derive(Clone, Copy)]
pub(super) enum Shuffle {
    Keyed(u64),
    Motr(u64),
}

impl Shuffle {
    pub(super) fn forward(self, parent: Parent, size: usize, value: u64) -> u64 {
        match self {
            Shuffle::Keyed(tile) => keyed::forward(parent.key(tile), size as u64, value),
            Shuffle::Motr(state) => motr::forward(state, size as u32, value as u32).into(),
        }
    }

    pub(super) fn backward(self, parent: Parent, size: usize, value: u64) -> u64 {
        match self {
            Shuffle::Keyed(tile) => keyed::backward(parent.key(tile), size as u64, value),
            Shuffle::Motr(state) => motr::backward(state, size as u32, value as u32).into(),
        }
    }
}

/// A domain or the root.
#[derive(Clone, Copy)]
pub(super) struct Parent(pub(super) Option<Domain>);

impl Parent {
    fn key(self, tile: u64) -> u64 {
        match self.0 {
            Some(domain) => domain_key(tile, domain.level + 1, domain.index),
            None => domain_key(tile, 0, 0),
        }
    }
}

impl Layout {
    pub fn new(tree: Arc<Tree>, settings: &Settings) -> Result<Layout> {
        let group = settings.units.total()?;
        let plan = Plan::new(&tree, settings)?;
        if settings.mode == Mode::Motr {
            check_fan_out(&tree, plan.levels())?;
        }
        let (rows, groups) = match plan.symmetric() {
            Some(symmetric) => {
                let common = greatest_common_divisor(group, symmetric.targets());
                (group / common, symmetric.targets() / common)
            }
            None => (1, 1),
        };
        Ok(Layout {
            tree,
            plan,
            units: settings.units,
            group,
            rows,
            groups,
            mode: settings.mode,
            seed: settings.seed,
        })
    }

    pub fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn units(&self) -> Units {
        self.units
    }

    /// How many units a group has.
    pub fn group_size(&self) -> u64 {
        self.group
    }

    /// How many frames of each target, and how many groups, a tile has.
    pub fn tile(&self) -> (u64, u64) {
        (self.rows, self.groups)
    }

    /// Tolerance in each level that is kept.
    pub fn tolerance(&self) -> Result<Tolerance> {
        self.plan.spread.tolerance(self.units)
    }

    pub fn place(&self, file: File, source: Source) -> Result<Place> {
        let (unit, units) = (source.unit, self.group);
        if u64::from(unit) >= units {
            return Err(Error::NoUnit { unit, units });
        }
        let symmetric = match &self.plan.spread {
            Spread::Even(symmetric) => symmetric,
            Spread::Filled(water) => return water.place(self, self.shuffle(file, 0), source),
        };
        let tile = source.group / self.groups;
        let number = source.group % self.groups * units + u64::from(unit);
        let (row, mut rest) = (number / symmetric.targets(), number % symmetric.targets());
        let frame = tile
            .checked_mul(self.rows)
            .and_then(|frame| frame.checked_add(row));
        let frame = frame.ok_or(Error::TooLarge)?;
        let shuffle = self.shuffle(file, tile);
        let mut parent = Parent(None);
        let mut target = 0;
        for (&level, &degree) in self.plan.levels().iter().zip(symmetric.degrees()) {
            let children = self.tree.below(parent.0, level);
            let digit = rest % u64::from(degree);
            rest /= u64::from(degree);
            target = children.start as u64 + shuffle.forward(parent, children.len(), digit);
            parent = Parent(Some(Domain {
                level,
                index: target as usize,
            }));
        }
        Ok(Place { target, frame })
    }

    /// `None` if no unit is there.
    pub fn source(&self, file: File, place: Place) -> Result<Option<Source>> {
        let (target, targets) = (place.target, self.tree.leaf_count() as u64);
        if target >= targets {
            return Err(Error::NoTarget { target, targets });
        }
        let symmetric = match &self.plan.spread {
            Spread::Even(symmetric) => symmetric,
            Spread::Filled(water) => return water.source(self, self.shuffle(file, 0), place),
        };
        let tile = place.frame / self.rows;
        let shuffle = self.shuffle(file, tile);
        let mut number = place.frame % self.rows * symmetric.targets();
        let levels = self.plan.levels();
        let mut domain = Domain {
            level: self.tree.depth() - 1,
            index: target as usize,
        };
        for step in (0..levels.len()).rev() {
            let parent = match step.checked_sub(1) {
                Some(above) => Parent(Some(self.tree.above(domain, levels[above]))),
                None => Parent(None),
            };
            let children = self.tree.below(parent.0, levels[step]);
            let child = (domain.index - children.start) as u64;
            let digit = shuffle.backward(parent, children.len(), child);
            if digit >= u64::from(symmetric.degrees()[step]) {
                return Ok(None);
            }
            number += digit
                * step
                    .checked_sub(1)
                    .map_or(1, |above| symmetric.nodes(above));
            domain = parent.0.unwrap_or(domain);
        }
        let group = tile
            .checked_mul(self.groups)
            .and_then(|group| group.checked_add(number / self.group));
        Ok(Some(Source {
            group: group.ok_or(Error::TooLarge)?,
            unit: (number % self.group) as u32,
        }))
    }

    fn shuffle(&self, file: File, tile: u64) -> Shuffle {
        match self.mode {
            Mode::Motr => Shuffle::Motr(motr::state(self.seed, file.container, file.key, tile)),
            Mode::Declustered => {
                let parts = [self.seed[0], self.seed[1], file.container, file.key, tile];
                let chain = |key: u64, part| mix(key.wrapping_add(1) ^ part);
                Shuffle::Keyed(parts.into_iter().fold(0, chain))
            }
        }
    }
}

fn check_fan_out(tree: &Tree, levels: &[usize]) -> Result<()> {
    let mut above = None;
    for &level in levels {
        let children = tree.fan_outs(above, level).max().unwrap_or(0);
        if children > motr::MOST {
            return Err(Error::FanOut { level, children });
        }
        above = Some(level);
    }
    Ok(())
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => greatest_common_divisor(other, one % other),
    }
}
