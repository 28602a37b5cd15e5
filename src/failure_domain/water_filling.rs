//! Water-filling: splits a group among domains of different size as evenly as their capacity allows.
//!
//! Of each group, every child of a domain gets `height` units, or as many as it has targets if these are fewer: then it
//! is *full*. The remaining units are dealt round-robin to the children that are not full. Each group continues where
//! the previous one ended, so no child gets two of these in one group. How many units a domain has received before a
//! given group is therefore a closed formula; for a target it is the frame. Nested floor divisions equal a single one,
//! so the inverse map finds the group with one division.

use smallvec::SmallVec;

use super::failed_domains::{ChildLoss, all_lost};
use super::layout::FilePermutations;
use super::{
    Domain, DomainTree, Error, GroupTolerance, Layout, Result, TargetAddress, UnitAddress, Units,
};

#[derive(Clone, Debug)]
pub(super) struct WaterFilling {
    /// One entry per kept level.
    steps: Vec<LevelFill>,
    /// Units per group.
    group: u64,
}

/// How the domains of the level above split their units among the domains of this level.
#[derive(Clone, Debug, Default)]
struct LevelFill {
    /// One entry per domain above.
    fills: Vec<ParentFill>,
    /// The children of each domain above, ordered by their number of targets, fewest first.
    order: Vec<u32>,
    /// For each child: its rank in this order among its siblings.
    ranks: Vec<u32>,
    /// In the same order: the units of a group in earlier siblings, round-robin units not counted.
    before: Vec<u64>,
    /// For each child: its units of every group, round-robin units not counted.
    least: Vec<u64>,
    /// Entry k: the largest number of units of a group that any k domains of this level hold.
    losses: Vec<u64>,
}

/// How one domain splits its units among its children.
#[derive(Clone, Copy, Debug)]
struct ParentFill {
    height: u64,
    /// Units of a group that are not dealt round-robin.
    sum: u64,
    /// The number of full children.
    full: u64,
    /// The number of the others, which get round-robin units.
    rest: u64,
}

/// The split of one group in one domain.
struct FillView<'a> {
    step: &'a LevelFill,
    fill: ParentFill,
    level: usize,
    parent: usize,
    /// The index of the first child.
    start: usize,
    /// Units dealt round-robin before this group.
    dealt: u64,
}

impl ParentFill {
    /// Units of a group in full children.
    fn in_full(&self) -> u64 {
        self.sum - self.rest * self.height
    }

    /// Splits `units` among children with these numbers of targets, ascending.
    fn new(sizes: &[u64], units: u64) -> ParentFill {
        let (mut height, mut left) = (0, units);
        for (rank, &size) in sizes.iter().enumerate() {
            let others = (sizes.len() - rank) as u64;
            let rise = (size - height).min(left / others);
            height += rise;
            left -= rise * others;
            if height < size {
                break;
            }
        }
        let full = sizes.partition_point(|&size| size <= height) as u64;
        ParentFill {
            height,
            sum: sizes.iter().map(|&size| size.min(height)).sum(),
            full,
            rest: sizes.len() as u64 - full,
        }
    }
}

impl WaterFilling {
    pub(super) fn new(tree: &DomainTree, levels: &[usize], units: Units) -> Result<WaterFilling> {
        let (group, targets) = (units.total()?, tree.leaf_count() as u64);
        if group > targets {
            return Err(Error::TooFewTargets {
                units: group,
                targets,
            });
        }
        let mut steps: Vec<LevelFill> = Vec::with_capacity(levels.len());
        // For each domain above: the fewest and the most units of a group that it holds.
        let mut held = vec![(group, group)];
        let mut above = None;
        for &level in levels {
            let step;
            (step, held) = LevelFill::new(tree, above, level, &held);
            steps.push(step);
            above = Some(level);
        }
        Ok(WaterFilling { steps, group })
    }

    /// The most units of a group that `failed` domains of a level hold.
    pub(super) fn loss(&self, step: usize, failed: u64) -> u64 {
        let losses = &self.steps[step].losses;
        losses[(failed as usize).min(losses.len() - 1)].min(self.group)
    }

    pub(super) fn tolerance(&self, parity: u32) -> GroupTolerance {
        let parity = u64::from(parity);
        let exact = self.steps.iter().map(|step| {
            let tolerable = step.losses.partition_point(|&loss| loss <= parity);
            tolerable as u32 - 1
        });
        let bound = (0..self.steps.len()).map(|step| (parity / self.loss(step, 1)) as u32);
        GroupTolerance {
            exact: exact.collect(),
            bound: bound.collect(),
        }
    }

    /// The units of every group that a domain holds, round-robin units not counted.
    pub(super) fn least(&self, step: usize, index: usize) -> u64 {
        self.steps[step].least[index]
    }

    /// The largest loss of a domain that holds `units` units of a group.
    pub(super) fn lost(
        &self,
        step: usize,
        parent: usize,
        units: u64,
        children: &[ChildLoss],
    ) -> u64 {
        let step = &self.steps[step];
        let fill = step.fills[parent];
        let is_full = |lost: &&ChildLoss| u64::from(step.ranks[lost.index]) < fill.full;
        let (full, others): (Vec<&ChildLoss>, Vec<&ChildLoss>) = children.iter().partition(is_full);
        let others: Vec<ChildLoss> = others.into_iter().copied().collect();
        let dealt = (units - fill.sum) as usize;
        full.iter().map(|lost| lost.light).sum::<u64>() + all_lost(&others, dealt)
    }

    pub(super) fn place(
        &self,
        layout: &Layout,
        permutations: FilePermutations,
        source: UnitAddress,
    ) -> Result<TargetAddress> {
        let UnitAddress { group, unit } = source;
        self.check_group(group)?;
        let (mut taken, mut unit) = (group * self.group, u64::from(unit));
        let mut index = 0;
        for step in 0..self.steps.len() {
            let view = self.view(layout, step, index, group, taken);
            let (rank, turn);
            (rank, unit, turn) = view.child_with(permutations, unit);
            index = view.child(rank);
            taken = match turn {
                Some(turn) => {
                    group * view.fill.height + taken_in_turn(view.dealt, turn, view.fill.rest)
                }
                None => group * view.step.least[index],
            };
        }
        Ok(TargetAddress {
            target: index as u64,
            frame: taken,
        })
    }

    pub(super) fn source(
        &self,
        layout: &Layout,
        permutations: FilePermutations,
        place: TargetAddress,
    ) -> Result<Option<UnitAddress>> {
        self.check_group(place.frame)?;
        let path = self.path(layout, permutations, place.target as usize);
        let group = path.group(place.frame, self.group);
        let group = group.ok_or(Error::TooLarge)?;
        self.check_group(group)?;
        let unit = path.unit(group, self.group);
        Ok(Some(UnitAddress { group, unit }))
    }

    fn path(&self, layout: &Layout, permutations: FilePermutations, target: usize) -> TargetPath {
        let mut path: SmallVec<[PathStep; 8]> = SmallVec::new();
        let mut child = target;
        for (number, step) in self.steps.iter().enumerate().rev() {
            let parent = layout.parent(number, child);
            let fill = step.fills[parent];
            let rank = step.ranks[child];
            path.push(match u64::from(rank).checked_sub(fill.full) {
                Some(rank) => {
                    let level = layout.plan().levels()[number];
                    let size = fill.rest as usize;
                    let turn = permutations.backward(level, parent, size, rank as u32);
                    PathStep {
                        fill,
                        least: fill.height,
                        before: fill.in_full() + rank * fill.height,
                        turn: Some(turn.into()),
                    }
                }
                None => PathStep {
                    fill,
                    least: step.least[child],
                    before: step.before[layout.children(number, parent).start + rank as usize],
                    turn: None,
                },
            });
            child = parent;
        }
        path.reverse();
        TargetPath(path)
    }

    /// Rejects groups and frames for which the formulas would overflow.
    fn check_group(&self, group: u64) -> Result<()> {
        match group < u64::MAX / (4 * self.group) {
            true => Ok(()),
            false => Err(Error::TooLarge),
        }
    }

    /// `taken`: the units that the domain has received before this group.
    fn view(
        &self,
        layout: &Layout,
        step: usize,
        parent: usize,
        group: u64,
        taken: u64,
    ) -> FillView<'_> {
        let level = layout.plan().levels()[step];
        let start = layout.children(step, parent).start;
        let step = &self.steps[step];
        let fill = step.fills[parent];
        FillView {
            step,
            fill,
            level,
            parent,
            start,
            dealt: taken - group * fill.sum,
        }
    }
}

/// The domains from the outermost down to a target, the target included.
struct TargetPath(SmallVec<[PathStep; 8]>);

struct PathStep {
    /// Of the parent.
    fill: ParentFill,
    /// The units of every group that the domain holds, round-robin units not counted.
    least: u64,
    /// The units of a group in earlier siblings, round-robin units not counted.
    before: u64,
    /// Its turn in the round-robin; `None` if it is full.
    turn: Option<u64>,
}

impl PathStep {
    /// The units that it has received before a group; `dealt` counts the parent's round-robin units before that group.
    fn taken(&self, group: u64, dealt: u64) -> u64 {
        let in_turn = match self.turn {
            Some(turn) => taken_in_turn(dealt, turn, self.fill.rest),
            None => 0,
        };
        group * self.least + in_turn
    }

    /// The parent's unit that is this domain's unit number `unit`.
    fn unit(&self, unit: u64, dealt: u64) -> u64 {
        let ParentFill {
            height, sum, rest, ..
        } = self.fill;
        match self.turn {
            Some(turn) if unit >= height => sum + (turn + rest - dealt % rest) % rest,
            _ => self.before + unit,
        }
    }
}

/// The group of the unit in a frame; `None` on overflow. A domain has received floor((growth * g + start) / scale) units
/// before group g; the loop derives the three numbers from those of the parent. Written for u64 and, slower, u128.
macro_rules! group_of {
    ($name:ident, $number:ty) => {
        fn $name(&self, frame: u64, units: u64) -> Option<u64> {
            let (mut growth, mut start, mut scale): ($number, $number, $number) =
                (units.into(), 0, 1);
            for step in &self.0 {
                let (fill, least) = (step.fill, <$number>::from(step.least));
                let Some(turn) = step.turn else {
                    (growth, start, scale) = (least, 0, 1);
                    continue;
                };
                let dealt = growth - scale * <$number>::from(fill.sum);
                let later = <$number>::from(fill.rest - 1 - turn);
                start = start.checked_add(scale.checked_mul(later)?)?;
                scale = scale.checked_mul(fill.rest.into())?;
                growth = dealt.checked_add(scale.checked_mul(least)?)?;
            }
            let frames = <$number>::from(frame).checked_add(1)?;
            let reached = scale.checked_mul(frames)? - start;
            u64::try_from(reached.checked_sub(1)?.checked_div(growth)?).ok()
        }
    };
}

impl TargetPath {
    group_of!(group_of_small, u64);
    group_of!(group_of_large, u128);

    fn group(&self, frame: u64, units: u64) -> Option<u64> {
        let small = self.group_of_small(frame, units);
        small.or_else(|| self.group_of_large(frame, units))
    }

    /// Which unit of a group the target holds.
    fn unit(&self, group: u64, units: u64) -> u32 {
        let mut taken = group * units;
        let dealt: SmallVec<[u64; 8]> = self
            .0
            .iter()
            .map(|step| {
                let dealt = taken - group * step.fill.sum;
                taken = step.taken(group, dealt);
                dealt
            })
            .collect();
        let steps = self.0.iter().zip(dealt).rev();
        steps.fold(0, |unit, (step, dealt)| step.unit(unit, dealt)) as u32
    }
}

/// Of `dealt` round-robin units, how many went to the child with this turn.
fn taken_in_turn(dealt: u64, turn: u64, children: u64) -> u64 {
    (dealt + children - 1 - turn) / children
}

impl LevelFill {
    /// `held`: for each domain above, the fewest and the most units of a group that it holds. Returns the same for this
    /// level.
    fn new(
        tree: &DomainTree,
        above: Option<usize>,
        level: usize,
        held: &[(u64, u64)],
    ) -> (LevelFill, Vec<(u64, u64)>) {
        let width = tree.width(level);
        let mut step = LevelFill {
            ranks: vec![0; width],
            least: vec![0; width],
            ..LevelFill::default()
        };
        let mut here = vec![(0, 0); width];
        for (index, &(least, most)) in held.iter().enumerate() {
            let children = tree.below(above.map(|level| Domain { level, index }), level);
            let size = |index| tree.leaves_below(Domain { level, index }).len() as u64;
            let mut order: Vec<usize> = children.collect();
            order.sort_by_key(|&child| size(child));
            let sizes: Vec<u64> = order.iter().map(|&child| size(child)).collect();
            let fill = ParentFill::new(&sizes, least);
            let mut dealt = most - fill.sum;
            let mut before = 0;
            for (rank, &child) in order.iter().enumerate() {
                let each = sizes[rank].min(fill.height);
                let may_have_more = rank as u64 >= fill.full && most > fill.sum;
                here[child] = (each, each + u64::from(may_have_more));
                step.losses
                    .push(each + u64::from(may_have_more && dealt > 0));
                dealt = dealt.saturating_sub(may_have_more.into());
                step.ranks[child] = rank as u32;
                step.least[child] = each;
                step.order.push(child as u32);
                step.before.push(before);
                before += each;
            }
            step.fills.push(fill);
        }
        step.losses.sort_unstable_by(|one, other| other.cmp(one));
        step.losses.insert(0, 0);
        (1..step.losses.len()).for_each(|place| step.losses[place] += step.losses[place - 1]);
        (step, here)
    }
}

impl FillView<'_> {
    fn child(&self, rank: u64) -> usize {
        self.step.order[self.start + rank as usize] as usize
    }

    /// The rank of the child that gets a unit, which of its units this is, and its turn unless it is full.
    fn child_with(&self, permutations: FilePermutations, unit: u64) -> (u64, u64, Option<u64>) {
        let fill = self.fill;
        if unit >= fill.sum {
            let turn = (self.dealt + unit - fill.sum) % fill.rest;
            let rank =
                permutations.forward(self.level, self.parent, fill.rest as usize, turn as u32);
            return (fill.full + u64::from(rank), fill.height, Some(turn));
        }
        // All children that are not full hold the same number.
        if let Some(after) = unit.checked_sub(fill.in_full()) {
            let rank = after / fill.height;
            let turn =
                permutations.backward(self.level, self.parent, fill.rest as usize, rank as u32);
            return (fill.full + rank, after % fill.height, Some(turn.into()));
        }
        let before = &self.step.before[self.start..][..fill.full as usize];
        let rank = before.partition_point(|&before| before <= unit) - 1;
        (rank as u64, unit - before[rank], None)
    }
}
