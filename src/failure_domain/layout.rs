//! Layouts: maps each unit of each parity group to a target and a frame on it, and back, without tables.
//!
//! A tile is `rows` frames on each of the P targets and holds whole groups. Unit u of group g in a tile has the number
//! g * G + u. Its digits in a mixed radix (the children of the root, the children of a rack, ...) select a child at
//! each level, from the root down to the target. So G consecutive units spread evenly over the domains of every level.
//! Each domain then permutes its children (`declustering`): this spreads the load of a rebuild and does not change how
//! many units a domain holds. If a domain has more children than the symmetric tree, the permutation picks those in
//! use.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::declustering::{Declustering, Siblings, TilePermutations};
use super::fast_division::Divisor;
use super::level_plan::Spread;
use super::permutation::{domain_key, keyed, motr};
use super::{Domain, DomainTree, Error, GroupTolerance, LevelPlan, Result, Units};

/// Which permutation each domain applies to its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PermutationMode {
    /// A different one in every domain, chosen by `declustering`.
    #[default]
    Declustered,
    /// Motr's: the same one in all domains with the same number of children.
    Motr,
}

/// The parameters of a layout, apart from the tree.
#[derive(Clone, Copy, Debug)]
pub struct LayoutSettings<'a> {
    pub units: Units,
    pub mode: PermutationMode,
    pub seed: [u64; 2],
    /// Levels above this one do not take part.
    pub first_level: usize,
    /// Failures to tolerate in each level of the tree. Levels that cannot meet their number are left out.
    pub tolerance: Option<&'a [u32]>,
    /// Use `water_filling` if the symmetric tree is too small for a group.
    pub water_filling: bool,
}

impl LayoutSettings<'_> {
    pub fn new(units: Units) -> Self {
        LayoutSettings {
            units,
            mode: PermutationMode::default(),
            seed: [0, 0],
            first_level: 0,
            tolerance: None,
            water_filling: false,
        }
    }
}

/// Identifies the file that is laid out (Motr's gfid); every file has its own permutations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileId {
    pub container: u64,
    pub key: u64,
}

/// Where a unit is stored: the frame of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetAddress {
    pub target: u64,
    pub frame: u64,
}

/// Which unit: its parity group, and its index there (data, then parity, then spares).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitAddress {
    pub group: u64,
    pub unit: u32,
}

#[derive(Clone, Debug)]
pub struct Layout {
    tree: Arc<DomainTree>,
    plan: LevelPlan,
    levels: Vec<KeptLevel>,
    units: Units,
    /// Units per group (G).
    group: u64,
    /// Frames on each target per tile.
    rows: u64,
    /// Groups per tile.
    groups: u64,
    mode: PermutationMode,
    seed: [u64; 2],
    declustering: Declustering,
}

/// A level that takes part, and the next one above it that does.
#[derive(Clone, Copy, Debug)]
struct KeptLevel {
    level: usize,
    above: Option<usize>,
    /// The number of children, if it is the same for all domains above: then arithmetic replaces tree lookups.
    children: Option<Divisor>,
    /// The number of children in the symmetric tree.
    degree: Divisor,
}

/// Permutations that depend on the file but not on the tile, for `water_filling`.
#[derive(Clone, Copy)]
pub(super) enum FilePermutations {
    Keyed(u64),
    Motr(u64),
}

impl FilePermutations {
    /// Permutes the children of domain `parent`, which are in level `level`.
    pub(super) fn forward(self, level: usize, parent: usize, size: usize, value: u32) -> u32 {
        match self {
            FilePermutations::Keyed(tile) => {
                keyed::forward(domain_key(tile, level, parent), size as u32, value)
            }
            FilePermutations::Motr(state) => motr::forward(state, size as u32, value),
        }
    }

    pub(super) fn backward(self, level: usize, parent: usize, size: usize, value: u32) -> u32 {
        match self {
            FilePermutations::Keyed(tile) => {
                keyed::backward(domain_key(tile, level, parent), size as u32, value)
            }
            FilePermutations::Motr(state) => motr::backward(state, size as u32, value),
        }
    }
}

impl KeptLevel {
    fn all(tree: &DomainTree, plan: &LevelPlan) -> Vec<KeptLevel> {
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
                KeptLevel {
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
    pub fn new(tree: Arc<DomainTree>, settings: &LayoutSettings) -> Result<Layout> {
        let group = settings.units.total()?;
        let plan = LevelPlan::new(&tree, settings)?;
        if settings.mode == PermutationMode::Motr {
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
            declustering: Declustering::new(plan.symmetric(), group, rows, settings.seed),
            levels: KeptLevel::all(&tree, &plan),
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

    pub fn tree(&self) -> &Arc<DomainTree> {
        &self.tree
    }

    pub fn plan(&self) -> &LevelPlan {
        &self.plan
    }

    pub fn units(&self) -> Units {
        self.units
    }

    /// The number of units in a group (G).
    pub fn group_size(&self) -> u64 {
        self.group
    }

    /// The size of a tile: frames on each target, and groups.
    pub fn tile(&self) -> (u64, u64) {
        (self.rows, self.groups)
    }

    /// Tolerance in each level that takes part.
    pub fn tolerance(&self) -> Result<GroupTolerance> {
        self.plan.spread.tolerance(self.units)
    }

    /// The target and frame that store a unit.
    pub fn place(&self, file: FileId, source: UnitAddress) -> Result<TargetAddress> {
        let (unit, units) = (source.unit, self.group);
        if u64::from(unit) >= units {
            return Err(Error::NoUnit { unit, units });
        }
        let symmetric = match &self.plan.spread {
            Spread::Even(symmetric) => symmetric,
            Spread::Filled(filling) => {
                return filling.place(self, self.file_permutations(file), source);
            }
        };
        let tile = source.group / self.groups;
        let number = source.group % self.groups * units + u64::from(unit);
        let row = number / symmetric.targets();
        let frame = tile
            .checked_mul(self.rows)
            .and_then(|frame| frame.checked_add(row));
        let frame = frame.ok_or(Error::TooLarge)?;
        let mut target = 0;
        let mut permutations = self.tile_permutations(file, tile, frame);
        let mut rest = permutations.shift((number % symmetric.targets()) as u32);
        for (step, level) in self.levels.iter().enumerate() {
            if step == 1 {
                rest = permutations.rotate(target, rest);
            }
            let (siblings, start) = self.siblings(step, target);
            let digit;
            (rest, digit) = level.degree.divide(rest);
            target = start + permutations.forward(siblings, digit) as usize;
        }
        let target = target as u64;
        Ok(TargetAddress { target, frame })
    }

    /// The unit stored in a frame of a target; `None` if the frame is not used.
    pub fn source(&self, file: FileId, place: TargetAddress) -> Result<Option<UnitAddress>> {
        let (target, targets) = (place.target, self.tree.leaf_count() as u64);
        if target >= targets {
            return Err(Error::NoTarget { target, targets });
        }
        let symmetric = match &self.plan.spread {
            Spread::Even(symmetric) => symmetric,
            Spread::Filled(filling) => {
                return filling.source(self, self.file_permutations(file), place);
            }
        };
        let tile = place.frame / self.rows;
        let mut path: SmallVec<[usize; 8]> = SmallVec::from_elem(0, self.levels.len());
        let mut index = target as usize;
        for step in (0..path.len()).rev() {
            path[step] = index;
            index = self.parent(step, index);
        }
        let mut permutations = self.tile_permutations(file, tile, place.frame);
        // The digit of the first level, and the number that the digits below it form.
        let (mut first, mut inside) = (0, 0);
        let (mut parent, mut weight) = (0, 1);
        for (step, &child) in path.iter().enumerate() {
            let (siblings, start) = self.siblings(step, parent);
            let degree = siblings.degree.value();
            let digit = permutations.backward(siblings, (child - start) as u32);
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
        let inside = permutations.unrotate(path[0], inside);
        let number = permutations.unshift(inside * symmetric.degrees()[0] + first);
        let number = place.frame % self.rows * symmetric.targets() + u64::from(number);
        let group = tile
            .checked_mul(self.groups)
            .and_then(|group| group.checked_add(number / self.group));
        Ok(Some(UnitAddress {
            group: group.ok_or(Error::TooLarge)?,
            unit: (number % self.group) as u32,
        }))
    }

    /// The children of a domain, and the index of the first.
    fn siblings(&self, step: usize, parent: usize) -> (Siblings, usize) {
        let children = self.children(step, parent);
        let siblings = Siblings {
            step,
            level: self.levels[step].level,
            degree: self.levels[step].degree,
            parent,
            children: children.len() as u32,
        };
        (siblings, children.start)
    }

    fn tile_permutations(&self, file: FileId, tile: u64, frame: u64) -> TilePermutations<'_> {
        match self.mode {
            PermutationMode::Motr => {
                TilePermutations::Motr(motr::state(self.seed, file.container, file.key, tile))
            }
            PermutationMode::Declustered => {
                TilePermutations::Keyed(self.declustering.permutations(file, tile, frame))
            }
        }
    }

    /// The children of a domain, counting only levels that take part: `step` is the index of the children's level among
    /// these, `parent` an index in the level before it (0 for the root).
    pub(super) fn children(&self, step: usize, parent: usize) -> Range<usize> {
        let here = &self.levels[step];
        match here.children {
            Some(children) => {
                let children = children.value() as usize;
                parent * children..(parent + 1) * children
            }
            None => {
                let parent = here.above.map(|level| Domain::new(level, parent));
                self.tree.below(parent, here.level)
            }
        }
    }

    /// The parent of a domain, with indices as in [`Layout::children`].
    pub(super) fn parent(&self, step: usize, child: usize) -> usize {
        let here = &self.levels[step];
        match (here.above, here.children) {
            (None, _) => 0,
            (_, Some(children)) => children.divide(child as u32).0 as usize,
            (Some(above), None) => {
                let child = Domain::new(here.level, child);
                self.tree.above(child, above).index
            }
        }
    }

    /// Water-filled layouts have no tiles: a file has one permutation per domain.
    fn file_permutations(&self, file: FileId) -> FilePermutations {
        match self.mode {
            PermutationMode::Motr => {
                FilePermutations::Motr(motr::state(self.seed, file.container, file.key, 0))
            }
            PermutationMode::Declustered => {
                FilePermutations::Keyed(self.declustering.file_key(file))
            }
        }
    }
}

fn check_fan_out(tree: &DomainTree, levels: &[usize]) -> Result<()> {
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
