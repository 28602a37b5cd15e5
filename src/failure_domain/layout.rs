//! Layouts: the target and the frame of every unit of every group, and back, by arithmetic.
//!
//! Tiles of `rows` times P targets hold whole groups. In a tile, unit u of group g has the number g * G + u; its
//! digits, the first in the number of children of the root, the next in that of a rack and so on, lead from the root
//! down to its target, so that G units in a row spread evenly over the domains of every level. Each domain permutes
//! its children (`turns`), which spreads the load of a rebuild and leaves the counts as they are. Where the real tree
//! has more children than the symmetric one, the permutation picks those that are used.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::divisor::Divisor;
use super::permutation::{domain_key, keyed, motr};
use super::plan::Spread;
use super::turns::{Below, Turning, Turns};
use super::{Domain, Error, Plan, Result, Tolerance, Tree, Units};

/// How the children of a domain are permuted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Differently in every domain, as `turns` tells.
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
    branches: Vec<Branch>,
    units: Units,
    /// Units of a group.
    group: u64,
    /// Of a tile: frames on each target, and groups.
    rows: u64,
    groups: u64,
    mode: Mode,
    seed: [u64; 2],
    turns: Turns,
}

/// How a kept level hangs below the one kept above it.
#[derive(Clone, Copy, Debug)]
struct Branch {
    level: usize,
    above: Option<usize>,
    /// The children of every domain above, if all have as many: then arithmetic replaces the tree.
    children: Option<Divisor>,
    /// The children in the symmetric tree.
    degree: Divisor,
}

/// Permutations that stay the same within a file.
#[derive(Clone, Copy)]
pub(super) enum Shuffle {
    Keyed(u64),
    Motr(u64),
}

impl Shuffle {
    /// Of the children, in level `level`, of a domain.
    pub(super) fn forward(self, level: usize, parent: usize, size: usize, value: u32) -> u32 {
        match self {
            Shuffle::Keyed(tile) => {
                keyed::forward(domain_key(tile, level, parent), size as u32, value)
            }
            Shuffle::Motr(state) => motr::forward(state, size as u32, value),
        }
    }

    pub(super) fn backward(self, level: usize, parent: usize, size: usize, value: u32) -> u32 {
        match self {
            Shuffle::Keyed(tile) => {
                keyed::backward(domain_key(tile, level, parent), size as u32, value)
            }
            Shuffle::Motr(state) => motr::backward(state, size as u32, value),
        }
    }
}

impl Branch {
    fn all(tree: &Tree, plan: &Plan) -> Vec<Branch> {
        let levels = plan.levels();
        let above = std::iter::once(None).chain(levels.iter().copied().map(Some));
        let pairs = levels.iter().copied().zip(above);
        let degree = |step: usize| plan.symmetric().map_or(1, |tree| tree.degrees()[step]);
        pairs
            .enumerate()
            .map(|(step, (level, above))| {
                let mut counts = tree.fan_outs(above, level);
                let first = counts.next().unwrap_or(0);
                let is_uniform = counts.all(|count| count == first);
                Branch {
                    level,
                    above,
                    children: is_uniform.then(|| Divisor::new(first as u32)),
                    degree: Divisor::new(degree(step)),
                }
            })
            .collect()
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
        let turns = Turns::new(plan.symmetric(), group, rows, settings.seed);
        Ok(Layout {
            turns,
            branches: Branch::all(&tree, &plan),
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
            Spread::Filled(water) => return water.place(self, self.shuffle(file), source),
        };
        let tile = source.group / self.groups;
        let number = source.group % self.groups * units + u64::from(unit);
        let row = number / symmetric.targets();
        let frame = tile
            .checked_mul(self.rows)
            .and_then(|frame| frame.checked_add(row));
        let frame = frame.ok_or(Error::TooLarge)?;
        let mut target = 0;
        let mut turning = self.turning(file, tile, frame);
        let mut rest = turning.moved_on((number % symmetric.targets()) as u32);
        for (step, branch) in self.branches.iter().enumerate() {
            if step == 1 {
                rest = turning.walked_on(target, rest);
            }
            let (below, start) = self.below(step, target);
            let digit;
            (rest, digit) = branch.degree.divide(rest);
            target = start + turning.forward(below, digit) as usize;
        }
        let target = target as u64;
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
            Spread::Filled(water) => return water.source(self, self.shuffle(file), place),
        };
        let tile = place.frame / self.rows;
        let mut path: SmallVec<[usize; 8]> = SmallVec::from_elem(0, self.branches.len());
        let mut index = target as usize;
        for step in (0..path.len()).rev() {
            path[step] = index;
            index = self.parent(step, index);
        }
        let mut turning = self.turning(file, tile, place.frame);
        // The place of the domain of the first level, and the place inside of it.
        let (mut first, mut inside) = (0, 0);
        let (mut parent, mut weight) = (0, 1);
        for (step, &child) in path.iter().enumerate() {
            let (below, start) = self.below(step, parent);
            let degree = below.degree.value();
            let digit = turning.backward(below, (child - start) as u32);
            if digit >= degree {
                return Ok(None);
            }
            if step == 0 {
                first = digit;
            } else {
                inside += digit * weight;
                weight *= degree;
            }
            parent = child;
        }
        let inside = turning.walked_back(path[0], inside);
        let number = turning.moved_off(inside * symmetric.degrees()[0] + first);
        let number = place.frame % self.rows * symmetric.targets() + u64::from(number);
        let group = tile
            .checked_mul(self.groups)
            .and_then(|group| group.checked_add(number / self.group));
        Ok(Some(Source {
            group: group.ok_or(Error::TooLarge)?,
            unit: (number % self.group) as u32,
        }))
    }

    /// A step down from a domain, and where its children begin.
    fn below(&self, step: usize, parent: usize) -> (Below, usize) {
        let children = self.children(step, parent);
        let below = Below {
            step,
            level: self.branches[step].level,
            degree: self.branches[step].degree,
            parent,
            children: children.len() as u32,
        };
        (below, children.start)
    }

    fn turning(&self, file: File, tile: u64, frame: u64) -> Turning<'_> {
        match self.mode {
            Mode::Motr => Turning::Motr(motr::state(self.seed, file.container, file.key, tile)),
            Mode::Declustered => Turning::Keyed(self.turns.turned(file, tile, frame)),
        }
    }

    /// The domains of a kept level, by its place among them, below one of the level kept above it. The root is 0.
    pub(super) fn children(&self, step: usize, parent: usize) -> Range<usize> {
        let branch = &self.branches[step];
        match branch.children {
            Some(children) => {
                let children = children.value() as usize;
                parent * children..(parent + 1) * children
            }
            None => {
                let parent = branch.above.map(|level| Domain {
                    level,
                    index: parent,
                });
                self.tree.below(parent, branch.level)
            }
        }
    }

    /// The other way around.
    pub(super) fn parent(&self, step: usize, child: usize) -> usize {
        let branch = &self.branches[step];
        match (branch.above, branch.children) {
            (None, _) => 0,
            (_, Some(children)) => children.divide(child as u32).0 as usize,
            (Some(above), None) => {
                let child = Domain {
                    level: branch.level,
                    index: child,
                };
                self.tree.above(child, above).index
            }
        }
    }

    /// Where there are no tiles.
    fn shuffle(&self, file: File) -> Shuffle {
        match self.mode {
            Mode::Motr => Shuffle::Motr(motr::state(self.seed, file.container, file.key, 0)),
            Mode::Declustered => Shuffle::Keyed(self.turns.key(file)),
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

pub(super) fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => greatest_common_divisor(other, one % other),
    }
}
