//! Water-filling: a group is split among domains of unlike size as evenly as they can hold it.
//!
//! Every child of a domain gets `height` units of each group, or as many as it has targets if these are fewer. The
//! units that remain go around among the others, each group going on where the one before it ended, so that no child
//! gets two of them. How many units a domain got from all groups before some group is therefore a formula, and for a
//! target that is the frame. The way back searches for the group, since the formula grows with it.

use smallvec::SmallVec;

use super::failed::{Lost, all_lost};
use super::layout::Shuffle;
use super::{Domain, Error, Layout, Place, Result, Source, Tolerance, Tree, Units};

#[derive(Clone, Debug)]
pub(super) struct Water {
    /// For each level that is kept.
    steps: Vec<Step>,
    /// Units of a group.
    group: u64,
}

/// How the domains of the level above split what they have among those of this level.
#[derive(Clone, Debug, Default)]
struct Step {
    /// Of each domain above.
    fills: Vec<Fill>,
    /// The children of each domain above, those with fewer targets first; and for each child its rank in this order.
    order: Vec<u32>,
    ranks: Vec<u32>,
    /// In that order: the units of a group that go to children before this one, other than those that go around.
    before: Vec<u64>,
    /// Of each child: the units that it gets of every group.
    least: Vec<u64>,
    /// The most that any so and so many domains of this level hold.
    losses: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Fill {
    height: u64,
    /// Units that do not go around.
    sum: u64,
    /// How many children are full.
    full: u64,
    /// Among how many the others go around.
    rest: u64,
}

/// A domain as one group sees it.
struct Seen<'a> {
    step: &'a Step,
    fill: Fill,
    level: usize,
    parent: usize,
    /// Where its children begin.
    start: usize,
    /// How many units have gone around before this group.
    gone: u64,
}

impl Fill {
    /// Of `units` among children with so many targets, ascending.
    fn new(sizes: &[u64], units: u64) -> Fill {
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
        Fill {
            height,
            sum: sizes.iter().map(|&size| size.min(height)).sum(),
            full,
            rest: sizes.len() as u64 - full,
        }
    }
}

impl Water {
    pub(super) fn new(tree: &Tree, levels: &[usize], units: Units) -> Result<Water> {
        let (group, targets) = (units.total()?, tree.leaf_count() as u64);
        if group > targets {
            return Err(Error::TooFewTargets {
                units: group,
                targets,
            });
        }
        let mut steps: Vec<Step> = Vec::with_capacity(levels.len());
        // Of each domain above: the units that it holds at least, and at most.
        let mut held = vec![(group, group)];
        let mut above = None;
        for &level in levels {
            let step;
            (step, held) = Step::new(tree, above, level, &held);
            steps.push(step);
            above = Some(level);
        }
        Ok(Water { steps, group })
    }

    /// The most units that `failed` domains of a level hold.
    pub(super) fn loss(&self, step: usize, failed: u64) -> u64 {
        let losses = &self.steps[step].losses;
        losses[(failed as usize).min(losses.len() - 1)].min(self.group)
    }

    pub(super) fn tolerance(&self, parity: u32) -> Tolerance {
        let parity = u64::from(parity);
        let exact = self.steps.iter().map(|step| {
            let tolerable = step.losses.partition_point(|&loss| loss <= parity);
            tolerable as u32 - 1
        });
        let bound = (0..self.steps.len()).map(|step| (parity / self.loss(step, 1)) as u32);
        Tolerance {
            exact: exact.collect(),
            bound: bound.collect(),
        }
    }

    pub(super) fn least(&self, step: usize, index: usize) -> u64 {
        self.steps[step].least[index]
    }

    /// What a domain that holds `units` loses at most.
    pub(super) fn lost(&self, step: usize, parent: usize, units: u64, children: &[Lost]) -> u64 {
        let step = &self.steps[step];
        let fill = step.fills[parent];
        let is_full = |lost: &&Lost| u64::from(step.ranks[lost.index]) < fill.full;
        let (full, others): (Vec<&Lost>, Vec<&Lost>) = children.iter().partition(is_full);
        let others: Vec<Lost> = others.into_iter().copied().collect();
        let around = (units - fill.sum) as usize;
        full.iter().map(|lost| lost.light).sum::<u64>() + all_lost(&others, around)
    }

    pub(super) fn place(&self, layout: &Layout, shuffle: Shuffle, source: Source) -> Result<Place> {
        let Source { group, unit } = source;
        self.check_group(group)?;
        let (mut taken, mut unit) = (group * self.group, u64::from(unit));
        let mut index = 0;
        for step in 0..self.steps.len() {
            let seen = self.see(layout, step, index, group, taken);
            let rank;
            (rank, unit) = seen.child_with(shuffle, unit);
            index = seen.child(rank);
            taken = seen.taken_by(shuffle, index, group);
        }
        Ok(Place {
            target: index as u64,
            frame: taken,
        })
    }

    pub(super) fn source(
        &self,
        layout: &Layout,
        shuffle: Shuffle,
        place: Place,
    ) -> Result<Option<Source>> {
        let mut path: SmallVec<[usize; 8]> = SmallVec::from_elem(0, self.steps.len());
        let mut index = place.target as usize;
        for step in (0..self.steps.len()).rev() {
            path[step] = index;
            index = layout.parent(step, index);
        }
        let taken = |group| self.taken(layout, shuffle, &path, group).1;
        self.check_group(place.frame)?;
        // A group gives a target one unit at most.
        let (mut low, mut high) = (place.frame, place.frame.saturating_add(1));
        while taken(high) <= place.frame {
            (low, high) = (high, high.saturating_mul(2));
            self.check_group(high)?;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match taken(middle) <= place.frame {
                true => low = middle,
                false => high = middle,
            }
        }
        let unit = self.unit_of(layout, shuffle, &path, low);
        Ok(Some(Source { group: low, unit }))
    }

    /// Numbers beyond which the formulas overflow.
    fn check_group(&self, group: u64) -> Result<()> {
        match group < u64::MAX / (4 * self.group) {
            true => Ok(()),
            false => Err(Error::TooLarge),
        }
    }

    fn see(&self, layout: &Layout, step: usize, parent: usize, group: u64, taken: u64) -> Seen<'_> {
        let level = layout.plan().levels()[step];
        let start = layout.children(step, parent).start;
        let step = &self.steps[step];
        let fill = step.fills[parent];
        Seen {
            step,
            fill,
            level,
            parent,
            start,
            gone: taken - group * fill.sum,
        }
    }

    /// The units that the domains on a path, and the last of them, got before a group.
    fn taken<'a>(
        &'a self,
        layout: &Layout,
        shuffle: Shuffle,
        path: &[usize],
        group: u64,
    ) -> (SmallVec<[Seen<'a>; 8]>, u64) {
        let mut taken = group * self.group;
        let mut all = SmallVec::new();
        let mut parent = 0;
        for (step, &index) in path.iter().enumerate() {
            let seen = self.see(layout, step, parent, group, taken);
            taken = seen.taken_by(shuffle, index, group);
            all.push(seen);
            parent = index;
        }
        (all, taken)
    }

    /// Which unit of a group the last domain of a path got.
    fn unit_of(&self, layout: &Layout, shuffle: Shuffle, path: &[usize], group: u64) -> u32 {
        let (all, _) = self.taken(layout, shuffle, path, group);
        let steps = all.iter().zip(path).rev();
        steps.fold(0, |unit, (seen, &index)| {
            seen.unit_from(shuffle, index, unit)
        }) as u32
    }
}

impl Step {
    /// `held`: of each domain above, the units that it holds at least and at most; and the same of those here.
    fn new(
        tree: &Tree,
        above: Option<usize>,
        level: usize,
        held: &[(u64, u64)],
    ) -> (Step, Vec<(u64, u64)>) {
        let width = tree.width(level);
        let mut step = Step {
            ranks: vec![0; width],
            least: vec![0; width],
            ..Step::default()
        };
        let mut here = vec![(0, 0); width];
        for (index, &(least, most)) in held.iter().enumerate() {
            let children = tree.below(above.map(|level| Domain { level, index }), level);
            let size = |index| tree.leaves_below(Domain { level, index }).len() as u64;
            let mut order: Vec<usize> = children.collect();
            order.sort_by_key(|&child| size(child));
            let sizes: Vec<u64> = order.iter().map(|&child| size(child)).collect();
            let fill = Fill::new(&sizes, least);
            let mut around = most - fill.sum;
            let mut before = 0;
            for (rank, &child) in order.iter().enumerate() {
                let each = sizes[rank].min(fill.height);
                let may_have_more = rank as u64 >= fill.full && most > fill.sum;
                here[child] = (each, each + u64::from(may_have_more));
                step.losses
                    .push(each + u64::from(may_have_more && around > 0));
                around = around.saturating_sub(may_have_more.into());
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

impl Seen<'_> {
    fn child(&self, rank: u64) -> usize {
        self.step.order[self.start + rank as usize] as usize
    }

    /// The rank of the child that gets a unit, and which of its units this is.
    fn child_with(&self, shuffle: Shuffle, unit: u64) -> (u64, u64) {
        let fill = self.fill;
        if unit >= fill.sum {
            let turn = (self.gone + unit - fill.sum) % fill.rest;
            let rank = shuffle.forward(self.level, self.parent, fill.rest as usize, turn as u32);
            return (fill.full + u64::from(rank), fill.height);
        }
        let children = self.start..self.start + (fill.full + fill.rest) as usize;
        let before = &self.step.before[children];
        let rank = before.partition_point(|&before| before <= unit) - 1;
        (rank as u64, unit - before[rank])
    }

    /// The turn of a child among those that units go around.
    fn turn(&self, shuffle: Shuffle, child: usize) -> Option<u64> {
        let rank = u64::from(self.step.ranks[child]).checked_sub(self.fill.full)?;
        let turn = shuffle.backward(
            self.level,
            self.parent,
            self.fill.rest as usize,
            rank as u32,
        );
        Some(turn.into())
    }

    /// How many units a child got before this group.
    fn taken_by(&self, shuffle: Shuffle, child: usize, group: u64) -> u64 {
        let around = match self.turn(shuffle, child) {
            Some(turn) => (self.gone + self.fill.rest - 1 - turn) / self.fill.rest,
            None => 0,
        };
        group * self.step.least[child] + around
    }

    /// Which unit of the group a child's unit is.
    fn unit_from(&self, shuffle: Shuffle, child: usize, unit: u64) -> u64 {
        let fill = self.fill;
        match self.turn(shuffle, child) {
            Some(turn) if unit >= fill.height => {
                fill.sum + (turn + fill.rest - self.gone % fill.rest) % fill.rest
            }
            _ => self.step.before[self.start + self.step.ranks[child] as usize] + unit,
        }
    }
}
